//! Expressions: pure, typed, without side effects.
//!
//! Operators follow Rust in release mode exactly: integers wrap, shifts mask their count, `as`
//! saturates, comparisons with NaN are false (`!=` is true).

use pragma_spec::Scalar;

use super::{BufId, Program, VarId};

/// A literal. Integers hold their value, floats their exact value as `f64`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Const {
    /// `true` or `false`.
    Bool(bool),
    /// An integer of the given type; the value is in its range.
    Int(Scalar, i128),
    /// A float of the given type; the value is exactly representable in it.
    Float(Scalar, f64),
}

impl Const {
    /// The literal's type.
    pub fn scalar(self) -> Scalar {
        match self {
            Const::Bool(_) => Scalar::Bool,
            Const::Int(scalar, _) | Const::Float(scalar, _) => scalar,
        }
    }
}

/// Arithmetic and bitwise operators. Both operands and the result have one type, except the
/// count of a shift, which may be any integer type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BinaryOp {
    /// `+`, wrapping on integers.
    Add,
    /// `-`, wrapping on integers.
    Sub,
    /// `*`, wrapping on integers.
    Mul,
    /// `/`. Integer division by zero (and `MIN / -1`) panics in Rust: see `verify`.
    Div,
    /// `%`.
    Rem,
    /// `&` on integers, `&` and `&&` on `bool` (expressions have no effects, so both agree).
    And,
    /// `|` on integers, `|` and `||` on `bool`.
    Or,
    /// `^`.
    Xor,
    /// `<<` with the count masked to the width.
    Shl,
    /// `>>`, arithmetic on signed types, with the count masked to the width.
    Shr,
}

/// Comparisons; operands of one type, result `bool`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CompareOp {
    /// `<`.
    Lt,
    /// `<=`.
    Le,
    /// `>`.
    Gt,
    /// `>=`.
    Ge,
    /// `==`.
    Eq,
    /// `!=`.
    Ne,
}

/// Functions of one to three scalars, named and defined as the methods of Rust's primitives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Func {
    /// `-x` (wrapping on integers).
    Neg,
    /// `!x` on integers and `bool`.
    Not,
    /// `abs` (`wrapping_abs` on integers).
    Abs,
    /// `signum` of a float or integer.
    Signum,
    /// `sqrt`.
    Sqrt,
    /// `cbrt`.
    Cbrt,
    /// `recip`.
    Recip,
    /// `floor`.
    Floor,
    /// `ceil`.
    Ceil,
    /// `trunc`.
    Trunc,
    /// `round`, half away from zero.
    Round,
    /// `round_ties_even`.
    RoundTiesEven,
    /// `exp`.
    Exp,
    /// `exp2`.
    Exp2,
    /// `exp_m1`.
    ExpM1,
    /// `ln`.
    Ln,
    /// `log2`.
    Log2,
    /// `log10`.
    Log10,
    /// `ln_1p`.
    Ln1p,
    /// `sin`.
    Sin,
    /// `cos`.
    Cos,
    /// `tan`.
    Tan,
    /// `asin`.
    Asin,
    /// `acos`.
    Acos,
    /// `atan`.
    Atan,
    /// `sinh`.
    Sinh,
    /// `cosh`.
    Cosh,
    /// `tanh`.
    Tanh,
    /// `is_nan`, result `bool`.
    IsNan,
    /// `is_finite`, result `bool`.
    IsFinite,
    /// `count_ones`, result `u32`.
    CountOnes,
    /// `leading_zeros`, result `u32`.
    LeadingZeros,
    /// `trailing_zeros`, result `u32`.
    TrailingZeros,
    /// `to_bits`: a float's bits as the unsigned integer of its width.
    ToBits,
    /// `f32::from_bits` / `f64::from_bits` of a `u32` / `u64`.
    FromBits,
    /// Two arguments: `max`. On floats a NaN is ignored.
    Max,
    /// Two arguments: `min`. On floats a NaN is ignored.
    Min,
    /// Two arguments: `copysign`.
    Copysign,
    /// Two arguments: `powf`.
    Powf,
    /// Two arguments: a float and an `i32`: `powi`.
    Powi,
    /// Two arguments: `atan2`.
    Atan2,
    /// Two arguments: `hypot`.
    Hypot,
    /// Two arguments: `rem_euclid`.
    RemEuclid,
    /// Two arguments: `div_euclid`.
    DivEuclid,
    /// Two arguments: `abs_diff` (result unsigned).
    AbsDiff,
    /// Two arguments: `saturating_add`.
    SaturatingAdd,
    /// Two arguments: `saturating_sub`.
    SaturatingSub,
    /// Two arguments: `rotate_left` by a `u32`.
    RotateLeft,
    /// Two arguments: `rotate_right` by a `u32`.
    RotateRight,
    /// Three arguments: `mul_add`, one rounding.
    MulAdd,
}

/// A pure expression.
#[derive(Clone, Debug, PartialEq)]
pub enum Expr {
    /// A literal.
    Const(Const),
    /// The current value of a scalar variable, parameter or loop counter.
    Var(VarId),
    /// The size named by `Program::dims[i]`, a `usize`.
    Dim(usize),
    /// One element of a buffer; `index` is a flat element index of type `usize`.
    Load {
        /// The buffer read.
        buf: BufId,
        /// Flat element index, `usize`.
        index: Box<Expr>,
    },
    /// An operator on two operands.
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    /// A comparison.
    Compare(CompareOp, Box<Expr>, Box<Expr>),
    /// `if cond { then } else { otherwise }`; both sides are pure, so either may be evaluated.
    Select {
        /// The condition, `bool`.
        cond: Box<Expr>,
        /// Value where the condition holds.
        then: Box<Expr>,
        /// Value elsewhere, of the same type.
        otherwise: Box<Expr>,
    },
    /// `value as scalar`, with Rust's meaning.
    Cast(Scalar, Box<Expr>),
    /// A function application; see [`Func`] for the number of arguments.
    Call(Func, Vec<Expr>),
}

