// run: n = 3, x = [1.0, 0.0, 2.0]
// gives: x = [1.0, 0.0, 2.0]
kernel until_zero(x: mut [f32; n]) dims(n) {
  for i in 0..n {
    if x[i] == 0.0 {
      return ()
    }
    x[i] = 1.0 / x[i]
  }
}
