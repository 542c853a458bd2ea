// run: rows = 2, d = 3, x = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0], out = [0.0; 6]
// gives: out = [0.5, 1.0, 1.5, 0.8, 1.0, 1.2]
// The second pass asks for the next row, which the last iteration does not have; serial loops ignore the hint.
kernel prefetch(x: [f32; rows, d], out: mut [f32; rows, d], d: dim) dims(rows, d) {
  for r in 0..rows {
    let mut sum: f32 = 0.0
    for i in 0..d {
      prefetch x[18446744073709551615]
      sum = sum + x[r * d + i]
    }
    for k in 0..d vector(unroll = 2) {
      prefetch x[d + d * r + k]
      stream out[r * d + k] = x[r * d + k] * 3.0 / sum
    }
  }
}
