// run: n = 6, x = [-2.0, -0.5, 0.5, 2.0, NaN, 1.0]
// gives: return = [-1.0, -0.5, 0.5, 1.0, NaN, 2.0]
kernel clamp(x: [f32; n]) -> out: ret [f32; n] dims(n) {
  for i in 0..n {
    let v: f32 = x[i] * 3.0 - x[i] * 2.0
    out[i] = select(v < -1.0, -1.0, select(v > 1.0, 1.0, select(select(v > 0.0, v, -v) > 0.75, v * 2.0, v)))
  }
}
