kernel saxpy(a: f32, x: [f32; n], y: mut [f32; n]) dims(n) {
  for i in 0..n {
    y[i] = y[i] + a * x[i]
  }
}

kernel dot(x: [f32; n], y: [f32; n]) -> f32 dims(n) {
  let mut sum: f32 = -0.0
  for i in 0..n {
    sum = sum + x[i] * y[i]
  }
  return (sum)
}

kernel gelu(x: [f32; n], out: mut [f32; n]) dims(n) {
  for i in 0..n {
    let v: f32 = x[i]
    let inner: f32 = 0.7978846 * (v + 0.044715 * v * v * v)
    out[i] = 0.5 * v * (1.0 + tanh(inner))
  }
}

kernel softmax(x: mut [f32; rows, cols], cols: dim) dims(cols, rows) {
  for i in 0..rows {
    let mut max: f32 = f32::NEG_INFINITY
    for j in 0..cols {
      max = max(max, x[i * cols + j])
    }
    let mut sum: f32 = 0.0
    for j_1 in 0..cols {
      x[i * cols + j_1] = exp(x[i * cols + j_1] - max)
      sum = sum + x[i * cols + j_1]
    }
    for j_2 in 0..cols {
      x[i * cols + j_2] = x[i * cols + j_2] / sum
    }
  }
}

kernel rms_norm(x: [f32; rows, d], weight: [f32; d], eps: f32, out: mut [f32; rows, d]) dims(rows, d) {
  for i in 0..rows {
    let mut sum: f32 = -0.0
    for j in 0..d {
      let v: f32 = x[i * d + j]
      sum = sum + v * v
    }
    let ms: f32 = sum / d as f32
    let scale: f32 = 1.0 / sqrt(ms + eps)
    for j_1 in 0..d {
      out[i * d + j_1] = x[i * d + j_1] * scale * weight[j_1]
    }
  }
}

kernel layer_norm(x: [f32; rows, d], gamma: [f32; d], beta: [f32; d], eps: f32, out: mut [f32; rows, d]) dims(rows, d) {
  for r in 0..rows {
    let mut sum: f32 = -0.0
    for j in 0..d {
      sum = sum + x[r * d + j]
    }
    let mean: f32 = sum / d as f32
    let mut sum_1: f32 = -0.0
    for j_1 in 0..d {
      let v: f32 = x[r * d + j_1]
      sum_1 = sum_1 + (v - mean) * (v - mean)
    }
    let var: f32 = sum_1 / d as f32
    let inv: f32 = recip(sqrt(var + eps))
    for j_2 in 0..d {
      out[r * d + j_2] = (x[r * d + j_2] - mean) * inv * gamma[j_2] + beta[j_2]
    }
  }
}

kernel cosine(a: [f32; n], b: [f32; n]) -> f32 dims(n) {
  let mut dot: f32 = 0.0
  let mut aa: f32 = 0.0
  let mut bb: f32 = 0.0
  for i in 0..n {
    dot = dot + a[i] * b[i]
    aa = aa + a[i] * a[i]
    bb = bb + b[i] * b[i]
  }
  let denom: f32 = sqrt(aa * bb)
  if denom == 0.0 {
    return (0.0)
  }
  return (dot / denom)
}

kernel argmax(x: [f32; rows, cols], cols: dim, out: mut [u32; rows]) dims(cols, rows) {
  for i in 0..rows {
    let mut best: f32 = f32::NEG_INFINITY
    let mut at: usize = 0
    for i_1 in 0..cols {
      let v: f32 = x[i * cols + i_1]
      if v > best {
        best = v
        at = i_1
      }
    }
    out[i] = at as u32
  }
}

