kernel add(a: f32, b: f32) -> f32 dims() {
  return (a + b + 0.0)
}

kernel scaled(v: f32) -> f32 dims() {
  return (v * 1.5)
}

kernel twice(v: f32) -> f32 dims() {
  return (v + v + 0.0)
}

kernel new(a: f32, b: f32) -> (f32, f32) dims() {
  return (a, b)
}

kernel at(self_a: f32, self_b: f32, t: f32) -> f32 dims() {
  return (self_a * (1.0 - t) + self_b * t)
}

kernel through_modules(x: [f32; n], out: mut [f32; n]) dims(n) {
  for i in 0..n {
    let v: f32 = x[i]
    out[i] = v * 1.5 + (v + v + 0.0) + (v + 1.0 + 0.0) + 1.5
  }
}

kernel path_free(v: f32) -> f32 dims() {
  return (v + 1.0 + 0.0)
}

kernel smooth(x: [f32; rows + 2], out: mut [f32; rows]) dims(rows) {
  alloc weights: local [f32; 3] len 3 fill 0.0
  weights[0] = 0.25
  weights[1] = 0.5
  weights[2] = 0.25
  for i in 0..rows {
    let mut sum: f32 = -0.0
    for j in 0..3 {
      sum = sum + x[i + j] * weights[j]
    }
    out[i] = sum
  }
}

kernel grid_sum(x: [i32; n]) -> i32 dims(n) {
  alloc grid: local [i32; 6] len 6 fill 0i32
  grid[0] = 1i32
  grid[1] = 2i32
  grid[2] = 3i32
  grid[3] = 4i32
  grid[4] = 5i32
  grid[5] = 6i32
  let mut total: i32 = 0i32
  for i in 0..n {
    total = total + (grid[i % 3 * 2 + 1] * x[i] - grid[i % 3 * 2])
  }
  return (total)
}

kernel nbody(pos: [f32; n, 3], eps: f32, acc: mut [f32; n, 3]) dims(n) {
  for i in 0..n {
    let field: f32 = pos[3 * i]
    let field_1: f32 = pos[3 * i + 1]
    let field_2: f32 = pos[3 * i + 2]
    let mut a_x: f32 = 0.0
    let mut a_y: f32 = 0.0
    let mut a_z: f32 = 0.0
    for j in 0..n {
      if !(i == j) {
        let d_x: f32 = pos[3 * j] - field
        let d_y: f32 = pos[3 * j + 1] - field_1
        let d_z: f32 = pos[3 * j + 2] - field_2
        let r2: f32 = d_x * d_x + d_y * d_y + d_z * d_z + eps
        let k: f32 = 1.0 / (r2 * sqrt(r2))
        let o_x: f32 = d_x * k
        let o_y: f32 = d_y * k
        let o_z: f32 = d_z * k
        a_x = a_x + o_x
        a_y = a_y + o_y
        a_z = a_z + o_z
      }
    }
    acc[3 * i] = a_x
    acc[3 * i + 1] = a_y
    acc[3 * i + 2] = a_z
  }
}

kernel mixes(t: [f32; n], a: f32, b: f32, out: mut [f32; n]) dims(n) {
  for i in 0..n {
    let t_1: f32 = t[i]
    out[i] = a * (1.0 - t_1) + b * t_1
  }
}

kernel generic_helper(x: [i16; rows, d], d: dim, out: mut [i16; rows]) dims(d, rows) {
  for i in 0..rows {
    let mut best: i16 = x[i * d]
    for j in 0..d {
      let v: i16 = x[i * d + j]
      if v > best {
        best = v
      }
    }
    out[i] = best
  }
}

kernel through_references(x: [f32; rows, d], d: dim) -> (f32, usize) dims(d, rows)
  vars(mut sum: f32, count: usize, i: usize, j: usize) {
  let mut sum: f32 = 0.0
  for i in 0..rows {
    for j in 0..d {
      sum = sum + x[i * d + j]
    }
  }
  let count: usize = d * rows
  return (sum, count)
}

kernel tuple_helper(x: mut [f32; rows, d], d: dim) dims(d, rows) {
  for i in 0..rows {
    let mut sum: f32 = -0.0
    for j in 0..d {
      sum = sum + x[i * d + j]
    }
    let mean: f32 = sum / d as f32
    let mut sum_1: f32 = -0.0
    for j_1 in 0..d {
      let base: f32 = x[i * d + j_1] - mean
      sum_1 = sum_1 + base * base
    }
    let var: f32 = sum_1 / d as f32
    let inv: f32 = 1.0 / sqrt(var + 1e-5)
    for j_2 in 0..d {
      x[i * d + j_2] = (x[i * d + j_2] - mean) * inv
    }
  }
}

kernel inner_items(x: [f32; n], out: mut [f32; n]) dims(n) {
  for i in 0..n {
    let v: f32 = x[i]
    out[i] = (0.25 * v + 1.0) * v + 1.5
  }
}

kernel nested_closures(x: [f64; n], k: f64, out: mut [f64; n]) dims(n) {
  for i in 0..n {
    out[i] = (x[i] + k) * 0.7071067811865476f64
  }
}

kernel counting_closure(x: [i32; n]) -> i32 dims(n) {
  let mut count: i32 = 0i32
  for i in 0..n {
    let v: i32 = x[i]
    if v > 0i32 {
      count = count + 1i32
    }
  }
  return (count)
}

kernel minmax_functions(x: [i32; n], lo: i32, hi: i32, out: mut [i32; n]) dims(n) {
  for i in 0..n {
    let v: i32 = x[i]
    out[i] = max(min(lo, hi), min(v, max(lo, hi)))
  }
}

kernel blur(x: [f32; n], kernel: [f32; m], out: mut [f32; n]) dims(n, m) {
  if !(0isize <= n as isize - 1isize) {
    decline
  }
  let r: isize = (m / 2) as isize
  for i in 0..n {
    let mut sum: f32 = 0.0
    for k in 0..m {
      let w: f32 = kernel[k]
      let i_1: isize = i as isize + k as isize - r
      sum = sum + w * x[min(max(i_1, 0isize), n as isize - 1isize) as usize]
    }
    out[i] = sum
  }
}

kernel blur_zero(x: [f32; n], kernel: [f32; m], out: mut [f32; n]) dims(n, m) {
  let r: isize = (m / 2) as isize
  for i in 0..n {
    let mut sum: f32 = 0.0
    for k in 0..m {
      let w: f32 = kernel[k]
      let i_1: isize = i as isize + k as isize - r
      let mut result_some: bool = false
      let mut matched: usize = 0
      if (i_1 < 0isize) | (i_1 >= n as isize) {
        result_some = false
      } else {
        result_some = true
        matched = i_1 as usize
      }
      if result_some {
        sum = sum + w * x[matched]
      }
    }
    out[i] = sum
  }
}

kernel blocks(x: [i8; n, 4], scales: [f32; n], out: mut [f32; n, 4]) dims(n) {
  for b in 0..n {
    let s: f32 = scales[b]
    for j in 0..4 {
      out[b * 4 + j] = x[b * 4 + j] as f32 * s
    }
  }
}

