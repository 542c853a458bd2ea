//! Integers, bits, tables, control flow with data.
#![allow(clippy::all, dead_code)]

pub fn fnv(data: &[u8]) -> u64 {
    let mut h = 0xcbf2_9ce4_8422_2325u64;
    for &b in data {
        h ^= b as u64;
        h = h.wrapping_mul(0x0000_0100_0000_01b3);
    }
    h
}

pub fn adler(data: &[u8]) -> u32 {
    let (mut a, mut b) = (1u32, 0u32);
    for &byte in data {
        a = (a + byte as u32) % 65521;
        b = (b + a) % 65521;
    }
    (b << 16) | a
}

pub fn crc_bitwise(data: &[u8]) -> u32 {
    let mut crc = !0u32;
    for &byte in data {
        crc ^= byte as u32;
        for _ in 0..8 {
            let mask = (crc & 1).wrapping_neg();
            crc = (crc >> 1) ^ (0xEDB8_8320 & mask);
        }
    }
    !crc
}

const fn table() -> [u32; 16] {
    let mut t = [0u32; 16];
    let mut i = 0;
    while i < 16 {
        let mut c = i as u32;
        let mut k = 0;
        while k < 4 {
            c = if c & 1 != 0 { (c >> 1) ^ 0xEDB8_8320 } else { c >> 1 };
            k += 1;
        }
        t[i] = c;
        i += 1;
    }
    t
}

static CRC: [u32; 16] = table();

pub fn crc_nibbles(data: &[u8]) -> u32 {
    let mut crc = !0u32;
    for &byte in data {
        crc = CRC[((crc ^ byte as u32) & 15) as usize] ^ (crc >> 4);
        crc = CRC[((crc ^ (byte as u32 >> 4)) & 15) as usize] ^ (crc >> 4);
    }
    !crc
}

pub fn words(data: &[u8]) -> u32 {
    let mut sum = 0u32;
    let mut buf = data;
    while buf.len() >= 4 {
        let w = u32::from_le_bytes([buf[0], buf[1], buf[2], buf[3]]);
        sum = sum.rotate_left(3) ^ w;
        buf = &buf[4..];
    }
    for &b in buf {
        sum = sum.wrapping_add(b as u32);
    }
    sum
}

pub fn pack(x: &[u8], out: &mut [u32]) {
    for (px, o) in x.chunks_exact(4).zip(out.iter_mut()) {
        *o = (px[0] as u32) | (px[1] as u32) << 8 | (px[2] as u32) << 16 | (px[3] as u32) << 24;
    }
}

pub fn unpack(x: &[u32], out: &mut [u8]) {
    for (i, &v) in x.iter().enumerate() {
        for b in 0..4 {
            out[i * 4 + b] = (v >> (8 * b)) as u8;
        }
    }
}

pub fn nibbles(q: &[u8], scale: f32, out: &mut [f32]) {
    for (i, &b) in q.iter().enumerate() {
        let lo = (b & 0x0F) as i32 - 8;
        let hi = (b >> 4) as i32 - 8;
        out[2 * i] = lo as f32 * scale;
        out[2 * i + 1] = hi as f32 * scale;
    }
}

pub fn saturating(a: &[u8], b: &[u8], out: &mut [u8]) {
    for ((o, &a), &b) in out.iter_mut().zip(a).zip(b) {
        *o = a.saturating_add(b).abs_diff(b.saturating_sub(a));
    }
}

pub fn divisions(a: &[i32], b: i32, out: &mut [i32]) {
    for (o, &v) in out.iter_mut().zip(a) {
        *o = v / b + v % 3 + v.rem_euclid(4) - v.div_euclid(5);
    }
}

pub fn widening(a: &[i16], b: &[i16]) -> i64 {
    let mut acc = 0i64;
    for (x, y) in a.iter().zip(b) {
        acc += i64::from(*x) * i64::from(*y);
    }
    acc
}

pub fn leading(x: &[u32], out: &mut [u32]) {
    for (o, v) in out.iter_mut().zip(x) {
        *o = v.leading_zeros() + v.trailing_zeros() * 2 + v.count_zeros();
    }
}

pub fn float_bits(x: &[f32], out: &mut [u32]) {
    for (o, v) in out.iter_mut().zip(x) {
        *o = (v.to_bits() >> 16) & 0x7FFF;
    }
}

pub fn from_bits(x: &[u32], out: &mut [f32]) {
    for (o, v) in out.iter_mut().zip(x) {
        *o = f32::from_bits((*v << 16) & 0x7F7F_FFFF);
    }
}

