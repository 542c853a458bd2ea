kernel labelled_continue(x: [f32; rows, cols], rows: dim, cols: dim) -> usize dims(rows, cols) {
  let mut count: usize = 0
  for i in 0..rows {
    let mut left: bool = false
    for j in 0..cols {
      if x[i * cols + j] < 0.0 {
        left = true
        break
      }
    }
    if left {
      continue
    }
    count = count + 1
  }
  return (count)
}

kernel labelled_break(x: [i32; rows, cols], rows: dim, cols: dim) -> i32 dims(rows, cols) {
  let mut sum: i32 = 0i32
  for i in 0..rows {
    let mut left: bool = false
    let mut left_1: bool = false
    for j in 0..cols {
      let v: i32 = x[i * cols + j]
      if v == 3i32 {
        left = true
        break
      }
      if v < -3i32 {
        left_1 = true
        break
      }
      sum = sum + v
    }
    if left {
      break
    }
    if left_1 {
      continue
    }
    sum = sum + 1i32
  }
  return (sum)
}

kernel three_levels(x: [i32; n], n: dim) -> i32 dims(n) {
  let mut last: i32 = -1i32
  for a in 0..n {
    let mut left: bool = false
    for b in 0..n {
      let mut left_1: bool = false
      for c in 0..n {
        if x[a] + x[b] + x[c] == 0i32 {
          last = (a * 100 + b * 10 + c) as i32
          if b > a {
            left_1 = true
            break
          }
          break
        }
      }
      if left_1 {
        left = true
        break
      }
    }
    if left {
      break
    }
  }
  return (last)
}

kernel helper_returns_from_two_loops(x: [i32; n]) -> usize dims(n) {
  let mut i_1: usize = 0
  let mut j_1: usize = 0
  let mut returned: bool = false
  for i in 0..n {
    for j in 0..n {
      if (i != j) & (x[i] + x[j] == 2i32) {
        i_1 = i
        j_1 = j
        returned = true
        break
      }
    }
    if returned {
      break
    }
  }
  if !returned {
    i_1 = 99
    j_1 = 99
  }
  return (i_1 * 100 + j_1)
}

kernel helper_with_many_exits(x: [i32; rows, d], d: dim, out: mut [i32; rows]) dims(d, rows) {
  for i in 0..rows {
    let mut result: i32 = 0i32
    let mut returned: bool = false
    let mut total: i32 = 0i32
    for j in 0..d {
      let v: i32 = x[i * d + j]
      if v == 5i32 {
        result = -1i32
        returned = true
        break
      }
      for k in 0..3 {
        let k_1: i32 = k as i32
        if v == k_1 {
          result = total
          returned = true
          break
        }
        total = total + k_1
      }
      if returned {
        break
      }
    }
    if !returned {
      if total > 10i32 {
        result = 10i32
        returned = true
      } else {
        result = total
      }
    }
    out[i] = result
  }
}

kernel helper_with_nested_guards(x: [f32; n], lo: f32, out: mut [f32; n]) dims(n) {
  for i in 0..n {
    let v: f32 = x[i]
    let mut result: f32 = 0.0
    let mut returned: bool = false
    let mut w: f32 = v
    if w < lo {
      if w < -3.0 {
        result = -3.0
        returned = true
      }
      if !returned {
        w = lo
      }
    }
    if !returned {
      if w > 2.0 {
        result = 2.0 + lo
        returned = true
      } else {
        result = w * 0.5
      }
    }
    out[i] = result
  }
}

kernel while_with_break(x: [i32; n]) -> usize dims(n) {
  let mut i: usize = 0
  while i < n {
    if x[i] == 4i32 {
      break
    }
    i = i + 1
  }
  return (i)
}

kernel while_with_continue(x: [i32; n]) -> i32 dims(n) {
  let mut i: usize = 0
  let mut sum: i32 = 0i32
  while i < n {
    i = i + 1
    if !(x[i - 1] < 0i32) {
      sum = sum + x[i - 1]
    }
  }
  return (sum)
}

