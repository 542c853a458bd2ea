//! Dependences between iterations of a loop: what vectors, threads and fusion rest on.
//!
//! Owns the test that every iteration touches its own part of each written buffer. Sound and
//! incomplete: a hazard may be a dependence that merely could not be excluded.

use std::collections::BTreeSet;
use std::fmt;

use crate::ir::{BufId, Expr, Loop, Program, Stmt, VarId};

use super::bounds::{Range, Scope, for_each_access};
use super::poly::{self, Atom, Poly};
use super::reduce::{self, Reduction};

/// Why iterations of a loop may not run out of order.
#[derive(Clone, Debug, PartialEq)]
pub enum Hazard {
    /// A scalar carries a value from one iteration to the next and is no reduction.
    Carried(VarId),
    /// Two iterations may touch the same element of a written buffer.
    Buffer(BufId),
    /// The loop may be left early.
    Exit,
    /// The loop holds something that a vector or thread cannot do; the text says what.
    Body(&'static str),
}

impl Hazard {
    /// The hazard in words, with the program's own names.
    pub fn describe(&self, program: &Program) -> String {
        match self {
            Hazard::Carried(var) => format!(
                "`{}` carries a value from one iteration to the next and is not a reduction",
                program.var(*var).name
            ),
            Hazard::Buffer(buf) => format!(
                "two iterations may touch the same element of `{}`",
                program.buf(*buf).name
            ),
            Hazard::Exit => "the loop may be left early".to_owned(),
            Hazard::Body(what) => (*what).to_owned(),
        }
    }
}

impl fmt::Display for Hazard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Hazard::Carried(var) => write!(f, "carried scalar {}", var.0),
            Hazard::Buffer(buf) => write!(f, "shared element of buffer {}", buf.0),
            Hazard::Exit => f.write_str("early exit"),
            Hazard::Body(what) => f.write_str(what),
        }
    }
}

/// The least and greatest value of an index over the loops inside, as polynomials of what is
/// outside, and how far it moves per iteration.
struct Reach {
    buf: BufId,
    slope: Poly,
    least: Poly,
    greatest: Poly,
}

/// Replaces the counters of `ranges` (outermost first) in `poly` by the ends of their ranges.
fn extreme(scope: &Scope, poly: &Poly, ranges: &[Range], greatest: bool) -> Option<Poly> {
    let mut value = poly.clone();
    for range in ranges.iter().rev() {
        let atom = Atom::Var(range.var);
        if !value.mentions(&atom) {
            continue;
        }
        let (slope, rest) = value.linear_in(&atom)?;
        let rising = if scope.is_nonnegative(&slope) {
            true
        } else if scope.is_nonnegative(&slope.times(&Poly::constant(-1))) {
            false
        } else {
            return None;
        };
        let at = if rising == greatest {
            range.hi.minus(&Poly::constant(1))
        } else {
            range.lo.clone()
        };
        value = slope.times(&at).plus(&rest);
    }
    Some(value)
}

/// The buffers stored to in `body`.
pub fn stored(body: &[Stmt]) -> BTreeSet<BufId> {
    let mut bufs = BTreeSet::new();
    for stmt in body {
        stmt.walk(&mut |stmt| {
            if let Stmt::Store { buf, .. } = stmt {
                bufs.insert(*buf);
            }
        });
    }
    bufs
}

/// The buffers loaded from in `body`, loop bounds and conditions included.
pub fn loaded(body: &[Stmt]) -> BTreeSet<BufId> {
    let mut bufs = BTreeSet::new();
    for stmt in body {
        stmt.walk(&mut |stmt| {
            for expr in stmt.exprs() {
                expr.walk(&mut |node| {
                    if let Expr::Load { buf, .. } = node {
                        bufs.insert(*buf);
                    }
                });
            }
        });
    }
    bufs
}

/// The buffers prefetched from in `body`.
pub fn prefetched(body: &[Stmt]) -> BTreeSet<BufId> {
    let mut bufs = BTreeSet::new();
    for stmt in body {
        stmt.walk(&mut |stmt| {
            if let Stmt::Prefetch { buf, .. } = stmt {
                bufs.insert(*buf);
            }
        });
    }
    bufs
}

/// The local buffers made inside `body`: private to each iteration.
pub fn allocated(body: &[Stmt]) -> BTreeSet<BufId> {
    let mut bufs = BTreeSet::new();
    for stmt in body {
        stmt.walk(&mut |stmt| {
            if let Stmt::Alloc { buf, .. } = stmt {
                bufs.insert(*buf);
            }
        });
    }
    bufs
}

