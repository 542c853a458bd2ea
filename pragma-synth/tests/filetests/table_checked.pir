// run: n = 37, rows = 5, idx = [0, 3, 1, 4, 2, 0, 3, 1, 4, 2, 0, 3, 1, 4, 2, 0, 3, 1, 4, 2, 0, 3, 1, 4, 2, 0, 3, 1, 4, 2, 0, 3, 1, 4, 2, 0, 3], table = [1, 2, 4, 8, 16], out = [0; 37]
// gives: out = [1, 8, 2, 16, 4, 1, 8, 2, 16, 4, 1, 8, 2, 16, 4, 1, 8, 2, 16, 4, 1, 8, 2, 16, 4, 1, 8, 2, 16, 4, 1, 8, 2, 16, 4, 1, 8]
// run: n = 3, rows = 5, idx = [1, 5, 0], table = [1, 2, 4, 8, 16], out = [0; 3]
// traps: index 5 is out of bounds of `table` with 5 elements
kernel table_checked(idx: [u32; n], table: [i64; rows], out: mut [i64; n]) dims(n, rows) {
  for i in 0..n vector(unroll = 1) {
    out[i] = table[idx[i] as usize]
  }
}
