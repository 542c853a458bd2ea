// run: n = 4, x = [1.5, 9.5, 2.5, 9.5], limit = 100
// gives: return = [2.5, 10.5, 3.5, 10.5], return = 1, return = [1, 9, 2, 9]
// run: n = 2, x = [1.5, 0.5], limit = 1
// gives: declined = [true]
kernel several(x: [f32; n], limit: u32) -> (more: ret [f32; n], usize, floors: ret [u8; n]) dims(n) {
  let mut best: usize = 0
  for i in 0..n {
    if x[i] > x[best] {
      best = i
    }
  }
  if limit < 2u32 {
    decline
  }
  for j in 0..n {
    more[j] = x[j] + 1.0
    floors[j] = x[j] as u8
  }
  return (best)
}
