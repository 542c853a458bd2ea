//! Logarithms: `ln`, `log2`, `log10`, `ln_1p`.
//!
//! x = m 2^k with m in [0.75, 1.5), so that f = m - 1 is exact and small around x = 1, then a polynomial for ln(1 + f);
//! in `f64` by way of s = f / (2 + f), because ln(1 + f) = f - f s + s^3 (2/3 + ...). Coefficients as in `exp.rs`.

use super::{F32, F64, f32x, f64x};

mod single {
    /// ln 2 rounded down, so that the rest has its sign and an infinite exponent stays infinite.
    pub const LN_2: f32 = 0.693_147_1;
    /// ln 2 - `LN_2`.
    pub const LN_2_REST: f32 = 5.769_999e-8;
    pub const LOG2_E: f32 = std::f32::consts::LOG2_E;
    pub const LOG2_E_REST: f32 = 1.925963e-08;
    pub const LOG10_E: f32 = std::f32::consts::LOG10_E;
    pub const LOG10_E_REST: f32 = -1.010305e-08;
    /// log10 2 rounded down, as `LN_2` is.
    pub const LOG10_2: f32 = 0.30102998;
    pub const LOG10_2_REST: f32 = 1.5481334e-08;
}

/// As `single`.
mod double {
    pub const LN_2: f64 = std::f64::consts::LN_2;
    pub const LN_2_REST: f64 = 2.3190468138462996e-17;
    pub const LOG2_E: f64 = std::f64::consts::LOG2_E;
    pub const LOG2_E_REST: f64 = 2.0355273740931033e-17;
    pub const LOG10_E: f64 = std::f64::consts::LOG10_E;
    pub const LOG10_E_REST: f64 = 1.098319650216765e-17;
    pub const LOG10_2: f64 = 0.30102999566398114;
    pub const LOG10_2_REST: f64 = 5.270742310347266e-17;
}

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
/// ln((1 + s) / (1 - s)) = 2 s + s^3 q(s^2), |s| <= 0.2, relative error 2^-62.6.
const LN_S: [f64; 8] = [
    0.666666666666666,
    0.4000000000005668,
    0.28571428555825673,
    0.22222224297016363,
    0.18181665828481658,
    0.15391113927914582,
    0.13173559244469993,
    0.13843352362687825,
];

impl F32 {
    fns! {
        /// ln(1 + f) - f.
        fn ln_1p_rest(self) -> F32 {
            let cube = self.poly(LN);
            self.mul(self).mul(self.mul_add(cube, F32::splat(-0.5)))
        }
    }
}

impl F64 {
    fns! {
        /// ln(1 + f) - f.
        fn ln_1p_rest(self) -> F64 {
            let s = self.div(self.add(F64::splat(2.0)));
            let square = s.mul(s);
            let half = self.mul(self).mul(F64::splat(0.5));
            // f s = f^2 / 2 - s f^2 / 2, whose first part carries less rounding.
            square.mul_add(square.poly(LN_S), half).mul(s).sub(half)
        }
    }
}

/// What both widths compute in the same way. `$c` has the constants.
macro_rules! logarithms {
    ($T:ident, $e:ident, $n:ident, $c:ident) => {
        impl $T {
            fns! {
                /// `(f, k)` with x = (1 + f) 2^k. Zero and infinity show in `k`, everything else special as NaN in `f`.
                fn log_parts(self) -> ($T, $T) {
                    let (m, k) = $n::split(self.0);
                    ($T(m).sub($T::splat(1.0)), $T(k))
                }

                /// ln(1 + f) times a factor given in two parts, plus a small addend.
                fn scaled_ln_1p(self, factor: $e, rest: $e, addend: $T) -> $T {
                    let small = self.ln_1p_rest().mul_add($T::splat(factor), addend);
                    self.mul_add($T::splat(factor), self.mul_add($T::splat(rest), small))
                }

                /// The natural logarithm.
                ///
                /// Error below 1 ulp, denormal arguments included.
                pub fn ln(self) -> $T {
                    let (f, k) = self.log_parts();
                    let rest = k.mul_add($T::splat($c::LN_2_REST), f.ln_1p_rest());
                    k.mul_add($T::splat($c::LN_2), f.add(rest))
                }

                /// The logarithm to base 2.
                ///
                /// Error below 2 ulp; exact for powers of two.
                pub fn log2(self) -> $T {
                    let (f, k) = self.log_parts();
                    k.add(f.scaled_ln_1p($c::LOG2_E, $c::LOG2_E_REST, $T::zero()))
                }

                /// The logarithm to base 10.
                ///
                /// Error below 2 ulp.
                pub fn log10(self) -> $T {
                    let (f, k) = self.log_parts();
                    let low = k.mul($T::splat($c::LOG10_2_REST));
                    let fraction = f.scaled_ln_1p($c::LOG10_E, $c::LOG10_E_REST, low);
                    k.mul_add($T::splat($c::LOG10_2), fraction)
                }

                /// ln(1 + x).
                ///
                /// Error below 1 ulp.
                pub fn ln_1p(self) -> $T {
                    let (zero, one) = ($T::zero(), $T::splat(1.0));
                    let u = one.add(self);
                    let (f, k) = u.log_parts();
                    // What u lost to rounding (Knuth's two-sum), in units of 2^k. Zero where u is not an ordinary number.
                    let x_part = u.sub(one);
                    let one_part = u.sub(x_part);
                    let lost = one.sub(one_part).add(self.sub(x_part));
                    let ordinary = u.gt(zero).and(u.lt($T::splat($e::INFINITY)));
                    let scale = $n::select(ordinary.0, k.neg().0, zero.0);
                    let lost = $n::select(ordinary.0, lost.0, zero.0);
                    let f = f.add($T($n::scale(lost, scale)));
                    let rest = k.mul_add($T::splat($c::LN_2_REST), f.ln_1p_rest());
                    let result = k.mul_add($T::splat($c::LN_2), f.add(rest));
                    // The result is x there; adding lost the sign of -0.
                    let tiny = self.abs().lt($T::splat($e::EPSILON / 4.0));
                    $T($n::select(tiny.0, self.0, result.0))
                }
            }
        }
    };
}

logarithms!(F32, f32, f32x, single);
logarithms!(F64, f64, f64x, double);
