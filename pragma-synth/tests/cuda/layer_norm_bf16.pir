// Half types: loads widen, stores round.
// gpu: team(r, threads = 64, vector = 4, items = 1)
// gpu: team(r, threads = 32, vector = 8, items = 1)
// run: rows = 1, d = 8, x = [1.0, 2.0, 3.0, 4.5, -1.0, 0.5, 0.25, 8.0], out = [0.0; 8]
// gives: out = [-0.4765625, -0.1044921875, 0.267578125, 0.82421875, -1.21875, -0.66015625, -0.75390625, 2.125]
kernel layer_norm_bf16(d: dim, x: [bf16; rows, d], out: mut [bf16; rows, d]) dims(rows, d) {
  for r in 0..rows {
    let mut mean: f32 = 0.0
    for i in 0..d {
      mean = mean + x[r * d + i] as f32
    }
    mean = mean / d as f32
    let mut var: f32 = 0.0
    for j in 0..d {
      let centred: f32 = x[r * d + j] as f32 - mean
      var = var + centred * centred
    }
    let scale: f32 = recip(sqrt(var / d as f32 + 1e-5))
    for k in 0..d {
      out[r * d + k] = ((x[r * d + k] as f32 - mean) * scale) as bf16
    }
  }
}
