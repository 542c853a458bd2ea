//! Methods of bytes as ASCII characters.

use pragma_spec::Scalar;
use proc_macro2::Span;

use super::error::Lift;
use super::fold;
use super::reader::{Reader, bool_num};
use super::types::Ty;
use super::value::{Num, Place, Value};
use crate::ir::{BinaryOp, CompareOp, Const, Expr};

fn byte(value: u8) -> Expr {
    Expr::Const(Const::Int(Scalar::U8, i128::from(value)))
}

/// Whether `value` is in one of the ranges, both ends included.
fn within(value: &Expr, ranges: &[(u8, u8)]) -> Expr {
    let mut any: Option<Expr> = None;
    for (lo, hi) in ranges {
        let is = if lo == hi {
            fold::compare(CompareOp::Eq, value.clone(), byte(*lo))
        } else {
            fold::binary(
                BinaryOp::And,
                fold::compare(CompareOp::Ge, value.clone(), byte(*lo)),
                fold::compare(CompareOp::Le, value.clone(), byte(*hi)),
            )
        };
        any = Some(match any {
            Some(any) => fold::binary(BinaryOp::Or, any, is),
            None => is,
        });
    }
    any.unwrap_or(Expr::Const(Const::Bool(false)))
}

impl Reader<'_> {
    /// `byte.is_ascii_digit()` and its like; `None` if `name` is none of them.
    pub(super) fn ascii_method(
        &mut self,
        num: &Num,
        name: &str,
        place: &Place,
        span: Span,
    ) -> Lift<Option<Value>> {
        let ranges: &[(u8, u8)] = match name {
            "is_ascii" => &[(0, 127)],
            "is_ascii_digit" => &[(b'0', b'9')],
            "is_ascii_lowercase" => &[(b'a', b'z')],
            "is_ascii_uppercase" => &[(b'A', b'Z')],
            "is_ascii_alphabetic" => &[(b'a', b'z'), (b'A', b'Z')],
            "is_ascii_alphanumeric" => &[(b'a', b'z'), (b'A', b'Z'), (b'0', b'9')],
            "is_ascii_hexdigit" => &[(b'0', b'9'), (b'a', b'f'), (b'A', b'F')],
            "is_ascii_whitespace" => &[(9, 10), (12, 13), (32, 32)],
            "is_ascii_graphic" => &[(33, 126)],
            "is_ascii_control" => &[(0, 31), (127, 127)],
            "is_ascii_punctuation" => &[(33, 47), (58, 64), (91, 96), (123, 126)],
            "to_ascii_lowercase" | "make_ascii_lowercase" => &[(b'A', b'Z')],
            "to_ascii_uppercase" | "make_ascii_uppercase" => &[(b'a', b'z')],
            _ => return Ok(None),
        };
        self.unify(num.ty, Ty::Known(Scalar::U8), span)?;
        let num = self.shared("byte", num.clone());
        let is = within(&num.expr, ranges);
        if name.starts_with("is_") {
            return Ok(Some(Value::Scalar(bool_num(is))));
        }
        // The case is one bit.
        let turned = fold::binary(BinaryOp::Xor, num.expr.clone(), byte(32));
        let turned = Value::scalar(fold::select(is, turned, num.expr), Ty::Known(Scalar::U8));
        if name.starts_with("make_") {
            self.write(place, turned, span)?;
            return Ok(Some(Value::Unit));
        }
        Ok(Some(turned))
    }
}
