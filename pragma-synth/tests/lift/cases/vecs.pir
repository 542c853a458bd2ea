kernel two_pass(x: [f32; rows, cols], cols: dim) -> out: ret [f32; rows, cols] dims(cols, rows)
  bufs(x: [f32; rows, cols], sums: local [f32; rows], out: ret [f32; rows, cols]) {
  alloc sums: local [f32; rows] len rows fill 0.0
  for i in 0..rows {
    let mut sum: f32 = -0.0
    for j in 0..cols {
      sum = sum + x[i * cols + j]
    }
    sums[i] = sum
  }
  for r in 0..rows {
    for c in 0..cols {
      out[cols * r + c] = x[r * cols + c] / sums[r]
    }
  }
}

kernel prefix(x: [f64; n]) -> out: ret [f64; n + 1] dims(n) {
  out[0] = 0.0f64
  for i in 0..n {
    let last: f64 = out[i]
    out[i + 1] = last + x[i]
  }
}

kernel scratch_rows(x: [f32; rows, d], d: dim, out: mut [f32; rows, d]) dims(d, rows) {
  alloc tmp: local [f32; d] len d fill 0.0
  for i in 0..rows {
    for j in 0..d {
      tmp[j] = x[i * d + j] * 2.0
    }
    for i_1 in 0..d {
      out[i * d + i_1] = tmp[d - 1 - i_1]
    }
  }
}

kernel small_array(x: [f32; rows, 3], out: mut [f32; rows, 3]) dims(rows) {
  for i in 0..rows {
    alloc m: local [f32; 9] len 9 fill 0.0
    for i_1 in 0..3 {
      for j in 0..3 {
        m[i_1 * 3 + j] = x[i * 3 + i_1] * x[i * 3 + j]
      }
    }
    for i_3 in 0..3 {
      out[i * 3 + i_3] = m[i_3 * 3] + m[3 + i_3] - m[8]
    }
  }
}

kernel halves(x: [f32; half, 2], out: mut [f32; half]) dims(half) {
  for i in 0..half {
    out[i] = x[i] * x[half + i]
  }
}

kernel sub_slices(x: [f32; m], n: usize, out: mut [f32; m]) dims(m) {
  if n > m {
    decline
  }
  for i in 0..n {
    out[i] = x[i]
  }
  for i_1 in 0..m - n {
    out[n + i_1] = -x[n + i_1]
  }
}

kernel by_column(x: [f32; rows, cols], rows: dim, cols: dim) -> collected: ret [f32; cols] dims(rows, cols) {
  for i in 0..cols {
    let mut sum: f32 = -0.0
    for j in 0..rows {
      sum = sum + x[j * cols + i]
    }
    collected[i] = sum
  }
}

kernel strided_column(x: [f32; n], cols: dim, out: mut [f32; cols]) dims(cols, n) {
  for c in 0..cols {
    let mut sum: f32 = -0.0
    for j in 0..(saturating_sub(n, c) + (cols - 1)) / cols {
      sum = sum + x[j * cols + c]
    }
    out[c] = sum
  }
}

kernel outer(a: [f32; n], b: [f32; m]) -> collected: ret [f32; n, m] dims(n, m) {
  for i in 0..n {
    let x: f32 = a[i]
    for j in 0..m {
      collected[m * i + j] = x * b[j]
    }
  }
}

kernel chained(a: [f32; n], b: [f32; m]) -> f32 dims(n, m) {
  let mut acc: f32 = 0.0
  for i in 0..n {
    acc = max(acc, abs(a[i]))
  }
  for i_1 in 0..m {
    acc = max(acc, abs(b[i_1]))
  }
  return (acc)
}

kernel enumerate_skip(x: [f32; n]) -> f32 dims(n) {
  let mut s: f32 = 0.0
  for i in 0..n - 1 {
    s = s + x[i + 1] * (i + 1) as f32
  }
  return (s)
}

