// gpu: columns(j, r, lanes = 8, rows = 4, vector = 4, chunk = 3)
// gpu: columns(j, r, lanes = 32, rows = 2, vector = 1, chunk = 64)
// gpu: grid(j, threads = 32, vector = 1, unroll = 1)
// run: rows = 7, d = 4, x = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0, 0.5, -1.0, 2.0, 8.0], shift = [1.0, 0.0, -1.0, 2.0], out = [NaN; 4]
// gives: out = [3.357143, 5.0, 7.285714, 6.0]
kernel column_mean(x: [f32; rows, d], shift: [f32; d], out: mut [f32; d]) dims(rows, d) {
  for j in 0..d {
    let by: f32 = shift[j]
    let mut s: f32 = 0.0
    for r in 0..rows {
      s = s + (x[r * d + j] - by)
    }
    out[j] = s / rows as f32
  }
}
