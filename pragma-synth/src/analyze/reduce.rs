//! Reductions: loop-carried scalars whose updates may be regrouped.
//!
//! Owns the recognition of the patterns people write for sums, products, extremes, counts and
//! "arg" extremes. Whether regrouping is allowed at all (it is not under `exact` for floats) is
//! for the caller to decide.

use pragma_spec::Scalar;

use crate::ir::{BinaryOp, CompareOp, Expr, Func, Program, Stmt, VarId};

/// How the values of a reduction combine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Combine {
    /// Sum.
    Add,
    /// Product.
    Mul,
    /// Bitwise and, or logical and.
    And,
    /// Bitwise or, or logical or.
    Or,
    /// Exclusive or.
    Xor,
    /// `max` that ignores NaN, or integer maximum.
    Max,
    /// `min` that ignores NaN, or integer minimum.
    Min,
    /// `if v > acc { acc = v }`: never picks a NaN.
    PickGt,
    /// `if v < acc { acc = v }`.
    PickLt,
}

/// One recognised reduction of a loop.
#[derive(Clone, Debug, PartialEq)]
pub enum Reduction {
    /// One accumulator.
    Plain {
        /// The accumulator.
        acc: VarId,
        /// How it combines.
        combine: Combine,
    },
    /// The extreme and what went with it, the first one winning ties.
    Arg {
        /// The extreme.
        best: VarId,
        /// `PickGt` or `PickLt`.
        combine: Combine,
        /// Integer variables set together with it.
        with: Vec<VarId>,
    },
}

impl Reduction {
    /// Every variable this reduction changes.
    pub fn vars(&self) -> Vec<VarId> {
        match self {
            Reduction::Plain { acc, .. } => vec![*acc],
            Reduction::Arg { best, with, .. } => {
                std::iter::once(*best).chain(with.iter().copied()).collect()
            }
        }
    }
}

/// The scalars declared outside `body` that it changes, in order of first change.
pub fn carried(body: &[Stmt]) -> Vec<VarId> {
    let mut declared = Vec::new();
    let mut changed = Vec::new();
    for stmt in body {
        stmt.walk(&mut |stmt| match stmt {
            Stmt::Let { var, .. } => declared.push(*var),
            Stmt::Assign { var, .. } if !changed.contains(var) => changed.push(*var),
            _ => {}
        });
    }
    changed.retain(|var| !declared.contains(var));
    changed
}

/// All reductions of a loop body, or the first carried scalar that is none.
///
/// A carried scalar qualifies when every statement that mentions it is one update of the
/// same kind, anywhere in the body (inner loops included).
pub fn find(program: &Program, body: &[Stmt]) -> Result<Vec<Reduction>, VarId> {
    let mut reductions: Vec<Reduction> = Vec::new();
    for acc in carried(body) {
        if reductions.iter().any(|found| found.vars().contains(&acc)) {
            continue;
        }
        reductions.push(find_one(program, body, acc).ok_or(acc)?);
    }
    Ok(reductions)
}

fn find_one(program: &Program, body: &[Stmt], acc: VarId) -> Option<Reduction> {
    let mut uses = Uses {
        acc,
        combine: None,
        with: None,
        ok: true,
    };
    uses.block(body);
    if !uses.ok {
        // `acc` may be a companion of an extreme that is changed later in the body.
        return companion_of(program, body, acc);
    }
    let combine = uses.combine?;
    match uses.with {
        None => Some(Reduction::Plain { acc, combine }),
        Some(with) => with
            .iter()
            .all(|var| only_set_with(program, body, *var, acc))
            .then_some(Reduction::Arg {
                best: acc,
                combine,
                with,
            }),
    }
}

fn companion_of(program: &Program, body: &[Stmt], var: VarId) -> Option<Reduction> {
    carried(body)
        .into_iter()
        .filter(|best| *best != var)
        .find_map(|best| {
            let mut uses = Uses {
                acc: best,
                combine: None,
                with: None,
                ok: true,
            };
            uses.block(body);
            let with = uses.with.filter(|with| uses.ok && with.contains(&var))?;
            let combine = uses.combine?;
            with.iter()
                .all(|var| only_set_with(program, body, *var, best))
                .then_some(Reduction::Arg {
                    best,
                    combine,
                    with,
                })
        })
}

