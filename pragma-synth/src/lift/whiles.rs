//! `while`: counted loops in disguise, slices that shrink, and real ones.

use pragma_spec::Scalar;
use proc_macro2::Span;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};

use super::error::Lift;
use super::fold;
use super::poly::Poly;
use super::reader::{Reader, bool_const, usize_num};
use super::types::Ty;
use super::value::{Place, Value};
use crate::ir::{BinaryOp, Expr, Stmt, VarId};

impl Reader<'_> {
    /// `while`.
    pub(super) fn while_expr(&mut self, inner: &syn::ExprWhile) -> Lift<Value> {
        let span = inner.span();
        if let syn::Expr::Let(cond) = &*inner.cond {
            return self.while_let(inner, cond);
        }
        if let Some(counted) = Counted::find(inner)
            && self.counted_while(inner, &counted)?
        {
            return Ok(Value::Unit);
        }
        if let Some(()) = self.shrinking_while(inner)? {
            return Ok(Value::Unit);
        }
        let label = inner
            .label
            .as_ref()
            .map(|label| label.name.ident.to_string());
        self.enter_loop(label, 1, Some(&inner.body));
        let result = self.plain_while(inner, span);
        self.leave_loop(result, span)?;
        Ok(Value::Unit)
    }

    pub(super) fn plain_while(&mut self, inner: &syn::ExprWhile, span: Span) -> Lift<()> {
        let (setup, cond) = self.unbounded(span, |reader| {
            let cond = reader.eval(&inner.cond)?;
            reader.boolean(cond, inner.cond.span())
        })?;
        let simple = setup.is_empty();
        let (body, ()) = self.unbounded(span, |reader| {
            if simple {
                reader.assume(&cond);
                return reader.loop_body(&inner.body);
            }
            let cond = reader.eval(&inner.cond)?;
            let cond = reader.boolean(cond, inner.cond.span())?;
            reader.emit(Stmt::If {
                cond: fold::not(cond),
                then: vec![Stmt::Break],
                otherwise: Vec::new(),
            });
            reader.loop_body(&inner.body)
        })?;
        let cond = if simple { cond } else { bool_const(true) };
        self.emit(Stmt::While { cond, body });
        Ok(())
    }

    /// `while i < n { ..; i += 1; }` as a counted loop; false if it is not one after all.
    fn counted_while(&mut self, inner: &syn::ExprWhile, counted: &Counted<'_>) -> Lift<bool> {
        let Some(slot) = self.env.find(&counted.name) else {
            return Ok(false);
        };
        let Some(Value::Cell(var)) = self.slots.get(slot.0).cloned() else {
            return Ok(false);
        };
        let saved = self.clone();
        if !self
            .types
            .unify(self.type_of_var(var), Ty::Known(Scalar::Usize))
        {
            *self = saved;
            return Ok(false);
        }
        let span = inner.span();
        let end = self.eval(counted.end)?;
        let end = self.index(end, span)?;
        let ahead = match counted.ahead {
            Some(ahead) => {
                let ahead = self.eval(ahead)?;
                self.index(ahead, span)?
            }
            None => Expr::index(0),
        };
        // What bounds the loop must not change in it, and the step must be known.
        let changed = Changed::of(&inner.body);
        let fixed = |reader: &Self, expr: &Expr| reader.is_stable(expr);
        let end_is_fixed = fixed(self, &end);
        if changed.mentions(counted.end, !end_is_fixed)
            || counted
                .ahead
                .is_some_and(|ahead| changed.mentions(ahead, true))
            || !fixed(self, &ahead)
        {
            *self = saved;
            return Ok(false);
        }
        let end = self.stable_index("end", end);
        let lo = self.last_value(var);
        let step = counted.step;
        // `while i + 4 <= n { ..; i += 4 }` from 0: as many rounds as fit.
        let width = fold::as_int(&ahead).map(|ahead| ahead + i128::from(!counted.or_equal));
        if step > 1 && lo == Expr::index(0) && width == Some(i128::from(step)) {
            let rounds = self.quotient(end, Expr::index(step), false)?;
            self.while_rounds(inner, counted, slot, rounds.clone())?;
            let value = fold::binary(BinaryOp::Mul, rounds, Expr::index(step));
            self.emit(Stmt::Assign { var, value });
            return Ok(true);
        }
        // `i + ahead < end`: up to `end - ahead`, none if that is below zero.
        let end = if counted.or_equal {
            fold::binary(BinaryOp::Add, end, Expr::index(1))
        } else {
            end
        };
        let last = self.poly(&end);
        let holds = last.clone().sub(&self.poly(&ahead)).sub(&Poly::constant(1));
        let hi = self.saturating_sub(end, ahead);
        let hi = self.stable_index("end", hi);
        let lo = self.stable_index("start", lo);
        let body = without_last(&inner.body);
        let label = inner
            .label
            .as_ref()
            .map(|label| label.name.ident.to_string());
        self.enter_loop(label, 1, Some(&inner.body));
        let range = (lo.clone(), hi.clone(), step);
        let result = self.for_loop(&counted.name, range, &mut |reader, i| {
            let counter = reader.poly(&i);
            if reader.nonneg(&last) {
                reader.know(holds.sub(&counter));
            }
            let old = std::mem::replace(&mut reader.slots[slot.0], Value::Scalar(usize_num(i)));
            let result = reader.loop_body(&body);
            reader.slots[slot.0] = old;
            result
        });
        self.leave_loop(result, span)?;
        // Where the counter stands afterwards.
        let distance = self.saturating_sub(hi, lo.clone());
        let up = fold::binary(BinaryOp::Add, distance, Expr::index(step - 1));
        let rounds = self.quotient(up, Expr::index(step), false)?;
        let moved = fold::binary(BinaryOp::Mul, rounds, Expr::index(step));
        let value = fold::binary(BinaryOp::Add, lo, moved);
        let value = self.simplify(value);
        self.emit(Stmt::Assign { var, value });
        Ok(true)
    }

    /// `rounds` rounds of a loop whose counter starts from 0.
    fn while_rounds(
        &mut self,
        inner: &syn::ExprWhile,
        counted: &Counted<'_>,
        slot: super::value::SlotId,
        rounds: Expr,
    ) -> Lift<()> {
        let body = without_last(&inner.body);
        let label = inner
            .label
            .as_ref()
            .map(|label| label.name.ident.to_string());
        self.enter_loop(label, 1, Some(&inner.body));
        let range = (Expr::index(0), rounds, 1);
        let result = self.for_loop(&counted.name, range, &mut |reader, k| {
            let at = fold::binary(BinaryOp::Mul, k, Expr::index(counted.step));
            let old = std::mem::replace(&mut reader.slots[slot.0], Value::Scalar(usize_num(at)));
            let result = reader.loop_body(&body);
            reader.slots[slot.0] = old;
            result
        });
        self.leave_loop(result, inner.span())
    }

    /// What a mutable variable holds now, if the block says so.
    pub(super) fn last_value(&mut self, var: VarId) -> Expr {
        let known = self.blocks.last().and_then(|block| {
            for stmt in block.iter().rev() {
                match stmt {
                    Stmt::Let { var: v, value } | Stmt::Assign { var: v, value } if *v == var => {
                        return Some(value.clone());
                    }
                    _ => {
                        let mut assigns = false;
                        stmt.walk(&mut |inner| {
                            assigns |= matches!(inner, Stmt::Assign { var: v, .. } if *v == var);
                        });
                        if assigns {
                            return None;
                        }
                    }
                }
            }
            None
        });
        let known = known.map(|value| self.settle(value));
        match known {
            Some(value) if self.is_stable(&value) => value,
            _ => Expr::Var(var),
        }
    }

    /// `while buf.len() >= k { ..; buf = &buf[k..]; }` as a counted loop.
    pub(super) fn shrinking_while(&mut self, inner: &syn::ExprWhile) -> Lift<Option<()>> {
        let Some((name, least, end_span)) = shrinks(inner) else {
            return Ok(None);
        };
        let Some(slot) = self.env.find(&name) else {
            return Ok(None);
        };
        let Some(Value::View(view)) = self.slots.get(slot.0).cloned() else {
            return Ok(None);
        };
        let least = match least {
            Some(expr) => {
                let value = self.eval(expr)?;
                self.index(value, end_span)?
            }
            None => Expr::index(1),
        };
        let Some(step) = fold::as_int(&least).and_then(|step| u64::try_from(step).ok()) else {
            return Ok(None);
        };
        if step == 0 {
            return Ok(None);
        }
        let rounds = self.quotient(view.len.clone(), Expr::index(step), false)?;
        let rounds = self.stable_index("rounds", rounds);
        let label = inner
            .label
            .as_ref()
            .map(|label| label.name.ident.to_string());
        self.enter_loop(label, 1, Some(&inner.body));
        let size = view.elem.size();
        let original = view.clone();
        let result = self.for_loop("i", (Expr::index(0), rounds, 1), &mut |reader, i| {
            // Round `i` begins with the first `i * step` elements gone, and the condition holds.
            let gone = fold::binary(BinaryOp::Mul, i, Expr::index(step));
            let mut now = original.clone();
            let skipped = fold::binary(BinaryOp::Mul, gone.clone(), size.clone());
            now.offset = fold::binary(BinaryOp::Add, original.offset.clone(), skipped);
            now.len = fold::binary(BinaryOp::Sub, original.len.clone(), gone);
            let enough = reader.poly(&now.len).sub(&reader.poly(&least));
            reader.know(enough);
            let start = now.clone();
            let old = std::mem::replace(&mut reader.slots[slot.0], Value::View(now));
            reader.loop_body(&inner.body)?;
            let end = std::mem::replace(&mut reader.slots[slot.0], old);
            let Value::View(end) = end else {
                return Err(reader.unknown(end_span, "this loop"));
            };
            let by = fold::binary(BinaryOp::Mul, Expr::index(step), size.clone());
            let expected = fold::binary(BinaryOp::Add, start.offset.clone(), by);
            let rest = fold::binary(BinaryOp::Sub, start.len.clone(), Expr::index(step));
            if reader.equal(&end.offset, &expected) && reader.equal(&end.len, &rest) {
                return Ok(());
            }
            Err(reader.refuse(
                end_span,
                "the slice does not shrink by a fixed amount in every round",
                "the number of rounds must be known before the loop starts",
                "use `chunks_exact` or an index",
            ))
        });
        self.leave_loop(result, inner.span())?;
        let whole = self.quotient(view.len.clone(), Expr::index(step), false)?;
        let gone = fold::binary(BinaryOp::Mul, whole, Expr::index(step));
        let mut rest = view.clone();
        let skipped = fold::binary(BinaryOp::Mul, gone.clone(), size);
        rest.offset = fold::binary(BinaryOp::Add, view.offset.clone(), skipped);
        rest.len = fold::binary(BinaryOp::Sub, view.len, gone);
        self.slots[slot.0] = Value::View(rest);
        Ok(Some(()))
    }

    /// The place of the iterator that `while let Some(x) = it.next()` walks through.
    pub(super) fn while_let(&mut self, inner: &syn::ExprWhile, cond: &syn::ExprLet) -> Lift<Value> {
        let span = inner.span();
        if let syn::Expr::MethodCall(call) = &*cond.expr
            && call.method == "next"
            && call.args.is_empty()
            && let syn::Pat::TupleStruct(pat) = &*cond.pat
            && pat.path.is_ident("Some")
            && pat.elems.len() == 1
            && let Place::Slot(slot, path) = self.place(&call.receiver)?
            && path.is_empty()
            && let Some(Value::Iter(iter)) = self.slots.get(slot.0).cloned()
        {
            let name = self.counter_name(&pat.elems[0], &iter);
            let label = inner
                .label
                .as_ref()
                .map(|label| label.name.ident.to_string());
            self.drive_source(
                &iter,
                &name,
                span,
                (label, Some(&inner.body)),
                &mut |reader, item| {
                    let env = reader.env.clone();
                    reader.bind_pattern(&pat.elems[0], item)?;
                    let result = reader.loop_body(&inner.body);
                    reader.env = env;
                    result
                },
            )?;
            // How far it came is not known any more.
            self.slots[slot.0] = Value::Unit;
            return Ok(Value::Unit);
        }
        Err(self.unknown(span, "this `while let`"))
    }
}

