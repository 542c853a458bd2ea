kernel softmax(x: [f32; rows, d], out: mut [f32; rows, d]) dims(rows, d) {
  for r in 0..rows {
    let mut max: f32 = f32::NEG_INFINITY
    for j in 0..d {
      max = max(max, x[r * d + j])
    }
    let mut sum: f32 = 0.0
    for k in 0..d {
      let e: f32 = exp(x[r * d + k] - max)
      out[r * d + k] = e
      sum = sum + e
    }
    for i in 0..d {
      out[r * d + i] = out[r * d + i] / sum
    }
  }
}
