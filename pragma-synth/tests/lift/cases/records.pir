kernel apply(self_factor: f32, self_offset: f32, self_data: [f32; n], out: mut [f32; n]) dims(n) {
  for i in 0..n {
    out[i] = min(self_data[i] * self_factor + self_offset, 3.0)
  }
}

kernel scale_in_place(self_factor: f32, self_data: mut [f32; n]) dims(n) {
  for i in 0..n {
    self_data[i] = self_data[i] * self_factor
  }
}

kernel scale_by_index(self_offset: f32, self_data: mut [f32; n], k: f32) dims(n) {
  for i in 0..n {
    self_data[i] = self_data[i] * k + self_offset
  }
}

kernel total(self_factor: f32, self_offset: f32, self_data: [f32; n]) -> f32 dims(n) {
  let mut sum: f32 = -0.0
  for i in 0..n {
    sum = sum + min(self_data[i] * self_factor + self_offset, 3.0)
  }
  return (sum)
}

kernel scaled(self_factor: f32, self_offset: f32, self_data: [f32; n]) -> (f32, f32, data: ret [f32; n]) dims(n) {
  for i in 0..n {
    data[i] = self_data[i] * 2.0
  }
  return (self_factor, -self_offset)
}

kernel run(self_a: f64, self_last: mut [f64; 1], self_count: mut [u32; 1], x: [f64; n], out: mut [f64; n]) dims(n) {
  for i in 0..n {
    let v: f64 = x[i]
    self_last[0] = self_a * v + (1.0f64 - self_a) * self_last[0]
    out[i] = self_last[0]
    self_count[0] = self_count[0] + 1u32
  }
}

kernel fir(self_taps: mut [f64; 3], self_history: mut [f64; 2], x: mut [f64; n]) dims(n) {
  for i in 0..n {
    let y: f64 = self_taps[0] * x[i] + self_taps[1] * self_history[0] + self_taps[2] * self_history[1]
    self_history[1] = self_history[0]
    self_history[0] = x[i]
    x[i] = y
  }
}

kernel through_a_helper(self_a: f64, self_last: mut [f64; 1], x: mut [f64; n]) dims(n) {
  for i in 0..n {
    let v: f64 = x[i]
    self_last[0] = self_last[0] + (v - self_last[0]) * self_a
    x[i] = self_last[0]
  }
}

kernel centre(points: [f32; n, 2]) -> (f32, f32) dims(n) {
  let mut sum_x: f32 = 0.0
  let mut sum_y: f32 = 0.0
  for i in 0..n {
    let o_x: f32 = points[i * 2]
    let o_y: f32 = points[i * 2 + 1]
    sum_x = sum_x + o_x
    sum_y = sum_y + o_y
  }
  return (sum_x, sum_y)
}

kernel lengths(points: [f32; n, 2], out: mut [f32; n]) dims(n) {
  for i in 0..n {
    let o_x: f32 = points[i * 2]
    let o_y: f32 = points[i * 2 + 1]
    out[i] = sqrt(points[i * 2] * o_x + points[i * 2 + 1] * o_y)
  }
}

kernel move_points(points: mut [f32; n, 2], by_x: f32, by_y: f32, k: f32) dims(n) {
  for i in 0..n {
    points[i * 2] = points[i * 2] + by_x * k
    points[i * 2 + 1] = points[i * 2 + 1] + by_y * k
  }
}

kernel replace_points(points: mut [f32; n, 2], k: f32) dims(n) {
  for i in 0..n {
    let self_: f32 = points[i * 2 + 1]
    points[i * 2] = points[i * 2] * k + 1.0
    points[i * 2 + 1] = self_ * k + -1.0
  }
}

kernel doubled_points(points: [f32; n, 2]) -> collected: ret [f32; n, 2] dims(n) {
  for i in 0..n {
    let field: f32 = points[i * 2 + 1] * 2.0
    collected[i * 2] = points[i * 2] * 2.0
    collected[i * 2 + 1] = field
  }
}

