//! `sin`, `cos` and `tan` of `F32`.
//!
//! x = n pi/2 + r with |r| <= pi/4 (a little more for large n): pi/2 in three parts, the first subtraction exact thanks to
//! fused multiplication, the last kept apart from r, so that r is rounded once. Arguments beyond `LIMIT` go to scalar code. Coefficients as in
//! `exp.rs`.

use super::{F32, U32};

/// Up to here, n is exact and r accurate.
const LIMIT: f32 = 65536.0;

const PI_2: f32 = 1.5707964;
const PI_2_REST: f32 = -4.371139e-08;
const PI_2_REST_REST: f32 = -1.7151245e-15;

/// sin(r) = r + r^3 q(r^2), |r| <= 0.794, relative error 2^-27.8.
const SIN: [f32; 3] = [-0.16666654, 0.008332105, -0.00019507653];
/// cos(r) = 1 - r^2 / 2 + r^4 q(r^2), |r| <= 0.794, relative error 2^-32.7.
const COS: [f32; 3] = [0.041666646, -0.0013887298, 2.4430085e-05];
/// tan(r) = r + r^3 q(r^2), |r| <= 0.794, relative error 2^-29.3.
const TAN: [f32; 7] = [
    0.33333352,
    0.13332571,
    0.05407098,
    0.021222606,
    0.010995553,
    -0.00011876959,
    0.004481558,
];

/// A reduced argument: the quadrant in the low bits of `n`, and the rest as `r + low`.
struct Reduced {
    n: U32,
    r: F32,
    low: F32,
}

impl F32 {
    fns! {
        /// Reduces a magnitude up to `LIMIT`.
        fn reduce_angle(self) -> Reduced {
            // Adding 1.5 * 2^23 leaves the nearest integer in the low bits.
            let magic = F32::splat(12582912.0);
            let shifted = self.mul_add(F32::splat(std::f32::consts::FRAC_2_PI), magic);
            let n = shifted.sub(magic);
            let first = n.neg_mul_add(F32::splat(PI_2), self);
            let r = n.neg_mul_add(F32::splat(PI_2_REST), first);
            let low = n.mul(F32::splat(-PI_2_REST_REST));
            Reduced { n: shifted.to_bits(), r, low }
        }

        /// sin(`quadrant` pi/2 + r).
        fn sin_quadrant(reduced: Reduced) -> F32 {
            let Reduced { n, r, low } = reduced;
            let square = r.mul(r);
            let sin = r.add(r.mul(square).mul_add(square.poly(SIN), low));
            let inner = square.mul_add(square.poly(COS), F32::splat(-0.5));
            let cos = F32::splat(1.0).add(square.mul_add(inner, r.mul(low).neg()));
            let odd = n.and(U32::splat(1)).eq(U32::splat(1));
            let sign = n.and(U32::splat(2)).shl(30);
            F32::from_bits(odd.select_f32(cos, sin).to_bits().xor(sign))
        }

        /// Whether scalar code must help: large, infinite.
        fn is_large_angle(self) -> super::Mask { self.abs().gt(F32::splat(LIMIT)) }

        /// The sine.
        ///
        /// Error below 2 ulp; magnitudes above 65536 as scalar Rust computes them, more slowly.
        pub fn sin(self) -> F32 {
            let sine = F32::sin_quadrant(self.abs().reduce_angle());
            let sign = self.to_bits().and(U32::splat(1 << 31));
            let sine = F32::from_bits(sine.to_bits().xor(sign));
            let large = self.is_large_angle();
            if large.any() { sine.patch(large, self, f32::sin) } else { sine }
        }

        /// The cosine.
        ///
        /// Error below 2 ulp; magnitudes above 65536 as scalar Rust computes them, more slowly.
        pub fn cos(self) -> F32 {
            let reduced = self.abs().reduce_angle();
            let cosine = F32::sin_quadrant(Reduced { n: reduced.n.add(U32::splat(1)), ..reduced });
            let large = self.is_large_angle();
            if large.any() { cosine.patch(large, self, f32::cos) } else { cosine }
        }

        /// The tangent.
        ///
        /// Error below 3 ulp; magnitudes above 65536 as scalar Rust computes them, more slowly.
        pub fn tan(self) -> F32 {
            let Reduced { n, r, low } = self.abs().reduce_angle();
            let square = r.mul(r);
            let tan = r.add(r.mul(square).mul_add(square.poly(TAN), square.mul_add(low, low)));
            let odd = n.and(U32::splat(1)).eq(U32::splat(1));
            let one = F32::splat(1.0);
            // tan(pi/2 + r) = -1 / tan r.
            let tan = odd.select_f32(one.neg(), tan).div(odd.select_f32(tan, one));
            let sign = self.to_bits().and(U32::splat(1 << 31));
            let tan = F32::from_bits(tan.to_bits().xor(sign));
            let large = self.is_large_angle();
            if large.any() { tan.patch(large, self, f32::tan) } else { tan }
        }
    }
}