fn without_last(block: &syn::Block) -> syn::Block {
    syn::Block {
        brace_token: block.brace_token,
        stmts: block.stmts[..block.stmts.len().saturating_sub(1)].to_vec(),
    }
}

/// `while name + ahead < end { ..; name += step; }`.
struct Counted<'a> {
    name: String,
    ahead: Option<&'a syn::Expr>,
    end: &'a syn::Expr,
    or_equal: bool,
    step: u64,
}

impl<'a> Counted<'a> {
    fn find(inner: &'a syn::ExprWhile) -> Option<Self> {
        let syn::Expr::Binary(cond) = &*inner.cond else {
            return None;
        };
        let or_equal = match cond.op {
            syn::BinOp::Lt(_) => false,
            syn::BinOp::Le(_) => true,
            _ => return None,
        };
        let (name, ahead) = match &*cond.left {
            syn::Expr::Path(path) => (path.path.get_ident()?.to_string(), None),
            syn::Expr::Binary(sum) if matches!(sum.op, syn::BinOp::Add(_)) => match &*sum.left {
                syn::Expr::Path(path) => (path.path.get_ident()?.to_string(), Some(&*sum.right)),
                _ => return None,
            },
            _ => return None,
        };
        let (last, before) = inner.body.stmts.split_last()?;
        let syn::Stmt::Expr(syn::Expr::Binary(step), _) = last else {
            return None;
        };
        let syn::Expr::Path(target) = &*step.left else {
            return None;
        };
        if !matches!(step.op, syn::BinOp::AddAssign(_)) || !target.path.is_ident(&name) {
            return None;
        }
        let syn::Expr::Lit(syn::ExprLit {
            lit: syn::Lit::Int(int),
            ..
        }) = &*step.right
        else {
            return None;
        };
        let step = int.base10_parse().ok().filter(|step| *step >= 1)?;
        let mut changed = Changed::default();
        before.iter().for_each(|stmt| changed.visit_stmt(stmt));
        // `continue` would skip the step.
        (!changed.names.contains(&name) && !changed.jumps).then_some(Counted {
            name,
            ahead,
            end: &cond.right,
            or_equal,
            step,
        })
    }
}

