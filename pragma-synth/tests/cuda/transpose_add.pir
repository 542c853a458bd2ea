// The loops the other way round, and an element that is read in the order of the writes.
// gpu: transpose(j, i, tile = 32, vector = 4)
// run: n = 4, m = 4, x = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0, 13.0, 14.0, 15.0, 16.0], out = [1.0; 16]
// gives: out = [1.5, 5.5, 9.5, 13.5, 2.5, 6.5, 10.5, 14.5, 3.5, 7.5, 11.5, 15.5, 4.5, 8.5, 12.5, 16.5]
kernel transpose_add(x: [f32; n, m], out: mut [f32; m, n]) dims(n, m) {
  for j in 0..m {
    for i in 0..n {
      out[j * n + i] = out[j * n + i] * 0.5 + x[i * m + j]
    }
  }
}
