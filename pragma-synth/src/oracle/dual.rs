//! A float as the oracle computes it: its value in `f64` and the size of the terms it came from.
//!
//! This file is both a module of the engine (the interpreter computes with it) and, word for
//! word, the prelude of every oracle, so that the two cannot differ. It therefore uses nothing
//! but the standard library.
//!
//! The magnitude `m` bounds, to first order, how much rounding may move a result: computed in a
//! type with unit roundoff `eps`, a few operations in any legal order, a value may be off by a
//! small multiple of `eps * m`. It is never NaN and never above `f64::MAX`. Jumps are not in it:
//! where `floor` or a comparison is decided by rounding, `m` knows nothing of the other side.

use std::cmp::Ordering;
use std::ops::{Add, Div, Mul, Neg, Rem, Sub};

/// A value and its magnitude.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Dual {
    /// The value, computed in `f64`.
    pub v: f64,
    /// The sum of absolute terms behind it.
    pub m: f64,
}

/// Where a derivative is infinite, the change of a square root under a relative change of `2^-24`.
const ROOT_BOUND: f64 = 4096.0;
/// The same for a cube root.
const CUBE_ROOT_BOUND: f64 = 65536.0;
/// Two values this close, relative to their magnitudes, may have been swapped by rounding.
const TIE: f64 = 1.0 / 4096.0;

impl Dual {
    /// Puts a value and a magnitude together; a magnitude that is NaN or infinite becomes the
    /// largest finite one.
    #[inline]
    pub fn new(v: f64, m: f64) -> Dual {
        // `f64::min` ignores a NaN.
        Dual {
            v,
            m: m.min(f64::MAX),
        }
    }

    /// A value that carries no error of its own yet: a literal, an argument, an element loaded.
    #[inline]
    pub fn exact(v: f64) -> Dual {
        Dual::new(v, v.abs())
    }

    /// `f(x)` under the rule `|f(x)| + |f'(x)| m(x)`.
    #[inline]
    fn through(self, v: f64, slope: f64) -> Dual {
        Dual::new(v, v.abs() + slope.abs() * self.m)
    }

    /// This one, or the other one had rounding moved them only a little.
    #[inline]
    pub fn or_tied(self, other: Dual, tied: bool) -> Dual {
        if tied {
            Dual::new(self.v, self.m.max(other.m))
        } else {
            self
        }
    }

    /// Whether rounding may have swapped the order of the two.
    #[inline]
    pub fn tied(self, other: Dual) -> bool {
        (self.v - other.v).abs() < TIE * self.m.max(other.m)
    }

    /// `if a < b { then } else { otherwise }`. Where rounding may decide the comparison, the
    /// magnitude is that of both sides.
    #[inline]
    pub fn choose_lt(a: Dual, b: Dual, then: Dual, otherwise: Dual) -> Dual {
        Dual::choose(a.v < b.v, a.tied(b), then, otherwise)
    }

    /// The same for `<=`.
    #[inline]
    pub fn choose_le(a: Dual, b: Dual, then: Dual, otherwise: Dual) -> Dual {
        Dual::choose(a.v <= b.v, a.tied(b), then, otherwise)
    }

    /// The same for `>`.
    #[inline]
    pub fn choose_gt(a: Dual, b: Dual, then: Dual, otherwise: Dual) -> Dual {
        Dual::choose(a.v > b.v, a.tied(b), then, otherwise)
    }

    /// The same for `>=`.
    #[inline]
    pub fn choose_ge(a: Dual, b: Dual, then: Dual, otherwise: Dual) -> Dual {
        Dual::choose(a.v >= b.v, a.tied(b), then, otherwise)
    }

    /// The same for `==`.
    #[inline]
    pub fn choose_eq(a: Dual, b: Dual, then: Dual, otherwise: Dual) -> Dual {
        Dual::choose(a.v == b.v, a.tied(b), then, otherwise)
    }

    /// The same for `!=`.
    #[inline]
    pub fn choose_ne(a: Dual, b: Dual, then: Dual, otherwise: Dual) -> Dual {
        Dual::choose(a.v != b.v, a.tied(b), then, otherwise)
    }

    #[inline]
    fn choose(cond: bool, tied: bool, then: Dual, otherwise: Dual) -> Dual {
        if cond {
            then.or_tied(otherwise, tied)
        } else {
            otherwise.or_tied(then, tied)
        }
    }

    /// `mul_add`.
    #[inline]
    pub fn mul_add(self, b: Dual, c: Dual) -> Dual {
        Dual::new(self.v.mul_add(b.v, c.v), self.m * b.m + c.m)
    }

