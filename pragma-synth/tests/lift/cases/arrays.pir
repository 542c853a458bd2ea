kernel laplace(u: [f64; u.shape.0, u.shape.1], u.shape.0: dim, u.shape.1: dim, next: mut [f64; u.shape.0, u.shape.1], u.shape.0: dim, u.shape.1: dim) -> f64 dims(u.shape.0, u.shape.1) {
  let mut diff: f64 = 0.0f64
  for i in 1..u.shape.0 - 1 {
    for j in 1..u.shape.1 - 1 {
      let v: f64 = 0.25f64 * (u[(i - 1) * u.shape.1 + j] + u[(i + 1) * u.shape.1 + j] + u[i * u.shape.1 + (j - 1)] + u[i * u.shape.1 + (j + 1)])
      diff = max(diff, abs(v - u[i * u.shape.1 + j]))
      next[i * u.shape.1 + j] = v
    }
  }
  return (diff)
}

kernel row_norms(x: [f32; x.shape.0, x.shape.1], x.shape.0: dim, x.shape.1: dim) -> (array: ret [f32; x.shape.0], usize) dims(x.shape.0, x.shape.1) {
  alloc array len x.shape.0 fill 0.0
  for i in 0..x.shape.0 {
    let mut sum: f32 = 0.0
    for j in 0..x.shape.1 {
      let v: f32 = x[i * x.shape.1 + j]
      sum = sum + v * v
    }
    array[i] = sqrt(sum)
  }
  return (x.shape.0)
}

kernel outer_rows(x: [f32; x.shape.0, x.shape.1], x.shape.0: dim, x.shape.1: dim, out: mut [f32; x.shape.0], x.shape.0: dim) dims(x.shape.0, x.shape.1) {
  for i in 0..x.shape.0 {
    let mut acc: f32 = 0.0
    for j in 0..x.shape.1 {
      acc = acc + x[i * x.shape.1 + j]
    }
    out[i] = acc
  }
}

kernel column_sums(x: [f32; x.shape.0, x.shape.1], x.shape.0: dim, x.shape.1: dim, out: mut [f32; x.shape.1]) dims(x.shape.0, x.shape.1) {
  for j in 0..x.shape.1 {
    let mut sum: f32 = 0.0
    for j_1 in 0..x.shape.0 {
      sum = sum + x[j + j_1 * x.shape.1]
    }
    out[j] = sum
  }
}

kernel columns_max(x: [f32; x.shape.0, x.shape.1], x.shape.0: dim, x.shape.1: dim) -> collected: ret [f32; x.shape.1] dims(x.shape.0, x.shape.1) {
  for i in 0..x.shape.1 {
    let mut acc: f32 = f32::NEG_INFINITY
    for j in 0..x.shape.0 {
      acc = max(acc, x[i + j * x.shape.1])
    }
    collected[i] = acc
  }
}

kernel scale_rows(x: mut [f32; x.shape.0, x.shape.1], x.shape.0: dim, x.shape.1: dim, k: [f32; x.shape.0], x.shape.0: dim) dims(x.shape.0, x.shape.1) {
  for i in 0..x.shape.0 {
    let k_1: f32 = k[i]
    for j in 0..x.shape.1 {
      x[i * x.shape.1 + j] = x[i * x.shape.1 + j] * k_1
    }
  }
}

kernel scale_rows_index(x: mut [f32; x.shape.0, x.shape.1], x.shape.0: dim, x.shape.1: dim, k: [f32; x.shape.0], x.shape.0: dim) dims(x.shape.0, x.shape.1) {
  for i in 0..x.shape.0 {
    for j in 0..x.shape.1 {
      x[i * x.shape.1 + j] = x[i * x.shape.1 + j] * k[i]
    }
  }
}

kernel add_row(x: mut [f32; x.shape.0, x.shape.1], x.shape.0: dim, x.shape.1: dim, b: [f32; x.shape.1], x.shape.1: dim) dims(x.shape.0, x.shape.1) {
  for i in 0..x.shape.0 {
    for j in 0..x.shape.1 {
      x[i * x.shape.1 + j] = x[i * x.shape.1 + j] + b[j]
    }
  }
}

