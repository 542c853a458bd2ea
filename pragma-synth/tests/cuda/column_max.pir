// gpu: columns(j, r, lanes = 8, rows = 4, vector = 2, chunk = 2)
// run: rows = 5, d = 2, x = [1.0, NaN, 3.0, -7.0, 5.0, -6.0, -1.0, -8.0, 2.0, -9.0]
// gives: return = [5.0, -6.0]
kernel column_max(x: [f32; rows, d]) -> out: ret [f32; d] dims(rows, d) {
  for j in 0..d {
    let mut top: f32 = x[j]
    for r in 1..rows {
      top = max(top, x[r * d + j])
    }
    out[j] = top
  }
}
