//! The same few functions, spelled as different people spell them.
#![allow(clippy::all, dead_code)]

use std::f32::consts::{FRAC_2_SQRT_PI, PI};

pub fn saxpy_index(a: f32, x: &[f32], y: &mut [f32]) {
    for i in 0..y.len() {
        y[i] += a * x[i];
    }
}

pub fn saxpy_n(n: usize, a: f32, x: &[f32], y: &mut [f32]) {
    for i in 0..n {
        y[i] = a * x[i] + y[i];
    }
}

pub fn saxpy_for_each(a: f32, x: &[f32], y: &mut [f32]) {
    y.iter_mut().zip(x.iter()).for_each(|(y, &x)| *y = a.mul_add(x, *y));
}

pub fn saxpy_while(a: f32, x: &[f32], y: &mut [f32]) {
    let n = x.len();
    assert!(y.len() == n);
    let mut i = 0;
    while i < n {
        y[i] += a * x[i];
        i += 1;
    }
}

pub fn saxpy_vec(a: f32, x: &[f32], y: &[f32]) -> Vec<f32> {
    x.iter().zip(y).map(|(x, y)| a * x + y).collect()
}

pub fn saxpy_push(a: f32, x: &[f32], y: &[f32]) -> Vec<f32> {
    let mut out = Vec::with_capacity(x.len());
    for (x, y) in x.iter().zip(y) {
        out.push(a * x + y);
    }
    out
}

pub fn dot_index(x: &[f32], y: &[f32]) -> f32 {
    assert_eq!(x.len(), y.len());
    let mut acc = 0.0;
    for i in 0..x.len() {
        acc += x[i] * y[i];
    }
    acc
}

pub fn dot_fold(x: &[f32], y: &[f32]) -> f32 {
    x.iter().zip(y.iter()).fold(0.0, |acc, (&a, &b)| acc + a * b)
}

pub fn dot_enumerate(x: &[f32], y: &[f32]) -> f32 {
    let mut acc = 0f32;
    for (i, a) in x.iter().enumerate() {
        acc += a * y[i];
    }
    return acc;
}

pub fn dot_map_range(x: &[f32], y: &[f32]) -> f32 {
    let n = x.len();
    (0..n).map(|i| x[i] * y[i]).sum::<f32>()
}

pub fn dot_chunks(x: &[f32], y: &[f32]) -> f32 {
    let xs = x.chunks_exact(4);
    let ys = y.chunks_exact(4);
    let rest: f32 = xs
        .remainder()
        .iter()
        .zip(ys.remainder())
        .map(|(a, b)| a * b)
        .sum();
    let mut acc = [0.0f32; 4];
    for (a, b) in xs.zip(ys) {
        for j in 0..4 {
            acc[j] += a[j] * b[j];
        }
    }
    acc.iter().sum::<f32>() + rest
}

pub fn dot_unrolled(x: &[f32], y: &[f32]) -> f32 {
    let n = x.len().min(y.len());
    let (mut s0, mut s1) = (0.0f32, 0.0f32);
    let mut i = 0;
    while i + 2 <= n {
        s0 += x[i] * y[i];
        s1 += x[i + 1] * y[i + 1];
        i += 2;
    }
    while i < n {
        s0 += x[i] * y[i];
        i += 1;
    }
    s0 + s1
}

fn gelu_one(v: f32) -> f32 {
    0.5 * v * (1.0 + (FRAC_2_SQRT_PI / 2.0f32.sqrt() * (v + 0.044715 * v.powi(3))).tanh())
}

pub fn gelu_helper(x: &[f32], out: &mut [f32]) {
    for i in 0..x.len() {
        out[i] = gelu_one(x[i]);
    }
}

pub fn gelu_in_place(x: &mut [f32]) {
    for v in x.iter_mut() {
        *v = gelu_one(*v);
    }
}

pub fn gelu_collect(x: &[f32]) -> Vec<f32> {
    x.iter().copied().map(gelu_one).collect()
}

pub fn gelu_closure(x: &[f32], out: &mut [f32]) {
    const C: f32 = 0.7978845608;
    let gelu = |v: f32| 0.5 * v * (1.0 + (C * (v + 0.044715 * v * v * v)).tanh());
    out.iter_mut().zip(x).for_each(|(o, &v)| *o = gelu(v));
}

