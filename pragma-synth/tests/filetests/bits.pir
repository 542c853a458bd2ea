// run: a = 1.5, b = -2.5, u = 3212836864, w = 4611686018427387904
// gives: return = 1069547520, return = 13836183955189006336, return = -1.0, return = 2.0, return = 0.81536275, return = 1041865114
// f64 differs: bits of an f32 computed in f64 are those of another number.
kernel bits(a: f32, b: f64, u: u32, w: u64) -> (u32, u64, f32, f64, f32, u32) dims() {
  let fast: f32 = from_bits(1597463007u32 - (to_bits(a) >> 1))
  return (to_bits(a), to_bits(b), from_bits(u), from_bits(w), fast * (1.5 - 0.5 * a * fast * fast), to_bits(a * 0.1))
}
