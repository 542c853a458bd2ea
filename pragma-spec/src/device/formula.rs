//! Sizes of launches and scratch memory as formulas over dimensions.
//!
//! Owns the text form, its reading and its value. `DimExpr` is for shapes, where an overflow is a refusal; here
//! arithmetic saturates, since a launch that is too large is refused by its limits anyway.

use std::fmt;
use std::str::FromStr;

/// A size over dimensions, in saturating `u64` arithmetic.
///
/// The text is Rust over `u64` values: `(n + 3).div_ceil(1024).min(132)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Formula {
    /// A number.
    Const(u64),
    /// A dimension.
    Dim(String),
    /// A value made of two others.
    Of(Op, Box<Formula>, Box<Formula>),
}

/// What a formula does with two values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// Sum.
    Add,
    /// Difference, 0 where it would be negative.
    Sub,
    /// Product.
    Mul,
    /// Quotient, rounded down; the divisor counts as at least 1.
    Div,
    /// Quotient, rounded up; the divisor counts as at least 1.
    DivCeil,
    /// The lesser.
    Min,
    /// The greater.
    Max,
}

impl Op {
    const ALL: [(Op, &'static str); 7] = [
        (Op::Add, "+"),
        (Op::Mul, "*"),
        (Op::Div, "/"),
        (Op::Sub, "saturating_sub"),
        (Op::DivCeil, "div_ceil"),
        (Op::Min, "min"),
        (Op::Max, "max"),
    ];

    fn text(self) -> &'static str {
        Op::ALL
            .iter()
            .find(|(op, _)| *op == self)
            .map_or("", |(_, text)| text)
    }

    const fn is_infix(self) -> bool {
        matches!(self, Op::Add | Op::Mul | Op::Div)
    }

    /// The value.
    pub fn apply(self, a: u64, b: u64) -> u64 {
        match self {
            Op::Add => a.saturating_add(b),
            Op::Sub => a.saturating_sub(b),
            Op::Mul => a.saturating_mul(b),
            Op::Div => a / b.max(1),
            Op::DivCeil => a.div_ceil(b.max(1)),
            Op::Min => a.min(b),
            Op::Max => a.max(b),
        }
    }
}

impl Formula {
    /// A value made of two others.
    pub fn of(op: Op, a: Formula, b: Formula) -> Self {
        Formula::Of(op, Box::new(a), Box::new(b))
    }

    /// The value; `None` if a dimension is unknown.
    pub fn eval(&self, lookup: &dyn Fn(&str) -> Option<u64>) -> Option<u64> {
        match self {
            Formula::Const(value) => Some(*value),
            Formula::Dim(name) => lookup(name),
            Formula::Of(op, a, b) => Some(op.apply(a.eval(lookup)?, b.eval(lookup)?)),
        }
    }

    /// Calls `visit` with the name of every dimension, with repeats.
    pub fn for_each_dim<'a>(&'a self, visit: &mut dyn FnMut(&'a str)) {
        match self {
            Formula::Const(_) => {}
            Formula::Dim(name) => visit(name),
            Formula::Of(_, a, b) => {
                a.for_each_dim(visit);
                b.for_each_dim(visit);
            }
        }
    }

    fn is_infix(&self) -> bool {
        matches!(self, Formula::Of(op, ..) if op.is_infix())
    }
}

impl fmt::Display for Formula {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let inside = |f: &mut fmt::Formatter<'_>, part: &Formula| {
            if part.is_infix() {
                write!(f, "({part})")
            } else {
                write!(f, "{part}")
            }
        };
        match self {
            Formula::Const(value) => write!(f, "{value}"),
            Formula::Dim(name) => f.write_str(name),
            Formula::Of(op, a, b) if op.is_infix() => {
                inside(f, a)?;
                write!(f, " {} ", op.text())?;
                inside(f, b)
            }
            Formula::Of(op, a, b) => {
                match &**a {
                    // A method on a bare number would have no type.
                    Formula::Const(value) => write!(f, "{value}u64")?,
                    a => inside(f, a)?,
                }
                write!(f, ".{}({b})", op.text())
            }
        }
    }
}

/// The text is no formula.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a size over dimensions")]
pub struct InvalidFormula(pub String);

impl FromStr for Formula {
    type Err = InvalidFormula;

    fn from_str(text: &str) -> Result<Self, InvalidFormula> {
        syn::parse_str::<syn::Expr>(text)
            .ok()
            .and_then(|expr| read(&expr))
            .ok_or_else(|| InvalidFormula(text.to_owned()))
    }
}

fn read(expr: &syn::Expr) -> Option<Formula> {
    let pair = |op, a: &syn::Expr, b: &syn::Expr| Some(Formula::of(op, read(a)?, read(b)?));
    match expr {
        syn::Expr::Paren(inner) => read(&inner.expr),
        syn::Expr::Group(inner) => read(&inner.expr),
        syn::Expr::Lit(literal) => match &literal.lit {
            syn::Lit::Int(int) if matches!(int.suffix(), "" | "u64") => {
                int.base10_parse().ok().map(Formula::Const)
            }
            _ => None,
        },
        syn::Expr::Path(path) => {
            let name = path.path.get_ident()?;
            Some(Formula::Dim(crate::signature::name_of(name)))
        }
        syn::Expr::Field(_) => match crate::DimExpr::from_str(&tokens(expr)).ok()? {
            crate::DimExpr::Dim(name) => Some(Formula::Dim(name)),
            _ => None,
        },
        syn::Expr::Binary(binary) => {
            let op = match binary.op {
                syn::BinOp::Add(_) => Op::Add,
                syn::BinOp::Mul(_) => Op::Mul,
                syn::BinOp::Div(_) => Op::Div,
                _ => return None,
            };
            pair(op, &binary.left, &binary.right)
        }
        syn::Expr::MethodCall(call) => {
            let method = call.method.to_string();
            let (op, _) = Op::ALL
                .into_iter()
                .find(|(op, text)| !op.is_infix() && *text == method)?;
            if call.args.len() != 1 {
                return None;
            }
            pair(op, &call.receiver, call.args.first()?)
        }
        _ => None,
    }
}

fn tokens(expr: &syn::Expr) -> String {
    quote::ToTokens::to_token_stream(expr).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formulas_read_back_and_have_values() {
        let dims = |name: &str| match name {
            "n" => Some(1022),
            "m" => Some(7),
            _ => None,
        };
        for (text, value) in [
            ("(n + 3).div_ceil(1024).min(132)", 2),
            ("n * (m + n)", 1022 * 1029),
            ("m.saturating_sub(n)", 0),
            ("8u64.max(m) / 3", 2),
            ("4 * n", 4088),
        ] {
            let formula: Formula = text.parse().expect("a formula");
            assert_eq!(formula.to_string(), text);
            assert_eq!(formula.eval(&dims), Some(value), "{text}");
        }
        let huge: Formula = "n * 18446744073709551615".parse().expect("a formula");
        assert_eq!(huge.eval(&dims), Some(u64::MAX));
        let nothing: Formula = "n / 0".parse().expect("a formula");
        assert_eq!(nothing.eval(&dims), Some(1022));
        let unknown: Formula = "k".parse().expect("a formula");
        assert_eq!(unknown.eval(&dims), None);
    }

    #[test]
    fn what_is_no_formula_is_refused() {
        for text in [
            "", "n - 1", "n.pow(2)", "1.5", "n.min()", "f(n)", "n; m", "-1",
        ] {
            assert!(text.parse::<Formula>().is_err(), "{text}");
        }
    }
}
