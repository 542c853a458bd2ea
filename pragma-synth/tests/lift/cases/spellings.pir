kernel saxpy_index(a: f32, x: [f32; n], y: mut [f32; n]) dims(n) {
  for i in 0..n {
    y[i] = y[i] + a * x[i]
  }
}

kernel saxpy_n(n: dim, a: f32, x: [f32; n], y: mut [f32; n]) dims(n) {
  for i in 0..n {
    y[i] = a * x[i] + y[i]
  }
}

kernel saxpy_for_each(a: f32, x: [f32; n], y: mut [f32; n]) dims(n) {
  for i in 0..n {
    let x_1: f32 = x[i]
    y[i] = mul_add(a, x_1, y[i])
  }
}

kernel saxpy_while(a: f32, x: [f32; n], y: mut [f32; n]) dims(n) {
  for i in 0..n {
    y[i] = y[i] + a * x[i]
  }
}

kernel saxpy_vec(a: f32, x: [f32; n], y: [f32; n]) -> collected: ret [f32; n] dims(n) {
  for i in 0..n {
    collected[i] = a * x[i] + y[i]
  }
}

kernel saxpy_push(a: f32, x: [f32; n], y: [f32; n]) -> out: ret [f32; n] dims(n) {
  for i in 0..n {
    out[i] = a * x[i] + y[i]
  }
}

kernel dot_index(x: [f32; n], y: [f32; n]) -> f32 dims(n) {
  let mut acc: f32 = 0.0
  for i in 0..n {
    acc = acc + x[i] * y[i]
  }
  return (acc)
}

kernel dot_fold(x: [f32; n], y: [f32; n]) -> f32 dims(n) {
  let mut acc: f32 = 0.0
  for i in 0..n {
    let a: f32 = x[i]
    let b: f32 = y[i]
    acc = acc + a * b
  }
  return (acc)
}

kernel dot_enumerate(x: [f32; n], y: [f32; n]) -> f32 dims(n) {
  let mut acc: f32 = 0.0
  for i in 0..n {
    acc = acc + x[i] * y[i]
  }
  return (acc)
}

kernel dot_map_range(x: [f32; n], y: [f32; n]) -> f32 dims(n) {
  let mut sum: f32 = -0.0
  for i in 0..n {
    sum = sum + x[i] * y[i]
  }
  return (sum)
}

kernel dot_chunks(x: [f32; n], y: [f32; n]) -> f32 dims(n) {
  let mut rest: f32 = -0.0
  for i in 0..n - 4 * (n / 4) {
    rest = rest + x[n / 4 * 4 + i] * y[n / 4 * 4 + i]
  }
  alloc acc: local [f32; 4] len 4 fill 0.0
  for i_1 in 0..n / 4 {
    for j in 0..4 {
      acc[j] = acc[j] + x[i_1 * 4 + j] * y[i_1 * 4 + j]
    }
  }
  let mut sum: f32 = -0.0
  for i_2 in 0..4 {
    sum = sum + acc[i_2]
  }
  return (sum + rest)
}

kernel dot_unrolled(x: [f32; n], y: [f32; n]) -> f32 dims(n) {
  let mut s0: f32 = 0.0
  let mut s1: f32 = 0.0
  for i in 0..n / 2 {
    s0 = s0 + x[i * 2] * y[i * 2]
    s1 = s1 + x[i * 2 + 1] * y[i * 2 + 1]
  }
  for i_2 in n / 2 * 2..n {
    s0 = s0 + x[i_2] * y[i_2]
  }
  return (s0 + s1)
}

kernel gelu_helper(x: [f32; n], out: mut [f32; n]) dims(n) {
  for i in 0..n {
    let v: f32 = x[i]
    out[i] = 0.5 * v * (1.0 + tanh(1.1283792 / sqrt(2.0) * (v + 0.044715 * (v * (v * v)))))
  }
}

kernel gelu_in_place(x: mut [f32; n]) dims(n) {
  for i in 0..n {
    let v: f32 = x[i]
    x[i] = 0.5 * v * (1.0 + tanh(1.1283792 / sqrt(2.0) * (v + 0.044715 * (v * (v * v)))))
  }
}

