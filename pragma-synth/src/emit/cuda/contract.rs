//! Contractions: `sum over k of a(i, k) * b(j, k)` with anything done to the sum afterwards.
//!
//! Owns the recognition: which loops are rows, columns and batches, and which factors belong to
//! which operand. Tiles and their code are `tiles`' business.

use crate::analyze::bounds::Scope;
use crate::analyze::depend;
use crate::analyze::poly::{self, Atom, Poly};
use crate::analyze::reduce::{Combine, Reduction};
use crate::emit::EmitError;
use crate::ir::{BinaryOp, BufId, Expr, Func, Loop, Program, Stmt, VarId};
use pragma_spec::Scalar;

use super::kernel::Unit;
use super::plan::Requirement;
use super::stream::{self, Nest};

/// In which direction neighbours of an operand lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layout {
    /// Along the terms.
    Terms,
    /// Along the rows (or columns) of the result.
    Rows,
}

/// One side of the products.
#[derive(Clone, Debug)]
pub(super) struct Operand {
    pub expr: Expr,
    /// The loop over rows or columns.
    pub rows: VarId,
    pub layout: Layout,
    /// The buffer and index, if the operand is one load that moves in 16-byte pieces.
    pub load: Option<(BufId, Expr)>,
}

/// A contraction in a nest of loops.
pub(super) struct Contraction<'a> {
    pub nest: Nest<'a>,
    /// Levels of the nest: rows and columns.
    pub row: usize,
    pub column: usize,
    pub before: &'a [Stmt],
    pub terms: &'a Loop,
    pub after: &'a [Stmt],
    pub acc: VarId,
    pub a: Operand,
    pub b: Operand,
    /// Inside the nest, in front of the terms.
    pub scope: Scope,
}

/// The names of the loops around the one called `over`, outermost first.
fn path(program: &Program, outer: &Loop, over: &str) -> Option<Vec<String>> {
    let name = program.var(outer.var).name.clone();
    let direct = outer
        .body
        .iter()
        .any(|stmt| matches!(stmt, Stmt::For(inner) if program.var(inner.var).name == over));
    if direct {
        return Some(vec![name]);
    }
    outer.body.iter().find_map(|stmt| match stmt {
        Stmt::For(inner) => {
            let mut below = path(program, inner, over)?;
            below.insert(0, name.clone());
            Some(below)
        }
        _ => None,
    })
}

/// Whether the loop called `over` is somewhere inside.
pub(super) fn contains(program: &Program, outer: &Loop, over: &str) -> bool {
    path(program, outer, over).is_some()
}

