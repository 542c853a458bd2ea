//! `erf` and `erfc` of `F32`.
//!
//! Near zero erf is an odd polynomial; further out 1 - e^g with g = ln erfc a polynomial. erfc falls to the smallest
//! denormal and keeps its relative accuracy on the way: e^(-x^2), where x^2 is exact in `f64`, times a smooth function.
//! Coefficients as in `exp.rs`.

use super::{F32, F64};

/// erf(x) = x + x q(x^2), |x| <= 0.9, relative error 2^-30.1.
const ERF: [f32; 7] = [
    0.12837917,
    -0.37612632,
    0.11283701,
    -0.026860787,
    0.005206133,
    -0.0008212814,
    8.702273e-05,
];
/// ln erfc(x) = x q(x), 0.88 <= x <= 3.95, error 2^-31.7 as seen in erf.
const LN_ERFC: [f32; 8] = [
    -1.1285315,
    -0.63572013,
    -0.10507687,
    0.022476543,
    -0.0028070593,
    4.677513e-06,
    5.446226e-05,
    -5.6724853e-06,
];
/// (1 + 2 x) e^(x^2) erfc(x) = q(t), t = (x - 3) / (x + 3), 0 <= x <= 10.2, relative error 2^-30.4.
const ERFC: [f64; 12] = [
    1.253008058946418,
    -0.13562111270491026,
    -0.04756238426340788,
    0.12964541511188624,
    -0.11927162082646094,
    0.0683059395428009,
    -0.023787750947713963,
    0.0025298295448044927,
    0.0019504116998203304,
    -0.0007416345642361167,
    -0.00018307826598139455,
    3.520003975163371e-05,
];

impl F32 {
    fns! {
        /// The error function.
        ///
        /// Error below 1.5 ulp.
        pub fn erf(self) -> F32 {
            let a = self.abs();
            let small = a.mul_add(a.mul(a).poly(ERF), a);
            // From 3.92 on the result is 1 to the last bit.
            let x = F32::splat(3.95).pick_lt(a);
            let large = F32::splat(1.0).sub(x.mul(x.poly(LN_ERFC)).exp_bounded());
            a.lt(F32::splat(0.9)).select_f32(small, large).copysign(self)
        }

        /// 1 - erf(x), accurate where that is small.
        ///
        /// Error below 0.6 ulp, denormal results included.
        pub fn erfc(self) -> F32 {
            // Beyond 10.2 the result is 0.
            let a = F32::splat(10.2).pick_lt(self.abs()).to_f64();
            let (one, three) = (F64::splat(1.0), F64::splat(3.0));
            let divisor = a.add(a).add(one);
            let inverse = a.add(three).mul(divisor).recip();
            let t = a.sub(three).mul(divisor).mul(inverse);
            let factor = t.poly(ERFC).mul(a.add(three)).mul(inverse);
            let power = a.mul(a).mul(F64::splat(-std::f64::consts::LOG2_E)).rough_exp2();
            let right = power.mul(factor);
            let left = F64::splat(2.0).sub(right);
            self.lt(F32::zero()).select_f64(left, right).to_f32()
        }
    }
}
