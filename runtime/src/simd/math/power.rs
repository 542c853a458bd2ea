//! `pow`, and of `F32` also `cbrt`.
//!
//! Logarithm, product, exponential. `F32` goes by way of `F64`: with about 2^-38 of relative error in between, nearly every
//! result is the correctly rounded one. `F64` carries the logarithm and the product as sums of two numbers; only the terms
//! of the logarithm below 2^-16 of it are single. Coefficients as in `exp.rs`, rounded to `f64`.

use super::{F32, F64, U32, U64, f32x, f64x};

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
/// (atanh(s) / s - 1 - s^2 / 3 - s^4 / 5) / s^6 = q(s^2), |s| <= 0.2, error 2^-68 as seen in atanh(s) / s.
const ATANH_REST: [f64; 7] = [
    0.14285714285735224,
    0.11111111103718083,
    0.09090910129948568,
    0.07692231330228444,
    0.06669864251669161,
    0.05805723729900323,
    0.0623246393212599,
];
const THIRD: f64 = 1.0 / 3.0;
const THIRD_REST: f64 = 1.850371707708594e-17;
const FIFTH: f64 = 0.2;
const FIFTH_REST: f64 = -1.1102230246251566e-17;
/// 2 / ln 2 and the rest.
const TWICE_LOG2_E: f64 = 2.8853900817779268;
const TWICE_LOG2_E_REST: f64 = 4.0710547481862066e-17;

/// The special cases of powers, for both widths. `$B` and `$u` are the bits of `$T` and `$e`.
macro_rules! pow_special {
    ($T:ident, $e:ident, $n:ident, $B:ident, $u:ident) => {
        impl $T {
            fns! {
                /// `self` to the power `y`, given |self| to the power `y` wherever the logarithm of |self| is neither 0 nor
                /// multiplied by an infinity.
                fn pow_special(self, y: $T, power: $T) -> $T {
                    let one = $T::splat(1.0);
                    let magnitude = self.abs();
                    let integral = y.trunc().eq(y);
                    let half = y.mul($T::splat(0.5));
                    let odd = integral.and(half.trunc().ne(half));
                    let sign = self.to_bits().and($B::splat(1 << ($u::BITS - 1)));
                    let signed = $T::from_bits(power.to_bits().xor(sign));
                    let power = $n::select(odd.0, signed.0, power.0);

                    let infinite = $T::splat($e::INFINITY);
                    let negative = self.lt($T::zero()).and(magnitude.lt(infinite));
                    let invalid = negative.and(integral.not());
                    let power = $n::select(invalid.0, $n::splat($e::NAN), power);
                    // 1 to any power, even NaN; anything, even NaN, to the power 0; -1 to an infinite power.
                    let unit = self.eq(one).or(y.eq($T::zero()));
                    let unit = unit.or(magnitude.eq(one).and(y.abs().eq(infinite)));
                    $T($n::select(unit.0, one.0, power))
                }
            }
        }
    };
}

pow_special!(F32, f32, f32x, U32, u32);
pow_special!(F64, f64, f64x, U64, u64);

impl F64 {
    fns! {
        /// a b and what it lost to rounding.
        fn two_product(self, b: F64) -> (F64, F64) {
            let product = self.mul(b);
            (product, self.mul_add(b, product.neg()))
        }

        /// a + b and what it lost to rounding, for |a| >= |b| or a = 0 (Dekker).
        fn two_sum(self, b: F64) -> (F64, F64) {
            let sum = self.add(b);
            (sum, self.sub(sum).add(b))
        }

        /// (a + rest) (factor + factor_rest), again in two parts.
        fn times_two(self, rest: F64, factor: f64, factor_rest: f64) -> (F64, F64) {
            let (product, lost) = self.two_product(F64::splat(factor));
            (product, rest.mul_add(F64::splat(factor), self.mul_add(F64::splat(factor_rest), lost)))
        }

        /// log2 as the sum of two numbers, to about 2^-66; special values in the first.
        fn log2_in_two(self) -> (F64, F64) {
            let (m, k) = f64x::split(self.0);
            let (m, k) = (F64(m), F64(k));
            let one = F64::splat(1.0);
            // s = (m - 1) / (m + 1) in two parts.
            let f = m.sub(one);
            let divisor = m.add(one);
            let divisor_rest = m.sub(divisor.sub(one));
            let inverse = divisor.recip();
            let s = f.mul(inverse);
            let left = s.neg_mul_add(divisor_rest, s.neg_mul_add(divisor, f));
            let s_rest = left.mul(inverse);
            // log2 m = 2 / ln 2 s (1 + s^2 / 3 + s^4 / 5 + s^6 q(s^2)).
            let (square, lost) = s.two_product(s);
            let square_rest = s.add(s).mul_add(s_rest, lost);
            let (fourth, lost) = square.two_product(square);
            let fourth_rest = square.add(square).mul_add(square_rest, lost);
            let (third, third_rest) = square.times_two(square_rest, THIRD, THIRD_REST);
            let (fifth, fifth_rest) = fourth.times_two(fourth_rest, FIFTH, FIFTH_REST);
            let rest = fourth.mul(square).mul_add(square.poly(ATANH_REST), third_rest.add(fifth_rest));
            let (sum, lost) = third.two_sum(fifth);
            let (sum, rest) = sum.two_sum(lost.add(rest));
            let (factor, lost) = one.two_sum(sum);
            let factor_rest = lost.add(rest);
            let (product, lost) = s.two_product(factor);
            let product_rest = s.mul_add(factor_rest, s_rest.mul_add(factor, lost));
            let (log, log_rest) = product.times_two(product_rest, TWICE_LOG2_E, TWICE_LOG2_E_REST);
            let (sum, lost) = k.two_sum(log);
            let ordinary = k.abs().lt(F64::splat(f64::INFINITY));
            (sum, ordinary.select_f64(lost.add(log_rest), F64::zero()))
        }

        /// `self` to the power `y`, with the special cases of `f64::powf`.
        ///
        /// Error below 1 ulp, denormal results included.
        pub fn pow(self, y: F64) -> F64 {
            let (log, log_rest) = self.abs().log2_in_two();
            let (product, lost) = y.two_product(log);
            let product_rest = y.mul_add(log_rest, lost);
            // Past these, the result is 0 or infinite, and the rest without meaning.
            let limit = F64::splat(1100.0);
            let inside = product.abs().lt(limit);
            let product_rest = inside.select_f64(product_rest, F64::zero());
            let product = limit.pick_lt(limit.neg().pick_gt(product));
            self.pow_special(y, product.exp2_in_two(product_rest))
        }

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
            let power = y.to_f64().mul(self.abs().to_f64().rough_log2()).rough_exp2().to_f32();
            self.pow_special(y, power)
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
