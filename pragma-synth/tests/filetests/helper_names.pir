// run: n = 21, x = [1.5; 21], idx = [3; 21], x_len = 7, begin = 2.0, u = 3.0, out = [0.0; 21]
// gives: out = [9.0, 9.0, 9.0, 9.0, 9.0, 9.0, 9.0, 9.0, 9.0, 9.0, 9.0, 9.0, 9.0, 9.0, 9.0, 9.0, 9.0, 9.0, 9.0, 9.0, 9.0], return = 7, return = 5.625, return = 40.5
// Names that emitters use themselves.
kernel helper_names(x: [f32; n], idx: [u32; n], x_len: usize, begin: f32, u: f32, out: mut [f32; n]) -> (usize, f32, f32) dims(n) {
  let value: f32 = x[x_len] + x[idx[0] as usize]
  let mut s: f32 = 0.0
  let s_v: f32 = 0.5
  let i_rest: f32 = 0.25
  let iterations: f32 = 0.125
  for i in 0..n vector(unroll = 2) {
    let lane: f32 = x[i] * s_v + i_rest
    s = s + lane * iterations
  }
  let i_next: f32 = s
  let checked: f32 = 1.0
  for end in 0..n parallel(grain = 4, serial_below = 0) vector(unroll = 2) {
    let there: f32 = x[end] * u
    stream out[end] = there + begin + checked
  }
  let mut best: f32 = f32::NEG_INFINITY
  let mut best_at: usize = 0
  for values in 0..n vector(unroll = 1) {
    if out[values] > best {
      best = out[values]
      best_at = values
    }
  }
  let mut block: f32 = 0.0
  for worthwhile in 0..n parallel(grain = 4, serial_below = 0) {
    block = block + x[worthwhile]
  }
  for slots in 0..n unroll(factor = 4) {
    out[slots] = out[slots] + x[idx[slots] as usize]
  }
  return (x_len + best_at, value + i_next, block + out[n - 1])
}
