//! Helpers, constants, modules, small structs.
#![allow(clippy::all, dead_code, unused_qualifications)]

use inner::{Mix, SCALE, scaled, twice as double};
use std::cmp::{max, min};
use std::f64::consts;
use std::ops::{Add, Mul, Sub};

const BLOCK: usize = 4;
const HALF: f32 = 0.5;
static WEIGHTS: [f32; 3] = [0.25, HALF, 0.25];
const GRID: [[i32; 2]; 3] = [[1, 2], [3, 4], [5, 6]];

mod inner {
    pub const SCALE: f32 = 3.0 * super::HALF;

    pub fn scaled(v: f32) -> f32 {
        v * SCALE
    }

    pub fn twice(v: f32) -> f32 {
        self::deeper::add(v, v)
    }

    pub mod deeper {
        pub fn add(a: f32, b: f32) -> f32 {
            a + b + super::super::ZERO
        }
    }

    #[derive(Clone, Copy)]
    pub struct Mix {
        pub a: f32,
        pub b: f32,
    }

    impl Mix {
        pub const ONE: f32 = 1.0;

        pub fn new(a: f32, b: f32) -> Self {
            Self { a, b }
        }

        pub fn at(&self, t: f32) -> f32 {
            self.a * (Self::ONE - t) + self.b * t
        }
    }
}

const ZERO: f32 = 0.0;

#[derive(Clone, Copy)]
struct Vec3 {
    x: f32,
    y: f32,
    z: f32,
}

impl Vec3 {
    const ORIGIN: Vec3 = Vec3 {
        x: 0.0,
        y: 0.0,
        z: 0.0,
    };

    fn dot(self, o: Vec3) -> f32 {
        self.x * o.x + self.y * o.y + self.z * o.z
    }
}

impl Add for Vec3 {
    type Output = Vec3;
    fn add(self, o: Vec3) -> Vec3 {
        Vec3 {
            x: self.x + o.x,
            y: self.y + o.y,
            z: self.z + o.z,
        }
    }
}

impl Sub for Vec3 {
    type Output = Vec3;
    fn sub(self, o: Vec3) -> Vec3 {
        Vec3 {
            x: self.x - o.x,
            y: self.y - o.y,
            z: self.z - o.z,
        }
    }
}

impl Mul<f32> for Vec3 {
    type Output = Vec3;
    fn mul(self, k: f32) -> Vec3 {
        Vec3 {
            x: self.x * k,
            y: self.y * k,
            z: self.z * k,
        }
    }
}

pub fn through_modules(x: &[f32], out: &mut [f32]) {
    for (o, &v) in out.iter_mut().zip(x) {
        *o = scaled(v) + double(v) + path_free(v) + SCALE;
    }
}

pub fn path_free(v: f32) -> f32 {
    self::inner::deeper::add(v, 1.0)
}

pub fn smooth(x: &[f32], out: &mut [f32]) {
    for (w, o) in x.windows(WEIGHTS.len()).zip(out) {
        *o = w.iter().zip(&WEIGHTS).map(|(a, b)| a * b).sum();
    }
}

pub fn grid_sum(x: &[i32]) -> i32 {
    let mut total = 0;
    for (i, v) in x.iter().enumerate() {
        total += GRID[i % 3][1] * v - GRID[i % 3][0];
    }
    total
}

pub fn nbody(pos: &[f32], eps: f32, acc: &mut [f32]) {
    let n = pos.len() / 3;
    for i in 0..n {
        let p = Vec3 {
            x: pos[3 * i],
            y: pos[3 * i + 1],
            z: pos[3 * i + 2],
        };
        let mut a = Vec3::ORIGIN;
        for j in 0..n {
            if i == j {
                continue;
            }
            let q = Vec3 {
                x: pos[3 * j],
                y: pos[3 * j + 1],
                z: pos[3 * j + 2],
            };
            let d = q - p;
            let r2 = d.dot(d) + eps;
            a = a + d * (1.0 / (r2 * r2.sqrt()));
        }
        acc[3 * i] = a.x;
        acc[3 * i + 1] = a.y;
        acc[3 * i + 2] = a.z;
    }
}

