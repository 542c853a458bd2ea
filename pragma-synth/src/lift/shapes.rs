//! What is known of the lengths of slices.
//!
//! Every slice length is a polynomial over dimensions. Lengths that nobody gave start as
//! dimensions of their own; reading the function teaches relations (`Refinement`), after which
//! it is read again from the start, so that one pass never sees two truths. Each relation
//! becomes a part of the dispatch guard, hence a needless one costs speed, never correctness.

use std::collections::{BTreeMap, BTreeSet};

use pragma_spec::{DimExpr, Shape};

use super::poly::{Atom, Interner, Poly};
use crate::ir::{BinaryOp, Const, Expr};

/// Where a dimension comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// Named in a `shape(..)` of the attribute, and no parameter.
    Given,
    /// An integer parameter; a dimension only if a shape uses it.
    Param,
    /// The length of a slice of which no shape was given.
    Len,
    /// A length divided: the number of rows.
    Derived,
    /// An extent of an array, which is a parameter of its own: `x.shape.0`.
    Extent,
}

/// One dimension.
#[derive(Clone, Debug)]
pub(super) struct DimEntry {
    pub(super) name: String,
    pub(super) origin: Origin,
    /// What it was found to be, over other dimensions.
    pub(super) value: Option<Poly>,
    /// What the user calls it.
    pub(super) hint: Option<String>,
}

/// The extents of one buffer parameter.
#[derive(Clone, Debug)]
pub(super) struct BufShape {
    pub(super) param: String,
    pub(super) given: Option<Shape>,
    /// The length, over dimensions; not resolved.
    pub(super) len: Poly,
}

/// A relation that was learnt.
#[derive(Clone, Debug)]
pub(super) enum Refinement {
    /// A free dimension equals an expression over others.
    Is(usize, Poly),
    /// A free dimension equals a new dimension times the divisor, plus a constant part.
    Multiple {
        dim: usize,
        divisor: Poly,
        plus: Poly,
    },
}

/// All that is known of lengths, from pass to pass.
#[derive(Clone, Debug, Default)]
pub(super) struct ShapeTable {
    pub(super) dims: Vec<DimEntry>,
    pub(super) bufs: Vec<BufShape>,
    pub(super) interner: Interner,
    /// Signed parameters that turned out to be no dimensions: they may be negative.
    pub(super) plain: BTreeSet<usize>,
    /// How often a dimension is (part of) a stride, by parameter.
    pub(super) strides: BTreeMap<(String, usize), usize>,
}

impl ShapeTable {
    /// The index of the dimension called `name`.
    pub(super) fn find(&self, name: &str) -> Option<usize> {
        self.dims.iter().position(|dim| dim.name == name)
    }

    /// Adds a dimension.
    pub(super) fn add(&mut self, name: String, origin: Origin) -> usize {
        self.dims.push(DimEntry {
            name,
            origin,
            value: None,
            hint: None,
        });
        self.dims.len() - 1
    }

    /// The dimension called `name`, added if need be.
    pub(super) fn named(&mut self, name: &str) -> usize {
        match self.find(name) {
            Some(index) => index,
            None => self.add(name.to_owned(), Origin::Given),
        }
    }

    /// A size expression of the attribute as a `usize` expression.
    pub(super) fn expr_of(&mut self, dim: &DimExpr) -> Expr {
        let mut binary = |op, a: &DimExpr, b: &DimExpr| {
            let (a, b) = (self.expr_of(a), self.expr_of(b));
            Expr::binary(op, a, b)
        };
        match dim {
            DimExpr::Const(value) => Expr::index(*value),
            DimExpr::Dim(name) => Expr::Dim(self.named(name)),
            DimExpr::Add(a, b) => binary(BinaryOp::Add, a, b),
            DimExpr::Sub(a, b) => binary(BinaryOp::Sub, a, b),
            DimExpr::Mul(a, b) => binary(BinaryOp::Mul, a, b),
            DimExpr::Div(a, b) => binary(BinaryOp::Div, a, b),
        }
    }

