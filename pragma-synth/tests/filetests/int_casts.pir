// run: a = -1, b = 511, c = 18446744073709551615, p = true
// gives: return = 255, return = 4294967295, return = -1, return = -1, return = 255, return = -1, return = -1, return = 65535, return = 1, return = 1, return = 511
kernel casts(a: i8, b: u32, c: u64, p: bool) -> (u8, u32, i64, i8, u8, i32, isize, u16, i32, u64, usize) dims() {
  return (a as u8, a as u32, a as i64, b as i8, b as u8, c as i32, c as isize, c as u16, p as i32, p as u64, b as usize)
}
