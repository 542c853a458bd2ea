//! Iterators: making them, adapting them, and walking through them.
//!
//! An iterator is a tree of adapters. Where its `k`-th item can be computed from `k` alone it
//! is walked by one counted loop; `filter`, `chain`, `flat_map` and their like are walked by
//! pushing each item into what consumes it.

use pragma_spec::Scalar;
use proc_macro2::Span;
use syn::spanned::Spanned;

use super::error::Lift;
use super::fold;
use super::reader::{Reader, usize_num};
use super::types::Ty;
use super::value::{Callee, Elem, Iter, Num, Own, Place, Value, View};
use crate::ir::{BinaryOp, CompareOp, Expr, Func};

impl Reader<'_> {
    /// What `for` would walk through.
    pub(super) fn iterator(&mut self, value: Value, span: Span) -> Lift<Iter> {
        if let Value::Iter(iter) = value {
            return Ok(*iter);
        }
        if let Value::Ref(place, _) = &value
            && let Value::Iter(_) = self.peek(place, span)?
        {
            return Err(self.refuse(
                span,
                "an iterator is walked through by reference",
                "how far it has come would have to be known afterwards",
                "use an index, or slices: `&x[..n]` and `&x[n..]`",
            ));
        }
        if let Some(array) = self.as_nd(&value, span)? {
            let mutable = matches!(array.own, Own::Borrowed(true));
            let by_ref = matches!(array.own, Own::Borrowed(_));
            let iter = self.nd_iter(&array, mutable, span)?;
            return Ok(if by_ref {
                iter
            } else {
                Iter::Copied(Box::new(iter))
            });
        }
        match self.as_view(&value, span)? {
            Some(view) => {
                let mutable = matches!(view.own, Own::Borrowed(true));
                let by_ref = matches!(view.own, Own::Borrowed(_));
                Ok(Iter::Elems {
                    view,
                    by_ref,
                    mutable,
                })
            }
            None => match value {
                Value::Option { .. } => Err(self.unknown(span, "iterating over an `Option`")),
                value => Err(self.wrong_kind(span, &value, "an iterator")),
            },
        }
    }

    /// Whether the iterator can be walked by one counted loop.
    pub(super) fn is_one_loop(iter: &Iter) -> bool {
        match iter {
            Iter::Chain(..) | Iter::FlatMap(..) => false,
            Iter::Filter(inner, _)
            | Iter::FilterMap(inner, _)
            | Iter::TakeWhile(inner, _)
            | Iter::Scan(inner, ..)
            | Iter::Map(inner, _)
            | Iter::Enumerate(inner)
            | Iter::Copied(inner) => Self::is_one_loop(inner),
            _ => true,
        }
    }

    /// Whether the `k`-th item follows from `k`.
    pub(super) fn is_indexed(iter: &Iter) -> bool {
        match iter {
            Iter::Elems { .. }
            | Iter::Range { .. }
            | Iter::Chunks { .. }
            | Iter::Windows { .. }
            | Iter::Axis { .. }
            | Iter::Repeat(_) => true,
            Iter::Zip(a, b) => Self::is_indexed(a) && Self::is_indexed(b),
            Iter::Enumerate(inner)
            | Iter::Map(inner, _)
            | Iter::Copied(inner)
            | Iter::Rev(inner)
            | Iter::Skip(inner, _)
            | Iter::Take(inner, _)
            | Iter::StepBy(inner, _)
            | Iter::Cycle(inner) => Self::is_indexed(inner),
            Iter::Chain(..)
            | Iter::Filter(..)
            | Iter::FilterMap(..)
            | Iter::TakeWhile(..)
            | Iter::Scan(..)
            | Iter::FlatMap(..) => false,
        }
    }

    /// The number of items; `None` if there is no end.
    pub(super) fn length(&mut self, iter: &Iter, span: Span) -> Lift<Option<Expr>> {
        Ok(match iter {
            Iter::Elems { view, .. } => Some(view.len.clone()),
            Iter::Range { lo, hi, inclusive } => match hi {
                None => None,
                Some(hi) => Some(self.range_length(lo, hi, *inclusive, span)?),
            },
            Iter::Chunks { count, .. } | Iter::Windows { count, .. } => Some(count.clone()),
            Iter::Axis { array, .. } => array.axes.first().map(|(len, _)| len.clone()),
            Iter::Zip(a, b) => match (self.length(a, span)?, self.length(b, span)?) {
                (Some(a), Some(b)) => Some(self.shorter(a, b)?),
                (one, other) => one.or(other),
            },
            Iter::Enumerate(inner)
            | Iter::Map(inner, _)
            | Iter::Copied(inner)
            | Iter::Rev(inner) => self.length(inner, span)?,
            Iter::Skip(inner, n) => match self.length(inner, span)? {
                Some(len) => Some(self.saturating_sub(len, n.clone())),
                None => return Ok(None),
            },
            Iter::Take(inner, n) => match self.length(inner, span)? {
                Some(len) if self.le(&len, n) => Some(len),
                Some(len) if self.le(n, &len) => Some(n.clone()),
                Some(len) => {
                    let min = Expr::Call(Func::Min, vec![len, n.clone()]);
                    self.know_min(&min);
                    Some(min)
                }
                None => Some(n.clone()),
            },
            Iter::StepBy(inner, step) => match self.length(inner, span)? {
                Some(len) => {
                    let less = fold::binary(BinaryOp::Sub, step.clone(), Expr::index(1));
                    let up = fold::binary(BinaryOp::Add, len, less);
                    Some(self.quotient(up, step.clone(), false)?)
                }
                None => None,
            },
            Iter::Cycle(_) | Iter::Repeat(_) => None,
            Iter::Chain(a, b) => match (self.length(a, span)?, self.length(b, span)?) {
                (Some(a), Some(b)) => Some(fold::binary(BinaryOp::Add, a, b)),
                _ => None,
            },
            Iter::Filter(..)
            | Iter::FilterMap(..)
            | Iter::TakeWhile(..)
            | Iter::Scan(..)
            | Iter::FlatMap(..) => {
                return Err(self.refuse(
                    span,
                    "the number of items depends on data",
                    "here it must be known before the loop starts",
                    "use `for` with an `if` inside",
                ));
            }
        })
    }

    fn range_length(&mut self, lo: &Num, hi: &Num, inclusive: bool, span: Span) -> Lift<Expr> {
        self.unify(lo.ty, hi.ty, span)?;
        let (a, b) = (self.settle(lo.expr.clone()), self.settle(hi.expr.clone()));
        let ty = self.types.settled(lo.ty).unwrap_or(Scalar::I32);
        let one = |expr: Expr| {
            if inclusive {
                fold::binary(BinaryOp::Add, expr, Expr::index(1))
            } else {
                expr
            }
        };
        let literal = |reader: &Self, expr: &Expr| match reader.as_literal(expr) {
            Some((super::reader::Literal::Int(value), ..)) => Some(*value),
            _ => fold::as_int(expr),
        };
        if let (Some(x), Some(y)) = (literal(self, &a), literal(self, &b)) {
            let count = y.saturating_sub(x).saturating_add(i128::from(inclusive));
            return Ok(Expr::index(u64::try_from(count).unwrap_or(0)));
        }
        if ty == Scalar::Usize {
            return Ok(self.saturating_sub(one(b), a));
        }
        if !ty.is_integer() {
            return Err(self.unknown(span, "a range of this type"));
        }
        let (a, b) = (
            self.stable("start", lo.clone()),
            self.stable("end", hi.clone()),
        );
        let (a, b) = (self.settle(a.expr), self.settle(b.expr));
        if !ty.is_signed() {
            let wide = |reader: &mut Self, expr: Expr| {
                reader
                    .cast(
                        Num {
                            expr,
                            ty: Ty::Known(ty),
                        },
                        Scalar::Usize,
                        span,
                    )
                    .map(|num| num.expr)
            };
            let (a, b) = (wide(self, a)?, wide(self, b)?);
            return Ok(self.saturating_sub(one(b), a));
        }
        // Widened first, so that the difference does not wrap.
        let wide = |reader: &mut Self, expr: Expr, to| {
            reader
                .cast(
                    Num {
                        expr,
                        ty: Ty::Known(ty),
                    },
                    to,
                    span,
                )
                .map(|num| num.expr)
        };
        let zero = literal(self, &a) == Some(0);
        let compare = if inclusive {
            CompareOp::Le
        } else {
            CompareOp::Lt
        };
        let some = fold::compare(compare, a.clone(), b.clone());
        let count = if zero {
            wide(self, b, Scalar::Usize)?
        } else {
            let (a, b) = (wide(self, a, Scalar::I64)?, wide(self, b, Scalar::I64)?);
            fold::cast(
                Scalar::Usize,
                Some(Scalar::I64),
                fold::binary(BinaryOp::Sub, b, a),
            )
        };
        // A dimension is not negative.
        if let Expr::Dim(dim) = count
            && zero
            && !self.table.plain.contains(&dim)
        {
            self.optimistic.insert(dim);
            return Ok(one(count));
        }
        Ok(fold::select(some, one(count), Expr::index(0)))
    }

    /// Item `k`, which exists.
    pub(super) fn item(&mut self, iter: &Iter, k: Expr, span: Span) -> Lift<Value> {
        Ok(match iter {
            Iter::Elems {
                view,
                by_ref,
                mutable,
            } => self.item_of_view(view, k, *by_ref, *mutable)?,
            Iter::Range { lo, .. } => {
                let lo_expr = self.settle(lo.expr.clone());
                let k = match self.types.resolve(lo.ty) {
                    Ty::Known(scalar) => fold::cast(scalar, Some(Scalar::Usize), k),
                    // The type is learnt from what is done with the item.
                    Ty::Open(_) => self.open_counter("i", k, lo.ty),
                };
                let zero = matches!(
                    self.as_literal(&lo_expr),
                    Some((super::reader::Literal::Int(0), ..))
                );
                let expr = if zero {
                    k
                } else {
                    fold::binary(BinaryOp::Add, lo_expr, k)
                };
                Value::scalar(expr, lo.ty)
            }
            Iter::Chunks {
                view,
                size,
                mutable,
                ragged,
                ..
            } => {
                let skipped = fold::binary(BinaryOp::Mul, k, size.clone());
                let scaled = fold::binary(BinaryOp::Mul, skipped.clone(), view.elem.size());
                let len = if *ragged {
                    let left = fold::binary(BinaryOp::Sub, view.len.clone(), skipped);
                    let left = self.simplify(left);
                    if self.le(size, &left) {
                        size.clone()
                    } else {
                        let min = Expr::Call(Func::Min, vec![size.clone(), left]);
                        self.know_min(&min);
                        min
                    }
                } else {
                    size.clone()
                };
                Value::View(View {
                    buf: view.buf,
                    offset: fold::binary(BinaryOp::Add, view.offset.clone(), scaled),
                    len,
                    elem: view.elem.clone(),
                    own: Own::Borrowed(*mutable),
                })
            }
            Iter::Axis { array, mutable } => self.nd_item(array, k, *mutable),
            Iter::Windows { view, size, .. } => {
                let scaled = fold::binary(BinaryOp::Mul, k, view.elem.size());
                Value::View(View {
                    buf: view.buf,
                    offset: fold::binary(BinaryOp::Add, view.offset.clone(), scaled),
                    len: size.clone(),
                    elem: view.elem.clone(),
                    own: Own::Borrowed(false),
                })
            }
            Iter::Zip(a, b) => {
                let first = self.item(a, k.clone(), span)?;
                let second = self.item(b, k, span)?;
                Value::Tuple(vec![first, second])
            }
            Iter::Enumerate(inner) => {
                let item = self.item(inner, k.clone(), span)?;
                Value::Tuple(vec![Value::Scalar(usize_num(k)), item])
            }
            Iter::Map(inner, function) => {
                let item = self.item(inner, k, span)?;
                self.apply(function, vec![item], span)?
            }
            Iter::Copied(inner) => {
                let item = self.item(inner, k, span)?;
                self.by_value(item, span)?
            }
            Iter::Rev(inner) => {
                let Some(len) = self.length(inner, span)? else {
                    return Err(self.unknown(span, "`rev` of an endless iterator"));
                };
                let last = fold::binary(BinaryOp::Sub, len, Expr::index(1));
                let at = fold::binary(BinaryOp::Sub, last, k);
                let at = self.simplify(at);
                self.item(inner, at, span)?
            }
            Iter::Skip(inner, n) => {
                let at = fold::binary(BinaryOp::Add, k, n.clone());
                self.item(inner, at, span)?
            }
            Iter::Take(inner, _) => self.item(inner, k, span)?,
            Iter::StepBy(inner, step) => {
                let at = fold::binary(BinaryOp::Mul, k, step.clone());
                self.item(inner, at, span)?
            }
            Iter::Cycle(inner) => {
                let Some(len) = self.length(inner, span)? else {
                    return Err(self.unknown(span, "`cycle` of an endless iterator"));
                };
                let at = self.remainder(k, len);
                self.item(inner, at, span)?
            }
            Iter::Repeat(value) => (**value).clone(),
            Iter::Chain(..)
            | Iter::Filter(..)
            | Iter::FilterMap(..)
            | Iter::TakeWhile(..)
            | Iter::Scan(..)
            | Iter::FlatMap(..) => {
                return Err(self.unknown(span, "the n-th item of this iterator"));
            }
        })
    }

    fn item_of_view(&mut self, view: &View, k: Expr, by_ref: bool, mutable: bool) -> Lift<Value> {
        let scaled = fold::binary(BinaryOp::Mul, k, view.elem.size());
        let offset = fold::binary(BinaryOp::Add, view.offset.clone(), scaled);
        Ok(match &view.elem {
            Elem::Scalar if by_ref => {
                self.reach(view.buf, &offset);
                Value::Ref(Box::new(Place::Elem(view.buf, offset)), mutable)
            }
            Elem::Scalar => Value::Scalar(self.load(view.buf, offset)),
            Elem::Record(record) => {
                let item = self.record_item(record, &offset);
                if by_ref {
                    item
                } else {
                    return self.read_value(item);
                }
            }
            Elem::Array(inner, len) => Value::View(View {
                buf: view.buf,
                offset,
                len: len.clone(),
                elem: (**inner).clone(),
                own: if by_ref {
                    Own::Borrowed(mutable)
                } else {
                    Own::Array
                },
            }),
        })
    }

    /// `*item`.
    pub(super) fn by_value(&mut self, item: Value, span: Span) -> Lift<Value> {
        match item {
            Value::Ref(place, _) => self.read(&place, span),
            Value::View(view) => Ok(Value::View(View {
                own: Own::Array,
                ..view
            })),
            other => self.read_value(other),
        }
    }

    /// Methods that make or adapt iterators, on something iterable; `None` if `name` is none.
    pub(super) fn adapter(
        &mut self,
        iter: Iter,
        call: &syn::ExprMethodCall,
        args: &mut Vec<Value>,
    ) -> Lift<Result<Iter, Iter>> {
        let span = call.span();
        let name = call.method.to_string();
        let boxed = |iter| Box::new(iter);
        let adapted = match (name.as_str(), args.len()) {
            ("into_iter" | "iter" | "fuse" | "peekable", 0) => iter,
            ("copied" | "cloned", 0) => Iter::Copied(boxed(iter)),
            ("enumerate", 0) => Iter::Enumerate(boxed(iter)),
            ("rev", 0) => Iter::Rev(boxed(iter)),
            ("cycle", 0) => Iter::Cycle(boxed(iter)),
            ("zip", 1) => {
                let other = self.iterator(args.remove(0), span)?;
                Iter::Zip(boxed(iter), boxed(other))
            }
            ("chain", 1) => {
                let other = self.iterator(args.remove(0), span)?;
                Iter::Chain(boxed(iter), boxed(other))
            }
            ("skip" | "take" | "step_by", 1) => {
                let n = self.index(args.remove(0), span)?;
                let n = self.stable_index("n", n);
                match name.as_str() {
                    "skip" => Iter::Skip(boxed(iter), n),
                    "take" => Iter::Take(boxed(iter), n),
                    _ => {
                        if fold::as_int(&n) == Some(0) {
                            return Err(self.unknown(span, "`step_by(0)`"));
                        }
                        if !self.positive(&n) {
                            let zero = self.decide(CompareOp::Eq, n.clone(), Expr::index(0));
                            self.panic_if(zero);
                        }
                        Iter::StepBy(boxed(iter), n)
                    }
                }
            }
            ("map" | "filter" | "filter_map" | "flat_map" | "take_while", 1) => {
                let Value::Callee(function) = args.remove(0) else {
                    return Err(self.unknown(span, "this closure"));
                };
                self.adapt_with(&name, iter, function)
            }
            ("scan", 2) => {
                let Some(Value::Callee(function)) = args.pop() else {
                    return Err(self.unknown(span, "this closure"));
                };
                let state = self.storage("state", args.remove(0), span)?;
                let slot = self.slot(state);
                Iter::Scan(boxed(iter), slot, function)
            }
            ("flatten", 0) => {
                let Ok(identity) = syn::parse_str::<syn::ExprClosure>("|item| item") else {
                    return Err(self.unknown(span, "`flatten`"));
                };
                let function = Callee::Closure(std::rc::Rc::new(super::value::Closure {
                    syntax: std::rc::Rc::new(identity),
                    env: self.env.clone(),
                    frame: self.frames.len() - 1,
                }));
                Iter::FlatMap(boxed(iter), function)
            }
            _ => return Ok(Err(iter)),
        };
        Ok(Ok(adapted))
    }

    fn adapt_with(&self, name: &str, iter: Iter, function: Callee) -> Iter {
        let inner = Box::new(iter);
        match name {
            "map" => Iter::Map(inner, function),
            "filter" => Iter::Filter(inner, function),
            "filter_map" => Iter::FilterMap(inner, function),
            "flat_map" => Iter::FlatMap(inner, function),
            _ => Iter::TakeWhile(inner, function),
        }
    }
}
