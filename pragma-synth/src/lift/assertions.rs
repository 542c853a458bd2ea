//! Assertions that the arguments alone decide: they are looked at before anything else, and a
//! call that fails one is declined. The reference then panics with the user's own words.
//!
//! So no loop has a check in it that is the same in every round.

use std::collections::BTreeMap;

use super::fold;
use crate::ir::{BinaryOp, Expr, Func, Param, Program, Stmt, VarId};

/// Moves such assertions to the start.
pub(super) fn hoist_assertions(program: &mut Program) {
    let mut known: BTreeMap<VarId, Expr> = program
        .params
        .iter()
        .filter_map(|param| match param {
            Param::Scalar(var) => Some((*var, Expr::Var(*var))),
            _ => None,
        })
        .collect();
    // Variables that are made of parameters only. Definitions come before uses.
    program.walk(&mut |stmt| {
        if let Stmt::Let { var, value } = stmt
            && !program.var(*var).mutable
            && let Some(value) = by_params(value, &known)
        {
            known.insert(*var, value);
        }
    });
    let mut found = Vec::new();
    let mut body = std::mem::take(&mut program.body);
    collect(&mut body, &known, &mut Vec::new(), &mut found);
    let mut checks: Vec<Stmt> = Vec::new();
    for cond in found {
        let check = Stmt::If {
            cond,
            then: vec![Stmt::Decline],
            otherwise: Vec::new(),
        };
        if !checks.contains(&check) {
            checks.push(check);
        }
    }
    checks.append(&mut body);
    program.body = checks;
}

/// `expr` over parameters and sizes alone, if it can be computed from them without a panic.
fn by_params(expr: &Expr, known: &BTreeMap<VarId, Expr>) -> Option<Expr> {
    let mut fine = true;
    expr.walk(&mut |part| {
        fine &= match part {
            Expr::Load { .. } => false,
            Expr::Var(var) => known.contains_key(var),
            Expr::Binary(BinaryOp::Div | BinaryOp::Rem, _, divisor) => {
                fold::as_int(divisor).is_some_and(|value| value > 0)
                    || matches!(**divisor, Expr::Const(crate::ir::Const::Float(..)))
            }
            Expr::Call(Func::DivEuclid | Func::RemEuclid, _) => false,
            _ => true,
        };
    });
    fine.then(|| {
        expr.clone().map(&mut |part| match part {
            Expr::Var(var) => known.get(&var).cloned().unwrap_or(Expr::Var(var)),
            other => other,
        })
    })
}

/// Takes assertions out of `body`; `path` are the conditions around it.
fn collect(
    body: &mut Vec<Stmt>,
    known: &BTreeMap<VarId, Expr>,
    path: &mut Vec<Option<Expr>>,
    found: &mut Vec<Expr>,
) {
    let mut kept = Vec::with_capacity(body.len());
    for mut stmt in std::mem::take(body) {
        if let Stmt::If {
            cond,
            then,
            otherwise,
        } = &mut stmt
        {
            let decided = by_params(cond, known);
            let panics = matches!(then[..], [Stmt::Panic | Stmt::Decline]);
            if panics
                && otherwise.is_empty()
                && let Some(cond) = &decided
                && path.iter().all(Option::is_some)
            {
                let around = path.iter().flatten().cloned();
                let all = around.reduce(|a, b| fold::binary(BinaryOp::And, a, b));
                found.push(match all {
                    Some(all) => fold::binary(BinaryOp::And, all, cond.clone()),
                    None => cond.clone(),
                });
                continue;
            }
            path.push(decided.clone());
            collect(then, known, path, found);
            path.pop();
            path.push(decided.map(fold::not));
            collect(otherwise, known, path, found);
            path.pop();
            if then.is_empty() && otherwise.is_empty() && fold::pure(cond) {
                continue;
            }
        } else {
            for block in stmt.blocks_mut() {
                collect(block, known, path, found);
            }
        }
        kept.push(stmt);
    }
    *body = kept;
}
