//! Statements: scopes, single declaration, control flow, marks, and the types inside them.

use pragma_spec::Scalar;

use super::{VerifyError, types};
use crate::ir::{BufId, BufRole, Expr, Loop, Mark, Param, Program, Stmt, VarId};

pub(super) fn check(program: &Program, errors: &mut Vec<VerifyError>) {
    let mut checker = Checker {
        program,
        errors,
        at: "body".to_owned(),
        declared: vec![false; program.vars.len()],
        allocated: vec![false; program.bufs.len()],
        visible: Vec::new(),
        usable: Vec::new(),
        loops: Vec::new(),
    };
    for param in &program.params {
        match param {
            Param::Scalar(var) => {
                checker.declared[var.0 as usize] = true;
                checker.visible.push(*var);
            }
            Param::Buffer(buf) => checker.usable.push(*buf),
            Param::Dim(_) => {}
        }
    }
    checker.usable.extend(program.returns.buffers());
    checker.block(&program.body);
    checker.declines(&program.body, false);
}

#[derive(Clone, Copy, PartialEq)]
enum Enclosing {
    While,
    Plain,
    Unroll,
    Vector,
    Parallel,
    ParallelVector,
}

impl Enclosing {
    fn is_vector(self) -> bool {
        matches!(self, Enclosing::Vector | Enclosing::ParallelVector)
    }

    fn is_parallel(self) -> bool {
        matches!(self, Enclosing::Parallel | Enclosing::ParallelVector)
    }
}

/// Whether a block ends by leaving the program.
fn leaves(body: &[Stmt]) -> bool {
    matches!(
        body.last(),
        Some(Stmt::Return(_) | Stmt::Panic | Stmt::Decline)
    )
}

struct Checker<'a> {
    program: &'a Program,
    errors: &'a mut Vec<VerifyError>,
    at: String,
    /// By variable: some parameter, `Let` or loop has declared it.
    declared: Vec<bool>,
    /// By buffer: some `Alloc` has made it.
    allocated: Vec<bool>,
    /// What is in scope here, innermost last.
    visible: Vec<VarId>,
    usable: Vec<BufId>,
    loops: Vec<Enclosing>,
}

