// run: n = 3, a = 2.0, x = [1.0, -2.5, inf], y = [0.5, 0.25, 1.0]
// gives: y = [2.5, -4.75, inf]
// run: n = 0, a = 2.0, x = [], y = []
// gives: y = []
// run: n = 2, a = NaN, x = [1.0, 0.0], y = [1.0, -0.0]
// gives: y = [NaN, NaN]
kernel saxpy(a: f32, x: [f32; n], y: mut [f32; n]) dims(n) {
  for i in 0..n parallel(grain = 65536, serial_below = 65536) vector(unroll = 4) {
    y[i] = a * x[i] + y[i]
  }
}
