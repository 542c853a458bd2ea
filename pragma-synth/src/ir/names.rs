//! Names of operators and functions: Rust's own, shared by the text form and the emitters.
//!
//! Leaves alone what they mean: that is `expr`'s documentation and `interp`'s code.

use super::{BinaryOp, CompareOp, Func};

impl Func {
    /// Every function, in declaration order.
    pub const ALL: [Func; 50] = [
        Func::Neg,
        Func::Not,
        Func::Abs,
        Func::Signum,
        Func::Sqrt,
        Func::Cbrt,
        Func::Recip,
        Func::Floor,
        Func::Ceil,
        Func::Trunc,
        Func::Round,
        Func::RoundTiesEven,
        Func::Exp,
        Func::Exp2,
        Func::ExpM1,
        Func::Ln,
        Func::Log2,
        Func::Log10,
        Func::Ln1p,
        Func::Sin,
        Func::Cos,
        Func::Tan,
        Func::Asin,
        Func::Acos,
        Func::Atan,
        Func::Sinh,
        Func::Cosh,
        Func::Tanh,
        Func::IsNan,
        Func::IsFinite,
        Func::CountOnes,
        Func::LeadingZeros,
        Func::TrailingZeros,
        Func::ToBits,
        Func::FromBits,
        Func::Max,
        Func::Min,
        Func::Copysign,
        Func::Powf,
        Func::Powi,
        Func::Atan2,
        Func::Hypot,
        Func::RemEuclid,
        Func::DivEuclid,
        Func::AbsDiff,
        Func::SaturatingAdd,
        Func::SaturatingSub,
        Func::RotateLeft,
        Func::RotateRight,
        Func::MulAdd,
    ];

    /// The name of the method in Rust that has this meaning on floats (on integers `neg` and
    /// `abs` are the wrapping ones): `sqrt`, `mul_add`, `neg`.
    pub const fn name(self) -> &'static str {
        match self {
            Func::Neg => "neg",
            Func::Not => "not",
            Func::Abs => "abs",
            Func::Signum => "signum",
            Func::Sqrt => "sqrt",
            Func::Cbrt => "cbrt",
            Func::Recip => "recip",
            Func::Floor => "floor",
            Func::Ceil => "ceil",
            Func::Trunc => "trunc",
            Func::Round => "round",
            Func::RoundTiesEven => "round_ties_even",
            Func::Exp => "exp",
            Func::Exp2 => "exp2",
            Func::ExpM1 => "exp_m1",
            Func::Ln => "ln",
            Func::Log2 => "log2",
            Func::Log10 => "log10",
            Func::Ln1p => "ln_1p",
            Func::Sin => "sin",
            Func::Cos => "cos",
            Func::Tan => "tan",
            Func::Asin => "asin",
            Func::Acos => "acos",
            Func::Atan => "atan",
            Func::Sinh => "sinh",
            Func::Cosh => "cosh",
            Func::Tanh => "tanh",
            Func::IsNan => "is_nan",
            Func::IsFinite => "is_finite",
            Func::CountOnes => "count_ones",
            Func::LeadingZeros => "leading_zeros",
            Func::TrailingZeros => "trailing_zeros",
            Func::ToBits => "to_bits",
            Func::FromBits => "from_bits",
            Func::Max => "max",
            Func::Min => "min",
            Func::Copysign => "copysign",
            Func::Powf => "powf",
            Func::Powi => "powi",
            Func::Atan2 => "atan2",
            Func::Hypot => "hypot",
            Func::RemEuclid => "rem_euclid",
            Func::DivEuclid => "div_euclid",
            Func::AbsDiff => "abs_diff",
            Func::SaturatingAdd => "saturating_add",
            Func::SaturatingSub => "saturating_sub",
            Func::RotateLeft => "rotate_left",
            Func::RotateRight => "rotate_right",
            Func::MulAdd => "mul_add",
        }
    }

    /// The function called `name`.
    pub fn from_name(name: &str) -> Option<Func> {
        Func::ALL.into_iter().find(|func| func.name() == name)
    }
}

impl BinaryOp {
    /// Every operator, in declaration order.
    pub const ALL: [BinaryOp; 10] = [
        BinaryOp::Add,
        BinaryOp::Sub,
        BinaryOp::Mul,
        BinaryOp::Div,
        BinaryOp::Rem,
        BinaryOp::And,
        BinaryOp::Or,
        BinaryOp::Xor,
        BinaryOp::Shl,
        BinaryOp::Shr,
    ];

    /// The operator in Rust: `+`, `<<`.
    pub const fn symbol(self) -> &'static str {
        match self {
            BinaryOp::Add => "+",
            BinaryOp::Sub => "-",
            BinaryOp::Mul => "*",
            BinaryOp::Div => "/",
            BinaryOp::Rem => "%",
            BinaryOp::And => "&",
            BinaryOp::Or => "|",
            BinaryOp::Xor => "^",
            BinaryOp::Shl => "<<",
            BinaryOp::Shr => ">>",
        }
    }

    /// How tightly the operator binds, as in Rust: 1 (`|`) to 6 (`*`).
    pub(crate) const fn precedence(self) -> u8 {
        match self {
            BinaryOp::Or => 1,
            BinaryOp::Xor => 2,
            BinaryOp::And => 3,
            BinaryOp::Shl | BinaryOp::Shr => 4,
            BinaryOp::Add | BinaryOp::Sub => 5,
            BinaryOp::Mul | BinaryOp::Div | BinaryOp::Rem => 6,
        }
    }
}

impl CompareOp {
    /// Every comparison, in declaration order.
    pub const ALL: [CompareOp; 6] = [
        CompareOp::Lt,
        CompareOp::Le,
        CompareOp::Gt,
        CompareOp::Ge,
        CompareOp::Eq,
        CompareOp::Ne,
    ];

    /// The operator in Rust: `<`, `!=`.
    pub const fn symbol(self) -> &'static str {
        match self {
            CompareOp::Lt => "<",
            CompareOp::Le => "<=",
            CompareOp::Gt => ">",
            CompareOp::Ge => ">=",
            CompareOp::Eq => "==",
            CompareOp::Ne => "!=",
        }
    }

    /// Whether `a <op> b` holds when `a` and `b` compare as `ordering` (`None`: a NaN is involved).
    pub fn holds(self, ordering: Option<std::cmp::Ordering>) -> bool {
        use std::cmp::Ordering::{Equal, Greater, Less};
        match self {
            CompareOp::Lt => ordering == Some(Less),
            CompareOp::Le => matches!(ordering, Some(Less | Equal)),
            CompareOp::Gt => ordering == Some(Greater),
            CompareOp::Ge => matches!(ordering, Some(Greater | Equal)),
            CompareOp::Eq => ordering == Some(Equal),
            CompareOp::Ne => ordering != Some(Equal),
        }
    }
}
