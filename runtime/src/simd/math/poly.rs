//! Polynomials, the tool of every file here.

use super::{F32, F64};

impl F32 {
    fns! {
        /// `c[0] + c[1] x + ...`, by Horner's rule: fewest operations, and loops have other vectors to overlap with.
        pub(super) fn poly<const N: usize>(self, c: [f32; N]) -> F32 {
            let mut sum = F32::splat(c[N - 1]);
            let mut k = N - 1;
            while k > 0 {
                k -= 1;
                sum = sum.mul_add(self, F32::splat(c[k]));
            }
            sum
        }
    }
}

impl F64 {
    fns! {
        /// `c[0] + c[1] x + ...`, by Horner's rule.
        pub(super) fn poly<const N: usize>(self, c: [f64; N]) -> F64 {
            let mut sum = F64::splat(c[N - 1]);
            let mut k = N - 1;
            while k > 0 {
                k -= 1;
                sum = sum.mul_add(self, F64::splat(c[k]));
            }
            sum
        }
    }
}