/// Reads the contraction over the terms of the loop called `over`.
pub(super) fn read<'a>(
    unit: &mut Unit<'a>,
    outer: &'a Loop,
    over: &str,
) -> Result<Contraction<'a>, String> {
    let program = unit.program;
    let axes =
        path(program, outer, over).ok_or_else(|| format!("there is no loop over `{over}`"))?;
    if axes.len() < 2 {
        return Err("a contraction has rows and columns".to_owned());
    }
    let nest = stream::nest(program, outer, &axes)?;
    nest.check(program, &unit.scope)?;
    let innermost = nest.innermost();
    let position = innermost
        .body
        .iter()
        .position(|stmt| matches!(stmt, Stmt::For(inner) if program.var(inner.var).name == over));
    let (Some(at), false) = (position, depend::jumps(&innermost.body)) else {
        return Err(format!("`{over}` is not directly inside the nest"));
    };
    let Stmt::For(terms) = &innermost.body[at] else {
        return Err(format!("`{over}` is no loop"));
    };
    let (before, after) = (&innermost.body[..at], &innermost.body[at + 1..]);
    let scopes = nest.scopes(program, &unit.scope);
    let mut scope = scopes[scopes.len() - 1].enter(program, innermost);
    let mut known: Vec<(VarId, Expr)> = Vec::new();
    let definitions = nest.levels.iter().flat_map(|(definitions, _)| *definitions);
    for stmt in definitions.chain(before) {
        match stmt {
            Stmt::Let { var, value } => {
                scope.define(program, *var, value);
                if !program.var(*var).mutable {
                    let value = inlined(value, &known);
                    known.push((*var, value));
                }
            }
            Stmt::Assign { .. } => {}
            _ => return Err(format!("more than scalars stand in front of `{over}`")),
        }
    }
    let reductions = depend::parallelizable(program, &scope, terms)
        .map_err(|hazard| hazard.describe(program))?;
    let [
        Reduction::Plain {
            acc,
            combine: Combine::Add,
        },
    ] = reductions.as_slice()
    else {
        return Err("it is no sum".to_owned());
    };
    let acc = *acc;
    if program.var(acc).scalar != Scalar::F32 {
        return Err("the sum is no `f32`".to_owned());
    }
    let from_zero = nest
        .levels
        .iter()
        .map(|(_, level)| &level.lo)
        .chain([&terms.lo])
        .all(|lo| *lo == Expr::index(0));
    if !from_zero || terms.step != 1 {
        return Err("the loops do not all begin at 0".to_owned());
    }
    let (factors, mut scope_of_terms) = factors(program, terms, acc, &scope, known)?;
    scope_of_terms = scope_of_terms.enter(program, terms);
    let loops: Vec<VarId> = nest.levels.iter().map(|(_, level)| level.var).collect();
    let column = column(program, &scope, after, &loops)
        .ok_or_else(|| "results are no neighbours along any loop".to_owned())?;
    let (b, a): (Vec<Expr>, Vec<Expr>) = factors
        .into_iter()
        .partition(|factor| factor.mentions(loops[column]));
    let row = (0..loops.len()).rev().find(|at| {
        *at != column
            && a.iter().any(|factor| factor.mentions(loops[*at]))
            && !b.iter().any(|factor| factor.mentions(loops[*at]))
    });
    let Some(row) = row else {
        return Err("a factor depends on rows and columns at once".to_owned());
    };
    let (Some(a), Some(b)) = (product(a), product(b)) else {
        return Err("the terms are no products".to_owned());
    };
    let rectangular = nest.levels.iter().all(|(_, level)| {
        loops.iter().all(|var| !level.hi.mentions(*var)) && !terms.hi.mentions(level.var)
    });
    if !rectangular {
        return Err("the loops do not all have fixed ranges".to_owned());
    }
    let a = operand(unit, &scope_of_terms, a, loops[row], terms.var);
    let b = operand(unit, &scope_of_terms, b, loops[column], terms.var);
    Ok(Contraction {
        nest,
        row,
        column,
        before,
        terms,
        after,
        acc,
        a,
        b,
        scope,
    })
}

fn inlined(expr: &Expr, known: &[(VarId, Expr)]) -> Expr {
    expr.clone().map(&mut |node| match node {
        Expr::Var(var) => match known.iter().find(|(other, _)| *other == var) {
            Some((_, value)) => value.clone(),
            None => Expr::Var(var),
        },
        other => other,
    })
}

/// The factors of the term that is added, with definitions inlined.
fn factors(
    program: &Program,
    terms: &Loop,
    acc: VarId,
    scope: &Scope,
    mut known: Vec<(VarId, Expr)>,
) -> Result<(Vec<Expr>, Scope), String> {
    let Some((Stmt::Assign { value, .. }, before)) = terms.body.split_last() else {
        return Err("the last statement of a term is not the addition".to_owned());
    };
    for stmt in before {
        match stmt {
            Stmt::Let { var, value } if !program.var(*var).mutable => {
                let value = inlined(value, &known);
                known.push((*var, value));
            }
            _ => return Err("a term is more than definitions and an addition".to_owned()),
        }
    }
    let is_acc = |expr: &Expr| matches!(expr, Expr::Var(var) if *var == acc);
    let mut found = Vec::new();
    match value {
        Expr::Binary(BinaryOp::Add, a, b) if is_acc(a) => flatten(&inlined(b, &known), &mut found),
        Expr::Binary(BinaryOp::Add, a, b) if is_acc(b) => flatten(&inlined(a, &known), &mut found),
        Expr::Call(Func::MulAdd, args) if args.len() == 3 && is_acc(&args[2]) => {
            flatten(&inlined(&args[0], &known), &mut found);
            flatten(&inlined(&args[1], &known), &mut found);
        }
        _ => return Err("the sum is not added to directly".to_owned()),
    }
    let mutable = found.iter().any(|factor| {
        let mut mutable = false;
        factor.walk(&mut |node| {
            if let Expr::Var(var) = node {
                mutable |= program.var(*var).mutable;
            }
        });
        mutable
    });
    if mutable {
        return Err("a factor is a variable that changes".to_owned());
    }
    Ok((found, scope.clone()))
}

