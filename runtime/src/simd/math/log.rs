//! Logarithms of `F32`: `ln`, `log2`, `log10`, `ln_1p`.
//!
//! x = m 2^k with m in [0.75, 1.5), so that f = m - 1 is exact and small around x = 1, then a polynomial for ln(1 + f).
//! Coefficients as in `exp.rs`.

use super::{F32, f32x};

/// ln 2 rounded down, so that the rest has its sign and an infinite exponent stays infinite.
const LN_2: f32 = 0.693_147_1;
/// ln 2 - `LN_2`.
const LN_2_REST: f32 = 5.769_999e-8;

/// ln(1 + f) = f - f^2 / 2 + f^3 q(f), -0.25 <= f <= 0.5, relative error 2^-29.6.
const LN: [f32; 9] = [
    0.3333334,
    -0.25000167,
    0.19999565,
    -0.16655168,
    0.14277162,
    -0.12730998,
    0.11694957,
    -0.09086275,
    0.03739785,
];

const LOG2_E: f32 = 1.442695;
/// log2 e - `LOG2_E`.
const LOG2_E_REST: f32 = 1.925963e-08;
const LOG10_E: f32 = 0.4342945;
/// log10 e - `LOG10_E`.
const LOG10_E_REST: f32 = -1.010305e-08;
/// log10 2 rounded down, as `LN_2` is.
const LOG10_2: f32 = 0.30102998;
/// log10 2 - `LOG10_2`.
const LOG10_2_REST: f32 = 1.5481334e-08;

impl F32 {
    fns! {
        /// `(f, k)` with x = (1 + f) 2^k. Zero and infinity show in `k`, everything else special as NaN in `f`.
        fn log_parts(self) -> (F32, F32) {
            let (m, k) = f32x::split(self.0);
            (F32(m).sub(F32::splat(1.0)), F32(k))
        }

        /// ln(1 + f) - f.
        fn ln_1p_rest(self) -> F32 {
            let cube = self.poly(LN);
            self.mul(self).mul(self.mul_add(cube, F32::splat(-0.5)))
        }

        /// The natural logarithm.
        ///
        /// Error below 1 ulp, denormal arguments included.
        pub fn ln(self) -> F32 {
            let (f, k) = self.log_parts();
            let rest = k.mul_add(F32::splat(LN_2_REST), f.ln_1p_rest());
            k.mul_add(F32::splat(LN_2), f.add(rest))
        }

        /// ln(1 + f) times the base's factor, given in two parts.
        fn scaled_ln_1p(self, factor: f32, rest: f32, addend: F32) -> F32 {
            let small = self.mul_add(F32::splat(rest), self.ln_1p_rest().mul_add(F32::splat(factor), addend));
            self.mul_add(F32::splat(factor), small)
        }

        /// The logarithm to base 2.
        ///
        /// Error below 2 ulp; exact for powers of two.
        pub fn log2(self) -> F32 {
            let (f, k) = self.log_parts();
            k.add(f.scaled_ln_1p(LOG2_E, LOG2_E_REST, F32::zero()))
        }

        /// The logarithm to base 10.
        ///
        /// Error below 2 ulp.
        pub fn log10(self) -> F32 {
            let (f, k) = self.log_parts();
            let low = k.mul(F32::splat(LOG10_2_REST));
            k.mul_add(F32::splat(LOG10_2), f.scaled_ln_1p(LOG10_E, LOG10_E_REST, low))
        }

        /// ln(1 + x).
        ///
        /// Error below 1 ulp.
        pub fn ln_1p(self) -> F32 {
            let one = F32::splat(1.0);
            let u = one.add(self);
            let (f, k) = u.log_parts();
            // What u lost to rounding (Knuth's two-sum), in units of 2^k. Zero where u is not an ordinary number.
            let x_part = u.sub(one);
            let one_part = u.sub(x_part);
            let lost = one.sub(one_part).add(self.sub(x_part));
            let ordinary = u.gt(F32::zero()).and(u.lt(F32::splat(f32::INFINITY)));
            let scale = ordinary.select_f32(k.neg(), F32::zero());
            let lost = ordinary.select_f32(lost, F32::zero());
            let f = f.add(F32(f32x::scale(lost.0, scale.0)));
            let rest = k.mul_add(F32::splat(LN_2_REST), f.ln_1p_rest());
            let result = k.mul_add(F32::splat(LN_2), f.add(rest));
            // The result is x there; adding lost the sign of -0.
            self.abs().lt(F32::splat(f32::EPSILON / 4.0)).select_f32(self, result)
        }
    }
}
