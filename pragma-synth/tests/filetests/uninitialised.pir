// run: n = 2
// traps: element 1 of `out` was never written
kernel forgetful(n: dim) -> out: ret [f32; n] dims(n) {
  out[0] = 1.0
}
