// run: n = 37, keep = [true, false, false, true, false, false, true, true, false, false, true, false, false, true, true, false, false, true, false, false, true, true, false, false, true, false, false, true, true, false, false, true, false, false, true, true, false], x = [-5, -2, 1, 4, -4, -1, 2, 5, -3, 0, 3, -5, -2, 1, 4, -4, -1, 2, 5, -3, 0, 3, -5, -2, 1, 4, -4, -1, 2, 5, -3, 0, 3, -5, -2, 1, 4], a = [1; 37], b = [2; 37], flags = [false; 37]
// gives: a = [-10, 1, 1, 8, 1, 1, 4, 10, 1, 1, 6, 1, 1, 2, 8, 1, 1, 4, 1, 1, 0, 6, 1, 1, 2, 1, 1, -2, 4, 1, 1, 0, 1, 1, -4, 2, 1], b = [65531, 2, 2, 4, 2, 2, 2, 5, 2, 2, 3, 2, 2, 1, 4, 2, 2, 2, 2, 2, 0, 3, 2, 2, 1, 2, 2, 65535, 2, 2, 2, 0, 2, 2, 65534, 1, 2], flags = [false, false, true, true, false, false, true, true, false, false, true, false, false, true, true, false, false, true, true, false, false, true, false, false, true, true, false, false, true, true, false, false, true, false, false, true, true]
kernel masked_stores(keep: [bool; n], x: [i8; n], a: mut [i8; n], b: mut [u16; n], flags: mut [bool; n]) dims(n) {
  for i in 0..n vector(unroll = 2) {
    if keep[i] {
      a[i] = x[i] + x[i]
      b[i] = x[i] as u16
    }
    flags[i] = x[i] > 0i8
  }
}
