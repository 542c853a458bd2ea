// run: a = 250, b = 7
// gives: return = 1, return = 243, return = 214, return = 35, return = 5, return = 5, return = 243, return = 255, return = 243, return = 250, return = 7
// run: a = 3, b = 200
// gives: return = 203, return = 59, return = 88, return = 0, return = 3, return = 252, return = 197, return = 203, return = 0, return = 200, return = 3
kernel ops(a: u8, b: u8) -> (u8, u8, u8, u8, u8, u8, u8, u8, u8, u8, u8) dims() {
  return (a + b, a - b, a * b, a / b, a % b, !a, abs_diff(a, b), saturating_add(a, b), saturating_sub(a, b), max(a, b), min(a, b))
}
