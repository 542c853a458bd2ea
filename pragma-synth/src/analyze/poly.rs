//! Index expressions as polynomials over dimensions and loop counters.
//!
//! Owns the normal form and its arithmetic. What a polynomial proves about bounds is
//! `bounds`' business.

use std::collections::BTreeMap;

use pragma_spec::{DimExpr, Scalar};

use crate::ir::{BinaryOp, BufRole, Const, Expr, Program, VarId};

/// An unknown of a polynomial. Every atom stands for a non-negative integer.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Atom {
    /// A dimension of the program, by index; at least 1 (the guard refuses empty arguments).
    Dim(usize),
    /// A `usize` variable, usually a loop counter.
    Var(VarId),
    /// The quotient, rounded down, of two polynomials over dimensions; the first is at least 0
    /// and the second at least 1.
    Quotient(Box<(Poly, Poly)>),
}

/// A product of atoms, sorted; empty for the constant term.
type Monomial = Vec<Atom>;

/// A polynomial with integer coefficients, in normal form (no zero coefficients).
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Poly {
    terms: BTreeMap<Monomial, i64>,
    /// A coefficient has left the range of `i64`: nothing is known of the value.
    huge: bool,
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
        match entry.checked_add(coefficient) {
            Some(sum) => *entry = sum,
            None => self.huge = true,
        }
        if *entry == 0 {
            self.terms.remove(&monomial);
        }
    }

    /// `self + other`.
    #[must_use]
    pub fn plus(&self, other: &Poly) -> Poly {
        let mut sum = self.clone();
        sum.huge |= other.huge;
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
        let mut product = Poly {
            huge: self.huge || other.huge,
            ..Poly::default()
        };
        for (a, x) in &self.terms {
            for (b, y) in &other.terms {
                let mut monomial = a.clone();
                monomial.extend_from_slice(b);
                monomial.sort_unstable();
                match x.checked_mul(*y) {
                    Some(coefficient) => product.add_term(monomial, coefficient),
                    None => product.huge = true,
                }
            }
        }
        product
    }

    /// Replaces `atom` by `value` everywhere.
    #[must_use]
    pub fn substitute(&self, atom: &Atom, value: &Poly) -> Poly {
        let mut result = Poly {
            huge: self.huge,
            ..Poly::default()
        };
        for (monomial, coefficient) in &self.terms {
            let mut term = Poly::constant(*coefficient);
            for factor in monomial {
                term = if factor == atom {
                    term.times(value)
                } else {
                    term.times(&Poly::atom(factor.clone()))
                };
            }
            result = result.plus(&term);
        }
        result
    }

    /// Writes the polynomial as `a * atom + b` with `atom` in neither `a` nor `b`, or `None`
    /// if it is not linear in `atom`.
    pub fn linear_in(&self, atom: &Atom) -> Option<(Poly, Poly)> {
        if self.huge {
            return None;
        }
        let mut slope = Poly::default();
        let mut rest = Poly::default();
        for (monomial, coefficient) in &self.terms {
            match monomial.iter().filter(|factor| *factor == atom).count() {
                0 => rest.add_term(monomial.clone(), *coefficient),
                1 => {
                    let others = monomial.iter().filter(|f| *f != atom).cloned().collect();
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
            _ if self.huge => None,
            0 => Some(0),
            1 => self.terms.get(&Vec::new()).copied(),
            _ => None,
        }
    }

    /// Whether only dimensions occur.
    pub fn is_over_dims(&self) -> bool {
        let mut atoms = self.terms.keys().flatten();
        atoms.all(|atom| !matches!(atom, Atom::Var(_)))
    }

    /// Whether `atom` occurs.
    pub fn mentions(&self, atom: &Atom) -> bool {
        self.terms.keys().any(|monomial| monomial.contains(atom))
    }

    /// The variables that occur, without repeats.
    pub fn vars(&self) -> Vec<VarId> {
        let mut vars: Vec<VarId> = self
            .terms
            .keys()
            .flatten()
            .filter_map(|atom| match atom {
                Atom::Var(var) => Some(*var),
                Atom::Dim(_) | Atom::Quotient(_) => None,
            })
            .collect();
        vars.sort_unstable();
        vars.dedup();
        vars
    }

    /// Whether no coefficient is negative, so that the value never is, since atoms are
    /// non-negative.
    pub fn is_nonnegative_termwise(&self) -> bool {
        !self.huge && self.terms.values().all(|coefficient| *coefficient >= 0)
    }

    /// Whether no coefficient is positive.
    pub fn is_nonpositive_termwise(&self) -> bool {
        !self.huge && self.terms.values().all(|coefficient| *coefficient <= 0)
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
                Atom::Var(_) | Atom::Quotient(_) => None,
            })
            .collect();
        let mut shifted = self.without_quotients();
        let mut done = Vec::new();
        for dim in dims {
            if done.contains(&dim) {
                continue;
            }
            done.push(dim);
            let one_more = Poly::atom(Atom::Dim(dim)).plus(&Poly::constant(1));
            shifted = shifted.substitute(&Atom::Dim(dim), &one_more);
        }
        shifted.is_nonnegative_termwise()
    }

    /// The terms: products of atoms (none for the constant term) with their coefficients.
    pub fn terms(&self) -> impl Iterator<Item = (&[Atom], i64)> {
        self.terms
            .iter()
            .map(|(monomial, coefficient)| (monomial.as_slice(), *coefficient))
    }

    /// The polynomial divided by `by`, if it is a multiple of it; `by` has one term.
    fn divided(&self, by: &Poly) -> Option<Poly> {
        let (divisor, scale) = match by.terms.iter().collect::<Vec<_>>().as_slice() {
            [(monomial, scale)] => ((*monomial).clone(), **scale),
            _ => return None,
        };
        let mut result = Poly::default();
        for (monomial, coefficient) in &self.terms {
            let mut rest = monomial.clone();
            for factor in &divisor {
                let at = rest.iter().position(|other| other == factor)?;
                rest.remove(at);
            }
            if coefficient.checked_rem(scale) != Some(0) {
                return None;
            }
            result.add_term(rest, coefficient / scale);
        }
        Some(result)
    }

    /// A polynomial that is nowhere greater, without quotients that lower it: of a quotient is
    /// known that its product with the divisor does not exceed what was divided.
    fn without_quotients(&self) -> Poly {
        let mut result = self.clone();
        let quotients: std::collections::BTreeSet<Atom> = self
            .terms
            .keys()
            .flatten()
            .filter(|atom| matches!(atom, Atom::Quotient(_)))
            .cloned()
            .collect();
        for atom in quotients {
            let Atom::Quotient(parts) = &atom else {
                continue;
            };
            let (over, under) = &**parts;
            let Some((slope, rest)) = result.linear_in(&atom) else {
                continue;
            };
            let (mut falling, mut rising) = (Poly::default(), Poly::default());
            for (monomial, coefficient) in slope.terms {
                if coefficient < 0 {
                    falling.add_term(monomial, coefficient);
                } else {
                    rising.add_term(monomial, coefficient);
                }
            }
            if let Some(times) = falling.divided(under) {
                result = rest
                    .plus(&times.times(over))
                    .plus(&rising.times(&Poly::atom(atom.clone())));
            }
        }
        result
    }

    /// The polynomial as Rust text over the names that `name` gives to its atoms, or `None` if
    /// a coefficient is negative (the text would then depend on the order of evaluation).
    pub fn spell(&self, name: &dyn Fn(&Atom) -> String) -> Option<String> {
        if self.huge {
            return None;
        }
        if self.terms.is_empty() {
            return Some("0".to_owned());
        }
        let mut terms = Vec::new();
        for (monomial, coefficient) in self.terms.iter().rev() {
            if *coefficient < 0 {
                return None;
            }
            let mut factors: Vec<String> = monomial.iter().map(name).collect();
            if *coefficient != 1 || factors.is_empty() {
                factors.insert(0, coefficient.to_string());
            }
            terms.push(factors.join(" * "));
        }
        Some(terms.join(" + "))
    }

    /// The polynomial as a `usize` expression, or `None` if a coefficient is negative.
    pub fn to_expr(&self) -> Option<Expr> {
        if self.huge {
            return None;
        }
        let mut sum: Option<Expr> = None;
        for (monomial, coefficient) in self.terms.iter().rev() {
            let coefficient = u64::try_from(*coefficient).ok()?;
            let mut term =
                (coefficient != 1 || monomial.is_empty()).then(|| Expr::index(coefficient));
            for atom in monomial.iter().rev() {
                let factor = match atom {
                    Atom::Dim(dim) => Expr::Dim(*dim),
                    Atom::Var(var) => Expr::Var(*var),
                    Atom::Quotient(_) => return None,
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

    /// As [`Poly::spell`], for a polynomial that is known to be at least 0: what is added comes
    /// before what is subtracted.
    pub fn spell_signed(&self, name: &dyn Fn(&Atom) -> String) -> String {
        let part = |sign: i64| {
            let mut part = Poly::default();
            for (monomial, coefficient) in &self.terms {
                if coefficient.signum() == sign {
                    part.add_term(monomial.clone(), coefficient.saturating_mul(sign));
                }
            }
            part
        };
        let spelled = |poly: &Poly| poly.spell(name).unwrap_or_else(|| "0".to_owned());
        let (plus, minus) = (part(1), part(-1));
        if minus == Poly::default() {
            spelled(&plus)
        } else {
            format!("{} - ({})", spelled(&plus), spelled(&minus))
        }
    }

    /// The value under an assignment of the atoms, saturating.
    pub fn eval(&self, lookup: &dyn Fn(&Atom) -> i64) -> i64 {
        self.terms
            .iter()
            .fold(0i64, |sum, (monomial, coefficient)| {
                let term = monomial.iter().fold(*coefficient, |term, atom| {
                    term.saturating_mul(match atom {
                        Atom::Quotient(parts) => {
                            let (over, under) = &**parts;
                            over.eval(lookup).max(0) / under.eval(lookup).max(1)
                        }
                        atom => lookup(atom),
                    })
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

    /// Forgets what `var` stands for.
    pub fn forget(&mut self, var: VarId) {
        self.map.remove(&var);
    }

    /// What `var` stands for, if it was defined.
    pub fn get(&self, var: VarId) -> Option<&Poly> {
        self.map.get(&var)
    }
}

/// Reads an index expression as a polynomial, or `None` if it is not one. A subtraction is
/// taken as exact: the caller's bounds proof shows that no intermediate value wraps, because
/// the polynomial is compared as a whole and wrapping arithmetic agrees modulo 2^64. For the
/// same reason `isize` arithmetic and casts between the two read like that of `usize`.
pub fn read(program: &Program, definitions: &Definitions, expr: &Expr) -> Option<Poly> {
    let is_index = |scalar: Scalar| matches!(scalar, Scalar::Usize | Scalar::Isize);
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
        Expr::Binary(op, a, b) if is_index(a.scalar(program)) => {
            let unsigned = a.scalar(program) == Scalar::Usize;
            let a = read(program, definitions, a)?;
            let b = read(program, definitions, b)?;
            match op {
                BinaryOp::Add => Some(a.plus(&b)),
                BinaryOp::Sub => Some(a.minus(&b)),
                BinaryOp::Mul => Some(a.times(&b)),
                BinaryOp::Div if unsigned => quotient(program, a, b),
                _ => None,
            }
        }
        Expr::Cast(to, value) if is_index(*to) && is_index(value.scalar(program)) => {
            read(program, definitions, value)
        }
        _ => None,
    }
}

/// `over / under` for sizes; what is divided must not have wrapped.
fn quotient(program: &Program, over: Poly, under: Poly) -> Option<Poly> {
    let one = Poly::constant(1);
    let sizes = over.is_over_dims() && under.is_over_dims();
    let whole = over.is_nonnegative() || shape_facts(program).contains(&over);
    (sizes && whole && under.minus(&one).is_nonnegative())
        .then(|| Poly::atom(Atom::Quotient(Box::new((over, under)))))
}

/// Differences in the shapes of the parameters: the guard has found them to be at least 0.
pub fn shape_facts(program: &Program) -> Vec<Poly> {
    fn collect(program: &Program, expr: &DimExpr, facts: &mut Vec<Poly>) {
        if let DimExpr::Sub(..) = expr
            && let Some(poly) = read_dim(program, expr)
            && !facts.contains(&poly)
        {
            facts.push(poly);
        }
        match expr {
            DimExpr::Const(_) | DimExpr::Dim(_) => {}
            DimExpr::Add(a, b) | DimExpr::Sub(a, b) | DimExpr::Mul(a, b) | DimExpr::Div(a, b) => {
                collect(program, a, facts);
                collect(program, b, facts);
            }
        }
    }
    let mut facts = Vec::new();
    for buf in &program.bufs {
        if matches!(buf.role, BufRole::Input | BufRole::Mutable) {
            for extent in &buf.shape.0 {
                collect(program, extent, &mut facts);
                // The extent as a whole is a size too.
                if let Some(poly) = read_dim(program, extent)
                    && !poly.is_nonnegative()
                    && !facts.contains(&poly)
                {
                    facts.push(poly);
                }
            }
        }
    }
    facts
}

/// Reads a size expression as a polynomial. The guard computes sizes without wrapping.
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
        DimExpr::Div(a, b) => {
            let (over, under) = (read_dim(program, a)?, read_dim(program, b)?);
            let one = Poly::constant(1);
            under
                .minus(&one)
                .is_nonnegative()
                .then(|| Poly::atom(Atom::Quotient(Box::new((over, under)))))
        }
    }
}
