// run: n = 19, x = [1.5; 19], y = [0.25; 19], z = [0.0; 19]
// gives: y = [2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0], z = [3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0], return = 57.0
// Neighbouring loops over one range: map, map of the result, reduction.
kernel fusable(x: [f32; n], y: mut [f32; n], z: mut [f32; n]) -> f32 dims(n) {
  for i in 0..n {
    y[i] = y[i] * 2.0 + x[i]
  }
  for j in 0..n {
    z[j] = y[j] * y[j] - 1.0
  }
  let mut s: f32 = 0.0
  for k in 0..n {
    s = s + z[k]
  }
  return (s)
}
