//! Loops: what changes from one round to the next.

use pragma_spec::Scalar;
use proc_macro2::Span;

use super::error::{Interrupt, Lift};
use super::fold;
use super::poly::Poly;
use super::reader::{Reader, usize_num};
use super::types::Ty;
use super::value::{Elem, Value};
use crate::ir::{BinaryOp, Expr, Loop, Mark, Stmt, VarId};

impl<'a> Reader<'a> {
    /// A counted loop; `read` gets the counter. What a round changes of the slots (the length
    /// of a `Vec` that grows, a slice that shrinks) must be the same in every round.
    pub(super) fn for_loop(
        &mut self,
        name: &str,
        (lo, hi, step): (Expr, Expr, u64),
        read: &mut dyn FnMut(&mut Self, Expr) -> Lift<()>,
    ) -> Lift<()> {
        let lo = self.stable_index("start", lo);
        let hi = self.stable_index("end", hi);
        let before = self.slots.clone();
        let saved = self.clone();
        let mark = self.program.vars.len();
        self.one_loop(name, (&lo, &hi, step), None, read)?;
        // An empty list that got its first item in there: read again, knowing what it holds.
        let mut before = before;
        let mut saved = saved;
        let known: Vec<usize> = before
            .iter()
            .enumerate()
            .filter(|(_, value)| {
                matches!(value, Value::View(view)
                if view.elem == Elem::Scalar && self.made_of.contains_key(&view.buf))
            })
            .map(|(slot, _)| slot)
            .collect();
        if !known.is_empty() {
            let (types, made_of) = (self.types.clone(), self.made_of.clone());
            let table = std::mem::take(&mut self.table);
            *self = saved.clone();
            (self.types, self.table, self.made_of) = (types, table, made_of);
            for slot in known {
                if let Value::View(view) = &mut self.slots[slot]
                    && let Some(elem) = self.made_of.get(&view.buf)
                {
                    view.elem = elem.clone();
                }
            }
            before = self.slots.clone();
            saved = self.clone();
            self.one_loop(name, (&lo, &hi, step), None, read)?;
        }
        let after: Vec<Value> = self.slots.iter().take(before.len()).cloned().collect();
        if after == before {
            let cursors = self.cursors(&before, mark);
            if cursors.is_empty() {
                return Ok(());
            }
            return self.loop_with_cursors(name, (lo, hi, step), &cursors, saved, read);
        }
        // Something moves: learn by how much, then read the body again with that in mind.
        let rates = self.rates(&before, &after, mark);
        let types = self.types.clone();
        let table = std::mem::take(&mut self.table);
        *self = saved;
        self.types = types;
        self.table = table;
        let Some(rates) = rates else {
            return Err(self.changes_irregularly());
        };
        let start = before.clone();
        self.one_loop(name, (&lo, &hi, step), Some((&start, &rates)), read)?;
        // After the loop: moved by as much as there were rounds.
        let span = if step == 1 && (lo == Expr::index(0) || self.le(&lo, &hi)) {
            self.simplify(fold::binary(BinaryOp::Sub, hi, lo))
        } else {
            let distance = self.saturating_sub(hi, lo);
            let up = fold::binary(BinaryOp::Add, distance, Expr::index(step - 1));
            fold::binary(BinaryOp::Div, up, Expr::index(step))
        };
        let rounds = self.poly(&span);
        for (slot, (value, rate)) in before.iter().zip(&rates).enumerate() {
            let moved = self.moved(value, rate, &rounds);
            if let Value::View(view) = &moved
                && view.own == super::value::Own::Vec
                && !rate.is_still()
            {
                let (view, len) = (view.clone(), view.len.clone());
                self.grow(&view, &len);
            }
            self.slots[slot] = moved;
        }
        Ok(())
    }

    /// Mutable `usize` variables that the loop just read only ever adds constants to, in every
    /// round alike: `k += 1`. Where they begin must be known.
    fn cursors(&mut self, slots: &[Value], mark: usize) -> Vec<(usize, VarId)> {
        let Some(Stmt::For(inner)) = self.blocks.last().and_then(|block| block.last()) else {
            return Vec::new();
        };
        if super::polish::jumps(&inner.body) {
            return Vec::new();
        }
        let mut steady = Vec::new();
        steady_steps(&inner.body, true, &mut steady);
        let mut found = Vec::new();
        for (slot, value) in slots.iter().enumerate() {
            let Value::Cell(var) = value else { continue };
            let known = self.types.resolve(self.type_of_var(*var)) == Ty::Known(Scalar::Usize);
            let all_steady = steady.iter().all(|(other, fine)| other != var || *fine);
            let any = steady.iter().any(|(other, _)| other == var);
            if known && all_steady && any && (var.0 as usize) < mark {
                found.push((slot, *var));
            }
        }
        found
    }

