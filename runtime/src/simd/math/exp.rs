//! Exponentials and what is made of them: `exp`, `exp2`, `exp_m1`, `sigmoid`, `tanh`; of `F32` also `sinh` and `cosh`.
//!
//! `one_plus_tanh` is what the activations of neural networks need of `tanh`, at half its price and without its cancellation.
//!
//! e^x = 2^n e^r with n the integer nearest to x / ln 2 and |r| <= ln 2 / 2 (Cody and Waite's reduction, exact in its
//! first step thanks to fused multiplication), then a polynomial for e^r. Coefficients: Remez exchange with 45 digits,
//! then rounded one by one from the lowest power up, the rest fitted again each time.

use super::{F32, F64, f32x, f64x};

mod single {
    pub const LN_2: f32 = std::f32::consts::LN_2;
    /// ln 2 - `LN_2`.
    pub const LN_2_REST: f32 = -1.904_654_3e-9;
    pub const LOG2_E: f32 = std::f32::consts::LOG2_E;
    /// 1.5 * 2^23: a small number added to it is rounded to an integer.
    pub const MAGIC: f32 = 12582912.0;
    /// Past these, e^x is 0 or infinite.
    pub const LOWEST: f32 = -104.0;
    pub const HIGHEST: f32 = 89.0;
    /// Below, e^x - 1 is -1 to the last bit.
    pub const LOWEST_M1: f32 = -18.0;
    /// Above, tanh(x / 2) is 1 to the last bit.
    pub const HIGHEST_TANH: f32 = 20.0;
    /// Up to here tanh is a polynomial.
    pub const SMALL_TANH: f32 = 0.9;
    /// e^r = 1 + r + r^2 q(r), |r| <= 0.3467, relative error 2^-28.2.
    pub const EXP: [f32; 5] = [
        0.49999994,
        0.16666517,
        0.041668102,
        0.008369166,
        0.0013838031,
    ];
    /// tanh(x) = x + x^3 q(x^2), |x| <= 0.9, relative error 2^-29.7.
    pub const TANH: [f32; 7] = [
        -0.33333322,
        0.13332981,
        -0.053929474,
        0.021664092,
        -0.008265454,
        0.0025834232,
        -0.0004557081,
    ];
}

/// As `single`.
mod double {
    pub const LN_2: f64 = std::f64::consts::LN_2;
    pub const LN_2_REST: f64 = 2.3190468138462996e-17;
    pub const LOG2_E: f64 = std::f64::consts::LOG2_E;
    pub const LOWEST: f64 = -746.0;
    pub const HIGHEST: f64 = 710.0;
    pub const LOWEST_M1: f64 = -38.0;
    pub const HIGHEST_TANH: f64 = 44.0;
    pub const SMALL_TANH: f64 = 0.6;
    /// Relative error 2^-62.9.
    pub const EXP: [f64; 11] = [
        0.5,
        0.16666666666666688,
        0.041666666666666824,
        0.008333333333313889,
        0.0013888888888777724,
        0.00019841269903398784,
        2.48015875602035e-05,
        2.7557228630488545e-06,
        2.7557066337710166e-07,
        2.5113954966186962e-08,
        2.097824017092018e-09,
    ];
    /// |x| <= 0.6, relative error 2^-62.6.
    pub const TANH: [f64; 12] = [
        -0.33333333333333326,
        0.13333333333331865,
        -0.05396825396725824,
        0.021869488502532505,
        -0.008863234866022375,
        0.003592119686903786,
        -0.0014557641711666026,
        0.000589622380872239,
        -0.00023751276499255574,
        9.248903401029354e-05,
        -3.1177906166348206e-05,
        6.502984277042125e-06,
    ];
}

