// run: h = 3, w = 4, x = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0]
// gives: return = [2.0, 6.0, 10.0, 4.0, 8.0, 12.0]
kernel transpose_every_other(x: [f32; h, w], h: dim) -> out: ret [f32; w / 2, h] dims(h, w) {
  for c in 1..w step 2 {
    for r in 0..h {
      out[c / 2 * h + r] = x[r * w + c]
    }
  }
}
