// run: n = 4, x = [2.0, -1.5, NaN, 0.0]
// gives: return = -1.5, return = 2.0, return = 3
// run: n = 1, x = [-0.0]
// gives: return = -0.0, return = -0.0, return = 1
kernel min_max(x: [f32; n]) -> (f32, f32, usize) dims(n) {
  let mut lo: f32 = f32::INFINITY
  let mut hi: f32 = f32::NEG_INFINITY
  let mut count: usize = 0
  for i in 0..n {
    lo = min(lo, x[i])
    hi = max(x[i], hi)
    count = count + select(is_nan(x[i]), 0, 1)
  }
  return (lo, hi, count)
}
