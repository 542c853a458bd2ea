// run: n = 37, m = 1, x = [1.5; 37], out = [0.0; 38]
// gives: out = [1.5, 1.5, 1.5, 1.5, 1.5, 1.5, 1.5, 1.5, 1.5, 1.5, 1.5, 1.5, 1.5, 1.5, 1.5, 1.5, 1.5, 1.5, 1.5, 1.5, 1.5, 1.5, 1.5, 1.5, 1.5, 1.5, 1.5, 1.5, 1.5, 1.5, 1.5, 1.5, 1.5, 1.5, 1.5, 1.5, 1.5, 2.5]
// Two streaming stores to one buffer, of which only one can be aligned.
kernel two_streams(x: [f32; n], out: mut [f32; n + m], m: dim) dims(n, m) {
  for i in 0..n vector(unroll = 2) {
    stream out[i] = x[i] * 2.0
  }
  for j in 0..n vector(unroll = 1) {
    stream out[j] = x[j]
    stream out[j + 1] = x[j] + 1.0
  }
}