/// 2^r = 1 + r q(r), |r| <= 0.5, relative error 2^-26.9.
const EXP2: [f32; 6] = [
    0.6931472,
    0.2402265,
    0.055503666,
    0.009617931,
    0.0013389944,
    0.00015561937,
];
/// sinh(x) = x + x^3 q(x^2), |x| <= 1, relative error 2^-31.6.
const SINH: [f32; 4] = [0.16666667, 0.0083333105, 0.00019842896, 2.7822132e-06];

/// What both widths compute in the same way. `$c` has the constants; the bounds are errors in ulp.
macro_rules! exponentials {
    ($T:ident, $e:ident, $n:ident, $c:ident, exp $exp:literal, exp_m1 $exp_m1:literal, tanh $tanh:literal, zero $lowest:literal) => {
        impl $T {
            fns! {
                /// `self * 2^n`, rounded once, for integral `n`.
                fn scale(self, n: $T) -> $T { $T($n::scale(self.0, n.0)) }

                /// `(e, n)` with e^x = (1 + e) 2^n. NaN passes through `e`.
                fn exp_parts(self) -> ($T, $T) {
                    let n = self.mul($T::splat($c::LOG2_E)).round_ties_even();
                    // The first part is exact and stays apart, so that rounding r costs no accuracy.
                    let r1 = n.neg_mul_add($T::splat($c::LN_2), self);
                    let r2 = n.mul($T::splat(-$c::LN_2_REST));
                    ($T::exp_m1_reduced(r1, r2), n)
                }

                /// e^(r1 + r2) - 1 for |r1| <= 0.35 and r2 tiny.
                fn exp_m1_reduced(r1: $T, r2: $T) -> $T {
                    let r = r1.add(r2);
                    r1.add(r.mul(r).mul_add(r.poly($c::EXP), r2))
                }

                /// e^x.
                ///
                #[doc = concat!("Error below ", $exp, " ulp, denormal results included.")]
                pub fn exp(self) -> $T {
                    // This order of operands keeps NaN.
                    let x = $T::splat($c::HIGHEST).pick_lt($T::splat($c::LOWEST).pick_gt(self));
                    x.exp_bounded()
                }

                /// e^x - 1.
                ///
                #[doc = concat!("Error below ", $exp_m1, " ulp.")]
                pub fn exp_m1(self) -> $T {
                    let x = $T::splat($c::HIGHEST).pick_lt($T::splat($c::LOWEST_M1).pick_gt(self));
                    let (e, n) = x.exp_parts();
                    // Half of 2^n stays finite where the result does.
                    let half = $T::splat(0.5).scale(n);
                    let sum = e.mul_add(half, half.sub($T::splat(0.5)));
                    // Halving loses the last bit of denormals, and the sum the sign of -0; e^x - 1 is x there.
                    let tiny = self.abs().lt($T::splat($e::EPSILON / 4.0));
                    $T($n::select(tiny.0, self.0, sum.add(sum).0))
                }

                /// The hyperbolic tangent.
                ///
                #[doc = concat!("Error below ", $tanh, " ulp.")]
                pub fn tanh(self) -> $T {
                    let a = self.abs();
                    let square = a.mul(a);
                    let small = square.mul(a).mul_add(square.poly($c::TANH), a);
                    // tanh a = 1 - 2 / (e^2a + 1), with the more accurate of the two ways to e^2a.
                    let (e, n) = $T::splat($c::HIGHEST_TANH).pick_lt(a.add(a)).exp_parts();
                    let power = e.add($T::splat(1.0)).scale(n);
                    let large = $T::splat(1.0).sub($T::splat(2.0).div(power.add($T::splat(1.0))));
                    let is_small = a.lt($T::splat($c::SMALL_TANH));
                    $T($n::select(is_small.0, small.0, large.0)).copysign(self)
                }

                /// The logistic function 1 / (1 + e^-x).
                ///
                /// Error below 2 ulp, also where the result is denormal.
                pub fn sigmoid(self) -> $T {
                    // e^-|x| never overflows: for negative x, multiply both sides of the fraction by e^x.
                    let power = $T::splat($c::LOWEST).pick_gt(self.abs().neg()).exp_bounded();
                    let one = $T::splat(1.0);
                    let negative = self.lt($T::zero());
                    let scale = $T($n::select(negative.0, power.0, one.0));
                    // scale / (1 + power), with the rounding of the quotient made small.
                    power.div(one.add(power)).neg_mul_add(scale, scale)
                }

                /// 1 + tanh x, as 2 / (1 + e^-2x): nothing cancels for negative x.
                ///
                #[doc = concat!("Error below 2.5 ulp; 0 below ", $lowest, " ln 2, where the result is less than half the smallest normal number.")]
                pub fn one_plus_tanh(self) -> $T {
                    // The power is infinite on one side, where the quotient is 0, and on the other lost in the sum.
                    let x = $T::splat(-0.5 * $c::HIGHEST).pick_gt(self);
                    let x = $T::splat(0.5 * $c::HIGHEST_TANH).pick_lt(x);
                    $T::splat(2.0).div($T::splat(1.0).add(x.exp_multiple(-2.0)))
                }
            }
        }
    };
}

