// libm
// run: rows = 2, d = 5, x = [1.0, 2.0, 3.0, 4.0, 0.5, -1.0, 0.0, 0.25, 9.0, 8.0], out = [NaN; 10]
// gives: out = [0.06366545, 0.1273309, 0.2546618, 0.5093236, 0.04501827, 0.00064876996, 0.0012975399, 0.0015430436, 0.66434044, 0.33217022]
// A row is written, read back and rewritten.
kernel stageable(x: [f32; rows, d], out: mut [f32; rows, d], d: dim) dims(rows, d) {
  for r in 0..rows {
    let mut sum: f32 = 0.0
    for i in 0..d {
      let e: f32 = exp2(x[r * d + i])
      out[r * d + i] = e
      sum = sum + e
    }
    let scale: f32 = 1.0 / sum
    for k in 0..d {
      out[r * d + k] = out[r * d + k] * scale
    }
  }
}