kernel loop_cursor(x: [i32; n]) -> i32 dims(n) {
  let mut at: usize = 0
  let mut steps: i32 = 0i32
  while true {
    if (at >= n) | (steps > 20i32) {
      break
    }
    at = at + (1 + (x[at] & 3i32) as usize)
    steps = steps + 1i32
  }
  return (steps)
}

kernel two_cursors(a: [i32; n], b: [i32; m]) -> i32 dims(n, m) {
  let mut i: usize = 0
  let mut j: usize = 0
  let mut same: i32 = 0i32
  while (i < n) & (j < m) {
    if a[i] == b[j] {
      same = same + 1i32
      i = i + 1
      j = j + 1
    } else {
      if a[i] < b[j] {
        i = i + 1
      } else {
        j = j + 1
      }
    }
  }
  return (same)
}

kernel match_in_loop(ops: [u8; n], x: [i32; n]) -> i32 dims(n) {
  let mut acc: i32 = 1i32
  for i in 0..n {
    let v: i32 = x[i]
    let matched: u8 = ops[i] % 4u8
    if matched == 0u8 {
      acc = acc + v
    } else {
      if matched == 1u8 {
        acc = acc - v
      } else {
        if (matched == 2u8) & (v > 0i32) {
          continue
        }
        if !(matched == 2u8) {
          break
        }
        acc = acc ^ v
      }
    }
  }
  return (acc)
}

kernel if_else_chain(x: [f32; n], out: mut [u8; n]) dims(n) {
  for i in 0..n {
    let v: f32 = x[i]
    out[i] = select(v < -2.0, 0u8, select(v < 0.0, 1u8, select(v < 2.0, 2u8, 3u8)))
  }
}

kernel block_value(x: [f32; n], out: mut [f32; n]) dims(n)
  vars(i: usize, a: f32, b: f32, y: f32, z: f32, mut value: f32) {
  for i in 0..n {
    let a: f32 = x[i] * 2.0
    let b: f32 = a + 1.0
    let y: f32 = a * b
    let mut value: f32 = 0.0
    if y > 3.0 {
      let z: f32 = sqrt(y)
      value = z + 1.0
    } else {
      value = y
    }
    out[i] = value
  }
}

kernel cursor(x: [f32; cols, rows], rows: dim, cols: dim, out: mut [f32; rows, cols]) dims(cols, rows) {
  for r in 0..rows {
    for c in 0..cols {
      out[cols * r + c] = x[c * rows + r]
    }
  }
}

kernel stepping_cursor(x: [u8; n, 2], out: mut [u32; n]) -> usize dims(n)
  vars(at: usize, i: usize) {
  for i in 0..n {
    out[i] = x[2 * i] as u32 + x[2 * i + 1] as u32 * 256u32
  }
  let at: usize = 2 * n
  return (at)
}

kernel two_steps(x: [i32; n, 3], n: dim) -> i32 dims(n)
  vars(at: usize, mut sum: i32, i: usize) {
  let mut sum: i32 = 0i32
  for i in 0..n {
    sum = sum + x[3 * i + 1]
    sum = sum - x[3 * i + 1 + 1]
  }
  let at: usize = 3 * n + 1
  return (sum + at as i32)
}

kernel cursor_on_one_path(x: [i32; n], out: mut [i32; m]) -> usize dims(n, m) {
  let mut k: usize = 0
  for i in 0..n {
    let v: i32 = x[i]
    if v > 0i32 {
      out[k] = v
      k = k + 1
    }
  }
  return (k)
}

kernel cursor_that_breaks(x: [i32; n]) -> usize dims(n) {
  let mut k: usize = 0
  for i in 0..n {
    let v: i32 = x[i]
    if v == 2i32 {
      break
    }
    k = k + 1
  }
  return (k)
}

