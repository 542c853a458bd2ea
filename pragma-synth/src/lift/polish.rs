//! Making a finished program plain: copies gone, small branches as selections, checks that all
//! assignments prove gone.
//!
//! None of this changes what the program computes. It matters to whoever looks for reductions,
//! and to whoever reads the program.

use std::collections::BTreeMap;

use super::fold;
use super::poly::Poly;
use super::reader::Reader;
use crate::ir::{BinaryOp, CompareOp, Expr, Func, Program, Stmt, VarId};

/// Names that the reader gives; a user's name for the same value is better.
const MADE_UP: [&str; 10] = [
    "sum", "product", "acc", "best", "value", "result", "count", "any", "all", "at",
];

/// Drops `if at >= len { panic }` where every value that `at` ever takes is below `len`.
pub(super) fn drop_proven_panics(reader: &mut Reader<'_>) {
    // What an assertion in the middle says does not hold before it.
    reader.facts.clear();
    let mut values: BTreeMap<VarId, Vec<Expr>> = BTreeMap::new();
    reader.program.walk(&mut |stmt| {
        if let Stmt::Let { var, value } | Stmt::Assign { var, value } = stmt {
            values.entry(*var).or_default().push(value.clone());
        }
    });
    let mut body = std::mem::take(&mut reader.program.body);
    drop_in(reader, &values, &mut body);
    reader.program.body = body;
}

fn drop_in(reader: &mut Reader<'_>, values: &BTreeMap<VarId, Vec<Expr>>, body: &mut Vec<Stmt>) {
    for stmt in body.iter_mut() {
        for block in stmt.blocks_mut() {
            drop_in(reader, values, block);
        }
    }
    body.retain(|stmt| {
        let Stmt::If {
            cond: Expr::Compare(CompareOp::Ge, at, len),
            then,
            otherwise,
        } = stmt
        else {
            return true;
        };
        let check = then[..] == [Stmt::Panic] && otherwise.is_empty() && reader.is_stable(len);
        !(check && below(reader, values, at, len, &mut Vec::new()))
    });
}

/// Whether `expr` is below `len`, whatever its variables hold.
fn below(
    reader: &mut Reader<'_>,
    values: &BTreeMap<VarId, Vec<Expr>>,
    expr: &Expr,
    len: &Expr,
    seen: &mut Vec<VarId>,
) -> bool {
    match expr {
        Expr::Var(var) if values.contains_key(var) => {
            if seen.contains(var) {
                return true;
            }
            seen.push(*var);
            values[var]
                .iter()
                .all(|value| below(reader, values, value, len, seen))
        }
        Expr::Select {
            then, otherwise, ..
        } => below(reader, values, then, len, seen) && below(reader, values, otherwise, len, seen),
        expr if reader.is_stable(expr) => {
            let (at, len) = (reader.poly(expr), reader.poly(len));
            reader.nonneg(&at) && reader.nonneg(&len.sub(&at).sub(&Poly::constant(1)))
        }
        _ => false,
    }
}

/// `if c { v = a } else { v = b }` as one selection, where both sides may be evaluated.
pub(super) fn merge_selects(body: &mut [Stmt]) {
    for stmt in body {
        for block in stmt.blocks_mut() {
            merge_selects(block);
        }
        let merged = match &*stmt {
            Stmt::If {
                cond,
                then,
                otherwise,
            } => match (&then[..], &otherwise[..]) {
                ([Stmt::Assign { var: a, value: x }], [Stmt::Assign { var: b, value: y }])
                    if a == b && harmless(x) && harmless(y) =>
                {
                    Some(Stmt::Assign {
                        var: *a,
                        value: fold::select(cond.clone(), x.clone(), y.clone()),
                    })
                }
                _ => None,
            },
            _ => None,
        };
        if let Some(merged) = merged {
            *stmt = merged;
        }
    }
}

fn harmless(expr: &Expr) -> bool {
    let mut harmless = true;
    expr.walk(&mut |part| {
        harmless &= !matches!(
            part,
            Expr::Load { .. }
                | Expr::Binary(BinaryOp::Div | BinaryOp::Rem, ..)
                | Expr::Call(Func::DivEuclid | Func::RemEuclid, _)
        );
    });
    harmless
}

