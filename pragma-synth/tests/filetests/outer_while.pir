// f64 differs: counts of iterations near the limit depend on rounding
// run: width = 21, height = 2, limit = 40, out = [0; 42], dx = 0.125
// gives: out = [1, 4, 4, 4, 5, 6, 9, 40, 40, 24, 13, 40, 40, 40, 40, 40, 40, 40, 40, 40, 5, 1, 3, 3, 4, 4, 5, 14, 7, 8, 7, 8, 40, 40, 40, 40, 40, 40, 40, 40, 17, 5]
kernel outer_while(out: mut [u16; height, width], width: dim, dx: f64, limit: u16) dims(width, height) {
  for py in 0..height {
    let ci: f64 = 0.25f64 + py as f64 * dx
    for px in 0..width vector(unroll = 2) {
      let cr: f64 = px as f64 * dx - 2.0f64
      let mut zr: f64 = 0.0f64
      let mut zi: f64 = 0.0f64
      let mut n: u16 = 0u16
      while (n < limit) & (zr * zr + zi * zi <= 4.0f64) {
        let t: f64 = zr * zr - zi * zi + cr
        zi = 2.0f64 * zr * zi + ci
        zr = t
        n = n + 1u16
      }
      out[py * width + px] = n
    }
  }
}