kernel pushed_points(x: [f32; n], y: [f32; n]) -> out: ret [f32; n, 2] dims(n) {
  for i in 0..n {
    let x_1: f32 = x[i]
    let y_1: f32 = y[i]
    let o_x: f32 = y_1 * 2.0
    let o_y: f32 = x_1 * 2.0
    out[i * 2] = x_1 + o_x
    out[i * 2 + 1] = y_1 + o_y
  }
}

kernel integrate(particles: mut [f32; n, 5], dt: f32) dims(n) {
  for i in 0..n {
    particles[i * 5] = particles[i * 5] + particles[i * 5 + 2] * dt
    particles[i * 5 + 1] = particles[i * 5 + 1] + particles[i * 5 + 2 + 1] * dt
    particles[i * 5 + 2 + 1] = particles[i * 5 + 2 + 1] - particles[i * 5 + 4] * dt
  }
}

kernel momentum(particles: [f32; n, 5]) -> f32 dims(n) {
  let mut total: f32 = 0.0
  for i in 0..n {
    total = total + particles[i * 5 + 4] * sqrt(particles[i * 5 + 2] * particles[i * 5 + 2] + particles[i * 5 + 2 + 1] * particles[i * 5 + 2 + 1])
  }
  return (total)
}

kernel dequantised(blocks_f32: [f32; rows, 2], blocks_i8: [i8; rows, 8], out: mut [f32; rows, 4]) dims(rows) {
  for i in 0..rows {
    for j in 0..4 {
      let q: i8 = blocks_i8[i * 8 + 4 + j]
      out[i * 4 + j] = blocks_f32[i * 2] * q as f32
    }
  }
}

kernel block_sums(blocks_f32: [f32; n, 2], blocks_i8: [i8; n, 8]) -> f32 dims(n) {
  let mut sum: f32 = -0.0
  for i in 0..n {
    let left: f32 = blocks_f32[i * 2]
    let mut sum_1: i32 = 0i32
    for j in 0..4 {
      let q: i8 = blocks_i8[i * 8 + 4 + j]
      sum_1 = sum_1 + q as i32
    }
    sum = sum + left * sum_1 as f32
  }
  return (sum)
}

kernel with_mode(x: [f32; n], k: f32, mode: u8, out: mut [f32; n]) dims(n) {
  for i in 0..n {
    let v: f32 = x[i]
    out[i] = select(mode == 0u8, v + k, select(mode == 1u8, v * k, v))
  }
}

kernel mode_in_loops(x: [f32; rows, cols], cols: dim, mode: u8) -> out: ret [f32; rows] dims(cols, rows) {
  if mode == 0u8 {
    alloc out len rows fill 0.0
    for r in 0..rows {
      let mut sum: f32 = 0.0
      for c in 0..cols {
        let a: f32 = x[r * cols + c]
        let b: f32 = c as f32
        let v: f32 = a + b
        sum = sum + v
      }
      out[r] = sum
    }
  } else {
    if mode == 1u8 {
      alloc out len rows fill 0.0
      for r_1 in 0..rows {
        let mut sum_1: f32 = 0.0
        for c_1 in 0..cols {
          let a_1: f32 = x[r_1 * cols + c_1]
          let b_1: f32 = c_1 as f32
          if !(b_1 == 0.0) {
            let v_1: f32 = a_1 * b_1
            sum_1 = sum_1 + v_1
          }
        }
        out[r_1] = sum_1
      }
    } else {
      alloc out len rows fill 0.0
      for r_2 in 0..rows {
        let sum_2: f32 = 0.0
        for c_2 in 0..cols {
          let a_2: f32 = x[r_2 * cols + c_2]
        }
        out[r_2] = sum_2
      }
    }
  }
}

kernel local_mode(x: [i32; n]) -> i32 dims(n) {
  let mut mode: u8 = 0u8
  let mut sum: i32 = 0i32
  for i in 0..n {
    let v: i32 = x[i]
    sum = select(mode == 0u8, sum + v, select(mode == 1u8, sum - v, sum))
    mode = select(mode == 0u8, 1u8, select(mode == 1u8, 2u8, 0u8))
  }
  return (sum + mode as i64 as i32)
}

