//! Number systems in which floats of a program can be computed.

use pragma_spec::Scalar;

use super::value::round_to;
use crate::ir::{BinaryOp, Func};
use crate::oracle::dual::Dual;

/// How floats are represented and computed. Integers, comparisons and control flow are common
/// to all domains and follow [`Domain::value`].
pub trait Domain {
    /// A float of any type.
    type Float: Copy + std::fmt::Debug;

    /// A literal, argument or loaded element of the given type; exactly representable in it.
    fn constant(scalar: Scalar, value: f64) -> Self::Float;

    /// The value that decides comparisons and conversions to integers.
    fn value(float: Self::Float) -> f64;

    /// `+ - * / %` on operands of type `scalar`; other operators do not occur on floats.
    fn binary(op: BinaryOp, scalar: Scalar, a: Self::Float, b: Self::Float) -> Self::Float;

    /// A function from floats of type `scalar` to the same type (all but `Powi`, `IsNan`,
    /// `IsFinite` and `ToBits`, `FromBits`). `args` has the function's number of arguments.
    fn call(func: Func, scalar: Scalar, args: &[Self::Float]) -> Self::Float;

    /// `powi`.
    fn powi(scalar: Scalar, base: Self::Float, exponent: i32) -> Self::Float;

    /// `value as to` between float types.
    fn cast(to: Scalar, value: Self::Float) -> Self::Float;

    /// `value as to` from an integer.
    fn from_int(to: Scalar, value: i128) -> Self::Float;

    /// The taken side of a `Select` whose condition compared two floats; `other` is the other
    /// side where that is safe to evaluate.
    fn select(taken: Self::Float, other: Self::Float, compared: [Self::Float; 2]) -> Self::Float;
}

/// Rust's own arithmetic. A float of any type is held as the `f64` of the same value.
#[derive(Clone, Copy, Debug)]
pub enum Native {}

macro_rules! native_call {
    ($float:ty, $func:expr, $args:expr) => {{
        let args: Vec<$float> = $args.iter().map(|arg| *arg as $float).collect();
        let x = args[0];
        let y = args.get(1).copied().unwrap_or(x);
        let z = args.get(2).copied().unwrap_or(x);
        let result: $float = match $func {
            Func::Neg => -x,
            Func::Abs => x.abs(),
            Func::Signum => x.signum(),
            Func::Sqrt => x.sqrt(),
            Func::Cbrt => x.cbrt(),
            Func::Recip => x.recip(),
            Func::Floor => x.floor(),
            Func::Ceil => x.ceil(),
            Func::Trunc => x.trunc(),
            Func::Round => x.round(),
            Func::RoundTiesEven => x.round_ties_even(),
            Func::Exp => x.exp(),
            Func::Exp2 => x.exp2(),
            Func::ExpM1 => x.exp_m1(),
            Func::Ln => x.ln(),
            Func::Log2 => x.log2(),
            Func::Log10 => x.log10(),
            Func::Ln1p => x.ln_1p(),
            Func::Sin => x.sin(),
            Func::Cos => x.cos(),
            Func::Tan => x.tan(),
            Func::Asin => x.asin(),
            Func::Acos => x.acos(),
            Func::Atan => x.atan(),
            Func::Sinh => x.sinh(),
            Func::Cosh => x.cosh(),
            Func::Tanh => x.tanh(),
            Func::Max => x.max(y),
            Func::Min => x.min(y),
            Func::Copysign => x.copysign(y),
            Func::Powf => x.powf(y),
            Func::Atan2 => x.atan2(y),
            Func::Hypot => x.hypot(y),
            Func::RemEuclid => x.rem_euclid(y),
            Func::DivEuclid => x.div_euclid(y),
            Func::MulAdd => x.mul_add(y, z),
            // No float functions: `verify` refuses them, and the walker handles them itself.
            Func::Not
            | Func::IsNan
            | Func::IsFinite
            | Func::CountOnes
            | Func::LeadingZeros
            | Func::TrailingZeros
            | Func::ToBits
            | Func::FromBits
            | Func::Powi
            | Func::AbsDiff
            | Func::SaturatingAdd
            | Func::SaturatingSub
            | Func::RotateLeft
            | Func::RotateRight => <$float>::NAN,
        };
        f64::from(result)
    }};
}

macro_rules! native_binary {
    ($float:ty, $op:expr, $a:expr, $b:expr) => {{
        let (a, b) = ($a as $float, $b as $float);
        let result: $float = match $op {
            BinaryOp::Add => a + b,
            BinaryOp::Sub => a - b,
            BinaryOp::Mul => a * b,
            BinaryOp::Div => a / b,
            BinaryOp::Rem => a % b,
            BinaryOp::And | BinaryOp::Or | BinaryOp::Xor | BinaryOp::Shl | BinaryOp::Shr => {
                <$float>::NAN
            }
        };
        f64::from(result)
    }};
}

impl Domain for Native {
    type Float = f64;

    fn constant(_: Scalar, value: f64) -> f64 {
        value
    }