kernel rev_enumerate(x: [f32; n]) -> f32 dims(n) {
  let mut sum: f32 = -0.0
  for i in 0..n {
    sum = sum + x[n - i - 1] * i as f32
  }
  return (sum)
}

kernel horner(coef: [f64; n], x: [f64; m], out: mut [f64; m]) dims(n, m) {
  for i in 0..m {
    let x_1: f64 = x[i]
    let mut acc: f64 = 0.0f64
    for j in 0..n {
      acc = acc * x_1 + coef[n - j - 1]
    }
    out[i] = acc
  }
}

kernel take_while_sum(x: [i32; n]) -> i32 dims(n) {
  let mut sum: i32 = 0i32
  for i in 0..n {
    let v: i32 = x[i]
    if !(v >= 0i32) {
      break
    }
    sum = sum + x[i]
  }
  return (sum)
}

kernel filter_map_sum(x: [i32; n]) -> i32 dims(n) {
  let mut sum: i32 = 0i32
  for i in 0..n {
    let v: i32 = x[i]
    if v > 0i32 {
      sum = sum + v * 2i32
    }
  }
  return (sum)
}

kernel zip_three(a: [f32; n], b: [f32; n], c: [f32; n], out: mut [f32; n]) dims(n) {
  for i in 0..n {
    out[i] = a[i] * b[i] + c[i]
  }
}

kernel rows_of_rows(x: [f32; rows, h, w], h: dim, w: dim, out: mut [f32; rows]) dims(h, w, rows) {
  for i in 0..rows {
    let mut best: f32 = f32::NEG_INFINITY
    for j in 0..h {
      for k in 0..w {
        let v: f32 = x[i * (h * w) + j * w + k]
        best = max(best, v)
      }
    }
    out[i] = best
  }
}

kernel swap_ends(x: mut [f32; n]) dims(n) {
  for i in 0..n / 2 {
    let held: f32 = x[i]
    x[i] = x[n - 1 - i]
    x[n - 1 - i] = held
  }
}

kernel butterflies(x: mut [f32; rows, half, 2], half: dim) dims(half, rows) {
  for i in 0..rows {
    for j in 0..half {
      let u: f32 = x[i * (2 * half) + j]
      let v: f32 = x[i * (2 * half) + half + j]
      x[i * (2 * half) + j] = u + v
      x[i * (2 * half) + half + j] = u - v
    }
  }
}

kernel fill_rows(out: mut [f32; rows, d], bias: [f32; d]) dims(rows, d) {
  for i in 0..rows {
    for i_1 in 0..d {
      out[i * d + i_1] = bias[i_1]
    }
  }
}

kernel attention(q: [f32; t, d], k: [f32; t, d], v: [f32; t, d], out: mut [f32; t, d], d: dim) dims(d, t) {
  alloc scores: local [f32; t] len t fill 0.0
  for i in 0..t {
    let mut max: f32 = f32::NEG_INFINITY
    for j in 0..t {
      let mut s: f32 = -0.0
      for k_1 in 0..d {
        s = s + q[i * d + k_1] * k[j * d + k_1]
      }
      scores[j] = s
      max = max(max, s)
    }
    let mut sum: f32 = 0.0
    for j_1 in 0..t {
      scores[j_1] = exp(scores[j_1] - max)
      sum = sum + scores[j_1]
    }
    for i_1 in 0..d {
      out[i * d + i_1] = 0.0
    }
    for j_2 in 0..t {
      let w: f32 = scores[j_2] / sum
      for k_2 in 0..d {
        out[i * d + k_2] = out[i * d + k_2] + w * v[j_2 * d + k_2]
      }
    }
  }
}

kernel conv1d(x: [f32; n], w: [f32; k], stride: usize) -> f32 dims(n, k) {
  let mut total: f32 = 0.0
  for i in 0..saturating_sub(n + 1, k) {
    let mut acc: f32 = 0.0
    for j in 0..k {
      acc = acc + x[i + j] * w[j]
    }
    total = total + acc * stride as f32
  }
  return (total)
}

