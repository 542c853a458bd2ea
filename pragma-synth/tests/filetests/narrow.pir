// run: n = 3, x = [-128, 127, 5], y = [65535, 1, 300], out = [0; 3]
// gives: out = [27135, -27435, 1800], return = -8386853
kernel quantised(x: [i8; n], y: [u16; n], out: mut [i16; n]) -> i32 dims(n) {
  let mut acc: i32 = 0i32
  for i in 0..n vector(unroll = 2) {
    acc = acc + x[i] as i32 * y[i] as i32
    out[i] = x[i] as i16 * 300i16 + y[i] as i16
  }
  return (acc)
}
