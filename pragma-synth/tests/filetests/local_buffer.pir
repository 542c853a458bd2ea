// run: n = 4, x = [1.0, 2.0, 3.0, 4.0], out = [0.0; 4]
// gives: out = [4.5, 0.0, 2.5, 0.0]
kernel reverse(x: [f32; n], out: mut [f32; n]) dims(n) {
  alloc tmp: local [f32; n] len n fill f32::NAN
  for i in 0..n {
    tmp[n - 1 - i] = x[i]
  }
  for j in 0..n step 2 {
    alloc pair: local [f64; 2] len 2 fill 0.5f64
    pair[1] = tmp[j] as f64
    out[j] = (pair[0] + pair[1]) as f32
  }
}
