// run: a = 1.0, b = NaN, i = -1, j = 1, u = 255, v = 1
// gives: return = false, return = false, return = false, return = false, return = false, return = true, return = true, return = false, return = true, return = false, return = false, return = true, return = true, return = true
// run: a = -0.0, b = 0.0, i = 5, j = 5, u = 0, v = 0
// gives: return = false, return = true, return = false, return = true, return = true, return = false, return = false, return = true, return = false, return = true, return = true, return = false, return = true, return = false
kernel compare(a: f32, b: f32, i: i8, j: i8, u: u8, v: u8) -> (bool, bool, bool, bool, bool, bool, bool, bool, bool, bool, bool, bool, bool, bool) dims() {
  return (a < b, a <= b, a > b, a >= b, a == b, a != b, i < j, i >= j, u > v, u <= v, u == v, u != v, is_finite(a), is_nan(b))
}
