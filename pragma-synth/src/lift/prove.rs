//! What can be proven of lengths and indices while reading, and what must be learnt.
//!
//! Proofs are over exact integers. A `usize` expression that could wrap below zero proves
//! nothing until it is shown not to. Proving all accesses in bounds is `analyze`'s business;
//! here it decides which checks a slice needs and when a branch may become a `Select`.

use pragma_spec::Scalar;

use super::error::{Interrupt, Lift};
use super::fold;
use super::poly::{Atom, Poly};
use super::reader::Reader;
use super::types::Ty;
use crate::ir::{BinaryOp, BufId, CompareOp, Expr, Func};

/// Steps of one proof, in a row.
const DEPTH: usize = 6;
/// Steps of one proof, in all: most succeed within ten.
const STEPS: usize = 300;

impl Reader<'_> {
    /// The polynomial of a `usize` expression.
    pub(super) fn poly(&mut self, expr: &Expr) -> Poly {
        let expr = self.settle(expr.clone());
        self.table.interner.poly(&expr)
    }

    /// Writes a `usize` expression in its simplest form.
    pub(super) fn simplify(&mut self, expr: Expr) -> Expr {
        if !matches!(expr, Expr::Binary(..)) {
            return expr;
        }
        let poly = self.poly(&expr);
        self.table.interner.expr(&poly)
    }

    fn base(&self, poly: &Poly) -> bool {
        let mut poly = poly.clone();
        for atom in poly.atoms() {
            if let Atom::Dim(dim) = atom
                && self.positive_dims.contains(&dim)
            {
                poly = poly.substitute(atom, &Poly::atom(atom).add(&Poly::constant(1)));
            }
        }
        poly.terms().all(|(_, coef)| coef >= 0)
    }

    /// Whether `poly` is at least 0, for certain.
    pub(super) fn nonneg(&self, poly: &Poly) -> bool {
        let mut steps = STEPS;
        self.prove(poly, DEPTH, true, &mut steps)
    }

    /// Takes it as known that `fact` is not negative, to the end of the block.
    pub(super) fn know(&mut self, fact: Poly) {
        if !self.base(&fact) && !self.facts.contains(&fact) {
            self.facts.push(fact);
        }
    }

    fn prove(&self, poly: &Poly, depth: usize, use_facts: bool, steps: &mut usize) -> bool {
        if self.base(poly) {
            return true;
        }
        if depth == 0 || *steps == 0 {
            return false;
        }
        *steps -= 1;
        if use_facts {
            let atoms = poly.atoms();
            for fact in self.facts.iter().rev().take(24) {
                if fact.atoms().iter().any(|atom| atoms.contains(atom))
                    && self.prove(&poly.sub(fact), depth - 1, depth > DEPTH - 2, steps)
                {
                    return true;
                }
            }
        }
        let counter = poly.atoms().into_iter().rev().find_map(|atom| match atom {
            Atom::Var(var) => self.bounds.get(&var).map(|bounds| (atom, bounds)),
            _ => None,
        });
        let Some((atom, (low, high))) = counter else {
            return false;
        };
        let Some((factor, rest)) = poly.split_linear(atom) else {
            return false;
        };
        let extreme = if self.prove(&factor, depth - 1, false, steps) {
            low
        } else if self.prove(&factor.scale(-1), depth - 1, false, steps) {
            high
        } else {
            return false;
        };
        self.prove(&factor.mul(extreme).add(&rest), depth - 1, use_facts, steps)
    }

    /// Whether `a <= b`, for certain, and without wrapping in either.
    pub(super) fn le(&mut self, a: &Expr, b: &Expr) -> bool {
        let (a, b) = (self.poly(a), self.poly(b));
        self.nonneg(&b.sub(&a)) && self.nonneg(&a)
    }

    /// Whether `a < b`, for certain, and without wrapping in either.
    pub(super) fn lt(&mut self, a: &Expr, b: &Expr) -> bool {
        let (a, b) = (self.poly(a), self.poly(b));
        self.nonneg(&b.sub(&a).sub(&Poly::constant(1))) && self.nonneg(&a)
    }

    /// Whether `a == b`, for certain.
    pub(super) fn equal(&mut self, a: &Expr, b: &Expr) -> bool {
        self.poly(a) == self.poly(b)
    }

    /// Whether `expr` is at least 1, for certain.
    pub(super) fn positive(&mut self, expr: &Expr) -> bool {
        let poly = self.poly(expr);
        self.nonneg(&poly.sub(&Poly::constant(1)))
    }

    /// Whether element `index` of `buf` surely exists.
    pub(super) fn in_bounds(&mut self, buf: BufId, index: &Expr) -> bool {
        let Some(len) = self
            .buf_params
            .get(&buf)
            .map(|param| self.table.len(*param))
        else {
            return false;
        };
        let index = self.poly(index);
        self.nonneg(&index) && self.nonneg(&len.sub(&index).sub(&Poly::constant(1)))
    }

    /// Whether `expr` may be evaluated where the source does not evaluate it.
    pub(super) fn is_safe(&mut self, expr: &Expr) -> bool {
        let mut parts = Vec::new();
        expr.walk(&mut |part| parts.push(part.clone()));
        parts.iter().all(|part| match part {
            Expr::Load { buf, index } => self.in_bounds(*buf, index),
            Expr::Binary(BinaryOp::Div | BinaryOp::Rem, a, b) => {
                self.ty_of(a).is_some_and(Scalar::is_float)
                    || fold::as_int(b).is_some_and(|value| value > 0)
            }
            Expr::Call(Func::DivEuclid | Func::RemEuclid, args) => args
                .first()
                .is_some_and(|arg| self.ty_of(arg).is_some_and(Scalar::is_float)),
            _ => true,
        })
    }

    /// The type of an expression, where it is settled.
    pub(super) fn ty_of(&self, expr: &Expr) -> Option<Scalar> {
        if let Some((_, ty, _)) = self.as_literal(expr) {
            return match self.types.resolve(*ty) {
                Ty::Known(scalar) => Some(scalar),
                Ty::Open(_) => None,
            };
        }
        let of = |ty| match self.types.resolve(ty) {
            Ty::Known(scalar) => Some(scalar),
            Ty::Open(_) => None,
        };
        match expr {
            Expr::Const(value) => Some(value.scalar()),
            Expr::Var(var) => of(self.type_of_var(*var)),
            Expr::Dim(_) => Some(Scalar::Usize),
            Expr::Load { buf, .. } => of(self.elem_ty(*buf)),
            Expr::Binary(_, a, _) => self.ty_of(a),
            Expr::Compare(..) => Some(Scalar::Bool),
            Expr::Select { then, .. } => self.ty_of(then),
            Expr::Cast(scalar, _) => Some(*scalar),
            Expr::Call(func, args) => {
                let first = args.first().and_then(|arg| self.ty_of(arg))?;
                Some(func.result(first))
            }
        }
    }

    /// Takes `cond` as known from here to the end of the block.
    pub(super) fn assume(&mut self, cond: &Expr) {
        let cond = self.settle(cond.clone());
        match &cond {
            Expr::Binary(BinaryOp::And, a, b) => {
                self.assume(a);
                self.assume(b);
            }
            Expr::Compare(op, a, b) => self.assume_compare(*op, a, b),
            Expr::Call(Func::Not, args) => match args.first() {
                Some(Expr::Compare(op, a, b)) => {
                    let opposite = match op {
                        CompareOp::Lt => CompareOp::Ge,
                        CompareOp::Le => CompareOp::Gt,
                        CompareOp::Gt => CompareOp::Le,
                        CompareOp::Ge => CompareOp::Lt,
                        CompareOp::Eq => CompareOp::Ne,
                        CompareOp::Ne => CompareOp::Eq,
                    };
                    // Only integers reach the table of facts, so NaN does not matter.
                    self.assume_compare(opposite, a, b);
                }
                Some(Expr::Binary(BinaryOp::Or, a, b)) => {
                    let (a, b) = (fold::not((**a).clone()), fold::not((**b).clone()));
                    self.assume(&a);
                    self.assume(&b);
                }
                _ => {}
            },
            _ => {}
        }
    }

    fn assume_compare(&mut self, op: CompareOp, a: &Expr, b: &Expr) {
        if self.ty_of(a) != Some(Scalar::Usize) || !self.is_stable(a) || !self.is_stable(b) {
            return;
        }
        let (x, y) = (self.poly(a), self.poly(b));
        // `low + gap <= high`: true of the integers only if `high` has not wrapped.
        let fact = |reader: &mut Self, low: &Poly, high: &Poly, gap: i128| {
            if reader.nonneg(high) {
                reader.know(high.sub(low).sub(&Poly::constant(gap)));
            }
        };
        match op {
            CompareOp::Lt => fact(self, &x, &y, 1),
            CompareOp::Le => fact(self, &x, &y, 0),
            CompareOp::Gt => fact(self, &y, &x, 1),
            CompareOp::Ge => fact(self, &y, &x, 0),
            CompareOp::Eq => {
                fact(self, &x, &y, 0);
                fact(self, &y, &x, 0);
            }
            CompareOp::Ne => {
                // `n != 0`
                if y.is_zero() {
                    fact(self, &y, &x, 1);
                }
            }
        }
    }

    /// The smaller of two lengths. Where nothing says which, and one of them is that of a
    /// parameter without a shape, they are taken to be equal: the guard sees to it.
    pub(super) fn shorter(&mut self, a: Expr, b: Expr) -> Lift<Expr> {
        if self.equal(&a, &b) || self.le(&a, &b) {
            return Ok(a);
        }
        if self.le(&b, &a) {
            return Ok(b);
        }
        self.learn_equal(&a, &b)?;
        let min = Expr::Call(Func::Min, vec![a, b]);
        self.know_min(&min);
        Ok(min)
    }

    /// Starts over with `a == b` if shapes can say so.
    pub(super) fn learn_equal(&mut self, a: &Expr, b: &Expr) -> Lift<()> {
        let (x, y) = (self.poly(a), self.poly(b));
        match self.table.equate(&x, &y) {
            Some(refinement) => Err(Interrupt::Refine(refinement)),
            None => Ok(()),
        }
    }

    /// `len / divisor` of `usize`, rounding down; `learn` if the length may be taken to be a
    /// multiple.
    pub(super) fn quotient(&mut self, len: Expr, divisor: Expr, learn: bool) -> Lift<Expr> {
        let (p, q) = (self.poly(&len), self.poly(&divisor));
        if self.nonneg(&q.sub(&Poly::constant(1))) {
            if self.nonneg(&p)
                && let Some(exact) = p.div_exact(&q)
            {
                return Ok(self.table.interner.expr(&exact));
            }
            // (a * q + b) / q = a where 0 <= b < q
            if let Some((whole, rest)) = split_multiple(&p, &q)
                && self.nonneg(&whole)
                && self.nonneg(&rest)
                && self.nonneg(&q.sub(&rest).sub(&Poly::constant(1)))
            {
                return Ok(self.table.interner.expr(&whole));
            }
        }
        if learn && let Some(refinement) = self.table.divide(&p, &q, &Poly::default()) {
            return Err(Interrupt::Refine(refinement));
        }
        let quotient = fold::binary(BinaryOp::Div, len, divisor);
        if self.is_stable(&quotient) && self.nonneg(&p) {
            let value = self.poly(&quotient);
            let back = value.mul(&q);
            self.know(p.sub(&back));
            self.know(back.add(&q).sub(&p).sub(&Poly::constant(1)));
        }
        Ok(quotient)
    }

    /// `a % divisor` of `usize`.
    pub(super) fn remainder(&mut self, a: Expr, divisor: Expr) -> Expr {
        let (p, q) = (self.poly(&a), self.poly(&divisor));
        if self.nonneg(&q.sub(&Poly::constant(1))) && self.nonneg(&p) {
            if p.div_exact(&q).is_some() {
                return Expr::index(0);
            }
            if let Some((whole, rest)) = split_multiple(&p, &q)
                && self.nonneg(&whole)
                && self.nonneg(&rest)
                && self.nonneg(&q.sub(&rest).sub(&Poly::constant(1)))
            {
                return self.table.interner.expr(&rest);
            }
        }
        let rest = fold::binary(BinaryOp::Rem, a, divisor);
        if self.is_stable(&rest) {
            let value = self.poly(&rest);
            if self.nonneg(&q) {
                self.know(q.sub(&value).sub(&Poly::constant(1)));
            }
        }
        rest
    }

    /// Learns what a `min` of `usize` says of its value.
    pub(super) fn know_min(&mut self, expr: &Expr) {
        let Expr::Call(Func::Min, args) = expr else {
            return;
        };
        if !self.is_stable(expr) || self.ty_of(expr) != Some(Scalar::Usize) {
            return;
        }
        let value = self.poly(expr);
        for arg in args {
            let bound = self.poly(arg);
            if self.nonneg(&bound) {
                self.know(bound.sub(&value));
            }
        }
    }

    /// An index that runs over an extent of one array, into another one: the extents are taken to
    /// be equal, if one of them is that of a parameter without a shape.
    pub(super) fn learn_extent(&mut self, index: &Expr, len: &Expr) -> Lift<()> {
        let (index, len) = (self.poly(index), self.poly(len));
        let Some(most) = self.greatest(&index) else {
            return Ok(());
        };
        if let ([Atom::Dim(_)], [dim @ Atom::Dim(_)]) = (&len.atoms()[..], &most.atoms()[..])
            && let Some(refinement) = self.table.equate(&len, &Poly::atom(*dim))
        {
            return Err(Interrupt::Refine(refinement));
        }
        Ok(())
    }

    /// Notes that `index` of `buf` is accessed, whatever the data.
    pub(super) fn reach(&mut self, buf: BufId, index: &Expr) {
        let Some(&param) = self.buf_params.get(&buf) else {
            return;
        };
        let index = self.poly(index);
        self.note_strides(param, &index);
        if self.conditional == 0
            && let Some(least) = self.greatest(&index.scale(-1))
        {
            self.starts.push((param, least.scale(-1)));
        }
        self.reach_len(param, index.add(&Poly::constant(1)));
    }

    /// Notes that the length of `param` must be at least `len`.
    pub(super) fn reach_len(&mut self, param: usize, len: Poly) {
        if self.conditional > 0 {
            return;
        }
        if let Some(most) = self.greatest(&len)
            && self.table.is_size(&most)
        {
            self.reaches.push((param, most));
        }
    }

    /// Notes which dimensions are strides of `param`.
    pub(super) fn note_strides(&mut self, param: usize, index: &Poly) {
        let Some(name) = self.table.bufs.get(param).map(|buf| buf.param.clone()) else {
            return;
        };
        let mut counts = std::collections::BTreeMap::new();
        for atom in index.atoms() {
            if matches!(atom, Atom::Dim(_)) {
                continue;
            }
            if let Some((factor, _)) = index.split_linear(atom) {
                for dim in factor.atoms() {
                    if let Atom::Dim(dim) = dim {
                        *counts.entry(dim).or_insert(0usize) += 1;
                    }
                }
            }
        }
        for (dim, count) in counts {
            let seen = self.table.strides.entry((name.clone(), dim)).or_insert(0);
            *seen = (*seen).max(count);
        }
    }

    /// The greatest value of `poly` over all loop counters in it.
    fn greatest(&self, poly: &Poly) -> Option<Poly> {
        let mut poly = poly.clone();
        for _ in 0..16 {
            let atom = poly
                .atoms()
                .into_iter()
                .rev()
                .find(|atom| matches!(atom, Atom::Var(_)));
            let Some(atom) = atom else {
                return Some(poly);
            };
            let Atom::Var(var) = atom else {
                return None;
            };
            let (low, high) = self.likely_bounds.get(&var)?;
            let (factor, rest) = poly.split_linear(atom)?;
            let extreme = if self.nonneg(&factor) {
                high
            } else if self.nonneg(&factor.scale(-1)) {
                low
            } else {
                return None;
            };
            poly = factor.mul(extreme).add(&rest);
        }
        None
    }

    /// The next relation to learn from the accesses of a finished pass: the longest reach of a
    /// parameter whose length is still open.
    pub(super) fn learn_from_reaches(&mut self) -> Option<super::shapes::Refinement> {
        for param in 0..self.table.bufs.len() {
            let len = self.table.len(param);
            if let Some(refinement) = self.multiple_by_use(param, &len) {
                return Some(refinement);
            }
            let open = len
                .atoms()
                .iter()
                .any(|atom| matches!(atom, Atom::Dim(dim) if self.table.is_free(*dim)));
            if !open {
                continue;
            }
            let mut most: Option<Poly> = None;
            let mut clear = true;
            for (_, reach) in self.reaches.iter().filter(|(other, _)| *other == param) {
                if self.nonneg(&len.sub(reach)) {
                    continue;
                }
                most = match most {
                    None => Some(reach.clone()),
                    Some(old) if self.nonneg(&old.sub(reach)) => Some(old),
                    Some(old) if self.nonneg(&reach.sub(&old)) => Some(reach.clone()),
                    Some(old) => {
                        clear = false;
                        Some(old)
                    }
                };
            }
            let Some(most) = most.filter(|_| clear) else {
                continue;
            };
            let most = self.with_border(param, most);
            // Already long enough, or a number: `x[0]` says little about the length of `x`.
            if self.nonneg(&len.sub(&most)) || most.as_constant().is_some() {
                continue;
            }
            if let Some(refinement) = self.table.equate(&len, &most) {
                return Some(refinement);
            }
        }
        None
    }

    /// `x.len() / 3` where nothing beyond that many threes is ever touched: the length is a
    /// multiple of three.
    fn multiple_by_use(&mut self, param: usize, len: &Poly) -> Option<super::shapes::Refinement> {
        let &[Atom::Dim(dim)] = &len.atoms()[..] else {
            return None;
        };
        if *len != Poly::atom(Atom::Dim(dim)) || !self.table.is_free(dim) {
            return None;
        }
        let reaches: Vec<Poly> = self
            .reaches
            .iter()
            .filter(|(other, _)| *other == param)
            .map(|(_, reach)| reach.clone())
            .collect();
        let mut divisor = None;
        for reach in &reaches {
            self.table.interner.expr(reach).walk(&mut |part| {
                if let Expr::Binary(BinaryOp::Div, a, b) = part
                    && **a == Expr::Dim(dim)
                {
                    divisor = fold::as_int(b).or(divisor);
                }
            });
        }
        let by = u64::try_from(divisor?).ok().filter(|by| *by > 1)?;
        let rows = fold::binary(BinaryOp::Div, Expr::Dim(dim), Expr::index(by));
        let used = self.poly(&rows).scale(i128::from(by));
        reaches
            .iter()
            .all(|reach| self.nonneg(&used.sub(reach)))
            .then(|| super::shapes::Refinement::Multiple {
                dim,
                divisor: Poly::constant(i128::from(by)),
                plus: Poly::default(),
            })
    }

    /// A stencil that leaves out a border at the start leaves out the same at the end:
    /// `for i in 1..n - 1` over an array of `n`.
    fn with_border(&self, param: usize, most: Poly) -> Poly {
        if most.terms().all(|(_, coef)| coef >= 0) {
            return most;
        }
        let mut least: Option<Poly> = None;
        for (_, start) in self.starts.iter().filter(|(other, _)| *other == param) {
            least = match least {
                Some(old) if self.nonneg(&start.sub(&old)) => Some(old),
                None => Some(start.clone()),
                Some(old) if self.nonneg(&old.sub(start)) => Some(start.clone()),
                Some(_) => return most,
            };
        }
        match least {
            Some(least) => {
                let whole = most.add(&least);
                let plain = whole.terms().all(|(_, coef)| coef >= 0);
                if plain { whole } else { most }
            }
            None => most,
        }
    }
}

/// `(a, b)` with `poly = a * by + b`, where `by` is one term.
fn split_multiple(poly: &Poly, by: &Poly) -> Option<(Poly, Poly)> {
    let (mut whole, mut rest) = (Poly::default(), Poly::default());
    let mut any = false;
    for (atoms, coef) in poly.terms() {
        let mut term = Poly::constant(coef);
        for atom in atoms {
            term = term.mul(&Poly::atom(*atom));
        }
        match term.div_exact(by) {
            Some(quotient) => {
                any = true;
                whole = whole.add(&quotient);
            }
            None => rest = rest.add(&term),
        }
    }
    any.then_some((whole, rest))
}