    /// A size with what is known of the dimensions in it put in.
    pub(super) fn known_extent(&self, extent: &DimExpr) -> DimExpr {
        let both = |a: &DimExpr, b: &DimExpr| {
            (
                Box::new(self.known_extent(a)),
                Box::new(self.known_extent(b)),
            )
        };
        match extent {
            DimExpr::Dim(name) => {
                let value = self
                    .find(name)
                    .and_then(|dim| self.dims[dim].value.as_ref())
                    .map(|value| self.resolve(value));
                value
                    .and_then(|value| self.dim_expr(&value))
                    .unwrap_or_else(|| extent.clone())
            }
            DimExpr::Const(_) => extent.clone(),
            DimExpr::Add(a, b) => {
                let (a, b) = both(a, b);
                DimExpr::Add(a, b)
            }
            DimExpr::Sub(a, b) => {
                let (a, b) = both(a, b);
                DimExpr::Sub(a, b)
            }
            DimExpr::Mul(a, b) => {
                let (a, b) = both(a, b);
                DimExpr::Mul(a, b)
            }
            DimExpr::Div(a, b) => {
                let (a, b) = both(a, b);
                DimExpr::Div(a, b)
            }
        }
    }

    /// Adds the buffer parameter `param`.
    /// Its elements are `inner` numbers each; it may be a `twin`: the elements of another one, of
    /// so many numbers each, as numbers of another type.
    pub(super) fn add_buf(
        &mut self,
        param: &str,
        given: Option<&Shape>,
        fixed: Option<u64>,
        inner: u64,
        twin: Option<(String, u64)>,
    ) {
        let len = match (given, fixed) {
            (Some(shape), _) => {
                let mut len = Poly::constant(1);
                for extent in &shape.0 {
                    let expr = self.expr_of(extent);
                    len = len.mul(&self.interner.poly(&expr));
                }
                len
            }
            (None, Some(fixed)) => Poly::constant(i128::from(fixed)),
            (None, None) => {
                let of = twin.and_then(|(of, stride)| {
                    let buf = self.bufs.iter().find(|buf| buf.param == of)?;
                    buf.len.div_exact(&Poly::constant(i128::from(stride)))
                });
                let count = of.unwrap_or_else(|| {
                    let dim = self.add(format!("len of {param}"), Origin::Len);
                    Poly::atom(Atom::Dim(dim))
                });
                count.mul(&Poly::constant(i128::from(inner)))
            }
        };
        self.bufs.push(BufShape {
            param: param.to_owned(),
            given: given.cloned(),
            len,
        });
    }

    /// `poly` with every dimension replaced by what it was found to be.
    pub(super) fn resolve(&self, poly: &Poly) -> Poly {
        let mut poly = poly.clone();
        // Values are kept resolved among themselves, so one round is enough.
        for atom in poly.atoms() {
            if let Atom::Dim(dim) = atom
                && let Some(value) = self.dims.get(dim).and_then(|entry| entry.value.as_ref())
            {
                poly = poly.substitute(atom, value);
            }
        }
        poly
    }

    /// The length of the buffer parameter at `index`, resolved.
    pub(super) fn len(&self, index: usize) -> Poly {
        self.bufs
            .get(index)
            .map_or(Poly::default(), |buf| self.resolve(&buf.len))
    }

    /// Whether `dim` may still be found to be something else.
    pub(super) fn is_free(&self, dim: usize) -> bool {
        self.dims.get(dim).is_some_and(|entry| {
            entry.value.is_none()
                && matches!(entry.origin, Origin::Len | Origin::Derived | Origin::Extent)
        })
    }

    /// Whether the value of `dim` is at least 1 whenever a kernel runs: it is part of a shape.
    pub(super) fn at_least_one(&self, dim: usize) -> bool {
        (0..self.bufs.len()).any(|index| self.len(index).atoms().contains(&Atom::Dim(dim)))
    }

    /// Whether `poly` is over dimensions only, so that a shape can say it.
    pub(super) fn is_size(&self, poly: &Poly) -> bool {
        poly.atoms().iter().all(|atom| match atom {
            Atom::Dim(_) => true,
            Atom::Var(_) => false,
            Atom::Opaque(_) => self.dim_expr(&Poly::atom(*atom)).is_some(),
        })
    }

