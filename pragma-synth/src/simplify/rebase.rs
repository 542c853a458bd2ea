//! A short loop that starts where an outer counter says starts at 0 instead.
//!
//! `for j in 4 * i..4 * i + 4` becomes `for j_step in 0..4 { let j = 4 * i + j_step; .. }`: the
//! loop then has the same bounds in every lane of a vector.

use crate::analyze::bounds::Scope;
use crate::analyze::poly;
use crate::ir::{BinaryOp, Expr, Loop, Mark, Program, Stmt};
use pragma_spec::Scalar;

/// Loops of more iterations stay as they are.
const LONGEST: i64 = 64;

/// Applies the rewrite everywhere.
pub(super) fn rebase(program: &Program) -> Program {
    let mut result = program.clone();
    let mut body = std::mem::take(&mut result.body);
    let scope = Scope::of(&result);
    block(&mut result, &mut body, &scope);
    result.body = body;
    result
}

fn block(program: &mut Program, body: &mut [Stmt], scope: &Scope) {
    let mut scope = scope.clone();
    for stmt in body {
        if let Stmt::For(inner) = stmt {
            shift(program, inner, &scope);
            let within = scope.enter(program, inner);
            block(program, &mut inner.body, &within);
        } else {
            for inner in stmt.blocks_mut() {
                block(program, inner, &scope);
            }
        }
        scope.pass(program, stmt);
    }
}

fn shift(program: &mut Program, inner: &mut Loop, scope: &Scope) {
    if inner.mark != Mark::Serial || inner.step != 1 {
        return;
    }
    let lo = poly::read(program, &scope.definitions, &inner.lo);
    let hi = poly::read(program, &scope.definitions, &inner.hi);
    let (Some(lo), Some(hi)) = (lo, hi) else {
        return;
    };
    let count = hi.minus(&lo).as_constant();
    let Some(count) = count.filter(|count| (1..=LONGEST).contains(count)) else {
        return;
    };
    // Where the start may have wrapped around, so may the end, and the loop be empty.
    if lo.vars().is_empty() || !scope.is_nonnegative(&lo) {
        return;
    }
    let name = format!("{}_step", program.var(inner.var).name);
    let step = program.add_var(&name, Scalar::Usize, false);
    let start = std::mem::replace(&mut inner.lo, Expr::index(0));
    inner.hi = Expr::index(count.unsigned_abs());
    inner.body.insert(
        0,
        Stmt::Let {
            var: inner.var,
            value: Expr::binary(BinaryOp::Add, start, Expr::Var(step)),
        },
    );
    inner.var = step;
}
