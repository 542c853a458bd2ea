//! Normalisation of rows.

use pragma_runtime::pragma_kernel;

/// RMS norm over rows as long as `weight`.
#[pragma_kernel(
    shape(x = [rows, d], weight = [d], out = [rows, d]),
    tune(rows = 8, d = 1024), tune(rows = 4096, d = 4096),
)]
pub fn rms_norm(x: &[f32], weight: &[f32], eps: f32, out: &mut [f32]) {
    let d = weight.len();
    for (row, o) in x.chunks_exact(d).zip(out.chunks_exact_mut(d)) {
        let ms = row.iter().map(|v| v * v).sum::<f32>() / d as f32;
        let scale = 1.0 / (ms + eps).sqrt();
        for ((o, v), w) in o.iter_mut().zip(row).zip(weight) {
            *o = v * scale * w;
        }
    }
}

/// Layer norm over rows as long as `weight` and `bias`.
#[pragma_kernel(
    shape(x = [rows, d], weight = [d], bias = [d], out = [rows, d]),
    tune(rows = 8, d = 1024), tune(rows = 4096, d = 4096),
)]
pub fn layer_norm(x: &[f32], weight: &[f32], bias: &[f32], eps: f32, out: &mut [f32]) {
    let d = weight.len();
    for (row, o) in x.chunks_exact(d).zip(out.chunks_exact_mut(d)) {
        let mean = row.iter().sum::<f32>() / d as f32;
        let var = row.iter().map(|v| (v - mean) * (v - mean)).sum::<f32>() / d as f32;
        let scale = 1.0 / (var + eps).sqrt();
        for i in 0..d {
            o[i] = (row[i] - mean) * scale * weight[i] + bias[i];
        }
    }
}