pub fn mixes(t: &[f32], a: f32, b: f32, out: &mut [f32]) {
    let mix = Mix::new(a, b);
    for (o, t) in out.iter_mut().zip(t) {
        *o = mix.at(*t);
    }
}

fn largest<T: PartialOrd + Copy>(row: &[T]) -> T {
    let mut best = row[0];
    for &v in row {
        if v > best {
            best = v;
        }
    }
    best
}

pub fn generic_helper(x: &[i16], d: usize, out: &mut [i16]) {
    for (row, o) in x.chunks_exact(d).zip(out) {
        *o = largest(row);
    }
}

fn accumulate(row: &[f32], sum: &mut f32, count: &mut usize) {
    for v in row {
        *sum += v;
        *count += 1;
    }
}

pub fn through_references(x: &[f32], d: usize) -> (f32, usize) {
    let mut sum = 0.0;
    let mut count = 0;
    for row in x.chunks_exact(d) {
        accumulate(row, &mut sum, &mut count);
    }
    (sum, count)
}

fn stats(row: &[f32]) -> (f32, f32) {
    let n = row.len() as f32;
    let mean = row.iter().sum::<f32>() / n;
    let var = row.iter().map(|v| (v - mean).powi(2)).sum::<f32>() / n;
    (mean, var)
}

pub fn tuple_helper(x: &mut [f32], d: usize) {
    for row in x.chunks_exact_mut(d) {
        let (mean, var) = stats(row);
        let inv = 1.0 / (var + 1e-5).sqrt();
        row.iter_mut().for_each(|v| *v = (*v - mean) * inv);
    }
}

pub fn inner_items(x: &[f32], out: &mut [f32]) {
    const A: f32 = 1.5;
    fn poly(v: f32) -> f32 {
        const B: f32 = 0.25;
        (B * v + A_ONE) * v
    }
    const A_ONE: f32 = A - 0.5;
    for i in 0..x.len() {
        out[i] = poly(x[i]) + A;
    }
}

pub fn nested_closures(x: &[f64], k: f64, out: &mut [f64]) {
    let shift = |v: f64| v + k;
    let both = |v: f64| shift(v) * consts::FRAC_1_SQRT_2;
    for (o, v) in out.iter_mut().zip(x) {
        *o = both(*v);
    }
}

pub fn counting_closure(x: &[i32]) -> i32 {
    let mut count = 0;
    let mut note = |v: i32| {
        if v > 0 {
            count += 1;
        }
    };
    for &v in x {
        note(v);
    }
    count
}

pub fn minmax_functions(x: &[i32], lo: i32, hi: i32, out: &mut [i32]) {
    for (o, &v) in out.iter_mut().zip(x) {
        *o = max(min(lo, hi), min(v, max(lo, hi)));
    }
}

fn border(i: isize, n: usize) -> usize {
    i.clamp(0, n as isize - 1) as usize
}

pub fn blur(x: &[f32], kernel: &[f32], out: &mut [f32]) {
    let r = (kernel.len() / 2) as isize;
    let n = x.len();
    for i in 0..n {
        let mut sum = 0.0;
        for (k, w) in kernel.iter().enumerate() {
            sum += w * x[border(i as isize + k as isize - r, n)];
        }
        out[i] = sum;
    }
}

fn zero_border(i: isize, n: usize) -> Option<usize> {
    if i < 0 || i >= n as isize {
        return None;
    }
    Some(i as usize)
}

pub fn blur_zero(x: &[f32], kernel: &[f32], out: &mut [f32]) {
    let r = (kernel.len() / 2) as isize;
    for i in 0..x.len() {
        let mut sum = 0.0;
        for (k, w) in kernel.iter().enumerate() {
            if let Some(at) = zero_border(i as isize + k as isize - r, x.len()) {
                sum += w * x[at];
            }
        }
        out[i] = sum;
    }
}

pub fn blocks(x: &[i8], scales: &[f32], out: &mut [f32]) {
    for (b, s) in scales.iter().enumerate() {
        let start = b * BLOCK;
        for j in 0..BLOCK {
            out[start + j] = x[start + j] as f32 * s;
        }
    }
}
