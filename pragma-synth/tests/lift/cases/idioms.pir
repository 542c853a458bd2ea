kernel quantize(x: [f32; n], scale: f32, out: mut [i8; n]) dims(n) {
  for i in 0..n {
    let v: f32 = x[i]
    let value: f32 = round(v / scale)
    out[i] = select(value < -128.0, -128.0, select(value > 127.0, 127.0, value)) as i8
  }
}

kernel dequantize(x: [u8; n], zero: i32, scale: f32, out: mut [f32; n]) dims(n) {
  for i in 0..n {
    out[i] = (x[i] as i32 - zero) as f32 * scale
  }
}

kernel luma(src: [u8; n, 3], dst: mut [u8; n]) dims(n) {
  for i in 0..n {
    dst[i] = (77u32 * src[i * 3] as u32 + 150u32 * src[i * 3 + 1] as u32 + 29u32 * src[i * 3 + 2] as u32 + 128u32 >> 8i32) as u8
  }
}

kernel luma_chunks(src: [u8; rows, 3], dst: mut [u8; rows]) dims(rows) {
  for i in 0..rows {
    alloc array: local [u8; 3] len 3 fill 0u8
    array[0] = src[i * 3]
    array[1] = src[i * 3 + 1]
    array[2] = src[i * 3 + 2]
    let r: u8 = array[0]
    let g: u8 = array[1]
    let b: u8 = array[2]
    dst[i] = (77u32 * r as u32 + 150u32 * g as u32 + 29u32 * b as u32 + 128u32 >> 8i32) as u8
  }
}

kernel matmul(a: [f32; m, k], b: [f32; k, n], c: mut [f32; m, n], m: dim, k: dim, n: dim) dims(m, k, n) {
  for i in 0..m * n {
    c[i] = 0.0
  }
  for i_1 in 0..m {
    for p in 0..k {
      let aip: f32 = a[i_1 * k + p]
      for j in 0..n {
        c[i_1 * n + j] = c[i_1 * n + j] + aip * b[p * n + j]
      }
    }
  }
}

kernel matvec(w: [f32; m, n], x: [f32; n], out: mut [f32; m]) dims(m, n) {
  for i in 0..m {
    let mut acc: f32 = 0.0
    for j in 0..n {
      acc = acc + w[i * n + j] * x[j]
    }
    out[i] = acc
  }
}

kernel transpose(x: [f32; rows, cols], rows: dim, cols: dim, out: mut [f32; cols, rows]) dims(rows, cols) {
  for r in 0..rows {
    for c in 0..cols {
      out[c * rows + r] = x[r * cols + c]
    }
  }
}

kernel cumsum(x: mut [f32; n]) dims(n) {
  let mut acc: f32 = 0.0
  for i in 0..n {
    acc = acc + x[i]
    x[i] = acc
  }
}

kernel cumsum_index(x: mut [f32; n]) dims(n) {
  for i in 1..n {
    x[i] = x[i] + x[i - 1]
  }
}

kernel diff(x: [f64; n], out: mut [f64; n - 1]) dims(n) {
  for i in 0..n - 1 {
    out[i] = x[i + 1] - x[i]
  }
}

kernel fir(x: [f64; n + rows - 1], taps: [f64; n], out: mut [f64; rows]) dims(n, rows) {
  for i in 0..rows {
    let mut acc: f64 = 0.0f64
    for j in 0..n {
      let s: f64 = x[i + j]
      let t: f64 = taps[n - j - 1]
      acc = acc + s * t
    }
    out[i] = acc
  }
}

kernel count_byte(hay: [u8; n], needle: u8) -> usize dims(n) {
  let mut acc: usize = 0
  for i in 0..n {
    let b: u8 = hay[i]
    acc = acc + (b == needle) as usize
  }
  return (acc)
}

kernel count_filter(hay: [u8; n], needle: u8) -> usize dims(n) {
  let mut count: usize = 0
  for i in 0..n {
    let b: u8 = hay[i]
    if b == needle {
      count = count + 1
    }
  }
  return (count)
}

kernel sum_positive(x: [f32; n]) -> f32 dims(n) {
  let mut sum: f32 = -0.0
  for i in 0..n {
    let v: f32 = x[i]
    if v > 0.0 {
      sum = sum + x[i]
    }
  }
  return (sum)
}

kernel any_negative(x: [f32; n]) -> bool dims(n) {
  let mut any: bool = false
  for i in 0..n {
    let v: f32 = x[i]
    if v < 0.0 {
      any = true
      break
    }
  }
  return (any)
}

