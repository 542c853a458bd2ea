//! LLM inference kernels.

use pragma_runtime::pragma_kernel;

/// Root-mean-square normalises each row of `x` and scales it by `weight`.
#[pragma_kernel(
    shape(out = [rows, d], x = [rows, d], weight = [d]),
    tune(rows = 2048, d = 1024, eps = 1e-5),
    inputs(x = -4.0..4.0, weight = 0.0..2.0),
)]
pub fn rms_norm_rows(out: &mut [f32], x: &[f32], weight: &[f32], eps: f32) {
    let d = weight.len();
    debug_assert_eq!(x.len(), out.len());
    let rows = x.len() / d;
    for r in 0..rows {
        let row = &x[r * d..(r + 1) * d];
        let ms = row.iter().map(|&v| v * v).sum::<f32>() / d as f32;
        let inv = 1.0 / (ms + eps).sqrt();
        out[r * d..(r + 1) * d]
            .iter_mut()
            .zip(row.iter())
            .zip(weight.iter())
            .for_each(|((o, &v), &w)| *o = w * (v * inv));
    }
}

fn sigmoid(v: f32) -> f32 {
    1.0 / (1.0 + (-v).exp())
}

/// SwiGLU gate: `gate[i] = silu(gate[i]) * up[i]`, in place.
#[pragma_kernel(
    shape(gate = [n], up = [n]),
    tune(n = 2097152),
    inputs(gate = -10.0..10.0, up = -4.0..4.0),
)]
pub fn silu_mul_inplace(gate: &mut [f32], up: &[f32]) {
    gate.iter_mut().zip(up.iter()).for_each(|(g, &u)| {
        *g *= sigmoid(*g) * u;
    });
}

/// Numerically stable softmax over each row of length `cols`, in place.
#[pragma_kernel(
    shape(x = [rows, cols]),
    tune(rows = 1024, cols = 2048),
    inputs(x = -20.0..20.0),
)]
pub fn softmax_rows_inplace(x: &mut [f32], cols: usize) {
    for row in x.chunks_exact_mut(cols) {
        let mut max = f32::NEG_INFINITY;
        for &v in row.iter() {
            if v > max {
                max = v;
            }
        }
        let mut sum = 0.0;
        for v in row.iter_mut() {
            *v = (*v - max).exp();
            sum += *v;
        }
        row.iter_mut().for_each(|v| *v /= sum);
    }
}

/// Dense matrix-vector product `out = w x`, `w` row-major.
#[pragma_kernel(
    shape(w = [m, n], x = [n], out = [m]),
    tune(m = 4096, n = 2048),
    inputs(w = -1.0..1.0, x = -1.0..1.0),
)]
pub fn matvec_rows(w: &[f32], x: &[f32], out: &mut [f32]) {
    let n = x.len();
    assert_eq!(w.len(), n * out.len());
    for (i, o) in out.iter_mut().enumerate() {
        let base = i * n;
        let mut acc = 0.0f32;
        for j in 0..n {
            // SAFETY: base + j < m * n, asserted above.
            acc += unsafe { w.get_unchecked(base + j) } * x[j];
        }
        *o = acc;
    }
}

fn dot(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b.iter()).map(|(x, y)| x * y).sum()
}

/// Causal self-attention of one head: row `i` attends to rows `0..=i`.
#[pragma_kernel(
    shape(q = [t, d], k = [t, d], v = [t, d], out = [t, d]),
    tune(t = 512, d = 64),
    inputs(q = -2.0..2.0, k = -2.0..2.0, v = -2.0..2.0),
)]
pub fn causal_attention(q: &[f32], k: &[f32], v: &[f32], out: &mut [f32], d: usize) {
    let t = q.len() / d;
    let scale = 1.0 / (d as f32).sqrt();
    let mut scores = vec![0.0f32; t];
    for i in 0..t {
        let qi = &q[i * d..(i + 1) * d];
        for j in 0..=i {
            scores[j] = dot(qi, &k[j * d..(j + 1) * d]) * scale;
        }
        softmax_rows_inplace(&mut scores[..=i], i + 1);

        let oi = &mut out[i * d..(i + 1) * d];
        oi.fill(0.0);
        for j in 0..=i {
            let a = scores[j];
            let vj = &v[j * d..][..d];
            for (o, x) in oi.iter_mut().zip(vj) {
                *o += a * x;
            }
        }
    }
}

pub const QK: usize = 32;

#[derive(Clone, Copy)]
pub struct BlockQ8 {
    pub d: f32,
    pub qs: [i8; QK],
}