    /// How `a` could equal `b`: a free dimension that makes it so.
    pub(super) fn equate(&mut self, a: &Poly, b: &Poly) -> Option<Refinement> {
        let diff = a.sub(b);
        let mut dims: Vec<usize> = diff
            .atoms()
            .into_iter()
            .filter_map(|atom| match atom {
                Atom::Dim(dim) if self.is_free(dim) => Some(dim),
                _ => None,
            })
            .collect();
        // The newest first: what was found late describes least. A length that already has a
        // name of its own is kept.
        dims.sort_by_key(|dim| {
            let entry = &self.dims[*dim];
            let derived = entry.origin == Origin::Derived;
            let extent = entry.origin == Origin::Extent;
            (
                extent,
                entry.hint.is_some(),
                derived,
                std::cmp::Reverse(*dim),
            )
        });
        for dim in dims {
            let Some((factor, rest)) = diff.split_linear(Atom::Dim(dim)) else {
                continue;
            };
            if let Some(value) = rest.scale(-1).div_exact(&factor)
                && self.is_size(&value)
                && !self.mentions(&value, dim)
                && !self.mentions(&factor, dim)
                && value.as_constant().is_none_or(|value| value >= 1)
                && (self.dims[dim].origin != Origin::Extent || is_one_dim(&value))
            {
                return Some(Refinement::Is(dim, value));
            }
        }
        // `n / 4` and `m / 4` are equal if `n` and `m` are.
        let (mut all, mut free) = (Vec::new(), Vec::new());
        self.interner.expr(&diff).walk(&mut |part| {
            if let Expr::Dim(dim) = part {
                all.push(*dim);
                if self.is_free(*dim) {
                    free.push(*dim);
                }
            }
        });
        for dim in free {
            for other in &all {
                if *other == dim {
                    continue;
                }
                let same = self.interner.expr(&diff).map(&mut |part| match part {
                    Expr::Dim(d) if d == dim => Expr::Dim(*other),
                    part => part,
                });
                if self.interner.poly(&same).is_zero() {
                    return Some(Refinement::Is(dim, Poly::atom(Atom::Dim(*other))));
                }
            }
        }
        None
    }

    /// Whether `dim` occurs anywhere in `poly`.
    fn mentions(&self, poly: &Poly, dim: usize) -> bool {
        let mut found = false;
        self.interner
            .expr(poly)
            .walk(&mut |part| found |= matches!(part, Expr::Dim(d) if *d == dim));
        found
    }

    /// How `len - plus` could be a multiple of `divisor`.
    pub(super) fn divide(&self, len: &Poly, divisor: &Poly, plus: &Poly) -> Option<Refinement> {
        if !self.is_size(divisor) || !self.is_size(plus) {
            return None;
        }
        // Only a length that is nothing but one free dimension: `n`.
        let &[Atom::Dim(dim)] = &len.atoms()[..] else {
            return None;
        };
        let uses = |poly: &Poly| self.mentions(poly, dim);
        let alone = *len == Poly::atom(Atom::Dim(dim));
        let extent = self
            .dims
            .get(dim)
            .is_some_and(|d| d.origin == Origin::Extent);
        (alone && !extent && self.is_free(dim) && !uses(divisor) && !uses(plus)).then(|| {
            Refinement::Multiple {
                dim,
                divisor: divisor.clone(),
                plus: plus.clone(),
            }
        })
    }

    /// Takes a relation in.
    pub(super) fn apply(&mut self, refinement: Refinement) {
        let (dim, value) = match refinement {
            Refinement::Is(dim, value) => (dim, value),
            Refinement::Multiple { dim, divisor, plus } => {
                let name = format!("part {} of {}", self.dims.len(), self.dims[dim].name);
                let rows = self.add(name, Origin::Derived);
                if let [Atom::Dim(inner)] = divisor.atoms()[..] {
                    self.hint(inner, "d");
                }
                let value = Poly::atom(Atom::Dim(rows)).mul(&divisor).add(&plus);
                (dim, value)
            }
        };
        let value = self.resolve(&value);
        for entry in &mut self.dims {
            if let Some(old) = &entry.value {
                entry.value = Some(old.substitute(Atom::Dim(dim), &value));
            }
        }
        // The name goes with the size.
        if let [Atom::Dim(other)] = value.atoms()[..]
            && value == Poly::atom(Atom::Dim(other))
            && let Some(hint) = self.dims[dim].hint.clone()
        {
            self.hint(other, &hint);
        }
        self.dims[dim].value = Some(value);
    }

