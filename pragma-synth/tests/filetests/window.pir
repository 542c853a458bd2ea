// run: n = 5, k = 2, x = [1.0, 2.0, 3.0, 4.0, 5.0]
// gives: return = [1.5, 2.5, 3.5, 4.5]
// A dimension that is a parameter, and sizes that are differences.
kernel window(x: [f32; n], k: dim) -> out: ret [f32; n - k + 1] dims(k, n) {
  for i in 0..n - k + 1 {
    let mut s: f32 = 0.0
    for j in i..i + k {
      s = s + x[j]
    }
    out[i] = s / k as f32
  }
}
