//! Local lists, sub-slices, splits, windows and more of the iterator methods.
#![allow(clippy::all, dead_code)]

pub fn two_pass(x: &[f32], cols: usize) -> Vec<f32> {
    let rows = x.len() / cols;
    let sums: Vec<f32> = x.chunks_exact(cols).map(|row| row.iter().sum()).collect();
    let mut out = Vec::new();
    for r in 0..rows {
        for c in 0..cols {
            out.push(x[r * cols + c] / sums[r]);
        }
    }
    out
}

pub fn prefix(x: &[f64]) -> Vec<f64> {
    let mut out = Vec::with_capacity(x.len() + 1);
    out.push(0.0);
    for (i, v) in x.iter().enumerate() {
        let last = out[i];
        out.push(last + v);
    }
    out
}

pub fn scratch_rows(x: &[f32], d: usize, out: &mut [f32]) {
    let mut tmp = vec![0.0f32; d];
    for (row, o) in x.chunks_exact(d).zip(out.chunks_exact_mut(d)) {
        for (t, v) in tmp.iter_mut().zip(row) {
            *t = v * 2.0;
        }
        for i in 0..d {
            o[i] = tmp[d - 1 - i];
        }
    }
}

pub fn small_array(x: &[f32], out: &mut [f32]) {
    for (xs, os) in x.chunks_exact(3).zip(out.chunks_exact_mut(3)) {
        let mut m = [[0.0f32; 3]; 3];
        for i in 0..3 {
            for j in 0..3 {
                m[i][j] = xs[i] * xs[j];
            }
        }
        for i in 0..3 {
            os[i] = m[i][0] + m[1][i] - m[2][2];
        }
    }
}

pub fn halves(x: &[f32], out: &mut [f32]) {
    let half = out.len();
    let (a, b) = x.split_at(half);
    for i in 0..half {
        out[i] = a[i] * b[i];
    }
}

pub fn sub_slices(x: &[f32], n: usize, out: &mut [f32]) {
    let head = &x[..n];
    let tail = &x[n..];
    out[..n].copy_from_slice(head);
    for (o, t) in out[n..].iter_mut().zip(tail) {
        *o = -t;
    }
}

pub fn by_column(x: &[f32], rows: usize, cols: usize) -> Vec<f32> {
    (0..cols)
        .map(|c| (0..rows).map(|r| x[r * cols + c]).sum::<f32>())
        .collect()
}

pub fn strided_column(x: &[f32], cols: usize, out: &mut [f32]) {
    for c in 0..cols {
        out[c] = x.iter().skip(c).step_by(cols).sum();
    }
}

pub fn outer(a: &[f32], b: &[f32]) -> Vec<f32> {
    a.iter()
        .flat_map(|x| b.iter().map(move |y| x * y))
        .collect()
}

pub fn chained(a: &[f32], b: &[f32]) -> f32 {
    a.iter().chain(b).fold(0.0, |m, v| f32::max(m, v.abs()))
}

pub fn enumerate_skip(x: &[f32]) -> f32 {
    let mut s = 0.0;
    for (i, v) in x.iter().enumerate().skip(1) {
        s += *v * i as f32;
    }
    s
}

pub fn rev_enumerate(x: &[f32]) -> f32 {
    x.iter()
        .rev()
        .enumerate()
        .map(|(i, v)| v * i as f32)
        .sum()
}

pub fn horner(coef: &[f64], x: &[f64], out: &mut [f64]) {
    for (o, &x) in out.iter_mut().zip(x) {
        *o = coef.iter().rev().fold(0.0, |acc, c| acc * x + c);
    }
}

pub fn take_while_sum(x: &[i32]) -> i32 {
    x.iter().take_while(|v| **v >= 0).sum()
}

pub fn filter_map_sum(x: &[i32]) -> i32 {
    x.iter()
        .filter_map(|&v| if v > 0 { Some(v * 2) } else { None })
        .sum()
}

pub fn zip_three(a: &[f32], b: &[f32], c: &[f32], out: &mut [f32]) {
    for (((o, a), b), c) in out.iter_mut().zip(a.iter()).zip(b).zip(c) {
        *o = a * b + c;
    }
}

pub fn rows_of_rows(x: &[f32], h: usize, w: usize, out: &mut [f32]) {
    for (plane, o) in x.chunks_exact(h * w).zip(out.iter_mut()) {
        let mut best = f32::NEG_INFINITY;
        for row in plane.chunks_exact(w) {
            for &v in row {
                best = best.max(v);
            }
        }
        *o = best;
    }
}

pub fn swap_ends(x: &mut [f32]) {
    let n = x.len();
    for i in 0..n / 2 {
        x.swap(i, n - 1 - i);
    }
}

