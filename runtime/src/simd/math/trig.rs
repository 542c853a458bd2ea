//! `sin`, `cos`, and of `F32` also `tan`.
//!
//! x = n pi/2 + r with |r| <= pi/4 (a little more for large n): pi/2 in three parts, the first subtraction exact thanks to
//! fused multiplication, the last kept apart from r, so that r is rounded once. Arguments beyond `LIMIT` go to scalar code.
//! Coefficients as in `exp.rs`.

use super::{F32, F64, LANES, Mask, U32, U64, f32x, f64x};

mod single {
    /// Up to here, n is exact and r accurate.
    pub const LIMIT: f32 = 65536.0;
    /// 1.5 times the power of two whose last place is 1: adding it rounds to an integer, in the low bits.
    pub const MAGIC: f32 = 12582912.0;
    pub const TWO_OVER_PI: f32 = std::f32::consts::FRAC_2_PI;
    /// pi/2 in three parts.
    pub const PI_2: f32 = 1.5707964;
    pub const PI_2_REST: f32 = -4.371139e-08;
    pub const PI_2_REST_REST: f32 = -1.7151245e-15;
    /// sin(r) = r + r^3 q(r^2), |r| <= 0.794, relative error 2^-27.8.
    pub const SIN: [f32; 3] = [-0.16666654, 0.008332105, -0.00019507653];
    /// cos(r) = 1 - r^2 / 2 + r^4 q(r^2), |r| <= 0.794, relative error 2^-32.7.
    pub const COS: [f32; 3] = [0.041666646, -0.0013887298, 2.4430085e-05];
}

/// As `single`.
mod double {
    pub const LIMIT: f64 = 65536.0;
    pub const MAGIC: f64 = 6755399441055744.0;
    pub const TWO_OVER_PI: f64 = std::f64::consts::FRAC_2_PI;
    pub const PI_2: f64 = std::f64::consts::FRAC_PI_2;
    pub const PI_2_REST: f64 = 6.123233995736766e-17;
    pub const PI_2_REST_REST: f64 = -1.4973849048591698e-33;
    /// Relative error 2^-57.7.
    pub const SIN: [f64; 6] = [
        -0.16666666666666627,
        0.008333333333321069,
        -0.00019841269828698306,
        2.7557313298635456e-06,
        -2.505069548377973e-08,
        1.589311352866636e-10,
    ];
    /// Relative error 2^-63.6.
    pub const COS: [f64; 6] = [
        0.04166666666666658,
        -0.001388888888887097,
        2.4801587287527957e-05,
        -2.7557313791563364e-07,
        2.087564748945333e-09,
        -1.1355743951970711e-11,
    ];
}

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

/// A reduced argument: the quadrant in the low bits of `n`, and the rest as `r + low`. What `r` lost to rounding is `lost`,
/// which costs nothing where it is not used.
struct Reduced<B, T> {
    n: B,
    r: T,
    low: T,
    lost: T,
}

/// Out of line, so that a loop that never gets here keeps its registers.
#[cold]
#[inline(never)]
fn scalar_lanes<E: Copy>(lanes: &[E; LANES], f: fn(E) -> E) -> [E; LANES] {
    lanes.map(f)
}

