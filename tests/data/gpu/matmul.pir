kernel matmul(k: dim, a: [f32; m, k], b: [f32; k, n], c: mut [f32; m, n]) dims(m, k, n) {
  for i in 0..m {
    for z in 0..n {
      c[i * n + z] = 0.0
    }
    for p in 0..k {
      let v: f32 = a[i * k + p]
      for j in 0..n {
        c[i * n + j] = c[i * n + j] + v * b[p * n + j]
      }
    }
  }
}
