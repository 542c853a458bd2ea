kernel rms_norm(x: [f32; rows, d], weight: [f32; d], eps: f32, out: mut [f32; rows, d]) dims(rows, d) {
  for r in 0..rows {
    let mut ms: f32 = 0.0
    for j in 0..d {
      ms = ms + x[r * d + j] * x[r * d + j]
    }
    let scale: f32 = 1.0 / sqrt(ms / d as f32 + eps)
    for i in 0..d {
      out[r * d + i] = x[r * d + i] * scale * weight[i]
    }
  }
}
