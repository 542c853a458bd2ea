//! The eight functions of the quickstart, as people write them.

/// `y = a x + y`.
pub fn saxpy(a: f32, x: &[f32], y: &mut [f32]) {
    for (y, x) in y.iter_mut().zip(x) {
        *y += a * x;
    }
}

/// Inner product.
pub fn dot(x: &[f32], y: &[f32]) -> f32 {
    x.iter().zip(y).map(|(a, b)| a * b).sum()
}

/// GELU by the tanh formula.
pub fn gelu(x: &[f32], out: &mut [f32]) {
    for (o, &v) in out.iter_mut().zip(x) {
        let inner = 0.797_884_6 * (v + 0.044_715 * v * v * v);
        *o = 0.5 * v * (1.0 + inner.tanh());
    }
}

/// Softmax over rows.
pub fn softmax(x: &mut [f32], cols: usize) {
    for row in x.chunks_exact_mut(cols) {
        let max = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let mut sum = 0.0;
        for v in row.iter_mut() {
            *v = (*v - max).exp();
            sum += *v;
        }
        for v in row {
            *v /= sum;
        }
    }
}

/// RMS norm over rows.
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

/// Layer norm over rows.
pub fn layer_norm(x: &[f32], gamma: &[f32], beta: &[f32], eps: f32, out: &mut [f32]) {
    let d = gamma.len();
    assert_eq!(beta.len(), d);
    let rows = x.len() / d;
    for r in 0..rows {
        let row = &x[r * d..(r + 1) * d];
        let mean = row.iter().sum::<f32>() / d as f32;
        let var = row.iter().map(|v| (v - mean) * (v - mean)).sum::<f32>() / d as f32;
        let inv = (var + eps).sqrt().recip();
        for j in 0..d {
            out[r * d + j] = (row[j] - mean) * inv * gamma[j] + beta[j];
        }
    }
}

/// Cosine similarity; zero where a vector is zero.
pub fn cosine(a: &[f32], b: &[f32]) -> f32 {
    let mut dot = 0.0;
    let mut aa = 0.0;
    let mut bb = 0.0;
    for i in 0..a.len() {
        dot += a[i] * b[i];
        aa += a[i] * a[i];
        bb += b[i] * b[i];
    }
    let denom = (aa * bb).sqrt();
    if denom == 0.0 {
        return 0.0;
    }
    dot / denom
}

/// Index of the first largest element of each row.
pub fn argmax(x: &[f32], cols: usize, out: &mut [u32]) {
    for (row, o) in x.chunks_exact(cols).zip(out.iter_mut()) {
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
