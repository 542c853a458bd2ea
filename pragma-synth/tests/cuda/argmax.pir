// gpu: team(r, threads = 64, vector = 4, items = 1)
// gpu: team(r, threads = 32, vector = 1, items = 0)
// run: rows = 3, d = 4, x = [1.0, 3.0, 3.0, 2.0, NaN, -1.0, -inf, -2.0, -1.0, NaN, 5.0, 5.0]
// gives: return = [1, 1, 2]
// run: rows = 1, d = 300, x = [0.0; 300]
// gives: return = [0]
kernel argmax(x: [f32; rows, d], d: dim) -> out: ret [u32; rows] dims(rows, d) {
  for r in 0..rows {
    let mut best: f32 = f32::NEG_INFINITY
    let mut at: u32 = 0u32
    for j in 0..d {
      if x[r * d + j] > best {
        best = x[r * d + j]
        at = j as u32
      }
    }
    out[r] = at
  }
}
