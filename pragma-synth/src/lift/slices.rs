//! Methods of slices, arrays and `Vec`s.

use proc_macro2::Span;
use syn::spanned::Spanned;

use super::error::{Interrupt, Lift};
use super::fold;
use super::poly::Poly;
use super::reader::{Reader, bool_const, bool_num, usize_num};
use super::value::{Iter, Own, Place, SlotId, Value, View};
use crate::ir::{BinaryOp, BufRole, CompareOp, Expr};

impl Reader<'_> {
    /// `view.name(args)`; `None` if `name` is no method of slices. `home` is the variable that
    /// holds the view, where there is one.
    pub(super) fn slice_method(
        &mut self,
        view: &View,
        home: Option<SlotId>,
        call: &syn::ExprMethodCall,
        args: &mut Vec<Value>,
    ) -> Lift<Option<Value>> {
        let span = call.span();
        let name = call.method.to_string();
        let borrowed = |mutable| {
            Value::View(View {
                own: Own::Borrowed(mutable),
                ..view.clone()
            })
        };
        Ok(Some(match (name.as_str(), args.len()) {
            ("len", 0) => Value::Scalar(usize_num(view.len.clone())),
            ("is_empty", 0) => {
                let empty = self.decide(CompareOp::Eq, view.len.clone(), Expr::index(0));
                Value::Scalar(bool_num(empty))
            }
            ("iter", 0) => elements(view, true, false),
            ("iter_mut", 0) => elements(view, true, true),
            ("into_iter", 0) => match view.own {
                Own::Borrowed(mutable) => elements(view, true, mutable),
                _ => elements(view, false, false),
            },
            ("as_slice" | "as_ref" | "borrow" | "deref", 0) => borrowed(false),
            ("as_mut_slice" | "as_mut", 0) => borrowed(true),
            ("to_vec" | "to_owned" | "clone" | "into_boxed_slice", 0) => {
                let own = if view.own == Own::Array {
                    Own::Array
                } else {
                    Own::Vec
                };
                let copy = self.copy_of(view, "copy", span)?;
                Value::View(View { own, ..copy })
            }
            ("chunks_exact" | "chunks_exact_mut" | "chunks" | "chunks_mut", 1) => {
                let size = self.index(args.remove(0), span)?;
                self.chunks(view, size, &name, span)?
            }
            ("try_into", 0) if fold::as_int(&view.len).is_some() => Value::Option {
                some: bool_const(true),
                value: Box::new(Value::View(View {
                    own: Own::Array,
                    ..view.clone()
                })),
            },
            ("as_chunks" | "array_chunks", 0) => {
                return Err(self.unknown(span, format!("`{name}`")));
            }
            ("map", 1) if view.own != Own::Vec => {
                let (Some(len), Some(Value::Callee(function))) =
                    (fold::as_int(&view.len), args.pop())
                else {
                    return Ok(None);
                };
                let mut values = Vec::new();
                for i in 0..u64::try_from(len).unwrap_or(0).min(64) {
                    let place = self.element(view, Expr::index(i))?;
                    let item = self.read(&place, span)?;
                    let value = self.apply(&function, vec![item], span)?;
                    values.push(self.hold(value, "mapped")?);
                }
                if len > 64 {
                    return Err(self.unknown(span, "`map` of so large an array"));
                }
                let scalars = values.iter().all(|value| matches!(value, Value::Scalar(_)));
                if scalars {
                    self.array_of(values, span)?
                } else {
                    // Known by place: `let [a, b, c] = ..`.
                    Value::Tuple(values)
                }
            }
            ("sort" | "sort_unstable", 0) => {
                self.sort(view, None, span)?;
                Value::Unit
            }
            ("sort_by" | "sort_unstable_by", 1) => {
                let Some(Value::Callee(function)) = args.pop() else {
                    return Ok(None);
                };
                let kept = home.and_then(|slot| self.kept_after_sort(slot));
                match (kept, home) {
                    (Some(kept), Some(slot)) => {
                        self.select_best(view, slot, &kept, &function, span)?;
                    }
                    _ => self.sort(view, Some(&function), span)?,
                }
                Value::Unit
            }
            ("truncate", 1) if view.own == Own::Vec => {
                let n = self.index(args.remove(0), span)?;
                let n = self.stable_index("n", n);
                let Some(slot) = home else {
                    return Ok(None);
                };
                let len = if self.le(&view.len, &n) {
                    view.len.clone()
                } else if self.le(&n, &view.len) {
                    n
                } else {
                    let min = Expr::Call(crate::ir::Func::Min, vec![view.len.clone(), n]);
                    self.know_min(&min);
                    self.stable_index("len", min)
                };
                self.slots[slot.0] = Value::View(View {
                    len,
                    ..view.clone()
                });
                Value::Unit
            }
            ("windows", 1) => {
                let size = self.index(args.remove(0), span)?;
                self.windows(view, size)?
            }
            ("fill", 1) => {
                let num = self.held_num(args.remove(0), "fill", span)?;
                if view.elem != super::value::Elem::Scalar {
                    return Err(self.unknown(span, "`fill` of an array of arrays"));
                }
                let range = (Expr::index(0), view.len.clone(), 1);
                self.for_loop("i", range, &mut |reader, i| {
                    let index = fold::binary(BinaryOp::Add, view.offset.clone(), i);
                    reader.store(view.buf, index, num.clone(), span)
                })?;
                Value::Unit
            }
            ("copy_from_slice" | "clone_from_slice", 1) => {
                let from = args.remove(0);
                let Some(from) = self.as_view(&from, span)? else {
                    return Err(self.wrong_kind(span, &from, "a slice"));
                };
                if from.buf == view.buf && self.program.buf(view.buf).role != BufRole::Input {
                    let held = self.copy_of(&from, "copy", span)?;
                    self.copy_elements(view, &held, span)?;
                } else {
                    self.copy_elements(view, &from, span)?;
                }
                Value::Unit
            }
            ("swap", 2) => {
                let b = self.index(args.remove(1), span)?;
                let a = self.index(args.remove(0), span)?;
                let (a, b) = (self.stable_index("a", a), self.stable_index("b", b));
                let (p, q) = (self.element(view, a)?, self.element(view, b)?);
                self.swap(&p, &q, span)?;
                Value::Unit
            }
            ("split_at" | "split_at_mut", 1) => {
                let mid = self.index(args.remove(0), span)?;
                let mid = self.stable_index("mid", mid);
                let first = self.slice(view, None, Some(usize_num(mid.clone())), false, span)?;
                let second = self.slice(view, Some(usize_num(mid)), None, false, span)?;
                let own = Own::Borrowed(name == "split_at_mut");
                Value::Tuple(vec![
                    Value::View(View { own, ..first }),
                    Value::View(View { own, ..second }),
                ])
            }
            ("first" | "last", 0) => {
                let some = self.decide(CompareOp::Gt, view.len.clone(), Expr::index(0));
                let at = if name == "first" {
                    Expr::index(0)
                } else {
                    fold::binary(BinaryOp::Sub, view.len.clone(), Expr::index(1))
                };
                self.optional_element(view, some, at, span)?
            }
            ("get", 1) if !matches!(args[0], Value::Iter(_) | Value::Unit) => {
                let at = self.index(args.remove(0), span)?;
                let at = self.stable_index("at", at);
                let some = self.decide(CompareOp::Lt, at.clone(), view.len.clone());
                self.optional_element(view, some, at, span)?
            }
            ("get_unchecked" | "get_unchecked_mut", 1) => {
                let at = args.remove(0);
                let place = self.indexed(Place::Sub(view.clone()), at, span)?;
                Value::Ref(Box::new(place), name.ends_with("mut"))
            }
            ("push", 1) => {
                let item = args.remove(0);
                let Some(slot) = home else {
                    return Err(self.unknown(span, "`push` on this"));
                };
                self.push(slot, item, span)?;
                Value::Unit
            }
            ("clear", 0) => {
                let (Some(slot), Own::Vec) = (home, view.own) else {
                    return Ok(None);
                };
                self.slots[slot.0] = Value::View(View {
                    len: Expr::index(0),
                    ..view.clone()
                });
                Value::Unit
            }
            ("reserve" | "shrink_to_fit", _) if view.own == Own::Vec => Value::Unit,
            ("extend_from_slice" | "extend", 1) => {
                let Some(slot) = home else {
                    return Err(self.unknown(span, format!("`{name}` on this")));
                };
                let items = args.remove(0);
                let items = self.iterator(items, span)?;
                let letter = self.letter();
                self.drive(&items, &letter, span, None, &mut |reader, item| {
                    reader.push(slot, item, span)
                })?;
                Value::Unit
            }
            ("contains", 1) => {
                let wanted = self.held_num(args.remove(0), "wanted", span)?;
                let found = self.cell("found", bool_num(bool_const(false)));
                let range = (Expr::index(0), view.len.clone(), 1);
                self.loops.push(super::reader::LoopFrame {
                    ir_loops: 1,
                    ..Default::default()
                });
                let result = self.for_loop("i", range, &mut |reader, i| {
                    let index = fold::binary(BinaryOp::Add, view.offset.clone(), i);
                    let item = reader.load(view.buf, index);
                    reader.unify(item.ty, wanted.ty, span)?;
                    let wanted = reader.settle(wanted.expr.clone());
                    let same = fold::compare(CompareOp::Eq, item.expr, wanted);
                    let then = vec![
                        crate::ir::Stmt::Assign {
                            var: found,
                            value: bool_const(true),
                        },
                        crate::ir::Stmt::Break,
                    ];
                    reader.emit_if(same, then, Vec::new());
                    Ok(())
                });
                self.loops.pop();
                result?;
                Value::Scalar(bool_num(Expr::Var(found)))
            }
            _ => return Ok(None),
        }))
    }

    fn optional_element(&mut self, view: &View, some: Expr, at: Expr, span: Span) -> Lift<Value> {
        let place = if some == bool_const(true) {
            self.element(view, at)?
        } else {
            // Whoever looks at the element has found that there is one.
            let scaled = fold::binary(BinaryOp::Mul, at, view.elem.size());
            let offset = fold::binary(BinaryOp::Add, view.offset.clone(), scaled);
            if view.elem != super::value::Elem::Scalar {
                return Err(self.refuse(
                    span,
                    "it is not known that this element exists",
                    "its value would be read before that is checked",
                    "test the length with `if`, then index",
                ));
            }
            Place::Elem(view.buf, offset)
        };
        Ok(Value::Option {
            some,
            value: Box::new(Value::Ref(Box::new(place), false)),
        })
    }

    /// Exchanging two `Vec`s that the caller owns, as the last thing that happens, is left to
    /// whoever calls the kernel: they exchange the owners.
    fn swap_owners(&mut self, x: &View, y: &View) -> bool {
        let caller = |reader: &Self, view: &View| {
            let param = reader.buf_params.get(&view.buf)?;
            let name = reader.table.bufs.get(*param)?.param.clone();
            let whole = view.offset == Expr::index(0) && view.own == Own::Vec;
            whole.then_some(name)
        };
        let (Some(a), Some(b)) = (caller(self, x), caller(self, y)) else {
            return false;
        };
        let last = self.last_statement && self.frames.len() == 1 && self.loops.is_empty();
        if !last || self.conditional > 0 || x.elem != y.elem {
            return false;
        }
        self.swaps.push((a, b));
        true
    }

    /// Exchanges what two places hold.
    pub(super) fn swap(&mut self, p: &Place, q: &Place, span: Span) -> Lift<()> {
        let (a, b) = (self.peek(p, span)?, self.peek(q, span)?);
        if let (Value::View(x), Value::View(y)) = (&a, &b) {
            // Owned arrays: exchange the elements.
            let (x, y) = (x.clone(), y.clone());
            if self.swap_owners(&x, &y) {
                return Ok(());
            }
            let same = self.equal(&x.len, &y.len) && x.elem == y.elem;
            let owned = |view: &View| matches!(view.own, Own::Array | Own::Vec);
            let borrowed = !owned(&x) && !owned(&y);
            if x.buf == y.buf || !same || (borrowed && matches!(p, Place::Slot(..))) {
                return Err(self.unknown(span, "exchanging these"));
            }
            if !x.elem.is_flat() {
                return Err(self.list_of_records(span));
            }
            let count = fold::binary(BinaryOp::Mul, x.len.clone(), x.elem.size());
            return self.for_loop("i", (Expr::index(0), count, 1), &mut |reader, i| {
                let at = |view: &View| fold::binary(BinaryOp::Add, view.offset.clone(), i.clone());
                let (from_x, from_y) = (reader.load(x.buf, at(&x)), reader.load(y.buf, at(&y)));
                let held = reader.let_temp("held", from_x);
                reader.store(x.buf, at(&x), from_y, span)?;
                reader.store(y.buf, at(&y), held, span)
            });
        }
        let (a, b) = (self.read_value(a)?, self.read_value(b)?);
        let a = self.hold(a, "held")?;
        let b = self.hold(b, "held")?;
        self.write(p, b, span)?;
        self.write(q, a, span)
    }

    fn chunks(&mut self, view: &View, size: Expr, name: &str, span: Span) -> Lift<Value> {
        let size = self.stable_index("size", size);
        if fold::as_int(&size) == Some(0) {
            return Err(self.unknown(span, "chunks of no elements"));
        }
        if !self.positive(&size) {
            let zero = self.decide(CompareOp::Eq, size.clone(), Expr::index(0));
            self.panic_if(zero);
        }
        let exact = name.starts_with("chunks_exact");
        let constant = fold::as_int(&size).is_some();
        // A remainder is nearly always meant not to be there; where the code deals with one, or
        // the size is a number such as 64, it is kept.
        let learn = if exact {
            !(constant && self.uses_remainder())
        } else {
            !constant
        };
        if let Some(param) = self.buf_params.get(&view.buf).copied() {
            let len = self.poly(&size);
            let probe = Poly::atom(super::poly::Atom::Var(crate::ir::VarId(u32::MAX / 4)));
            self.note_strides(param, &len.mul(&probe));
        }
        let mut count = self.quotient(view.len.clone(), size.clone(), learn)?;
        let mut ragged = false;
        if !exact {
            let rest = self.remainder(view.len.clone(), size.clone());
            if rest != Expr::index(0) {
                ragged = true;
                let less = fold::binary(BinaryOp::Sub, size.clone(), Expr::index(1));
                let up = fold::binary(BinaryOp::Add, view.len.clone(), less);
                count = self.quotient(up, size.clone(), false)?;
            }
        }
        let count = self.stable_index("count", count);
        Ok(Value::Iter(Box::new(Iter::Chunks {
            view: view.clone(),
            size,
            count,
            mutable: name.ends_with("mut"),
            ragged,
        })))
    }

    /// Whether the function being read asks for the rest of `chunks_exact`.
    fn uses_remainder(&self) -> bool {
        struct Finder(bool);
        impl<'ast> syn::visit::Visit<'ast> for Finder {
            fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
                self.0 |= call.method == "remainder" || call.method == "into_remainder";
                syn::visit::visit_expr_method_call(self, call);
            }
        }
        let mut finder = Finder(false);
        syn::visit::Visit::visit_item_fn(&mut finder, self.request.function);
        finder.0
    }

    fn windows(&mut self, view: &View, size: Expr) -> Lift<Value> {
        let size = self.stable_index("size", size);
        if !self.positive(&size) {
            let zero = self.decide(CompareOp::Eq, size.clone(), Expr::index(0));
            self.panic_if(zero);
        }
        let (len, width) = (self.poly(&view.len), self.poly(&size));
        let count = len.add(&Poly::constant(1)).sub(&width);
        let count = if self.nonneg(&count) {
            self.table.interner.expr(&count)
        } else {
            // As many windows as there turn out to be: a dimension of its own.
            let plus = width.sub(&Poly::constant(1));
            if let Some(refinement) = self.table.divide(&len, &Poly::constant(1), &plus) {
                return Err(Interrupt::Refine(refinement));
            }
            let one_more = fold::binary(BinaryOp::Add, view.len.clone(), Expr::index(1));
            self.saturating_sub(one_more, size.clone())
        };
        let count = self.stable_index("count", count);
        Ok(Value::Iter(Box::new(Iter::Windows {
            view: view.clone(),
            size,
            count,
        })))
    }

    /// `chunks.remainder()`.
    pub(super) fn chunk_remainder(&mut self, iter: &Iter) -> Lift<Option<Value>> {
        let Iter::Chunks {
            view,
            size,
            count,
            mutable,
            ..
        } = iter
        else {
            return Ok(None);
        };
        let used = fold::binary(BinaryOp::Mul, count.clone(), size.clone());
        let skipped = fold::binary(BinaryOp::Mul, used.clone(), view.elem.size());
        let len = fold::binary(BinaryOp::Sub, view.len.clone(), used);
        let len = self.simplify(len);
        Ok(Some(Value::View(View {
            buf: view.buf,
            offset: fold::binary(BinaryOp::Add, view.offset.clone(), skipped),
            len,
            elem: view.elem.clone(),
            own: Own::Borrowed(*mutable),
        })))
    }
}

fn elements(view: &View, by_ref: bool, mutable: bool) -> Value {
    Value::Iter(Box::new(Iter::Elems {
        view: view.clone(),
        by_ref,
        mutable,
    }))
}
