// run: n = 3
// gives: return = [1.0, 2.0, 1.0]
kernel ones(n: dim) -> out: ret [f64; n] dims(n) {
  alloc out len n fill 1.0f64
  if n > 2 {
    out[1] = out[0] + out[2]
  }
}