    /// Reads the loop again with those variables as sizes that move along with the counter.
    fn loop_with_cursors(
        &mut self,
        name: &str,
        range: (Expr, Expr, u64),
        cursors: &[(usize, VarId)],
        saved: Reader<'a>,
        read: &mut dyn FnMut(&mut Self, Expr) -> Lift<()>,
    ) -> Lift<()> {
        let plain = self.clone();
        let types = self.types.clone();
        let table = std::mem::take(&mut self.table);
        *self = saved;
        self.types = types;
        self.table = table;
        let mut moving = Vec::new();
        for (slot, var) in cursors {
            let start = self.last_value(*var);
            if self.is_stable(&start) {
                self.slots[*slot] = Value::Scalar(usize_num(start));
                moving.push((*slot, *var));
            }
        }
        let result = if moving.is_empty() {
            Err(self.changes_irregularly())
        } else {
            self.for_loop(name, range, read)
        };
        match result {
            Ok(()) => {}
            Err(refine @ Interrupt::Refine(_)) => return Err(refine),
            // The variables stay variables.
            Err(Interrupt::Refuse(_)) => {
                let table = std::mem::take(&mut self.table);
                *self = plain;
                self.table = table;
                return Ok(());
            }
        }
        for (slot, var) in moving {
            let value = std::mem::replace(&mut self.slots[slot], Value::Cell(var));
            let Value::Scalar(num) = value else {
                return Err(self.changes_irregularly());
            };
            self.emit(Stmt::Assign {
                var,
                value: num.expr,
            });
        }
        Ok(())
    }

    pub(super) fn changes_irregularly(&self) -> Interrupt {
        let span = self.request.function.sig.ident.span();
        self.refuse(
            span,
            "a slice, an iterator or the length of a `Vec` changes irregularly in a loop",
            "the loop nest must know where a slice begins and how long it is in every round",
            "use an index: `out[i] = ..` into a `vec![..]` of the full length",
        )
    }

    pub(super) fn one_loop(
        &mut self,
        name: &str,
        (lo, hi, step): (&Expr, &Expr, u64),
        moving: Option<(&[Value], &[Rate])>,
        read: &mut dyn FnMut(&mut Self, Expr) -> Lift<()>,
    ) -> Lift<()> {
        let var = self.var(name, Ty::Known(Scalar::Usize), false);
        let (low, end) = (self.poly(lo), self.poly(hi));
        let high = end.sub(&Poly::constant(1));
        // `0..n - 1` with `n == 0` counts nearly for ever: nothing is known of that counter.
        if self.nonneg(&end) && self.nonneg(&low) {
            self.bounds.insert(var, (low.clone(), high.clone()));
        }
        self.likely_bounds.insert(var, (low.clone(), high.clone()));
        let mut expected = Vec::new();
        let (body, ()) = self.block(|reader| {
            // The body runs only if there is a first round.
            if reader.nonneg(&end) {
                reader.know(high.sub(&low));
            }
            if let Some((before, rates)) = moving {
                let k = fold::binary(BinaryOp::Sub, Expr::Var(var), lo.clone());
                let k = fold::binary(BinaryOp::Div, k, Expr::index(step));
                let k = reader.poly(&k);
                let next = k.add(&Poly::constant(1));
                for (slot, (value, rate)) in before.iter().zip(rates).enumerate() {
                    let now = reader.moved(value, rate, &k);
                    reader.slots[slot] = now;
                    expected.push(reader.moved(value, rate, &next));
                }
            }
            reader.round(|reader| read(reader, Expr::Var(var)))
        })?;
        if moving.is_some() {
            let mut same = true;
            for (i, expected) in expected.iter().enumerate() {
                let found = self.slots[i].clone();
                same &= self.same_value(&found, expected);
            }
            if !same || super::polish::jumps(&body) {
                return Err(self.changes_irregularly());
            }
        }
        self.emit(Stmt::For(Loop {
            var,
            lo: lo.clone(),
            hi: hi.clone(),
            step,
            mark: Mark::Serial,
            body,
        }));
        Ok(())
    }

    /// Reads one round of the innermost loop.
    fn round<T>(&mut self, read: impl FnOnce(&mut Self) -> Lift<T>) -> Lift<T> {
        let now = self.slots.clone();
        let old = self
            .loops
            .last_mut()
            .and_then(|frame| frame.entry.replace(now));
        let result = read(self);
        if let Some(frame) = self.loops.last_mut() {
            frame.entry = old;
        }
        result
    }

