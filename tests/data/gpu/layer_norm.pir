kernel layer_norm(x: [f32; rows, d], weight: [f32; d], bias: [f32; d], eps: f32, out: mut [f32; rows, d]) dims(rows, d) {
  for r in 0..rows {
    let mut sum: f32 = 0.0
    for i in 0..d {
      sum = sum + x[r * d + i]
    }
    let mean: f32 = sum / d as f32
    let mut var: f32 = 0.0
    for j in 0..d {
      let centred: f32 = x[r * d + j] - mean
      var = var + centred * centred
    }
    let scale: f32 = 1.0 / sqrt(var / d as f32 + eps)
    for k in 0..d {
      out[r * d + k] = (x[r * d + k] - mean) * scale * weight[k] + bias[k]
    }
  }
}
