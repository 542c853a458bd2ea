//! Proofs that an index stays inside its buffer.
//!
//! Owns the reasoning over loop ranges: a linear expression takes its extremes at the ends of
//! the ranges, innermost loop first. Sound and incomplete: "not shown" is a usual answer, and
//! then the emitter checks the access at run time.

use std::collections::HashSet;

use crate::ir::{BufId, Expr, Func, Loop, Program, Stmt, VarId};

use super::poly::{self, Atom, Definitions, Poly};

/// The range of one loop counter, in a place inside the loop: `lo <= var <= hi - 1`.
#[derive(Clone, Debug)]
pub struct Range {
    /// The counter.
    pub var: VarId,
    /// First value.
    pub lo: Poly,
    /// One past the last possible value.
    pub hi: Poly,
}

/// Loops around a place, outermost first, and the definitions known there.
#[derive(Clone, Debug, Default)]
pub struct Scope {
    /// Ranges of the counters of the loops around.
    pub ranges: Vec<Range>,
    /// Meanings of `usize` lets.
    pub definitions: Definitions,
}

impl Scope {
    /// The scope inside `inner`. A loop whose bounds are no polynomials adds no range.
    #[must_use]
    pub fn enter(&self, program: &Program, inner: &Loop) -> Scope {
        let mut scope = self.clone();
        let lo = poly::read(program, &self.definitions, &inner.lo);
        let hi = self.upper_bound(program, &inner.hi);
        if let (Some(lo), Some(hi)) = (lo, hi) {
            scope.ranges.push(Range {
                var: inner.var,
                lo,
                hi,
            });
        }
        scope
    }

    /// A polynomial that the expression does not exceed.
    fn upper_bound(&self, program: &Program, expr: &Expr) -> Option<Poly> {
        match expr {
            Expr::Call(Func::Min, args) => args
                .iter()
                .rev()
                .find_map(|arg| self.upper_bound(program, arg)),
            _ => poly::read(program, &self.definitions, expr),
        }
    }

    /// Takes note of a `let`.
    pub fn define(&mut self, program: &Program, var: VarId, value: &Expr) {
        if program.var(var).mutable || program.var(var).scalar != pragma_spec::Scalar::Usize {
            return;
        }
        if let Some(poly) = poly::read(program, &self.definitions, value) {
            self.definitions.define(var, poly);
        }
    }

    /// Whether `poly` is shown to be at least 0 for all values of the counters around and all
    /// dimensions of at least 1.
    pub fn is_nonnegative(&self, poly: &Poly) -> bool {
        let mut least = poly.clone();
        for range in self.ranges.iter().rev() {
            let atom = Atom::Var(range.var);
            if !least.mentions(atom) {
                continue;
            }
            let Some((slope, rest)) = least.linear_in(atom) else {
                return false;
            };
            let at = if slope.is_nonnegative_termwise() {
                range.lo.clone()
            } else if slope.is_nonpositive_termwise() {
                range.hi.minus(&Poly::constant(1))
            } else {
                return false;
            };
            least = slope.times(&at).plus(&rest);
        }
        least.vars().iter().all(|var| !self.varies(*var)) && least.is_nonnegative()
    }

    fn varies(&self, var: VarId) -> bool {
        self.ranges.iter().any(|range| range.var == var)
    }

    /// Whether an access to `buf` at `index` is shown to be inside it.
    pub fn is_in_bounds(&self, program: &Program, buf: BufId, index: &Expr) -> bool {
        let Some(index) = poly::read(program, &self.definitions, index) else {
            return false;
        };
        let shape = &program.buf(buf).shape;
        if shape.is_empty() {
            return false;
        }
        let Some(len) = poly::read_dim(program, &shape.len()) else {
            return false;
        };
        self.is_nonnegative(&index)
            && self.is_nonnegative(&len.minus(&Poly::constant(1)).minus(&index))
    }
}

/// Calls `visit` with every buffer access of `body` and the scope it stands in. The third
/// argument says whether it is a store.
pub fn for_each_access<'a>(
    program: &Program,
    body: &'a [Stmt],
    scope: &Scope,
    visit: &mut dyn FnMut(&Scope, BufId, &'a Expr, bool),
) {
    let mut scope = scope.clone();
    for stmt in body {
        for expr in stmt.exprs() {
            expr.walk(&mut |node| {
                if let Expr::Load { buf, index } = node {
                    visit(&scope, *buf, index, false);
                }
            });
        }
        match stmt {
            Stmt::Let { var, value } => scope.define(program, *var, value),
            Stmt::Store { buf, index, .. } => visit(&scope, *buf, index, true),
            Stmt::For(inner) => {
                let within = scope.enter(program, inner);
                for_each_access(program, &inner.body, &within, visit);
            }
            _ => {
                for block in stmt.blocks() {
                    for_each_access(program, block, &scope, visit);
                }
            }
        }
    }
}

/// The buffers with an access that is not shown to be in bounds.
pub fn unproven_buffers(program: &Program) -> HashSet<BufId> {
    let mut unproven = HashSet::new();
    for_each_access(
        program,
        &program.body,
        &Scope::default(),
        &mut |scope, buf, index, _| {
            if !scope.is_in_bounds(program, buf, index) {
                unproven.insert(buf);
            }
        },
    );
    unproven
}