fn flatten(expr: &Expr, found: &mut Vec<Expr>) {
    match expr {
        Expr::Binary(BinaryOp::Mul, a, b) => {
            flatten(a, found);
            flatten(b, found);
        }
        other => found.push(other.clone()),
    }
}

fn product(factors: Vec<Expr>) -> Option<Expr> {
    factors
        .into_iter()
        .reduce(|a, b| Expr::binary(BinaryOp::Mul, a, b))
}

/// The loop along which the stored results are neighbours.
fn column(program: &Program, scope: &Scope, after: &[Stmt], loops: &[VarId]) -> Option<usize> {
    let mut scope = scope.clone();
    for stmt in after {
        match stmt {
            Stmt::Let { var, value } => scope.define(program, *var, value),
            Stmt::Store { index, .. } => {
                let poly = poly::read(program, &scope.definitions, index)?;
                return loops.iter().rposition(|var| slope_is_one(&poly, *var));
            }
            _ => {}
        }
    }
    None
}

fn slope_is_one(poly: &Poly, var: VarId) -> bool {
    poly.linear_in(&Atom::Var(var))
        .is_some_and(|(slope, _)| slope == Poly::constant(1))
}

fn operand(unit: &mut Unit<'_>, scope: &Scope, expr: Expr, rows: VarId, terms: VarId) -> Operand {
    let program = unit.program;
    let mut first = None;
    expr.walk(&mut |node| {
        if let (Expr::Load { index, .. }, None) = (node, &first) {
            first = poly::read(program, &scope.definitions, index);
        }
    });
    let along_rows = first
        .as_ref()
        .is_some_and(|poly| slope_is_one(poly, rows) && !slope_is_one(poly, terms));
    let layout = if along_rows {
        Layout::Rows
    } else {
        Layout::Terms
    };
    let load = match &expr {
        Expr::Load { buf, index } if scope.is_in_bounds(program, *buf, index) => {
            let fast = if along_rows { rows } else { terms };
            pieces(unit, *buf, first.as_ref(), fast, terms).then(|| (*buf, (**index).clone()))
        }
        _ => None,
    };
    Operand {
        expr,
        rows,
        layout,
        load,
    }
}

/// Whether 16 bytes at a time lie at multiples of 16 bytes; asks for what that needs.
fn pieces(unit: &mut Unit<'_>, buf: BufId, poly: Option<&Poly>, fast: VarId, terms: VarId) -> bool {
    let count = 16 / unit.program.buf(buf).elem.bytes() as u64;
    let base = poly.and_then(|poly| poly.linear_in(&Atom::Var(fast)));
    let Some((slope, base)) = base else {
        return false;
    };
    let requires = unit.multiples(&base, count);
    let (true, Some(requires)) = (slope == Poly::constant(1), requires) else {
        return false;
    };
    // The address moves on by the same distance from term to term.
    let steady = poly
        .and_then(|poly| poly.linear_in(&Atom::Var(terms)))
        .is_some_and(|(slope, _)| !slope.mentions(&Atom::Var(fast)));
    if !steady {
        return false;
    }
    for condition in requires {
        unit.require(condition);
    }
    unit.require(Requirement::Aligned { buf, bytes: 16 });
    true
}

/// Says why a contraction was not found.
pub(super) fn refused(reason: String) -> EmitError {
    EmitError(format!("no contraction: {reason}"))
}