    /// `max`.
    #[inline]
    pub fn max(self, other: Dual) -> Dual {
        let tied = self.tied(other);
        if self.v >= other.v || other.v.is_nan() {
            self.or_tied(other, tied)
        } else {
            other.or_tied(self, tied)
        }
    }

    /// `min`.
    #[inline]
    pub fn min(self, other: Dual) -> Dual {
        let tied = self.tied(other);
        if self.v <= other.v || other.v.is_nan() {
            self.or_tied(other, tied)
        } else {
            other.or_tied(self, tied)
        }
    }

    /// `abs`.
    #[inline]
    pub fn abs(self) -> Dual {
        Dual::new(self.v.abs(), self.m)
    }

    /// `copysign`.
    #[inline]
    pub fn copysign(self, sign: Dual) -> Dual {
        Dual::new(self.v.copysign(sign.v), self.m)
    }

    /// `signum`.
    #[inline]
    pub fn signum(self) -> Dual {
        Dual::exact(self.v.signum())
    }

    /// `sqrt`.
    #[inline]
    pub fn sqrt(self) -> Dual {
        let v = self.v.sqrt();
        let moved = (0.5 * self.m / v).min(self.m.sqrt() * ROOT_BOUND);
        Dual::new(v, v.abs() + moved)
    }

    /// `cbrt`.
    pub fn cbrt(self) -> Dual {
        let v = self.v.cbrt();
        let moved = (self.m / (3.0 * v * v)).min(self.m.cbrt() * CUBE_ROOT_BOUND);
        Dual::new(v, v.abs() + moved)
    }

    /// `recip`.
    #[inline]
    pub fn recip(self) -> Dual {
        Dual::exact(1.0) / self
    }

    /// `floor`.
    #[inline]
    pub fn floor(self) -> Dual {
        self.through(self.v.floor(), 1.0)
    }

    /// `ceil`.
    #[inline]
    pub fn ceil(self) -> Dual {
        self.through(self.v.ceil(), 1.0)
    }

    /// `trunc`.
    #[inline]
    pub fn trunc(self) -> Dual {
        self.through(self.v.trunc(), 1.0)
    }

    /// `round`.
    #[inline]
    pub fn round(self) -> Dual {
        self.through(self.v.round(), 1.0)
    }

    /// `round_ties_even`.
    #[inline]
    pub fn round_ties_even(self) -> Dual {
        self.through(self.v.round_ties_even(), 1.0)
    }

    /// `exp`.
    pub fn exp(self) -> Dual {
        let v = self.v.exp();
        self.through(v, v)
    }

    /// `exp2`.
    pub fn exp2(self) -> Dual {
        let v = self.v.exp2();
        self.through(v, v * std::f64::consts::LN_2)
    }

    /// `exp_m1`.
    pub fn exp_m1(self) -> Dual {
        let v = self.v.exp_m1();
        self.through(v, v + 1.0)
    }

    /// `ln`.
    pub fn ln(self) -> Dual {
        self.through(self.v.ln(), 1.0 / self.v)
    }

    /// `log2`.
    pub fn log2(self) -> Dual {
        self.through(self.v.log2(), std::f64::consts::LOG2_E / self.v)
    }

    /// `log10`.
    pub fn log10(self) -> Dual {
        self.through(self.v.log10(), std::f64::consts::LOG10_E / self.v)
    }

    /// `ln_1p`.
    pub fn ln_1p(self) -> Dual {
        self.through(self.v.ln_1p(), 1.0 / (1.0 + self.v))
    }

    /// `sin`.
    pub fn sin(self) -> Dual {
        self.through(self.v.sin(), self.v.cos())
    }

    /// `cos`.
    pub fn cos(self) -> Dual {
        self.through(self.v.cos(), self.v.sin())
    }

    /// `tan`.
    pub fn tan(self) -> Dual {
        let v = self.v.tan();
        self.through(v, 1.0 + v * v)
    }

    /// How far `asin` and `acos` move: their slope is infinite at both ends.
    fn arc_moved(self) -> f64 {
        let slope = 1.0 / ((1.0 - self.v) * (1.0 + self.v)).sqrt();
        (slope * self.m).min((2.0 * self.m).sqrt() * ROOT_BOUND)
    }

    /// `asin`.
    pub fn asin(self) -> Dual {
        let v = self.v.asin();
        Dual::new(v, v.abs() + self.arc_moved())
    }

    /// `acos`.
    pub fn acos(self) -> Dual {
        let v = self.v.acos();
        Dual::new(v, v.abs() + self.arc_moved())
    }

