// run: n = 4, x = [1, -2, 2147483647, 5]
// gives: x = [1, -1, 2147483646, -2147483645]
kernel prefix_sum(x: mut [i32; n]) dims(n) {
  let mut s: i32 = 0i32
  for i in 0..n {
    s = s + x[i]
    x[i] = s
  }
}
