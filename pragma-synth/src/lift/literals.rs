//! Literals, whose types follow from where they stand.

use pragma_spec::Scalar;
use proc_macro2::Span;

use super::fold;
use super::reader::{LITERALS, Reader};
use super::types::{Class, Ty};
use super::value::Num;
use crate::ir::{Const, Expr, VarId};

/// A literal without a type of its own.
#[derive(Clone, Debug)]
pub(super) enum Literal {
    Int(i128),
    /// The decimal text, to be rounded once its type is known.
    Float(String),
    /// Zero of any type.
    Zero,
    /// What `sum` starts from: `0`, or `-0.0`, which leaves every float as it is.
    SumStart,
    /// What `product` starts from.
    One,
}

impl Reader<'_> {
    /// A literal whose type is open.
    pub(super) fn literal(&mut self, literal: Literal, span: Span) -> Num {
        let class = match literal {
            Literal::Int(_) => Class::Int,
            Literal::Float(_) => Class::Float,
            Literal::Zero | Literal::SumStart | Literal::One => Class::Any,
        };
        let ty = self.types.open(class);
        self.literals.push((literal, ty, span));
        Num {
            expr: Expr::Var(VarId(LITERALS + self.literals.len() as u32 - 1)),
            ty,
        }
    }

    /// The literal that `expr` stands for.
    pub(super) fn as_literal(&self, expr: &Expr) -> Option<&(Literal, Ty, Span)> {
        match expr {
            Expr::Var(var) => self.literals.get(var.0.checked_sub(LITERALS)? as usize),
            _ => None,
        }
    }

    /// A constant of a settled type, if the literal fits it.
    pub(super) fn constant(literal: &Literal, scalar: Scalar) -> Option<Const> {
        match literal {
            Literal::Int(value) if scalar.is_integer() => {
                fold::in_range(*value, scalar).then_some(Const::Int(scalar, *value))
            }
            Literal::Float(text) => match scalar {
                Scalar::F32 => text
                    .parse::<f32>()
                    .ok()
                    .map(|value| Const::Float(scalar, f64::from(value))),
                Scalar::F64 => text.parse().ok().map(|value| Const::Float(scalar, value)),
                _ => None,
            },
            Literal::Int(_) => None,
            Literal::Zero if scalar == Scalar::Bool => Some(Const::Bool(false)),
            Literal::Zero | Literal::SumStart | Literal::One => {
                let (int, float) = match literal {
                    Literal::SumStart => (0, -0.0),
                    Literal::One => (1, 1.0),
                    _ => (0, 0.0),
                };
                if scalar.is_integer() {
                    Some(Const::Int(scalar, int))
                } else {
                    scalar.is_float().then_some(Const::Float(scalar, float))
                }
            }
        }
    }

    /// `expr` with the literals in it whose types are known by now made constants.
    pub(super) fn settle(&self, expr: Expr) -> Expr {
        expr.map(&mut |part| {
            let Some((literal, ty, _)) = self.as_literal(&part) else {
                return part;
            };
            match self.types.resolve(*ty) {
                Ty::Known(scalar) => Self::constant(literal, scalar).map_or(part, Expr::Const),
                Ty::Open(_) => part,
            }
        })
    }
}