kernel arithmetic(a: [f32; a.shape.0, a.shape.1], a.shape.0: dim, a.shape.1: dim, b: [f32; a.shape.0, a.shape.1], a.shape.0: dim, a.shape.1: dim, k: f32) -> (array_2: ret [f32; a.shape.0, a.shape.1], usize, usize) dims(a.shape.0, a.shape.1)
  bufs(a: [f32; a.shape.0, a.shape.1], b: [f32; a.shape.0, a.shape.1], array: local [f32; a.shape.0 * a.shape.1], array_1: local [f32; a.shape.0 * a.shape.1], array_2: ret [f32; a.shape.0, a.shape.1]) {
  alloc array: local [f32; a.shape.0 * a.shape.1] len a.shape.0 * a.shape.1 fill 0.0
  for i in 0..a.shape.0 * a.shape.1 {
    array[i] = a[i] + b[i]
  }
  alloc array_1: local [f32; a.shape.0 * a.shape.1] len a.shape.0 * a.shape.1 fill 0.0
  for i_1 in 0..a.shape.0 * a.shape.1 {
    array_1[i_1] = array[i_1] * k
  }
  for i_2 in 0..a.shape.0 * a.shape.1 {
    array_2[i_2] = array_1[i_2] - a[i_2]
  }
  return (a.shape.0, a.shape.1)
}

kernel by_mapv(x: [f32; x.shape.0, x.shape.1], x.shape.0: dim, x.shape.1: dim) -> (array: ret [f32; x.shape.0, x.shape.1], usize, usize) dims(x.shape.0, x.shape.1) {
  for i in 0..x.shape.0 * x.shape.1 {
    let item: f32 = x[i]
    array[i] = select(item > 0.0, item, 0.1 * item)
  }
  return (x.shape.0, x.shape.1)
}

kernel zipped(a: [f32; a.shape.0, a.shape.1], a.shape.0: dim, a.shape.1: dim, b: [f32; a.shape.0, a.shape.1], a.shape.0: dim, a.shape.1: dim, out: mut [f32; a.shape.0, a.shape.1], a.shape.0: dim, a.shape.1: dim) dims(a.shape.0, a.shape.1) {
  for i in 0..a.shape.0 * a.shape.1 {
    let a_1: f32 = a[i]
    let b_1: f32 = b[i]
    out[i] = mul_add(a_1, b_1, 1.0)
  }
}

kernel zipped_rows(x: [f32; x.shape.0, x.shape.1], x.shape.0: dim, x.shape.1: dim, out: mut [f32; x.shape.0], x.shape.0: dim) dims(x.shape.0, x.shape.1) {
  for i in 0..x.shape.0 {
    let mut best: f32 = f32::NEG_INFINITY
    for j in 0..x.shape.1 {
      let v: f32 = x[i * x.shape.1 + j]
      best = max(best, v)
    }
    out[i] = best
  }
}

kernel assigned(x: [f32; x.shape.0, x.shape.1], x.shape.0: dim, x.shape.1: dim, out: mut [f32; x.shape.0, x.shape.1], x.shape.0: dim, x.shape.1: dim, k: f32) dims(x.shape.0, x.shape.1) {
  for i in 0..x.shape.0 * x.shape.1 {
    out[i] = x[i]
  }
  for i_1 in 0..x.shape.0 * x.shape.1 {
    out[i_1] = out[i_1] * k
  }
  for i_2 in 0..x.shape.0 * x.shape.1 {
    out[i_2] = out[i_2] + 0.5 * x[i_2]
  }
}

