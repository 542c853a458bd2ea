//! Scalar expressions as Rust.
//!
//! Owns the spelling of values, operators and functions in a kernel's scalar code. Buffers are
//! raw pointers there; an access that analysis could not show to be in bounds is checked.

use std::collections::BTreeMap;

use pragma_spec::Scalar;

use crate::analyze::bounds::Scope;
use crate::ir::{BinaryOp, BufId, CompareOp, Const, Expr, Func, Program, VarId};

/// How tightly a printed expression binds, weakest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Tightness {
    Lowest,
    OrElse,
    AndThen,
    Compare,
    BitOr,
    BitXor,
    BitAnd,
    Shift,
    Sum,
    Product,
    Cast,
    Unary,
    Postfix,
}

/// A printed expression.
#[derive(Clone, Debug)]
pub(super) struct Printed {
    pub text: String,
    pub tightness: Tightness,
}

impl Printed {
    fn new(text: impl Into<String>, tightness: Tightness) -> Self {
        Printed {
            text: text.into(),
            tightness,
        }
    }

    /// The text, in parentheses if it binds less tightly than `min`.
    pub fn at_least(&self, min: Tightness) -> String {
        if self.tightness < min {
            format!("({})", self.text)
        } else {
            self.text.clone()
        }
    }
}

/// What scalar code needs to know about its surroundings.
#[derive(Clone, Debug)]
pub(super) struct Native<'a> {
    pub program: &'a Program,
    /// Spellings of variables that differ from their names.
    pub names: BTreeMap<VarId, String>,
    /// The loops and definitions around: what is known about indices.
    pub scope: Scope,
}

