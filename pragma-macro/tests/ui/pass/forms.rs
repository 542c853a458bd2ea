//! Every form of attribute and signature that is accepted.
#![deny(warnings, missing_docs)]
#![allow(deprecated, reason = "trybuild's package has no index")]

use pragma_runtime::pragma_kernel;

/// Bare.
#[pragma_kernel]
pub fn bare(x: &[f32]) -> f32 {
    x.iter().sum()
}

/// All keys.
#[pragma_kernel(
    shape(x = [rows, d], w = [d], out = [rows, d]),
    tune(rows = 2048, d = 4096),
    tune(rows = 1, d = 4_096, eps = 1e-5),
    inputs(x = -4.0..4.0, w = [0.5, 1.0], eps = 1e-6..=1e-3),
    tolerance(rtol = 1e-5, atol = 1e-8),
    assume(finite),
    targets(cpu, cuda),
    threads(1),
    crate = pragma_runtime,
)]
pub fn full(x: &[f32], w: &[f32], eps: f32, out: &mut [f32]) {
    for ((o, x), w) in out.iter_mut().zip(x).zip(w.iter().cycle()) {
        *o = x * w + eps;
    }
}

/// Lifetimes, arrays, `mut`, tuples.
#[pragma_kernel(exact, shape(a = [2, 2], x = [n]), inputs(k = 0..n))]
pub fn kinds<'a>(a: &'a [i32; 4], x: &'a [i64], mut k: usize, b: [u8; 2]) -> (i32, u8)
where
    'a: 'a,
{
    k += x.len();
    (a[k % 4], b[0])
}

/// A vector.
#[pragma_kernel(shape(x = [n], return = [n - 1]))]
pub(crate) fn vector(x: &[f64]) -> Vec<f64> {
    x.windows(2).map(|w| w[1] - w[0]).collect()
}

/// Generic: no kernels, but everything else.
#[pragma_kernel]
pub fn generic<T: Copy + Into<f64>, const N: usize>(x: &[T; N]) -> f64 {
    x.iter().map(|x| (*x).into()).sum()
}

/// Generic, and said for which types.
#[pragma_kernel(instantiate(T = f32, T = f64))]
pub fn instantiated<T: Copy + Into<f64>>(x: &[T]) -> f64 {
    x.iter().map(|x| (*x).into()).sum()
}

macro_rules! make {
    ($name:ident, $ty:ty, $zero:expr) => {
        /// Made by a macro.
        #[pragma_kernel]
        pub fn $name(x: &[$ty]) -> $ty {
            x.iter().fold($zero, |a, b| a + b)
        }
    };
}
make!(sum_f32, f32, 0.0);
make!(sum_i32, i32, 0);

#[deny(unused_must_use, dead_code)]
mod private {
    use super::pragma_kernel;

    #[pragma_kernel]
    #[must_use]
    #[inline(never)]
    #[track_caller]
    #[allow(clippy::needless_range_loop)]
    pub(super) fn first(x: &[f32]) -> f32 {
        x[0]
    }
}

fn main() {
    assert_eq!(bare(&[1.0, 2.0]), bare::reference(&[1.0, 2.0]));
    let mut out = [0.0];
    full(&[1.0], &[1.0], 0.5, &mut out);
    full::reference(&[1.0], &[1.0], 0.5, &mut out);
    assert_eq!(out, [1.5]);
    assert_eq!(kinds(&[1, 2, 3, 4], &[], 1, [7, 8]), (2, 7));
    assert_eq!(vector(&[1.0, 3.0]), vector::reference(&[1.0, 3.0]));
    assert_eq!(generic(&[1.0f32; 3]), generic::reference(&[1.0f32; 3]));
    assert_eq!(instantiated(&[1.0f32]), instantiated::reference(&[1.0f64]));
    assert_eq!(sum_f32(&[1.0]), 1.0);
    assert_eq!(sum_i32::reference(&[1]), 1);
    assert_eq!(private::first(&[1.0]), private::first::reference(&[1.0]));
}
