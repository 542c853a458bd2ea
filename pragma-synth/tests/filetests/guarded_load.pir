// run: n = 3, x = [1.0, 2.0, 4.0], out = [0.0; 3]
// gives: out = [2.0, -5.0, -2.0]
// The test beside a load keeps it in bounds; an index may wrap before it is tested.
kernel neighbours(x: [f32; n], out: mut [f32; n]) dims(n) {
  for i in 0..n {
    let left: usize = i - 1
    let mut s: f32 = select(left < n, x[select(left < n, left, 0)], 0.0)
    if (i + 1 < n) & (x[i + 1] > 0.0) {
      s = s + x[i + 1]
    }
    if (i + 1 >= n) | (x[i + 1] > 3.0) {
      s = -s
    }
    out[i] = s
  }
}