impl Native<'_> {
    pub fn var(&self, var: VarId) -> String {
        self.names
            .get(&var)
            .cloned()
            .unwrap_or_else(|| self.program.var(var).name.clone())
    }

    /// The expression as text that can stand anywhere a full expression can.
    pub fn text(&self, expr: &Expr) -> String {
        self.print(expr).text
    }

    /// The pointer to an element: `x.add(i)`.
    pub fn place(&self, buf: BufId, index: &Expr) -> String {
        let name = &self.program.buf(buf).name;
        let proven = self.scope.is_in_bounds(self.program, buf, index);
        let index = self.text(index);
        if !proven {
            return format!("{name}.add(checked({index}, {name}_len))");
        }
        if index == "0" {
            name.clone()
        } else {
            format!("{name}.add({index})")
        }
    }

    pub fn print(&self, expr: &Expr) -> Printed {
        match expr {
            Expr::Const(value) => constant(*value),
            Expr::Var(var) => Printed::new(self.var(*var), Tightness::Postfix),
            Expr::Dim(dim) => Printed::new(&self.program.dims[*dim], Tightness::Postfix),
            Expr::Load { buf, index } => {
                Printed::new(format!("*{}", self.place(*buf, index)), Tightness::Unary)
            }
            Expr::Binary(op, a, b) => self.binary(*op, a, b),
            Expr::Compare(op, a, b) => {
                let symbol = match op {
                    CompareOp::Lt => "<",
                    CompareOp::Le => "<=",
                    CompareOp::Gt => ">",
                    CompareOp::Ge => ">=",
                    CompareOp::Eq => "==",
                    CompareOp::Ne => "!=",
                };
                // A cast directly in front of `<` would read as the start of generics.
                let mut left = self.print_beside(a, b).at_least(Tightness::BitOr);
                if ends_in_type(&left) {
                    left = format!("({left})");
                }
                let right = self.print(b).at_least(Tightness::BitOr);
                Printed::new(format!("{left} {symbol} {right}"), Tightness::Compare)
            }
            Expr::Select {
                cond,
                then,
                otherwise,
            } => Printed::new(
                format!(
                    "if {} {{ {} }} else {{ {} }}",
                    self.text(cond),
                    self.print_beside(then, otherwise).text,
                    self.text(otherwise)
                ),
                Tightness::Lowest,
            ),
            Expr::Cast(scalar, value) => {
                let from = value.scalar(self.program);
                if from == *scalar {
                    return self.print_typed(value);
                }
                let value = self.print_typed(value).at_least(Tightness::Cast);
                Printed::new(format!("{value} as {scalar}"), Tightness::Cast)
            }
            Expr::Call(func, args) => self.call(*func, args),
        }
    }

    /// The expression where nothing else gives a bare literal its type: it gets a suffix.
    pub fn print_typed(&self, expr: &Expr) -> Printed {
        match expr {
            Expr::Const(Const::Int(Scalar::Usize, value)) => {
                Printed::new(format!("{value}_usize"), Tightness::Postfix)
            }
            _ => self.print(expr),
        }
    }

    /// The expression beside another one, which gives it its type unless that is a literal too.
    pub fn print_beside(&self, expr: &Expr, other: &Expr) -> Printed {
        match other {
            Expr::Const(_) => self.print_typed(expr),
            _ => self.print(expr),
        }
    }

    fn binary(&self, op: BinaryOp, a: &Expr, b: &Expr) -> Printed {
        let scalar = a.scalar(self.program);
        let (symbol, level) = match op {
            BinaryOp::Add => ("+", Tightness::Sum),
            BinaryOp::Sub => ("-", Tightness::Sum),
            BinaryOp::Mul => ("*", Tightness::Product),
            BinaryOp::Div => ("/", Tightness::Product),
            BinaryOp::Rem => ("%", Tightness::Product),
            // The left side may guard a load on the right.
            BinaryOp::And if scalar == Scalar::Bool => ("&&", Tightness::AndThen),
            BinaryOp::Or if scalar == Scalar::Bool => ("||", Tightness::OrElse),
            BinaryOp::And => ("&", Tightness::BitAnd),
            BinaryOp::Or => ("|", Tightness::BitOr),
            BinaryOp::Xor => ("^", Tightness::BitXor),
            BinaryOp::Shl => ("<<", Tightness::Shift),
            BinaryOp::Shr => (">>", Tightness::Shift),
        };
        let wrapping = match op {
            BinaryOp::Add => Some("wrapping_add"),
            BinaryOp::Sub => Some("wrapping_sub"),
            BinaryOp::Mul => Some("wrapping_mul"),
            BinaryOp::Shl => Some("wrapping_shl"),
            BinaryOp::Shr => Some("wrapping_shr"),
            _ => None,
        };
        if let Some(method) = wrapping
            && scalar.is_integer()
            && !self.is_plain_index(op, a, b)
        {
            let receiver = self.receiver(a);
            let shift = matches!(op, BinaryOp::Shl | BinaryOp::Shr);
            let arg = match (shift, b.scalar(self.program)) {
                (true, from) if from != Scalar::U32 => {
                    format!("{} as u32", self.print_typed(b).at_least(Tightness::Cast))
                }
                _ => self.text(b),
            };
            return Printed::new(format!("{receiver}.{method}({arg})"), Tightness::Postfix);
        }
        let mut left = self.print_beside(a, b).at_least(level);
        if symbol == "<<" && ends_in_type(&left) {
            left = format!("({left})");
        }
        // The right operand must bind tighter: operators of one level group to the left.
        let right = self.print(b);
        let right = if right.tightness <= level {
            format!("({})", right.text)
        } else {
            right.text
        };
        Printed::new(format!("{left} {symbol} {right}"), level)
    }

    /// Whether the variable is a counter of a loop around, or a sum of products of such and sizes.
    fn counts(&self, var: VarId) -> bool {
        self.scope
            .ranges
            .iter()
            .any(|range| range.counter && range.var == var)
            || self
                .scope
                .definitions
                .get(var)
                .is_some_and(|meaning| meaning.is_nonnegative_termwise())
    }

    /// Index arithmetic that cannot wrap where the access it serves is in bounds: sums and
    /// products of sizes and counters.
    fn is_plain_index(&self, op: BinaryOp, a: &Expr, b: &Expr) -> bool {
        if a.scalar(self.program) != Scalar::Usize || !matches!(op, BinaryOp::Add | BinaryOp::Mul) {
            return false;
        }
        let mut plain = true;
        for side in [a, b] {
            side.walk(&mut |node| {
                plain &= match node {
                    Expr::Const(_) | Expr::Dim(_) => true,
                    Expr::Var(var) => self.counts(*var),
                    Expr::Binary(op, ..) => matches!(op, BinaryOp::Add | BinaryOp::Mul),
                    _ => false,
                };
            });
        }
        plain
    }

    /// An expression that a method can be called on.
    fn receiver(&self, expr: &Expr) -> String {
        let printed = self.print_typed(expr);
        // A negative literal would be negated after the call.
        if printed.text.starts_with('-') {
            return format!("({})", printed.text);
        }
        printed.at_least(Tightness::Postfix)
    }

    fn call(&self, func: Func, args: &[Expr]) -> Printed {
        let scalar = args
            .first()
            .map_or(Scalar::Bool, |arg| arg.scalar(self.program));
        let Some(first) = args.first() else {
            return Printed::new("()", Tightness::Postfix);
        };
        match func {
            Func::Neg if scalar.is_float() => {
                let value = self.print(first);
                let value = if value.text.starts_with('-') {
                    format!("({})", value.text)
                } else {
                    value.at_least(Tightness::Unary)
                };
                return Printed::new(format!("-{value}"), Tightness::Unary);
            }
            Func::Not => {
                let value = self.print_typed(first).at_least(Tightness::Unary);
                return Printed::new(format!("!{value}"), Tightness::Unary);
            }
            Func::FromBits => {
                let float = func.result(scalar);
                return Printed::new(
                    format!("{float}::from_bits({})", self.text(first)),
                    Tightness::Postfix,
                );
            }
            _ => {}
        }
        let rest: Vec<String> = args[1..].iter().map(|arg| self.text(arg)).collect();
        let text = format!(
            "{}.{}({})",
            self.receiver(first),
            method(func, scalar),
            rest.join(", ")
        );
        Printed::new(text, Tightness::Postfix)
    }
}

