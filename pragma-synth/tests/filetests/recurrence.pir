// run: n = 5, a = 0.5, x = [1.0, 0.0, 0.0, 2.0, 0.0], out = [0.0; 5]
// gives: out = [0.5, 0.25, 0.125, 1.0625, 0.53125]
kernel ema(a: f64, x: [f64; n], out: mut [f64; n]) dims(n) {
  let mut s: f64 = 0.0f64
  for i in 0..n {
    s = a * x[i] + (1.0f64 - a) * s
    out[i] = s
  }
}
