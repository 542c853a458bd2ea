//! Proofs that an index stays inside its buffer.
//!
//! Owns the reasoning over loop ranges and conditions: a linear expression takes its extremes
//! at the ends of the ranges, innermost loop first. Sound and incomplete: "not shown" is a usual
//! answer, and then the emitter checks the access at run time. What is known of single values is
//! `values`' business.

use std::collections::{BTreeSet, HashSet};

use pragma_spec::Scalar;

use crate::ir::{BinaryOp, BufId, CompareOp, Expr, Func, Loop, Program, Stmt, VarId};

use super::poly::{self, Atom, Definitions, Poly};
use super::values;

/// The range of one variable, usually a loop counter: `lo <= var <= hi - 1`.
#[derive(Clone, Debug)]
pub struct Range {
    /// The variable.
    pub var: VarId,
    /// First value.
    pub lo: Poly,
    /// One past the last possible value.
    pub hi: Poly,
    /// Whether it counts a loop around; if not, the variable is a `let`.
    pub counter: bool,
}

/// Loops and conditions around a place, outermost first, and the definitions known there.
#[derive(Clone, Debug, Default)]
pub struct Scope {
    /// Ranges of the counters of the loops around, and of variables that conditions bound.
    pub ranges: Vec<Range>,
    /// Meanings of `usize` lets.
    pub definitions: Definitions,
    /// Polynomials that are at least 0 here.
    facts: Vec<Poly>,
    /// Variables whose range says more than their definition.
    bounded: BTreeSet<VarId>,
    /// Definitions in terms of such variables.
    closer: Definitions,
    /// What is known whether or not the conditions that differ between lanes hold.
    always: Option<Box<Scope>>,
}

