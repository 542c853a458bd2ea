// run: a = -5, b = 18446744073709551615, c = 16777217, d = 9007199254740993, e = 200, f = -3
// gives: return = -5.0, return = 1.8446744e19, return = 16777216.0, return = 16777217.0, return = 9007199254740992.0, return = 1.8446744073709552e19, return = 200.0, return = -3.0
kernel casts(a: i8, b: u64, c: i32, d: i64, e: u16, f: isize) -> (f32, f32, f32, f64, f64, f64, f32, f64) dims() {
  return (a as f32, b as f32, c as f32, c as f64, d as f64, b as f64, e as f32, f as f64)
}
