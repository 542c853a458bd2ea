//! Similarity and search.

use pragma_runtime::pragma_kernel;

/// The cosine of the angle between two vectors.
#[pragma_kernel(
    shape(x = [n], y = [n]),
    tune(n = 4096), tune(n = 16777216),
)]
pub fn cosine_similarity(x: &[f32], y: &[f32]) -> f32 {
    let mut xy = 0.0f32;
    let mut xx = 0.0f32;
    let mut yy = 0.0f32;
    for i in 0..x.len() {
        xy += x[i] * y[i];
        xx += x[i] * x[i];
        yy += y[i] * y[i];
    }
    xy / (xx.sqrt() * yy.sqrt())
}

/// The index of the first greatest element of every row of a matrix with rows of length `d`.
#[pragma_kernel(
    shape(x = [rows, d], out = [rows]),
    tune(rows = 8, d = 1024), tune(rows = 4096, d = 4096),
)]
pub fn argmax_rows(x: &[f32], d: usize, out: &mut [u32]) {
    for (row, o) in x.chunks_exact(d).zip(out) {
        let mut best = f32::NEG_INFINITY;
        let mut at = 0;
        for (i, &v) in row.iter().enumerate() {
            if v > best {
                best = v;
                at = i;
            }
        }
        *o = at as u32;
    }
}
