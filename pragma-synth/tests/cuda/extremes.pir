// gpu: reduce(i, threads = 64, vector = 4, unroll = 2, blocks = 2)
// run: n = 9, x = [3, -4, 7, 7, -9, 2, 7, -9, 0]
// gives: return = [-9], return = [7], return = [2]
kernel extremes(x: [i32; n]) -> (i32, i32, u64) dims(n) {
  let mut low: i32 = x[0]
  let mut high: i32 = x[0]
  let mut at: u64 = 0u64
  for i in 0..n {
    low = min(low, x[i])
    if x[i] > high {
      high = x[i]
      at = i as u64
    }
  }
  return (low, high, at)
}
