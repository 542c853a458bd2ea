//! Forty original hot functions written the way real Rust code writes them, each marked for Pragma.
//!
//! The attribute of a kernel says what the types do not: `shape` gives the extents (a size may be a field or a const
//! parameter), `tune` the size that is measured, `inputs` what valid data looks like, `instantiate` what a generic
//! function is made for. Their loops are deliberately as people write them.

// The loops below are deliberately as people write them, not as clippy would.
#![allow(clippy::all)]

pub mod audio;
pub mod crypto;
pub mod data;
pub mod finance;
pub mod geometry;
pub mod imaging;
pub mod llm;
pub mod ml;
pub mod science;
pub mod vecsearch;

use std::ops::{Add, AddAssign, Div, Mul, Sub};

/// The float trait that generic kernels use (stands in for `num_traits::Float`).
pub trait Real:
    Copy
    + PartialOrd
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + AddAssign
{
    fn zero() -> Self;
}

macro_rules! impl_real {
    ($($t:ty),*) => {$(
        impl Real for $t {
            fn zero() -> Self { 0.0 }
        }
    )*};
}
impl_real!(f32, f64);

#[cfg(test)]
pub(crate) fn close(a: &[f32], b: &[f32], tol: f32) {
    assert_eq!(a.len(), b.len());
    for (i, (x, y)) in a.iter().zip(b).enumerate() {
        assert!((x - y).abs() <= tol, "[{i}] {x} vs {y}");
    }
}
