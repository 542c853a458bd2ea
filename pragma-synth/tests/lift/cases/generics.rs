//! Generic functions at an instance: traits of the crate, of `std`, and impls made by macros.

use std::ops::{Add, AddAssign, Div, Mul, Sub};

pub trait Real:
    Copy + PartialOrd + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self> + AddAssign
{
    const EPS: Self;
    const TWO: Self;
    fn zero() -> Self;
    fn half() -> Self;
    fn from_usize(n: usize) -> Self;
    fn root(self) -> Self;
    fn twice(self) -> Self {
        self + self
    }
}

macro_rules! impl_real {
    ($($t:ident),* $(,)?) => {$(
        impl Real for $t {
            const EPS: $t = 1e-3;
            const TWO: Self = 2.0;
            fn zero() -> Self { 0.0 }
            fn half() -> Self { 0.5 }
            fn from_usize(n: usize) -> Self { n as $t }
            fn root(self) -> Self { self.abs().sqrt() }
        }
    )*};
}
impl_real!(f32, f64);

/// attr: instantiate(T = f32)
pub fn fir<T: Real>(x: &[T], taps: &[T], out: &mut [T]) {
    for (w, o) in x.windows(taps.len()).zip(out.iter_mut()) {
        let mut acc = T::zero();
        for (&s, &t) in w.iter().zip(taps.iter().rev()) {
            acc += s * t;
        }
        *o = acc;
    }
}

/// attr: instantiate(T = f64)
pub fn norm<T: Real>(x: &[T]) -> T {
    let mut sum = T::zero();
    for &v in x {
        sum += v * v;
    }
    if sum < T::EPS { T::zero() } else { sum.root() }
}

/// attr: instantiate(T = f32)
pub fn averages<T: Real>(x: &[T], out: &mut [T])
where
    T: Real,
{
    let n = T::from_usize(x.len());
    for (o, &v) in out.iter_mut().zip(x) {
        *o = (v.twice() + T::half()) / n * T::TWO;
    }
}

/// attr: instantiate(T = i32)
pub fn argmax<T: PartialOrd + Copy>(x: &[T]) -> usize {
    let mut best = x[0];
    let mut at = 0;
    for (i, &v) in x.iter().enumerate() {
        if v > best {
            best = v;
            at = i;
        }
    }
    at
}

/// attr: instantiate(T = u32)
pub fn sums<T: Copy + AddAssign + Default>(x: &[T], cols: usize, out: &mut [T]) {
    for (row, o) in x.chunks_exact(cols).zip(out) {
        let mut sum = T::default();
        for &v in row {
            sum += v;
        }
        *o = sum;
    }
}

/// attr: instantiate(T = f32)
pub fn with_sum<T>(x: &[T]) -> T
where
    T: Copy + std::iter::Sum<T> + Mul<Output = T>,
{
    x.iter().map(|&v| v * v).sum()
}

/// attr: instantiate(N = 4)
pub fn blocks<const N: usize>(x: &[f32], out: &mut [f32]) {
    for (block, o) in x.chunks_exact(N).zip(out.iter_mut()) {
        let mut buf = [0.0f32; N];
        buf.copy_from_slice(block);
        let mut sum = 0.0;
        for i in 0..N {
            sum += buf[N - 1 - i] * i as f32;
        }
        *o = sum;
    }
}

/// attr: instantiate(T = f32, N = 2)
pub fn interleave<T: Copy, const N: usize>(a: &[T], b: &[T], out: &mut [[T; N]]) {
    for i in 0..out.len() {
        out[i][0] = a[i];
        out[i][1] = b[i];
    }
}

trait Shape {
    fn area(&self) -> f32;
}

struct Square(f32);

impl Shape for Square {
    fn area(&self) -> f32 {
        self.0 * self.0
    }
}

fn total_area<S: Shape>(shape: &S, n: f32) -> f32 {
    shape.area() * n
}

pub fn areas(x: &[f32], out: &mut [f32]) {
    for (o, &v) in out.iter_mut().zip(x) {
        let square = Square(v);
        *o = total_area(&square, 2.0);
    }
}

fn by_closure<F: Fn(f32) -> f32>(x: &[f32], out: &mut [f32], f: F) {
    for (o, &v) in out.iter_mut().zip(x) {
        *o = f(v);
    }
}

pub fn takes_a_closure(x: &[f32], out: &mut [f32], k: f32) {
    by_closure(x, out, |v| v * k + 1.0);
}

macro_rules! square {
    ($x:expr) => {{
        let v = $x;
        v * v
    }};
}

macro_rules! clamp01 {
    ($x:expr) => {
        if $x < 0.0 { 0.0 } else if $x > 1.0 { 1.0 } else { $x }
    };
}

pub fn own_macros(x: &[f32], out: &mut [f32]) {
    for (o, &w) in out.iter_mut().zip(x) {
        *o = square!(w + 1.0) + clamp01!(w);
    }
}

/// attr: instantiate(T = f32)
pub fn into_f64<T: Copy + Into<f64>>(x: &[T]) -> f64 {
    x.iter().map(|&v| v.into()).sum::<f64>()
}

/// attr: instantiate(T = u8)
pub fn widened<T>(x: &[T], out: &mut [f32])
where
    f32: From<T>,
    T: Copy,
{
    for (o, &v) in out.iter_mut().zip(x) {
        *o = f32::from(v) / 255.0;
    }
}
