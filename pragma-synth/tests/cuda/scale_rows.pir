// gpu: grid(r, j, threads = 32, vector = 4, unroll = 1)
// gpu: grid(r, j, threads = 32, vector = 1, unroll = 1)
// gpu: grid(r, threads = 32, vector = 1, unroll = 1)
// run: rows = 3, d = 4, x = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0], s = [1.0, 2.0, -1.0], w = [1.0, 0.5, 2.0, 4.0], out = [NaN; 12]
// gives: out = [3.0, 4.5, 8.0, 12.0, 21.0, 24.5, 30.0, 36.0, -17.0, -19.5, -20.0, -20.0]
kernel scale_rows(x: [f32; rows, d], s: [f32; rows], w: [f32; d], out: mut [f32; rows, d]) dims(rows, d) {
  for r in 0..rows {
    let f: f32 = s[r] * 2.0
    for j in 0..d {
      out[r * d + j] = x[r * d + j] * f + w[j]
    }
  }
}
