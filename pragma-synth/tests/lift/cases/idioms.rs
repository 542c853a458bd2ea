//! One idiom each, small.
#![allow(clippy::all, dead_code)]

/// Casts, rounding and saturation.
pub fn quantize(x: &[f32], scale: f32, out: &mut [i8]) {
    for (o, &v) in out.iter_mut().zip(x) {
        *o = (v / scale).round().clamp(-128.0, 127.0) as i8;
    }
}

pub fn dequantize(x: &[u8], zero: i32, scale: f32, out: &mut [f32]) {
    for i in 0..x.len() {
        out[i] = (x[i] as i32 - zero) as f32 * scale;
    }
}

pub fn luma(src: &[u8], dst: &mut [u8]) {
    const WR: u32 = 77;
    const WG: u32 = 150;
    const WB: u32 = 29;
    for (i, d) in dst.iter_mut().enumerate() {
        let p = i * 3;
        *d = ((WR * src[p] as u32 + WG * src[p + 1] as u32 + WB * src[p + 2] as u32 + 128) >> 8)
            as u8;
    }
}

pub fn luma_chunks(src: &[u8], dst: &mut [u8]) {
    for (px, d) in src.chunks_exact(3).zip(dst) {
        let [r, g, b] = [px[0], px[1], px[2]];
        *d = ((77 * u32::from(r) + 150 * u32::from(g) + 29 * u32::from(b) + 128) >> 8) as u8;
    }
}