/// Whether `var` is mentioned only as the target of assignments in the branch that also
/// assigns `best`.
fn only_set_with(program: &Program, body: &[Stmt], var: VarId, best: VarId) -> bool {
    let scalar = program.var(var).scalar;
    if !scalar.is_integer() {
        return false;
    }
    let mut reads = false;
    let mut outside = false;
    for stmt in body {
        stmt.walk(&mut |stmt| {
            reads |= stmt.exprs().iter().any(|expr| expr.mentions(var));
            if let Stmt::If { then, .. } = stmt {
                let sets_var = then.iter().any(|s| assigns(s, var));
                let sets_best = then.iter().any(|s| assigns(s, best));
                outside |= sets_var && !sets_best;
            }
        });
        outside |= assigns(stmt, var);
    }
    !reads && !outside
}

fn assigns(stmt: &Stmt, wanted: VarId) -> bool {
    matches!(stmt, Stmt::Assign { var, .. } if *var == wanted)
}

struct Uses {
    acc: VarId,
    combine: Option<Combine>,
    with: Option<Vec<VarId>>,
    ok: bool,
}

impl Uses {
    fn note(&mut self, combine: Combine, with: Option<Vec<VarId>>) {
        let same = self.combine.is_none_or(|before| before == combine);
        // An "arg" extreme has exactly one update in the body.
        let alone = self.combine.is_none() || (with.is_none() && self.with.is_none());
        self.ok &= same && alone;
        self.combine = Some(combine);
        self.with = with;
    }

    fn block(&mut self, body: &[Stmt]) {
        for stmt in body {
            match stmt {
                Stmt::Assign { var, value } if *var == self.acc => match update(self.acc, value) {
                    Some(combine) => self.note(combine, None),
                    None => self.ok = false,
                },
                Stmt::If {
                    cond,
                    then,
                    otherwise,
                } if cond.mentions(self.acc) => match self.extreme(cond, then, otherwise) {
                    Some((combine, with)) => self.note(combine, with),
                    None => self.ok = false,
                },
                other => {
                    self.ok &= !other.exprs().iter().any(|expr| expr.mentions(self.acc));
                    for block in other.blocks() {
                        self.block(block);
                    }
                }
            }
        }
    }

    /// `if v > acc { acc = v; others = .. }`.
    fn extreme(
        &self,
        cond: &Expr,
        then: &[Stmt],
        otherwise: &[Stmt],
    ) -> Option<(Combine, Option<Vec<VarId>>)> {
        if !otherwise.is_empty() {
            return None;
        }
        let (combine, candidate, strict) = picks(cond, self.acc)?;
        let mut with = Vec::new();
        let mut found = false;
        for stmt in then {
            match stmt {
                Stmt::Assign { var, value } if *var == self.acc => {
                    if found || value != candidate {
                        return None;
                    }
                    found = true;
                }
                Stmt::Assign { var, value } => {
                    if value.mentions(self.acc) {
                        return None;
                    }
                    with.push(*var);
                }
                Stmt::Let { value, .. } if !value.mentions(self.acc) => {}
                _ => return None,
            }
        }
        match (found, with.is_empty()) {
            (true, true) => Some((combine, None)),
            // Ties: only strict comparisons keep the first, which is what is emitted.
            (true, false) if strict => Some((combine, Some(with))),
            _ => None,
        }
    }
}

/// Reads `cond` as "this candidate beats `acc`".
fn picks(cond: &Expr, acc: VarId) -> Option<(Combine, &Expr, bool)> {
    let Expr::Compare(op, a, b) = cond else {
        return None;
    };
    let is_acc = |expr: &Expr| matches!(expr, Expr::Var(var) if *var == acc);
    let (op, candidate) = match (is_acc(a), is_acc(b)) {
        (false, true) => (*op, &**a),
        (true, false) => (mirrored(*op), &**b),
        _ => return None,
    };
    if candidate.mentions(acc) {
        return None;
    }
    match op {
        CompareOp::Gt => Some((Combine::PickGt, candidate, true)),
        CompareOp::Ge => Some((Combine::PickGt, candidate, false)),
        CompareOp::Lt => Some((Combine::PickLt, candidate, true)),
        CompareOp::Le => Some((Combine::PickLt, candidate, false)),
        CompareOp::Eq | CompareOp::Ne => None,
    }
}