    /// `atan`.
    pub fn atan(self) -> Dual {
        self.through(self.v.atan(), 1.0 / (1.0 + self.v * self.v))
    }

    /// `sinh`.
    pub fn sinh(self) -> Dual {
        self.through(self.v.sinh(), self.v.cosh())
    }

    /// `cosh`.
    pub fn cosh(self) -> Dual {
        self.through(self.v.cosh(), self.v.sinh())
    }

    /// `tanh`.
    pub fn tanh(self) -> Dual {
        let v = self.v.tanh();
        self.through(v, 1.0 - v * v)
    }

    /// `powf`.
    pub fn powf(self, exponent: Dual) -> Dual {
        let (a, b) = (self.v, exponent.v);
        let v = a.powf(b);
        let mut m = v.abs();
        // A factor of zero wins over an infinite one: the term is absent.
        if self.m != 0.0 && b != 0.0 {
            m += b.abs() * a.abs().powf(b - 1.0) * self.m;
        }
        if exponent.m != 0.0 && v != 0.0 && a.abs() != 1.0 {
            m += (v * a.abs().ln()).abs() * exponent.m;
        }
        Dual::new(v, m)
    }

    /// `powi`: as the product it stands for.
    pub fn powi(self, exponent: i32) -> Dual {
        let v = self.v.powi(exponent);
        let power = Dual::new(
            self.v.powi(exponent.saturating_abs()),
            self.m.powi(exponent.saturating_abs()),
        );
        match exponent {
            0 => Dual::exact(v),
            1.. => Dual::new(v, power.m),
            _ => Dual::new(v, power.recip().m),
        }
    }

    /// `atan2`.
    pub fn atan2(self, x: Dual) -> Dual {
        let v = self.v.atan2(x.v);
        let across = x.v.abs() * self.m + self.v.abs() * x.m;
        let moved = if across == 0.0 {
            0.0
        } else {
            across / (self.v * self.v + x.v * x.v)
        };
        Dual::new(v, v.abs() + moved)
    }

    /// `hypot`.
    pub fn hypot(self, other: Dual) -> Dual {
        Dual::new(self.v.hypot(other.v), self.m + other.m)
    }

    /// `rem_euclid`.
    pub fn rem_euclid(self, b: Dual) -> Dual {
        let quotient = self.v.div_euclid(b.v).abs();
        Dual::new(self.v.rem_euclid(b.v), self.m + quotient * b.m)
    }

    /// `div_euclid`.
    pub fn div_euclid(self, b: Dual) -> Dual {
        let v = self.v.div_euclid(b.v);
        Dual::new(v, v.abs() + (self / b).m)
    }

    /// `is_nan` of the value.
    #[inline]
    pub fn is_nan(self) -> bool {
        self.v.is_nan()
    }

    /// `is_finite` of the value.
    #[inline]
    pub fn is_finite(self) -> bool {
        self.v.is_finite()
    }
}

impl Neg for Dual {
    type Output = Dual;
    #[inline]
    fn neg(self) -> Dual {
        Dual::new(-self.v, self.m)
    }
}

impl Add for Dual {
    type Output = Dual;
    #[inline]
    fn add(self, b: Dual) -> Dual {
        Dual::new(self.v + b.v, self.m + b.m)
    }
}

impl Sub for Dual {
    type Output = Dual;
    #[inline]
    fn sub(self, b: Dual) -> Dual {
        Dual::new(self.v - b.v, self.m + b.m)
    }
}

impl Mul for Dual {
    type Output = Dual;
    #[inline]
    fn mul(self, b: Dual) -> Dual {
        Dual::new(self.v * b.v, self.m * b.m)
    }
}

impl Div for Dual {
    type Output = Dual;
    #[inline]
    fn div(self, b: Dual) -> Dual {
        let size = b.v.abs();
        Dual::new(self.v / b.v, self.m / size * (b.m / size).max(1.0))
    }
}

impl Rem for Dual {
    type Output = Dual;
    #[inline]
    fn rem(self, b: Dual) -> Dual {
        let quotient = (self.v / b.v).trunc().abs();
        Dual::new(self.v % b.v, self.m + quotient * b.m)
    }
}

impl PartialEq for Dual {
    #[inline]
    fn eq(&self, other: &Dual) -> bool {
        self.v == other.v
    }
}

impl PartialOrd for Dual {
    #[inline]
    fn partial_cmp(&self, other: &Dual) -> Option<Ordering> {
        self.v.partial_cmp(&other.v)
    }
}
