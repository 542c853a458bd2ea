//! Taking out of a finished program what nobody uses.

use std::collections::{BTreeMap, BTreeSet};

use super::fold;
use crate::ir::{BufId, BufRole, Expr, Param, Program, Stmt, VarId};

/// Applies `edit` to every expression, bottom-up.
pub(super) fn edit_exprs(body: &mut [Stmt], edit: &mut dyn FnMut(Expr) -> Expr) {
    edit_stmts(body, &mut |stmt| {
        for expr in stmt.exprs_mut() {
            let old = std::mem::replace(expr, Expr::index(0));
            *expr = old.map(edit);
        }
    });
}

/// Applies `edit` to every statement.
pub(super) fn edit_stmts(body: &mut [Stmt], edit: &mut dyn FnMut(&mut Stmt)) {
    for stmt in body {
        edit(stmt);
        for block in stmt.blocks_mut() {
            edit_stmts(block, edit);
        }
    }
}

/// Removes variables and buffers that are never read, and empty statements.
pub(super) fn drop_dead(program: &mut Program) {
    loop {
        let mut read_vars = BTreeSet::new();
        let mut read_bufs = BTreeSet::new();
        program.walk(&mut |stmt| {
            for expr in stmt.exprs() {
                expr.walk(&mut |part| match part {
                    Expr::Var(var) => {
                        read_vars.insert(*var);
                    }
                    Expr::Load { buf, .. } => {
                        read_bufs.insert(*buf);
                    }
                    _ => {}
                });
            }
        });
        let mut changed = false;
        let bufs = program.bufs.clone();
        let is_dead_buf =
            |buf: &BufId| bufs[buf.0 as usize].role == BufRole::Local && !read_bufs.contains(buf);
        let mut body = std::mem::take(&mut program.body);
        retain(&mut body, &mut |stmt| {
            let dead = match stmt {
                Stmt::Let { var, value } | Stmt::Assign { var, value } => {
                    !read_vars.contains(var) && droppable(value)
                }
                Stmt::Store {
                    buf, index, value, ..
                } => is_dead_buf(buf) && droppable(value) && matches!(index, Expr::Const(_)),
                Stmt::If {
                    then,
                    otherwise,
                    cond,
                } => then.is_empty() && otherwise.is_empty() && droppable(cond),
                Stmt::For(inner) => inner.body.is_empty(),
                _ => false,
            };
            changed |= dead;
            !dead
        });
        program.body = body;
        // Allocations that nothing stores to or reads from.
        let mut touched = BTreeSet::new();
        program.walk(&mut |stmt| {
            if let Stmt::Store { buf, .. } = stmt {
                touched.insert(*buf);
            }
        });
        let mut body = std::mem::take(&mut program.body);
        retain(&mut body, &mut |stmt| {
            let dead = matches!(stmt, Stmt::Alloc { buf, .. }
                if is_dead_buf(buf) && !touched.contains(buf));
            changed |= dead;
            !dead
        });
        program.body = body;
        if !changed {
            return;
        }
    }
}

/// Whether leaving the expression out leaves out no panic: its reads were checked, or are of
/// items of an iterator.
fn droppable(expr: &Expr) -> bool {
    fold::pure(expr) || {
        // A division was checked where it was read; a load is in bounds or panics.
        let mut loads = false;
        expr.walk(&mut |part| loads |= matches!(part, Expr::Load { .. }));
        !loads
    }
}

/// Keeps the statements that `keep` likes, inner ones first.
pub(super) fn retain(body: &mut Vec<Stmt>, keep: &mut dyn FnMut(&Stmt) -> bool) {
    for stmt in body.iter_mut() {
        for block in stmt.blocks_mut() {
            retain(block, keep);
        }
    }
    body.retain(|stmt| keep(stmt));
}

