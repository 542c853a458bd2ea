//! Sizes as symbolic expressions over named dimensions: `rows`, `d`, `n - k + 1`.
//!
//! Owns the expression type, its text form and its evaluation. Solving a set of shapes for the
//! dimensions is `guard`'s business.

use std::fmt;
use std::str::FromStr;

use crate::attribute_grammar::{ShapeText, dim_expr};

/// An expression over non-negative dimensions. Evaluated in checked `u64` arithmetic.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DimExpr {
    /// A literal size.
    Const(u64),
    /// A named dimension; a path where it is an integer inside of a parameter: `self.width`.
    Dim(String),
    /// Sum.
    Add(Box<DimExpr>, Box<DimExpr>),
    /// Difference; a negative result makes the whole evaluation fail.
    Sub(Box<DimExpr>, Box<DimExpr>),
    /// Product.
    Mul(Box<DimExpr>, Box<DimExpr>),
    /// Quotient rounded down; a zero divisor makes the whole evaluation fail.
    Div(Box<DimExpr>, Box<DimExpr>),
}

impl DimExpr {
    /// A named dimension.
    pub fn dim(name: impl Into<String>) -> Self {
        DimExpr::Dim(name.into())
    }

    /// The product of `factors`, `1` when there are none.
    pub fn product(factors: &[DimExpr]) -> Self {
        let mut factors = factors.iter().cloned();
        let first = factors.next().unwrap_or(DimExpr::Const(1));
        factors.fold(first, |a, b| DimExpr::Mul(Box::new(a), Box::new(b)))
    }

    /// The value under `lookup`, or `None` if a dimension is unknown, or the arithmetic
    /// overflows, goes negative or divides by zero.
    pub fn eval(&self, lookup: &dyn Fn(&str) -> Option<u64>) -> Option<u64> {
        match self {
            DimExpr::Const(value) => Some(*value),
            DimExpr::Dim(name) => lookup(name),
            DimExpr::Add(a, b) => a.eval(lookup)?.checked_add(b.eval(lookup)?),
            DimExpr::Sub(a, b) => a.eval(lookup)?.checked_sub(b.eval(lookup)?),
            DimExpr::Mul(a, b) => a.eval(lookup)?.checked_mul(b.eval(lookup)?),
            DimExpr::Div(a, b) => a.eval(lookup)?.checked_div(b.eval(lookup)?),
        }
    }

    /// Calls `visit` with the name of every dimension, in order of appearance, with repeats.
    pub fn for_each_dim<'a>(&'a self, visit: &mut dyn FnMut(&'a str)) {
        match self {
            DimExpr::Const(_) => {}
            DimExpr::Dim(name) => visit(name),
            DimExpr::Add(a, b) | DimExpr::Sub(a, b) | DimExpr::Mul(a, b) | DimExpr::Div(a, b) => {
                a.for_each_dim(visit);
                b.for_each_dim(visit);
            }
        }
    }

    fn precedence(&self) -> u8 {
        match self {
            DimExpr::Const(_) | DimExpr::Dim(_) => 3,
            DimExpr::Mul(..) | DimExpr::Div(..) => 2,
            DimExpr::Add(..) | DimExpr::Sub(..) => 1,
        }
    }

    fn write(&self, f: &mut fmt::Formatter<'_>, min: u8) -> fmt::Result {
        if self.precedence() < min {
            f.write_str("(")?;
            self.write(f, 0)?;
            return f.write_str(")");
        }
        let (a, op, b) = match self {
            DimExpr::Const(value) => return write!(f, "{value}"),
            DimExpr::Dim(name) => return write_path(f, name),
            DimExpr::Add(a, b) => (a, '+', b),
            DimExpr::Sub(a, b) => (a, '-', b),
            DimExpr::Mul(a, b) => (a, '*', b),
            DimExpr::Div(a, b) => (a, '/', b),
        };
        let level = self.precedence();
        a.write(f, level)?;
        write!(f, " {op} ")?;
        b.write(f, level + 1)
    }
}

impl fmt::Display for DimExpr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, 0)
    }
}

/// A path of names such that it can be read again: keywords are raw.
fn write_path(f: &mut fmt::Formatter<'_>, path: &str) -> fmt::Result {
    for (i, name) in path.split('.').enumerate() {
        let plain = (i == 0 && name == "self")
            || (i > 0 && name.starts_with(|c: char| c.is_ascii_digit()))
            || syn::parse_str::<syn::Ident>(name).is_ok();
        let dot = if i > 0 { "." } else { "" };
        write!(f, "{dot}{}{name}", if plain { "" } else { "r#" })?;
    }
    Ok(())
}

/// The extents of one array, outermost first: `[rows, d]`. Row-major, contiguous.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct Shape(pub Vec<DimExpr>);

impl Shape {
    /// The number of elements, as an expression.
    pub fn len(&self) -> DimExpr {
        DimExpr::product(&self.0)
    }

    /// Whether there are no extents at all (a scalar).
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[")?;
        for (i, extent) in self.0.iter().enumerate() {
            if i > 0 {
                f.write_str(", ")?;
            }
            write!(f, "{extent}")?;
        }
        f.write_str("]")
    }
}

/// The text is not a size or a shape.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a {1}")]
pub struct InvalidShape(pub String, pub &'static str);

impl FromStr for DimExpr {
    type Err = InvalidShape;

    fn from_str(text: &str) -> Result<Self, InvalidShape> {
        let expr = syn::parse_str::<syn::Expr>(text).ok();
        expr.and_then(|expr| dim_expr(&expr).ok())
            .ok_or_else(|| InvalidShape(text.to_owned(), "size"))
    }
}

impl FromStr for Shape {
    type Err = InvalidShape;

    fn from_str(text: &str) -> Result<Self, InvalidShape> {
        match syn::parse_str::<ShapeText>(text) {
            Ok(ShapeText(shape)) => Ok(shape),
            Err(_) => Err(InvalidShape(text.to_owned(), "shape")),
        }
    }
}
