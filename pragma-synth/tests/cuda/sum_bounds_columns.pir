// gpu: columns(j, r, lanes = 32, rows = 2, vector = 1, chunk = 3)
// run: a = 5, b = 3, x = [%99; 80], out = [NaN; 8]
// gives: out = [-235.0, 58.0, -137.0, 71.0, -210.0, -88.0, -58.0, 77.0]
kernel sum_bounds_columns(a: dim, b: dim, x: [f32; a + 5, a + b], out: mut [f32; a + b]) dims(a, b) {
  for j in 0..a + b {
    let mut s: f32 = 0.0
    for r in 0..a + 5 {
      s = s + x[r * (a + b) + j]
    }
    out[j] = s
  }
}