kernel gelu_collect(x: [f32; n]) -> collected: ret [f32; n] dims(n) {
  for i in 0..n {
    let v: f32 = x[i]
    collected[i] = 0.5 * v * (1.0 + tanh(1.1283792 / sqrt(2.0) * (v + 0.044715 * (v * (v * v)))))
  }
}

kernel gelu_closure(x: [f32; n], out: mut [f32; n]) dims(n) {
  for i in 0..n {
    let v: f32 = x[i]
    out[i] = 0.5 * v * (1.0 + tanh(0.7978846 * (v + 0.044715 * v * v * v)))
  }
}

kernel gelu_sqrt(x: [f32; n], out: mut [f32; n]) dims(n) {
  let k: f32 = sqrt(0.63661975)
  for i in 0..n {
    let v: f32 = x[i]
    let cube: f32 = v * v * v
    out[i] = 0.5 * v * (1.0 + tanh(k * (v + 0.044715 * cube)))
  }
}

kernel softmax_index(x: [f32; rows, cols], rows: dim, cols: dim, out: mut [f32; rows, cols]) dims(rows, cols) {
  for r in 0..rows {
    let mut max: f32 = x[r * cols]
    for c in 1..cols {
      max = max(max, x[r * cols + c])
    }
    let mut sum: f32 = 0.0
    for c_1 in 0..cols {
      let e: f32 = exp(x[r * cols + c_1] - max)
      out[r * cols + c_1] = e
      sum = sum + e
    }
    let inv: f32 = 1.0 / sum
    for c_2 in 0..cols {
      out[r * cols + c_2] = out[r * cols + c_2] * inv
    }
  }
}

kernel softmax_rows_slices(x: mut [f32; rows, cols], cols: dim) dims(cols, rows) {
  for r in 0..rows {
    let mut max: f32 = f32::NEG_INFINITY
    for j in 0..cols {
      let v: f32 = x[r * cols + j]
      if v > max {
        max = v
      }
    }
    let mut sum: f32 = 0.0
    for j_1 in 0..cols {
      x[r * cols + j_1] = exp(x[r * cols + j_1] - max)
      sum = sum + x[r * cols + j_1]
    }
    for j_2 in 0..cols {
      x[r * cols + j_2] = x[r * cols + j_2] / sum
    }
  }
}

kernel softmax_iter(x: [f32; rows, d], d: dim, out: mut [f32; rows, d]) dims(d, rows) {
  for i in 0..rows {
    let mut m: f32 = -3.4028235e38
    for j in 0..d {
      let v: f32 = x[i * d + j]
      m = max(m, v)
    }
    let mut total: f32 = -0.0
    for j_1 in 0..d {
      let v_1: f32 = x[i * d + j_1]
      total = total + exp(v_1 - m)
    }
    for j_2 in 0..d {
      let v_2: f32 = x[i * d + j_2]
      out[i * d + j_2] = exp(v_2 - m) / total
    }
  }
}

kernel softmax_reduce(x: mut [f32; rows, d], d: dim) dims(d, rows) {
  for i in 0..rows {
    let mut m: f32 = x[i * d]
    for i_1 in 1..d {
      m = max(m, x[i * d + i_1])
    }
    let mut sum: f32 = 0.0
    for j in 0..d {
      x[i * d + j] = exp(x[i * d + j] - m)
      sum = sum + x[i * d + j]
    }
    for j_1 in 0..d {
      x[i * d + j_1] = x[i * d + j_1] * recip(sum)
    }
  }
}

kernel rms_norm_rows(x: [f32; rows, d], w: [f32; d], eps: f32, out: mut [f32; rows, d], rows: dim, d: dim) dims(rows, d) {
  for r in 0..rows {
    let mut ss: f32 = 0.0
    for j in 0..d {
      let v: f32 = x[r * d + j]
      ss = ss + v * v
    }
    let inv: f32 = 1.0 / sqrt(ss / d as f32 + eps)
    for j_1 in 0..d {
      out[r * d + j_1] = x[r * d + j_1] * inv * w[j_1]
    }
  }
}

