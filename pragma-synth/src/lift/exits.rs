//! Blocks, branches and loops: how statements that leave early shape what follows them.
//!
//! Owns merging what two branches know, and what changes from one round of a loop to the next.

use proc_macro2::Span;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};

use super::error::Lift;
use super::fold;
use super::reader::{Exit, Reader, bool_const, bool_num};
use super::types::Written;
use super::value::Value;
use crate::ir::{Expr, Stmt};

impl Reader<'_> {
    /// Whether `return` does not really leave: it sets a flag of an inlined function.
    pub(super) fn is_soft(&self) -> bool {
        matches!(self.frame().exit, Exit::Early { .. })
    }

    /// `return value`.
    pub(super) fn leave(&mut self, value: Value, span: Span) -> Lift<Value> {
        let value = self.target(value, span)?;
        if self.frame().fails_outright
            && let Value::Option { some, value: inner } = &value
            && !matches!(self.frame().exit, Exit::Kernel | Exit::Closure)
        {
            match fold::as_bool(some) {
                Some(false) => {
                    self.emit(Stmt::Decline);
                    return Ok(Value::Never);
                }
                Some(true) => {}
                None => {
                    let none = fold::not(some.clone());
                    self.emit_if(none, vec![Stmt::Decline], Vec::new());
                    let some = some.clone();
                    self.assume(&some);
                    let sure = Value::Option {
                        some: bool_const(true),
                        value: inner.clone(),
                    };
                    return self.leave(sure, span);
                }
            }
        }
        match self.frame().exit.clone() {
            Exit::Kernel => {
                self.leave_kernel(value, span, false)?;
                Ok(Value::Never)
            }
            Exit::Early { storage, flag } => {
                self.assign(&storage, value, span)?;
                self.emit(Stmt::Assign {
                    var: flag,
                    value: bool_const(true),
                });
                if self.loops.len() > self.frame().loop_base {
                    if self.loops.last().is_some_and(|frame| frame.ir_loops != 1) {
                        return Err(self.unknown(span, "`return` from several loops at once"));
                    }
                    self.emit(Stmt::Break);
                }
                Ok(Value::Never)
            }
            Exit::Tail | Exit::Closure => Err(self.refuse(
                span,
                "`return` here is not understood",
                "it leaves a closure, which the loop nest has no words for",
                "make the closure one expression",
            )),
        }
    }

    /// The body of the kernel.
    pub(super) fn body(&mut self, block: &syn::Block) -> Lift<Value> {
        self.scope(block, Tail::Function)
    }

    /// A block with a scope of its own, in the present list of statements.
    pub(super) fn scoped_block(&mut self, block: &syn::Block) -> Lift<Value> {
        self.scope(block, Tail::No)
    }

    /// The body of a loop.
    pub(super) fn loop_body(&mut self, block: &syn::Block) -> Lift<()> {
        self.scope(block, Tail::Loop)?;
        Ok(())
    }

    fn scope(&mut self, block: &syn::Block, tail: Tail) -> Lift<Value> {
        let env = self.env.clone();
        self.declare_items(&block.stmts);
        let result = self.statements(&block.stmts, tail);
        self.env = env;
        result
    }

    /// Statements in order; the value is that of the last.
    fn statements(&mut self, stmts: &[syn::Stmt], tail: Tail) -> Lift<Value> {
        for (i, stmt) in stmts.iter().enumerate() {
            let last = i + 1 == stmts.len();
            let rest = &stmts[i + 1..];
            // `if cond { continue }` and early returns of helpers: the rest becomes the other
            // branch, which keeps the nest structured.
            if !last
                && let syn::Stmt::Expr(syn::Expr::If(inner), _) = stmt
                && self.splits(inner, tail)
            {
                return self.split(inner, rest, tail);
            }
            let soft = self.is_soft() && returns_early(stmt, self.frame().fails_outright);
            if tail == Tail::Function && self.frames.len() == 1 {
                self.last_statement = rest.iter().all(is_swap);
            }
            let value = self.statement(stmt, last)?;
            if value == Value::Never {
                return Ok(Value::Never);
            }
            if soft && !last {
                return self.unless_left(stmt, rest, tail);
            }
            if last {
                // A `return` in a loop inside this one has left only that.
                if soft
                    && has_loop(stmt)
                    && self.loops.len() > self.frame().loop_base
                    && let Exit::Early { flag, .. } = self.frame().exit
                {
                    self.emit(Stmt::If {
                        cond: Expr::Var(flag),
                        then: vec![Stmt::Break],
                        otherwise: Vec::new(),
                    });
                }
                return if soft && tail == Tail::Function {
                    self.unless_left_value(value, stmt.span())
                } else {
                    Ok(value)
                };
            }
        }
        Ok(Value::Unit)
    }

    /// Whether an `if` is to take the rest of its block as its other branch.
    fn splits(&self, inner: &syn::ExprIf, tail: Tail) -> bool {
        if inner.else_branch.is_some() || has_let(&inner.cond) {
            return false;
        }
        match tail {
            Tail::Function => {
                self.is_soft()
                    && ends_in_return(&inner.then_branch)
                    && block_returns(&inner.then_branch, self.frame().fails_outright)
            }
            Tail::Loop => ends_in_continue(&inner.then_branch),
            Tail::No => false,
        }
    }

    fn split(&mut self, inner: &syn::ExprIf, rest: &[syn::Stmt], tail: Tail) -> Lift<Value> {
        let span = inner.span();
        self.learn_from_guard(inner)?;
        let cond = self.eval(&inner.cond)?;
        let cond = self.boolean(cond, inner.cond.span())?;
        match fold::as_bool(&cond) {
            Some(true) => return self.scoped_block(&inner.then_branch),
            Some(false) => return self.statements(rest, tail),
            None => {}
        }
        let (mut then, _, state_a) =
            self.branch_state(&cond, |reader| reader.scoped_block(&inner.then_branch))?;
        if tail == Tail::Loop && then.last() == Some(&Stmt::Continue) {
            then.pop();
        }
        let unless = fold::not(cond.clone());
        // What comes after the branch belongs to no condition that the data decides, as far as
        // lengths are concerned: they are still learnt from it.
        let outside = self.conditional;
        let (otherwise, second, state_b) = self.branch_state(&unless, |reader| {
            reader.conditional = outside;
            let value = reader.statements(rest, tail)?;
            if tail == Tail::Function {
                reader.finish_early(value, span)
            } else {
                Ok(value)
            }
        })?;
        let state_a = (tail == Tail::Loop).then_some(state_a);
        let state_b = (tail == Tail::Function || second != Value::Never).then_some(state_b);
        self.merge_states(state_a, state_b, span)?;
        self.emit_if(cond, then, otherwise);
        Ok(if tail == Tail::Function {
            Value::Never
        } else {
            Value::Unit
        })
    }

    /// The end of an inlined function that returns from its middle: its value goes where the
    /// other returns put theirs.
    fn finish_early(&mut self, value: Value, span: Span) -> Lift<Value> {
        if value != Value::Never
            && let Exit::Early { storage, .. } = self.frame().exit.clone()
        {
            self.assign(&storage, value, span)?;
        }
        Ok(Value::Never)
    }

    /// Reads `rest` where the inlined function has not returned in `stmt`.
    fn unless_left(&mut self, stmt: &syn::Stmt, rest: &[syn::Stmt], tail: Tail) -> Lift<Value> {
        let span = stmt.span();
        let Exit::Early { flag, .. } = self.frame().exit.clone() else {
            return self.statements(rest, tail);
        };
        if self.loops.len() > self.frame().loop_base {
            // A `return` straight in this loop has left it already; one in a loop inside it has
            // left only that.
            if has_loop(stmt) {
                self.emit(Stmt::If {
                    cond: Expr::Var(flag),
                    then: vec![Stmt::Break],
                    otherwise: Vec::new(),
                });
            }
            return self.statements(rest, tail);
        }
        let going = fold::not(Expr::Var(flag));
        let (block, value, state) = self.branch_state(&going, |reader| {
            let value = reader.statements(rest, tail)?;
            if tail == Tail::Function {
                reader.finish_early(value, span)
            } else {
                Ok(value)
            }
        })?;
        self.merge_states(Some(state), None, span)?;
        self.emit_if(going, block, Vec::new());
        match value {
            Value::Never if tail == Tail::Function => Ok(Value::Never),
            Value::Unit | Value::Never => Ok(Value::Unit),
            _ => Err(self.unknown(span, "a block that may return and also has a value")),
        }
    }

    fn unless_left_value(&mut self, value: Value, span: Span) -> Lift<Value> {
        let Exit::Early { flag, .. } = self.frame().exit.clone() else {
            return Ok(value);
        };
        let going = fold::not(Expr::Var(flag));
        let (block, value) = self.branch(&going, |reader| reader.finish_early(value, span))?;
        self.emit_if(going, block, Vec::new());
        Ok(value)
    }

    /// Reads an inlined body, returning its value. `written` is what it returns.
    pub(super) fn inlined_body(
        &mut self,
        block: &syn::Block,
        written: &Written,
        span: Span,
    ) -> Lift<Value> {
        if !early(block, self.frame().fails_outright) {
            if let Some(frame) = self.frames.last_mut() {
                frame.exit = Exit::Tail;
            }
            return self.tail_block(block);
        }
        let first = self.zero_of(written, span)?;
        let storage = self.storage("result", first, span)?;
        let flag = self.cell("returned", bool_num(bool_const(false)));
        if let Some(frame) = self.frames.last_mut() {
            frame.exit = Exit::Early {
                storage: storage.clone(),
                flag,
            };
        }
        let value = self.scope(block, Tail::Function)?;
        self.finish_early(value, span)?;
        self.read_value(storage)
    }

    /// A body whose only `return`, if any, is its last statement.
    fn tail_block(&mut self, block: &syn::Block) -> Lift<Value> {
        if let Some((syn::Stmt::Expr(syn::Expr::Return(inner), _), before)) =
            block.stmts.split_last()
        {
            let env = self.env.clone();
            self.declare_items(&block.stmts);
            let value = self.statements(before, Tail::No)?;
            let value = match &inner.expr {
                _ if value == Value::Never => Value::Never,
                Some(expr) => self.eval(expr)?,
                None => Value::Unit,
            };
            self.env = env;
            return Ok(value);
        }
        self.scoped_block(block)
    }
}