impl Expr {
    /// A `usize` literal.
    pub fn index(value: u64) -> Self {
        Expr::Const(Const::Int(Scalar::Usize, i128::from(value)))
    }

    /// A binary operation.
    pub fn binary(op: BinaryOp, a: Expr, b: Expr) -> Self {
        Expr::Binary(op, Box::new(a), Box::new(b))
    }

    /// A comparison.
    pub fn compare(op: CompareOp, a: Expr, b: Expr) -> Self {
        Expr::Compare(op, Box::new(a), Box::new(b))
    }

    /// An element of `buf`.
    pub fn load(buf: BufId, index: Expr) -> Self {
        Expr::Load {
            buf,
            index: Box::new(index),
        }
    }

    /// The type of this expression in `program`.
    pub fn scalar(&self, program: &Program) -> Scalar {
        match self {
            Expr::Const(value) => value.scalar(),
            Expr::Var(var) => program.var(*var).scalar,
            Expr::Dim(_) => Scalar::Usize,
            Expr::Load { buf, .. } => program.buf(*buf).elem,
            Expr::Binary(_, a, _) => a.scalar(program),
            Expr::Compare(..) => Scalar::Bool,
            Expr::Select { then, .. } => then.scalar(program),
            Expr::Cast(scalar, _) => *scalar,
            Expr::Call(func, args) => {
                let first = args.first().map_or(Scalar::Bool, |arg| arg.scalar(program));
                func.result(first)
            }
        }
    }

    /// Calls `visit` on this expression and every one inside it, parents first.
    pub fn walk<'a>(&'a self, visit: &mut dyn FnMut(&'a Expr)) {
        visit(self);
        match self {
            Expr::Const(_) | Expr::Var(_) | Expr::Dim(_) => {}
            Expr::Load { index, .. } => index.walk(visit),
            Expr::Binary(_, a, b) | Expr::Compare(_, a, b) => {
                a.walk(visit);
                b.walk(visit);
            }
            Expr::Select {
                cond,
                then,
                otherwise,
            } => {
                cond.walk(visit);
                then.walk(visit);
                otherwise.walk(visit);
            }
            Expr::Cast(_, value) => value.walk(visit),
            Expr::Call(_, args) => args.iter().for_each(|arg| arg.walk(visit)),
        }
    }

    /// Rebuilds the expression bottom-up: `edit` sees every node after its children.
    #[must_use]
    pub fn map(self, edit: &mut dyn FnMut(Expr) -> Expr) -> Expr {
        let node = match self {
            leaf @ (Expr::Const(_) | Expr::Var(_) | Expr::Dim(_)) => leaf,
            Expr::Load { buf, index } => Expr::Load {
                buf,
                index: Box::new(index.map(edit)),
            },
            Expr::Binary(op, a, b) => Expr::binary(op, a.map(edit), b.map(edit)),
            Expr::Compare(op, a, b) => Expr::compare(op, a.map(edit), b.map(edit)),
            Expr::Select {
                cond,
                then,
                otherwise,
            } => Expr::Select {
                cond: Box::new(cond.map(edit)),
                then: Box::new(then.map(edit)),
                otherwise: Box::new(otherwise.map(edit)),
            },
            Expr::Cast(scalar, value) => Expr::Cast(scalar, Box::new(value.map(edit))),
            Expr::Call(func, args) => {
                Expr::Call(func, args.into_iter().map(|arg| arg.map(edit)).collect())
            }
        };
        edit(node)
    }

    /// Whether the variable occurs in this expression.
    pub fn mentions(&self, var: VarId) -> bool {
        let mut found = false;
        self.walk(&mut |expr| found |= matches!(expr, Expr::Var(v) if *v == var));
        found
    }
}

impl Func {
    /// The result type when the first argument has type `first`.
    pub fn result(self, first: Scalar) -> Scalar {
        match self {
            Func::IsNan | Func::IsFinite => Scalar::Bool,
            Func::CountOnes | Func::LeadingZeros | Func::TrailingZeros => Scalar::U32,
            Func::ToBits => match first {
                Scalar::F64 => Scalar::U64,
                Scalar::F32 => Scalar::U32,
                _ => Scalar::U16,
            },
            Func::FromBits => match first {
                Scalar::U64 => Scalar::F64,
                _ => Scalar::F32,
            },
            Func::AbsDiff => match first {
                Scalar::I8 => Scalar::U8,
                Scalar::I16 => Scalar::U16,
                Scalar::I32 => Scalar::U32,
                Scalar::I64 => Scalar::U64,
                Scalar::Isize => Scalar::Usize,
                other => other,
            },
            _ => first,
        }
    }

    /// The number of arguments.
    pub fn arity(self) -> usize {
        match self {
            Func::MulAdd => 3,
            Func::Max
            | Func::Min
            | Func::Copysign
            | Func::Powf
            | Func::Powi
            | Func::Atan2
            | Func::Hypot
            | Func::RemEuclid
            | Func::DivEuclid
            | Func::AbsDiff
            | Func::SaturatingAdd
            | Func::SaturatingSub
            | Func::RotateLeft
            | Func::RotateRight => 2,
            _ => 1,
        }
    }
}