pub fn gelu_sqrt(x: &[f32], out: &mut [f32]) {
    let k = (2.0 / PI).sqrt();
    for (o, v) in out.iter_mut().zip(x.iter()) {
        let cube = v * v * v;
        *o = 0.5 * v * (1.0 + f32::tanh(k * (v + 0.044715 * cube)));
    }
}

pub fn softmax_index(x: &[f32], rows: usize, cols: usize, out: &mut [f32]) {
    for r in 0..rows {
        let mut max = x[r * cols];
        for c in 1..cols {
            max = max.max(x[r * cols + c]);
        }
        let mut sum = 0.0;
        for c in 0..cols {
            let e = (x[r * cols + c] - max).exp();
            out[r * cols + c] = e;
            sum += e;
        }
        let inv = 1.0 / sum;
        for c in 0..cols {
            out[r * cols + c] *= inv;
        }
    }
}

pub fn softmax_rows_slices(x: &mut [f32], cols: usize) {
    let rows = x.len() / cols;
    for r in 0..rows {
        let row = &mut x[r * cols..(r + 1) * cols];
        softmax_one(row);
    }
}

fn softmax_one(row: &mut [f32]) {
    let mut max = f32::NEG_INFINITY;
    for &v in row.iter() {
        if v > max {
            max = v;
        }
    }
    let mut sum = 0.0f32;
    for v in row.iter_mut() {
        *v = (*v - max).exp();
        sum += *v;
    }
    row.iter_mut().for_each(|v| *v /= sum);
}

pub fn softmax_iter(x: &[f32], d: usize, out: &mut [f32]) {
    x.chunks(d).zip(out.chunks_mut(d)).for_each(|(row, out)| {
        let m = row.iter().fold(f32::MIN, |m, &v| m.max(v));
        let total: f32 = row.iter().map(|&v| (v - m).exp()).sum();
        for (o, &v) in out.iter_mut().zip(row) {
            *o = (v - m).exp() / total;
        }
    });
}

pub fn softmax_reduce(x: &mut [f32], d: usize) {
    assert_eq!(x.len() % d, 0);
    for row in x.chunks_exact_mut(d) {
        let m = row.iter().copied().reduce(f32::max).unwrap();
        let mut sum = 0.0;
        for v in &mut *row {
            *v = f32::exp(*v - m);
            sum += *v;
        }
        for v in row {
            *v *= sum.recip();
        }
    }
}

pub fn rms_norm_rows(x: &[f32], w: &[f32], eps: f32, out: &mut [f32], rows: usize, d: usize) {
    for r in 0..rows {
        let mut ss = 0.0;
        for j in 0..d {
            let v = x[r * d + j];
            ss += v * v;
        }
        let inv = 1.0 / (ss / d as f32 + eps).sqrt();
        for j in 0..d {
            out[r * d + j] = x[r * d + j] * inv * w[j];
        }
    }
}

pub fn rms_norm_named_rows(x: &[f32], w: &[f32], eps: f32, out: &mut [f32]) {
    let d = w.len();
    let rows = x.len() / d;
    debug_assert_eq!(x.len(), out.len());
    for r in 0..rows {
        let xr = &x[r * d..][..d];
        let or = &mut out[r * d..r * d + d];
        let mean_square = xr.iter().map(|&v| v * v).sum::<f32>() / d as f32;
        let scale = (mean_square + eps).sqrt().recip();
        for (o, (v, w)) in or.iter_mut().zip(xr.iter().zip(w)) {
            *o = (*v) * scale * (*w);
        }
    }
}

pub fn rms_norm_one(x: &mut [f32], weight: &[f32], eps: f32) {
    let n = x.len();
    let ss: f32 = x.iter().map(|v| v.powi(2)).sum();
    let norm = 1.0 / f32::sqrt(ss / n as f32 + eps);
    for i in 0..n {
        x[i] = x[i] * norm * weight[i];
    }
}

pub fn layer_norm_chunks(x: &mut [f32], gamma: &[f32], beta: &[f32], eps: f32) {
    let d = gamma.len();
    x.chunks_exact_mut(d).for_each(|row| {
        let n = d as f32;
        let mean = row.iter().sum::<f32>() / n;
        let var = row.iter().fold(0.0, |acc, v| acc + (v - mean).powi(2)) / n;
        let std = (var + eps).sqrt();
        for (i, v) in row.iter_mut().enumerate() {
            *v = (*v - mean) / std * gamma[i] + beta[i];
        }
    });
}