/// What both widths compute in the same way. `$B` and `$u` are the bits of `$T` and `$e`, `$c` has the constants.
macro_rules! circular {
    ($T:ident, $e:ident, $n:ident, $B:ident, $u:ident, $c:ident) => {
        impl $T {
            fns! {
                /// Reduces a magnitude up to `LIMIT`.
                fn reduce_angle(self) -> Reduced<$B, $T> {
                    let magic = $T::splat($c::MAGIC);
                    let shifted = self.mul_add($T::splat($c::TWO_OVER_PI), magic);
                    let n = shifted.sub(magic);
                    let first = n.neg_mul_add($T::splat($c::PI_2), self);
                    let r = n.neg_mul_add($T::splat($c::PI_2_REST), first);
                    let low = n.mul($T::splat(-$c::PI_2_REST_REST));
                    // Exact unless the subtraction cancelled; but then r is tiny, and an ulp of it matters to nobody.
                    let lost = n.neg_mul_add($T::splat($c::PI_2_REST), first.sub(r));
                    let regular = r.abs().gt($T::splat(0.00390625));
                    let lost = $T($n::select(regular.0, lost.0, $T::zero().0));
                    Reduced { n: shifted.to_bits(), r, low, lost }
                }

                /// sin(n pi/2 + r).
                fn sin_quadrant(reduced: Reduced<$B, $T>) -> $T {
                    let Reduced { n, r, low, .. } = reduced;
                    let square = r.mul(r);
                    let sin = r.add(r.mul(square).mul_add(square.poly($c::SIN), low));
                    let inner = square.mul_add(square.poly($c::COS), $T::splat(-0.5));
                    let cos = $T::splat(1.0).add(square.mul_add(inner, r.mul(low).neg()));
                    let odd = n.and($B::splat(1)).eq($B::splat(1));
                    let sign = n.and($B::splat(2)).shl($u::BITS - 2);
                    let value = $T($n::select(odd.0, cos.0, sin.0));
                    $T::from_bits(value.to_bits().xor(sign))
                }

                /// The sign bit of `sign` flips `self`.
                fn flip(self, sign: $T) -> $T {
                    let bit = sign.to_bits().and($B::splat(1 << ($u::BITS - 1)));
                    $T::from_bits(self.to_bits().xor(bit))
                }

                /// Whether scalar code must help: large, infinite.
                fn is_large_angle(self) -> Mask { self.abs().gt($T::splat($c::LIMIT)) }

                /// Where `mask` is true, `f` of each lane of `x`; elsewhere `self`. For rare arguments: a lane's result
                /// never depends on its neighbours.
                fn patch(self, mask: Mask, x: $T, f: fn($e) -> $e) -> $T {
                    let scalar = $T::from_array(scalar_lanes(&x.to_array(), f));
                    $T($n::select(mask.0, scalar.0, self.0))
                }

                /// The sine.
                ///
                /// Error below 2 ulp; magnitudes above 65536 as scalar Rust computes them, more slowly.
                pub fn sin(self) -> $T {
                    let sine = $T::sin_quadrant(self.abs().reduce_angle()).flip(self);
                    let large = self.is_large_angle();
                    if large.any() { sine.patch(large, self, $e::sin) } else { sine }
                }

                /// The cosine.
                ///
                /// Error below 2 ulp; magnitudes above 65536 as scalar Rust computes them, more slowly.
                pub fn cos(self) -> $T {
                    let reduced = self.abs().reduce_angle();
                    let cosine = $T::sin_quadrant(Reduced { n: reduced.n.add($B::splat(1)), ..reduced });
                    let large = self.is_large_angle();
                    if large.any() { cosine.patch(large, self, $e::cos) } else { cosine }
                }
            }
        }
    };
}

circular!(F32, f32, f32x, U32, u32, single);
circular!(F64, f64, f64x, U64, u64, double);

impl F32 {
    fns! {
        /// The tangent.
        ///
        /// Error below 2.5 ulp; magnitudes above 65536 as scalar Rust computes them, more slowly.
        pub fn tan(self) -> F32 {
            let Reduced { n, r, low, lost } = self.abs().reduce_angle();
            let low = low.add(lost);
            let square = r.mul(r);
            let tan = r.add(r.mul(square).mul_add(square.poly(TAN), square.mul_add(low, low)));
            let odd = n.and(U32::splat(1)).eq(U32::splat(1));
            let one = F32::splat(1.0);
            // tan(pi/2 + r) = -1 / tan r.
            let tan = odd.select_f32(one.neg(), tan).div(odd.select_f32(tan, one)).flip(self);
            let large = self.is_large_angle();
            if large.any() { tan.patch(large, self, f32::tan) } else { tan }
        }
    }
}
