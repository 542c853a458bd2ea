// libm
// run: n = 6, x = [-3.0, -0.5, 0.0, 0.5, 3.0, 20.0]
// gives: return = [-0.003637433, -0.154286, 0.0, 0.345714, 2.9963627, 20.0]
kernel gelu(x: [f32; n]) -> out: ret [f32; n] dims(n) {
  for i in 0..n {
    let v: f32 = x[i]
    out[i] = 0.5 * v * (1.0 + tanh(0.7978846 * (v + 0.044715 * v * v * v)))
  }
}