kernel optional_bias(x: [f32; rows, cols], bias_is_some: bool, bias: [f32; cols], cols: dim, out: mut [f32; rows, cols]) dims(cols, rows) {
  if bias_is_some {
    for r in 0..rows {
      for c in 0..cols {
        let b: f32 = bias[c]
        out[r * cols + c] = x[r * cols + c] + b
      }
    }
  } else {
    for r_1 in 0..rows {
      for c_1 in 0..cols {
        out[r_1 * cols + c_1] = x[r_1 * cols + c_1] + 0.0
      }
    }
  }
}

kernel optional_bias_let(x: mut [f32; n], bias_is_some: bool, bias: [f32; n]) dims(n) {
  if bias_is_some {
    for i in 0..n {
      x[i] = x[i] + bias[i]
    }
  }
  for i_1 in 0..n {
    x[i_1] = max(x[i_1], 0.0)
  }
}

kernel optional_scalar(x: [f64; n], k_is_some: bool, k: f64) -> f64 dims(n) {
  let k_1: f64 = select(k_is_some, k, 0.5f64)
  let mut sum: f64 = -0.0f64
  for i in 0..n {
    sum = sum + x[i] * k_1
  }
  return (sum)
}

kernel optional_match(x: [f64; n], lo_is_some: bool, lo: f64, hi_is_some: bool, hi: f64, out: mut [f64; n]) dims(n) {
  for i in 0..n {
    let v: f64 = x[i]
    let mut v_1: f64 = v
    if lo_is_some {
      if v_1 < lo {
        v_1 = lo
      }
    }
    if hi_is_some & (v_1 > hi) {
      v_1 = hi
    }
    out[i] = v_1
  }
}

kernel tuple_sizes(x: [f32; h, w], h: dim, w: dim, out: mut [f32; w, h]) dims(h, w) {
  for y in 0..h {
    for x0 in 0..w {
      out[x0 * h + y] = x[y * w + x0]
    }
  }
}

kernel nested_rows(points: [f32; n, 3], m: [f32; 6], out: mut [f32; n, 2]) dims(n) {
  for i in 0..n {
    for r in 0..2 {
      out[i * 2 + r] = m[r * 3] * points[i * 3] + m[r * 3 + 1] * points[i * 3 + 1] + m[r * 3 + 2] * points[i * 3 + 2]
    }
  }
}

kernel nested_vec(points: [f32; n, 2], k: f32) -> out: ret [f32; n, 2] dims(n) {
  for i in 0..n {
    let x: f32 = points[i * 2]
    let y: f32 = points[i * 2 + 1]
    alloc array: local [f32; 2] len 2 fill 0.0
    array[0] = x * k
    array[1] = y - k
    for i_1 in 0..2 {
      out[i * 2 + i_1] = array[i_1]
    }
  }
}

kernel array_result(x: [f32; n]) -> copy: ret [f32; 4] dims(n)
  bufs(x: [f32; n], sums: local [f32; 4], copy: ret [f32; 4]) {
  alloc sums: local [f32; 4] len 4 fill 0.0
  for i in 0..n {
    sums[i % 4] = sums[i % 4] + x[i]
  }
  alloc copy len 4 fill 0.0
  for i_1 in 0..4 {
    copy[i_1] = sums[i_1]
  }
}

kernel two_results(x: [f32; rows, cols], cols: dim) -> (best: ret [f32; rows], place: ret [u32; rows]) dims(cols, rows)
  vars(i: usize, mut at: usize, i_1: usize, v: f32, mut best_value: f32) {
  for i in 0..rows {
    let mut at: usize = 0
    let mut best_value: f32 = x[i * cols]
    for i_1 in 0..cols {
      let v: f32 = x[i * cols + i_1]
      if v > best_value {
        at = i_1
        best_value = x[i * cols + i_1]
      }
    }
    best[i] = x[i * cols + at]
    place[i] = at as u32
  }
}

kernel running_total(x: [f32; n], total: mut [f32; 1]) dims(n) {
  for i in 0..n {
    total[0] = total[0] + x[i]
  }
}

