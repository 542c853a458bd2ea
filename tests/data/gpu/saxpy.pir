kernel saxpy(a: f32, x: [f32; n], y: mut [f32; n]) dims(n) {
  for i in 0..n {
    y[i] = y[i] + a * x[i]
  }
}
