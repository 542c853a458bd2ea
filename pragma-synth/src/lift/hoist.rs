//! Declines before writes: a function that may fail after it has written something is split into
//! a pass that only looks for failures, and the function without them.
//!
//! That is possible where what decides a failure does not depend on anything that was written.

use std::collections::{BTreeMap, BTreeSet};

use super::cleanup::{edit_exprs, edit_stmts};
use crate::ir::{BufId, BufRole, Expr, Program, Stmt, VarId};

/// Moves every failure in front of the first write. False if the failures cannot be known
/// before.
pub(super) fn hoist_declines(program: &mut Program) -> bool {
    let first = program.body.iter().position(|stmt| writes(program, stmt));
    let Some(first) = first else {
        return true;
    };
    if !program.body[first..].iter().any(declines) {
        return true;
    }
    if is_safe(program) {
        return true;
    }
    let Some(mut checks) = checks_of(program, first) else {
        return false;
    };
    rename(program, &mut checks);
    let mut rest = program.body.split_off(first);
    drop_declines(&mut rest);
    program.body.extend(checks);
    program.body.extend(rest);
    true
}

fn declines(stmt: &Stmt) -> bool {
    let mut found = false;
    stmt.walk(&mut |inner| found |= *inner == Stmt::Decline);
    found
}

fn writes(program: &Program, stmt: &Stmt) -> bool {
    let mut found = false;
    stmt.walk(&mut |inner| {
        found |= matches!(inner, Stmt::Store { buf, .. }
            if program.buf(*buf).role == BufRole::Mutable);
    });
    found
}

/// Whether no store comes before any failure as it stands.
fn is_safe(program: &Program) -> bool {
    let errors = crate::ir::verify::verify(program).err().unwrap_or_default();
    !errors.iter().any(|error| error.message.contains("decline"))
}

/// What of the body from statement `first` on decides its failures, if that needs nothing that
/// was written.
fn checks_of(program: &Program, first: usize) -> Option<Vec<Stmt>> {
    let body = &program.body[first..];
    // `return` in the middle would have to end the checks only.
    let mut returns = false;
    for stmt in &body[..body.len() - 1] {
        stmt.walk(&mut |inner| returns |= matches!(inner, Stmt::Return(_)));
    }
    if let Some(last) = body.last()
        && !matches!(last, Stmt::Return(_))
    {
        last.walk(&mut |inner| returns |= matches!(inner, Stmt::Return(_)));
    }
    if returns {
        return None;
    }
    let mut vars = BTreeSet::new();
    let mut bufs = BTreeSet::new();
    loop {
        let (before_vars, before_bufs) = (vars.len(), bufs.len());
        let kept = keep(program, body, &vars, &bufs);
        for stmt in &kept {
            stmt.walk(&mut |inner| {
                for expr in inner.exprs() {
                    expr.walk(&mut |part| match part {
                        Expr::Var(var) => {
                            vars.insert(*var);
                        }
                        Expr::Load { buf, .. } => {
                            bufs.insert(*buf);
                        }
                        _ => {}
                    });
                }
            });
        }
        if vars.len() == before_vars && bufs.len() == before_bufs {
            let written: BTreeSet<BufId> = stored(program, body);
            let clean = bufs
                .iter()
                .all(|buf| program.buf(*buf).role == BufRole::Local || !written.contains(buf));
            // A variable that was changed before the checks is changed by the checks again.
            let outside = assigned(&kept).into_iter().all(|var| declared(&kept, var));
            let local = stored(program, &kept)
                .into_iter()
                .all(|buf| allocated(&kept, buf));
            return (clean && outside && local).then_some(kept);
        }
    }
}

fn stored(program: &Program, body: &[Stmt]) -> BTreeSet<BufId> {
    let mut found = BTreeSet::new();
    for stmt in body {
        stmt.walk(&mut |inner| {
            if let Stmt::Store { buf, .. } = inner
                && program.buf(*buf).role != BufRole::Input
            {
                found.insert(*buf);
            }
        });
    }
    found
}

fn assigned(body: &[Stmt]) -> BTreeSet<VarId> {
    let mut found = BTreeSet::new();
    for stmt in body {
        stmt.walk(&mut |inner| {
            if let Stmt::Assign { var, .. } = inner {
                found.insert(*var);
            }
        });
    }
    found
}

fn declared(body: &[Stmt], var: VarId) -> bool {
    let mut found = false;
    for stmt in body {
        stmt.walk(&mut |inner| found |= matches!(inner, Stmt::Let { var: v, .. } if *v == var));
    }
    found
}

fn allocated(body: &[Stmt], buf: BufId) -> bool {
    let mut found = false;
    for stmt in body {
        stmt.walk(&mut |inner| found |= matches!(inner, Stmt::Alloc { buf: b, .. } if *b == buf));
    }
    found
}

