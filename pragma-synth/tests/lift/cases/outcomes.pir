kernel add_checked(a: [f32; n], b: [f32; n], out: mut [f32; n]) dims(n) {
  for i in 0..n {
    out[i] = a[i] + b[i]
  }
}

kernel moving_sum(x: [f64; n], window: usize, out: mut [f64; n]) -> usize dims(n) {
  if window < 2 {
    decline
  }
  if n < window {
    decline
  }
  for i in 0..window - 1 {
    out[i] = f64::NAN
  }
  let mut sum: f64 = -0.0f64
  for i_1 in 0..window {
    sum = sum + x[i_1]
  }
  let mut sum_1: f64 = sum
  out[window - 1] = sum_1
  for i_2 in window..n {
    sum_1 = sum_1 + (x[i_2] - x[i_2 - window])
    out[i_2] = sum_1
  }
  return (window - 1)
}

kernel mean_option(x: [f64; n]) -> f64 dims(n) {
  let mut total: f64 = -0.0f64
  for i in 0..n {
    total = total + x[i]
  }
  if total < 0.0f64 {
    decline
  }
  return (total / n as f64)
}

kernel first_negative(x: [i32; n]) -> usize dims(n) {
  let mut found: bool = false
  let mut at: usize = 0
  for i in 0..n {
    let v: i32 = x[i]
    if v < 0i32 {
      found = true
      at = i
      break
    }
  }
  if !found {
    decline
  }
  return (at)
}

kernel first_negative_loop(x: [i32; n]) -> usize dims(n) {
  for i in 0..n {
    let v: i32 = x[i]
    if v < 0i32 {
      return (i)
    }
  }
  decline
}

kernel harmonic(x: [f32; n]) -> f32 dims(n) {
  let mut sum: f32 = 0.0
  for i in 0..n {
    let v: f32 = x[i]
    if v == 0.0 {
      decline
    }
    sum = sum + 1.0 / v
  }
  return (n as f32 / sum)
}

kernel reciprocals_or(x: [f32; n], other: f32, out: mut [f32; n]) dims(n) {
  for i in 0..n {
    let v: f32 = x[i]
    out[i] = select(!(v == 0.0), 1.0 / v, other)
  }
}

kernel reciprocals_matched(x: [f32; n], out: mut [f32; n]) dims(n)
  vars(i: usize, v: f32, r: f32, r_1: f32, r_2: f32, mut value: f32, mut value_1: f32) {
  for i in 0..n {
    let v: f32 = x[i]
    let r: f32 = 1.0 / v
    let mut value_1: f32 = 0.0
    if !(v == 0.0) & (r > 0.5) {
      let r_1: f32 = 1.0 / v
      value_1 = r_1
    } else {
      let mut value: f32 = 0.0
      if !(v == 0.0) {
        let r_2: f32 = 1.0 / v
        value = r_2 * 2.0
      } else {
        value = -1.0
      }
      value_1 = value
    }
    out[i] = value_1
  }
}

kernel scatter_rows(table: mut [i32; n], idx: [usize; m], rows: [i32; m, dim], dim: dim) dims(dim, n, m)
  vars(i: usize, dst: usize, j: usize, i_1: usize, dst_1: usize) {
  for i_1 in 0..m {
    let dst_1: usize = idx[i_1]
    if (dst_1 + 1) * dim > n {
      decline
    }
  }
  for i in 0..m {
    let dst: usize = idx[i]
    for j in 0..dim {
      table[dst * dim + j] = table[dst * dim + j] + rows[i * dim + j]
    }
  }
}

kernel histogram_checked(x: [u8; n], bins: mut [u32; m]) -> u32 dims(n, m)
  vars(mut seen: u32, i: usize, v: u8, i_1: usize, v_1: u8) {
  let mut seen: u32 = 0u32
  for i_1 in 0..n {
    let v_1: u8 = x[i_1]
    if v_1 as usize >= m {
      decline
    }
  }
  for i in 0..n {
    let v: u8 = x[i]
    bins[v as usize] = bins[v as usize] + 1u32
    seen = seen + 1u32
  }
  return (seen)
}

kernel parse_digits(text: [u8; n], out: mut [u32; n]) dims(n)
  vars(i: usize, c: u8, mut value: u32, i_1: usize, c_1: u8) {
  for i_1 in 0..n {
    let c_1: u8 = text[i_1]
    if !((c_1 >= 1u8) & (c_1 <= 9u8)) {
      if !(c_1 == 0u8) {
        decline
      }
    }
  }
  for i in 0..n {
    let c: u8 = text[i]
    let mut value: u32 = 0u32
    if (c >= 1u8) & (c <= 9u8) {
      value = (c * 2u8) as u32
    } else {
      value = 7u32
    }
    out[i] = value
  }
}

kernel option_chain(x: [f32; n], at: usize) -> f32 dims(n) {
  if !(at < n) {
    decline
  }
  let first: f32 = x[0]
  let other: f32 = x[at]
  let v: f32 = first * other
  let value: bool = v > 0.0
  if !value {
    decline
  }
  return (first * other)
}

kernel result_ok_or(x: [f32; n], scale: f32) -> f32 dims(n)
  vars(scale: f32, mut tried: f32, i: usize, r: f32, mut value_some: bool, mut tried_2: f32) {
  let mut tried: f32 = x[0]
  for i in 1..n {
    tried = max(tried, x[i])
  }
  let mut value_some: bool = false
  let mut tried_2: f32 = 0.0
  if !(scale == 0.0) {
    let r: f32 = 1.0 / scale
    value_some = true
    tried_2 = tried * r
  } else {
    value_some = false
  }
  if !value_some {
    decline
  }
  return (tried_2)
}

kernel collected(x: [f32; n], least: usize) -> collected: ret [f32; n] dims(n) {
  if n < least {
    decline
  }
  for i in 0..n {
    collected[i] = x[i] * 2.0
  }
}

kernel early_vec(x: [f32; n], scale: f32) -> out: ret [f32; n] dims(n) {
  if scale == 1.0 {
    decline
  }
  alloc out len n fill 0.0
  for i in 0..n {
    out[i] = x[i] * scale
  }
}

kernel let_else_guard(x: [i32; n], at: usize) -> i32 dims(n) {
  if !(at < n) {
    decline
  }
  let v: i32 = x[at]
  if !(v > 0i32) {
    decline
  }
  return (v * 2i32)
}

kernel if_let_ok(x: [i32; n], out: mut [i32; m]) dims(n, m) {
  for i in 0..n {
    let v: i32 = x[i]
    if v > 0i32 {
      out[i] = v
    } else {
      out[i] = -7i32
    }
  }
}

