// run: n = 6, x = [3, -1, 0, 7, 100, 5]
// gives: return = 5, return = false
// run: n = 2, x = [-1, -5]
// gives: return = 0, return = false
// run: n = 1, x = [1]
// gives: return = -1, return = true
kernel control(x: [i64; n]) -> (i64, bool) dims(n) {
  let mut s: i64 = 0i64
  let mut steps: i64 = 0i64
  for i in 0..n {
    if x[i] < 0i64 {
      continue
    }
    if x[i] == 100i64 {
      break
    }
    let mut v: i64 = x[i]
    while v > 0i64 {
      steps = steps + 1i64
      v = v >> 1
      if steps > 1000i64 {
        break
      } else {
        if v == 2i64 {
          continue
        } else {
          s = s + v
        }
      }
    }
    if x[i] == 1i64 {
      return (-1i64, true)
    }
  }
  return (s, false)
}
