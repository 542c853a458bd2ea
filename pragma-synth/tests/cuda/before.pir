// A scan that gives what comes before each element, and the total.
// gpu: scan(i, threads = 32, vector = 2, items = 1)
// run: n = 7, start = 10.0, x = [1.0, 2.0, 3.0, 4.5, -1.0, 0.25, 8.0], out = [NaN; 7]
// gives: out = [10.0, 12.0, 16.0, 22.0, 31.0, 29.0, 29.5], return = 45.5
kernel before(start: f64, x: [f64; n], out: mut [f64; n]) -> f64 dims(n) {
  let mut s: f64 = start
  for i in 0..n {
    out[i] = s
    let v: f64 = x[i] * 2.0f64
    s = s + v
  }
  return (s)
}
