//! Neural-network operators.

use half::f16;
use ndarray::{Array2, Array4, ArrayView2, ArrayView3};
use pragma_runtime::pragma_kernel;
use std::ops::AddAssign;

use crate::Real;

fn gelu_scalar(v: f32) -> f32 {
    const SQRT_2_OVER_PI: f32 = 0.797_884_56;
    0.5 * v * (1.0 + (SQRT_2_OVER_PI * (v + 0.044715 * v * v * v)).tanh())
}

/// GELU activation with the tanh approximation.
#[pragma_kernel(
    shape(x = [n], out = [n]),
    tune(n = 2097152),
    inputs(x = -6.0..6.0),
)]
pub fn gelu_tanh(x: &[f32], out: &mut [f32]) {
    for i in 0..x.len() {
        out[i] = gelu_scalar(x[i]);
    }
}

/// Index of the first largest element of each row.
#[pragma_kernel(
    shape(x = [rows, cols], out = [rows]),
    tune(rows = 256, cols = 32000),
    inputs(x = -10.0..10.0),
    instantiate(T = f32),
)]
pub fn argmax_rows<T: PartialOrd + Copy>(x: &[T], cols: usize, out: &mut [u32]) {
    for r in 0..out.len() {
        let row = &x[r * cols..(r + 1) * cols];
        let mut best = row[0];
        let mut best_idx = 0u32;
        for (i, &v) in row.iter().enumerate() {
            if v > best {
                best = v;
                best_idx = i as u32;
            }
        }
        out[r] = best_idx;
    }
}

/// Adds a row bias to half-precision activations and applies ReLU, in place.
#[pragma_kernel(
    shape(x = [rows, d], bias = [d]),
    tune(rows = 512, d = 1024),
    inputs(x = -8.0..8.0, bias = -2.0..2.0),
)]
pub fn bias_relu_f16(x: &mut [f16], bias: &[f16]) {
    x.chunks_exact_mut(bias.len()).for_each(|row| {
        for (v, b) in row.iter_mut().zip(bias) {
            *v = f16::from_f32((v.to_f32() + b.to_f32()).max(0.0));
        }
    });
}

/// Row-major matrix product `c = a b`, loop order i-k-j.
#[pragma_kernel(
    shape(a = [m, k], b = [k, n], c = [m, n]),
    tune(m = 384, k = 384, n = 384),
    inputs(a = -1.0..1.0, b = -1.0..1.0),
    instantiate(T = f32),
)]
pub fn matmul_ikj<T: Real>(a: &[T], b: &[T], c: &mut [T], m: usize, k: usize, n: usize) {
    for v in c.iter_mut() {
        *v = T::zero();
    }
    for i in 0..m {
        for p in 0..k {
            let aip = a[i * k + p];
            for j in 0..n {
                c[i * n + j] += aip * b[p * n + j];
            }
        }
    }
}

pub struct ConvParams {
    pub in_c: usize,
    pub out_c: usize,
    pub h: usize,
    pub w: usize,
    pub k: usize,
    pub stride: usize,
    pub pad: usize,
}

/// 2-D convolution of one NCHW image with zero padding.
#[pragma_kernel(
    shape(input = [p.in_c, p.h, p.w], weight = [p.out_c, p.in_c, p.k, p.k], bias = [p.out_c]),
    shape(return = [p.out_c, (p.h + 2 * p.pad - p.k) / p.stride + 1, (p.w + 2 * p.pad - p.k) / p.stride + 1]),
    tune(p.in_c = 16, p.out_c = 32, p.h = 64, p.w = 64, p.k = 3, p.stride = 1, p.pad = 1),
    inputs(input = -1.0..1.0, weight = -1.0..1.0, bias = -1.0..1.0),
)]
pub fn conv2d_nchw(
    input: &[f32],
    weight: &[f32],
    bias: Option<&[f32]>,
    p: &ConvParams,
) -> Vec<f32> {
    assert_eq!(weight.len(), p.out_c * p.in_c * p.k * p.k);
    let oh = (p.h + 2 * p.pad - p.k) / p.stride + 1;
    let ow = (p.w + 2 * p.pad - p.k) / p.stride + 1;
    let mut out = vec![0.0f32; p.out_c * oh * ow];
    for oc in 0..p.out_c {
        let b = bias.map_or(0.0, |b| b[oc]);
        for oy in 0..oh {
            for ox in 0..ow {
                let mut sum = b;
                for ic in 0..p.in_c {
                    for ky in 0..p.k {
                        let iy = (oy * p.stride + ky) as isize - p.pad as isize;
                        if iy < 0 || iy >= p.h as isize {
                            continue;
                        }
                        for kx in 0..p.k {
                            let ix = (ox * p.stride + kx) as isize - p.pad as isize;
                            if ix < 0 || ix >= p.w as isize {
                                continue;
                            }
                            let xi = (ic * p.h + iy as usize) * p.w + ix as usize;
                            let wi = ((oc * p.in_c + ic) * p.k + ky) * p.k + kx;
                            sum += input[xi] * weight[wi];
                        }
                    }
                }
                out[(oc * oh + oy) * ow + ox] = sum;
            }
        }
    }
    out
}

