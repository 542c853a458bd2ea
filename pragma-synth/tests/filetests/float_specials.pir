// libm
// run: n = 9, x = [NaN, inf, -inf, -0.0, 0.0, 1e-45, 3.4e38, -1.0, 2.0]
// gives: return = [NaN, NaN, NaN, NaN, NaN, NaN, 1.0, NaN, NaN, NaN, 1.0, NaN, inf, inf, inf, 0.0, inf, NaN, inf, inf, 1.0, 1.0, 1.0, NaN, 0.0, NaN, NaN, -0.0, inf, NaN, 1.0, -inf, -1.0, -1.0, 1.0, NaN, 1.0, -inf, -0.0, -inf, 0.0, 0.0, 1.0, -0.0, -0.0, -1.0, 1.0, -0.0, 1.0, -inf, 0.0, inf, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 1.0, 0.0, 1.0, -103.27893, 3.743392e-23, inf, 0.0, 0.0, 1.0, 1e-45, 1e-45, 1.0, 1.0, 1e-45, inf, 88.72201, 1.8439089e19, 2.941177e-39, inf, 0.0, 3.4e38, 3.4e38, 1.0, 1.0, 1.0, 2.0, 0.36787945, NaN, NaN, -1.0, 1.0, 0.0, 1.0, -1.0, -0.7615942, -1.0, 1.0, -1.0, 7.389056, 0.6931472, 1.4142135, 0.5, 4.0, 0.0, 2.0, 2.0, 0.9640276, 1.0, 1.0, 2.0]
// f64 differs: f32 overflows where f64 does not.
kernel specials(x: [f32; n]) -> out: ret [f32; 12 * n] dims(n) {
  for i in 0..n {
    let v: f32 = x[i]
    let o: usize = i * 12
    out[o] = exp(v)
    out[o + 1] = ln(v)
    out[o + 2] = sqrt(v)
    out[o + 3] = 1.0 / v
    out[o + 4] = v * v
    out[o + 5] = v - v
    out[o + 6] = max(v, 1.0)
    out[o + 7] = min(f32::NAN, v)
    out[o + 8] = tanh(v)
    out[o + 9] = signum(v)
    out[o + 10] = powf(v, 0.0)
    out[o + 11] = v % 3.0
  }
}
