// run: rows = 1, d = 4, x = [1.0, 2.0, 3.0, 4.5], out = [0.0; 4]
// gives: out = [-1.2567537, -0.48336682, 0.29002008, 1.4501004]
kernel layer_norm(d: dim, x: [f32; rows, d], out: mut [f32; rows, d]) dims(rows, d) {
  for r in 0..rows {
    let mut mean: f32 = 0.0
    for i in 0..d {
      mean = mean + x[r * d + i]
    }
    mean = mean / d as f32
    let mut var: f32 = 0.0
    for j in 0..d {
      let centred: f32 = x[r * d + j] - mean
      var = mul_add(centred, centred, var)
    }
    let scale: f32 = recip(sqrt(var / d as f32 + 1e-5))
    for k in 0..d {
      out[r * d + k] = (x[r * d + k] - mean) * scale
    }
  }
}