impl Checker<'_> {
    fn complain(&mut self, message: impl Into<String>) {
        super::push(self.errors, &self.at, message);
    }

    fn block(&mut self, body: &[Stmt]) {
        let (visible, usable) = (self.visible.len(), self.usable.len());
        let outer = self.at.len();
        for (i, stmt) in body.iter().enumerate() {
            let name = |var: VarId| &self.program.var(var).name;
            let buf_name = |buf: BufId| &self.program.buf(buf).name;
            let label = match stmt {
                Stmt::Let { var, .. } => format!(".{i}(let {})", name(*var)),
                Stmt::Assign { var, .. } => format!(".{i}({} =)", name(*var)),
                Stmt::Store { buf, .. } => format!(".{i}({}[..] =)", buf_name(*buf)),
                Stmt::Prefetch { buf, .. } => format!(".{i}(prefetch {})", buf_name(*buf)),
                Stmt::Alloc { buf, .. } => format!(".{i}(alloc {})", buf_name(*buf)),
                Stmt::For(inner) => format!(".{i}(for {})", name(inner.var)),
                Stmt::While { .. } => format!(".{i}(while)"),
                Stmt::If { .. } => format!(".{i}(if)"),
                Stmt::Break => format!(".{i}(break)"),
                Stmt::Continue => format!(".{i}(continue)"),
                Stmt::Return(_) => format!(".{i}(return)"),
                Stmt::Panic => format!(".{i}(panic)"),
                Stmt::Decline => format!(".{i}(decline)"),
            };
            self.at.push_str(&label);
            self.stmt(stmt);
            self.at.truncate(outer);
        }
        self.visible.truncate(visible);
        self.usable.truncate(usable);
    }

    fn stmt(&mut self, stmt: &Stmt) {
        let program = self.program;
        match stmt {
            Stmt::Let { var, value } => {
                self.typed(value, program.var(*var).scalar, "the value");
                self.declare(*var);
            }
            Stmt::Assign { var, value } => {
                let decl = program.var(*var);
                self.typed(value, decl.scalar, "the value");
                if !self.visible.contains(var) {
                    self.complain(format!("`{}` is not in scope", decl.name));
                }
                if !decl.mutable {
                    self.complain(format!("`{}` is not mutable", decl.name));
                }
            }
            Stmt::Store {
                buf, index, value, ..
            } => {
                let decl = program.buf(*buf);
                self.typed(index, Scalar::Usize, "the index");
                self.typed(value, decl.elem, "the element");
                if decl.role == BufRole::Input {
                    self.complain(format!("`{}` is read only", decl.name));
                }
                if !self.usable.contains(buf) {
                    self.complain(format!("`{}` is not in scope", decl.name));
                }
            }
            Stmt::Prefetch { buf, index } => {
                self.typed(index, Scalar::Usize, "the index");
                if !self.usable.contains(buf) {
                    self.complain(format!("`{}` is not in scope", program.buf(*buf).name));
                }
            }
            Stmt::Alloc { buf, len, fill } => self.alloc(*buf, len, fill),
            Stmt::For(inner) => self.for_loop(inner),
            Stmt::While { cond, body } => {
                self.typed(cond, Scalar::Bool, "the condition");
                self.loops.push(Enclosing::While);
                self.block(body);
                self.loops.pop();
            }
            Stmt::If {
                cond,
                then,
                otherwise,
            } => {
                self.typed(cond, Scalar::Bool, "the condition");
                self.at.push_str(".then");
                self.block(then);
                let len = self.at.len() - ".then".len();
                self.at.truncate(len);
                self.at.push_str(".else");
                self.block(otherwise);
                self.at.truncate(len);
            }
            Stmt::Break | Stmt::Continue => match self.loops.last() {
                None => self.complain("outside of any loop"),
                Some(inner)
                    if *stmt == Stmt::Break && (inner.is_vector() || inner.is_parallel()) =>
                {
                    self.complain("a vector or parallel loop has no way out");
                }
                Some(Enclosing::Unroll) => {
                    self.complain("an iteration of an unrolled loop runs to its end");
                }
                Some(_) => {}
            },
            Stmt::Return(values) => self.return_values(values),
            Stmt::Panic => {}
            Stmt::Decline => self.no_way_out(),
        }
    }

    fn alloc(&mut self, buf: BufId, len: &Expr, fill: &Expr) {
        let decl = self.program.buf(buf);
        self.typed(len, Scalar::Usize, "the len");
        self.typed(fill, decl.elem, "the fill");
        if matches!(decl.role, BufRole::Input | BufRole::Mutable) {
            self.complain(format!("`{}` is a parameter", decl.name));
        }
        if self.allocated[buf.0 as usize] && decl.role == BufRole::Local {
            self.complain(format!("`{}` is allocated twice", decl.name));
        }
        self.allocated[buf.0 as usize] = true;
        self.usable.push(buf);
    }

    fn for_loop(&mut self, inner: &Loop) {
        let decl = self.program.var(inner.var);
        self.typed(&inner.lo, Scalar::Usize, "one of the bounds");
        self.typed(&inner.hi, Scalar::Usize, "one of the bounds");
        if decl.scalar != Scalar::Usize || decl.mutable {
            self.complain(format!(
                "the counter `{}` is not an immutable usize",
                decl.name
            ));
        }
        if inner.step == 0 {
            self.complain("a step of 0");
        }
        if inner.mark != Mark::Serial && self.loops.iter().any(|outer| outer.is_vector()) {
            self.complain("a scheduled loop inside a vector loop");
        }
        let kind = match inner.mark {
            Mark::Serial => Enclosing::Plain,
            Mark::Vector { unroll } => {
                self.positive(u64::from(unroll), "unroll");
                Enclosing::Vector
            }
            Mark::Parallel { grain, .. } => {
                self.parallel(grain);
                Enclosing::Parallel
            }
            Mark::ParallelVector { grain, unroll, .. } => {
                self.parallel(grain);
                self.positive(u64::from(unroll), "unroll");
                Enclosing::ParallelVector
            }
            Mark::Unroll { factor } => {
                if factor < 2 {
                    self.complain(format!("a factor of {factor}"));
                }
                Enclosing::Unroll
            }
        };
        let visible = self.visible.len();
        self.declare(inner.var);
        self.loops.push(kind);
        self.block(&inner.body);
        self.loops.pop();
        self.visible.truncate(visible);
    }

    fn positive(&mut self, value: u64, what: &str) {
        if value == 0 {
            self.complain(format!("the {what} is 0"));
        }
    }

    fn parallel(&mut self, grain: u64) {
        self.positive(grain, "grain");
        if self.loops.iter().any(|outer| *outer != Enclosing::Plain) {
            self.complain("a parallel loop inside a vector, parallel or while loop");
        }
    }

    fn return_values(&mut self, values: &[Expr]) {
        let wanted = self.program.returns.scalars();
        let found: Vec<_> = values.iter().map(|value| self.expr(value).name()).collect();
        if !wanted
            .iter()
            .map(|scalar| scalar.name())
            .eq(found.iter().copied())
        {
            let wanted: Vec<_> = wanted.iter().map(|scalar| scalar.name()).collect();
            self.complain(format!(
                "gives ({}) where the program returns ({})",
                found.join(", "),
                wanted.join(", ")
            ));
        }
        self.no_way_out();
    }

    fn no_way_out(&mut self) {
        if self
            .loops
            .iter()
            .any(|outer| outer.is_vector() || outer.is_parallel())
        {
            self.complain("a vector or parallel loop has no way out");
        }
    }

    /// Complains of every `Decline` that a store to the caller's memory can come before, given
    /// whether one may have come before `body`; says whether one may have come before its end.
    fn declines(&mut self, body: &[Stmt], mut written: bool) -> bool {
        for stmt in body {
            match stmt {
                Stmt::Store { buf, .. } => {
                    written |= self.program.buf(*buf).role == BufRole::Mutable;
                }
                Stmt::Decline if written => {
                    self.complain("a `decline` comes after a store to the caller's memory");
                }
                Stmt::For(Loop { body, .. }) | Stmt::While { body, .. } => {
                    // What one round writes is there in the next one.
                    let round = written || self.writes(body);
                    self.declines(body, round);
                    written = round;
                }
                Stmt::If {
                    then, otherwise, ..
                } => {
                    let a = self.declines(then, written) && !leaves(then);
                    let b = self.declines(otherwise, written) && !leaves(otherwise);
                    written = a || b;
                }
                _ => {}
            }
        }
        written
    }

    fn writes(&self, body: &[Stmt]) -> bool {
        let mut writes = false;
        for stmt in body {
            stmt.walk(&mut |inner| {
                writes |= matches!(inner, Stmt::Store { buf, .. }
                    if self.program.buf(*buf).role == BufRole::Mutable);
            });
        }
        writes
    }

    fn declare(&mut self, var: VarId) {
        if self.declared[var.0 as usize] {
            let name = &self.program.var(var).name;
            self.complain(format!("`{name}` is declared twice"));
        }
        self.declared[var.0 as usize] = true;
        self.visible.push(var);
    }

    fn typed(&mut self, expr: &Expr, wanted: Scalar, what: &str) {
        let found = self.expr(expr);
        if found != wanted {
            self.complain(format!("{what} is {found}, not {wanted}"));
        }
    }

    /// Checks scopes and types inside `expr` and gives its type.
    fn expr(&mut self, expr: &Expr) -> Scalar {
        let program = self.program;
        let mut messages = Vec::new();
        expr.walk(&mut |inner| match inner {
            Expr::Var(var) if !self.visible.contains(var) => {
                messages.push(format!("`{}` is not in scope", program.var(*var).name));
            }
            Expr::Load { buf, .. } if !self.usable.contains(buf) => {
                messages.push(format!("`{}` is not in scope", program.buf(*buf).name));
            }
            _ => {}
        });
        let scalar = types::check(program, expr, &mut |message| messages.push(message));
        for message in messages {
            self.complain(message);
        }
        scalar
    }
}
