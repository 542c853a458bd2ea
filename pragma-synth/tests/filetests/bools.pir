// run: p = true, q = false, n = 3, flags = [false; 3]
// gives: flags = [true, false, true], return = false, return = true, return = true, return = false, return = true, return = false, return = false
kernel bools(p: bool, q: bool, flags: mut [bool; n]) -> (bool, bool, bool, bool, bool, bool, bool) dims(n) {
  for i in 0..n {
    flags[i] = !flags[i] ^ (i == 1)
  }
  return (p & q, p | q, p ^ q, !p, p > q, p == q, select(q, p, flags[1]))
}