impl Scope {
    /// The outermost scope: what the guard has checked.
    pub fn of(program: &Program) -> Self {
        Scope {
            facts: poly::shape_facts(program),
            ..Scope::default()
        }
    }

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
                counter: true,
            });
        }
        scope.always = self
            .always
            .as_ref()
            .map(|always| Box::new(always.enter(program, inner)));
        scope
    }

    /// A polynomial that the expression does not exceed. A difference that may have wrapped
    /// around is no bound.
    fn upper_bound(&self, program: &Program, expr: &Expr) -> Option<Poly> {
        match expr {
            Expr::Call(Func::Min, args) => args
                .iter()
                .rev()
                .find_map(|arg| self.upper_bound(program, arg)),
            _ => {
                let poly = poly::read(program, &self.definitions, expr)?;
                (poly.is_nonnegative() || self.is_nonnegative(&poly)).then_some(poly)
            }
        }
    }

    /// Takes note of a `let`.
    pub fn define(&mut self, program: &Program, var: VarId, value: &Expr) {
        let decl = program.var(var);
        if decl.mutable || !decl.scalar.is_integer() {
            return;
        }
        if let Some(always) = &mut self.always {
            always.define(program, var, value);
        }
        if matches!(decl.scalar, Scalar::Usize | Scalar::Isize)
            && let Some(poly) = poly::read(program, &self.definitions, value)
        {
            let mut extra = Vec::new();
            if let Some(closer) = self.loose(program, value, &mut extra)
                && extra.is_empty()
                && closer != poly
            {
                self.closer.define(var, closer);
            }
            self.definitions.define(var, poly);
            return;
        }
        if let (Some(lo), Some(hi)) = values::range(self, program, value) {
            self.ranges.push(Range {
                var,
                lo,
                hi: hi.plus(&Poly::constant(1)),
                counter: false,
            });
            self.bounded.insert(var);
        }
    }

    /// Takes note of a statement for those behind it: a `let`, or a branch that does not come
    /// back.
    pub fn pass(&mut self, program: &Program, stmt: &Stmt) {
        match stmt {
            Stmt::Let { var, value } => self.define(program, *var, value),
            Stmt::If {
                cond,
                then,
                otherwise,
            } if otherwise.is_empty() && ends(then) => {
                *self = self.given(program, cond, false);
            }
            _ => {}
        }
    }

    /// The same behind a branch that some lanes of a vector take.
    pub fn pass_in_lanes(&mut self, program: &Program, stmt: &Stmt) {
        if let Stmt::If {
            cond,
            then,
            otherwise,
        } = stmt
            && otherwise.is_empty()
            && ends(then)
        {
            *self = self.given_in_lanes(program, cond, false);
        }
    }

    /// The scope where `cond` is known to hold, or with `holds` false not to.
    #[must_use]
    pub fn given(&self, program: &Program, cond: &Expr, holds: bool) -> Scope {
        let mut scope = self.clone();
        if let Some(always) = &self.always {
            scope.always = Some(Box::new(always.given(program, cond, holds)));
        }
        scope.learn(program, cond, holds);
        scope
    }

    /// The same, for a condition that holds in some lanes of a vector only.
    #[must_use]
    pub fn given_in_lanes(&self, program: &Program, cond: &Expr, holds: bool) -> Scope {
        let mut scope = self.clone();
        if scope.always.is_none() {
            scope.always = Some(Box::new(self.clone()));
        }
        scope.learn(program, cond, holds);
        scope
    }

    fn learn(&mut self, program: &Program, cond: &Expr, holds: bool) {
        let mut found = Vec::new();
        comparisons(cond, holds, &mut found);
        let one = Poly::constant(1);
        let mut bounds: Vec<(VarId, Ends)> = Vec::new();
        for (op, a, b) in found {
            // As `small <= large`, with what is to be added on the small side.
            let (small, large, strict) = match op {
                CompareOp::Lt => (a, b, true),
                CompareOp::Le => (a, b, false),
                CompareOp::Gt => (b, a, true),
                CompareOp::Ge => (b, a, false),
                CompareOp::Eq | CompareOp::Ne => continue,
            };
            let gap = if strict { one.clone() } else { Poly::default() };
            if small.scalar(program) == Scalar::Usize
                && let Some(low) = self.exact(program, small)
                && let Some(high) = self.exact(program, large)
            {
                self.facts.push(high.minus(&low).minus(&gap));
            }
            if let Some(var) = bounded_var(program, small)
                && let Some(high) = self.size(program, large)
            {
                bounds.push((var, (None, Some(high.minus(&gap)))));
            }
            if let Some(var) = bounded_var(program, large)
                && let Some(low) = self.size(program, small)
            {
                bounds.push((var, (Some(low.plus(&gap)), None)));
            }
        }
        let vars: BTreeSet<VarId> = bounds.iter().map(|bound| bound.0).collect();
        for var in vars {
            if self.ranges.iter().any(|range| range.var == var) {
                // A counter keeps its own range; the condition is a fact about it.
                continue;
            }
            let of = |side: fn(&Ends) -> Option<Poly>| {
                bounds
                    .iter()
                    .filter(|bound| bound.0 == var)
                    .find_map(|bound| side(&bound.1))
            };
            let unsigned = program.var(var).scalar == Scalar::Usize;
            let lo = of(|ends| ends.0.clone()).or(unsigned.then(Poly::default));
            let hi = of(|ends| ends.1.clone());
            if let (Some(lo), Some(hi)) = (lo, hi) {
                self.ranges.push(Range {
                    var,
                    lo,
                    hi: hi.plus(&one),
                    counter: false,
                });
                self.bounded.insert(var);
            }
        }
    }

    /// A `usize` expression as the polynomial that it equals, if it cannot have wrapped.
    fn exact(&self, program: &Program, expr: &Expr) -> Option<Poly> {
        let mut extra = Vec::new();
        let poly = self.loose(program, expr, &mut extra)?;
        (extra.is_empty() && self.is_nonnegative(&poly)).then_some(poly)
    }

    /// A bound that a comparison gives: made of sizes and literals.
    fn size(&self, program: &Program, expr: &Expr) -> Option<Poly> {
        let poly = poly::read(program, &self.definitions, expr)?;
        let whole = poly.as_constant().is_some() || self.is_nonnegative(&poly);
        (poly.is_over_dims() && whole).then_some(poly)
    }

    /// Whether `poly` is shown to be at least 0 for all values of the counters around and all
    /// dimensions of at least 1.
    pub fn is_nonnegative(&self, poly: &Poly) -> bool {
        self.nonnegative(poly, &self.ranges, true)
    }

    fn nonnegative(&self, poly: &Poly, ranges: &[Range], with_facts: bool) -> bool {
        if self.least_is_nonnegative(poly, ranges) {
            return true;
        }
        with_facts
            && self
                .facts
                .iter()
                .any(|fact| self.least_is_nonnegative(&poly.minus(fact), ranges))
    }

    fn least_is_nonnegative(&self, poly: &Poly, ranges: &[Range]) -> bool {
        let mut least = poly.clone();
        for (at, range) in ranges.iter().enumerate().rev() {
            let atom = Atom::Var(range.var);
            if !least.mentions(&atom) {
                continue;
            }
            let Some((slope, rest)) = least.linear_in(&atom) else {
                return false;
            };
            let end = if self.has_sign(&slope, &ranges[..at]) {
                range.lo.clone()
            } else if self.has_sign(&slope.times(&Poly::constant(-1)), &ranges[..at]) {
                range.hi.minus(&Poly::constant(1))
            } else {
                return false;
            };
            least = slope.times(&end).plus(&rest);
        }
        let varies = |var: VarId| ranges.iter().any(|range| range.var == var);
        least.vars().iter().all(|var| !varies(*var)) && self.is_size(&least)
    }

    /// Whether a slope is shown to be at least 0.
    fn has_sign(&self, slope: &Poly, ranges: &[Range]) -> bool {
        slope.is_nonnegative_termwise()
            || (slope.as_constant().is_none() && {
                let fixed = slope.vars().is_empty();
                if fixed {
                    self.is_size(slope)
                } else {
                    self.nonnegative(slope, ranges, false)
                }
            })
    }

    /// Whether a polynomial over dimensions is at least 0, by itself or by what the guard knows.
    fn is_size(&self, poly: &Poly) -> bool {
        if poly.is_nonnegative() {
            return true;
        }
        let over_dims = |fact: &&Poly| fact.is_over_dims();
        let facts: Vec<&Poly> = self.facts.iter().filter(over_dims).collect();
        facts.iter().enumerate().any(|(at, fact)| {
            poly.minus(fact).is_nonnegative()
                || facts[at..]
                    .iter()
                    .any(|other| poly.minus(&fact.times(other)).is_nonnegative())
        })
    }

    /// An index as a polynomial in which variables with a known range stand for themselves and
    /// bounded parts that are no polynomials get a variable each, with its range.
    fn loose(
        &self,
        program: &Program,
        expr: &Expr,
        extra: &mut Vec<(Expr, Range)>,
    ) -> Option<Poly> {
        match expr {
            Expr::Var(var) if self.bounded.contains(var) => Some(Poly::atom(Atom::Var(*var))),
            Expr::Var(var) if self.closer.get(*var).is_some() => self.closer.get(*var).cloned(),
            Expr::Var(_) | Expr::Const(_) | Expr::Dim(_) => {
                poly::read(program, &self.definitions, expr)
            }
            Expr::Binary(op @ (BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul), a, b)
                if matches!(a.scalar(program), Scalar::Usize | Scalar::Isize) =>
            {
                let a = self.loose(program, a, extra)?;
                let b = self.loose(program, b, extra)?;
                Some(match op {
                    BinaryOp::Add => a.plus(&b),
                    BinaryOp::Sub => a.minus(&b),
                    _ => a.times(&b),
                })
            }
            Expr::Cast(Scalar::Usize | Scalar::Isize, value)
                if matches!(value.scalar(program), Scalar::Usize | Scalar::Isize) =>
            {
                self.loose(program, value, extra)
            }
            _ => {
                if let Some(poly) = poly::read(program, &self.definitions, expr) {
                    return Some(poly);
                }
                if let Some((_, range)) = extra.iter().find(|(known, _)| known == expr) {
                    return Some(Poly::atom(Atom::Var(range.var)));
                }
                let (lo, hi) = values::range(self, program, expr);
                let var = VarId(u32::MAX - extra.len() as u32);
                extra.push((
                    expr.clone(),
                    Range {
                        var,
                        lo: lo?,
                        hi: hi?.plus(&Poly::constant(1)),
                        counter: false,
                    },
                ));
                Some(Poly::atom(Atom::Var(var)))
            }
        }
    }

    /// Whether an access to `buf` at `index` is shown to be inside it.
    pub fn is_in_bounds(&self, program: &Program, buf: BufId, index: &Expr) -> bool {
        let shape = &program.buf(buf).shape;
        if shape.is_empty() {
            return false;
        }
        let Some(len) = poly::read_dim(program, &shape.len()) else {
            return false;
        };
        let mut extra = Vec::new();
        let Some(index) = self.loose(program, index, &mut extra) else {
            return false;
        };
        let mut ranges = self.ranges.clone();
        ranges.extend(extra.into_iter().map(|(_, range)| range));
        self.nonnegative(&index, &ranges, true)
            && self.nonnegative(&len.minus(&Poly::constant(1)).minus(&index), &ranges, true)
    }

    /// Whether the access is in bounds also in those lanes of a vector that do not get there.
    pub fn is_in_bounds_always(&self, program: &Program, buf: BufId, index: &Expr) -> bool {
        match &self.always {
            Some(always) => always.is_in_bounds(program, buf, index),
            None => self.is_in_bounds(program, buf, index),
        }
    }
}