/// Puts variables that the reader made up, used once and at once, into their use; and counters
/// that turned out to be plain `usize` into all of theirs.
pub(super) fn fold_temporaries(program: &mut Program, temporaries: &[VarId], casts: &[VarId]) {
    let mut body = std::mem::take(&mut program.body);
    let mut counters: BTreeMap<VarId, Expr> = BTreeMap::new();
    edit_stmts(&mut body, &mut |stmt| {
        if let Stmt::Let { var, value } = stmt
            && casts.contains(var)
            && matches!(value, Expr::Var(_))
        {
            counters.insert(*var, value.clone());
        }
    });
    if !counters.is_empty() {
        edit_exprs(&mut body, &mut |expr| match &expr {
            Expr::Var(var) => counters.get(var).cloned().unwrap_or(expr),
            _ => expr,
        });
        retain(
            &mut body,
            &mut |stmt| !matches!(stmt, Stmt::Let { var, .. } if counters.contains_key(var)),
        );
    }
    let mut uses: BTreeMap<VarId, usize> = BTreeMap::new();
    edit_stmts(&mut body, &mut |stmt| {
        for expr in stmt.exprs() {
            expr.walk(&mut |part| {
                if let Expr::Var(var) = part {
                    *uses.entry(*var).or_insert(0) += 1;
                }
            });
        }
    });
    let once: BTreeSet<VarId> = temporaries
        .iter()
        .filter(|var| uses.get(var) == Some(&1))
        .copied()
        .collect();
    fold_block(&mut body, &once);
    program.body = body;
}

fn fold_block(body: &mut Vec<Stmt>, once: &BTreeSet<VarId>) {
    let mut i = 0;
    while i < body.len() {
        for block in body[i].blocks_mut() {
            fold_block(block, once);
        }
        i += 1;
    }
    // From the end, so that a chain of them folds together.
    let mut i = body.len();
    while i > 0 {
        i -= 1;
        let (var, value) = match &body[i] {
            Stmt::Let { var, value } if once.contains(var) => (*var, value.clone()),
            _ => continue,
        };
        // Only past statements that change nothing: other declarations.
        let mut at = i + 1;
        while at < body.len()
            && matches!(body[at], Stmt::Let { .. })
            && !body[at].exprs().iter().any(|expr| expr.mentions(var))
        {
            at += 1;
        }
        let Some(target) = body.get_mut(at) else {
            continue;
        };
        // The expression must be evaluated exactly once, right there.
        let fits = matches!(
            target,
            Stmt::Let { .. } | Stmt::Assign { .. } | Stmt::Store { .. } | Stmt::Return(_)
        ) && target.exprs().iter().any(|expr| expr.mentions(var));
        if !fits {
            continue;
        }
        for expr in target.exprs_mut() {
            let old = std::mem::replace(expr, Expr::index(0));
            *expr = old.map(&mut |part| match part {
                Expr::Var(v) if v == var => value.clone(),
                other => other,
            });
        }
        body.remove(i);
    }
}

/// Variables that are declared, then assigned once and at once, are declared with that value;
/// those never assigned are not mutable.
pub(super) fn freeze(program: &mut Program) {
    let mut body = std::mem::take(&mut program.body);
    merge_first_assignment(&mut body);
    program.body = body;
    let mut assigned = BTreeSet::new();
    program.walk(&mut |stmt| {
        if let Stmt::Assign { var, .. } = stmt {
            assigned.insert(*var);
        }
    });
    for (i, decl) in program.vars.iter_mut().enumerate() {
        decl.mutable = assigned.contains(&VarId(i as u32));
    }
}

fn merge_first_assignment(body: &mut Vec<Stmt>) {
    let mut i = 0;
    while i < body.len() {
        for block in body[i].blocks_mut() {
            merge_first_assignment(block);
        }
        if let Stmt::Let { var, value: first } = &body[i]
            && matches!(first, Expr::Const(_))
        {
            let var = *var;
            let touches = |stmt: &Stmt| {
                let mut touches = false;
                stmt.walk(&mut |inner| {
                    touches |= matches!(inner, Stmt::Assign { var: v, .. } if *v == var);
                    touches |= inner.exprs().iter().any(|expr| expr.mentions(var));
                });
                touches
            };
            let next = (i + 1..body.len()).find(|at| touches(&body[*at]));
            if let Some(at) = next
                && let Stmt::Assign { var: target, value } = &body[at]
                && *target == var
                && !value.mentions(var)
            {
                body[at] = Stmt::Let {
                    var,
                    value: value.clone(),
                };
                body.remove(i);
                continue;
            }
        }
        i += 1;
    }
}