kernel last_first(x: [f32; n]) -> f32 dims(n) {
  return (x[0] - x[n - 1])
}

kernel next_cursor(x: [f32; n]) -> f32 dims(n) {
  let mut acc: f32 = x[0]
  for i in 0..n - 1 {
    acc = acc * 0.5 + x[i + 1]
  }
  return (acc)
}

kernel nested_tuple(x: [f32; n], y: [f32; n]) -> (f32, f32, usize) dims(n) {
  let mut best: f32 = 0.0
  let mut best_1: f32 = f32::INFINITY
  let mut best_1_1: usize = 0
  for i in 0..n {
    let d: f32 = abs(x[i] - y[i])
    if d < best_1 {
      best_1 = d
      best_1_1 = i
    }
    best = best + d
  }
  return (best, best_1, best_1_1)
}

kernel euclidean(a: [f32; n], b: [f32; n]) -> f32 dims(n) {
  let mut sum: f32 = -0.0
  for i in 0..n {
    let base: f32 = a[i] - b[i]
    sum = sum + base * base
  }
  return (sqrt(sum))
}

kernel weighted_median(x: [f32; n], out: mut [f32; n]) dims(n) {
  for i in 1..n - 1 {
    let a: f32 = x[i - 1]
    let b: f32 = x[i]
    let c: f32 = x[i + 1]
    out[i] = min(max(a, b), max(min(a, b), c))
  }
}

kernel scan_sum(x: [i32; n]) -> collected: ret [i32; n] dims(n) {
  let mut state: i32 = 0i32
  for i in 0..n {
    let v: i32 = x[i]
    state = state + v
    collected[i] = state
  }
}

kernel scan_ema(x: [f64; n], alpha: f64, out: mut [f64; n]) dims(n) {
  let mut state: f64 = 0.0f64
  for i in 0..n {
    state = alpha * x[i] + (1.0f64 - alpha) * state
    out[i] = state
  }
}

kernel raw_names(type_1: [f32; n], out: mut [f32; n]) dims(n) {
  for i in 0..n {
    let fn_: f32 = type_1[i] * 2.0
    out[i] = fn_ + i as f32
  }
}

kernel nearest(points: [f32; rows, d], query: [f32; d]) -> usize dims(rows, d) {
  let mut item: f32 = -0.0
  for i in 0..d {
    let a: f32 = points[i]
    let b: f32 = query[i]
    item = item + (a - b) * (a - b)
  }
  let mut i_2: usize = 0
  let mut best: f32 = item
  for i_1 in 1..rows {
    let mut item_1: f32 = -0.0
    for j in 0..d {
      let a_1: f32 = points[i_1 * d + j]
      let b_1: f32 = query[j]
      item_1 = item_1 + (a_1 - b_1) * (a_1 - b_1)
    }
    let better: bool = !(!(is_nan(best) | is_nan(item_1)) & (best < item_1) | select(!(is_nan(best) | is_nan(item_1)), best == item_1, true))
    i_2 = select(better, i_1, i_2)
    best = select(better, item_1, best)
  }
  return (i_2)
}

kernel largest_magnitude(x: [f32; n]) -> f32 dims(n) {
  let mut best: f32 = abs(x[0])
  for i in 1..n {
    let v: f32 = x[i]
    let b: f32 = abs(v)
    let bits: i32 = to_bits(best) as i32
    let bits_1: i32 = to_bits(b) as i32
    best = select(bits ^ ((bits >> 31u32) as u32 >> 1u32) as i32 <= bits_1 ^ ((bits_1 >> 31u32) as u32 >> 1u32) as i32, abs(v), best)
  }
  return (best)
}

kernel lengths_in_bits(x: [u32; n]) -> u32 dims(n) {
  let mut best: u32 = 32u32 - leading_zeros(x[0])
  for i in 1..n {
    best = max(best, 32u32 - leading_zeros(x[i]))
  }
  return (best)
}

