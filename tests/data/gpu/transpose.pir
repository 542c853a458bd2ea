kernel transpose(x: [f32; rows, d], out: mut [f32; d, rows]) dims(rows, d) {
  for i in 0..rows {
    for j in 0..d {
      out[j * rows + i] = x[i * d + j]
    }
  }
}