exponentials!(F32, f32, f32x, single, exp "1", exp_m1 "2", tanh "1", zero "-64");
exponentials!(F64, f64, f64x, double, exp "1", exp_m1 "2", tanh "1.5", zero "-512");

impl F32 {
    fns! {
        /// e^x for x within the bounds of `exp`.
        pub(super) fn exp_bounded(self) -> F32 { self.exp_multiple(1.0) }

        /// e^(k x) for k x within the bounds of `exp`; k is plus or minus a power of two, so that it goes into
        /// the constants without rounding. What counts here is the number of instructions.
        fn exp_multiple(self, k: f32) -> F32 {
            // Adding `MAGIC` rounds to an integer, in one instruction with the product.
            let magic = F32::splat(single::MAGIC);
            let n = self.mul_add(F32::splat(single::LOG2_E * k), magic).sub(magic);
            // r / k, the first difference exact.
            let r = n.neg_mul_add(F32::splat(single::LN_2 / k), self);
            let r = n.neg_mul_add(F32::splat(single::LN_2_REST / k), r);
            let mut c = single::EXP;
            let mut power = k * k;
            for c in &mut c {
                *c *= power;
                power *= k;
            }
            let [c2, c3, c4, c5, c6] = c;
            r.poly([1.0, k, c2, c3, c4, c5, c6]).scale(n)
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

impl F64 {
    fns! {
        /// e^x for x within the bounds of `exp`.
        pub(super) fn exp_bounded(self) -> F64 {
            let (e, n) = self.exp_parts();
            e.add(F64::splat(1.0)).scale(n)
        }

        /// e^(k x) for k x within the bounds of `exp`; k is plus or minus a power of two.
        fn exp_multiple(self, k: f64) -> F64 { self.mul(F64::splat(k)).exp_bounded() }

        /// 2^x.
        ///
        /// Error below 1 ulp, denormal results included; exact for integers.
        pub fn exp2(self) -> F64 {
            let x = F64::splat(1025.0).pick_lt(F64::splat(-1076.0).pick_gt(self));
            x.exp2_in_two(F64::zero())
        }

        /// 2^(x + rest) for a tiny `rest`, x within -1100..=1100.
        pub(super) fn exp2_in_two(self, rest: F64) -> F64 {
            let n = self.round_ties_even();
            // (x - n) ln 2 in two parts.
            let r = self.sub(n);
            let r1 = r.mul(F64::splat(double::LN_2));
            let lost = r.mul_add(F64::splat(double::LN_2), r1.neg());
            let r2 = r.mul_add(F64::splat(double::LN_2_REST), lost);
            let r2 = rest.mul_add(F64::splat(double::LN_2), r2);
            F64::exp_m1_reduced(r1, r2).add(F64::splat(1.0)).scale(n)
        }
    }
}
