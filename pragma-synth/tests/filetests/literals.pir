// run: a = 1.0
// gives: return = 0.1, return = -1e-45, return = 0.1, return = inf, return = -inf, return = -128, return = 18446744073709551615, return = -9223372036854775808, return = 1.5, return = 3.0, return = 1e300, return = 8
kernel literals(a: f32) -> (f32, f32, f64, f32, f32, i8, u64, i64, f32, f32, f64, u8) dims() {
  return (0.1, -1e-45, 0.1f64, f32::INFINITY, f32::NEG_INFINITY, -128i8, 18446744073709551615u64, -9223372036854775808i64, -(-1.5), 1.0 + 2.0, (1.0 + 2.0) as f64 + 1e300f64, (7 as u8) + 1u8)
}
