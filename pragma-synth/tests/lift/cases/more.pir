kernel digits(text: [u8; n]) -> u32 dims(n) {
  let mut value: u32 = 0u32
  for i in 0..n {
    let b: u8 = text[i]
    let byte: u8 = b + 40u8
    if !((byte >= 48u8) & (byte <= 57u8)) {
      decline
    }
    value = value * 10u32 + b as u32
  }
  return (value)
}

kernel lower(text: mut [u8; n]) dims(n) {
  for i in 0..n {
    text[i] = text[i] + 60u8
    let byte: u8 = text[i]
    text[i] = select((byte >= 65u8) & (byte <= 90u8), byte ^ 32u8, byte)
  }
}

kernel classes(text: [u8; n]) -> (usize, usize) dims(n) {
  let mut letters: usize = 0
  for i in 0..n {
    let byte: u8 = text[i] * 10u8
    if (byte >= 97u8) & (byte <= 122u8) | (byte >= 65u8) & (byte <= 90u8) {
      letters = letters + 1
    }
  }
  let mut spaces: usize = 0
  for i_1 in 0..n {
    let byte_1: u8 = text[i_1] + 8u8
    if (byte_1 >= 9u8) & (byte_1 <= 10u8) | (byte_1 >= 12u8) & (byte_1 <= 13u8) | (byte_1 == 32u8) {
      spaces = spaces + 1
    }
  }
  return (letters, spaces)
}

kernel hex(src: [u8; n], dst: mut [u8; n, 2]) dims(n) {
  alloc hex: local [u8; 16] len 16 fill 0u8
  hex[0] = 48u8
  hex[1] = 49u8
  hex[2] = 50u8
  hex[3] = 51u8
  hex[4] = 52u8
  hex[5] = 53u8
  hex[6] = 54u8
  hex[7] = 55u8
  hex[8] = 56u8
  hex[9] = 57u8
  hex[10] = 97u8
  hex[11] = 98u8
  hex[12] = 99u8
  hex[13] = 100u8
  hex[14] = 101u8
  hex[15] = 102u8
  for i in 0..n {
    let b: u8 = src[i]
    dst[2 * i] = hex[(b >> 4i32) as usize]
    dst[2 * i + 1] = hex[(b & 15u8) as usize]
  }
}

kernel median_of_nine(src: [u8; rows + 8], dst: mut [u8; rows]) dims(rows) {
  for i in 0..rows {
    alloc nine: local [u8; 9] len 9 fill 0u8
    for i_1 in 0..9 {
      nine[i_1] = src[i + i_1]
    }
    let low: u8 = nine[0]
    let high: u8 = nine[1]
    nine[0] = min(low, high)
    nine[1] = max(low, high)
    let low_1: u8 = nine[2]
    let high_1: u8 = nine[3]
    nine[2] = min(low_1, high_1)
    nine[3] = max(low_1, high_1)
    let low_2: u8 = nine[4]
    let high_2: u8 = nine[5]
    nine[4] = min(low_2, high_2)
    nine[5] = max(low_2, high_2)
    let low_3: u8 = nine[6]
    let high_3: u8 = nine[7]
    nine[6] = min(low_3, high_3)
    nine[7] = max(low_3, high_3)
    let low_4: u8 = nine[0]
    let high_4: u8 = nine[2]
    nine[0] = min(low_4, high_4)
    nine[2] = max(low_4, high_4)
    let low_5: u8 = nine[1]
    let high_5: u8 = nine[3]
    nine[1] = min(low_5, high_5)
    nine[3] = max(low_5, high_5)
    let low_6: u8 = nine[4]
    let high_6: u8 = nine[6]
    nine[4] = min(low_6, high_6)
    nine[6] = max(low_6, high_6)
    let low_7: u8 = nine[5]
    let high_7: u8 = nine[7]
    nine[5] = min(low_7, high_7)
    nine[7] = max(low_7, high_7)
    let low_8: u8 = nine[1]
    let high_8: u8 = nine[2]
    nine[1] = min(low_8, high_8)
    nine[2] = max(low_8, high_8)
    let low_9: u8 = nine[5]
    let high_9: u8 = nine[6]
    nine[5] = min(low_9, high_9)
    nine[6] = max(low_9, high_9)
    let low_10: u8 = nine[0]
    let high_10: u8 = nine[4]
    nine[0] = min(low_10, high_10)
    nine[4] = max(low_10, high_10)
    let low_11: u8 = nine[1]
    let high_11: u8 = nine[5]
    nine[1] = min(low_11, high_11)
    nine[5] = max(low_11, high_11)
    let low_12: u8 = nine[2]
    let high_12: u8 = nine[6]
    nine[2] = min(low_12, high_12)
    nine[6] = max(low_12, high_12)
    let low_13: u8 = nine[3]
    let high_13: u8 = nine[7]
    nine[3] = min(low_13, high_13)
    nine[7] = max(low_13, high_13)
    let low_14: u8 = nine[2]
    let high_14: u8 = nine[4]
    nine[2] = min(low_14, high_14)
    nine[4] = max(low_14, high_14)
    let low_15: u8 = nine[3]
    let high_15: u8 = nine[5]
    nine[3] = min(low_15, high_15)
    nine[5] = max(low_15, high_15)
    let low_16: u8 = nine[1]
    let high_16: u8 = nine[2]
    nine[1] = min(low_16, high_16)
    nine[2] = max(low_16, high_16)
    let low_17: u8 = nine[3]
    let high_17: u8 = nine[4]
    nine[3] = min(low_17, high_17)
    nine[4] = max(low_17, high_17)
    let low_18: u8 = nine[5]
    let high_18: u8 = nine[6]
    nine[5] = min(low_18, high_18)
    nine[6] = max(low_18, high_18)
    let low_19: u8 = nine[0]
    let high_19: u8 = nine[8]
    nine[0] = min(low_19, high_19)
    nine[8] = max(low_19, high_19)
    let low_20: u8 = nine[4]
    let high_20: u8 = nine[8]
    nine[4] = min(low_20, high_20)
    nine[8] = max(low_20, high_20)
    let low_21: u8 = nine[2]
    let high_21: u8 = nine[4]
    nine[2] = min(low_21, high_21)
    nine[4] = max(low_21, high_21)
    let low_22: u8 = nine[3]
    let high_22: u8 = nine[5]
    nine[3] = min(low_22, high_22)
    nine[5] = max(low_22, high_22)
    let low_23: u8 = nine[6]
    let high_23: u8 = nine[8]
    nine[6] = min(low_23, high_23)
    nine[8] = max(low_23, high_23)
    let low_24: u8 = nine[1]
    let high_24: u8 = nine[2]
    nine[1] = min(low_24, high_24)
    nine[2] = max(low_24, high_24)
    let low_25: u8 = nine[3]
    let high_25: u8 = nine[4]
    nine[3] = min(low_25, high_25)
    nine[4] = max(low_25, high_25)
    let low_26: u8 = nine[5]
    let high_26: u8 = nine[6]
    nine[5] = min(low_26, high_26)
    nine[6] = max(low_26, high_26)
    let low_27: u8 = nine[7]
    let high_27: u8 = nine[8]
    nine[7] = min(low_27, high_27)
    nine[8] = max(low_27, high_27)
    dst[i] = nine[4]
  }
}