kernel blocks(x: [f32; x.shape.0, x.shape.1, x.shape.2], x.shape.0: dim, x.shape.1: dim, x.shape.2: dim) -> (array: ret [f32; x.shape.0, x.shape.2], usize, usize) dims(x.shape.0, x.shape.1, x.shape.2) {
  alloc array len x.shape.0 * x.shape.2 fill 0.0
  for i in 0..x.shape.0 {
    for j in 0..x.shape.1 {
      for k in 0..x.shape.2 {
        array[i * x.shape.2 + k] = array[i * x.shape.2 + k] + 1.0 * x[i * (x.shape.1 * x.shape.2) + j * x.shape.2 + k]
      }
    }
    for j_1 in 0..x.shape.2 {
      array[i * x.shape.2 + j_1] = array[i * x.shape.2 + j_1] / x.shape.1 as f32
    }
  }
  return (x.shape.0, x.shape.2)
}

kernel trimmed(x: [f32; x.shape.0, x.shape.1], x.shape.0: dim, x.shape.1: dim) -> f32 dims(x.shape.0, x.shape.1) {
  let mut sum: f32 = 0.0
  for i in 0..x.shape.0 - 1 {
    for j in 0..x.shape.1 {
      sum = sum + x[x.shape.1 + i * x.shape.1 + j]
    }
  }
  return (sum)
}

kernel every_second(x: [f32; x.shape.0], x.shape.0: dim, out: mut [f32; out.shape.0], out.shape.0: dim) dims(x.shape.0, out.shape.0) {
  for i in 0..min(out.shape.0, (x.shape.0 + 1) / 2) {
    out[i] = x[i * 2] + 1.0
  }
}

kernel transposed(x: [f32; x.shape.0, x.shape.1], x.shape.0: dim, x.shape.1: dim) -> (array: ret [f32; x.shape.0, x.shape.1], usize, usize) dims(x.shape.0, x.shape.1) {
  alloc array len x.shape.0 * x.shape.1 fill 0.0
  for i in 0..x.shape.1 {
    for j in 0..x.shape.0 {
      array[i * x.shape.0 + j] = x[i + j * x.shape.1]
    }
  }
  return (x.shape.1, x.shape.0)
}

kernel from_fn(n: dim, m: dim) -> (array: ret [u32; n, m], usize, usize) dims(n, m) {
  for i in 0..n {
    for j in 0..m {
      array[i * m + j] = (i * 3 + j) as u32
    }
  }
  return (n, m)
}

kernel shapes(x: [f32; x.shape.0, x.shape.1, x.shape.2], x.shape.0: dim, x.shape.1: dim, x.shape.2: dim) -> usize dims(x.shape.0, x.shape.1, x.shape.2) {
  return (x.shape.0 * 100 + x.shape.1 * 10 + x.shape.2 + x.shape.0 * x.shape.1 * x.shape.2 + 3)
}

kernel as_slices(x: [f32; x.shape.0], x.shape.0: dim, out: mut [f32; x.shape.0], x.shape.0: dim) dims(x.shape.0) {
  for i in 0..x.shape.0 {
    out[i] = x[i] * 3.0
  }
}

kernel indexed(x: mut [i32; x.shape.0, x.shape.1], x.shape.0: dim, x.shape.1: dim) dims(x.shape.0, x.shape.1) {
  for i in 0..x.shape.0 {
    for j in 0..x.shape.1 {
      x[i * x.shape.1 + j] = x[i * x.shape.1 + j] + (i * x.shape.1 + j) as i32
    }
  }
}

kernel forward(self_weights: [f32; self.weights.shape.0, self.weights.shape.1], self.weights.shape.0: dim, self.weights.shape.1: dim, self_bias: [f32; self.weights.shape.0], self.weights.shape.0: dim, x: [f32; self.weights.shape.1], self.weights.shape.1: dim) -> (array: ret [f32; self.weights.shape.0], usize) dims(self.weights.shape.0, self.weights.shape.1) {
  for i in 0..self.weights.shape.0 {
    array[i] = self_bias[i]
  }
  for i_1 in 0..self.weights.shape.0 {
    for j in 0..self.weights.shape.1 {
      array[i_1] = array[i_1] + self_weights[i_1 * self.weights.shape.1 + j] * x[j]
    }
  }
  return (self.weights.shape.0)
}