fn reaches(program: &Program, scope: &Scope, of: &Loop) -> Result<Vec<Reach>, Hazard> {
    let written = stored(&of.body);
    let private = allocated(&of.body);
    let inside = scope.enter(program, of);
    let depth = inside.ranges.len();
    let atom = Atom::Var(of.var);
    let variant = variant_lets(program, &of.body);
    let mut reaches = Vec::new();
    let mut hazard = None;
    for_each_access(program, &of.body, &inside, &mut |at, buf, index, _| {
        if !written.contains(&buf) || private.contains(&buf) || hazard.is_some() {
            return;
        }
        let reach = (|| {
            let index = poly::read(program, &at.definitions, index)?;
            if index
                .vars()
                .iter()
                .any(|var| variant.contains(var) && !at.ranges.iter().any(|r| r.var == *var))
            {
                return None;
            }
            let (mut slope, rest) = index.linear_in(&atom)?;
            let inner = at.ranges.get(depth..).unwrap_or(&[]);
            if inner
                .iter()
                .any(|range| slope.mentions(&Atom::Var(range.var)))
            {
                return None;
            }
            let mut least = extreme(scope, &rest, inner, false)?;
            let mut greatest = extreme(scope, &rest, inner, true)?;
            // An inner loop may start, end, or both, where this counter says.
            if least.mentions(&atom) || greatest.mentions(&atom) {
                let (low_slope, low) = least.linear_in(&atom)?;
                let (high_slope, high) = greatest.linear_in(&atom)?;
                if low_slope == high_slope {
                    slope = slope.plus(&low_slope);
                    (least, greatest) = (low, high);
                } else {
                    let own = inside.ranges.get(depth.checked_sub(1)?..depth)?;
                    if own.iter().any(|range| range.var != of.var) {
                        return None;
                    }
                    least = extreme(scope, &least, own, false)?;
                    greatest = extreme(scope, &greatest, own, true)?;
                }
                if least.mentions(&atom) || greatest.mentions(&atom) {
                    return None;
                }
            }
            if slope == Poly::default() || !scope.is_nonnegative(&slope) {
                return None;
            }
            Some(Reach {
                buf,
                slope,
                least,
                greatest,
            })
        })();
        match reach {
            Some(reach) => reaches.push(reach),
            None => hazard = Some(Hazard::Buffer(buf)),
        }
    });
    match hazard {
        Some(hazard) => Err(hazard),
        None => Ok(reaches),
    }
}

/// `usize` variables declared in `body` that are not loop counters: their value may differ
/// from iteration to iteration.
fn variant_lets(program: &Program, body: &[Stmt]) -> BTreeSet<VarId> {
    let mut vars = BTreeSet::new();
    for stmt in body {
        stmt.walk(&mut |stmt| match stmt {
            Stmt::Let { var, .. } if program.var(*var).scalar == pragma_spec::Scalar::Usize => {
                vars.insert(*var);
            }
            Stmt::For(inner) => {
                vars.insert(inner.var);
            }
            _ => {}
        });
    }
    vars
}

/// Whether no two iterations of `of` touch the same element of a buffer that the loop writes.
///
/// # Errors
/// The buffer where that could not be shown.
pub(crate) fn iterations_are_private(
    program: &Program,
    scope: &Scope,
    of: &Loop,
) -> Result<(), Hazard> {
    let reaches = reaches(program, scope, of)?;
    let lo = poly::read(program, &scope.definitions, &of.lo);
    let hi = poly::read(program, &scope.definitions, &of.hi);
    let one = Poly::constant(1);
    for (i, a) in reaches.iter().enumerate() {
        for b in &reaches[i..] {
            if a.buf != b.buf {
                continue;
            }
            if a.slope != b.slope {
                return Err(Hazard::Buffer(a.buf));
            }
            let within = |x: &Reach, y: &Reach| {
                scope.is_nonnegative(&a.slope.minus(&one).minus(&x.greatest.minus(&y.least)))
            };
            if within(a, b) && within(b, a) {
                continue;
            }
            let apart = |x: &Reach, y: &Reach| match (&lo, &hi) {
                (Some(lo), Some(hi)) => {
                    let span = a.slope.times(&hi.minus(&one).minus(lo));
                    scope.is_nonnegative(&x.least.minus(&y.greatest).minus(&span).minus(&one))
                }
                _ => false,
            };
            if !(apart(a, b) || apart(b, a)) {
                return Err(Hazard::Buffer(a.buf));
            }
        }
    }
    Ok(())
}