/// The least and the greatest value of a variable, each where it is known.
type Ends = (Option<Poly>, Option<Poly>);

/// Whether a block never gets to its end.
fn ends(body: &[Stmt]) -> bool {
    matches!(
        body.last(),
        Some(Stmt::Return(_) | Stmt::Panic | Stmt::Decline | Stmt::Break | Stmt::Continue)
    )
}

/// The comparisons that hold together where `cond` holds (or, with `holds` false, does not).
fn comparisons<'a>(cond: &'a Expr, holds: bool, found: &mut Vec<(CompareOp, &'a Expr, &'a Expr)>) {
    match cond {
        Expr::Compare(op, a, b) => {
            let op = if holds { *op } else { negated(*op) };
            found.push((op, a, b));
        }
        Expr::Call(Func::Not, args) => {
            if let [inner] = args.as_slice() {
                comparisons(inner, !holds, found);
            }
        }
        Expr::Binary(op, a, b) if (*op == BinaryOp::And) == holds => {
            if matches!(op, BinaryOp::And | BinaryOp::Or) {
                comparisons(a, holds, found);
                comparisons(b, holds, found);
            }
        }
        _ => {}
    }
}

/// The opposite comparison; only used on integers, where exactly one of the two holds.
fn negated(op: CompareOp) -> CompareOp {
    match op {
        CompareOp::Lt => CompareOp::Ge,
        CompareOp::Le => CompareOp::Gt,
        CompareOp::Gt => CompareOp::Le,
        CompareOp::Ge => CompareOp::Lt,
        CompareOp::Eq => CompareOp::Ne,
        CompareOp::Ne => CompareOp::Eq,
    }
}

