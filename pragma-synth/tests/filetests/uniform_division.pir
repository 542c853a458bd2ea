// run: n = 18, by = 3.0, x = [3.0, 1.0, 0.0, -0.0, inf, -inf, NaN, 3.0e38, 1e-45, -7.0, 2.0, 6.0, 9.0, 12.0, 15.0, 100.0, 0.1, 1e-38], out = [0.0; 18]
// gives: out = [1.0, 0.33333334, 0.0, -0.0, inf, -inf, NaN, 1e38, 0.0, -2.3333333, 0.6666667, 2.0, 3.0, 4.0, 5.0, 33.333332, 0.033333335, 3.333333e-39]
// run: n = 3, by = 0.0, x = [1.0, 0.0, -1.0], out = [0.0; 3]
// gives: out = [inf, NaN, -inf]
// run: n = 3, by = inf, x = [1.0, inf, -1.0], out = [0.0; 3]
// gives: out = [0.0, NaN, -0.0]
// run: n = 2, by = 1e-40, x = [1e-40, -2e-40], out = [0.0; 2]
// gives: out = [1.0, -2.000014]
// Divided by one number, by its reciprocal where that is as good.
kernel uniform_division(x: [f32; n], by: f32, out: mut [f32; n]) dims(n) {
  for i in 0..n vector(unroll = 1) {
    out[i] = x[i] / by
  }
}
