kernel gelu(x: [f32; n], out: mut [f32; n]) dims(n) {
  for i in 0..n {
    let v: f32 = x[i]
    out[i] = 0.5 * v * (1.0 + tanh(0.7978846 * (v + 0.044715 * v * v * v)))
  }
}
