// A reduction, scalars that follow from it, and a loop that uses them.
// gpu: reduce(i, threads = 64, vector = 4, unroll = 1, blocks = 2); grid(j, threads = 64, vector = 4, unroll = 1)
// gpu: grid(j, threads = 32, vector = 1, unroll = 1)
// run: n = 6, x = [3.0, 4.0, 0.0, 0.0, 12.0, 0.0]
// gives: x = [0.23076923, 0.30769232, 0.0, 0.0, 0.9230769, 0.0], return = 13.0
kernel normalise(x: mut [f32; n]) -> f32 dims(n) {
  let mut s: f32 = 0.0
  for i in 0..n {
    s = s + x[i] * x[i]
  }
  let norm: f32 = sqrt(s)
  for j in 0..n {
    x[j] = x[j] / norm
  }
  return (norm)
}
