//! Comparing numbers: `partial_cmp`, `cmp`, `total_cmp`.

use pragma_spec::Scalar;
use proc_macro2::Span;
use syn::spanned::Spanned;

use super::error::Lift;
use super::fold;
use super::reader::Reader;
use super::types::{Class, Ty};
use super::value::{Num, Order, Value};
use crate::ir::{BinaryOp, CompareOp, Const, Expr, Func};

impl Reader<'_> {
    pub(super) fn compare_method(
        &mut self,
        num: Num,
        name: &str,
        mut args: Vec<Value>,
        span: Span,
    ) -> Lift<Value> {
        if args.len() != 1 {
            return Err(self.unknown(span, format!("`{name}` here")));
        }
        let arg = args.remove(0);
        if name == "then_some" {
            let some = self.boolean(Value::Scalar(num), span)?;
            return Ok(Value::Option {
                some,
                value: Box::new(arg),
            });
        }
        if name == "then" {
            return Err(self.unknown(span, "`then`"));
        }
        let other = self.num(arg, span)?;
        self.unify(num.ty, other.ty, span)?;
        let a = Num {
            expr: self.settle(num.expr),
            ty: num.ty,
        };
        let b = Num {
            expr: self.settle(other.expr),
            ty: other.ty,
        };
        let (a, b) = (self.shared("a", a), self.shared("b", b));
        let less = fold::compare(CompareOp::Lt, a.expr.clone(), b.expr.clone());
        let equal = fold::compare(CompareOp::Eq, a.expr.clone(), b.expr.clone());
        let float = self.types.class(a.ty) == Class::Float;
        match name {
            "cmp" if !float => Ok(Value::Order(Order { less, equal })),
            "partial_cmp" if float => {
                let nan = |num: &Num| Expr::Call(Func::IsNan, vec![num.expr.clone()]);
                let either = fold::binary(BinaryOp::Or, nan(&a), nan(&b));
                Ok(Value::Option {
                    some: fold::not(either),
                    value: Box::new(Value::Order(Order { less, equal })),
                })
            }
            "partial_cmp" => Ok(Value::Option {
                some: super::reader::bool_const(true),
                value: Box::new(Value::Order(Order { less, equal })),
            }),
            "total_cmp" if float => {
                let (a, b) = (self.total_key(a, span)?, self.total_key(b, span)?);
                Ok(Value::Order(Order {
                    less: fold::compare(CompareOp::Lt, a.clone(), b.clone()),
                    equal: fold::compare(CompareOp::Eq, a, b),
                }))
            }
            _ => Err(self.unknown(span, format!("`{name}` of this type"))),
        }
    }

    /// The integer that orders floats as `total_cmp` does: the bits, with those of negative
    /// numbers flipped below the sign.
    pub(super) fn total_key(&mut self, num: Num, span: Span) -> Lift<Expr> {
        let (unsigned, signed, shift) = match self.types.resolve(num.ty) {
            Ty::Known(Scalar::F32) => (Scalar::U32, Scalar::I32, 31),
            Ty::Known(Scalar::F64) => (Scalar::U64, Scalar::I64, 63),
            _ => return Err(self.unknown(span, "`total_cmp` of this type")),
        };
        let bits = Expr::Call(Func::ToBits, vec![num.expr]);
        let bits = fold::cast(signed, Some(unsigned), bits);
        let bits = self
            .let_temp(
                "bits",
                Num {
                    expr: bits,
                    ty: Ty::Known(signed),
                },
            )
            .expr;
        let count = |n| Expr::Const(Const::Int(Scalar::U32, n));
        let sign = fold::binary(BinaryOp::Shr, bits.clone(), count(shift));
        let mask = fold::binary(
            BinaryOp::Shr,
            fold::cast(unsigned, Some(signed), sign),
            count(1),
        );
        let mask = fold::cast(signed, Some(unsigned), mask);
        let key = fold::binary(BinaryOp::Xor, bits, mask);
        let ty = Ty::Known(signed);
        Ok(self.let_temp("key", Num { expr: key, ty }).expr)
    }

    /// `order.name(args)`.
    pub(super) fn order_method(
        &mut self,
        order: Order,
        call: &syn::ExprMethodCall,
        mut args: Vec<Value>,
    ) -> Lift<Value> {
        let span = call.span();
        let name = call.method.to_string();
        let not_less = fold::not(fold::binary(
            BinaryOp::Or,
            order.less.clone(),
            order.equal.clone(),
        ));
        let flag = |expr| Ok(Value::Scalar(super::reader::bool_num(expr)));
        match (name.as_str(), args.len()) {
            ("reverse", 0) => Ok(Value::Order(Order {
                less: not_less,
                equal: order.equal,
            })),
            ("is_lt", 0) => flag(order.less),
            ("is_gt", 0) => flag(not_less),
            ("is_eq", 0) => flag(order.equal),
            ("is_ne", 0) => flag(fold::not(order.equal)),
            ("is_le", 0) => flag(fold::binary(BinaryOp::Or, order.less, order.equal)),
            ("is_ge", 0) => flag(fold::not(order.less)),
            ("then" | "then_with", 1) => {
                let other = args.remove(0);
                let other = match other {
                    Value::Callee(function) => self.apply(&function, Vec::new(), span)?,
                    other => other,
                };
                let Value::Order(second) = other else {
                    return Err(self.wrong_kind(span, &other, "an `Ordering`"));
                };
                let pick = |a: Expr, b: Expr| fold::select(order.equal.clone(), b, a);
                Ok(Value::Order(Order {
                    less: pick(order.less.clone(), second.less),
                    equal: fold::binary(BinaryOp::And, order.equal.clone(), second.equal),
                }))
            }
            _ => Err(self.unknown(span, format!("the method `{name}` of an `Ordering`"))),
        }
    }
}