kernel sorted_by(x: [f32; rows, 5], out: mut [f32; rows]) dims(rows) {
  for i in 0..rows {
    alloc five: local [f32; 5] len 5 fill 0.0
    for i_1 in 0..5 {
      five[i_1] = x[i * 5 + i_1]
    }
    for i_2 in 1..5 {
      let item: f32 = five[i_2]
      let mut hole: usize = i_2
      while hole > 0 {
        let other: f32 = five[hole - 1]
        if is_nan(item) | is_nan(other) {
          panic!
        }
        if item <= other {
          break
        }
        five[hole] = other
        hole = hole - 1
      }
      five[hole] = item
    }
    out[i] = five[0] - five[4]
  }
}

kernel largest(x: [f32; n], k: usize) -> f32 dims(n) {
  if min(k, n) == 0 {
    decline
  }
  alloc order: local [usize; n] len n fill 0
  for i in 0..n {
    order[i] = i
  }
  alloc best: local [usize;] len min(k, n) fill 0
  let mut count: usize = 0
  for i_1 in 0..n {
    let item: usize = order[i_1]
    if count >= min(k, n) {
      let a: usize = best[min(k, n) - 1]
      let a_1: f32 = x[item]
      let b: f32 = x[a]
      if is_nan(a_1) | is_nan(b) {
        panic!
      }
      if a_1 <= b {
        continue
      }
    } else {
      count = count + 1
    }
    let mut hole: usize = count - 1
    while hole > 0 {
      let other: usize = best[hole - 1]
      let a_2: f32 = x[item]
      let b_1: f32 = x[other]
      if is_nan(a_2) | is_nan(b_1) {
        panic!
      }
      if a_2 <= b_1 {
        break
      }
      best[hole] = other
      hole = hole - 1
    }
    best[hole] = item
  }
  let mut sum: f32 = -0.0
  for i_2 in 0..min(min(k, n), k) {
    let at: usize = best[i_2]
    sum = sum + x[at] * (i_2 + at) as f32
  }
  return (sum)
}

