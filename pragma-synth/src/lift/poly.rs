//! Polynomials over sizes and counters: to compare lengths and to prove that an index is in
//! bounds. Exact integer arithmetic; callers make sure that wrapping does not come into it.

use std::collections::BTreeMap;

use pragma_spec::Scalar;

use crate::ir::{BinaryOp, Const, Expr, VarId};

/// Something that a polynomial does not look into.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Atom {
    /// A size of the shape table.
    Dim(usize),
    /// An immutable variable or loop counter.
    Var(VarId),
    /// Any other expression, by its place in the interner.
    Opaque(usize),
}

/// A sum of products with integer coefficients; no coefficient is zero.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub(super) struct Poly {
    terms: BTreeMap<Vec<Atom>, i128>,
}

/// Expressions that polynomials treat as atoms.
#[derive(Clone, Debug, Default)]
pub(super) struct Interner {
    exprs: Vec<Expr>,
}

impl Interner {
    fn intern(&mut self, expr: &Expr) -> usize {
        match self.exprs.iter().position(|known| known == expr) {
            Some(index) => index,
            None => {
                self.exprs.push(expr.clone());
                self.exprs.len() - 1
            }
        }
    }

    fn get(&self, index: usize) -> Expr {
        self.exprs.get(index).cloned().unwrap_or(Expr::index(0))
    }

    /// Reads a `usize` expression.
    pub(super) fn poly(&mut self, expr: &Expr) -> Poly {
        match expr {
            Expr::Const(Const::Int(_, value)) => Poly::constant(*value),
            Expr::Dim(dim) => Poly::atom(Atom::Dim(*dim)),
            Expr::Var(var) => Poly::atom(Atom::Var(*var)),
            Expr::Binary(BinaryOp::Add, a, b) => self.poly(a).add(&self.poly(b)),
            Expr::Binary(BinaryOp::Sub, a, b) => self.poly(a).sub(&self.poly(b)),
            Expr::Binary(BinaryOp::Mul, a, b) => self.poly(a).mul(&self.poly(b)),
            other => Poly::atom(Atom::Opaque(self.intern(other))),
        }
    }

    /// Writes a polynomial as a `usize` expression.
    pub(super) fn expr(&self, poly: &Poly) -> Expr {
        let mut sum: Option<Expr> = None;
        // Positive terms first, so that no partial sum wraps; among them the longest first,
        // which is how people write a size.
        let mut terms: Vec<_> = poly.terms.iter().collect();
        terms.sort_by_key(|(atoms, coef)| (**coef < 0, std::cmp::Reverse(atoms.len())));
        for (atoms, coef) in terms {
            let factors = atoms.iter().map(|atom| match atom {
                Atom::Dim(dim) => Expr::Dim(*dim),
                Atom::Var(var) => Expr::Var(*var),
                Atom::Opaque(index) => self.get(*index),
            });
            let magnitude = coef.unsigned_abs();
            let literal = Expr::Const(Const::Int(
                Scalar::Usize,
                i128::try_from(magnitude).unwrap_or(0),
            ));
            let product = factors.reduce(|a, b| Expr::binary(BinaryOp::Mul, a, b));
            let term = match product {
                None => literal,
                Some(product) if magnitude == 1 => product,
                Some(product) => Expr::binary(BinaryOp::Mul, literal, product),
            };
            sum = Some(match (sum, *coef < 0) {
                (None, false) => term,
                (None, true) => Expr::binary(BinaryOp::Sub, Expr::index(0), term),
                (Some(sum), false) => Expr::binary(BinaryOp::Add, sum, term),
                (Some(sum), true) => Expr::binary(BinaryOp::Sub, sum, term),
            });
        }
        sum.unwrap_or(Expr::index(0))
    }
}

impl Poly {
    /// A number.
    pub(super) fn constant(value: i128) -> Self {
        let mut poly = Poly::default();
        poly.add_term(Vec::new(), value);
        poly
    }

    /// One atom.
    pub(super) fn atom(atom: Atom) -> Self {
        let mut poly = Poly::default();
        poly.add_term(vec![atom], 1);
        poly
    }

    fn add_term(&mut self, atoms: Vec<Atom>, coef: i128) {
        let slot = self.terms.entry(atoms).or_insert(0);
        *slot = slot.saturating_add(coef);
        self.terms.retain(|_, coef| *coef != 0);
    }

    pub(super) fn add(&self, other: &Poly) -> Poly {
        let mut sum = self.clone();
        for (atoms, coef) in &other.terms {
            sum.add_term(atoms.clone(), *coef);
        }
        sum
    }

