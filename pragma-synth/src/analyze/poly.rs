//! Index expressions as polynomials over dimensions and loop counters.
//!
//! Owns the normal form and its arithmetic. What a polynomial proves about bounds is
//! `bounds`' business.

use std::collections::BTreeMap;

use pragma_spec::{DimExpr, Scalar};

use crate::ir::{BinaryOp, Const, Expr, Program, VarId};

/// An unknown of a polynomial. Every atom stands for a non-negative integer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Atom {
    /// A dimension of the program, by index; at least 1 (the guard refuses empty arguments).
    Dim(usize),
    /// A `usize` variable, usually a loop counter.
    Var(VarId),
}

/// A product of atoms, sorted; empty for the constant term.
type Monomial = Vec<Atom>;

/// A polynomial with integer coefficients, in normal form (no zero coefficients).
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Poly {
    terms: BTreeMap<Monomial, i64>,
}

impl Poly {
    /// The constant `value`.
    pub fn constant(value: i64) -> Self {
        let mut poly = Poly::default();
        poly.add_term(Vec::new(), value);
        poly
    }

    /// The polynomial that is one atom.
    pub fn atom(atom: Atom) -> Self {
        let mut poly = Poly::default();
        poly.add_term(vec![atom], 1);
        poly
    }

    fn add_term(&mut self, monomial: Monomial, coefficient: i64) {
        if coefficient == 0 {
            return;
        }
        let entry = self.terms.entry(monomial.clone()).or_insert(0);
        *entry += coefficient;
        if *entry == 0 {
            self.terms.remove(&monomial);
        }
    }

    /// `self + other`.
    #[must_use]
    pub fn plus(&self, other: &Poly) -> Poly {
        let mut sum = self.clone();
        for (monomial, coefficient) in &other.terms {
            sum.add_term(monomial.clone(), *coefficient);
        }
        sum
    }

    /// `self - other`.
    #[must_use]
    pub fn minus(&self, other: &Poly) -> Poly {
        self.plus(&other.times(&Poly::constant(-1)))
    }

    /// `self * other`.
    #[must_use]
    pub fn times(&self, other: &Poly) -> Poly {
        let mut product = Poly::default();
        for (a, x) in &self.terms {
            for (b, y) in &other.terms {
                let mut monomial = a.clone();
                monomial.extend_from_slice(b);
                monomial.sort_unstable();
                product.add_term(monomial, x * y);
            }
        }
        product
    }

    /// Replaces `atom` by `value` everywhere.
    #[must_use]
    pub fn substitute(&self, atom: Atom, value: &Poly) -> Poly {
        let mut result = Poly::default();
        for (monomial, coefficient) in &self.terms {
            let mut term = Poly::constant(*coefficient);
            for factor in monomial {
                term = if *factor == atom {
                    term.times(value)
                } else {
                    term.times(&Poly::atom(*factor))
                };
            }
            result = result.plus(&term);
        }
        result
    }

    /// Writes the polynomial as `a * atom + b` with `atom` in neither `a` nor `b`, or `None`
    /// if it is not linear in `atom`.
    pub fn linear_in(&self, atom: Atom) -> Option<(Poly, Poly)> {
        let mut slope = Poly::default();
        let mut rest = Poly::default();
        for (monomial, coefficient) in &self.terms {
            match monomial.iter().filter(|factor| **factor == atom).count() {
                0 => rest.add_term(monomial.clone(), *coefficient),
                1 => {
                    let others = monomial.iter().copied().filter(|f| *f != atom).collect();
                    slope.add_term(others, *coefficient);
                }
                _ => return None,
            }
        }
        Some((slope, rest))
    }

    /// The value, if the polynomial is a constant.
    pub fn as_constant(&self) -> Option<i64> {
        match self.terms.len() {
            0 => Some(0),
            1 => self.terms.get(&Vec::new()).copied(),
            _ => None,
        }
    }

    /// Whether `atom` occurs.
    pub fn mentions(&self, atom: Atom) -> bool {
        self.terms.keys().any(|monomial| monomial.contains(&atom))
    }

    /// The variables that occur, without repeats.
    pub fn vars(&self) -> Vec<VarId> {
        let mut vars: Vec<VarId> = self
            .terms
            .keys()
            .flatten()
            .filter_map(|atom| match atom {
                Atom::Var(var) => Some(*var),
                Atom::Dim(_) => None,
            })
            .collect();
        vars.sort_unstable();
        vars.dedup();
        vars
    }

    /// Whether no coefficient is negative, so that the value never is, since atoms are
    /// non-negative.
    pub fn is_nonnegative_termwise(&self) -> bool {
        self.terms.values().all(|coefficient| *coefficient >= 0)
    }

    /// Whether no coefficient is positive.
    pub fn is_nonpositive_termwise(&self) -> bool {
        self.terms.values().all(|coefficient| *coefficient <= 0)
    }

    /// Whether the value is at least 0 for all dimensions of at least 1 (and all variables of
    /// at least 0). A `false` answer means "not shown".
    pub fn is_nonnegative(&self) -> bool {
        let dims: Vec<usize> = self
            .terms
            .keys()
            .flatten()
            .filter_map(|atom| match atom {
                Atom::Dim(dim) => Some(*dim),
                Atom::Var(_) => None,
            })
            .collect();
        let mut shifted = self.clone();
        let mut done = Vec::new();
        for dim in dims {
            if done.contains(&dim) {
                continue;
            }
            done.push(dim);
            let one_more = Poly::atom(Atom::Dim(dim)).plus(&Poly::constant(1));
            shifted = shifted.substitute(Atom::Dim(dim), &one_more);
        }
        shifted.is_nonnegative_termwise()
    }

