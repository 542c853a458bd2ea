kernel column_sum(x: [f32; rows, d], out: mut [f32; d]) dims(rows, d) {
  for j in 0..d {
    let mut s: f32 = 0.0
    for r in 0..rows {
      s = s + x[r * d + j]
    }
    out[j] = s
  }
}
