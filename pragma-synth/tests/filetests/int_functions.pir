// run: a = -2147483648, u = 305419896, k = 36
// gives: return = -2147483648, return = -2147483648, return = -1, return = 2147483647, return = 2147483653, return = -2147483648, return = -1, return = 1, return = 3, return = 3, return = 591751041, return = 2166572391, return = 15, return = 9223372036873864551
// run: a = 77, u = 0, k = 4294967295
// gives: return = -77, return = 77, return = 1, return = -78, return = 72, return = 76, return = 2147483647, return = 4, return = 32, return = 32, return = 0, return = 0, return = 15, return = 0
kernel functions(a: i32, u: u32, k: u32) -> (i32, i32, i32, i32, u32, i32, i32, u32, u32, u32, u32, u32, u32, u64) dims() {
  return (-a, abs(a), signum(a), !a, abs_diff(a, 5i32), saturating_sub(a, 1i32), saturating_add(a, 2147483647i32), count_ones(a), leading_zeros(u), trailing_zeros(u), rotate_left(u, k), rotate_right(u, k), leading_zeros(1u16), rotate_left(u as u64, 60u32))
}
