// run: a = 0.1, n = 16777217
// gives: return = 0.10000000149011612, return = 16777216.0, return = inf
// f64 differs: a rounding to f32 on the way is kept by neither its magnitude nor its value.
kernel through_f32(a: f64, n: i32) -> (f64, f64, f64) dims() {
  return (a as f32 as f64, n as f32 as f64, (a * 1e300f64) as f32 as f64)
}