kernel all_below(x: [f32; n], limit: f32) -> bool dims(n) {
  let mut all: bool = true
  for i in 0..n {
    let v: f32 = x[i]
    if !(v < limit) {
      all = false
      break
    }
  }
  return (all)
}

kernel first_above(x: [f32; n], limit: f32) -> usize dims(n) {
  let mut found: bool = false
  let mut at: usize = 0
  for i in 0..n {
    let v: f32 = x[i]
    if v > limit {
      found = true
      at = i
      break
    }
  }
  return (select(found, at, n))
}

kernel hamming(a: [u64; n], b: [u64; n]) -> u32 dims(n) {
  let mut dist: u32 = 0u32
  for i in 0..n {
    dist = dist + count_ones(a[i] ^ b[i])
  }
  return (dist)
}

kernel xor_key(data: mut [u8; n], key: [u8; m]) dims(n, m) {
  for i in 0..n {
    data[i] = data[i] ^ key[i % m]
  }
}

kernel xor_cycle(data: mut [u8; n], key: [u8; m]) dims(n, m) {
  for i in 0..n {
    data[i] = data[i] ^ key[i % m]
  }
}

kernel min_max(x: [f32; n]) -> (f32, f32) dims(n) {
  let mut lo: f32 = f32::INFINITY
  let mut hi: f32 = f32::NEG_INFINITY
  for i in 0..n {
    let v: f32 = x[i]
    lo = min(lo, v)
    hi = max(hi, v)
  }
  return (lo, hi)
}

kernel max_int(x: [i32; n]) -> i32 dims(n) {
  let mut best: i32 = x[0]
  for i in 1..n {
    best = max(best, x[i])
  }
  return (best)
}

kernel min_copied(x: [u16; n]) -> u16 dims(n) {
  let mut best: u16 = x[0]
  for i in 1..n {
    best = min(best, x[i])
  }
  return (best)
}

kernel relu_if(x: mut [f32; n]) dims(n) {
  for i in 0..n {
    if x[i] < 0.0 {
      x[i] = 0.0
    }
  }
}

kernel leaky(x: [f32; n], out: mut [f32; n]) dims(n) {
  for i in 0..n {
    let v: f32 = x[i]
    out[i] = select(v > 0.0, v, 0.01 * v)
  }
}

kernel three_way(x: [i32; n], out: mut [i32; n]) dims(n) {
  for i in 0..n {
    let v: i32 = x[i]
    out[i] = select(v == 0i32, 7i32, select((v == 1i32) | (v == 2i32), -1i32, select((v >= 3i32) & (v <= 5i32), v * 2i32, select(v < 0i32, -v, 100i32))))
  }
}

kernel clamp_border(x: [f32; n], out: mut [f32; n]) dims(n) {
  for i in 0..n {
    let mut left: f32 = 0.0
    if i > 0 {
      left = x[i - 1]
    } else {
      left = x[0]
    }
    let right: f32 = x[min(i + 1, n - 1)]
    out[i] = (left + x[i] + right) / 3.0
  }
}

kernel stencil(u: [f64; h, w], next: mut [f64; h, w], h: dim, w: dim) -> f64 dims(h, w) {
  let mut diff: f64 = 0.0f64
  for i in 1..h - 1 {
    for j in 1..w - 1 {
      let v: f64 = 0.25f64 * (u[(i - 1) * w + j] + u[(i + 1) * w + j] + u[i * w + j - 1] + u[i * w + j + 1])
      diff = max(diff, abs(v - u[i * w + j]))
      next[i * w + j] = v
    }
  }
  return (diff)
}

kernel every_second(x: [f32; n], out: mut [f32; (n + 1) / 2]) dims(n) {
  for i in 0..(n + 1) / 2 {
    out[i] = x[i * 2]
  }
}

kernel step_range(x: mut [f32; n]) dims(n) {
  for i in 0..n step 3 {
    x[i] = 1.0
  }
}

kernel reverse(x: [i32; n], out: mut [i32; n]) dims(n) {
  for i in 0..n {
    out[i] = x[n - i - 1]
  }
}

kernel reverse_range(x: [i32; n], out: mut [i32; n]) dims(n) {
  for i in 0..n {
    out[n - 1 - (n - i - 1)] = x[n - i - 1]
  }
}