    pub(super) fn sub(&self, other: &Poly) -> Poly {
        self.add(&other.scale(-1))
    }

    pub(super) fn scale(&self, by: i128) -> Poly {
        let mut scaled = Poly::default();
        for (atoms, coef) in &self.terms {
            scaled.add_term(atoms.clone(), coef.saturating_mul(by));
        }
        scaled
    }

    pub(super) fn mul(&self, other: &Poly) -> Poly {
        let mut product = Poly::default();
        for (a, x) in &self.terms {
            for (b, y) in &other.terms {
                let mut atoms = a.clone();
                atoms.extend(b);
                atoms.sort();
                product.add_term(atoms, x.saturating_mul(*y));
            }
        }
        product
    }

    /// The number this is, if it is one.
    pub(super) fn as_constant(&self) -> Option<i128> {
        match self.terms.len() {
            0 => Some(0),
            1 => self.terms.get(&Vec::new() as &Vec<Atom>).copied(),
            _ => None,
        }
    }

    pub(super) fn is_zero(&self) -> bool {
        self.terms.is_empty()
    }

    /// All atoms, without repeats.
    pub(super) fn atoms(&self) -> Vec<Atom> {
        let mut atoms: Vec<Atom> = self.terms.keys().flatten().copied().collect();
        atoms.sort();
        atoms.dedup();
        atoms
    }

    /// The terms: sorted atoms and coefficient.
    pub(super) fn terms(&self) -> impl Iterator<Item = (&Vec<Atom>, i128)> {
        self.terms.iter().map(|(atoms, coef)| (atoms, *coef))
    }

    /// `(a, b)` with `self = a * atom + b` and no `atom` in either; `None` if it occurs to a
    /// higher power.
    pub(super) fn split_linear(&self, atom: Atom) -> Option<(Poly, Poly)> {
        let (mut factor, mut rest) = (Poly::default(), Poly::default());
        for (atoms, coef) in &self.terms {
            match atoms.iter().filter(|a| **a == atom).count() {
                0 => rest.add_term(atoms.clone(), *coef),
                1 => {
                    let others = atoms.iter().filter(|a| **a != atom).copied().collect();
                    factor.add_term(others, *coef);
                }
                _ => return None,
            }
        }
        Some((factor, rest))
    }

    /// Puts `value` in the place of `atom`.
    pub(super) fn substitute(&self, atom: Atom, value: &Poly) -> Poly {
        let mut result = Poly::default();
        for (atoms, coef) in &self.terms {
            let mut term = Poly::constant(*coef);
            for factor in atoms {
                term = if *factor == atom {
                    term.mul(value)
                } else {
                    term.mul(&Poly::atom(*factor))
                };
            }
            result = result.add(&term);
        }
        result
    }

    /// `self / by` where that is exact and `by` is one term.
    pub(super) fn div_exact(&self, by: &Poly) -> Option<Poly> {
        let mut terms = by.terms.iter();
        let (Some((divisor, coef)), None) = (terms.next(), terms.next()) else {
            return (self == by && !self.is_zero()).then(|| Poly::constant(1));
        };
        let mut quotient = Poly::default();
        for (atoms, c) in &self.terms {
            let mut left = atoms.clone();
            for factor in divisor {
                let at = left.iter().position(|a| a == factor)?;
                left.remove(at);
            }
            if c % coef != 0 {
                return None;
            }
            quotient.add_term(left, c / coef);
        }
        Some(quotient)
    }

    /// The largest single term that divides this, and the quotient.
    pub(super) fn factor(&self) -> (Poly, Poly) {
        let mut terms = self.terms.iter();
        let Some((first, coef)) = terms.next() else {
            return (Poly::constant(1), Poly::default());
        };
        let (mut common, mut gcd) = (first.clone(), coef.unsigned_abs());
        for (atoms, coef) in terms {
            let mut left = atoms.clone();
            common.retain(|factor| match left.iter().position(|a| a == factor) {
                Some(at) => {
                    left.remove(at);
                    true
                }
                None => false,
            });
            let (mut a, mut b) = (gcd, coef.unsigned_abs());
            while b != 0 {
                (a, b) = (b, a % b);
            }
            gcd = a;
        }
        let mut divisor = Poly::default();
        divisor.add_term(common, i128::try_from(gcd).unwrap_or(1));
        let quotient = self.div_exact(&divisor).unwrap_or_else(|| self.clone());
        (divisor, quotient)
    }
}