pub fn matmul(a: &[f32], b: &[f32], c: &mut [f32], m: usize, k: usize, n: usize) {
    for v in c.iter_mut() {
        *v = 0.0;
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

pub fn matvec(w: &[f32], x: &[f32], out: &mut [f32]) {
    let n = x.len();
    assert_eq!(w.len(), n * out.len());
    for (i, o) in out.iter_mut().enumerate() {
        let base = i * n;
        let mut acc = 0.0f32;
        for j in 0..n {
            acc += w[base + j] * x[j];
        }
        *o = acc;
    }
}

pub fn transpose(x: &[f32], rows: usize, cols: usize, out: &mut [f32]) {
    for r in 0..rows {
        for c in 0..cols {
            out[c * rows + r] = x[r * cols + c];
        }
    }
}

pub fn cumsum(x: &mut [f32]) {
    let mut acc = 0.0;
    for v in x.iter_mut() {
        acc += *v;
        *v = acc;
    }
}

pub fn cumsum_index(x: &mut [f32]) {
    for i in 1..x.len() {
        x[i] += x[i - 1];
    }
}

pub fn diff(x: &[f64], out: &mut [f64]) {
    for (w, o) in x.windows(2).zip(out) {
        *o = w[1] - w[0];
    }
}

pub fn fir(x: &[f64], taps: &[f64], out: &mut [f64]) {
    for (w, o) in x.windows(taps.len()).zip(out.iter_mut()) {
        let mut acc = 0.0;
        for (&s, &t) in w.iter().zip(taps.iter().rev()) {
            acc += s * t;
        }
        *o = acc;
    }
}

pub fn count_byte(hay: &[u8], needle: u8) -> usize {
    hay.iter().fold(0, |n, &b| n + (b == needle) as usize)
}

pub fn count_filter(hay: &[u8], needle: u8) -> usize {
    hay.iter().filter(|&&b| b == needle).count()
}

pub fn sum_positive(x: &[f32]) -> f32 {
    x.iter().filter(|v| **v > 0.0).sum()
}

pub fn any_negative(x: &[f32]) -> bool {
    x.iter().any(|&v| v < 0.0)
}

pub fn all_below(x: &[f32], limit: f32) -> bool {
    x.iter().all(|v| *v < limit)
}

pub fn first_above(x: &[f32], limit: f32) -> usize {
    x.iter().position(|&v| v > limit).unwrap_or(x.len())
}

pub fn hamming(a: &[u64], b: &[u64]) -> u32 {
    assert_eq!(a.len(), b.len(), "bitmaps differ in length");
    let mut dist = 0;
    for i in 0..a.len() {
        dist += (a[i] ^ b[i]).count_ones();
    }
    dist
}

pub fn xor_key(data: &mut [u8], key: &[u8]) {
    if key.is_empty() {
        return;
    }
    for i in 0..data.len() {
        data[i] ^= key[i % key.len()];
    }
}

pub fn xor_cycle(data: &mut [u8], key: &[u8]) {
    data.iter_mut().zip(key.iter().cycle()).for_each(|(d, k)| *d ^= k);
}

pub fn min_max(x: &[f32]) -> (f32, f32) {
    let mut lo = f32::INFINITY;
    let mut hi = f32::NEG_INFINITY;
    for &v in x {
        lo = lo.min(v);
        hi = hi.max(v);
    }
    (lo, hi)
}

pub fn max_int(x: &[i32]) -> i32 {
    *x.iter().max().unwrap()
}

pub fn min_copied(x: &[u16]) -> u16 {
    x.iter().copied().min().unwrap_or(0)
}

pub fn relu_if(x: &mut [f32]) {
    for v in x {
        if *v < 0.0 {
            *v = 0.0;
        }
    }
}

pub fn leaky(x: &[f32], out: &mut [f32]) {
    for i in 0..x.len() {
        let v = x[i];
        out[i] = if v > 0.0 { v } else { 0.01 * v };
    }
}

pub fn three_way(x: &[i32], out: &mut [i32]) {
    for (o, &v) in out.iter_mut().zip(x) {
        *o = match v {
            0 => 7,
            1 | 2 => -1,
            3..=5 => v * 2,
            n if n < 0 => -n,
            _ => 100,
        };
    }
}

pub fn clamp_border(x: &[f32], out: &mut [f32]) {
    let n = x.len();
    for i in 0..n {
        let left = if i > 0 { x[i - 1] } else { x[0] };
        let right = x[(i + 1).min(n - 1)];
        out[i] = (left + x[i] + right) / 3.0;
    }
}

pub fn stencil(u: &[f64], next: &mut [f64], h: usize, w: usize) -> f64 {
    let mut diff = 0.0f64;
    for i in 1..h - 1 {
        for j in 1..w - 1 {
            let v = 0.25
                * (u[(i - 1) * w + j] + u[(i + 1) * w + j] + u[i * w + j - 1] + u[i * w + j + 1]);
            diff = diff.max((v - u[i * w + j]).abs());
            next[i * w + j] = v;
        }
    }
    diff
}

pub fn every_second(x: &[f32], out: &mut [f32]) {
    for (o, v) in out.iter_mut().zip(x.iter().step_by(2)) {
        *o = *v;
    }
}

pub fn step_range(x: &mut [f32]) {
    for i in (0..x.len()).step_by(3) {
        x[i] = 1.0;
    }
}

pub fn reverse(x: &[i32], out: &mut [i32]) {
    for (o, v) in out.iter_mut().zip(x.iter().rev()) {
        *o = *v;
    }
}

pub fn reverse_range(x: &[i32], out: &mut [i32]) {
    let n = x.len();
    for i in (0..n).rev() {
        out[n - 1 - i] = x[i];
    }
}

pub fn skip_take(x: &[i32]) -> i32 {
    x.iter().skip(1).take(3).sum()
}

pub fn triangle(x: &[f32], n: usize, out: &mut [f32]) {
    for i in 0..n {
        let mut s = 0.0;
        for j in 0..=i {
            s += x[i * n + j];
        }
        out[i] = s;
    }
}

pub fn histogram(x: &[u8], bins: &mut [u32; 16]) {
    for &v in x {
        bins[(v & 15) as usize] += 1;
    }
}

pub fn gather(table: &[f32], idx: &[u32], out: &mut [f32]) {
    for (o, &i) in out.iter_mut().zip(idx) {
        *o = table[i as usize];
    }
}

pub fn wrapping(x: &[u32], seed: u32) -> u32 {
    let mut h = seed;
    for &v in x {
        h = (h ^ v).wrapping_mul(0x0100_0193).rotate_left(5);
    }
    h
}

pub fn local_table(x: &[u8], out: &mut [u8]) {
    const TABLE: [u8; 4] = [3, 1, 4, 1];
    for (o, &v) in out.iter_mut().zip(x) {
        *o = TABLE[(v & 3) as usize];
    }
}

pub fn early_return(x: &[f32]) -> f32 {
    if x.len() < 2 {
        return -1.0;
    }
    let mut s = 0.0;
    for &v in x {
        if v > 3.9 {
            return v;
        }
        s += v;
    }
    s
}

fn classify(v: f32) -> i32 {
    if v < -1.0 {
        return -1;
    }
    if v > 1.0 {
        return 1;
    }
    0
}

pub fn helper_early(x: &[f32], out: &mut [i32]) {
    for (o, v) in out.iter_mut().zip(x) {
        *o = classify(*v);
    }
}

fn find(x: &[f32], limit: f32) -> Option<usize> {
    for (i, v) in x.iter().enumerate() {
        if *v > limit {
            return Some(i);
        }
    }
    None
}

pub fn helper_search(x: &[f32], limit: f32) -> usize {
    match find(x, limit) {
        Some(i) => i + 1,
        None => 0,
    }
}

pub fn if_let_search(x: &[f32], limit: f32) -> usize {
    if let Some(i) = find(x, limit) { i } else { 99 }
}

pub fn continues(x: &[f32], mask: &[u8]) -> f32 {
    let mut s = 0.0;
    for i in 0..x.len() {
        if mask[i] == 0 {
            continue;
        }
        s += x[i];
    }
    s
}

pub fn breaks(x: &[f32]) -> usize {
    let mut n = 0;
    for &v in x {
        if v > 3.0 {
            break;
        }
        n += 1;
    }
    n
}

pub fn escape(c: &[f32], limit: u16, out: &mut [u16]) {
    for (o, &c) in out.iter_mut().zip(c) {
        let mut z = 0.0;
        let mut n = 0u16;
        while n < limit && z * z <= 4.0 {
            z = z * z + c;
            n += 1;
        }
        *o = n;
    }
}

pub fn pooled(x: &[f32], rows: usize, cols: usize) -> Vec<f32> {
    let mut out = vec![0.0; cols];
    for r in 0..rows {
        for c in 0..cols {
            out[c] += x[r * cols + c];
        }
    }
    for v in out.iter_mut() {
        *v /= rows as f32;
    }
    out
}

pub fn rope(x: &mut [f32], cos: &[f32], sin: &[f32]) {
    let half = cos.len();
    for row in x.chunks_exact_mut(2 * half) {
        let (lo, hi) = row.split_at_mut(half);
        for i in 0..half {
            let (a, b) = (lo[i], hi[i]);
            lo[i] = a * cos[i] - b * sin[i];
            hi[i] = a * sin[i] + b * cos[i];
        }
    }
}

pub fn interleaved(x: &mut [f32]) {
    for pair in x.chunks_exact_mut(2) {
        let (re, im) = (pair[0], pair[1]);
        pair[0] = re + im;
        pair[1] = re - im;
    }
}

pub fn matrix3(rot: &[f32; 9], p: &[f32; 3], out: &mut [f32; 3]) {
    for r in 0..3 {
        let mut s = 0.0;
        for c in 0..3 {
            s += rot[r * 3 + c] * p[c];
        }
        out[r] = s;
    }
}

pub fn ema(x: &[f64], alpha: f64, out: &mut [f64]) {
    let mut state = x[0];
    out[0] = state;
    for i in 1..x.len() {
        state = alpha * x[i] + (1.0 - alpha) * state;
        out[i] = state;
    }
}

pub fn block_scale(x: &[i8], scales: &[f32], out: &mut [f32]) {
    for ((xs, s), os) in x.chunks_exact(8).zip(scales).zip(out.chunks_exact_mut(8)) {
        for j in 0..8 {
            os[j] = xs[j] as f32 * s;
        }
    }
}

pub fn block_dot(a: &[i8], b: &[i8]) -> i32 {
    a.iter().zip(b).map(|(&x, &y)| x as i32 * y as i32).sum()
}

pub fn alpha_over(dst: &mut [u8], src: &[u8]) {
    for (d, s) in dst.chunks_exact_mut(4).zip(src.chunks_exact(4)) {
        let inv = 255 - s[3] as u32;
        for c in 0..4 {
            let v = s[c] as u32 + div255(d[c] as u32 * inv);
            d[c] = v.min(255) as u8;
        }
    }
}

fn div255(v: u32) -> u32 {
    (v + 128 + ((v + 128) >> 8)) >> 8
}

pub fn filled(out: &mut [f32], n: usize, value: f32) {
    out[..n].fill(value);
}

pub fn copied(out: &mut [f32], src: &[f32]) {
    out.copy_from_slice(src);
}

pub fn signed_loop(out: &mut [f32], r: i32) {
    for o in out.iter_mut() {
        let mut s = 0.0;
        for k in -r..=r {
            s += k as f32;
        }
        *o = s;
    }
}

pub fn small_signed(out: &mut [f32]) {
    for i in 0..out.len() {
        let mut s = 0.0;
        for k in 0..3 {
            s += (k - 1) as f32 * out[i];
        }
        out[i] = s;
    }
}

pub fn float_math(x: &[f64], out: &mut [f64]) {
    for (o, &v) in out.iter_mut().zip(x) {
        *o = v.abs().ln_1p() + v.sin() * v.cos().exp() - v.floor().hypot(2.0).atan2(v.signum());
    }
}

pub fn ordering(x: &[i32], out: &mut [i8]) {
    use std::cmp::Ordering;
    for (o, v) in out.iter_mut().zip(x) {
        *o = match v.cmp(&2) {
            Ordering::Less => -1,
            Ordering::Equal => 0,
            Ordering::Greater => 1,
        };
    }
}

pub fn max_pool(x: &[f32], k: usize, out: &mut [f32]) {
    for (w, o) in x.chunks_exact(k).zip(out) {
        *o = w.iter().cloned().fold(f32::NAN, f32::max);
    }
}

pub fn assert_bound(x: &[f32], n: usize) -> f32 {
    assert!(n <= x.len());
    let mut s = 0.0;
    for v in &x[..n] {
        s += v;
    }
    s
}
