//! `asin`, `acos`, `atan` and `atan2` of `F32`.
//!
//! Identities bring the argument near zero, where an odd polynomial does the rest. Coefficients as in `exp.rs`.

use super::F32;

const PI: f32 = std::f32::consts::PI;
/// pi - `PI`.
const PI_REST: f32 = -8.742278e-08;
const PI_2: f32 = std::f32::consts::FRAC_PI_2;
const PI_2_REST: f32 = -4.371139e-08;
const PI_4: f32 = std::f32::consts::FRAC_PI_4;
const PI_4_REST: f32 = -2.1855694e-08;

/// asin(x) = x + x^3 q(x^2), |x| <= 0.5, relative error 2^-31.7.
const ASIN: [f32; 6] = [
    0.1666666,
    0.07500522,
    0.044513352,
    0.031839523,
    0.014312173,
    0.03770212,
];
/// atan(x) = x + x^3 q(x^2), |x| <= tan(pi/8), relative error 2^-30.4.
const ATAN: [f32; 5] = [
    -0.33333316,
    0.19998528,
    -0.14244391,
    0.10599168,
    -0.060900465,
];
/// tan(pi/8) and tan(3 pi/8).
const TAN_PI_8: f32 = 0.41421357;
const TAN_3PI_8: f32 = 2.4142136;

impl F32 {
    fns! {
        /// For a magnitude a: `(s, rest, mask)` where asin a is s + rest, or pi/2 - 2 (s + rest) where `mask` is true.
        fn asin_parts(self) -> (F32, F32, super::Mask) {
            let large = self.gt(F32::splat(0.5));
            // asin a = pi/2 - 2 asin sqrt((1 - a) / 2); the difference is exact.
            let halved = F32::splat(1.0).sub(self).mul(F32::splat(0.5));
            let square = large.select_f32(halved, self.mul(self));
            let root = halved.sqrt();
            // What the root lost to rounding; its own magnitude keeps zero from dividing by zero.
            let lost = root.neg_mul_add(root, halved).div(root.add(root).pick_gt(F32::splat(f32::MIN_POSITIVE)));
            let s = large.select_f32(root, self);
            let lost = large.select_f32(lost, F32::zero());
            (s, s.mul(square).mul_add(square.poly(ASIN), lost), large)
        }

        /// The inverse sine; NaN outside -1..=1.
        ///
        /// Error below 1 ulp.
        pub fn asin(self) -> F32 {
            let (s, rest, large) = self.abs().asin_parts();
            let high = F32::splat(PI_2).sub(s.add(s));
            // The subtraction above lost this much.
            let lost = F32::splat(PI_2).sub(high).sub(s.add(s)).add(F32::splat(PI_2_REST));
            let folded = high.add(lost.sub(rest.add(rest)));
            large.select_f32(folded, s.add(rest)).copysign(self)
        }

        /// The inverse cosine; NaN outside -1..=1.
        ///
        /// Error below 1.5 ulp.
        pub fn acos(self) -> F32 {
            let (s, rest, large) = self.abs().asin_parts();
            let twice = s.add(rest);
            let twice = twice.add(twice);
            // Beyond 0.5 the angle is that double, or pi minus it; within, pi/2 minus the inverse sine.
            let negative = self.lt(F32::zero());
            let back = F32::splat(PI).sub(twice.sub(F32::splat(PI_REST)));
            let far = negative.select_f32(back, twice);
            let rest = rest.copysign(self);
            let near = F32::splat(PI_2).sub(self.add(rest.sub(F32::splat(PI_2_REST))));
            large.select_f32(far, near)
        }

        /// atan(`num` / `den`) for magnitudes whose small multiples and sums are finite, unless `num` is infinite.
        fn atan_ratio(num: F32, den: F32) -> F32 {
            let steep = num.gt(den.mul(F32::splat(TAN_3PI_8)));
            let middle = num.gt(den.mul(F32::splat(TAN_PI_8)));
            // atan(a/b) = pi/2 + atan(-b/a) = pi/4 + atan((a - b) / (a + b)).
            let top = steep.select_f32(den.neg(), middle.select_f32(num.sub(den), num));
            let bottom = steep.select_f32(num, middle.select_f32(num.add(den), den));
            let q = top.div(bottom);
            let pick = |steep_value: f32, middle_value: f32| {
                let other = middle.select_f32(F32::splat(middle_value), F32::zero());
                steep.select_f32(F32::splat(steep_value), other)
            };
            let square = q.mul(q);
            let rest = q.mul(square).mul_add(square.poly(ATAN), pick(PI_2_REST, PI_4_REST));
            pick(PI_2, PI_4).add(q.add(rest))
        }

        /// The inverse tangent.
        ///
        /// Error below 2 ulp.
        pub fn atan(self) -> F32 { F32::atan_ratio(self.abs(), F32::splat(1.0)).copysign(self) }

        /// The angle of the point (`x`, `self`), in -pi..=pi, with the special cases of `f32::atan2`.
        ///
        /// Error below 2 ulp.
        pub fn atan2(self, x: F32) -> F32 {
            let (num, den) = (self.abs(), x.abs());
            // Both down or up to where sums and products neither overflow nor lose digits.
            let one = F32::splat(1.0);
            let larger = num.pick_gt(den);
            let scale = larger.gt(F32::splat(1e30)).select_f32(F32::splat(1.0 / 67108864.0), one);
            let scale = larger.lt(F32::splat(1e-20)).select_f32(F32::splat(18446744073709551616.0), scale);
            // 0/0 counts as 0/1 and inf/inf as 1/1.
            let infinite = F32::splat(f32::INFINITY);
            let both = num.eq(infinite).and(den.eq(infinite));
            let zero = larger.eq(F32::zero());
            let num_scaled = both.select_f32(one, num.mul(scale));
            let den_scaled = both.or(zero).select_f32(one, den.mul(scale));
            let angle = F32::atan_ratio(num_scaled, den_scaled);
            let left = x.to_bits().shr(31).eq(super::U32::splat(1));
            let back = F32::splat(PI).sub(angle.sub(F32::splat(PI_REST)));
            left.select_f32(back, angle).copysign(self)
        }
    }
}
