// gpu: team(r, threads = 64, vector = 4, items = 2)
// gpu: team(r, threads = 32, vector = 1, items = 1)
// run: rows = 2, d = 4, x = [1.0, 2.0, 3.0, -1.0, -1.0, 0.0, 1e-3, 2.5], weight = [1.0, 0.5, 2.0, 1.5], eps = 1e-5, out = [NaN; 8]
// gives: out = [0.5163971, 0.5163971, 3.0983827, -0.7745957, -0.74277925, 0.0, 0.0014855586, 2.7854223]
kernel rms_norm(x: [f32; rows, d], weight: [f32; d], eps: f32, out: mut [f32; rows, d]) dims(rows, d) {
  for r in 0..rows {
    let mut ms: f32 = 0.0
    for j in 0..d {
      ms = ms + x[r * d + j] * x[r * d + j]
    }
    let scale: f32 = 1.0 / sqrt(ms / d as f32 + eps)
    for i in 0..d {
      out[r * d + i] = x[r * d + i] * scale * weight[i]
    }
  }
}
