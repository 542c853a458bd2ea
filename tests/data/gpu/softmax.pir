kernel softmax(x: [f32; rows, d], out: mut [f32; rows, d]) dims(rows, d) {
  for r in 0..rows {
    let mut top: f32 = f32::NEG_INFINITY
    for j in 0..d {
      top = max(top, x[r * d + j])
    }
    let mut sum: f32 = 0.0
    for i in 0..d {
      let e: f32 = exp(x[r * d + i] - top)
      out[r * d + i] = e
      sum = sum + e
    }
    for k in 0..d {
      out[r * d + k] = out[r * d + k] / sum
    }
  }
}