/// What the end of a list of statements is the end of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tail {
    /// Some block.
    No,
    /// A function.
    Function,
    /// The body of a loop.
    Loop,
}

/// Finds what returns from the function: all but failures, if those end the kernel.
struct Returns {
    fails_outright: bool,
    found: bool,
}

impl<'ast> Visit<'ast> for Returns {
    fn visit_expr(&mut self, expr: &'ast syn::Expr) {
        match expr {
            syn::Expr::Return(inner) => {
                let fails = inner.expr.as_deref().is_some_and(is_failure);
                self.found |= !(fails && self.fails_outright);
            }
            syn::Expr::Try(inner) => {
                self.found |= !self.fails_outright;
                visit::visit_expr(self, &inner.expr);
            }
            syn::Expr::Closure(_) => {}
            _ => visit::visit_expr(self, expr),
        }
    }
    fn visit_macro(&mut self, mac: &'ast syn::Macro) {
        self.found |= super::macros::fails(mac) && !self.fails_outright;
    }
    fn visit_item(&mut self, _: &'ast syn::Item) {}
}

/// Whether a statement is `mem::swap(..)`, or the `Ok(())` at the end.
fn is_swap(stmt: &syn::Stmt) -> bool {
    let syn::Stmt::Expr(syn::Expr::Call(call), _) = stmt else {
        return false;
    };
    match &*call.func {
        syn::Expr::Path(path) => path
            .path
            .segments
            .last()
            .is_some_and(|last| last.ident == "swap" || last.ident == "Ok"),
        _ => false,
    }
}

/// Whether a block does nothing but fail or panic.
pub(super) fn only_fails(block: &syn::Block) -> bool {
    let panics = |mac: &syn::Macro| {
        super::macros::fails(mac) && !mac.path.is_ident("ensure")
            || ["panic", "unreachable", "unimplemented", "todo"]
                .iter()
                .any(|name| mac.path.is_ident(name))
    };
    match &block.stmts[..] {
        [syn::Stmt::Expr(syn::Expr::Return(inner), _)] => {
            inner.expr.as_deref().is_some_and(is_failure)
        }
        [syn::Stmt::Expr(syn::Expr::Macro(inner), _)] => panics(&inner.mac),
        [syn::Stmt::Macro(inner)] => panics(&inner.mac),
        _ => false,
    }
}

/// Whether an expression is `Err(..)` or `None`.
pub(super) fn is_failure(expr: &syn::Expr) -> bool {
    match expr {
        syn::Expr::Call(call) => {
            matches!(&*call.func, syn::Expr::Path(path) if path.path.is_ident("Err"))
        }
        syn::Expr::Path(path) => path.path.is_ident("None"),
        syn::Expr::Paren(inner) => is_failure(&inner.expr),
        _ => false,
    }
}

fn returns_early(stmt: &syn::Stmt, fails_outright: bool) -> bool {
    let mut finder = Returns {
        fails_outright,
        found: false,
    };
    finder.visit_stmt(stmt);
    finder.found
}

fn block_returns(block: &syn::Block, fails_outright: bool) -> bool {
    block
        .stmts
        .iter()
        .any(|stmt| returns_early(stmt, fails_outright))
}

/// Whether a body returns from anywhere but its last statement.
fn early(block: &syn::Block, fails_outright: bool) -> bool {
    match block.stmts.split_last() {
        Some((syn::Stmt::Expr(syn::Expr::Return(inner), _), before)) => {
            before
                .iter()
                .any(|stmt| returns_early(stmt, fails_outright))
                || inner.expr.as_ref().is_some_and(|expr| {
                    let mut finder = Returns {
                        fails_outright,
                        found: false,
                    };
                    finder.visit_expr(expr);
                    finder.found
                })
        }
        _ => block_returns(block, fails_outright),
    }
}

fn ends_in_return(block: &syn::Block) -> bool {
    matches!(
        block.stmts.last(),
        Some(syn::Stmt::Expr(syn::Expr::Return(_), _))
    )
}

fn has_loop(stmt: &syn::Stmt) -> bool {
    struct Finder(bool);
    impl<'ast> Visit<'ast> for Finder {
        fn visit_expr(&mut self, expr: &'ast syn::Expr) {
            self.0 |= matches!(
                expr,
                syn::Expr::ForLoop(_) | syn::Expr::While(_) | syn::Expr::Loop(_)
            );
            visit::visit_expr(self, expr);
        }
    }
    let mut finder = Finder(false);
    finder.visit_stmt(stmt);
    finder.0
}

fn ends_in_continue(block: &syn::Block) -> bool {
    matches!(
        block.stmts.last(),
        Some(syn::Stmt::Expr(syn::Expr::Continue(inner), _)) if inner.label.is_none()
    )
}

fn has_let(expr: &syn::Expr) -> bool {
    struct Finder(bool);
    impl<'ast> Visit<'ast> for Finder {
        fn visit_expr_let(&mut self, _: &'ast syn::ExprLet) {
            self.0 = true;
        }
        fn visit_expr_closure(&mut self, _: &'ast syn::ExprClosure) {}
    }
    let mut finder = Finder(false);
    finder.visit_expr(expr);
    finder.0
}
