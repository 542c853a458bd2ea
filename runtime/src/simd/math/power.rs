//! `pow` and `cbrt` of `F32`, by way of `F64`: logarithm, product, exponential.
//!
//! With about 2^-38 of relative error in between, nearly every result is the correctly rounded one. Coefficients as in
//! `exp.rs`, rounded to `f64`.

use super::{F32, F64, Mask, U32, f64x};

/// log2((1 + s) / (1 - s)) = s q(s^2), |s| <= 0.2, relative error 2^-42.3.
const LOG2: [f64; 6] = [
    2.8853900817774205,
    0.9617966948317326,
    0.5770777541097313,
    0.41222629276387757,
    0.3192811886532949,
    0.29087414207272816,
];
/// 2^r = 1 + r q(r), |r| <= 0.5, relative error 2^-38.
const EXP2: [f64; 8] = [
    0.6931471805458885,
    0.24022650696206954,
    0.05550410944751208,
    0.009618129199738779,
    0.0013333444786914992,
    0.00015403161349128406,
    1.5312085405538942e-05,
    1.3373055682606665e-06,
];

impl F64 {
    fns! {
        /// log2 to 2^-42; of 0 -inf, of infinity infinity.
        fn rough_log2(self) -> F64 {
            let (m, k) = f64x::split(self.0);
            let (m, k) = (F64(m), F64(k));
            let one = F64::splat(1.0);
            let s = m.sub(one).div(m.add(one));
            s.mul_add(s.mul(s).poly(LOG2), k)
        }

        /// 2^x to 2^-38, for results that are about to become `f32`: anything beyond that range is 0 or infinite there.
        pub(super) fn rough_exp2(self) -> F64 {
            let x = F64::splat(160.0).pick_lt(F64::splat(-160.0).pick_gt(self));
            let n = x.round_ties_even();
            let r = x.sub(n);
            F64(f64x::scale(r.mul_add(r.poly(EXP2), F64::splat(1.0)).0, n.0))
        }
    }
}

impl F32 {
    fns! {
        /// `self` to the power `y`, with the special cases of `f32::powf`.
        ///
        /// Error below 0.51 ulp, denormal results included.
        pub fn pow(self, y: F32) -> F32 {
            let magnitude = self.abs();
            let power = y.to_f64().mul(magnitude.to_f64().rough_log2()).rough_exp2().to_f32();

            let one = F32::splat(1.0);
            let integral = y.trunc().eq(y);
            let half = y.mul(F32::splat(0.5));
            let odd = integral.and(half.trunc().ne(half));
            let sign = self.to_bits().and(U32::splat(1 << 31));
            let signed = F32::from_bits(power.to_bits().xor(sign));
            let power = odd.select_f32(signed, power);

            let infinite = F32::splat(f32::INFINITY);
            let negative = self.lt(F32::zero()).and(magnitude.lt(infinite));
            let power = negative.and(integral.not()).select_f32(F32::splat(f32::NAN), power);
            // 1 to any power, even NaN; anything, even NaN, to the power 0; -1 to an infinite power.
            let unit = self.eq(one).or(y.eq(F32::zero()));
            let unit: Mask = unit.or(magnitude.eq(one).and(y.abs().eq(infinite)));
            unit.select_f32(one, power)
        }

        /// The cube root.
        ///
        /// Error below 0.51 ulp.
        pub fn cbrt(self) -> F32 {
            let third = self.abs().to_f64().rough_log2().mul(F64::splat(1.0 / 3.0));
            let root = third.rough_exp2().to_f32();
            self.eq(F32::zero()).select_f32(self, root.copysign(self))
        }
    }
}
