// libm
// run: rows = 2, d = 4, x = [1.0, 2.0, 3.0, 4.0, -100.0, 0.0, 100.0, 99.5], out = [NaN; 8]
// gives: out = [0.032058604, 0.08714432, 0.23688284, 0.6439143, 0.0, 2.4e-44, 0.62245935, 0.37754068]
// run: rows = 1, d = 2, x = [-inf, 0.0], out = [NaN; 2]
// gives: out = [0.0, 1.0]
kernel softmax(d: dim, x: [f32; rows, d], out: mut [f32; rows, d]) dims(rows, d) {
  for r in 0..rows {
    let mut top: f32 = f32::NEG_INFINITY
    for j in 0..d vector(unroll = 2) {
      top = max(top, x[r * d + j])
    }
    let mut sum: f32 = 0.0
    for i in 0..d {
      let e: f32 = exp(x[r * d + i] - top)
      out[r * d + i] = e
      sum = sum + e
    }
    for k in 0..d unroll(factor = 2) {
      out[r * d + k] = out[r * d + k] / sum
    }
  }
}
