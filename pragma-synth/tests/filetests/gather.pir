// run: n = 3, rows = 4, idx = [3, 0, 2], table = [1.0, 2.0, 3.0, 4.0]
// gives: return = [4.0, 1.0, 3.0]
// run: n = 1, rows = 2, idx = [2], table = [1.0, 2.0]
// traps: index 2 is out of bounds of `table` with 2 elements
kernel gather(idx: [u32; n], table: [f32; rows]) -> out: ret [f32; n] dims(n, rows) {
  for i in 0..n {
    out[i] = table[idx[i] as usize]
  }
}
