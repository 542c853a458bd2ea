kernel argmax(x: [f32; rows, d], out: mut [u32; rows]) dims(rows, d) {
  for r in 0..rows {
    let mut best: f32 = f32::NEG_INFINITY
    let mut at: usize = 0
    for j in 0..d {
      if x[r * d + j] > best {
        best = x[r * d + j]
        at = j
      }
    }
    out[r] = at as u32
  }
}
