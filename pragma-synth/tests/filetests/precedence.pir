// run: a = 2.0, b = 3.0, c = 5.0, i = 12, j = 5, k = 3, p = true
// gives: return = 4.0, return = -6.0, return = 0.13333334, return = -25.0, return = 7, return = 12, return = 15, return = true, return = false, return = 10.0, return = 2.0
kernel precedence(a: f32, b: f32, c: f32, i: i32, j: i32, k: i32, p: bool) -> (f32, f32, f32, f32, i32, i32, i32, bool, bool, f32, f32) dims() {
  return (a - (b - c), a - b - c, a / (b * c), -(a + b) * c, i & j | k ^ i & (j | k), i << (k & 1i32) >> 1i32, i % (j * k) - -k, p & (a < b) | (i as f32 > c), !(p & (a < b)), select(a < b, a, b) * select(p, c, -c), (i / j) as f32 / (k as f32 - a))
}
