//! Activations of neural networks.

use pragma_runtime::pragma_kernel;

/// The Gaussian error linear unit in its tanh form.
#[pragma_kernel(
    shape(x = [n], out = [n]),
    tune(n = 4096), tune(n = 16777216),
)]
pub fn gelu(x: &[f32], out: &mut [f32]) {
    for (o, &v) in out.iter_mut().zip(x) {
        let inner = 0.797_884_6 * (v + 0.044_715 * v * v * v);
        *o = 0.5 * v * (1.0 + inner.tanh());
    }
}

/// Softmax of every row of a matrix with rows of length `d`.
#[pragma_kernel(
    shape(x = [rows, d], out = [rows, d]),
    tune(rows = 8, d = 1024), tune(rows = 4096, d = 4096),
)]
pub fn softmax_rows(x: &[f32], d: usize, out: &mut [f32]) {
    for (row, o) in x.chunks_exact(d).zip(out.chunks_exact_mut(d)) {
        let max = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let mut sum = 0.0;
        for (o, v) in o.iter_mut().zip(row) {
            *o = (v - max).exp();
            sum += *o;
        }
        for o in o.iter_mut() {
            *o /= sum;
        }
    }
}