pub fn layer_norm_two_sums(x: &[f32], gamma: &[f32], beta: &[f32], eps: f32) -> Vec<f32> {
    let d = gamma.len();
    let mut out = vec![0.0; x.len()];
    for (xr, or) in x.chunks_exact(d).zip(out.chunks_exact_mut(d)) {
        let (sum, sq) = xr
            .iter()
            .fold((0.0f32, 0.0f32), |(s, q), &v| (s + v, q + v * v));
        let mean = sum / d as f32;
        let var = sq / d as f32 - mean * mean;
        let inv = 1.0 / (var + eps).sqrt();
        for (((o, &v), &g), &b) in or.iter_mut().zip(xr).zip(gamma).zip(beta) {
            *o = (v - mean) * inv * g + b;
        }
    }
    out
}

fn dot(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

fn norm(v: &[f32]) -> f32 {
    dot(v, v).sqrt()
}

pub fn cosine_helpers(a: &[f32], b: &[f32]) -> f32 {
    let denom = norm(a) * norm(b);
    if denom > 0.0 { dot(a, b) / denom } else { 0.0 }
}

pub fn cosine_zip(a: &[f32], b: &[f32]) -> f32 {
    let (mut ab, mut aa, mut bb) = (0.0f32, 0.0f32, 0.0f32);
    for (&x, &y) in a.iter().zip(b.iter()) {
        ab += x * y;
        aa += x * x;
        bb += y * y;
    }
    let d = aa.sqrt() * bb.sqrt();
    if d < f32::EPSILON {
        return 0.0;
    }
    ab / d
}

pub fn cosine_fold(a: &[f32], b: &[f32]) -> f32 {
    let (ab, aa, bb) = a
        .iter()
        .zip(b)
        .fold((0.0, 0.0, 0.0), |(ab, aa, bb), (x, y)| (ab + x * y, aa + x * x, bb + y * y));
    match aa * bb {
        d if d == 0.0 => 0.0,
        d => ab / f32::sqrt(d),
    }
}

pub fn cosine_rows(a: &[f32], b: &[f32], out: &mut [f32]) {
    let d = b.len();
    let nb = norm(b);
    for (row, o) in a.chunks_exact(d).zip(out.iter_mut()) {
        *o = dot(row, b) / (norm(row) * nb).max(1e-8);
    }
}

pub fn argmax_first(x: &[f32], cols: usize, out: &mut [usize]) {
    for r in 0..out.len() {
        let row = &x[r * cols..(r + 1) * cols];
        let mut best = 0;
        for i in 1..cols {
            if row[i] > row[best] {
                best = i;
            }
        }
        out[r] = best;
    }
}

pub fn argmax_max_by(x: &[f32], cols: usize, out: &mut [u32]) {
    for (row, o) in x.chunks_exact(cols).zip(out) {
        let (at, _) = row
            .iter()
            .enumerate()
            .max_by(|a, b| a.1.total_cmp(b.1))
            .unwrap();
        *o = at as u32;
    }
}

pub fn argmax_partial(x: &[f32], cols: usize, out: &mut [usize]) {
    for (row, o) in x.chunks_exact(cols).zip(out) {
        *o = row
            .iter()
            .enumerate()
            .max_by(|(_, a), (_, b)| a.partial_cmp(b).unwrap())
            .map(|(i, _)| i)
            .unwrap();
    }
}

pub fn argmax_fold(x: &[f32], cols: usize, out: &mut [u32]) {
    for (o, row) in out.iter_mut().zip(x.chunks_exact(cols)) {
        let best = row
            .iter()
            .enumerate()
            .fold((0, f32::NEG_INFINITY), |best, (i, &v)| if v > best.1 { (i, v) } else { best });
        *o = best.0 as u32;
    }
}

pub fn argmax_collect(x: &[f32], cols: usize) -> Vec<usize> {
    x.chunks_exact(cols)
        .map(|row| {
            let mut best = 0;
            for (i, v) in row.iter().enumerate() {
                if *v > row[best] {
                    best = i;
                }
            }
            best
        })
        .collect()
}
