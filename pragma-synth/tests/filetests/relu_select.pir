// run: n = 5, x = [-1.0, -0.0, 0.0, 2.5, NaN], out = [9.0; 5]
// gives: out = [-2.5, 0.0, 0.0, 12.0, NaN]
kernel relu(x: [f32; n], out: mut [f32; n]) dims(n) {
  for i in 0..n {
    let v: f32 = x[i]
    out[i] = select(v > 0.0, v, 0.0) + select(v <= 6.0, v, 6.0) + select(v == 0.0, v, 1.0) + select(v != v, 1.0, v) + select(v < -0.5, -0.5, v) + select(v >= 1.0, 1.0, v)
  }
}