kernel life(self.width: dim, self.height: dim, self_cells: mut [u8; self.height, self.width], self_next: mut [u8; self.height, self.width]) dims(self.height, self.width) {
  for y in 0..self.height {
    for x in 0..self.width {
      let mut n: u8 = 0u8
      alloc array: local [usize; 3] len 3 fill 0
      array[0] = self.height - 1
      array[1] = 0
      array[2] = 1
      for k in 0..3 {
        let dy: usize = array[k]
        alloc array_1: local [usize; 3] len 3 fill 0
        array_1[0] = self.width - 1
        array_1[1] = 0
        array_1[2] = 1
        for l in 0..3 {
          let dx: usize = array_1[l]
          if (dx != 0) | (dy != 0) {
            let x_1: usize = (x + dx) % self.width
            let y_1: usize = (y + dy) % self.height
            n = n + self_cells[y_1 * self.width + x_1]
          }
        }
      }
      self_next[y * self.width + x] = ((n == 3u8) | (n == 2u8) & (self_cells[y * self.width + x] == 1u8)) as u8
    }
  }
}

kernel flipped(self.width: dim, self.height: dim, self_cells: [u8; self.height, self.width]) -> out: ret [u8; self.width, self.height] dims(self.height, self.width) {
  alloc out len self.width * self.height fill 0u8
  for y in 0..self.height {
    for x in 0..self.width {
      out[y * self.width + (self.width - 1 - x)] = self_cells[y * self.width + x]
    }
  }
}

kernel forward(self_weights: [f32; self.weights.shape.0, self.weights.shape.1], self.weights.shape.0: dim, self.weights.shape.1: dim, self_bias: [f32; self.weights.shape.0], x: [f32; self.weights.shape.1]) -> collected: ret [f32; self.weights.shape.0] dims(self.weights.shape.0, self.weights.shape.1) {
  for i in 0..self.weights.shape.0 {
    let b: f32 = self_bias[i]
    let mut sum: f32 = -0.0
    for j in 0..self.weights.shape.1 {
      sum = sum + self_weights[i * self.weights.shape.1 + j] * x[j]
    }
    collected[i] = sum + b
  }
}

kernel forward_index(self_weights: [f32; self.weights.shape.0, self.weights.shape.1], self.weights.shape.0: dim, self.weights.shape.1: dim, self_bias: [f32; self.weights.shape.0], x: [f32; self.weights.shape.1], out: mut [f32; self.weights.shape.0]) dims(self.weights.shape.0, self.weights.shape.1) {
  for i in 0..self.weights.shape.0 {
    let mut sum: f32 = self_bias[i]
    for j in 0..self.weights.shape.1 {
      sum = sum + self_weights[i * self.weights.shape.1 + j] * x[j]
    }
    out[i] = sum
  }
}

kernel local_rows(x: [f32; n], n: dim) -> f32 dims(n) {
  alloc table: local [f32; n * n] len n * n fill 0.0
  for i in 0..n {
    for j in 0..n {
      table[i * n + j] = x[i] * x[j]
    }
  }
  let mut trace: f32 = 0.0
  for i_1 in 0..n {
    trace = trace + table[i_1 * n + i_1]
  }
  return (trace)
}

kernel gather(self_weights: [f32; 3], self_index: [u32; m, 3], values: [f32; n], out: mut [f32; m]) dims(n, m) {
  for i in 0..m {
    let mut sum: f32 = 0.0
    for k in 0..3 {
      sum = sum + self_weights[k] * values[self_index[i * 3 + k] as usize]
    }
    out[i] = sum
  }
}

kernel cloned_field(self_data: [f32; n], k: f32) -> data: ret [f32; n] dims(n) {
  alloc data len n fill 0.0
  for i in 0..n {
    data[i] = self_data[i]
  }
  for i_1 in 0..n {
    data[i_1] = data[i_1] + k
  }
}

kernel max_minus_min(self_data: [f32; n]) -> f32 dims(n) {
  let first: f32 = self_data[0]
  let mut lo: f32 = first
  let mut hi: f32 = first
  for i in 0..n - 1 {
    let v: f32 = self_data[1 + i]
    lo = min(lo, v)
    hi = max(hi, v)
  }
  return (hi - lo)
}

