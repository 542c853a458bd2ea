// run: rows = 2, d = 3, x = [1.0, 2.0, 3.0, -1.0, 0.0, 1e-3], weight = [1.0, 0.5, 2.0], eps = 1e-5, out = [NaN; 6]
// gives: out = [0.46290955, 0.46290955, 2.7774572, -1.7320241, 0.0, 0.0034640483]
kernel rms_norm(x: [f32; rows, d], weight: [f32; d], eps: f32, out: mut [f32; rows, d]) dims(rows, d) {
  for r in 0..rows parallel(grain = 65536, serial_below = 65536) {
    let mut ms: f32 = 0.0
    for j in 0..d vector(unroll = 4) {
      ms = ms + x[r * d + j] * x[r * d + j]
    }
    let scale: f32 = 1.0 / sqrt(ms / d as f32 + eps)
    for i in 0..d vector(unroll = 1) {
      stream out[r * d + i] = x[r * d + i] * scale * weight[i]
    }
  }
}
