//! How large an integer can be, by what it is made of: a byte, a masked word, a shifted one.

use pragma_spec::Scalar;

use super::fold;
use super::reader::Reader;
use crate::ir::{BinaryOp, Expr, Func};

impl Reader<'_> {
    /// The greatest value that an integer expression can have because of what it is made of.
    pub(super) fn most(&self, expr: &Expr) -> Option<i128> {
        let ty = self.ty_of(expr);
        let of_type = ty.filter(|ty| ty.is_integer()).map(|ty| {
            let bits = 8 * ty.bytes() as u32 - u32::from(ty.is_signed());
            (1i128 << bits) - 1
        });
        let found = match expr {
            Expr::Const(_) => fold::as_int(expr),
            Expr::Var(var) => match self.bounds.get(var) {
                Some((_, high)) => high.as_constant(),
                None => None,
            },
            Expr::Cast(to, inner) if to.is_integer() => {
                let from = self.ty_of(inner)?;
                let most = if from == Scalar::Bool {
                    Some(1)
                } else if from.is_integer() && !from.is_signed() {
                    self.most(inner)
                } else {
                    None
                };
                // Narrowing may wrap to anything.
                most.filter(|most| Some(*most) <= of_type)
            }
            Expr::Binary(op, a, b) => {
                let unsigned = ty.is_some_and(|ty| ty.is_integer() && !ty.is_signed());
                let (x, y) = (self.most(a), self.most(b));
                let small = |value: i128| Some(value).filter(|value| Some(*value) <= of_type);
                match op {
                    BinaryOp::And if unsigned => match (x, y) {
                        (Some(x), Some(y)) => Some(x.min(y)),
                        (one, other) => one.or(other),
                    },
                    BinaryOp::Shr if unsigned => {
                        let by = u32::try_from(fold::as_int(b)?).ok()?;
                        x.map(|x| x >> by.min(127))
                    }
                    BinaryOp::Rem if unsigned => y.map(|y| (y - 1).max(0)),
                    BinaryOp::Div if unsigned => {
                        let by = fold::as_int(b).filter(|by| *by > 0)?;
                        x.map(|x| x / by)
                    }
                    BinaryOp::Add if unsigned => small(x?.checked_add(y?)?),
                    BinaryOp::Mul if unsigned => small(x?.checked_mul(y?)?),
                    BinaryOp::Or | BinaryOp::Xor if unsigned => {
                        let bits = 128 - x?.max(y?).leading_zeros();
                        Some((1i128 << bits) - 1)
                    }
                    _ => None,
                }
            }
            Expr::Call(Func::Min, args) => args.iter().filter_map(|arg| self.most(arg)).min(),
            Expr::Select {
                then, otherwise, ..
            } => Some(self.most(then)?.max(self.most(otherwise)?)),
            _ => None,
        };
        match (found, of_type) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (one, other) => one.or(other),
        }
    }
}