pub fn delta_decode(x: &mut [i32]) {
    let mut last = 0i32;
    for v in x.iter_mut() {
        last = last.wrapping_add(*v);
        *v = last;
    }
}

pub fn zigzag(x: &[u32], out: &mut [i32]) {
    for (o, &v) in out.iter_mut().zip(x) {
        *o = (v >> 1) as i32 ^ -((v & 1) as i32);
    }
}

pub fn run_lengths(x: &[u8]) -> usize {
    let mut runs = 0;
    let mut i = 0;
    while i < x.len() {
        let mut j = i + 1;
        while j < x.len() && x[j] == x[i] {
            j += 1;
        }
        runs += 1;
        i = j;
    }
    runs
}

pub fn first_repeat(x: &[u8]) -> usize {
    for i in 1..x.len() {
        if x[i] == x[i - 1] {
            return i;
        }
    }
    x.len()
}

pub fn binary_search(x: &[i32], v: i32) -> usize {
    let mut lo = 0;
    let mut hi = x.len();
    while lo < hi {
        let mid = lo + (hi - lo) / 2;
        if x[mid] < v {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    lo
}

pub fn gcd(a: &[u32], b: &[u32], out: &mut [u32]) {
    for i in 0..a.len() {
        let (mut x, mut y) = (a[i], b[i]);
        while y != 0 {
            (x, y) = (y, x % y);
        }
        out[i] = x;
    }
}

pub fn collatz(x: &[u32], out: &mut [u32]) {
    for (o, &v) in out.iter_mut().zip(x) {
        let mut n = v + 1;
        let mut steps = 0;
        loop {
            if n == 1 {
                break;
            }
            n = if n % 2 == 0 { n / 2 } else { 3 * n + 1 };
            steps += 1;
        }
        *o = steps;
    }
}

pub fn bool_slice(mask: &[bool], x: &[i32]) -> i32 {
    let mut sum = 0;
    for (&m, &v) in mask.iter().zip(x) {
        if m && v != 0 {
            sum += v;
        }
    }
    sum
}

pub fn casts(x: &[f64], a: &mut [u8], b: &mut [i32]) {
    for i in 0..x.len() {
        a[i] = (x[i] * 100.0) as u8;
        b[i] = (x[i] * 1e9) as i32;
    }
}

pub fn unsigned_distance(x: &[u8], y: &[u8]) -> u32 {
    x.iter()
        .zip(y.iter())
        .map(|(a, b)| {
            let d = *a as i32 - *b as i32;
            (d * d) as u32
        })
        .sum()
}

pub fn majority(x: &[u8]) -> u8 {
    let mut counts = [0u32; 16];
    for &v in x {
        counts[(v & 15) as usize] += 1;
    }
    let mut best = 0;
    for i in 1..16 {
        if counts[i] > counts[best] {
            best = i;
        }
    }
    best as u8
}

pub fn smith_waterman(a: &[u8], b: &[u8], gap: i32) -> i32 {
    let n = b.len();
    let mut prev = vec![0i32; n + 1];
    let mut cur = vec![0i32; n + 1];
    let mut best = 0;
    for i in 1..=a.len() {
        for j in 1..=n {
            let s = if a[i - 1] == b[j - 1] { 2 } else { -1 };
            cur[j] = 0.max(prev[j - 1] + s).max(prev[j] + gap).max(cur[j - 1] + gap);
            best = best.max(cur[j]);
        }
        std::mem::swap(&mut prev, &mut cur);
    }
    best
}

/// attr: shape(x = [rows, cols])
pub fn while_columns(x: &[f32], cols: usize) -> f32 {
    let mut total = 0.0;
    let mut r = 0;
    while r * cols < x.len() {
        let mut c = 0;
        while c < cols {
            total += x[r * cols + c];
            c += 1;
        }
        r += 1;
    }
    total
}

pub fn big_endian(data: &[u8], out: &mut [u16]) {
    for (pair, o) in data.chunks_exact(2).zip(out) {
        *o = u16::from_be_bytes(pair.try_into().unwrap());
    }
}

pub fn signed_size(x: &[f32], n: i32, out: &mut [f32]) {
    for i in 0..n {
        out[i as usize] = x[i as usize] * i as f32;
    }
}

pub fn unsigned_size(x: &mut [f32], rows: u32, cols: u32) {
    for r in 0..rows {
        for c in 0..cols {
            x[(r as usize) * cols as usize + c as usize] += 1.0;
        }
    }
}

pub fn repeated(x: &mut [i32], times: i32) {
    for v in x.iter_mut() {
        for t in 0..times {
            *v += t;
        }
    }
}