kernel rms_norm_named_rows(x: [f32; rows, d], w: [f32; d], eps: f32, out: mut [f32; rows, d]) dims(rows, d) {
  for r in 0..rows {
    let mut sum: f32 = -0.0
    for j in 0..d {
      let v: f32 = x[r * d + j]
      sum = sum + v * v
    }
    let mean_square: f32 = sum / d as f32
    let scale: f32 = recip(sqrt(mean_square + eps))
    for j_1 in 0..d {
      out[r * d + j_1] = x[r * d + j_1] * scale * w[j_1]
    }
  }
}

kernel rms_norm_one(x: mut [f32; n], weight: [f32; n], eps: f32) dims(n) {
  let mut ss: f32 = -0.0
  for i in 0..n {
    let v: f32 = x[i]
    ss = ss + v * v
  }
  let norm: f32 = 1.0 / sqrt(ss / n as f32 + eps)
  for i_1 in 0..n {
    x[i_1] = x[i_1] * norm * weight[i_1]
  }
}

kernel layer_norm_chunks(x: mut [f32; rows, d], gamma: [f32; d], beta: [f32; d], eps: f32) dims(rows, d) {
  for i in 0..rows {
    let mut sum: f32 = -0.0
    for j in 0..d {
      sum = sum + x[i * d + j]
    }
    let mean: f32 = sum / d as f32
    let mut acc: f32 = 0.0
    for j_1 in 0..d {
      let base: f32 = x[i * d + j_1] - mean
      acc = acc + base * base
    }
    let var: f32 = acc / d as f32
    let std: f32 = sqrt(var + eps)
    for i_1 in 0..d {
      x[i * d + i_1] = (x[i * d + i_1] - mean) / std * gamma[i_1] + beta[i_1]
    }
  }
}

kernel layer_norm_two_sums(x: [f32; rows, d], gamma: [f32; d], beta: [f32; d], eps: f32) -> out: ret [f32; rows, d] dims(rows, d) {
  alloc out len d * rows fill 0.0
  for i in 0..rows {
    let mut acc: f32 = 0.0
    let mut sq: f32 = 0.0
    for j in 0..d {
      let v: f32 = x[i * d + j]
      acc = acc + v
      sq = sq + v * v
    }
    let mean: f32 = acc / d as f32
    let var: f32 = sq / d as f32 - mean * mean
    let inv: f32 = 1.0 / sqrt(var + eps)
    for j_1 in 0..d {
      let v_1: f32 = x[i * d + j_1]
      let g: f32 = gamma[j_1]
      let b: f32 = beta[j_1]
      out[i * d + j_1] = (v_1 - mean) * inv * g + b
    }
  }
}

kernel cosine_helpers(a: [f32; n], b: [f32; n]) -> f32 dims(n)
  vars(mut sum: f32, i: usize, left: f32, mut sum_1: f32, i_1: usize, denom: f32, mut sum_2: f32, i_2: usize, mut value: f32) {
  let mut sum: f32 = -0.0
  for i in 0..n {
    sum = sum + a[i] * a[i]
  }
  let left: f32 = sqrt(sum)
  let mut sum_1: f32 = -0.0
  for i_1 in 0..n {
    sum_1 = sum_1 + b[i_1] * b[i_1]
  }
  let denom: f32 = left * sqrt(sum_1)
  let mut value: f32 = 0.0
  if denom > 0.0 {
    let mut sum_2: f32 = -0.0
    for i_2 in 0..n {
      sum_2 = sum_2 + a[i_2] * b[i_2]
    }
    value = sum_2 / denom
  } else {
    value = 0.0
  }
  return (value)
}

kernel cosine_zip(a: [f32; n], b: [f32; n]) -> f32 dims(n) {
  let mut ab: f32 = 0.0
  let mut aa: f32 = 0.0
  let mut bb: f32 = 0.0
  for i in 0..n {
    let x: f32 = a[i]
    let y: f32 = b[i]
    ab = ab + x * y
    aa = aa + x * x
    bb = bb + y * y
  }
  let d: f32 = sqrt(aa) * sqrt(bb)
  if d < 1.1920929e-7 {
    return (0.0)
  }
  return (ab / d)
}

