// run: a = -100, u = 2863311530, k = 33, s = -1, big = 4294967297
// gives: return = -800, return = -13, return = 178956970, return = 1431655764, return = -50, return = 0, return = 1431655765, return = -109951162777600, return = 64, return = -1
kernel shifts(a: i32, u: u32, k: u32, s: i8, big: u64) -> (i32, i32, u32, u32, i32, u32, u32, i64, u8, i8) dims() {
  return (a << 3, a >> 3, u >> 4, u << k, a >> k, u << s, u >> big, (a as i64) << 40u32, 129u8 >> 1, -128i8 >> 7)
}