    /// The polynomial as Rust text over the names that `name` gives to its atoms, or `None` if
    /// a coefficient is negative (the text would then depend on the order of evaluation).
    pub fn spell(&self, name: &dyn Fn(Atom) -> String) -> Option<String> {
        if self.terms.is_empty() {
            return Some("0".to_owned());
        }
        let mut terms = Vec::new();
        for (monomial, coefficient) in self.terms.iter().rev() {
            if *coefficient < 0 {
                return None;
            }
            let mut factors: Vec<String> = monomial.iter().map(|atom| name(*atom)).collect();
            if *coefficient != 1 || factors.is_empty() {
                factors.insert(0, coefficient.to_string());
            }
            terms.push(factors.join(" * "));
        }
        Some(terms.join(" + "))
    }

    /// The polynomial as a `usize` expression, or `None` if a coefficient is negative.
    pub fn to_expr(&self) -> Option<Expr> {
        let mut sum: Option<Expr> = None;
        for (monomial, coefficient) in self.terms.iter().rev() {
            let coefficient = u64::try_from(*coefficient).ok()?;
            let mut term =
                (coefficient != 1 || monomial.is_empty()).then(|| Expr::index(coefficient));
            for atom in monomial.iter().rev() {
                let factor = match atom {
                    Atom::Dim(dim) => Expr::Dim(*dim),
                    Atom::Var(var) => Expr::Var(*var),
                };
                term = Some(match term {
                    Some(term) => Expr::binary(BinaryOp::Mul, term, factor),
                    None => factor,
                });
            }
            sum = match (sum, term) {
                (Some(sum), Some(term)) => Some(Expr::binary(BinaryOp::Add, sum, term)),
                (sum, term) => sum.or(term),
            };
        }
        Some(sum.unwrap_or_else(|| Expr::index(0)))
    }

    /// The value under an assignment of the atoms, saturating.
    pub fn eval(&self, lookup: &dyn Fn(Atom) -> i64) -> i64 {
        self.terms
            .iter()
            .fold(0i64, |sum, (monomial, coefficient)| {
                let term = monomial.iter().fold(*coefficient, |term, atom| {
                    term.saturating_mul(lookup(*atom))
                });
                sum.saturating_add(term)
            })
    }
}

/// What variables stand for while reading expressions: the definitions of immutable `usize`
/// lets that are themselves polynomials.
#[derive(Clone, Debug, Default)]
pub struct Definitions {
    map: BTreeMap<VarId, Poly>,
}

impl Definitions {
    /// Remembers that `var` equals `poly`.
    pub fn define(&mut self, var: VarId, poly: Poly) {
        self.map.insert(var, poly);
    }

    /// What `var` stands for, if it was defined.
    pub fn get(&self, var: VarId) -> Option<&Poly> {
        self.map.get(&var)
    }
}

/// Reads a `usize` expression as a polynomial, or `None` if it is not one. A subtraction is
/// taken as exact: the caller's bounds proof shows that no intermediate value wraps, because
/// the polynomial is compared as a whole and wrapping arithmetic agrees modulo 2^64.
pub fn read(program: &Program, definitions: &Definitions, expr: &Expr) -> Option<Poly> {
    match expr {
        Expr::Const(Const::Int(_, value)) => i64::try_from(*value).ok().map(Poly::constant),
        Expr::Dim(dim) => Some(Poly::atom(Atom::Dim(*dim))),
        Expr::Var(var) => match definitions.get(*var) {
            Some(poly) => Some(poly.clone()),
            None => {
                let decl = program.var(*var);
                (decl.scalar == Scalar::Usize && !decl.mutable).then(|| Poly::atom(Atom::Var(*var)))
            }
        },
        Expr::Binary(op, a, b) if a.scalar(program) == Scalar::Usize => {
            let a = read(program, definitions, a)?;
            let b = read(program, definitions, b)?;
            match op {
                BinaryOp::Add => Some(a.plus(&b)),
                BinaryOp::Sub => Some(a.minus(&b)),
                BinaryOp::Mul => Some(a.times(&b)),
                _ => None,
            }
        }
        Expr::Cast(Scalar::Usize, value) if value.scalar(program) == Scalar::Usize => {
            read(program, definitions, value)
        }
        _ => None,
    }
}

/// Reads a size expression as a polynomial, or `None` if it divides.
pub fn read_dim(program: &Program, expr: &DimExpr) -> Option<Poly> {
    match expr {
        DimExpr::Const(value) => i64::try_from(*value).ok().map(Poly::constant),
        DimExpr::Dim(name) => program
            .dims
            .iter()
            .position(|dim| dim == name)
            .map(|dim| Poly::atom(Atom::Dim(dim))),
        DimExpr::Add(a, b) => Some(read_dim(program, a)?.plus(&read_dim(program, b)?)),
        DimExpr::Sub(a, b) => Some(read_dim(program, a)?.minus(&read_dim(program, b)?)),
        DimExpr::Mul(a, b) => Some(read_dim(program, a)?.times(&read_dim(program, b)?)),
        DimExpr::Div(..) => None,
    }
}