/// Names that a piece of source may change.
#[derive(Default)]
struct Changed {
    names: Vec<String>,
    /// Names of which only elements or fields change.
    inside: Vec<String>,
    jumps: bool,
}

impl Changed {
    fn of(block: &syn::Block) -> Self {
        let mut changed = Changed::default();
        changed.visit_block(block);
        changed
    }

    /// Whether `expr` names anything that changes; `deep` if elements and fields count.
    fn mentions(&self, expr: &syn::Expr, deep: bool) -> bool {
        struct Finder<'a>(Vec<&'a String>, bool);
        impl<'ast> Visit<'ast> for Finder<'_> {
            fn visit_ident(&mut self, ident: &'ast syn::Ident) {
                self.1 |= self.0.iter().any(|name| ident == *name);
            }
        }
        let inside = self.inside.iter().filter(|_| deep);
        let mut finder = Finder(self.names.iter().chain(inside).collect(), false);
        finder.visit_expr(expr);
        finder.1
    }

    fn add(&mut self, expr: &syn::Expr) {
        match expr {
            syn::Expr::Path(path) => {
                if let Some(name) = path.path.get_ident() {
                    self.names.push(name.to_string());
                }
            }
            syn::Expr::Index(inner) => self.add_inside(&inner.expr),
            syn::Expr::Field(inner) => self.add_inside(&inner.base),
            syn::Expr::Paren(inner) => self.add(&inner.expr),
            syn::Expr::Unary(inner) => self.add(&inner.expr),
            syn::Expr::Tuple(inner) => inner.elems.iter().for_each(|elem| self.add(elem)),
            syn::Expr::MethodCall(inner) => self.add(&inner.receiver),
            syn::Expr::Reference(inner) => self.add(&inner.expr),
            _ => {}
        }
    }

    fn add_inside(&mut self, expr: &syn::Expr) {
        let mut part = Changed::default();
        part.add(expr);
        self.inside.append(&mut part.names);
        self.inside.append(&mut part.inside);
    }
}

