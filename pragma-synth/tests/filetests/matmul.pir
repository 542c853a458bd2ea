// run: m = 2, k = 3, n = 2, a = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0], b = [0.5, -1.0, 0.25, 2.0, 1e-3, 1.0], c = [NaN; 4]
// gives: c = [1.003, 6.0, 3.256, 12.0]
kernel matmul(k: dim, a: [f32; m, k], b: [f32; k, n], c: mut [f32; m, n]) dims(m, k, n) {
  for i in 0..m {
    for z in 0..n {
      c[i * n + z] = 0.0
    }
    for p in 0..k {
      let v: f32 = a[i * k + p]
      for j in 0..n vector(unroll = 1) {
        c[i * n + j] = c[i * n + j] + v * b[p * n + j]
      }
    }
  }
}
