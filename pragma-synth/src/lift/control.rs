//! Control flow: statements, `if`, `for`, `while`, `loop`, `break`, `continue`.

use proc_macro2::Span;
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::visit::Visit;

use super::error::Lift;
use super::fold;
use super::reader::{LoopFrame, Reader, bool_const, bool_num};
use super::value::{Iter, Value};
use crate::ir::{Expr, Stmt};

impl Reader<'_> {
    /// One statement; `last` if its value is that of the block.
    pub(super) fn statement(&mut self, stmt: &syn::Stmt, last: bool) -> Lift<Value> {
        match stmt {
            syn::Stmt::Local(local) => self.let_stmt(local),
            syn::Stmt::Item(_) => Ok(Value::Unit), // see `declare_items`
            syn::Stmt::Expr(expr, semi) => {
                let value = self.eval(expr)?;
                Ok(if (last && semi.is_none()) || value == Value::Never {
                    value
                } else {
                    Value::Unit
                })
            }
            syn::Stmt::Macro(inner) => {
                let value = self.macro_expr(&inner.mac)?;
                Ok(
                    if (last && inner.semi_token.is_none()) || value == Value::Never {
                        value
                    } else {
                        Value::Unit
                    },
                )
            }
        }
    }

    fn let_stmt(&mut self, local: &syn::Local) -> Lift<Value> {
        let span = local.span();
        let Some(init) = &local.init else {
            return self.let_later(&local.pat, span);
        };
        if let Some((_, diverge)) = &init.diverge {
            return self.let_else(&local.pat, &init.expr, diverge, span);
        }
        let value = self.eval(&init.expr)?;
        if value == Value::Never {
            return Ok(Value::Never);
        }
        self.bind_pattern(&local.pat, value)?;
        Ok(Value::Unit)
    }

    /// `let x;`: a variable that gets its value later.
    fn let_later(&mut self, pat: &syn::Pat, span: Span) -> Lift<Value> {
        let (name, written) = match pat {
            syn::Pat::Ident(ident) => (ident.ident.to_string(), None),
            syn::Pat::Type(typed) => match &*typed.pat {
                syn::Pat::Ident(ident) => (ident.ident.to_string(), Some(self.written(&typed.ty)?)),
                _ => return Err(self.unknown(span, "this `let`")),
            },
            _ => return Err(self.unknown(span, "this `let`")),
        };
        let Some(written) = written else {
            return Err(self.refuse(
                span,
                format!("the type of `{name}` is not known here"),
                "its value comes later, and the engine reads types in order",
                format!("write its type: `let {name}: f32;`"),
            ));
        };
        let value = self.zero_of(&written, span)?;
        let storage = self.storage(&name, value, span)?;
        self.bind(&name, storage);
        Ok(Value::Unit)
    }

    /// `if`.
    pub(super) fn if_expr(&mut self, inner: &syn::ExprIf) -> Lift<Value> {
        let span = inner.span();
        if let syn::Expr::Let(cond) = &*inner.cond {
            return self.if_let(inner, cond);
        }
        self.learn_from_guard(inner)?;
        let cond = self.eval(&inner.cond)?;
        if cond == Value::Never {
            return Ok(Value::Never);
        }
        let cond = self.boolean(cond, inner.cond.span())?;
        match (fold::as_bool(&cond), &inner.else_branch) {
            (Some(true), _) => return self.scoped_block(&inner.then_branch),
            (Some(false), Some((_, other))) => return self.eval(other),
            (Some(false), None) => return Ok(Value::Unit),
            (None, _) => {}
        }
        self.two_ways(
            cond,
            span,
            &mut |reader| reader.scoped_block(&inner.then_branch),
            &mut |reader| match &inner.else_branch {
                Some((_, other)) => reader.eval(other),
                None => Ok(Value::Unit),
            },
        )
    }

    /// Reads both sides of a condition and joins them.
    pub(super) fn two_ways(
        &mut self,
        cond: Expr,
        span: Span,
        then: &mut dyn FnMut(&mut Self) -> Lift<Value>,
        otherwise: &mut dyn FnMut(&mut Self) -> Lift<Value>,
    ) -> Lift<Value> {
        // The condition is evaluated once, before either side.
        let (a_block, a, a_state) = self.branch_state(&cond, |reader| then(reader))?;
        let unless = fold::not(cond.clone());
        let (b_block, b, b_state) = self.branch_state(&unless, |reader| otherwise(reader))?;
        let hard = !self.is_soft();
        let a_state = (a != Value::Never || !hard).then_some(a_state);
        let b_state = (b != Value::Never || !hard).then_some(b_state);
        self.merge_states(a_state, b_state, span)?;
        let diverged = a == Value::Never && b == Value::Never;
        let value = self.join(cond, (a_block, a), (b_block, b), span)?;
        Ok(if diverged { Value::Never } else { value })
    }

    /// `for`.
    pub(super) fn for_expr(&mut self, inner: &syn::ExprForLoop) -> Lift<Value> {
        let source = self.eval(&inner.expr)?;
        let iter = self.iterator(source, inner.expr.span())?;
        let name = self.counter_name(&inner.pat, &iter);
        let label = inner
            .label
            .as_ref()
            .map(|label| label.name.ident.to_string());
        self.drive_source(
            &iter,
            &name,
            inner.expr.span(),
            (label, Some(&inner.body)),
            &mut |reader, item| {
                let env = reader.env.clone();
                reader.bind_pattern(&inner.pat, item)?;
                let result = reader.loop_body(&inner.body);
                reader.env = env;
                result
            },
        )?;
        Ok(Value::Unit)
    }

    /// `loop`.
    pub(super) fn loop_expr(&mut self, inner: &syn::ExprLoop) -> Lift<Value> {
        let label = inner
            .label
            .as_ref()
            .map(|label| label.name.ident.to_string());
        self.enter_loop(label, 1, Some(&inner.body));
        let result = self.unbounded(inner.span(), |reader| reader.loop_body(&inner.body));
        let result = result.map(|(body, ())| {
            self.emit(Stmt::While {
                cond: bool_const(true),
                body,
            });
        });
        self.leave_loop(result, inner.span())?;
        Ok(Value::Unit)
    }

    /// `break`.
    pub(super) fn break_expr(&mut self, inner: &syn::ExprBreak) -> Lift<Value> {
        if inner.expr.is_some() {
            return Err(self.unknown(inner.span(), "`break` with a value"));
        }
        let label = inner.label.as_ref().map(|label| label.ident.to_string());
        self.jump(label, true, inner.span())
    }

    /// `continue`.
    pub(super) fn continue_expr(&mut self, inner: &syn::ExprContinue) -> Lift<Value> {
        let label = inner.label.as_ref().map(|label| label.ident.to_string());
        self.jump(label, false, inner.span())
    }

    /// `break` or `continue`. One that aims further out sets a flag and leaves the innermost
    /// loop, after which the flag is looked at.
    fn jump(&mut self, label: Option<String>, is_break: bool, span: Span) -> Lift<Value> {
        let several = || {
            (
                "a jump out of more than the innermost loop",
                "the loop nest leaves or repeats one loop at a time",
                "put the inner loop into a function of its own and return from it",
            )
        };
        let inside = self.loops.len() > self.frame().loop_base;
        let Some(frame) = self
            .loops
            .last()
            .filter(|frame| inside && frame.ir_loops == 1)
        else {
            let (message, why, help) = several();
            return Err(self.refuse(span, message, why, help));
        };
        if let Some(entry) = &frame.entry
            && self.slots[..entry.len()] != entry[..]
        {
            return Err(self.refuse(
                span,
                "a slice, an iterator or the length of a `Vec` has changed before this jump",
                "the loop nest must know where a slice begins and how long it is in every round",
                "use an index, or change it at the end of the body only",
            ));
        }
        if label.is_none() || frame.label == label {
            self.emit(if is_break {
                Stmt::Break
            } else {
                Stmt::Continue
            });
            return Ok(Value::Never);
        }
        let flag = frame.outward.iter().find_map(|(target, breaks, flag)| {
            (Some(target) == label.as_ref() && *breaks == is_break).then_some(*flag)
        });
        let Some(flag) = flag else {
            let (message, why, help) = several();
            return Err(self.refuse(span, message, why, help));
        };
        self.emit(Stmt::Assign {
            var: flag,
            value: bool_const(true),
        });
        self.emit(Stmt::Break);
        Ok(Value::Never)
    }

    /// Begins a loop; `body` is looked through for jumps that aim further out.
    pub(super) fn enter_loop(
        &mut self,
        label: Option<String>,
        ir_loops: usize,
        body: Option<&syn::Block>,
    ) {
        let mut finder = Jumps::default();
        if let Some(body) = body {
            finder.visit_block(body);
        }
        let mut outward = Vec::new();
        for (target, is_break) in finder.found {
            let known = self.loops[self.frame().loop_base..]
                .iter()
                .any(|frame| frame.label.as_ref() == Some(&target));
            if known && Some(&target) != label.as_ref() {
                let flag = self.cell("left", bool_num(bool_const(false)));
                outward.push((target, is_break, flag));
            }
        }
        self.loops.push(LoopFrame {
            label,
            ir_loops,
            entry: None,
            outward,
        });
    }

    /// Ends a loop, and goes on with the jumps that have left it on their way out.
    pub(super) fn leave_loop(&mut self, result: Lift<()>, span: Span) -> Lift<()> {
        let frame = self.loops.pop().unwrap_or_default();
        result?;
        for (target, is_break, flag) in frame.outward {
            let taken = Expr::Var(flag);
            let (block, _) =
                self.branch(&taken, |reader| reader.jump(Some(target), is_break, span))?;
            self.emit(Stmt::If {
                cond: taken,
                then: block,
                otherwise: Vec::new(),
            });
        }
        Ok(())
    }

    /// Reads the items of `iter` one by one in a loop.
    pub(super) fn drive(
        &mut self,
        iter: &Iter,
        name: &str,
        span: Span,
        label: Option<String>,
        body: &mut dyn FnMut(&mut Self, Value) -> Lift<()>,
    ) -> Lift<()> {
        self.drive_source(iter, name, span, (label, None), body)
    }

    /// As [`Reader::drive`], for a body written as a block.
    pub(super) fn drive_source(
        &mut self,
        iter: &Iter,
        name: &str,
        span: Span,
        (label, source): (Option<String>, Option<&syn::Block>),
        body: &mut dyn FnMut(&mut Self, Value) -> Lift<()>,
    ) -> Lift<()> {
        let ir_loops = if Self::is_one_loop(iter) { 1 } else { 2 };
        self.enter_loop(label, ir_loops, source);
        let result = self.drive_items(iter, name, span, body);
        self.leave_loop(result, span)
    }

    /// A name for the counter of a loop: that of the user's own counter, else a letter.
    pub(super) fn counter_name(&self, pat: &syn::Pat, iter: &Iter) -> String {
        match (pat, iter) {
            (
                syn::Pat::Ident(ident),
                Iter::Range { .. } | Iter::StepBy(..) | Iter::Rev(_) | Iter::Skip(..),
            ) if matches!(innermost(iter), Iter::Range { .. }) => ident.ident.unraw().to_string(),
            (syn::Pat::Tuple(tuple), Iter::Enumerate(_)) => match tuple.elems.first() {
                Some(syn::Pat::Ident(ident)) => ident.ident.unraw().to_string(),
                _ => self.letter(),
            },
            (syn::Pat::Tuple(tuple), Iter::Zip(first, _)) => match tuple.elems.first() {
                Some(pat) => self.counter_name(pat, first),
                None => self.letter(),
            },
            _ => self.letter(),
        }
    }

    /// `i`, `j`, `k` by how deep the loop is.
    pub(super) fn letter(&self) -> String {
        let letters = ["i", "j", "k", "l"];
        letters[self.loops.len().min(letters.len() - 1)].to_owned()
    }
}

/// Labelled jumps.
#[derive(Default)]
struct Jumps {
    found: Vec<(String, bool)>,
}

impl<'ast> Visit<'ast> for Jumps {
    fn visit_expr(&mut self, expr: &'ast syn::Expr) {
        let jump = match expr {
            syn::Expr::Break(inner) => inner.label.as_ref().map(|label| (label, true)),
            syn::Expr::Continue(inner) => inner.label.as_ref().map(|label| (label, false)),
            _ => None,
        };
        if let Some((label, is_break)) = jump {
            let jump = (label.ident.to_string(), is_break);
            if !self.found.contains(&jump) {
                self.found.push(jump);
            }
        }
        syn::visit::visit_expr(self, expr);
    }
}

fn innermost(iter: &Iter) -> &Iter {
    match iter {
        Iter::StepBy(inner, _) | Iter::Rev(inner) | Iter::Skip(inner, _) => innermost(inner),
        iter => iter,
    }
}
