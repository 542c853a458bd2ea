kernel bias_relu(x: mut [f16; rows, d], bias: [f16; d]) dims(rows, d) {
  for i in 0..rows {
    for j in 0..d {
      x[i * d + j] = max(x[i * d + j] as f32 + bias[j] as f32, 0.0) as f16
    }
  }
}

kernel widen(x: [bf16; n], out: mut [f32; n]) dims(n) {
  for i in 0..n {
    out[i] = x[i] as f32
  }
}

kernel dot(a: [f16; n], b: [f16; n]) -> f32 dims(n) {
  let mut sum: f32 = -0.0
  for i in 0..n {
    sum = sum + a[i] as f32 * b[i] as f32
  }
  return (sum)
}

