// run: n = 6, bins = 3, x = [0, 1, 1, 200, 1, 2], counts = [0, 10, 4294967295]
// gives: counts = [1, 13, 1]
kernel histogram(x: [u8; n], counts: mut [u32; bins]) dims(n, bins) {
  for i in 0..n {
    let b: usize = min(x[i] as usize, bins - 1)
    counts[b] = counts[b] + 1u32
  }
}
