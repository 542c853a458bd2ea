//! `if row[i] > row[best] { best = i }`: the best value is kept beside its index, so that the
//! loop is a reduction and reads no element through a variable index.
//!
//! Leaves alone every loop that stores, and every index that is not proven in bounds.

use super::fold;
use super::reader::Reader;
use super::types::Ty;
use crate::ir::{Expr, Stmt, VarId};

/// Rewrites all such loops of the program.
pub(super) fn carry_best_values(reader: &mut Reader<'_>) {
    let mut body = std::mem::take(&mut reader.program.body);
    in_block(reader, &mut body);
    reader.program.body = body;
}

fn in_block(reader: &mut Reader<'_>, body: &mut Vec<Stmt>) {
    let mut at = 0;
    while at < body.len() {
        for block in body[at].blocks_mut() {
            in_block(reader, block);
        }
        if let Some(found) = find(reader, body, at) {
            let ty = Ty::Known(reader.program.buf(found.buf).elem);
            let value = reader.var("best_value", ty, true);
            rewrite(&mut body[at], &found, value);
            let first = put(&found.load, found.best, &found.start);
            body.insert(
                at,
                Stmt::Let {
                    var: value,
                    value: first,
                },
            );
            at += 1;
        }
        at += 1;
    }
}

struct Found {
    best: VarId,
    start: Expr,
    next: Expr,
    buf: crate::ir::BufId,
    /// The element that `best` points to.
    load: Expr,
}

fn find(reader: &mut Reader<'_>, body: &[Stmt], at: usize) -> Option<Found> {
    let Stmt::For(inner) = &body[at] else {
        return None;
    };
    let (last, lets) = inner.body.split_last()?;
    let Stmt::If {
        cond: cond @ Expr::Compare(..),
        then,
        otherwise,
    } = last
    else {
        return None;
    };
    let [
        Stmt::Assign {
            var: best,
            value: next,
        },
    ] = &then[..]
    else {
        return None;
    };
    let plain = lets
        .iter()
        .all(|stmt| matches!(stmt, Stmt::Let { value, .. } if !value.mentions(*best)));
    if !plain || !otherwise.is_empty() || next.mentions(*best) {
        return None;
    }
    let mut load = None;
    let mut mentions = 0;
    cond.walk(&mut |part| match part {
        Expr::Var(var) if var == best => mentions += 1,
        Expr::Load { index, .. } if index.mentions(*best) => load = Some(part.clone()),
        _ => {}
    });
    let load = load.filter(|_| mentions == 1)?;
    let Expr::Load { buf, .. } = load else {
        return None;
    };
    // Where `best` starts from: set right before the loop.
    let start = body[..at].iter().rev().find_map(|stmt| match stmt {
        Stmt::Let { var, value } if var == best => Some(Some(value.clone())),
        Stmt::Let { .. } => None,
        _ => Some(None),
    })??;
    for value in [&start, next] {
        if !reader.is_stable(value) {
            return None;
        }
        let Expr::Load { buf, index } = put(&load, *best, value) else {
            return None;
        };
        if !reader.in_bounds(buf, &index) {
            return None;
        }
    }
    Some(Found {
        best: *best,
        start,
        next: next.clone(),
        buf,
        load,
    })
}

fn rewrite(stmt: &mut Stmt, found: &Found, value: VarId) {
    let Stmt::For(inner) = stmt else { return };
    let Some(Stmt::If { cond, then, .. }) = inner.body.last_mut() else {
        return;
    };
    let old = std::mem::replace(cond, Expr::index(0));
    *cond = old.map(&mut |part| {
        if part == found.load {
            Expr::Var(value)
        } else {
            part
        }
    });
    then.push(Stmt::Assign {
        var: value,
        value: put(&found.load, found.best, &found.next),
    });
}

fn put(expr: &Expr, var: VarId, value: &Expr) -> Expr {
    expr.clone().map(&mut |part| match part {
        Expr::Var(v) if v == var => value.clone(),
        Expr::Binary(op, a, b) => fold::binary(op, *a, *b),
        other => other,
    })
}