/// Whether every element of `buf` that `body` reads was written by the same run of `body`
/// before: its first loop over the buffer stores, one after the other, a range of elements that
/// holds all those.
pub fn written_first(program: &Program, within: &Scope, body: &[Stmt], buf: BufId) -> bool {
    let mut scope = within.clone();
    for (at, stmt) in body.iter().enumerate() {
        scope.pass(program, stmt);
        let one = std::slice::from_ref(stmt);
        if !loaded(one).contains(&buf) && !stored(one).contains(&buf) {
            continue;
        }
        let Stmt::For(first) = stmt else { return false };
        let writes = first.body.iter().any(|stmt| {
            matches!(stmt, Stmt::Store { buf: of, index: Expr::Var(var), .. }
                if *of == buf && *var == first.var)
        });
        if !writes || loaded(one).contains(&buf) || jumps(&first.body) || first.step != 1 {
            return false;
        }
        let lo = poly::read(program, &scope.definitions, &first.lo);
        let hi = poly::read(program, &scope.definitions, &first.hi);
        let (Some(lo), Some(hi)) = (lo, hi) else {
            return false;
        };
        let last = hi.minus(&Poly::constant(1));
        let mut covered = true;
        for_each_access(
            program,
            &body[at + 1..],
            &scope,
            &mut |at, of, index, store| {
                if of != buf || store {
                    return;
                }
                covered &= poly::read(program, &at.definitions, index).is_some_and(|index| {
                    at.is_nonnegative(&index.minus(&lo)) && at.is_nonnegative(&last.minus(&index))
                });
            },
        );
        return covered;
    }
    true
}

fn reductions(program: &Program, of: &Loop) -> Result<Vec<Reduction>, Hazard> {
    reduce::find(program, &of.body).map_err(Hazard::Carried)
}

const VARYING: Hazard = Hazard::Body("it changes its own bounds");

/// What running `of` in vectors of several iterations rests on: its reductions, or why it may
/// not be done.
///
/// # Errors
/// The first hazard found.
pub fn vectorizable(program: &Program, scope: &Scope, of: &Loop) -> Result<Vec<Reduction>, Hazard> {
    let mut hazard = None;
    for stmt in &of.body {
        stmt.walk(&mut |stmt| {
            let found = match stmt {
                Stmt::Return(_) | Stmt::Decline => Hazard::Exit,
                Stmt::Continue => Hazard::Body("it skips iterations with `continue`"),
                _ => return,
            };
            hazard.get_or_insert(found);
        });
    }
    if let Some(hazard) = hazard {
        return Err(hazard);
    }
    if jumps(&of.body) {
        return Err(Hazard::Exit);
    }
    if of.step != 1 {
        return Err(Hazard::Body("its step is not 1"));
    }
    if !bounds_are_fixed(of, &of.body) {
        return Err(VARYING);
    }
    iterations_are_private(program, scope, of)?;
    let reductions = reductions(program, of)?;
    for reduction in &reductions {
        if let Reduction::Arg { best, .. } = reduction
            && set_in_loop(&of.body, *best)
        {
            return Err(Hazard::Body("an arg-extreme spans an inner loop"));
        }
    }
    Ok(reductions)
}

/// What running blocks of `of` on several threads rests on: its reductions, or why it may not
/// be done.
///
/// # Errors
/// The first hazard found.
pub fn parallelizable(
    program: &Program,
    scope: &Scope,
    of: &Loop,
) -> Result<Vec<Reduction>, Hazard> {
    if leaves(&of.body, true) {
        return Err(Hazard::Exit);
    }
    if !bounds_are_fixed(of, &of.body) {
        return Err(VARYING);
    }
    iterations_are_private(program, scope, of)?;
    let reductions = reductions(program, of)?;
    for reduction in &reductions {
        if let Reduction::Arg { best, .. } = reduction
            && set_in_loop(&of.body, *best)
        {
            return Err(Hazard::Body("an arg-extreme spans an inner loop"));
        }
    }
    Ok(reductions)
}

/// Whether an inner loop of `body` assigns `var`.
fn set_in_loop(body: &[Stmt], var: VarId) -> bool {
    body.iter().any(|stmt| match stmt {
        Stmt::For(Loop { body, .. }) | Stmt::While { body, .. } => assigns(body, var),
        Stmt::If {
            then, otherwise, ..
        } => set_in_loop(then, var) || set_in_loop(otherwise, var),
        _ => false,
    })
}

/// Whether `body` may leave the function, or (at this level) the loop around it.
fn leaves(body: &[Stmt], own_level: bool) -> bool {
    body.iter().any(|stmt| match stmt {
        Stmt::Return(_) | Stmt::Decline => true,
        Stmt::Break => own_level,
        Stmt::If {
            then, otherwise, ..
        } => leaves(then, own_level) || leaves(otherwise, own_level),
        Stmt::For(inner) => leaves(&inner.body, false),
        Stmt::While { body, .. } => leaves(body, false),
        _ => false,
    })
}

