kernel fnv(data: [u8; n]) -> u64 dims(n) {
  let mut h: u64 = 14695981039346656037u64
  for i in 0..n {
    let b: u8 = data[i]
    h = h ^ b as u64
    h = h * 1099511628211u64
  }
  return (h)
}

kernel adler(data: [u8; n]) -> u32 dims(n) {
  let mut a: u32 = 1u32
  let mut b: u32 = 0u32
  for i in 0..n {
    let byte: u8 = data[i]
    a = (a + byte as u32) % 65521u32
    b = (b + a) % 65521u32
  }
  return (b << 16i32 | a)
}

kernel crc_bitwise(data: [u8; n]) -> u32 dims(n) {
  let mut crc: u32 = !(0u32)
  for i in 0..n {
    let byte: u8 = data[i]
    crc = crc ^ byte as u32
    for j in 0..8 {
      let mask: u32 = 0u32 - (crc & 1u32)
      crc = crc >> 1i32 ^ 3988292384u32 & mask
    }
  }
  return (!crc)
}

kernel crc_nibbles(data: [u8; n]) -> u32 dims(n)
  vars(mut crc: u32, i: usize, byte: u8, i_2: usize, mut c: u32, k: usize, i_3: usize) {
  alloc t: local [u32; 16] len 16 fill 0u32
  for i_2 in 0..16 {
    let mut c: u32 = i_2 as u32
    for k in 0..4 {
      c = select(c & 1u32 != 0u32, c >> 1i32 ^ 3988292384u32, c >> 1i32)
    }
    t[i_2] = c
  }
  alloc copy: local [u32; 16] len 16 fill 0u32
  for i_3 in 0..16 {
    copy[i_3] = t[i_3]
  }
  let mut crc: u32 = !(0u32)
  for i in 0..n {
    let byte: u8 = data[i]
    crc = copy[((crc ^ byte as u32) & 15u32) as usize] ^ crc >> 4i32
    crc = copy[((crc ^ byte as u32 >> 4i32) & 15u32) as usize] ^ crc >> 4i32
  }
  return (!crc)
}

kernel words(data: [u8; n]) -> u32 dims(n) {
  let mut sum: u32 = 0u32
  for i in 0..n / 4 {
    alloc array: local [u8; 4] len 4 fill 0u8
    array[0] = data[i * 4]
    array[1] = data[i * 4 + 1]
    array[2] = data[i * 4 + 2]
    array[3] = data[i * 4 + 3]
    let w: u32 = array[0] as u32 | array[1] as u32 << 8u32 | array[2] as u32 << 16u32 | array[3] as u32 << 24u32
    sum = rotate_left(sum, 3u32) ^ w
  }
  for i_1 in 0..n - n / 4 * 4 {
    let b: u8 = data[n / 4 * 4 + i_1]
    sum = sum + b as u32
  }
  return (sum)
}

kernel pack(x: [u8; rows, 4], out: mut [u32; rows]) dims(rows) {
  for i in 0..rows {
    out[i] = x[i * 4] as u32 | x[i * 4 + 1] as u32 << 8i32 | x[i * 4 + 2] as u32 << 16i32 | x[i * 4 + 3] as u32 << 24i32
  }
}

kernel unpack(x: [u32; n], out: mut [u8; n, 4]) dims(n) {
  for i in 0..n {
    let v: u32 = x[i]
    for b in 0..4 {
      out[i * 4 + b] = (v >> 8 * b) as u8
    }
  }
}

kernel nibbles(q: [u8; n], scale: f32, out: mut [f32; n, 2]) dims(n) {
  for i in 0..n {
    let b: u8 = q[i]
    let lo: i32 = (b & 15u8) as i32 - 8i32
    let hi: i32 = (b >> 4i32) as i32 - 8i32
    out[2 * i] = lo as f32 * scale
    out[2 * i + 1] = hi as f32 * scale
  }
}

kernel saturating(a: [u8; n], b: [u8; n], out: mut [u8; n]) dims(n) {
  for i in 0..n {
    let a_1: u8 = a[i]
    let b_1: u8 = b[i]
    out[i] = abs_diff(saturating_add(a_1, b_1), saturating_sub(b_1, a_1))
  }
}

kernel divisions(a: [i32; n], b: i32, out: mut [i32; n]) dims(n) {
  if b == 0i32 {
    decline
  }
  for i in 0..n {
    let v: i32 = a[i]
    if (b == -1i32) & (v == -2147483648i32) {
      panic!
    }
    out[i] = v / b + v % 3i32 + rem_euclid(v, 4i32) - div_euclid(v, 5i32)
  }
}

kernel widening(a: [i16; n], b: [i16; n]) -> i64 dims(n) {
  let mut acc: i64 = 0i64
  for i in 0..n {
    acc = acc + a[i] as i64 * b[i] as i64
  }
  return (acc)
}

kernel leading(x: [u32; n], out: mut [u32; n]) dims(n) {
  for i in 0..n {
    let v: u32 = x[i]
    out[i] = leading_zeros(v) + trailing_zeros(v) * 2u32 + count_ones(!v)
  }
}

kernel float_bits(x: [f32; n], out: mut [u32; n]) dims(n) {
  for i in 0..n {
    out[i] = to_bits(x[i]) >> 16i32 & 32767u32
  }
}

kernel from_bits(x: [u32; n], out: mut [f32; n]) dims(n) {
  for i in 0..n {
    out[i] = from_bits(x[i] << 16i32 & 2139095039u32)
  }
}

