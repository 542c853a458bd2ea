kernel fir(x: [f32; n + rows - 1], taps: [f32; n], out: mut [f32; rows]) dims(n, rows) {
  for i in 0..rows {
    let mut acc: f32 = 0.0
    for j in 0..n {
      let s: f32 = x[i + j]
      let t: f32 = taps[n - j - 1]
      acc = acc + s * t
    }
    out[i] = acc
  }
}

kernel norm(x: [f64; n]) -> f64 dims(n) {
  let mut self_: f64 = 0.0f64
  for i in 0..n {
    let v: f64 = x[i]
    self_ = self_ + v * v
  }
  let value: f64 = select(self_ < 0.001f64, 0.0f64, sqrt(abs(self_)))
  return (value)
}

kernel averages(x: [f32; n], out: mut [f32; n]) dims(n) {
  for i in 0..n {
    let v: f32 = x[i]
    out[i] = (v + v + 0.5) / n as f32 * 2.0
  }
}

kernel argmax(x: [i32; n]) -> usize dims(n) {
  let mut best: i32 = x[0]
  let mut at: usize = 0
  for i in 0..n {
    let v: i32 = x[i]
    if v > best {
      best = v
      at = i
    }
  }
  return (at)
}

kernel sums(x: [u32; rows, cols], cols: dim, out: mut [u32; rows]) dims(cols, rows) {
  for i in 0..rows {
    let mut sum: u32 = 0u32
    for j in 0..cols {
      let v: u32 = x[i * cols + j]
      sum = sum + v
    }
    out[i] = sum
  }
}

kernel with_sum(x: [f32; n]) -> f32 dims(n) {
  let mut sum: f32 = -0.0
  for i in 0..n {
    let v: f32 = x[i]
    sum = sum + v * v
  }
  return (sum)
}

kernel blocks(x: [f32; rows, 4], out: mut [f32; rows]) dims(rows) {
  for i in 0..rows {
    alloc buf: local [f32; 4] len 4 fill 0.0
    for i_1 in 0..4 {
      buf[i_1] = x[i * 4 + i_1]
    }
    let mut sum: f32 = 0.0
    for i_2 in 0..4 {
      sum = sum + buf[3 - i_2] * i_2 as f32
    }
    out[i] = sum
  }
}

kernel interleave(a: [f32; n], b: [f32; n], out: mut [f32; n, 2]) dims(n) {
  for i in 0..n {
    out[i * 2] = a[i]
    out[i * 2 + 1] = b[i]
  }
}

kernel areas(x: [f32; n], out: mut [f32; n]) dims(n) {
  for i in 0..n {
    let v: f32 = x[i]
    out[i] = v * v * 2.0
  }
}

kernel takes_a_closure(x: [f32; n], out: mut [f32; n], k: f32) dims(n) {
  for i in 0..n {
    let v: f32 = x[i]
    out[i] = v * k + 1.0
  }
}

kernel own_macros(x: [f32; n], out: mut [f32; n]) dims(n) {
  for i in 0..n {
    let w: f32 = x[i]
    let v: f32 = w + 1.0
    out[i] = v * v + select(w < 0.0, 0.0, select(w > 1.0, 1.0, w))
  }
}

kernel into_f64(x: [f32; n]) -> f64 dims(n) {
  let mut sum: f64 = -0.0f64
  for i in 0..n {
    let v: f32 = x[i]
    sum = sum + v as f64
  }
  return (sum)
}

kernel widened(x: [u8; n], out: mut [f32; n]) dims(n) {
  for i in 0..n {
    let v: u8 = x[i]
    out[i] = v as f32 / 255.0
  }
}

