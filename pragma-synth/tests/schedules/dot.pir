kernel dot(a: [f32; n], b: [f32; n]) -> f32 dims(n) {
  let mut acc: f32 = 0.0
  for i in 0..n {
    acc = acc + a[i] * b[i]
  }
  return(acc)
}
