// run: n = 3, a = [1.0, 0.0, 1.0], b = [0.5, 1.0, -0.25]
// gives: return = 0.15430336
// run: n = 2, a = [0.0, 0.0], b = [1.0, 2.0]
// gives: return = 0.0
kernel cosine_similarity(a: [f32; n], b: [f32; n]) -> f32 dims(n) {
  let mut ab: f32 = 0.0
  let mut aa: f32 = 0.0
  let mut bb: f32 = 0.0
  for i in 0..n {
    ab = ab + a[i] * b[i]
    aa = aa + a[i] * a[i]
    bb = bb + b[i] * b[i]
  }
  if (aa == 0.0) | (bb == 0.0) {
    return (0.0)
  }
  return (ab / (sqrt(aa) * sqrt(bb)))
}
