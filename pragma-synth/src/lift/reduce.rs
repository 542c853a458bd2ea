//! What consumes an iterator: sums, folds, searches, `collect`.

use proc_macro2::Span;
use syn::spanned::Spanned;

use super::error::Lift;
use super::fold;
use super::reader::{Literal, Reader, bool_const, bool_num, usize_num};
use super::types::{Ty, Written};
use super::value::{Callee, Elem, Iter, Order, Own, Value, View};
use crate::ir::{BinaryOp, CompareOp, Expr, Func, Stmt};

impl Reader<'_> {
    /// A consuming method; `None` if `name` is none.
    pub(super) fn consume(
        &mut self,
        iter: &Iter,
        call: &syn::ExprMethodCall,
        args: &mut Vec<Value>,
    ) -> Lift<Option<Value>> {
        let span = call.span();
        let name = call.method.to_string();
        let function = |reader: &Self, args: &mut Vec<Value>| match args.pop() {
            Some(Value::Callee(function)) => Ok(function),
            _ => Err(reader.unknown(span, "this closure")),
        };
        Ok(Some(match (name.as_str(), args.len()) {
            ("sum", 0) => self.accumulate(iter, BinaryOp::Add, Literal::SumStart, call)?,
            ("product", 0) => self.accumulate(iter, BinaryOp::Mul, Literal::One, call)?,
            ("fold", 2) => {
                let function = function(self, args)?;
                let init = args.remove(0);
                self.fold(iter, init, &function, span)?
            }
            ("for_each", 1) => {
                let function = function(self, args)?;
                let letter = self.letter();
                self.drive(iter, &letter, span, None, &mut |reader, item| {
                    reader.apply(&function, vec![item], span)?;
                    Ok(())
                })?;
                Value::Unit
            }
            ("count", 0) => self.count(iter, span)?,
            ("len", 0) => match self.length(iter, span)? {
                Some(len) => Value::Scalar(usize_num(len)),
                None => return Ok(None),
            },
            ("any" | "all", 1) => {
                let function = function(self, args)?;
                self.any(iter, &function, name == "any", span)?
            }
            ("position" | "find", 1) => {
                let function = function(self, args)?;
                self.position(iter, &function, name == "find", span)?
            }
            ("max" | "min", 0) => {
                let op = if name == "max" { Func::Max } else { Func::Min };
                self.best(iter, span, &mut |reader, best, item| {
                    let (best, item) = (reader.num(best, span)?, reader.num(item, span)?);
                    reader.unify(best.ty, item.ty, span)?;
                    if !matches!(reader.types.resolve(best.ty), Ty::Known(s) if s.is_integer()) {
                        return Err(reader.unknown(span, format!("`{name}` of these items")));
                    }
                    let expr = Expr::Call(op, vec![best.expr, item.expr]);
                    Ok(Value::scalar(expr, best.ty))
                })?
            }
            ("max_by" | "min_by", 1) => {
                let function = function(self, args)?;
                let last = name == "max_by";
                self.best(iter, span, &mut |reader, best, item| {
                    let order = reader.apply(&function, vec![best.clone(), item.clone()], span)?;
                    reader.better(order, best, item, last, span)
                })?
            }
            ("max_by_key" | "min_by_key", 1) => {
                let function = function(self, args)?;
                let last = name == "max_by_key";
                self.best(iter, span, &mut |reader, best, item| {
                    let a = reader.apply(&function, vec![best.clone()], span)?;
                    let b = reader.apply(&function, vec![item.clone()], span)?;
                    let order = reader.order(a, b, span)?;
                    reader.better(Value::Order(order), best, item, last, span)
                })?
            }
            ("reduce", 1) => {
                let function = function(self, args)?;
                self.best(iter, span, &mut |reader, best, item| {
                    reader.apply(&function, vec![best, item], span)
                })?
            }
            ("collect", 0) => self.collect(iter, call)?,
            ("last", 0) => {
                let Some(len) = self.length(iter, span)? else {
                    return Ok(None);
                };
                let last = fold::binary(BinaryOp::Sub, len, Expr::index(1));
                self.nth(iter, last, span)?
            }
            ("nth", 1) => {
                let n = self.index(args.remove(0), span)?;
                self.nth(iter, n, span)?
            }
            _ => return Ok(None),
        }))
    }

    /// Unifies with the type in `::<T>`, if any.
    fn turbofish(&mut self, call: &syn::ExprMethodCall) -> Lift<Written> {
        match call
            .turbofish
            .as_ref()
            .and_then(|generics| generics.args.first())
        {
            Some(syn::GenericArgument::Type(ty)) => self.written(ty),
            _ => Ok(Written::Infer),
        }
    }

    fn accumulate(
        &mut self,
        iter: &Iter,
        op: BinaryOp,
        start: Literal,
        call: &syn::ExprMethodCall,
    ) -> Lift<Value> {
        let span = call.span();
        let start = self.literal(start, span);
        let ty = start.ty;
        match self.turbofish(call)? {
            Written::Scalar(scalar) => self.unify(ty, Ty::Known(scalar), span)?,
            Written::Infer => {}
            _ => return Err(self.unknown(span, "a sum of this type")),
        }
        let name = if op == BinaryOp::Add {
            "sum"
        } else {
            "product"
        };
        let start = super::value::Num {
            expr: self.settle(start.expr),
            ty,
        };
        let total = self.cell(name, start);
        let letter = self.letter();
        self.drive(iter, &letter, span, None, &mut |reader, item| {
            let item = reader.num(item, span)?;
            reader.unify(ty, item.ty, span)?;
            let so_far = super::value::Num {
                expr: Expr::Var(total),
                ty,
            };
            let next = reader.arithmetic(op, so_far, item, span)?;
            reader.emit(Stmt::Assign {
                var: total,
                value: next.expr,
            });
            Ok(())
        })?;
        Ok(Value::scalar(Expr::Var(total), ty))
    }

    fn fold(&mut self, iter: &Iter, init: Value, function: &Callee, span: Span) -> Lift<Value> {
        let storage = self.storage("acc", init, span)?;
        let letter = self.letter();
        self.drive(iter, &letter, span, None, &mut |reader, item| {
            let so_far = reader.read_value(storage.clone())?;
            let next = reader.apply(function, vec![so_far, item], span)?;
            reader.assign(&storage, next, span)
        })?;
        self.read_value(storage)
    }

    fn count(&mut self, iter: &Iter, span: Span) -> Lift<Value> {
        if Self::is_indexed(iter)
            && let Some(len) = self.length(iter, span)?
        {
            return Ok(Value::Scalar(usize_num(len)));
        }
        let count = self.cell("count", usize_num(Expr::index(0)));
        let letter = self.letter();
        self.drive(iter, &letter, span, None, &mut |reader, _| {
            reader.emit(Stmt::Assign {
                var: count,
                value: fold::binary(BinaryOp::Add, Expr::Var(count), Expr::index(1)),
            });
            Ok(())
        })?;
        Ok(Value::Scalar(usize_num(Expr::Var(count))))
    }

    fn any(&mut self, iter: &Iter, function: &Callee, any: bool, span: Span) -> Lift<Value> {
        if !Self::is_one_loop(iter) {
            return Err(self.unknown(span, "a search through several loops"));
        }
        let result = self.cell(if any { "any" } else { "all" }, bool_num(bool_const(!any)));
        let letter = self.letter();
        self.drive(iter, &letter, span, None, &mut |reader, item| {
            let holds = reader.apply(function, vec![item], span)?;
            let holds = reader.boolean(holds, span)?;
            let decided = if any { holds } else { fold::not(holds) };
            let then = vec![
                Stmt::Assign {
                    var: result,
                    value: bool_const(any),
                },
                Stmt::Break,
            ];
            reader.emit_if(decided, then, Vec::new());
            Ok(())
        })?;
        Ok(Value::Scalar(bool_num(Expr::Var(result))))
    }

    fn position(&mut self, iter: &Iter, function: &Callee, find: bool, span: Span) -> Lift<Value> {
        if !Self::is_indexed(iter) {
            return Err(self.unknown(span, "a search through filtered items"));
        }
        let found = self.cell("found", bool_num(bool_const(false)));
        let at = self.cell("at", usize_num(Expr::index(0)));
        let numbered = Iter::Enumerate(Box::new(iter.clone()));
        let letter = self.letter();
        self.drive(&numbered, &letter, span, None, &mut |reader, item| {
            let Value::Tuple(mut parts) = item else {
                return Err(reader.unknown(span, "this search"));
            };
            let item = parts.pop().unwrap_or(Value::Unit);
            let index = parts.pop().unwrap_or(Value::Unit);
            let holds = reader.apply(function, vec![item], span)?;
            let holds = reader.boolean(holds, span)?;
            let index = reader.index(index, span)?;
            let then = vec![
                Stmt::Assign {
                    var: found,
                    value: bool_const(true),
                },
                Stmt::Assign {
                    var: at,
                    value: index,
                },
                Stmt::Break,
            ];
            reader.emit_if(holds, then, Vec::new());
            Ok(())
        })?;
        let value = if find {
            let index = self.stable_index("at", Expr::Var(at));
            self.item(iter, index, span)?
        } else {
            Value::Scalar(usize_num(Expr::Var(at)))
        };
        Ok(Value::Option {
            some: Expr::Var(found),
            value: Box::new(value),
        })
    }

    /// The best item by `choose(best, item)`, as an `Option`.
    fn best(
        &mut self,
        iter: &Iter,
        span: Span,
        choose: &mut dyn FnMut(&mut Self, Value, Value) -> Lift<Value>,
    ) -> Lift<Value> {
        if Self::is_indexed(iter) {
            let Some(len) = self.length(iter, span)? else {
                return Err(self.unknown(span, "the best of an endless iterator"));
            };
            let len = self.stable_index("len", len);
            if self.positive(&len) {
                let first = self.item(iter, Expr::index(0), span)?;
                let first = self.hold_item(first, span)?;
                let storage = self.storage("best", first, span)?;
                self.loops.push(super::reader::LoopFrame {
                    ir_loops: 1,
                    ..Default::default()
                });
                let range = (Expr::index(1), len, 1);
                let result = self.for_loop("i", range, &mut |reader, k| {
                    let item = reader.item(iter, k, span)?;
                    let item = reader.hold_item(item, span)?;
                    let best = reader.read_value(storage.clone())?;
                    let next = choose(reader, best, item)?;
                    reader.assign(&storage, next, span)
                });
                self.loops.pop();
                result?;
                let value = self.read_value(storage)?;
                return Ok(Value::Option {
                    some: bool_const(true),
                    value: Box::new(value),
                });
            }
        }
        Err(self.refuse(
            span,
            "it is not known that there is at least one item",
            "the first item is where the search starts from",
            "write the search as a loop that starts from a value of your own, such as \
             `f32::NEG_INFINITY`",
        ))
    }

    /// An item by value where it is a shared reference, held.
    fn hold_item(&mut self, item: Value, span: Span) -> Lift<Value> {
        let item = match item {
            Value::Ref(place, false) => self.read(&place, span)?,
            Value::Tuple(parts) => {
                let mut held = Vec::with_capacity(parts.len());
                for part in parts {
                    held.push(self.hold_item(part, span)?);
                }
                Value::Tuple(held)
            }
            other => other,
        };
        self.hold(item, "item")
    }

    /// One of two items by their order: of equal ones the later if `last` (`max_by`), else the
    /// earlier (`min_by`).
    fn better(
        &mut self,
        order: Value,
        best: Value,
        item: Value,
        last: bool,
        span: Span,
    ) -> Lift<Value> {
        let Value::Order(order) = order else {
            return Err(self.wrong_kind(span, &order, "an `Ordering`"));
        };
        // `max_by` keeps the former only if it is greater, `min_by` takes the latter only if
        // the former is greater.
        let not_greater = fold::binary(BinaryOp::Or, order.less, order.equal);
        let cond = if last {
            not_greater
        } else {
            fold::not(not_greater)
        };
        let cond = match best {
            Value::Tuple(_) => self.shared("better", bool_num(cond)).expr,
            _ => cond,
        };
        self.two_ways(cond, span, &mut |_| Ok(item.clone()), &mut |_| {
            Ok(best.clone())
        })
    }

    /// `a.cmp(&b)` of integers, `partial_cmp` of floats that are not NaN.
    pub(super) fn order(&mut self, a: Value, b: Value, span: Span) -> Lift<Order> {
        let (a, b) = (self.num(a, span)?, self.num(b, span)?);
        self.unify(a.ty, b.ty, span)?;
        let (x, y) = (self.settle(a.expr), self.settle(b.expr));
        Ok(Order {
            less: fold::compare(CompareOp::Lt, x.clone(), y.clone()),
            equal: fold::compare(CompareOp::Eq, x, y),
        })
    }

    fn nth(&mut self, iter: &Iter, n: Expr, span: Span) -> Lift<Value> {
        let n = self.stable_index("n", n);
        let some = match self.length(iter, span)? {
            Some(len) => self.decide(CompareOp::Lt, n.clone(), len),
            None => bool_const(true),
        };
        let value = self.item(iter, n, span)?;
        Ok(Value::Option {
            some,
            value: Box::new(value),
        })
    }

    /// `collect()` into a `Vec`.
    fn collect(&mut self, iter: &Iter, call: &syn::ExprMethodCall) -> Lift<Value> {
        let span = call.span();
        match self.turbofish(call)? {
            Written::Infer => {}
            Written::List(_) => {}
            _ => {
                return Err(self.refuse(
                    span,
                    "only a `Vec` can be collected into",
                    "the loop nest stores into flat arrays",
                    "collect into a `Vec`",
                ));
            }
        }
        self.collect_items(iter, span)
    }

    /// A `Vec` of all items.
    pub(super) fn collect_items(&mut self, iter: &Iter, span: Span) -> Lift<Value> {
        let ty = self.types.open(super::types::Class::Any);
        let len = if Self::is_indexed(iter) {
            self.length(iter, span)?
        } else {
            None
        };
        if let Some(len) = len {
            let len = self.stable_index("len", len);
            let len = self.simplify(len);
            let buf = self.alloc("collected", ty, len.clone(), None, span)?;
            self.complete.insert(buf);
            let mut view = Self::whole(buf, len.clone(), Own::Vec);
            let count = len.clone();
            self.loops.push(super::reader::LoopFrame {
                ir_loops: 1,
                ..Default::default()
            });
            // A plain range keeps its own counter inside `item`.
            let result = self.for_loop("i", (Expr::index(0), len, 1), &mut |reader, k| {
                let item = reader.item(iter, k.clone(), span)?;
                let item = reader.target(item, span)?;
                if let Some(elem) = reader.elem_for(&view, &item) {
                    view.elem = elem;
                    return reader.put(&view, k, item, span);
                }
                let item = reader.num(item, span)?;
                reader.store(buf, k, item, span)
            });
            self.loops.pop();
            result?;
            if view.elem != Elem::Scalar {
                self.grow(&view, &count);
            }
            return Ok(Value::View(view));
        }
        let vec = self.empty_vec("collected", ty, span)?;
        let slot = self.slot(Value::View(vec));
        let letter = self.letter();
        self.drive(iter, &letter, span, None, &mut |reader, item| {
            reader.push(slot, item, span)
        })?;
        Ok(self.slots[slot.0].clone())
    }

    /// A `Vec` with nothing in it yet.
    pub(super) fn empty_vec(&mut self, name: &str, ty: Ty, span: Span) -> Lift<View> {
        let buf = self.alloc(name, ty, Expr::index(0), None, span)?;
        self.complete.insert(buf);
        Ok(View {
            buf,
            offset: Expr::index(0),
            len: Expr::index(0),
            elem: Elem::Scalar,
            own: Own::Vec,
        })
    }
}