/// Matrix-vector product of two int8 block-quantised operands (i32 block sums, f32 scales).
#[pragma_kernel(
    shape(w = [m, nb], x = [nb], out = [m]),
    tune(m = 8192, nb = 64),
    inputs(w.d = 0.0..0.02, w.qs = -127..=127, x.d = 0.0..0.02, x.qs = -127..=127),
)]
pub fn q8_matvec(w: &[BlockQ8], x: &[BlockQ8], out: &mut [f32]) {
    let nb = x.len();
    debug_assert_eq!(w.len(), nb * out.len());
    for (i, o) in out.iter_mut().enumerate() {
        let mut sum = 0.0f32;
        for b in 0..nb {
            let wb = &w[i * nb + b];
            let mut isum = 0i32;
            for j in 0..QK {
                isum += wb.qs[j] as i32 * x[b].qs[j] as i32;
            }
            sum += isum as f32 * wb.d * x[b].d;
        }
        *o = sum;
    }
}

/// Top-k sampling with temperature: the token that `coin` draws among the `k` likeliest.
#[pragma_kernel(
    shape(logits = [n]),
    tune(n = 131072, k = 40, temperature = 0.8, coin = 0.5),
    inputs(logits = -20.0..20.0, coin = 0.0..1.0, k = 1..=n, temperature = 0.1..2.0),
)]
pub fn sample_top_k(logits: &[f32], k: usize, temperature: f32, coin: f32) -> usize {
    let mut order: Vec<usize> = (0..logits.len()).collect();
    order.sort_by(|&a, &b| logits[b].partial_cmp(&logits[a]).unwrap());
    order.truncate(k);

    let top = logits[order[0]];
    let weights: Vec<f32> = order
        .iter()
        .map(|&i| ((logits[i] - top) / temperature).exp())
        .collect();
    let mut left = coin * weights.iter().sum::<f32>();
    for (i, &w) in weights.iter().enumerate() {
        if left < w {
            return order[i];
        }
        left -= w;
    }
    order[order.len() - 1]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::close;

    #[test]
    fn rms_norm_rows_small() {
        let mut out = [0.0; 4];
        rms_norm_rows(&mut out, &[3.0, 4.0, 1.0, 1.0], &[1.0, 2.0], 0.0);
        let r = 12.5f32.sqrt();
        close(&out, &[3.0 / r, 8.0 / r, 1.0, 2.0], 1e-6);
    }

    #[test]
    fn silu_mul_inplace_small() {
        let mut g = [0.0, 1.0];
        silu_mul_inplace(&mut g, &[5.0, 2.0]);
        close(&g, &[0.0, 1.462_117_2], 1e-6);
    }

    #[test]
    fn softmax_rows_inplace_small() {
        let mut x = [0.0, 0.0, 0.0, 2.0f32.ln()];
        softmax_rows_inplace(&mut x, 2);
        close(&x, &[0.5, 0.5, 1.0 / 3.0, 2.0 / 3.0], 1e-6);
    }

    #[test]
    fn matvec_rows_small() {
        let mut out = [0.0; 2];
        matvec_rows(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], &[1.0, 0.0, -1.0], &mut out);
        assert_eq!(out, [-2.0, -2.0]);
    }

    #[test]
    fn causal_attention_small() {
        // Equal keys: row i is the mean of v[0..=i].
        let mut out = [0.0; 2];
        causal_attention(&[1.0, 1.0], &[0.0, 0.0], &[2.0, 4.0], &mut out, 1);
        close(&out, &[2.0, 3.0], 1e-6);
    }

    #[test]
    fn q8_matvec_small() {
        let mut qs = [0i8; QK];
        qs[0] = 2;
        qs[31] = -3;
        let b = BlockQ8 { d: 0.5, qs };
        let mut out = [0.0; 2];
        q8_matvec(
            &[
                b,
                BlockQ8 {
                    d: 1.0,
                    qs: [1; QK],
                },
            ],
            &[b],
            &mut out,
        );
        assert_eq!(out, [13.0 * 0.25, -1.0 * 0.5]);
    }

    #[test]
    fn sample_top_k_small() {
        // The two likeliest have weights 1 and 1/3: a coin below 3/4 takes the first.
        let l = [0.0, 3.0f32.ln() + 1.0, 1.0, -5.0];
        assert_eq!(sample_top_k(&l, 2, 1.0, 0.7), 1);
        assert_eq!(sample_top_k(&l, 2, 1.0, 0.8), 2);
    }
}