/// The immutable index variable that an expression is.
fn bounded_var(program: &Program, expr: &Expr) -> Option<VarId> {
    match expr {
        Expr::Var(var) => {
            let decl = program.var(*var);
            let index = matches!(decl.scalar, Scalar::Usize | Scalar::Isize);
            (index && !decl.mutable).then_some(*var)
        }
        _ => None,
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
            Stmt::Store { buf, index, .. } => visit(&scope, *buf, index, true),
            Stmt::For(inner) => {
                let within = scope.enter(program, inner);
                for_each_access(program, &inner.body, &within, visit);
            }
            Stmt::If {
                cond,
                then,
                otherwise,
            } => {
                let within = scope.given(program, cond, true);
                for_each_access(program, then, &within, visit);
                let within = scope.given(program, cond, false);
                for_each_access(program, otherwise, &within, visit);
            }
            Stmt::While { cond, body } => {
                let within = scope.given(program, cond, true);
                for_each_access(program, body, &within, visit);
            }
            _ => {}
        }
        scope.pass(program, stmt);
    }
}

/// The buffers with an access that is not shown to be in bounds.
pub fn unproven_buffers(program: &Program) -> HashSet<BufId> {
    let mut unproven = HashSet::new();
    for_each_access(
        program,
        &program.body,
        &Scope::of(program),
        &mut |scope, buf, index, _| {
            if !scope.is_in_bounds(program, buf, index) {
                unproven.insert(buf);
            }
        },
    );
    unproven
}