pub fn butterflies(x: &mut [f32], half: usize) {
    for block in x.chunks_exact_mut(2 * half) {
        let (a, b) = block.split_at_mut(half);
        for (p, q) in a.iter_mut().zip(b.iter_mut()) {
            let (u, v) = (*p, *q);
            *p = u + v;
            *q = u - v;
        }
    }
}

pub fn fill_rows(out: &mut [f32], bias: &[f32]) {
    for row in out.chunks_exact_mut(bias.len()) {
        row.copy_from_slice(bias);
    }
}

pub fn attention(q: &[f32], k: &[f32], v: &[f32], out: &mut [f32], d: usize) {
    let t = q.len() / d;
    let mut scores = vec![0.0f32; t];
    for i in 0..t {
        let qi = &q[i * d..(i + 1) * d];
        let mut max = f32::NEG_INFINITY;
        for j in 0..t {
            let s: f32 = qi.iter().zip(&k[j * d..(j + 1) * d]).map(|(a, b)| a * b).sum();
            scores[j] = s;
            max = max.max(s);
        }
        let mut sum = 0.0;
        for s in scores.iter_mut() {
            *s = (*s - max).exp();
            sum += *s;
        }
        let oi = &mut out[i * d..(i + 1) * d];
        oi.fill(0.0);
        for (j, s) in scores.iter().enumerate() {
            let w = s / sum;
            for (o, x) in oi.iter_mut().zip(&v[j * d..][..d]) {
                *o += w * x;
            }
        }
    }
}

pub fn conv1d(x: &[f32], w: &[f32], stride: usize) -> f32 {
    let mut total = 0.0;
    let k = w.len();
    let mut i = 0;
    while i + k <= x.len() {
        let mut acc = 0.0;
        for j in 0..k {
            acc += x[i + j] * w[j];
        }
        total += acc * stride as f32;
        i += 1;
    }
    total
}

pub fn last_first(x: &[f32]) -> f32 {
    *x.first().unwrap() - x.last().copied().unwrap()
}

pub fn next_cursor(x: &[f32]) -> f32 {
    let mut it = x.iter();
    let mut acc = *it.next().unwrap();
    for v in it {
        acc = acc * 0.5 + v;
    }
    acc
}

pub fn nested_tuple(x: &[f32], y: &[f32]) -> (f32, f32, usize) {
    let mut best = (0.0f32, (f32::INFINITY, 0usize));
    for (i, (a, b)) in x.iter().zip(y).enumerate() {
        let d = (a - b).abs();
        if d < best.1.0 {
            best.1 = (d, i);
        }
        best.0 += d;
    }
    (best.0, best.1.0, best.1.1)
}

pub fn euclidean(a: &[f32], b: &[f32]) -> f32 {
    a.iter()
        .zip(b)
        .map(|(x, y)| (x - y).powi(2))
        .sum::<f32>()
        .sqrt()
}

pub fn weighted_median(x: &[f32], out: &mut [f32]) {
    for i in 1..x.len() - 1 {
        let (a, b, c) = (x[i - 1], x[i], x[i + 1]);
        out[i] = a.max(b).min(a.min(b).max(c));
    }
}

pub fn scan_sum(x: &[i32]) -> Vec<i32> {
    x.iter()
        .scan(0, |acc, &v| {
            *acc += v;
            Some(*acc)
        })
        .collect()
}

pub fn scan_ema(x: &[f64], alpha: f64, out: &mut [f64]) {
    let mut i = 0;
    for y in x.iter().scan(0.0, |s, v| {
        *s = alpha * v + (1.0 - alpha) * *s;
        Some(*s)
    }) {
        out[i] = y;
        i += 1;
    }
}

pub fn raw_names(r#type: &[f32], out: &mut [f32]) {
    for (i, r#match) in r#type.iter().enumerate() {
        let r#fn = r#match * 2.0;
        out[i] = r#fn + i as f32;
    }
}

pub fn nearest(points: &[f32], query: &[f32]) -> usize {
    points
        .chunks_exact(query.len())
        .map(|p| p.iter().zip(query).map(|(a, b)| (a - b) * (a - b)).sum::<f32>())
        .enumerate()
        .min_by(|a, b| a.1.partial_cmp(&b.1).unwrap_or(std::cmp::Ordering::Equal))
        .map(|(i, _)| i)
        .unwrap_or(0)
}

pub fn largest_magnitude(x: &[f32]) -> f32 {
    x.iter()
        .map(|v| v.abs())
        .max_by(|a, b| a.total_cmp(b))
        .unwrap_or_default()
}

pub fn lengths_in_bits(x: &[u32]) -> u32 {
    x.iter().map(|v| u32::BITS - v.leading_zeros()).max().unwrap_or(0)
}
