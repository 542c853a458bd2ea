// run: a = 2147483647, b = -3
// gives: return = 2147483644, return = -2147483646, return = -2147483645, return = -715827882, return = 1, return = 2147483645, return = -1, return = -2147483646, return = 1, return = -715827882
// run: a = -2147483648, b = 7
// gives: return = -2147483641, return = 2147483641, return = -2147483648, return = -306783378, return = -2, return = 0, return = -2147483641, return = -2147483641, return = 5, return = -306783379
// run: a = 100, b = 0
// traps: integer division by zero
// run: a = -2147483648, b = -1
// traps: integer division overflows
kernel ops(a: i32, b: i32) -> (i32, i32, i32, i32, i32, i32, i32, i32, i32, i32) dims() {
  return (a + b, a - b, a * b, a / b, a % b, a & b, a | b, a ^ b, rem_euclid(a, b), div_euclid(a, b))
}