kernel cosine_fold(a: [f32; n], b: [f32; n]) -> f32 dims(n) {
  let mut ab: f32 = 0.0
  let mut aa: f32 = 0.0
  let mut bb: f32 = 0.0
  for i in 0..n {
    let x: f32 = a[i]
    let y: f32 = b[i]
    ab = ab + x * y
    aa = aa + x * x
    bb = bb + y * y
  }
  let matched: f32 = aa * bb
  return (select(matched == 0.0, 0.0, ab / sqrt(matched)))
}

kernel cosine_rows(a: [f32; rows, d], b: [f32; d], out: mut [f32; rows]) dims(rows, d) {
  let mut sum: f32 = -0.0
  for i in 0..d {
    sum = sum + b[i] * b[i]
  }
  let nb: f32 = sqrt(sum)
  for i_1 in 0..rows {
    let mut left: f32 = -0.0
    for j in 0..d {
      left = left + a[i_1 * d + j] * b[j]
    }
    let mut sum_2: f32 = -0.0
    for j_1 in 0..d {
      sum_2 = sum_2 + a[i_1 * d + j_1] * a[i_1 * d + j_1]
    }
    out[i_1] = left / max(sqrt(sum_2) * nb, 1e-8)
  }
}

kernel argmax_first(x: [f32; n, cols], cols: dim, out: mut [usize; n]) dims(cols, n)
  vars(r: usize, mut best: usize, i: usize, mut best_value: f32) {
  for r in 0..n {
    let mut best: usize = 0
    let mut best_value: f32 = x[r * cols]
    for i in 1..cols {
      if x[r * cols + i] > best_value {
        best = i
        best_value = x[r * cols + i]
      }
    }
    out[r] = best
  }
}

kernel argmax_max_by(x: [f32; rows, cols], cols: dim, out: mut [u32; rows]) dims(cols, rows) {
  for i in 0..rows {
    let mut best: usize = 0
    let mut best_1: f32 = x[i * cols]
    for i_1 in 1..cols {
      let item: f32 = x[i * cols + i_1]
      let bits: i32 = to_bits(best_1) as i32
      let bits_1: i32 = to_bits(item) as i32
      let better: bool = bits ^ ((bits >> 31u32) as u32 >> 1u32) as i32 <= bits_1 ^ ((bits_1 >> 31u32) as u32 >> 1u32) as i32
      best = select(better, i_1, best)
      best_1 = select(better, item, best_1)
    }
    out[i] = best as u32
  }
}

kernel argmax_partial(x: [f32; rows, cols], cols: dim, out: mut [usize; rows]) dims(cols, rows) {
  for i in 0..rows {
    let mut i_2: usize = 0
    let mut best: f32 = x[i * cols]
    for i_1 in 1..cols {
      let item: f32 = x[i * cols + i_1]
      if is_nan(best) | is_nan(item) {
        panic!
      }
      let better: bool = best <= item
      i_2 = select(better, i_1, i_2)
      best = select(better, item, best)
    }
    out[i] = i_2
  }
}

kernel argmax_fold(x: [f32; rows, cols], cols: dim, out: mut [u32; rows]) dims(cols, rows) {
  for i in 0..rows {
    let mut best_0: usize = 0
    let mut acc: f32 = f32::NEG_INFINITY
    for j in 0..cols {
      let v: f32 = x[i * cols + j]
      best_0 = select(v > acc, j, best_0)
      acc = select(v > acc, v, acc)
    }
    out[i] = best_0 as u32
  }
}

kernel argmax_collect(x: [f32; rows, cols], cols: dim) -> collected: ret [usize; rows] dims(cols, rows)
  vars(i: usize, mut best: usize, i_1: usize, v: f32, mut best_value: f32) {
  for i in 0..rows {
    let mut best: usize = 0
    let mut best_value: f32 = x[i * cols]
    for i_1 in 0..cols {
      let v: f32 = x[i * cols + i_1]
      if v > best_value {
        best = i_1
        best_value = x[i * cols + i_1]
      }
    }
    collected[i] = best
  }
}