/// Max pooling that also returns the flat index of each maximum.
#[pragma_kernel(
    shape(x = [c, h, w]),
    shape(return.0 = [c, (h - k) / stride + 1, (w - k) / stride + 1]),
    shape(return.1 = [c, (h - k) / stride + 1, (w - k) / stride + 1]),
    tune(c = 64, h = 112, w = 112, k = 3, stride = 2),
    inputs(x = -4.0..4.0),
)]
pub fn max_pool2d(
    x: &[f32],
    (c, h, w): (usize, usize, usize),
    k: usize,
    stride: usize,
) -> (Vec<f32>, Vec<u32>) {
    let oh = (h - k) / stride + 1;
    let ow = (w - k) / stride + 1;
    let mut vals = Vec::with_capacity(c * oh * ow);
    let mut idxs = Vec::with_capacity(c * oh * ow);
    for ch in 0..c {
        for oy in 0..oh {
            for ox in 0..ow {
                let mut best = f32::NEG_INFINITY;
                let mut best_at = 0;
                for ky in 0..k {
                    for kx in 0..k {
                        let at = (ch * h + oy * stride + ky) * w + ox * stride + kx;
                        if x[at] > best {
                            best = x[at];
                            best_at = at;
                        }
                    }
                }
                vals.push(best);
                idxs.push(best_at as u32);
            }
        }
    }
    (vals, idxs)
}

pub struct BatchNorm2d {
    pub gamma: Vec<f32>,
    pub beta: Vec<f32>,
    pub mean: Vec<f32>,
    pub var: Vec<f32>,
    pub eps: f32,
}

impl BatchNorm2d {
    /// Inference batch normalisation of an NCHW ndarray, in place.
    #[pragma_kernel(
        shape(x = [n, c, h, w], self.gamma = [c], self.beta = [c], self.mean = [c], self.var = [c]),
        tune(n = 64, c = 64, h = 56, w = 56, self.eps = 1e-5),
        inputs(x = -4.0..4.0, self.gamma = 0.0..2.0, self.beta = -1.0..1.0, self.mean = -1.0..1.0, self.var = 0.1..2.0),
    )]
    pub fn apply(&self, x: &mut Array4<f32>) {
        for mut image in x.outer_iter_mut() {
            for (c, mut plane) in image.outer_iter_mut().enumerate() {
                let scale = self.gamma[c] / (self.var[c] + self.eps).sqrt();
                let shift = self.beta[c] - self.mean[c] * scale;
                plane.mapv_inplace(|v| v * scale + shift);
            }
        }
    }
}

/// Mean of the token vectors that the mask keeps (sentence embedding pooling).
#[pragma_kernel(
    shape(hidden = [b, t, d], mask = [b, t], return = [b, d]),
    tune(b = 64, t = 256, d = 384),
    inputs(hidden = -2.0..2.0, mask = [0.0, 1.0]),
)]
pub fn masked_mean_pool(hidden: ArrayView3<f32>, mask: ArrayView2<f32>) -> Array2<f32> {
    let (batch, _, d) = hidden.dim();
    let mut out = Array2::<f32>::zeros((batch, d));
    for (b, tokens) in hidden.outer_iter().enumerate() {
        let mut count = 0.0;
        let mut acc = out.row_mut(b);
        for (t, token) in tokens.outer_iter().enumerate() {
            let m = mask[[b, t]];
            if m == 0.0 {
                continue;
            }
            acc.scaled_add(m, &token);
            count += m;
        }
        acc /= f32::max(count, 1.0);
    }
    out
}

