kernel row_sum(x: [f32; rows, d], out: mut [f32; rows]) dims(rows, d) {
  for r in 0..rows {
    let mut s: f32 = 0.0
    for j in 0..d {
      s = s + x[r * d + j]
    }
    out[r] = s
  }
}