    /// How much each slot moves in one round; `None` if that is not a number of the outside.
    pub(super) fn rates(
        &mut self,
        before: &[Value],
        after: &[Value],
        mark: usize,
    ) -> Option<Vec<Rate>> {
        let mut rates = Vec::with_capacity(before.len());
        for (old, new) in before.iter().zip(after) {
            if old == new {
                rates.push(Rate::default());
                continue;
            }
            if let (Value::Scalar(a), Value::Scalar(b)) = (old, new) {
                let (x, y) = (self.poly(&a.expr), self.poly(&b.expr));
                let rate = Rate {
                    offset: y.sub(&x),
                    len: Poly::default(),
                };
                if !self.is_outside(&rate.offset, mark) {
                    return None;
                }
                rates.push(rate);
                continue;
            }
            let (Value::View(a), Value::View(b)) = (old, new) else {
                return None;
            };
            if a.buf != b.buf || a.elem != b.elem || a.own != b.own {
                return None;
            }
            let mut rate = Rate::default();
            for (into, x, y) in [
                (&mut rate.offset, &a.offset, &b.offset),
                (&mut rate.len, &a.len, &b.len),
            ] {
                let (x, y) = (self.poly(x), self.poly(y));
                *into = y.sub(&x);
            }
            if !self.is_outside(&rate.offset, mark) || !self.is_outside(&rate.len, mark) {
                return None;
            }
            rates.push(rate);
        }
        Some(rates)
    }

    pub(super) fn moved(&mut self, value: &Value, rate: &Rate, rounds: &Poly) -> Value {
        match value {
            Value::Scalar(num) if !rate.is_still() => {
                let at = self.poly(&num.expr).add(&rate.offset.mul(rounds));
                Value::Scalar(usize_num(self.table.interner.expr(&at)))
            }
            Value::View(view) if !rate.is_still() => {
                let mut view = view.clone();
                let offset = self.poly(&view.offset).add(&rate.offset.mul(rounds));
                let len = self.poly(&view.len).add(&rate.len.mul(rounds));
                view.offset = self.table.interner.expr(&offset);
                view.len = self.table.interner.expr(&len);
                Value::View(view)
            }
            other => other.clone(),
        }
    }

    pub(super) fn same_value(&mut self, a: &Value, b: &Value) -> bool {
        match (a, b) {
            (Value::View(x), Value::View(y)) => {
                x.buf == y.buf
                    && x.elem == y.elem
                    && self.equal(&x.offset, &y.offset)
                    && self.equal(&x.len, &y.len)
            }
            (Value::Scalar(x), Value::Scalar(y)) => self.equal(&x.expr, &y.expr),
            (a, b) => a == b,
        }
    }

    /// Whether a size is known outside the loop whose variables begin at `mark`.
    fn is_outside(&self, poly: &Poly, mark: usize) -> bool {
        let mut outside = true;
        self.table.interner.expr(poly).walk(&mut |part| match part {
            Expr::Var(var) => outside &= (var.0 as usize) < mark,
            Expr::Load { .. } => outside = false,
            _ => {}
        });
        outside
    }

    /// Reads the body of a `while` or `loop`, which must leave all slots as they were.
    pub(super) fn unbounded<T>(
        &mut self,
        span: Span,
        read: impl FnOnce(&mut Self) -> Lift<T>,
    ) -> Lift<(Vec<Stmt>, T)> {
        let before = self.slots.clone();
        self.conditional += 1;
        let result = self.block(|reader| reader.round(read));
        self.conditional -= 1;
        let result = result?;
        if self.slots[..before.len()] != before[..] {
            return Err(self.refuse(
                span,
                "a slice, an iterator or the length of a `Vec` changes in a loop without a count",
                "the loop nest must know where a slice begins and how long it is in every round",
                "use `for` over a range, or an index",
            ));
        }
        Ok(result)
    }
}

/// What one round of a loop adds to a view.
#[derive(Clone, Debug, Default)]
pub(super) struct Rate {
    offset: Poly,
    len: Poly,
}

impl Rate {
    fn is_still(&self) -> bool {
        self.offset.is_zero() && self.len.is_zero()
    }
}

/// Every assignment in a body: the variable, and whether it adds a constant to itself in every
/// round.
fn steady_steps(body: &[Stmt], always: bool, into: &mut Vec<(VarId, bool)>) {
    for stmt in body {
        match stmt {
            Stmt::Assign { var, value } => {
                let adds = matches!(value, Expr::Binary(BinaryOp::Add, a, b)
                    if **a == Expr::Var(*var) && fold::as_int(b).is_some());
                into.push((*var, adds && always));
            }
            Stmt::For(inner) => {
                let calm = !super::polish::jumps(&inner.body);
                steady_steps(&inner.body, always && calm, into);
            }
            other => {
                for block in other.blocks() {
                    steady_steps(block, false, into);
                }
            }
        }
    }
}