fn mirrored(op: CompareOp) -> CompareOp {
    match op {
        CompareOp::Lt => CompareOp::Gt,
        CompareOp::Le => CompareOp::Ge,
        CompareOp::Gt => CompareOp::Lt,
        CompareOp::Ge => CompareOp::Le,
        same => same,
    }
}

/// Reads `acc = value` as an update.
pub(crate) fn update(acc: VarId, value: &Expr) -> Option<Combine> {
    let is_acc = |expr: &Expr| matches!(expr, Expr::Var(var) if *var == acc);
    match value {
        Expr::Binary(op, a, b) => {
            let once = is_acc(a) != is_acc(b) && !(if is_acc(a) { b } else { a }).mentions(acc);
            match op {
                BinaryOp::Add if once => Some(Combine::Add),
                BinaryOp::Mul if once => Some(Combine::Mul),
                BinaryOp::And if once => Some(Combine::And),
                BinaryOp::Or if once => Some(Combine::Or),
                BinaryOp::Xor if once => Some(Combine::Xor),
                BinaryOp::Sub if is_acc(a) && !b.mentions(acc) => Some(Combine::Add),
                // `acc + x + y` reads as `(acc + x) + y`: the accumulator is in the left operand.
                BinaryOp::Add | BinaryOp::Sub if !b.mentions(acc) => {
                    (update(acc, a)? == Combine::Add).then_some(Combine::Add)
                }
                _ => None,
            }
        }
        Expr::Call(Func::MulAdd, args) => match args.as_slice() {
            [a, b, c] if is_acc(c) && !a.mentions(acc) && !b.mentions(acc) => Some(Combine::Add),
            _ => None,
        },
        Expr::Call(func @ (Func::Max | Func::Min), args) => match args.as_slice() {
            [a, b] if is_acc(a) != is_acc(b) => {
                let other = if is_acc(a) { b } else { a };
                let combine = if *func == Func::Max {
                    Combine::Max
                } else {
                    Combine::Min
                };
                (!other.mentions(acc)).then_some(combine)
            }
            _ => None,
        },
        Expr::Select {
            cond,
            then,
            otherwise,
        } => select_update(acc, cond, then, otherwise),
        _ => None,
    }
}

/// `acc = if v > acc { v } else { acc }`, in either arrangement, and `acc = if c { acc + v }
/// else { acc }`.
fn select_update(acc: VarId, cond: &Expr, then: &Expr, otherwise: &Expr) -> Option<Combine> {
    let is_acc = |expr: &Expr| matches!(expr, Expr::Var(var) if *var == acc);
    let (combine, candidate, _) = picks(cond, acc)?;
    if is_acc(otherwise) && then == candidate {
        return Some(combine);
    }
    None
}

/// The value that changes nothing: the starting value of every accumulator but the first.
/// `None` for the picking combines, which start from the variable itself.
pub fn identity(combine: Combine, scalar: Scalar) -> Option<crate::ir::Const> {
    use crate::ir::Const;
    let int = |value: i128| Some(Const::Int(scalar, value));
    match (combine, scalar) {
        (Combine::Add, s) if s.is_float() => Some(Const::Float(s, -0.0)),
        (Combine::Mul, s) if s.is_float() => Some(Const::Float(s, 1.0)),
        (Combine::Add | Combine::Xor, s) if s.is_integer() => int(0),
        (Combine::Or, s) if s.is_integer() => int(0),
        (Combine::Mul, s) if s.is_integer() => int(1),
        (Combine::And, s) if s.is_integer() && s.is_signed() => int(-1),
        (Combine::And, s) if s.is_integer() => {
            int(i128::from(u64::MAX >> (64 - 8 * s.bytes() as u32)))
        }
        (Combine::Or | Combine::Xor, Scalar::Bool) => Some(Const::Bool(false)),
        (Combine::And, Scalar::Bool) => Some(Const::Bool(true)),
        _ => None,
    }
}