impl<'ast> Visit<'ast> for Changed {
    fn visit_expr(&mut self, expr: &'ast syn::Expr) {
        match expr {
            syn::Expr::Assign(assign) => self.add(&assign.left),
            syn::Expr::Binary(binary)
                if matches!(
                    binary.op,
                    syn::BinOp::AddAssign(_)
                        | syn::BinOp::SubAssign(_)
                        | syn::BinOp::MulAssign(_)
                        | syn::BinOp::DivAssign(_)
                        | syn::BinOp::RemAssign(_)
                        | syn::BinOp::BitXorAssign(_)
                        | syn::BinOp::BitAndAssign(_)
                        | syn::BinOp::BitOrAssign(_)
                        | syn::BinOp::ShlAssign(_)
                        | syn::BinOp::ShrAssign(_)
                ) =>
            {
                self.add(&binary.left);
            }
            syn::Expr::Reference(reference) if reference.mutability.is_some() => {
                self.add(&reference.expr);
            }
            syn::Expr::MethodCall(call)
                if !super::numeric::is_scalar_method(&call.method.to_string())
                    && call.method != "len" =>
            {
                self.add(&call.receiver);
            }
            syn::Expr::Continue(_) | syn::Expr::Break(_) => self.jumps = true,
            // Macro arguments are not parsed here: nothing is known of them.
            syn::Expr::Macro(_) => {}
            _ => {}
        }
        visit::visit_expr(self, expr);
    }
}

/// `while buf.len() >= least` (or `!buf.is_empty()`) whose body ends by shrinking `buf`.
fn shrinks(inner: &syn::ExprWhile) -> Option<(String, Option<&syn::Expr>, Span)> {
    let (name, least) = match &*inner.cond {
        syn::Expr::Binary(cond) if matches!(cond.op, syn::BinOp::Ge(_)) => match &*cond.left {
            syn::Expr::MethodCall(call) if call.method == "len" => {
                (ident_of(&call.receiver)?, Some(&*cond.right))
            }
            _ => return None,
        },
        syn::Expr::Unary(not) if matches!(not.op, syn::UnOp::Not(_)) => match &*not.expr {
            syn::Expr::MethodCall(call) if call.method == "is_empty" => {
                (ident_of(&call.receiver)?, None)
            }
            _ => return None,
        },
        _ => return None,
    };
    let changed = Changed::of(&inner.body);
    (changed.names.contains(&name) && !changed.jumps).then(|| (name, least, inner.cond.span()))
}

fn ident_of(expr: &syn::Expr) -> Option<String> {
    match expr {
        syn::Expr::Path(path) => path.path.get_ident().map(ToString::to_string),
        _ => None,
    }
}
