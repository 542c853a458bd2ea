// run: n = 4, a = 1.0, k = 3, out = [0.0; 4]
// gives: out = [2.0, 4.0, 8.0, -8.0]
kernel powers(mut a: f32, mut k: usize, out: mut [f32; n]) dims(n) {
  for i in 0..n {
    if k == 0 {
      a = -a
    } else {
      k = k - 1
      a = a * 2.0
    }
    out[i] = a
  }
}
