kernel cumsum(x: [f32; n], out: mut [f32; n]) dims(n) {
  let mut s: f32 = 0.0
  for i in 0..n {
    s = s + x[i]
    out[i] = s
  }
}
