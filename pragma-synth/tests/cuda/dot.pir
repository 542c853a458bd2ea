// gpu: reduce(i, threads = 64, vector = 4, unroll = 2, blocks = 3)
// gpu: reduce(i, threads = 32, vector = 1, unroll = 1, blocks = 8)
// run: n = 5, x = [1.0, 2.0, 3.0, 4.0, -1.0], y = [4.0, 0.5, 0.1, 1.0, 1.0]
// gives: return = 8.3
// run: n = 3001, x = [0.5; 3001], y = [2.0; 3001]
// gives: return = 3001.0
kernel dot(x: [f32; n], y: [f32; n]) -> f32 dims(n) {
  let mut s: f32 = 0.0
  for i in 0..n {
    s = s + x[i] * y[i]
  }
  return (s)
}