/// Adds each row of `rows` into the row of `table` that its index names.
#[pragma_kernel(
    shape(table = [v, dim], idx = [n], rows = [n, dim]),
    tune(v = 16384, n = 65536, dim = 128),
    inputs(table = -1.0..1.0, rows = -1.0..1.0, idx = 0..v),
    instantiate(T = f32),
)]
pub fn scatter_add_rows<T: Copy + AddAssign>(
    table: &mut [T],
    idx: &[usize],
    rows: &[T],
    dim: usize,
) -> Result<(), usize> {
    for (i, &dst) in idx.iter().enumerate() {
        if (dst + 1) * dim > table.len() {
            return Err(i);
        }
        for j in 0..dim {
            table[dst * dim + j] += rows[i * dim + j];
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::close;
    use ndarray::array;

    #[test]
    fn gelu_tanh_small() {
        let mut out = [9.0; 3];
        gelu_tanh(&[0.0, 10.0, 1.0], &mut out);
        close(&out, &[0.0, 10.0, 0.841_192], 1e-5);
    }

    #[test]
    fn argmax_rows_small() {
        let mut out = [9; 2];
        argmax_rows(&[1.0, 5.0, 5.0, -1.0, -3.0, -2.0], 3, &mut out);
        assert_eq!(out, [1, 0]);
    }

    #[test]
    fn bias_relu_f16_small() {
        let h = |v: f32| f16::from_f32(v);
        let mut x = [h(1.0), h(-2.0)];
        bias_relu_f16(&mut x, &[h(0.5), h(1.0)]);
        assert_eq!(x, [h(1.5), h(0.0)]);
    }

    #[test]
    fn matmul_ikj_small() {
        let mut c = [9.0f64; 4];
        matmul_ikj(
            &[1.0, 2.0, 3.0, 4.0],
            &[0.0, 1.0, 1.0, 0.0],
            &mut c,
            2,
            2,
            2,
        );
        assert_eq!(c, [2.0, 1.0, 4.0, 3.0]);
    }

    #[test]
    fn conv2d_nchw_small() {
        // 2x2 image, all-ones 3x3 kernel, pad 1: every output is the whole sum plus bias.
        let p = ConvParams {
            in_c: 1,
            out_c: 1,
            h: 2,
            w: 2,
            k: 3,
            stride: 1,
            pad: 1,
        };
        let y = conv2d_nchw(&[1.0, 2.0, 3.0, 4.0], &[1.0; 9], Some(&[0.5]), &p);
        assert_eq!(y, [10.5; 4]);
    }

    #[test]
    fn max_pool2d_small() {
        let x = [1.0, 2.0, 5.0, 4.0, 0.0, 3.0, 1.0, 1.0, 9.0];
        let (v, i) = max_pool2d(&x, (1, 3, 3), 2, 1);
        assert_eq!(v, [4.0, 5.0, 4.0, 9.0]);
        assert_eq!(i, [3, 2, 3, 8]);
    }

    #[test]
    fn batch_norm_small() {
        let bn = BatchNorm2d {
            gamma: vec![2.0],
            beta: vec![1.0],
            mean: vec![3.0],
            var: vec![4.0],
            eps: 0.0,
        };
        let mut x = array![[[[3.0, 5.0]]]];
        bn.apply(&mut x);
        assert_eq!(x, array![[[[1.0, 3.0]]]]);
    }

    #[test]
    fn masked_mean_pool_small() {
        let h = array![[[1.0, 2.0], [3.0, 4.0], [9.0, 9.0]]];
        let m = array![[1.0, 1.0, 0.0]];
        assert_eq!(masked_mean_pool(h.view(), m.view()), array![[2.0, 3.0]]);
    }

    #[test]
    fn scatter_add_rows_small() {
        let mut t = [0, 0, 10, 10];
        scatter_add_rows(&mut t, &[1, 0, 1], &[1, 2, 3, 4, 5, 6], 2).unwrap();
        assert_eq!(t, [3, 4, 16, 18]);
        assert_eq!(scatter_add_rows(&mut t, &[2], &[1, 1], 2), Err(0));
    }
}
