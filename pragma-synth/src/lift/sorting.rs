//! Sorting: short lists by insertion or a network of comparisons, and `sort_by` of which only the
//! first few are kept.

use proc_macro2::Span;
use quote::ToTokens;

use super::error::Lift;
use super::fold;
use super::reader::{Reader, usize_num};
use super::types::Class;
use super::value::{Callee, Elem, SlotId, Value, View};
use crate::ir::{BinaryOp, CompareOp, Expr, Func, Stmt};

/// Longer lists are not sorted: what the standard library does is not beaten by plain loops.
const MAX_SORTED: i128 = 64;

impl Reader<'_> {
    /// Sorts a list in place; stable.
    pub(super) fn sort(&mut self, view: &View, by: Option<&Callee>, span: Span) -> Lift<()> {
        let len = fold::as_int(&view.len);
        if view.elem != Elem::Scalar || len.is_none_or(|len| len > MAX_SORTED) {
            return Err(self.refuse(
                span,
                "sorting a list of this length is not understood",
                "a kernel is loops over places that are known; the standard library sorts long lists well",
                "sort before the function that is tuned, keep the first `k` with `truncate(k)`, or sort a fixed array \
                 of at most 64",
            ));
        }
        let class = self.types.class(self.elem_ty(view.buf));
        if by.is_none() && class != Class::Int {
            return Err(self.unknown(span, "sorting these"));
        }
        if by.is_none()
            && let Some(len) = len.and_then(|len| usize::try_from(len).ok())
            && len <= 32
        {
            return self.sort_by_network(view, len, span);
        }
        self.insertion_sort(view, by, span)
    }

    /// Compares and exchanges in an order that does not depend on the numbers.
    fn sort_by_network(&mut self, view: &View, len: usize, span: Span) -> Lift<()> {
        let ty = self.elem_ty(view.buf);
        for (a, b) in network(len) {
            let at =
                |i: usize| fold::binary(BinaryOp::Add, view.offset.clone(), Expr::index(i as u64));
            let (x, y) = (self.load(view.buf, at(a)), self.load(view.buf, at(b)));
            let (x, y) = (self.let_temp("low", x), self.let_temp("high", y));
            for (place, func) in [(a, Func::Min), (b, Func::Max)] {
                let value = super::value::Num {
                    expr: Expr::Call(func, vec![x.expr.clone(), y.expr.clone()]),
                    ty,
                };
                self.store(view.buf, at(place), value, span)?;
            }
        }
        Ok(())
    }

    fn insertion_sort(&mut self, view: &View, by: Option<&Callee>, span: Span) -> Lift<()> {
        let range = (Expr::index(1), view.len.clone(), 1);
        self.loops.push(super::reader::LoopFrame {
            ir_loops: 1,
            ..Default::default()
        });
        let result = self.for_loop("i", range, &mut |reader, i| {
            reader.insert(view, i.clone(), i, by, span)
        });
        self.loops.pop();
        result
    }

    /// Moves element `from` in front of all before `at` that are greater.
    fn insert(
        &mut self,
        view: &View,
        from: Expr,
        at: Expr,
        by: Option<&Callee>,
        span: Span,
    ) -> Lift<()> {
        let place = fold::binary(BinaryOp::Add, view.offset.clone(), from);
        let item = self.load(view.buf, place);
        let item = self.let_temp("item", item);
        self.insert_item(view, item, at, by, span)
    }

    fn insert_item(
        &mut self,
        view: &View,
        item: super::value::Num,
        at: Expr,
        by: Option<&Callee>,
        span: Span,
    ) -> Lift<()> {
        let hole = self.cell("hole", usize_num(at));
        let (body, ()) = self.unbounded(span, |reader| {
            let before = fold::binary(BinaryOp::Sub, Expr::Var(hole), Expr::index(1));
            let from = fold::binary(BinaryOp::Add, view.offset.clone(), before.clone());
            let other = reader.load(view.buf, from);
            let other = reader.let_temp("other", other);
            let greater = match by {
                None => fold::compare(CompareOp::Gt, other.expr.clone(), item.expr.clone()),
                Some(function) => {
                    let args = vec![Value::Scalar(other.clone()), Value::Scalar(item.clone())];
                    let order = reader.apply(function, args, span)?;
                    let Value::Order(order) = order else {
                        return Err(reader.wrong_kind(span, &order, "an `Ordering`"));
                    };
                    fold::not(fold::binary(BinaryOp::Or, order.less, order.equal))
                }
            };
            reader.emit(Stmt::If {
                cond: fold::not(greater),
                then: vec![Stmt::Break],
                otherwise: Vec::new(),
            });
            let to = fold::binary(BinaryOp::Add, view.offset.clone(), Expr::Var(hole));
            reader.store(view.buf, to, other, span)?;
            reader.emit(Stmt::Assign {
                var: hole,
                value: before,
            });
            Ok(())
        })?;
        self.emit(Stmt::While {
            cond: fold::compare(CompareOp::Gt, Expr::Var(hole), Expr::index(0)),
            body,
        });
        let to = fold::binary(BinaryOp::Add, view.offset.clone(), Expr::Var(hole));
        self.store(view.buf, to, item, span)
    }

    /// The `k` of `list.truncate(k)`, if that is the next thing that happens to a list.
    pub(super) fn kept_after_sort(&self, slot: SlotId) -> Option<syn::Expr> {
        let name = self.env.name_of(slot)?;
        let block = match self.frames.len() {
            1 => &self.request.function.block,
            _ => return None,
        };
        let sorts = |stmt: &syn::Stmt| {
            let text = stmt.to_token_stream().to_string();
            text.starts_with(&format!("{name} . sort"))
        };
        let at = block.stmts.iter().position(sorts)?;
        let syn::Stmt::Expr(syn::Expr::MethodCall(next), _) = block.stmts.get(at + 1)? else {
            return None;
        };
        let on = matches!(&*next.receiver, syn::Expr::Path(path) if path.path.is_ident(&name));
        (on && next.method == "truncate").then(|| next.args.first().cloned())?
    }

    /// Sorts a list of which only the first `kept` stay: those that come first are held in order,
    /// and every other one is compared with the last of them. Equal ones keep their order.
    pub(super) fn select_best(
        &mut self,
        view: &View,
        slot: SlotId,
        kept: &syn::Expr,
        by: &Callee,
        span: Span,
    ) -> Lift<()> {
        if view.elem != Elem::Scalar {
            return Err(self.list_of_records(span));
        }
        let kept = self.eval(kept)?;
        let kept = self.index(kept, span)?;
        let kept = self.stable_index("kept", kept);
        let kept = Expr::Call(Func::Min, vec![kept, view.len.clone()]);
        let kept = self.stable_index("kept", kept);
        let zero = self.decide(CompareOp::Eq, kept.clone(), Expr::index(0));
        self.panic_if(zero);
        let ty = self.elem_ty(view.buf);
        let buf = self.alloc("best", ty, kept.clone(), None, span)?;
        let best = Self::whole(buf, kept.clone(), super::value::Own::Vec);
        let count = self.cell("count", usize_num(Expr::index(0)));
        let range = (Expr::index(0), view.len.clone(), 1);
        self.loops.push(super::reader::LoopFrame {
            ir_loops: 1,
            ..Default::default()
        });
        let result = self.for_loop("i", range, &mut |reader, i| {
            let place = fold::binary(BinaryOp::Add, view.offset.clone(), i);
            let item = reader.load(view.buf, place);
            let item = reader.let_temp("item", item);
            let full = fold::compare(CompareOp::Ge, Expr::Var(count), kept.clone());
            let unless = fold::not(full.clone());
            let (compare, worse) = reader.branch(&full, |reader| {
                let last = fold::binary(BinaryOp::Sub, kept.clone(), Expr::index(1));
                let last = reader.load(buf, last);
                let args = vec![Value::Scalar(last), Value::Scalar(item.clone())];
                let order = reader.apply(by, args, span)?;
                let Value::Order(order) = order else {
                    return Err(reader.wrong_kind(span, &order, "an `Ordering`"));
                };
                let worse = fold::binary(BinaryOp::Or, order.less, order.equal);
                reader.emit(Stmt::If {
                    cond: worse.clone(),
                    then: vec![Stmt::Continue],
                    otherwise: Vec::new(),
                });
                Ok(worse)
            })?;
            let _ = worse;
            let (grow, ()) = reader.branch(&unless, |reader| {
                reader.emit(Stmt::Assign {
                    var: count,
                    value: fold::binary(BinaryOp::Add, Expr::Var(count), Expr::index(1)),
                });
                Ok(())
            })?;
            reader.emit(Stmt::If {
                cond: full,
                then: compare,
                otherwise: grow,
            });
            let at = fold::binary(BinaryOp::Sub, Expr::Var(count), Expr::index(1));
            reader.insert_item(&best, item, at, Some(by), span)
        });
        self.loops.pop();
        result?;
        self.slots[slot.0] = Value::View(best);
        Ok(())
    }
}

/// Pairs of places to compare and exchange, in order: Batcher's odd-even merge sort, without
/// those beyond the end.
fn network(len: usize) -> Vec<(usize, usize)> {
    let mut pairs = Vec::new();
    let size = len.next_power_of_two();
    let mut p = 1;
    while p < size {
        let mut k = p;
        while k >= 1 {
            let mut j = k % p;
            while j + k < size {
                for i in 0..k {
                    let (a, b) = (i + j, i + j + k);
                    if a / (2 * p) == b / (2 * p) && b < len {
                        pairs.push((a, b));
                    }
                }
                j += 2 * k;
            }
            k /= 2;
        }
        p *= 2;
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::network;

    #[test]
    fn networks_sort_all_zeros_and_ones() {
        // What sorts these sorts everything.
        for len in 1..=12usize {
            for bits in 0..1u32 << len {
                let mut list: Vec<u32> = (0..len).map(|i| bits >> i & 1).collect();
                for (a, b) in network(len) {
                    if list[a] > list[b] {
                        list.swap(a, b);
                    }
                }
                assert!(list.is_sorted(), "{len} {bits:b}");
            }
        }
    }
}