    /// The user calls this dimension `name`; the first name stays.
    pub(super) fn hint(&mut self, dim: usize, name: &str) {
        if let Some(entry) = self.dims.get_mut(dim)
            && entry.hint.is_none()
            && matches!(entry.origin, Origin::Len | Origin::Derived)
        {
            entry.hint = Some(name.to_owned());
        }
    }

    /// Gives every free dimension that a shape uses its final name; `taken` are names that it
    /// may not have.
    pub(super) fn name_all(&mut self, taken: &[String]) {
        let mut used: Vec<String> = taken.to_vec();
        used.extend(
            self.dims
                .iter()
                .filter(|dim| matches!(dim.origin, Origin::Given | Origin::Param | Origin::Extent))
                .map(|dim| dim.name.clone()),
        );
        for dim in 0..self.dims.len() {
            let extent = self.dims[dim].origin == Origin::Extent;
            if extent || !self.is_free(dim) || !self.at_least_one(dim) {
                continue;
            }
            let defaults: &[&str] = match self.dims[dim].origin {
                Origin::Derived => &["rows", "blocks", "n", "m"],
                _ => &["n", "m", "k", "p", "q"],
            };
            let hint = self.dims[dim].hint.clone();
            let free = |name: &str| !used.iter().any(|other| other == name);
            let name = hint
                .iter()
                .map(String::as_str)
                .chain(defaults.iter().copied())
                .find(|name| free(name))
                .map(str::to_owned)
                .or_else(|| (1u32..).map(|i| format!("n{i}")).find(|name| free(name)))
                .unwrap_or_default();
            used.push(name.clone());
            self.dims[dim].name = name;
        }
    }

    /// A resolved polynomial as the attribute would write it.
    pub(super) fn dim_expr(&self, poly: &Poly) -> Option<DimExpr> {
        self.written_size(&self.interner.expr(poly))
    }

    fn written_size(&self, expr: &Expr) -> Option<DimExpr> {
        match expr {
            Expr::Const(Const::Int(_, value)) => u64::try_from(*value).ok().map(DimExpr::Const),
            Expr::Dim(dim) => self
                .dims
                .get(*dim)
                .map(|entry| DimExpr::dim(entry.name.clone())),
            Expr::Binary(op, a, b) => {
                let (a, b) = (self.written_size(a)?, self.written_size(b)?);
                let (a, b) = (Box::new(a), Box::new(b));
                match op {
                    BinaryOp::Add => Some(DimExpr::Add(a, b)),
                    BinaryOp::Sub => Some(DimExpr::Sub(a, b)),
                    BinaryOp::Mul => Some(DimExpr::Mul(a, b)),
                    BinaryOp::Div => Some(DimExpr::Div(a, b)),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// The extents of a length, outermost first; `param` is the buffer it belongs to.
    pub(super) fn extents(&self, param: &str, len: &Poly) -> Option<Shape> {
        let (monomial, quotient) = len.factor();
        let mut extents = Vec::new();
        if quotient.as_constant() != Some(1) {
            extents.push(self.dim_expr(&quotient)?);
        }
        if let Some((atoms, coef)) = monomial.terms().next() {
            let mut atoms = atoms.clone();
            atoms.sort_by_key(|atom| {
                let (derived, index) = match atom {
                    Atom::Dim(dim) => (
                        self.dims
                            .get(*dim)
                            .is_none_or(|entry| entry.origin != Origin::Derived),
                        *dim,
                    ),
                    _ => (true, usize::MAX),
                };
                let stride = self
                    .strides
                    .get(&(param.to_owned(), index))
                    .copied()
                    .unwrap_or(0);
                (stride, derived, index)
            });
            for atom in atoms {
                extents.push(self.dim_expr(&Poly::atom(atom))?);
            }
            if coef != 1 || extents.is_empty() {
                extents.push(DimExpr::Const(u64::try_from(coef).ok()?));
            }
        }
        Some(Shape(extents))
    }
}

/// Whether it is a dimension and nothing else.
fn is_one_dim(poly: &Poly) -> bool {
    matches!(poly.atoms()[..], [atom @ Atom::Dim(_)] if *poly == Poly::atom(atom))
}
