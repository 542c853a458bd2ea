// run: n = 3, x = [1, 6, 27]
// gives: return = [0, 8, 111]
kernel collatz(x: [u64; n]) -> out: ret [u32; n] dims(n) {
  for i in 0..n {
    let mut v: u64 = x[i]
    let mut count: u32 = 0u32
    while v != 1u64 {
      v = select(v & 1u64 == 0u64, v / 2u64, v * 3u64 + 1u64)
      count = count + 1u32
    }
    out[i] = count
  }
}
