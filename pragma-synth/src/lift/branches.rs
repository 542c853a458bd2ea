//! Branches: reading both sides of a condition and joining what they leave.

use proc_macro2::Span;

use super::error::Lift;
use super::fold;
use super::reader::{Reader, bool_const};
use super::types::Ty;
use super::value::{Own, Value};
use crate::ir::{Expr, Stmt};

impl Reader<'_> {
    /// Reads what runs only where `cond` holds.
    pub(super) fn branch<T>(
        &mut self,
        cond: &Expr,
        read: impl FnOnce(&mut Self) -> Lift<T>,
    ) -> Lift<(Vec<Stmt>, T)> {
        let outside = self.conditional;
        self.conditional += 1;
        let result = self.block(|reader| {
            reader.assume(cond);
            read(reader)
        });
        self.conditional = outside;
        result
    }

    /// A branch, together with what it leaves in the slots.
    pub(super) fn branch_state<T>(
        &mut self,
        cond: &Expr,
        read: impl FnOnce(&mut Self) -> Lift<T>,
    ) -> Lift<(Vec<Stmt>, T, Vec<Value>)> {
        let before = self.slots.clone();
        let (block, value) = self.branch(cond, read)?;
        let mut after = std::mem::replace(&mut self.slots, before.clone());
        // Slots made inside stay allocated, so that ids stay unique.
        self.slots.extend(after.iter().skip(before.len()).cloned());
        after.truncate(before.len());
        Ok((block, value, after))
    }

    /// What the slots hold after two branches; `None` for one that does not come back.
    pub(super) fn merge_states(
        &mut self,
        first: Option<Vec<Value>>,
        second: Option<Vec<Value>>,
        span: Span,
    ) -> Lift<()> {
        let state = match (first, second) {
            (None, None) => return Ok(()),
            (Some(state), None) | (None, Some(state)) => state,
            (Some(a), Some(b)) => {
                // The second has those slots too that the first made.
                let common = a.len().min(b.len());
                let grows = a[..common].iter().zip(&b[..common]).any(|(a, b)| {
                    matches!((a, b), (Value::View(a), Value::View(b))
                        if a != b && a.own == Own::Vec && a.buf == b.buf)
                });
                if grows {
                    return Err(self.refuse(
                        span,
                        "how long this `Vec` becomes depends on data",
                        "a kernel's results have lengths that follow from its arguments",
                        "write into `out: &mut [_]` and return how much of it was used",
                    ));
                }
                if a[..common] != b[..common] {
                    return Err(self.refuse(
                        span,
                        "a slice, an iterator or the length of a `Vec` changes on one path only",
                        "the loop nest must know where a slice begins and how long it is",
                        "use an index and an `if` around the access, not around the slice",
                    ));
                }
                a
            }
        };
        for (slot, value) in self.slots.iter_mut().zip(state) {
            *slot = value;
        }
        Ok(())
    }

    /// `if cond { then } else { otherwise }` of two finished branches, as a value.
    pub(super) fn join(
        &mut self,
        cond: Expr,
        (then, a): (Vec<Stmt>, Value),
        (otherwise, b): (Vec<Stmt>, Value),
        span: Span,
    ) -> Lift<Value> {
        match (&a, &b) {
            (Value::Never, _) if !self.is_soft() => {
                self.emit_if(cond.clone(), then, Vec::new());
                let holds = fold::not(cond);
                self.assume(&holds);
                for stmt in otherwise {
                    self.emit(stmt);
                }
                return Ok(b);
            }
            (_, Value::Never) if !self.is_soft() => {
                self.emit_if(fold::not(cond.clone()), otherwise, Vec::new());
                self.assume(&cond);
                for stmt in then {
                    self.emit(stmt);
                }
                return Ok(a);
            }
            (Value::Never, Value::Never) => {
                self.emit_if(cond, then, otherwise);
                return Ok(Value::Never);
            }
            (Value::Unit | Value::Never, Value::Unit | Value::Never) => {
                self.emit_if(cond, then, otherwise);
                return Ok(Value::Unit);
            }
            _ => {}
        }
        if then.is_empty()
            && otherwise.is_empty()
            && let Some(value) = self.select(&cond, &a, &b, span)?
        {
            return Ok(value);
        }
        let shape = if a == Value::Never { &b } else { &a };
        let first = self.blank(shape, span)?;
        let storage = self.storage("value", first, span)?;
        let (then, ()) = self.continue_block(then, |reader| reader.assign(&storage, a, span))?;
        let (otherwise, ()) =
            self.continue_block(otherwise, |reader| reader.assign(&storage, b, span))?;
        self.emit_if(cond, then, otherwise);
        self.read_value(storage)
    }

    /// Appends to a block that was closed.
    pub(super) fn continue_block<T>(
        &mut self,
        block: Vec<Stmt>,
        read: impl FnOnce(&mut Self) -> Lift<T>,
    ) -> Lift<(Vec<Stmt>, T)> {
        let (more, value) = self.block(read)?;
        let mut block = block;
        block.extend(more);
        Ok((block, value))
    }

    /// A value of the same make as `value`, to be overwritten.
    pub(super) fn blank(&mut self, value: &Value, span: Span) -> Lift<Value> {
        Ok(match value {
            Value::Scalar(num) => {
                let expr = match self.types.resolve(num.ty) {
                    Ty::Known(scalar) => super::reader::zero(scalar).expr,
                    Ty::Open(_) => self.open_zero(num.ty),
                };
                Value::scalar(expr, num.ty)
            }
            Value::Ref(place, _) => {
                let value = self.read(place, span)?;
                if matches!(value, Value::Ref(..)) {
                    return Err(self.unknown(span, "a reference to a reference"));
                }
                self.blank(&value, span)?
            }
            Value::Tuple(parts) => {
                let mut blanks = Vec::with_capacity(parts.len());
                for part in parts {
                    blanks.push(self.blank(part, span)?);
                }
                Value::Tuple(blanks)
            }
            Value::Struct(kind, fields) => {
                let mut blanks = Vec::with_capacity(fields.len());
                for (name, part) in fields {
                    let blank = self.blank(part, span)?;
                    blanks.push((name.clone(), blank));
                }
                Value::Struct(kind.clone(), blanks)
            }
            Value::Option { value, .. } => Value::Option {
                some: bool_const(false),
                value: Box::new(self.blank(value, span)?),
            },
            Value::Memory(buf, index) => {
                let num = self.load(*buf, index.clone());
                self.blank(&Value::Scalar(num), span)?
            }
            Value::Variant(kind, _) => Value::Variant(
                kind.clone(),
                Expr::Const(crate::ir::Const::Int(pragma_spec::Scalar::U8, 0)),
            ),
            Value::Order(_) => Value::Order(super::value::Order {
                less: bool_const(false),
                equal: bool_const(false),
            }),
            other => other.clone(),
        })
    }

    /// Zero of a type that is not known yet.
    pub(super) fn open_zero(&mut self, ty: Ty) -> Expr {
        let num = self.literal(super::reader::Literal::Zero, Span::call_site());
        self.types.unify(num.ty, ty);
        num.expr
    }

    /// The value as selections, where both sides may be evaluated.
    pub(super) fn select(
        &mut self,
        cond: &Expr,
        a: &Value,
        b: &Value,
        span: Span,
    ) -> Lift<Option<Value>> {
        Ok(match (a, b) {
            (Value::Tuple(xs), Value::Tuple(ys)) if xs.len() == ys.len() => {
                let mut parts = Vec::with_capacity(xs.len());
                for (x, y) in xs.iter().zip(ys) {
                    match self.select(cond, x, y, span)? {
                        Some(part) => parts.push(part),
                        None => return Ok(None),
                    }
                }
                Some(Value::Tuple(parts))
            }
            (Value::Struct(kind, xs), Value::Struct(other, ys))
                if kind == other && xs.len() == ys.len() =>
            {
                let mut fields = Vec::with_capacity(xs.len());
                for ((name, x), (_, y)) in xs.iter().zip(ys) {
                    match self.select(cond, x, y, span)? {
                        Some(part) => fields.push((name.clone(), part)),
                        None => return Ok(None),
                    }
                }
                Some(Value::Struct(kind.clone(), fields))
            }
            (Value::Option { some: s, value: v }, Value::Option { some: t, value: w }) => {
                let some = fold::select(cond.clone(), s.clone(), t.clone());
                let value = match (&**v, &**w) {
                    (Value::Unit, other) | (other, Value::Unit) => Some(other.clone()),
                    (v, w) => self.select(cond, v, w, span)?,
                };
                value.map(|value| Value::Option {
                    some,
                    value: Box::new(value),
                })
            }
            (Value::Order(x), Value::Order(y)) => Some(Value::Order(super::value::Order {
                less: fold::select(cond.clone(), x.less.clone(), y.less.clone()),
                equal: fold::select(cond.clone(), x.equal.clone(), y.equal.clone()),
            })),
            (Value::View(x), Value::View(y)) if x == y => Some(a.clone()),
            (Value::Variant(kind, x), Value::Variant(_, y)) => Some(Value::Variant(
                kind.clone(),
                fold::select(cond.clone(), x.clone(), y.clone()),
            )),
            (Value::Scalar(_) | Value::Ref(..), Value::Scalar(_) | Value::Ref(..)) => {
                let (x, y) = (self.num(a.clone(), span)?, self.num(b.clone(), span)?);
                self.unify(x.ty, y.ty, span)?;
                let (p, q) = (self.settle(x.expr), self.settle(y.expr));
                if self.is_safe(&p) && self.is_safe(&q) {
                    let expr = fold::select(cond.clone(), p, q);
                    Some(Value::scalar(expr, x.ty))
                } else {
                    None
                }
            }
            (x, y) if x == y => Some(a.clone()),
            _ => None,
        })
    }

    /// An `If`, simplified where the condition is known or one assignment is all there is.
    pub(super) fn emit_if(&mut self, cond: Expr, then: Vec<Stmt>, otherwise: Vec<Stmt>) {
        match fold::as_bool(&cond) {
            Some(true) => return then.into_iter().for_each(|stmt| self.emit(stmt)),
            Some(false) => return otherwise.into_iter().for_each(|stmt| self.emit(stmt)),
            None => {}
        }
        if then.is_empty() && otherwise.is_empty() {
            return;
        }
        if let ([Stmt::Assign { var: a, value: x }], [Stmt::Assign { var: b, value: y }]) =
            (&then[..], &otherwise[..])
            && a == b
            && self.is_safe(x)
            && self.is_safe(y)
        {
            let value = fold::select(cond, x.clone(), y.clone());
            self.emit(Stmt::Assign { var: *a, value });
            return;
        }
        let (cond, then, otherwise) = if then.is_empty() {
            (fold::not(cond), otherwise, then)
        } else {
            (cond, then, otherwise)
        };
        self.emit(Stmt::If {
            cond,
            then,
            otherwise,
        });
    }
}
