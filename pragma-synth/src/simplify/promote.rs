//! An element that a loop reads and writes in every iteration is held in a variable meanwhile.
//!
//! `for p { c[i] = c[i] + f(p) }` becomes `let mut c_held = c[i]; for p { c_held = c_held +
//! f(p) }; c[i] = c_held`: an accumulator that vectors and registers know what to do with.

use crate::analyze::bounds::{self, Scope};
use crate::analyze::depend;
use crate::analyze::poly;
use crate::ir::{BufId, BufRole, Expr, Loop, Mark, Program, Stmt, StoreHint, VarId};

/// Applies the rewrite everywhere, inner loops first.
pub(crate) fn promote(program: &Program) -> Program {
    let mut result = program.clone();
    let body = std::mem::take(&mut result.body);
    let scope = Scope::of(&result);
    result.body = block(&mut result, body, &scope);
    result
}

fn block(program: &mut Program, body: Vec<Stmt>, scope: &Scope) -> Vec<Stmt> {
    let mut scope = scope.clone();
    let mut out = Vec::new();
    for mut stmt in body {
        match &mut stmt {
            Stmt::For(inner) => {
                let within = scope.enter(program, inner);
                let statements = std::mem::take(&mut inner.body);
                inner.body = block(program, statements, &within);
            }
            Stmt::If {
                cond,
                then,
                otherwise,
            } => {
                for (side, holds) in [(then, true), (otherwise, false)] {
                    let within = scope.given(program, cond, holds);
                    let statements = std::mem::take(side);
                    *side = block(program, statements, &within);
                }
            }
            Stmt::While { body, .. } => {
                let statements = std::mem::take(body);
                *body = block(program, statements, &scope);
            }
            _ => {}
        }
        scope.pass(program, &stmt);
        match stmt {
            Stmt::For(inner) if inner.mark == Mark::Serial => {
                hold(program, inner, &scope, &mut out)
            }
            other => out.push(other),
        }
    }
    out
}

/// Writes `inner` with every element that qualifies held in a variable.
fn hold(program: &mut Program, mut inner: Loop, scope: &Scope, out: &mut Vec<Stmt>) {
    let mut after = Vec::new();
    if !leaves(&inner.body) {
        for buf in depend::stored(&inner.body) {
            let Some(elements) = elements(program, &inner, scope, buf) else {
                continue;
            };
            for index in elements {
                let decl = program.buf(buf);
                let (name, elem) = (format!("{}_held", decl.name), decl.elem);
                let held = program.add_var(&name, elem, true);
                out.push(Stmt::Let {
                    var: held,
                    value: Expr::load(buf, index.clone()),
                });
                inner
                    .body
                    .iter_mut()
                    .for_each(|stmt| redirect(stmt, buf, &index, held));
                after.push(Stmt::Store {
                    buf,
                    index,
                    value: Expr::Var(held),
                    hint: StoreHint::Cached,
                });
            }
        }
    }
    out.push(Stmt::For(inner));
    out.extend(after);
}

/// Whether `body` may end in a way that leaves no time to write back.
fn leaves(body: &[Stmt]) -> bool {
    let mut found = false;
    for stmt in body {
        stmt.walk(&mut |stmt| {
            found |= matches!(stmt, Stmt::Return(_) | Stmt::Decline | Stmt::Panic);
        });
    }
    found
}

/// The indices at which the loop touches `buf`, if they are the same in every iteration, in
/// bounds, and different from each other.
fn elements(program: &Program, inner: &Loop, scope: &Scope, buf: BufId) -> Option<Vec<Expr>> {
    let initialised = match program.buf(buf).role {
        BufRole::Input => false,
        BufRole::Mutable | BufRole::Local => true,
        BufRole::Return => {
            let mut filled = false;
            program.walk(&mut |stmt| {
                filled |= matches!(stmt, Stmt::Alloc { buf: of, .. } if *of == buf);
            });
            filled
        }
    };
    if !initialised || depend::allocated(&inner.body).contains(&buf) {
        return None;
    }
    let written = depend::stored(&inner.body);
    let mut indices: Vec<Expr> = Vec::new();
    let mut fixed = true;
    let within = scope.enter(program, inner);
    bounds::for_each_access(program, &inner.body, &within, &mut |_, of, index, _| {
        if of != buf {
            return;
        }
        fixed &= is_fixed(index, inner, &written) && scope.is_in_bounds(program, buf, index);
        if !indices.contains(index) {
            indices.push(index.clone());
        }
    });
    if !fixed || indices.is_empty() || indices.len() > 4 {
        return None;
    }
    let polys: Vec<_> = indices
        .iter()
        .map(|index| poly::read(program, &scope.definitions, index))
        .collect::<Option<_>>()?;
    let apart = polys.iter().enumerate().all(|(at, a)| {
        polys[at + 1..]
            .iter()
            .all(|b| a.minus(b).as_constant().is_some_and(|gap| gap != 0))
    });
    apart.then_some(indices)
}

fn is_fixed(index: &Expr, inner: &Loop, written: &std::collections::BTreeSet<BufId>) -> bool {
    let mut fixed = true;
    index.walk(&mut |node| match node {
        Expr::Var(var) => {
            let assigned = inner.body.iter().any(|stmt| {
                let mut found = false;
                stmt.walk(&mut |stmt| {
                    found |= matches!(stmt, Stmt::Assign { var: target, .. } if target == var);
                });
                found
            });
            fixed &= *var != inner.var && !assigned && !depend::declares(&inner.body, *var);
        }
        Expr::Load { buf, .. } => fixed &= !written.contains(buf),
        _ => {}
    });
    fixed
}

fn redirect(stmt: &mut Stmt, buf: BufId, at: &Expr, held: VarId) {
    for expr in stmt.exprs_mut() {
        *expr = std::mem::replace(expr, Expr::Dim(0)).map(&mut |node| match node {
            Expr::Load { buf: of, index } if of == buf && *index == *at => Expr::Var(held),
            other => other,
        });
    }
    if let Stmt::Store {
        buf: of,
        index,
        value,
        ..
    } = stmt
        && *of == buf
        && index == at
    {
        *stmt = Stmt::Assign {
            var: held,
            value: value.clone(),
        };
        return;
    }
    for block in stmt.blocks_mut() {
        block
            .iter_mut()
            .for_each(|stmt| redirect(stmt, buf, at, held));
    }
}