kernel skip_take(x: [i32; n]) -> i32 dims(n) {
  let mut sum: i32 = 0i32
  for i in 0..min(n - 1, 3) {
    sum = sum + x[i + 1]
  }
  return (sum)
}

kernel triangle(x: [f32; n, n], n: dim, out: mut [f32; n]) dims(n) {
  for i in 0..n {
    let mut s: f32 = 0.0
    for j in 0..i + 1 {
      s = s + x[i * n + j]
    }
    out[i] = s
  }
}

kernel histogram(x: [u8; n], bins: mut [u32; 16]) dims(n) {
  for i in 0..n {
    let v: u8 = x[i]
    bins[(v & 15u8) as usize] = bins[(v & 15u8) as usize] + 1u32
  }
}

kernel gather(table: [f32; n], idx: [u32; m], out: mut [f32; m]) dims(n, m) {
  for i in 0..m {
    let i_1: u32 = idx[i]
    out[i] = table[i_1 as usize]
  }
}

kernel wrapping(x: [u32; n], seed: u32) -> u32 dims(n) {
  let mut h: u32 = seed
  for i in 0..n {
    let v: u32 = x[i]
    h = rotate_left((h ^ v) * 16777619u32, 5u32)
  }
  return (h)
}

kernel local_table(x: [u8; n], out: mut [u8; n]) dims(n) {
  alloc table: local [u8; 4] len 4 fill 0u8
  table[0] = 3u8
  table[1] = 1u8
  table[2] = 4u8
  table[3] = 1u8
  for i in 0..n {
    let v: u8 = x[i]
    out[i] = table[(v & 3u8) as usize]
  }
}

kernel early_return(x: [f32; n]) -> f32 dims(n) {
  if n < 2 {
    return (-1.0)
  }
  let mut s: f32 = 0.0
  for i in 0..n {
    let v: f32 = x[i]
    if v > 3.9 {
      return (v)
    }
    s = s + v
  }
  return (s)
}

kernel helper_early(x: [f32; n], out: mut [i32; n]) dims(n) {
  for i in 0..n {
    let v: f32 = x[i]
    let result: i32 = select(v < -1.0, -1i32, select(v > 1.0, 1i32, 0i32))
    out[i] = result
  }
}

kernel helper_search(x: [f32; n], limit: f32) -> usize dims(n) {
  let mut result_some: bool = false
  let mut matched: usize = 0
  let mut returned: bool = false
  for i in 0..n {
    let v: f32 = x[i]
    if v > limit {
      result_some = true
      matched = i
      returned = true
      break
    }
  }
  if !returned {
    result_some = false
  }
  return (select(result_some, matched + 1, 0))
}

kernel if_let_search(x: [f32; n], limit: f32) -> usize dims(n) {
  let mut result_some: bool = false
  let mut matched: usize = 0
  let mut returned: bool = false
  for i in 0..n {
    let v: f32 = x[i]
    if v > limit {
      result_some = true
      matched = i
      returned = true
      break
    }
  }
  if !returned {
    result_some = false
  }
  return (select(result_some, matched, 99))
}

kernel continues(x: [f32; n], mask: [u8; n]) -> f32 dims(n) {
  let mut s: f32 = 0.0
  for i in 0..n {
    if !(mask[i] == 0u8) {
      s = s + x[i]
    }
  }
  return (s)
}

kernel breaks(x: [f32; n]) -> usize dims(n) {
  let mut n_1: usize = 0
  for i in 0..n {
    let v: f32 = x[i]
    if v > 3.0 {
      break
    }
    n_1 = n_1 + 1
  }
  return (n_1)
}

kernel escape(c: [f32; n], limit: u16, out: mut [u16; n]) dims(n) {
  for i in 0..n {
    let c_1: f32 = c[i]
    let mut z: f32 = 0.0
    let mut n_1: u16 = 0u16
    while (n_1 < limit) & (z * z <= 4.0) {
      z = z * z + c_1
      n_1 = n_1 + 1u16
    }
    out[i] = n_1
  }
}

kernel pooled(x: [f32; rows, cols], rows: dim, cols: dim) -> out: ret [f32; cols] dims(rows, cols) {
  alloc out len cols fill 0.0
  for r in 0..rows {
    for c in 0..cols {
      out[c] = out[c] + x[r * cols + c]
    }
  }
  for i in 0..cols {
    out[i] = out[i] / rows as f32
  }
}