kernel rounds(state: mut [u32; 4], block: [u8; 16]) dims()
  bufs(state: mut [u32; 4], block: [u8; 16], w: local [u32; 8], copy: local [u32; 4], k: local [u32; 3], array: local [u32; 4]) {
  alloc k: local [u32; 3] len 3 fill 0u32
  k[0] = 7u32
  k[1] = 11u32
  k[2] = 13u32
  alloc w: local [u32; 8] len 8 fill 0u32
  for i in 0..4 {
    w[i] = block[i * 4] as u32 << 24u32 | block[i * 4 + 1] as u32 << 16u32 | block[i * 4 + 2] as u32 << 8u32 | block[i * 4 + 3] as u32
  }
  for i_1 in 4..8 {
    w[i_1] = rotate_right(w[i_1 - 4], 7u32) ^ w[i_1 - 1] >> 3i32
  }
  alloc copy: local [u32; 4] len 4 fill 0u32
  for i_3 in 0..4 {
    copy[i_3] = state[i_3]
  }
  let mut a: u32 = copy[0]
  let mut b: u32 = copy[1]
  let mut c: u32 = copy[2]
  let mut d: u32 = copy[3]
  for i_4 in 0..8 {
    let t: u32 = d + (a & b) + k[i_4 % 3] + w[i_4]
    d = c
    c = b
    b = a
    a = t
  }
  alloc array: local [u32; 4] len 4 fill 0u32
  array[0] = a
  array[1] = b
  array[2] = c
  array[3] = d
  for i_6 in 0..4 {
    let v: u32 = array[i_6]
    state[i_6] = state[i_6] + v
  }
}

kernel mapped_arrays(index: [u32; n, 3], values: [f32; m], out: mut [f32; n]) dims(n, m) {
  for i in 0..n {
    let i_1: u32 = index[i * 3]
    let mapped: f32 = values[i_1 as usize % 3]
    let i_2: u32 = index[i * 3 + 1]
    let mapped_1: f32 = values[i_2 as usize % 3]
    let i_3: u32 = index[i * 3 + 2]
    let mapped_2: f32 = values[i_3 as usize % 3]
    alloc array: local [f32; 3] len 3 fill 0.0
    array[0] = mapped
    array[1] = mapped_1
    array[2] = mapped_2
    let a: f32 = array[0]
    let b: f32 = array[1]
    let c: f32 = array[2]
    out[i] = a * b - c
  }
}

kernel xorshift(x: mut [f32; n], seed: u64, p: f32) dims(n) {
  let mut state: u64 = seed
  for i in 0..n {
    state = state ^ state << 13i32
    state = state ^ state >> 7i32
    state = state ^ state << 17i32
    let r: f32 = (state >> 40i32) as f32 / (1u64 << 24i32) as f32
    if r < p {
      x[i] = 0.0
    } else {
      x[i] = x[i] / (1.0 - p)
    }
  }
}

kernel box_filter(src: [u8; n], w: dim, h: dim, r: usize) -> out: ret [u8; w, h] dims(w, h, n) {
  alloc out len w * h fill 0u8
  for y in 0..h {
    let y0: usize = saturating_sub(y, r)
    let y1: usize = min(y + r + 1, h)
    for x in 0..w {
      let x0: usize = saturating_sub(x, r)
      let x1: usize = min(x + r + 1, w)
      let mut most: u8 = 0u8
      for yy in y0..y1 {
        if yy * w + x0 > yy * w + x1 {
          panic!
        }
        if yy * w + x1 > n {
          panic!
        }
        for l in 0..x1 - x0 {
          let v: u8 = src[yy * w + x0 + l]
          most = max(most, v)
        }
      }
      out[y * w + x] = most
    }
  }
}

kernel previous(xs: [f64; n], ys: [f64; n]) -> f64 dims(n) {
  let mut area: f64 = 0.0f64
  let mut j: usize = n - 1
  for i in 0..n {
    area = area + (xs[j] + xs[i]) * (ys[j] - ys[i])
    j = i
  }
  return (abs(area) / 2.0f64)
}

kernel matrix_product(a: [f32; 9], b: [f32; 9]) -> copy: ret [f32; 9] dims()
  bufs(a: [f32; 9], b: [f32; 9], m: local [f32; 9], copy: ret [f32; 9]) {
  alloc m: local [f32; 9] len 9 fill 0.0
  for i in 0..3 {
    for j in 0..3 {
      for k in 0..3 {
        m[i * 3 + j] = m[i * 3 + j] + a[i * 3 + k] * b[k * 3 + j]
      }
    }
  }
  alloc copy len 9 fill 0.0
  for i_2 in 0..9 {
    copy[i_2] = m[i_2]
  }
}

kernel tables(x: [u32; n], out: mut [u32; n]) dims(n)
  vars(i: usize, v: u32, i_2: usize, i_3: usize) {
  alloc t: local [u32; 256] len 256 fill 0u32
  for i_2 in 0..256 {
    t[i_2] = i_2 as u32 * 2654435761u32 >> 7i32
  }
  alloc table: local [u32; 256] len 256 fill 0u32
  for i_3 in 0..256 {
    table[i_3] = t[i_3]
  }
  for i in 0..n {
    let v: u32 = x[i]
    out[i] = table[(v & 255u32) as usize] ^ table[(v >> 24i32) as usize]
  }
}

