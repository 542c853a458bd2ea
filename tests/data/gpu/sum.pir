kernel sum(x: [f32; n]) -> f32 dims(n) {
  let mut s: f32 = 0.0
  for i in 0..n {
    s = s + x[i]
  }
  return (s)
}