    fn value(float: f64) -> f64 {
        float
    }

    fn binary(op: BinaryOp, scalar: Scalar, a: f64, b: f64) -> f64 {
        match scalar {
            Scalar::F64 => native_binary!(f64, op, a, b),
            // Half types compute in `f32` and round once more, as the crate `half` does.
            _ => round_to(scalar, native_binary!(f32, op, a, b)),
        }
    }

    fn call(func: Func, scalar: Scalar, args: &[f64]) -> f64 {
        match scalar {
            Scalar::F64 => native_call!(f64, func, args),
            _ => round_to(scalar, native_call!(f32, func, args)),
        }
    }

    fn powi(scalar: Scalar, base: f64, exponent: i32) -> f64 {
        match scalar {
            Scalar::F64 => base.powi(exponent),
            _ => round_to(scalar, f64::from((base as f32).powi(exponent))),
        }
    }

    fn cast(to: Scalar, value: f64) -> f64 {
        round_to(to, value)
    }

    fn from_int(to: Scalar, value: i128) -> f64 {
        match to {
            // Straight from the integer: by way of `f64` it would round twice.
            Scalar::F64 => value as f64,
            Scalar::F32 => f64::from(value as f32),
            _ => round_to(to, f64::from(value as f32)),
        }
    }

    fn select(taken: f64, _: f64, _: [f64; 2]) -> f64 {
        taken
    }
}

/// Every float in `f64`, with a magnitude: what the oracle computes.
#[derive(Clone, Copy, Debug)]
pub enum Magnitude {}

impl Domain for Magnitude {
    type Float = Dual;

    fn constant(_: Scalar, value: f64) -> Dual {
        Dual::exact(value)
    }

    fn value(float: Dual) -> f64 {
        float.v
    }

    fn binary(op: BinaryOp, _: Scalar, a: Dual, b: Dual) -> Dual {
        match op {
            BinaryOp::Add => a + b,
            BinaryOp::Sub => a - b,
            BinaryOp::Mul => a * b,
            BinaryOp::Div => a / b,
            BinaryOp::Rem => a % b,
            BinaryOp::And | BinaryOp::Or | BinaryOp::Xor | BinaryOp::Shl | BinaryOp::Shr => {
                Dual::exact(f64::NAN)
            }
        }
    }

    fn call(func: Func, _: Scalar, args: &[Dual]) -> Dual {
        let x = args[0];
        let y = args.get(1).copied().unwrap_or(x);
        let z = args.get(2).copied().unwrap_or(x);
        match func {
            Func::Neg => -x,
            Func::Abs => x.abs(),
            Func::Signum => x.signum(),
            Func::Sqrt => x.sqrt(),
            Func::Cbrt => x.cbrt(),
            Func::Recip => x.recip(),
            Func::Floor => x.floor(),
            Func::Ceil => x.ceil(),
            Func::Trunc => x.trunc(),
            Func::Round => x.round(),
            Func::RoundTiesEven => x.round_ties_even(),
            Func::Exp => x.exp(),
            Func::Exp2 => x.exp2(),
            Func::ExpM1 => x.exp_m1(),
            Func::Ln => x.ln(),
            Func::Log2 => x.log2(),
            Func::Log10 => x.log10(),
            Func::Ln1p => x.ln_1p(),
            Func::Sin => x.sin(),
            Func::Cos => x.cos(),
            Func::Tan => x.tan(),
            Func::Asin => x.asin(),
            Func::Acos => x.acos(),
            Func::Atan => x.atan(),
            Func::Sinh => x.sinh(),
            Func::Cosh => x.cosh(),
            Func::Tanh => x.tanh(),
            Func::Max => x.max(y),
            Func::Min => x.min(y),
            Func::Copysign => x.copysign(y),
            Func::Powf => x.powf(y),
            Func::Atan2 => x.atan2(y),
            Func::Hypot => x.hypot(y),
            Func::RemEuclid => x.rem_euclid(y),
            Func::DivEuclid => x.div_euclid(y),
            Func::MulAdd => x.mul_add(y, z),
            Func::Not
            | Func::IsNan
            | Func::IsFinite
            | Func::CountOnes
            | Func::LeadingZeros
            | Func::TrailingZeros
            | Func::ToBits
            | Func::FromBits
            | Func::Powi
            | Func::AbsDiff
            | Func::SaturatingAdd
            | Func::SaturatingSub
            | Func::RotateLeft
            | Func::RotateRight => Dual::exact(f64::NAN),
        }
    }

    fn powi(_: Scalar, base: Dual, exponent: i32) -> Dual {
        base.powi(exponent)
    }

    fn cast(_: Scalar, value: Dual) -> Dual {
        value
    }

    fn from_int(_: Scalar, value: i128) -> Dual {
        Dual::exact(value as f64)
    }

    fn select(taken: Dual, other: Dual, [a, b]: [Dual; 2]) -> Dual {
        taken.or_tied(other, a.tied(b))
    }
}