/// Loops of exactly one round are their body.
pub(super) fn unwrap_single_rounds(body: &mut Vec<Stmt>) {
    let mut i = 0;
    while i < body.len() {
        for block in body[i].blocks_mut() {
            unwrap_single_rounds(block);
        }
        if let Stmt::For(inner) = &body[i]
            && let (Some(lo), Some(hi)) = (fold::as_int(&inner.lo), fold::as_int(&inner.hi))
            && hi == lo + 1
            && !jumps(&inner.body)
        {
            let (var, lo) = (inner.var, inner.lo.clone());
            let mut once = inner.body.clone();
            super::cleanup::edit_exprs(&mut once, &mut |expr| match expr {
                Expr::Var(v) if v == var => lo.clone(),
                Expr::Binary(op, a, b) => fold::binary(op, *a, *b),
                other => other,
            });
            let count = once.len();
            body.splice(i..=i, once);
            i += count;
            continue;
        }
        i += 1;
    }
}

/// Whether a body leaves or repeats the loop it is in.
pub(super) fn jumps(body: &[Stmt]) -> bool {
    body.iter().any(|stmt| match stmt {
        Stmt::Break | Stmt::Continue => true,
        Stmt::If {
            then, otherwise, ..
        } => jumps(then) || jumps(otherwise),
        _ => false,
    })
}

/// Replaces `let a = b` of a mutable `b` by `b` itself, as far as `b` keeps its value.
pub(super) fn propagate_copies(program: &mut Program) {
    let mut body = std::mem::take(&mut program.body);
    let mut renames = Vec::new();
    copies_in(program, &mut body, &mut renames);
    program.body = body;
    for (from, to) in renames {
        // The user's name for the total, once the total is all that is left of it.
        let name = program.var(to).name.clone();
        let wanted = program.var(from).name.clone();
        let stem = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '_');
        if MADE_UP.contains(&stem) && !MADE_UP.contains(&wanted.as_str()) {
            program.vars[from.0 as usize].name = name;
            program.vars[to.0 as usize].name = wanted;
        }
    }
}

fn copies_in(program: &Program, body: &mut Vec<Stmt>, renames: &mut Vec<(VarId, VarId)>) {
    for stmt in body.iter_mut() {
        for block in stmt.blocks_mut() {
            copies_in(program, block, renames);
        }
    }
    let mut i = 0;
    while i < body.len() {
        let copy = match &body[i] {
            Stmt::Let {
                var,
                value: Expr::Var(source),
            } if !program.var(*var).mutable && program.var(*source).mutable => {
                Some((*var, *source))
            }
            _ => None,
        };
        let Some((var, source)) = copy else {
            i += 1;
            continue;
        };
        let uses = |stmt: &Stmt| {
            let mut uses = false;
            stmt.walk(&mut |inner| {
                uses |= inner.exprs().iter().any(|expr| expr.mentions(var));
            });
            uses
        };
        let assigns = |stmt: &Stmt| {
            let mut assigns = false;
            stmt.walk(&mut |inner| {
                assigns |= matches!(inner, Stmt::Assign { var, .. } if *var == source);
            });
            assigns
        };
        let last = (i + 1..body.len()).rev().find(|at| uses(&body[*at]));
        let Some(last) = last else {
            i += 1;
            continue;
        };
        let kept = body[i + 1..last].iter().all(|stmt| !assigns(stmt))
            && match &body[last] {
                Stmt::Assign { .. } => true,
                // A condition is evaluated before the branches run.
                Stmt::If {
                    then, otherwise, ..
                } if assigns(&body[last]) => !then.iter().chain(otherwise).any(uses),
                last => !assigns(last),
            };
        if !kept {
            i += 1;
            continue;
        }
        if !body[i + 1..].iter().any(assigns) {
            renames.push((var, source));
        }
        let mut rest = body.split_off(i + 1);
        super::cleanup::edit_exprs(&mut rest, &mut |expr| match expr {
            Expr::Var(v) if v == var => Expr::Var(source),
            other => other,
        });
        body.append(&mut rest);
        body.remove(i);
    }
}