/// The statements that lead to failures or change what those look at.
fn keep(
    program: &Program,
    body: &[Stmt],
    vars: &BTreeSet<VarId>,
    bufs: &BTreeSet<BufId>,
) -> Vec<Stmt> {
    let mut kept = Vec::new();
    for stmt in body {
        match stmt {
            Stmt::Let { var, .. } | Stmt::Assign { var, .. } if vars.contains(var) => {
                kept.push(stmt.clone());
            }
            Stmt::Store { buf, .. } | Stmt::Alloc { buf, .. }
                if bufs.contains(buf) && program.buf(*buf).role == BufRole::Local =>
            {
                kept.push(stmt.clone());
            }
            Stmt::Decline | Stmt::Break | Stmt::Continue => kept.push(stmt.clone()),
            Stmt::For(_) | Stmt::While { .. } | Stmt::If { .. } => {
                let mut copy = stmt.clone();
                let mut useful = false;
                for block in copy.blocks_mut() {
                    *block = keep(program, block, vars, bufs);
                    useful |= block
                        .iter()
                        .any(|stmt| !matches!(stmt, Stmt::Break | Stmt::Continue));
                }
                let jumps = matches!(copy, Stmt::If { .. })
                    && super::polish::jumps(std::slice::from_ref(&copy));
                if let Stmt::If {
                    cond,
                    then,
                    otherwise,
                } = &mut copy
                    && then.is_empty()
                {
                    let held = std::mem::replace(cond, Expr::index(0));
                    *cond = super::fold::not(held);
                    std::mem::swap(then, otherwise);
                }
                if useful || jumps {
                    kept.push(copy);
                }
            }
            _ => {}
        }
    }
    kept
}

/// Gives the variables and buffers that `body` declares names and ids of their own.
fn rename(program: &mut Program, body: &mut [Stmt]) {
    let mut vars: BTreeMap<VarId, VarId> = BTreeMap::new();
    let mut bufs: BTreeMap<BufId, BufId> = BTreeMap::new();
    let mut declared_vars = Vec::new();
    let mut declared_bufs = Vec::new();
    for stmt in body.iter() {
        stmt.walk(&mut |inner| match inner {
            Stmt::Let { var, .. } => declared_vars.push(*var),
            Stmt::For(inner) => declared_vars.push(inner.var),
            Stmt::Alloc { buf, .. } => declared_bufs.push(*buf),
            _ => {}
        });
    }
    for var in declared_vars {
        let decl = program.var(var).clone();
        let copy = program.add_var(&decl.name, decl.scalar, decl.mutable);
        vars.insert(var, copy);
    }
    for buf in declared_bufs {
        let decl = program.buf(buf).clone();
        let copy = program.add_buf(&decl.name, decl.elem, decl.role, decl.shape);
        bufs.insert(buf, copy);
    }
    let var_of = |var: VarId| vars.get(&var).copied().unwrap_or(var);
    let buf_of = |buf: BufId| bufs.get(&buf).copied().unwrap_or(buf);
    edit_stmts(body, &mut |stmt| match stmt {
        Stmt::Let { var, .. } | Stmt::Assign { var, .. } => *var = var_of(*var),
        Stmt::For(inner) => inner.var = var_of(inner.var),
        Stmt::Store { buf, .. } | Stmt::Alloc { buf, .. } => *buf = buf_of(*buf),
        _ => {}
    });
    edit_exprs(body, &mut |expr| match expr {
        Expr::Var(var) => Expr::Var(var_of(var)),
        Expr::Load { buf, index } => Expr::Load {
            buf: buf_of(buf),
            index,
        },
        other => other,
    });
}

/// Takes the failures out: they have been looked for.
fn drop_declines(body: &mut Vec<Stmt>) {
    for stmt in body.iter_mut() {
        for block in stmt.blocks_mut() {
            drop_declines(block);
        }
    }
    body.retain(|stmt| {
        *stmt != Stmt::Decline
            && !matches!(stmt, Stmt::If { then, otherwise, .. }
                if then.is_empty() && otherwise.is_empty())
    });
}

/// What leads to nothing but a failure is not done: the reference does it.
pub(super) fn trim_declines(body: &mut Vec<Stmt>) {
    for stmt in body.iter_mut() {
        for block in stmt.blocks_mut() {
            trim_declines(block);
        }
    }
    let Some(at) = body.iter().position(|stmt| *stmt == Stmt::Decline) else {
        return;
    };
    body.truncate(at + 1);
    let mut leaves = false;
    for stmt in &body[..at] {
        stmt.walk(&mut |inner| {
            leaves |= matches!(inner, Stmt::Return(_) | Stmt::Break | Stmt::Continue);
        });
    }
    if !leaves {
        body.drain(..at);
    }
}
