// run: n = 5, x = [1.0, 2.0, 3.0, 1e8, -1e8], y = [4.0, 0.5, 0.1, 1.0, 1.0]
// gives: return = 8.0
// run: n = 1, x = [1e-40], y = [1.0]
// gives: return = 1e-40
kernel dot(x: [f32; n], y: [f32; n]) -> f32 dims(n) {
  let mut s: f32 = 0.0
  for i in 0..n vector(unroll = 4) {
    s = s + x[i] * y[i]
  }
  return (s)
}