/// Whether an iteration with this body may end before the end of the body, or end its loop.
pub fn jumps(body: &[Stmt]) -> bool {
    body.iter().any(|stmt| match stmt {
        Stmt::Break | Stmt::Continue => true,
        Stmt::If {
            then, otherwise, ..
        } => jumps(then) || jumps(otherwise),
        // Those inside another loop are about that one.
        _ => false,
    })
}

/// Whether the bounds of `of` have the same value whenever they are evaluated while `body` runs.
pub fn bounds_are_fixed(of: &Loop, body: &[Stmt]) -> bool {
    let mut fixed = true;
    for bound in [&of.lo, &of.hi] {
        bound.walk(&mut |node| match node {
            Expr::Var(var) => fixed &= !assigns(body, *var),
            Expr::Load { buf, .. } => fixed &= !stores(body, *buf),
            _ => {}
        });
    }
    fixed
}

fn assigns(body: &[Stmt], wanted: VarId) -> bool {
    any_stmt(
        body,
        &mut |stmt| matches!(stmt, Stmt::Assign { var, .. } if *var == wanted),
    )
}

fn stores(body: &[Stmt], wanted: BufId) -> bool {
    any_stmt(
        body,
        &mut |stmt| matches!(stmt, Stmt::Store { buf, .. } | Stmt::Alloc { buf, .. } if *buf == wanted),
    )
}

fn any_stmt(body: &[Stmt], test: &mut dyn FnMut(&Stmt) -> bool) -> bool {
    let mut found = false;
    for stmt in body {
        stmt.walk(&mut |stmt| found |= test(stmt));
    }
    found
}

/// Whether `second`, directly behind `first`, may run in the same loop.
///
/// # Errors
/// The reason why not.
pub fn fusable(
    program: &Program,
    scope: &Scope,
    first: &Loop,
    second: &Loop,
) -> Result<(), Hazard> {
    if (&first.lo, &first.hi, first.step) != (&second.lo, &second.hi, second.step) {
        return Err(Hazard::Body("the loops run over different ranges"));
    }
    if leaves(&first.body, true) || leaves(&second.body, true) || jumps(&first.body) {
        return Err(Hazard::Exit);
    }
    if !bounds_are_fixed(first, &first.body) || !bounds_are_fixed(first, &second.body) {
        return Err(VARYING);
    }
    for var in reduce::carried(&first.body) {
        if mentions(&second.body, var) {
            return Err(Hazard::Carried(var));
        }
    }
    for var in reduce::carried(&second.body) {
        if mentions(&first.body, var) {
            return Err(Hazard::Carried(var));
        }
    }
    // Iteration i of the second loop must not need what a later iteration of the first one
    // does: it is enough that in the joint loop every iteration has its own elements.
    let joint = Loop {
        body: joined(first, second),
        ..first.clone()
    };
    iterations_are_private(program, scope, &joint)
}

/// The statements of both loops, over the counter of the first.
pub fn joined(first: &Loop, second: &Loop) -> Vec<Stmt> {
    let mut body = first.body.clone();
    let mut rest = second.body.clone();
    for stmt in &mut rest {
        rename(stmt, second.var, first.var);
    }
    body.extend(rest);
    body
}

fn rename(stmt: &mut Stmt, from: VarId, to: VarId) {
    for expr in stmt.exprs_mut() {
        *expr = std::mem::replace(expr, Expr::Dim(0)).map(&mut |node| match node {
            Expr::Var(var) if var == from => Expr::Var(to),
            other => other,
        });
    }
    for block in stmt.blocks_mut() {
        block.iter_mut().for_each(|stmt| rename(stmt, from, to));
    }
}

/// Whether `var` is read or changed anywhere in `body`.
pub fn mentions(body: &[Stmt], var: VarId) -> bool {
    let mut found = false;
    for stmt in body {
        stmt.walk(&mut |stmt| {
            found |= stmt.exprs().iter().any(|expr| expr.mentions(var));
            found |= matches!(stmt, Stmt::Assign { var: target, .. } if *target == var);
        });
    }
    found
}

/// Whether `var` is declared in `body`, as a let or a counter.
pub fn declares(body: &[Stmt], var: VarId) -> bool {
    let mut found = false;
    for stmt in body {
        stmt.walk(&mut |stmt| {
            found |= match stmt {
                Stmt::Let { var: declared, .. } => *declared == var,
                Stmt::For(inner) => inner.var == var,
                _ => false,
            };
        });
    }
    found
}
