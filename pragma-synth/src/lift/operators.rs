//! Operators: arithmetic with the panics that Rust has, comparisons, `&&` and `||`.

use pragma_spec::Scalar;
use proc_macro2::Span;
use syn::spanned::Spanned;

use super::error::Lift;
use super::expr::may_change;
use super::fold;
use super::reader::{Literal, Reader, binary, bool_const, bool_num, call1};
use super::types::{Class, Ty, Written};
use super::value::{Num, Value};
use crate::ir::{BinaryOp, CompareOp, Const, Expr, Func};

impl Reader<'_> {
    pub(super) fn unary(&mut self, unary: &syn::ExprUnary) -> Lift<Value> {
        let span = unary.span();
        match unary.op {
            syn::UnOp::Deref(_) => {
                let place = self.place(&unary.expr)?;
                let place = match self.follow(place, span)? {
                    // `*array` of a reference is the array itself.
                    super::value::Place::Sub(view) if fold::as_int(&view.len).is_some() => {
                        super::value::Place::Sub(super::value::View {
                            own: super::value::Own::Array,
                            ..view
                        })
                    }
                    place => place,
                };
                self.take(&place, span)
            }
            syn::UnOp::Neg(_) => {
                let value = self.eval(&unary.expr)?;
                if matches!(value, Value::Struct(..)) {
                    return self.operator("neg", vec![value], span);
                }
                let num = self.num(value, unary.expr.span())?;
                if let Some((literal, _, at)) = self.as_literal(&num.expr).cloned() {
                    let negated = match literal {
                        Literal::Int(value) => Literal::Int(-value),
                        Literal::Float(text) => Literal::Float(match text.strip_prefix('-') {
                            Some(positive) => positive.to_owned(),
                            None => format!("-{text}"),
                        }),
                        other => other,
                    };
                    let result = self.literal(negated, at);
                    self.unify(result.ty, num.ty, span)?;
                    return Ok(Value::Scalar(result));
                }
                Ok(Value::Scalar(match &num.expr {
                    Expr::Const(Const::Float(scalar, value)) => Num {
                        expr: Expr::Const(Const::Float(*scalar, -value)),
                        ty: num.ty,
                    },
                    Expr::Const(Const::Int(scalar, value)) => Num {
                        expr: Expr::Const(Const::Int(*scalar, fold::wrap(-value, *scalar))),
                        ty: num.ty,
                    },
                    _ => {
                        let ty = num.ty;
                        call1(Func::Neg, num, ty)
                    }
                }))
            }
            syn::UnOp::Not(_) => {
                let num = self.eval_num(&unary.expr)?;
                if self.types.resolve(num.ty) == Ty::Known(Scalar::Bool) {
                    return Ok(Value::Scalar(bool_num(fold::not(num.expr))));
                }
                let ty = num.ty;
                Ok(Value::Scalar(call1(Func::Not, num, ty)))
            }
            _ => Err(self.unknown(span, "this operator")),
        }
    }

    pub(super) fn binary_expr(&mut self, expr: &syn::ExprBinary) -> Lift<Value> {
        use syn::BinOp;
        let span = expr.span();
        let arithmetic = |op| match op {
            BinOp::Add(_) | BinOp::AddAssign(_) => Some((BinaryOp::Add, "add")),
            BinOp::Sub(_) | BinOp::SubAssign(_) => Some((BinaryOp::Sub, "sub")),
            BinOp::Mul(_) | BinOp::MulAssign(_) => Some((BinaryOp::Mul, "mul")),
            BinOp::Div(_) | BinOp::DivAssign(_) => Some((BinaryOp::Div, "div")),
            BinOp::Rem(_) | BinOp::RemAssign(_) => Some((BinaryOp::Rem, "rem")),
            BinOp::BitAnd(_) | BinOp::BitAndAssign(_) => Some((BinaryOp::And, "bitand")),
            BinOp::BitOr(_) | BinOp::BitOrAssign(_) => Some((BinaryOp::Or, "bitor")),
            BinOp::BitXor(_) | BinOp::BitXorAssign(_) => Some((BinaryOp::Xor, "bitxor")),
            BinOp::Shl(_) | BinOp::ShlAssign(_) => Some((BinaryOp::Shl, "shl")),
            BinOp::Shr(_) | BinOp::ShrAssign(_) => Some((BinaryOp::Shr, "shr")),
            _ => None,
        };
        let compares = match expr.op {
            BinOp::Lt(_) => Some(CompareOp::Lt),
            BinOp::Le(_) => Some(CompareOp::Le),
            BinOp::Gt(_) => Some(CompareOp::Gt),
            BinOp::Ge(_) => Some(CompareOp::Ge),
            BinOp::Eq(_) => Some(CompareOp::Eq),
            BinOp::Ne(_) => Some(CompareOp::Ne),
            _ => None,
        };
        if matches!(expr.op, BinOp::And(_) | BinOp::Or(_)) {
            return self.short_circuit(expr);
        }
        let assigns = matches!(
            expr.op,
            BinOp::AddAssign(_)
                | BinOp::SubAssign(_)
                | BinOp::MulAssign(_)
                | BinOp::DivAssign(_)
                | BinOp::RemAssign(_)
                | BinOp::BitAndAssign(_)
                | BinOp::BitOrAssign(_)
                | BinOp::BitXorAssign(_)
                | BinOp::ShlAssign(_)
                | BinOp::ShrAssign(_)
        );
        if let (true, Some((op, name))) = (assigns, arithmetic(expr.op)) {
            // For primitives the right side is evaluated first.
            let right = self.eval(&expr.right)?;
            let place = self.place(&expr.left)?;
            let place = self.follow(place, span)?;
            let stored = self.peek(&place, expr.left.span())?;
            if let Some(array) = self.as_nd(&stored, span)? {
                self.nd_assign(op, &array, right, span)?;
                return Ok(Value::Unit);
            }
            let left = self.read(&place, expr.left.span())?;
            let value = if matches!(left, Value::Struct(..)) {
                return self.assign_operator(name, &place, left, right, span);
            } else {
                let (a, b) = (
                    self.num(left, expr.left.span())?,
                    self.num(right, expr.right.span())?,
                );
                self.arithmetic(op, a, b, span)?
            };
            self.write(&place, Value::Scalar(value), span)?;
            return Ok(Value::Unit);
        }
        let mut left = self.eval(&expr.left)?;
        if may_change(&expr.right) {
            left = self.hold(left, "left")?;
        }
        let right = self.eval(&expr.right)?;
        if let Some(op) = compares {
            return self.compare_values(op, left, right, span);
        }
        let Some((op, name)) = arithmetic(expr.op) else {
            return Err(self.unknown(span, "this operator"));
        };
        let (left, right) = (self.target(left, span)?, self.target(right, span)?);
        if matches!(left, Value::Nd(_)) || matches!(right, Value::Nd(_)) {
            return self.nd_binary(op, left, right, span);
        }
        if matches!(left, Value::Struct(..)) || matches!(right, Value::Struct(..)) {
            return self.operator(name, vec![left, right], span);
        }
        let (a, b) = (
            self.num(left, expr.left.span())?,
            self.num(right, expr.right.span())?,
        );
        Ok(Value::Scalar(self.arithmetic(op, a, b, span)?))
    }

    /// `value`, or what it refers to.
    pub(super) fn target(&mut self, value: Value, span: Span) -> Lift<Value> {
        match value {
            Value::Ref(place, _) => {
                let place = self.follow(*place, span)?;
                self.read(&place, span)
            }
            other => Ok(other),
        }
    }

    /// `a op b`, with the panics that Rust has.
    pub(super) fn arithmetic(&mut self, op: BinaryOp, a: Num, b: Num, span: Span) -> Lift<Num> {
        if !matches!(op, BinaryOp::Shl | BinaryOp::Shr) {
            self.unify(a.ty, b.ty, span)?;
        }
        // Literals meet literals before anything says what they are.
        if let (Some((Literal::Int(x), ..)), Some((Literal::Int(y), ..))) =
            (self.as_literal(&a.expr), self.as_literal(&b.expr))
            && self.types.resolve(a.ty) == self.types.resolve(b.ty)
            && matches!(self.types.resolve(a.ty), Ty::Open(_))
        {
            let value = match op {
                BinaryOp::Add => x.checked_add(*y),
                BinaryOp::Sub => x.checked_sub(*y),
                BinaryOp::Mul => x.checked_mul(*y),
                _ => None,
            };
            if let Some(value) = value {
                let result = self.literal(Literal::Int(value), span);
                self.unify(result.ty, a.ty, span)?;
                return Ok(result);
            }
        }
        let a = Num {
            expr: self.settle(a.expr),
            ty: a.ty,
        };
        let b = Num {
            expr: self.settle(b.expr),
            ty: b.ty,
        };
        let class = self.types.class(a.ty);
        if matches!(op, BinaryOp::Div | BinaryOp::Rem) && class == Class::Int {
            return self.int_division(op, a, b, span);
        }
        let result = binary(op, a, b);
        Ok(result)
    }

    pub(super) fn int_division(&mut self, op: BinaryOp, a: Num, b: Num, span: Span) -> Lift<Num> {
        let ty = a.ty;
        let known = self.types.resolve(ty);
        let constant = match self.as_literal(&b.expr) {
            Some((Literal::Int(value), ..)) => Some(*value),
            _ => fold::as_int(&b.expr),
        };
        if constant == Some(0) {
            return Err(self.refuse(span, "division by zero", "this always panics", "remove it"));
        }
        let b = self.stable("divisor", b);
        if known == Ty::Known(Scalar::Usize) {
            if constant.is_none() && !self.positive(&b.expr) {
                let zero = self.decide(CompareOp::Eq, b.expr.clone(), Expr::index(0));
                // Lengths that shapes will make positive need no check in the end.
                self.panic_if(zero);
            }
            let expr = if op == BinaryOp::Div {
                self.quotient(a.expr, b.expr, constant.is_none())?
            } else {
                self.remainder(a.expr, b.expr)
            };
            return Ok(Num { expr, ty });
        }
        if constant.is_none_or(|value| value == -1) {
            let Ty::Known(scalar) = known else {
                return Err(self.unknown(span, "dividing integers whose type is not known yet"));
            };
            let zero = Expr::Const(Const::Int(scalar, 0));
            if constant.is_none() {
                self.panic_if(fold::compare(CompareOp::Eq, b.expr.clone(), zero));
            }
            if scalar.is_signed() {
                let least = -(1i128 << (8 * scalar.bytes() - 1));
                let int = |value| Expr::Const(Const::Int(scalar, value));
                let a_least = fold::compare(CompareOp::Eq, a.expr.clone(), int(least));
                let by_minus = fold::compare(CompareOp::Eq, b.expr.clone(), int(-1));
                self.panic_if(fold::binary(BinaryOp::And, by_minus, a_least));
            }
        }
        Ok(binary(op, a, b))
    }

    pub(super) fn short_circuit(&mut self, expr: &syn::ExprBinary) -> Lift<Value> {
        let is_and = matches!(expr.op, syn::BinOp::And(_));
        let left = self.eval(&expr.left)?;
        let left = self.boolean(left, expr.left.span())?;
        match fold::as_bool(&left) {
            Some(value) if value != is_and => return Ok(Value::Scalar(bool_num(left))),
            Some(_) => {
                let right = self.eval(&expr.right)?;
                let right = self.boolean(right, expr.right.span())?;
                return Ok(Value::Scalar(bool_num(right)));
            }
            None => {}
        }
        let left = if may_change(&expr.right) {
            self.stable("left", bool_num(left)).expr
        } else {
            left
        };
        let taken = if is_and {
            left.clone()
        } else {
            fold::not(left.clone())
        };
        let (block, (right, safe)) = self.branch(&taken, |reader| {
            let right = reader.eval(&expr.right)?;
            let right = reader.boolean(right, expr.right.span())?;
            let safe = reader.is_safe(&right);
            Ok((right, safe))
        })?;
        let op = if is_and { BinaryOp::And } else { BinaryOp::Or };
        if block.is_empty() && safe {
            return Ok(Value::Scalar(bool_num(fold::binary(op, left, right))));
        }
        let result = self.cell("holds", bool_num(left));
        let mut block = block;
        block.push(crate::ir::Stmt::Assign {
            var: result,
            value: right,
        });
        let cond = Expr::Var(result);
        self.emit(crate::ir::Stmt::If {
            cond: if is_and {
                cond.clone()
            } else {
                fold::not(cond.clone())
            },
            then: block,
            otherwise: Vec::new(),
        });
        Ok(Value::Scalar(bool_num(cond)))
    }

    /// `a op b` of any comparable values.
    pub(super) fn compare_values(
        &mut self,
        op: CompareOp,
        a: Value,
        b: Value,
        span: Span,
    ) -> Lift<Value> {
        let (a, b) = (self.target(a, span)?, self.target(b, span)?);
        if let (Value::Tuple(xs), Value::Tuple(ys)) = (&a, &b)
            && matches!(op, CompareOp::Eq | CompareOp::Ne)
            && xs.len() == ys.len()
        {
            let mut all = bool_const(true);
            for (x, y) in xs.iter().zip(ys) {
                let equal = self.compare_values(CompareOp::Eq, x.clone(), y.clone(), span)?;
                let equal = self.boolean(equal, span)?;
                all = fold::binary(BinaryOp::And, all, equal);
            }
            let result = if op == CompareOp::Eq {
                all
            } else {
                fold::not(all)
            };
            return Ok(Value::Scalar(bool_num(result)));
        }
        if let (Value::Variant(_, x), Value::Variant(_, y)) = (&a, &b) {
            let (x, y) = (x.clone(), y.clone());
            return Ok(Value::Scalar(bool_num(fold::compare(op, x, y))));
        }
        if let (Value::Struct(kind, xs), Value::Struct(other, ys)) = (&a, &b)
            && kind == other
            && xs.len() == ys.len()
        {
            let parts = |fields: &[(String, Value)]| {
                Value::Tuple(fields.iter().map(|(_, field)| field.clone()).collect())
            };
            return self.compare_values(op, parts(xs), parts(ys), span);
        }
        if let (Value::Order(x), Value::Order(y)) = (&a, &b) {
            let same = |p: &Expr, q: &Expr| fold::compare(CompareOp::Eq, p.clone(), q.clone());
            let equal = fold::binary(
                BinaryOp::And,
                same(&x.less, &y.less),
                same(&x.equal, &y.equal),
            );
            match op {
                CompareOp::Eq => return Ok(Value::Scalar(bool_num(equal))),
                CompareOp::Ne => return Ok(Value::Scalar(bool_num(fold::not(equal)))),
                _ => {}
            }
        }
        let (a, b) = (self.num(a, span)?, self.num(b, span)?);
        self.unify(a.ty, b.ty, span)?;
        let (x, y) = (self.settle(a.expr), self.settle(b.expr));
        let result = if self.types.resolve(a.ty) == Ty::Known(Scalar::Usize)
            && self.is_stable(&x)
            && self.is_stable(&y)
        {
            self.decide(op, x, y)
        } else {
            fold::compare(op, x, y)
        };
        Ok(Value::Scalar(bool_num(result)))
    }

    pub(super) fn cast_expr(&mut self, cast: &syn::ExprCast) -> Lift<Value> {
        let span = cast.span();
        let Written::Scalar(to) = self.written(&cast.ty)? else {
            return Err(self.unknown(span, "a cast to this type"));
        };
        let value = self.eval(&cast.expr)?;
        let value = self.target(value, span)?;
        let num = match value {
            Value::Variant(kind, index) => self.discriminant(&kind, index, span)?,
            value => self.num(value, cast.expr.span())?,
        };
        Ok(Value::Scalar(self.cast(num, to, span)?))
    }

    /// Whether a counter is below a parameter of type `narrow`, so that a cast to that type and
    /// back changes nothing.
    fn fits(&mut self, counter: &Expr, narrow: Scalar) -> bool {
        if !matches!(counter, Expr::Var(_)) || self.ty_of(counter) != Some(Scalar::Usize) {
            return false;
        }
        let counter = self.poly(counter);
        let params = self.request.signature.params.iter();
        let bounds: Vec<usize> = params
            .filter(|param| param.kind == pragma_spec::ParamKind::Scalar(narrow))
            .filter_map(|param| self.table.find(&param.name))
            .filter(|dim| {
                !narrow.is_signed()
                    || self.positive_dims.contains(dim)
                    || self.optimistic.contains(dim)
            })
            .collect();
        bounds.into_iter().any(|dim| {
            let bound = super::poly::Poly::atom(super::poly::Atom::Dim(dim));
            self.nonneg(&bound.sub(&counter).sub(&super::poly::Poly::constant(1)))
        })
    }

    /// `num as to`.
    pub(super) fn cast(&mut self, num: Num, to: Scalar, span: Span) -> Lift<Num> {
        if self.as_literal(&num.expr).is_some() {
            let class = self.types.class(num.ty);
            let same = (class == Class::Int && to.is_integer())
                || (class == Class::Float && to.is_float());
            if same {
                // rustc takes the cast as a hint for the literal's type.
                self.types.unify(num.ty, Ty::Known(to));
            }
        }
        let expr = self.settle(num.expr);
        if matches!(to, Scalar::F16 | Scalar::Bf16) {
            return Err(self.unknown(span, "a cast to a half type"));
        }
        let from = match self.types.resolve(num.ty) {
            Ty::Known(scalar) => Some(scalar),
            Ty::Open(_) => None,
        };
        // An integer parameter seen as a size: `n as usize`.
        if to == Scalar::Usize
            && let Expr::Cast(_, inner) = &expr
            && let Expr::Dim(dim) = **inner
            && self
                .table
                .dims
                .get(dim)
                .is_some_and(|entry| entry.origin == super::shapes::Origin::Param)
        {
            return Ok(Num {
                expr: self.dim(dim),
                ty: Ty::Known(to),
            });
        }
        if to == Scalar::Usize
            && let Expr::Cast(narrow, inner) = &expr
            && self.fits(inner, *narrow)
        {
            return Ok(Num {
                expr: (**inner).clone(),
                ty: Ty::Known(to),
            });
        }
        Ok(Num {
            expr: fold::cast(to, from, expr),
            ty: Ty::Known(to),
        })
    }
}