kernel delta_decode(x: mut [i32; n]) dims(n) {
  let mut last: i32 = 0i32
  for i in 0..n {
    last = last + x[i]
    x[i] = last
  }
}

kernel zigzag(x: [u32; n], out: mut [i32; n]) dims(n) {
  for i in 0..n {
    let v: u32 = x[i]
    out[i] = (v >> 1i32) as i32 ^ -((v & 1u32) as i32)
  }
}

kernel run_lengths(x: [u8; n]) -> usize dims(n) {
  let mut runs: usize = 0
  let mut i: usize = 0
  while i < n {
    let mut j: usize = i + 1
    while true {
      let mut holds: bool = j < n
      if holds {
        holds = x[j] == x[i]
      }
      if !holds {
        break
      }
      j = j + 1
    }
    runs = runs + 1
    i = j
  }
  return (runs)
}

kernel first_repeat(x: [u8; n]) -> usize dims(n) {
  for i in 1..n {
    if x[i] == x[i - 1] {
      return (i)
    }
  }
  return (n)
}

kernel binary_search(x: [i32; n], v: i32) -> usize dims(n) {
  let mut lo: usize = 0
  let mut hi: usize = n
  while lo < hi {
    let mid: usize = lo + (hi - lo) / 2
    if x[mid] < v {
      lo = mid + 1
    } else {
      hi = mid
    }
  }
  return (lo)
}

kernel gcd(a: [u32; n], b: [u32; n], out: mut [u32; n]) dims(n) {
  for i in 0..n {
    let mut x: u32 = a[i]
    let mut y: u32 = b[i]
    while y != 0u32 {
      if y == 0u32 {
        panic!
      }
      let next: u32 = x % y
      x = y
      y = next
    }
    out[i] = x
  }
}

kernel collatz(x: [u32; n], out: mut [u32; n]) dims(n) {
  for i in 0..n {
    let v: u32 = x[i]
    let mut n_1: u32 = v + 1u32
    let mut steps: u32 = 0u32
    while true {
      if n_1 == 1u32 {
        break
      }
      n_1 = select(n_1 % 2u32 == 0u32, n_1 / 2u32, 3u32 * n_1 + 1u32)
      steps = steps + 1u32
    }
    out[i] = steps
  }
}

kernel bool_slice(mask: [bool; n], x: [i32; n]) -> i32 dims(n) {
  let mut sum: i32 = 0i32
  for i in 0..n {
    let m: bool = mask[i]
    let v: i32 = x[i]
    if m & (v != 0i32) {
      sum = sum + v
    }
  }
  return (sum)
}

kernel casts(x: [f64; n], a: mut [u8; n], b: mut [i32; n]) dims(n) {
  for i in 0..n {
    a[i] = (x[i] * 100.0f64) as u8
    b[i] = (x[i] * 1000000000.0f64) as i32
  }
}

kernel unsigned_distance(x: [u8; n], y: [u8; n]) -> u32 dims(n) {
  let mut sum: u32 = 0u32
  for i in 0..n {
    let d: i32 = x[i] as i32 - y[i] as i32
    sum = sum + (d * d) as u32
  }
  return (sum)
}

kernel majority(x: [u8; n]) -> u8 dims(n) {
  alloc counts: local [u32; 16] len 16 fill 0u32
  for i in 0..n {
    let v: u8 = x[i]
    counts[(v & 15u8) as usize] = counts[(v & 15u8) as usize] + 1u32
  }
  let mut best: usize = 0
  for i_1 in 1..16 {
    if counts[i_1] > counts[best] {
      best = i_1
    }
  }
  return (best as u8)
}

kernel smith_waterman(a: [u8; n], b: [u8; m], gap: i32) -> i32 dims(n, m) {
  alloc prev: local [i32; m + 1] len m + 1 fill 0i32
  alloc cur: local [i32; m + 1] len m + 1 fill 0i32
  let mut best: i32 = 0i32
  for i in 1..n + 1 {
    for j in 1..m + 1 {
      let s: i32 = select(a[i - 1] == b[j - 1], 2i32, -1i32)
      cur[j] = max(max(max(0i32, prev[j - 1] + s), prev[j] + gap), cur[j - 1] + gap)
      best = max(best, cur[j])
    }
    for i_1 in 0..m + 1 {
      let held: i32 = prev[i_1]
      prev[i_1] = cur[i_1]
      cur[i_1] = held
    }
  }
  return (best)
}

kernel while_columns(x: [f32; rows, cols], cols: dim) -> f32 dims(rows, cols) {
  let mut total: f32 = 0.0
  let mut r: usize = 0
  while r * cols < cols * rows {
    for c in 0..cols {
      total = total + x[r * cols + c]
    }
    r = r + 1
  }
  return (total)
}

kernel big_endian(data: [u8; rows, 2], out: mut [u16; rows]) dims(rows) {
  for i in 0..rows {
    out[i] = data[i * 2] as u16 << 8u32 | data[i * 2 + 1] as u16
  }
}

kernel signed_size(x: [f32; n], n: dim, out: mut [f32; n]) dims(n) {
  for i in 0..n {
    out[i] = x[i] * i as i32 as f32
  }
}

kernel unsigned_size(x: mut [f32; rows, cols], rows: dim, cols: dim) dims(rows, cols) {
  for r in 0..rows {
    for c in 0..cols {
      x[r * cols + c] = x[r * cols + c] + 1.0
    }
  }
}

kernel repeated(x: mut [i32; n], times: i32) dims(n) {
  for i in 0..n {
    for t in 0..select(0i32 < times, times as usize, 0) {
      x[i] = x[i] + t as i32
    }
  }
}

