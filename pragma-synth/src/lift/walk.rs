//! Walking through iterators: one counted loop where items have places, else item by item.

use pragma_spec::Scalar;
use proc_macro2::Span;

use super::error::Lift;
use super::fold;
use super::reader::{Reader, usize_num};
use super::types::Ty;
use super::value::{Iter, Place, Value};
use crate::ir::{BinaryOp, Expr, Stmt};

impl Reader<'_> {
    /// Pushes every item of `iter` into `body`, in order.
    pub(super) fn drive_items(
        &mut self,
        iter: &Iter,
        name: &str,
        span: Span,
        body: &mut dyn FnMut(&mut Self, Value) -> Lift<()>,
    ) -> Lift<()> {
        if Self::is_indexed(iter) {
            return self.drive_indexed(iter, name, span, body);
        }
        match iter {
            Iter::Map(inner, function) => {
                self.drive_items(inner, name, span, &mut |reader, item| {
                    let item = reader.apply(function, vec![item], span)?;
                    body(reader, item)
                })
            }
            Iter::Copied(inner) => self.drive_items(inner, name, span, &mut |reader, item| {
                let item = reader.by_value(item, span)?;
                body(reader, item)
            }),
            Iter::Filter(inner, keep) => {
                self.drive_items(inner, name, span, &mut |reader, item| {
                    let kept = reader.apply(keep, vec![item.clone()], span)?;
                    let kept = reader.boolean(kept, span)?;
                    reader.only_if(kept, span, &mut |reader| body(reader, item.clone()))
                })
            }
            Iter::FilterMap(inner, function) => {
                self.drive_items(inner, name, span, &mut |reader, item| {
                    let value = reader.apply(function, vec![item], span)?;
                    let Value::Option { some, value } = value else {
                        return Err(reader.wrong_kind(span, &value, "an `Option`"));
                    };
                    reader.only_if(some, span, &mut |reader| body(reader, (*value).clone()))
                })
            }
            Iter::TakeWhile(inner, keep) => {
                if !Self::is_one_loop(inner) {
                    return Err(self.unknown(span, "`take_while` over several loops"));
                }
                self.drive_items(inner, name, span, &mut |reader, item| {
                    let kept = reader.apply(keep, vec![item.clone()], span)?;
                    let kept = reader.boolean(kept, span)?;
                    reader.emit(Stmt::If {
                        cond: fold::not(kept),
                        then: vec![Stmt::Break],
                        otherwise: Vec::new(),
                    });
                    body(reader, item)
                })
            }
            Iter::Scan(inner, slot, function) => {
                if !Self::is_one_loop(inner) {
                    return Err(self.unknown(span, "`scan` over several loops"));
                }
                let state = Value::Ref(Box::new(Place::Slot(*slot, Vec::new())), true);
                self.drive_items(inner, name, span, &mut |reader, item| {
                    let value = reader.apply(function, vec![state.clone(), item], span)?;
                    let Value::Option { some, value } = value else {
                        return Err(reader.wrong_kind(span, &value, "an `Option`"));
                    };
                    reader.emit_if(fold::not(some), vec![Stmt::Break], Vec::new());
                    let value = reader.hold(*value, "item")?;
                    body(reader, value)
                })
            }
            Iter::Enumerate(inner) => {
                let count = self.cell("count", usize_num(Expr::index(0)));
                self.drive_items(inner, name, span, &mut |reader, item| {
                    let now = reader.stable("at", usize_num(Expr::Var(count)));
                    reader.emit(Stmt::Assign {
                        var: count,
                        value: fold::binary(BinaryOp::Add, Expr::Var(count), Expr::index(1)),
                    });
                    body(reader, Value::Tuple(vec![Value::Scalar(now), item]))
                })
            }
            Iter::Chain(a, b) => {
                self.drive_items(a, name, span, body)?;
                self.drive_items(b, name, span, body)
            }
            Iter::FlatMap(inner, function) => {
                self.drive_items(inner, name, span, &mut |reader, item| {
                    let value = reader.apply(function, vec![item], span)?;
                    let inner = reader.iterator(value, span)?;
                    reader.drive_items(&inner, "j", span, body)
                })
            }
            _ => Err(self.refuse(
                span,
                "this combination of iterator adapters is not understood",
                "items that are filtered or flattened have no fixed place",
                "use `for` with an `if` inside",
            )),
        }
    }

    /// Reads `body` where `cond` holds; it must not change what slots hold.
    pub(super) fn only_if(
        &mut self,
        cond: Expr,
        span: Span,
        body: &mut dyn FnMut(&mut Self) -> Lift<()>,
    ) -> Lift<()> {
        let (block, (), state) = self.branch_state(&cond, |reader| body(reader))?;
        let before = self.slots[..state.len()].to_vec();
        self.merge_states(Some(state), Some(before), span)?;
        self.emit_if(cond, block, Vec::new());
        Ok(())
    }

    pub(super) fn drive_indexed(
        &mut self,
        iter: &Iter,
        name: &str,
        span: Span,
        body: &mut dyn FnMut(&mut Self, Value) -> Lift<()>,
    ) -> Lift<()> {
        // A plain range counts as it is written.
        if let Some((lo, hi, step)) = self.counted_range(iter, span)? {
            let ty = match iter {
                Iter::Range { lo, .. } => lo.ty,
                Iter::StepBy(inner, _) => match &**inner {
                    Iter::Range { lo, .. } => lo.ty,
                    _ => Ty::Known(Scalar::Usize),
                },
                _ => Ty::Known(Scalar::Usize),
            };
            return self.for_loop(name, (lo, hi, step), &mut |reader, i| {
                let expr = match reader.types.resolve(ty) {
                    Ty::Known(scalar) => fold::cast(scalar, Some(Scalar::Usize), i),
                    Ty::Open(_) => reader.open_counter(name, i, ty),
                };
                body(reader, Value::scalar(expr, ty))
            });
        }
        let Some(len) = self.length(iter, span)? else {
            return Err(self.refuse(
                span,
                "this iterator has no end",
                "a counted loop needs one",
                "use `.take(n)`, or zip it with something that ends",
            ));
        };
        let len = self.stable_index("len", len);
        self.for_loop(name, (Expr::index(0), len, 1), &mut |reader, k| {
            let item = reader.item(iter, k, span)?;
            body(reader, item)
        })
    }

    pub(super) fn counted_range(
        &mut self,
        iter: &Iter,
        span: Span,
    ) -> Lift<Option<(Expr, Expr, u64)>> {
        let (range, step) = match iter {
            Iter::StepBy(inner, step) => match fold::as_int(step) {
                Some(step) if step >= 1 => (&**inner, u64::try_from(step).unwrap_or(1)),
                _ => return Ok(None),
            },
            iter => (iter, 1),
        };
        let Iter::Range {
            lo,
            hi: Some(hi),
            inclusive,
        } = range
        else {
            return Ok(None);
        };
        self.unify(lo.ty, hi.ty, span)?;
        let range_ty = lo.ty;
        let (lo, hi) = (self.settle(lo.expr.clone()), self.settle(hi.expr.clone()));
        // Literals whose type is still open count the same in every type.
        let plain = |reader: &Self, expr: &Expr| match reader.as_literal(expr) {
            Some((super::reader::Literal::Int(value), ..)) => {
                u64::try_from(*value).ok().map(Expr::index)
            }
            _ => None,
        };
        let (lo, hi) = match self.types.resolve(range_ty) {
            Ty::Known(Scalar::Usize) => (lo, hi),
            Ty::Known(_) => return Ok(None),
            Ty::Open(_) => match (plain(self, &lo), plain(self, &hi)) {
                (Some(lo), Some(hi)) => (lo, hi),
                _ => return Ok(None),
            },
        };
        let hi = if *inclusive {
            fold::binary(BinaryOp::Add, hi, Expr::index(1))
        } else {
            hi
        };
        Ok(Some((lo, hi, step)))
    }

    /// A counter whose type is not known yet: a variable that `finish` gives the right cast.
    pub(super) fn open_counter(&mut self, name: &str, k: Expr, ty: Ty) -> Expr {
        let var = self.var(name, ty, false);
        if let Expr::Var(counter) = &k {
            if let Some(bounds) = self.bounds.get(counter).cloned() {
                self.bounds.insert(var, bounds);
            }
            if let Some(bounds) = self.likely_bounds.get(counter).cloned() {
                self.likely_bounds.insert(var, bounds);
            }
        }
        self.emit(Stmt::Let { var, value: k });
        self.open_casts.push(var);
        Expr::Var(var)
    }
}
