// run: n = 2, x = [1.0, 2.0]
// gives: return = 1.0
// run: n = 1, x = [-1.0]
// traps: the reference panics here
kernel asserted(x: [f32; n]) -> f32 dims(n) {
  if !(x[0] >= 0.0) {
    panic!
  }
  return (x[0])
}