kernel rope(x: mut [f32; rows, half, 2], cos: [f32; half], sin: [f32; half]) dims(rows, half) {
  for i in 0..rows {
    for i_1 in 0..half {
      let a: f32 = x[i * (2 * half) + i_1]
      let b: f32 = x[i * (2 * half) + half + i_1]
      x[i * (2 * half) + i_1] = a * cos[i_1] - b * sin[i_1]
      x[i * (2 * half) + half + i_1] = a * sin[i_1] + b * cos[i_1]
    }
  }
}

kernel interleaved(x: mut [f32; rows, 2]) dims(rows) {
  for i in 0..rows {
    let re: f32 = x[i * 2]
    let im: f32 = x[i * 2 + 1]
    x[i * 2] = re + im
    x[i * 2 + 1] = re - im
  }
}

kernel matrix3(rot: [f32; 9], p: [f32; 3], out: mut [f32; 3]) dims() {
  for r in 0..3 {
    let mut s: f32 = 0.0
    for c in 0..3 {
      s = s + rot[r * 3 + c] * p[c]
    }
    out[r] = s
  }
}

kernel ema(x: [f64; n], alpha: f64, out: mut [f64; n]) dims(n) {
  let mut state: f64 = x[0]
  out[0] = state
  for i in 1..n {
    state = alpha * x[i] + (1.0f64 - alpha) * state
    out[i] = state
  }
}

kernel block_scale(x: [i8; rows, 8], scales: [f32; rows], out: mut [f32; rows, 8]) dims(rows) {
  for i in 0..rows {
    let s: f32 = scales[i]
    for j in 0..8 {
      out[i * 8 + j] = x[i * 8 + j] as f32 * s
    }
  }
}

kernel block_dot(a: [i8; n], b: [i8; n]) -> i32 dims(n) {
  let mut sum: i32 = 0i32
  for i in 0..n {
    let x: i8 = a[i]
    let y: i8 = b[i]
    sum = sum + x as i32 * y as i32
  }
  return (sum)
}

kernel alpha_over(dst: mut [u8; rows, 4], src: [u8; rows, 4]) dims(rows) {
  for i in 0..rows {
    let inv: u32 = 255u32 - src[i * 4 + 3] as u32
    for c in 0..4 {
      let v: u32 = dst[i * 4 + c] as u32 * inv
      let v_1: u32 = src[i * 4 + c] as u32 + (v + 128u32 + (v + 128u32 >> 8i32) >> 8i32)
      dst[i * 4 + c] = min(v_1, 255u32) as u8
    }
  }
}

kernel filled(out: mut [f32; m], n: usize, value: f32) dims(m) {
  if n > m {
    decline
  }
  for i in 0..n {
    out[i] = value
  }
}

kernel copied(out: mut [f32; n], src: [f32; n]) dims(n) {
  for i in 0..n {
    out[i] = src[i]
  }
}

kernel signed_loop(out: mut [f32; n], r: i32) dims(n) {
  for i in 0..n {
    let mut s: f32 = 0.0
    for k in 0..select(-r <= r, (r as i64 - -r as i64) as usize + 1, 0) {
      let k_1: i32 = -r + k as i32
      s = s + k_1 as f32
    }
    out[i] = s
  }
}

kernel small_signed(out: mut [f32; n]) dims(n) {
  for i in 0..n {
    let mut s: f32 = 0.0
    for k in 0..3 {
      let k_1: i32 = k as i32
      s = s + (k_1 - 1i32) as f32 * out[i]
    }
    out[i] = s
  }
}

kernel float_math(x: [f64; n], out: mut [f64; n]) dims(n) {
  for i in 0..n {
    let v: f64 = x[i]
    out[i] = ln_1p(abs(v)) + sin(v) * exp(cos(v)) - atan2(hypot(floor(v), 2.0f64), signum(v))
  }
}

kernel ordering(x: [i32; n], out: mut [i8; n]) dims(n) {
  for i in 0..n {
    let v: i32 = x[i]
    out[i] = select(v < 2i32, -1i8, select(v == 2i32, 0i8, 1i8))
  }
}

kernel max_pool(x: [f32; rows, k], k: dim, out: mut [f32; rows]) dims(k, rows) {
  for i in 0..rows {
    let mut acc: f32 = f32::NAN
    for j in 0..k {
      acc = max(acc, x[i * k + j])
    }
    out[i] = acc
  }
}

kernel assert_bound(x: [f32; m], n: usize) -> f32 dims(m) {
  if !(n <= m) {
    decline
  }
  let mut s: f32 = 0.0
  for i in 0..n {
    s = s + x[i]
  }
  return (s)
}