/// Removes declarations of variables and buffers that are gone.
pub(super) fn compact(program: &mut Program) {
    let mut vars = BTreeSet::new();
    let mut bufs = BTreeSet::new();
    program.walk(&mut |stmt| {
        match stmt {
            Stmt::Let { var, .. } | Stmt::Assign { var, .. } => {
                vars.insert(*var);
            }
            Stmt::For(inner) => {
                vars.insert(inner.var);
            }
            Stmt::Store { buf, .. } | Stmt::Alloc { buf, .. } => {
                bufs.insert(*buf);
            }
            _ => {}
        }
        for expr in stmt.exprs() {
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
    for param in &program.params {
        match param {
            Param::Scalar(var) => {
                vars.insert(*var);
            }
            Param::Buffer(buf) => {
                bufs.insert(*buf);
            }
            Param::Dim(_) => {}
        }
    }
    bufs.extend(program.returns.buffers());
    let new_var: BTreeMap<VarId, VarId> = vars
        .iter()
        .enumerate()
        .map(|(new, old)| (*old, VarId(new as u32)))
        .collect();
    let new_buf: BTreeMap<BufId, BufId> = bufs
        .iter()
        .enumerate()
        .map(|(new, old)| (*old, BufId(new as u32)))
        .collect();
    let var_of = |var: VarId| new_var.get(&var).copied().unwrap_or(var);
    let buf_of = |buf: BufId| new_buf.get(&buf).copied().unwrap_or(buf);
    let mut body = std::mem::take(&mut program.body);
    edit_stmts(&mut body, &mut |stmt| match stmt {
        Stmt::Let { var, .. } | Stmt::Assign { var, .. } => *var = var_of(*var),
        Stmt::For(inner) => inner.var = var_of(inner.var),
        Stmt::Store { buf, .. } | Stmt::Alloc { buf, .. } => *buf = buf_of(*buf),
        _ => {}
    });
    edit_exprs(&mut body, &mut |expr| match expr {
        Expr::Var(var) => Expr::Var(var_of(var)),
        Expr::Load { buf, index } => Expr::Load {
            buf: buf_of(buf),
            index,
        },
        other => other,
    });
    program.body = body;
    for param in &mut program.params {
        match param {
            Param::Scalar(var) => *var = var_of(*var),
            Param::Buffer(buf) => *buf = buf_of(*buf),
            Param::Dim(_) => {}
        }
    }
    program.returns = program.returns.map_buffers(buf_of);
    let mut index = 0;
    program.vars.retain(|_| {
        index += 1;
        vars.contains(&VarId(index - 1))
    });
    let mut index = 0;
    program.bufs.retain(|_| {
        index += 1;
        bufs.contains(&BufId(index - 1))
    });
    tidy_names(program);
}

/// `i_1` becomes `i` where `i` has become free.
fn tidy_names(program: &mut Program) {
    let mut taken: BTreeSet<String> = program
        .vars
        .iter()
        .map(|var| var.name.clone())
        .chain(program.bufs.iter().map(|buf| buf.name.clone()))
        .chain(program.dims.iter().cloned())
        .collect();
    for var in &mut program.vars {
        let stem = var
            .name
            .trim_end_matches(|c: char| c.is_ascii_digit())
            .strip_suffix('_')
            .filter(|_| var.name.ends_with(|c: char| c.is_ascii_digit()))
            .map(str::to_owned);
        let Some(stem) = stem.filter(|stem| !stem.is_empty()) else {
            continue;
        };
        if !taken.contains(&stem) {
            taken.remove(&var.name);
            taken.insert(stem.clone());
            var.name = stem;
        }
    }
}