/// Whether text ends in `as f32`.
fn ends_in_type(text: &str) -> bool {
    let mut words = text.rsplit(' ');
    let last = words.next();
    words.next() == Some("as") && last.is_some_and(|word| word.parse::<Scalar>().is_ok())
}

/// The Rust method of a function on a value of type `scalar`.
fn method(func: Func, scalar: Scalar) -> &'static str {
    match func {
        Func::Neg => "wrapping_neg",
        Func::Not => "not",
        Func::Abs if scalar.is_integer() => "wrapping_abs",
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

/// A literal, with its type where Rust could not tell.
pub(super) fn constant(value: Const) -> Printed {
    match value {
        Const::Bool(value) => Printed::new(value.to_string(), Tightness::Postfix),
        Const::Int(Scalar::Usize, value) => Printed::new(value.to_string(), Tightness::Postfix),
        Const::Int(scalar, value) => {
            let tightness = if value < 0 {
                Tightness::Unary
            } else {
                Tightness::Postfix
            };
            Printed::new(format!("{value}_{scalar}"), tightness)
        }
        Const::Float(scalar, value) if value.is_nan() => {
            Printed::new(format!("{scalar}::NAN"), Tightness::Postfix)
        }
        Const::Float(scalar, value) if value.is_infinite() => {
            let name = if value > 0.0 {
                "INFINITY"
            } else {
                "NEG_INFINITY"
            };
            Printed::new(format!("{scalar}::{name}"), Tightness::Postfix)
        }
        Const::Float(scalar, value) => {
            // The shortest text that reads back as this value of this type.
            let digits = match scalar {
                Scalar::F32 => format!("{:?}", value as f32),
                _ => format!("{value:?}"),
            };
            let tightness = if digits.starts_with('-') {
                Tightness::Unary
            } else {
                Tightness::Postfix
            };
            Printed::new(format!("{digits}_{scalar}"), tightness)
        }
    }
}
