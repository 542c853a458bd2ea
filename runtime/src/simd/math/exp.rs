//! Exponentials of `F32` and what is made of them: `exp`, `exp2`, `exp_m1`, `sigmoid`, `tanh`, `sinh`, `cosh`.
//!
//! e^x = 2^n e^r with n the integer nearest to x / ln 2 and |r| <= ln 2 / 2 (Cody and Waite's reduction, exact in its
//! first step thanks to fused multiplication), then a polynomial for e^r. Coefficients: Remez exchange with 45 digits,
//! then rounded one by one from the lowest power up, the rest fitted again each time.

use super::{F32, f32x};

const LN_2: f32 = std::f32::consts::LN_2;
/// ln 2 - `LN_2`.
const LN_2_REST: f32 = -1.904_654_3e-9;

/// e^r = 1 + r + r^2 q(r), |r| <= 0.3467, relative error 2^-28.2.
const EXP: [f32; 5] = [
    0.49999994,
    0.16666517,
    0.041668102,
    0.008369166,
    0.0013838031,
];
/// 2^r = 1 + r q(r), |r| <= 0.5, relative error 2^-26.9.
const EXP2: [f32; 6] = [
    0.6931472,
    0.2402265,
    0.055503666,
    0.009617931,
    0.0013389944,
    0.00015561937,
];
/// tanh(x) = x + x^3 q(x^2), |x| <= 0.9, relative error 2^-29.7.
const TANH: [f32; 7] = [
    -0.33333322,
    0.13332981,
    -0.053929474,
    0.021664092,
    -0.008265454,
    0.0025834232,
    -0.0004557081,
];
/// sinh(x) = x + x^3 q(x^2), |x| <= 1, relative error 2^-31.6.
const SINH: [f32; 4] = [0.16666667, 0.0083333105, 0.00019842896, 2.7822132e-06];

impl F32 {
    fns! {
        /// `self * 2^n`, rounded once, for integral `n`.
        fn scale(self, n: F32) -> F32 { F32(f32x::scale(self.0, n.0)) }

        /// `(e, n)` with e^x = (1 + e) 2^n. NaN passes through `e`; `x` must be within -126..=126.
        fn exp_parts(self) -> (F32, F32) {
            let n = self.mul(F32::splat(std::f32::consts::LOG2_E)).round_ties_even();
            // The first part is exact and stays apart, so that rounding r costs no accuracy.
            let r1 = n.neg_mul_add(F32::splat(LN_2), self);
            let r2 = n.mul(F32::splat(-LN_2_REST));
            let r = r1.add(r2);
            (r1.add(r.mul(r).mul_add(r.poly(EXP), r2)), n)
        }

        /// e^x.
        ///
        /// Error below 1 ulp, denormal results included.
        pub fn exp(self) -> F32 {
            // Both bounds are past the point where the result is 0 or infinite. This order keeps NaN.
            let x = F32::splat(89.0).pick_lt(F32::splat(-104.0).pick_gt(self));
            let (e, n) = x.exp_parts();
            e.add(F32::splat(1.0)).scale(n)
        }

        /// 2^x.
        ///
        /// Error below 1 ulp, denormal results included; exact for integers.
        pub fn exp2(self) -> F32 {
            let x = F32::splat(129.0).pick_lt(F32::splat(-151.0).pick_gt(self));
            let n = x.round_ties_even();
            let r = x.sub(n);
            r.mul_add(r.poly(EXP2), F32::splat(1.0)).scale(n)
        }

        /// e^x - 1.
        ///
        /// Error below 1.5 ulp.
        pub fn exp_m1(self) -> F32 {
            // Below -18 the result is -1 to the last bit.
            let x = F32::splat(89.0).pick_lt(F32::splat(-18.0).pick_gt(self));
            let (e, n) = x.exp_parts();
            // Half of 2^n stays finite where the result does.
            let half = F32::splat(0.5).scale(n);
            let sum = e.mul_add(half, half.sub(F32::splat(0.5)));
            // Halving loses the last bit of denormals, and the sum the sign of -0; e^x - 1 is x there.
            self.abs().lt(F32::splat(f32::EPSILON / 4.0)).select_f32(self, sum.add(sum))
        }

        /// The hyperbolic tangent.
        ///
        /// Error below 1 ulp.
        pub fn tanh(self) -> F32 {
            let a = self.abs();
            let square = a.mul(a);
            let small = square.mul(a).mul_add(square.poly(TANH), a);
            // tanh a = 1 - 2 / (e^2a + 1), and 1 to the last bit from 9.1 on.
            let (e, n) = F32::splat(20.0).pick_lt(a.add(a)).exp_parts();
            let power = e.add(F32::splat(1.0)).scale(n);
            let large = F32::splat(1.0).sub(F32::splat(2.0).div(power.add(F32::splat(1.0))));
            a.lt(F32::splat(0.9)).select_f32(small, large).copysign(self)
        }

        /// The logistic function 1 / (1 + e^-x).
        ///
        /// Error below 2 ulp, also where the result is denormal.
        pub fn sigmoid(self) -> F32 {
            // The exponential of -|x| never overflows: for negative x, multiply both sides of the fraction by e^x.
            let power = self.abs().neg().exp();
            let one = F32::splat(1.0);
            let scale = self.lt(F32::zero()).select_f32(power, one);
            // scale / (1 + power), with the rounding of the quotient made small.
            power.div(one.add(power)).neg_mul_add(scale, scale)
        }

        /// e^|x| / 2, finite wherever sinh and cosh are.
        fn half_exp_abs(self) -> F32 {
            let (e, n) = F32::splat(90.0).pick_lt(self.abs()).exp_parts();
            e.add(F32::splat(1.0)).scale(n.sub(F32::splat(1.0)))
        }

        /// The hyperbolic sine.
        ///
        /// Error below 2 ulp.
        pub fn sinh(self) -> F32 {
            let a = self.abs();
            let square = a.mul(a);
            let small = square.mul(a).mul_add(square.poly(SINH), a);
            let half = self.half_exp_abs();
            let large = half.sub(F32::splat(0.25).div(half));
            a.lt(F32::splat(1.0)).select_f32(small, large).copysign(self)
        }

        /// The hyperbolic cosine.
        ///
        /// Error below 1.5 ulp.
        pub fn cosh(self) -> F32 {
            let half = self.half_exp_abs();
            half.add(F32::splat(0.25).div(half))
        }
    }
}
