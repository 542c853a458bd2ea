kernel argmax(x: [f32; rows, d], out: mut [usize; rows]) dims(rows, d) {
  for r in 0..rows {
    let mut best: f32 = x[r * d]
    let mut at: usize = 0
    for j in 1..d {
      let v: f32 = x[r * d + j]
      if v > best {
        best = v
        at = j
      }
    }
    out[r] = at
  }
}
