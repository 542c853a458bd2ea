// run: n = 3, least = 2, x = [1.0, 2.0, 3.0], out = [9.0; 3]
// gives: out = [2.0, 4.0, 6.0]
// run: n = 1, least = 2, x = [1.0], out = [9.0]
// gives: declined = [true]
// run: n = 3, least = 0, x = [1.0, -2.0, 3.0], out = [9.0; 3]
// gives: declined = [true]
kernel checked_double(x: [f32; n], least: usize, out: mut [f32; n]) dims(n) {
  if n < least {
    decline
  }
  for i in 0..n {
    if x[i] < 0.0 {
      decline
    }
  }
  for j in 0..n {
    out[j] = x[j] * 2.0
  }
}
