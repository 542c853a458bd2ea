//! Legality and effect of each action.

use pragma_spec::Scalar;

use crate::analyze::bounds::Scope;
use crate::analyze::depend;
use crate::ir::{BinaryOp, BufId, BufRole, Expr, Func, Loop, Mark, Program, Stmt, StoreHint};

use super::{Action, Illegal, prefetch, reorder, stage};

/// Applies one action.
///
/// # Errors
/// If the action names something that is not there or would change what the program means.
pub fn apply(program: &Program, action: &Action) -> Result<Program, Illegal> {
    let mut result = program.clone();
    let outcome = match action {
        Action::Vectorize { axis, unroll } => vectorize(program, &mut result, axis, *unroll),
        Action::Parallelize {
            axis,
            grain,
            serial_below,
        } => parallelize(program, &mut result, axis, *grain, *serial_below),
        Action::Fuse { first, second } => fuse(program, &mut result, first, second),
        Action::Stream { buffer } => stream(program, &mut result, buffer),
        Action::Stage { buffer, axis } => stage::stage(program, &mut result, buffer, axis),
        Action::Prefetch {
            buffer,
            axis,
            ahead,
        } => prefetch::prefetch(program, &mut result, buffer, axis, *ahead),
        Action::Interchange { axis } => reorder::interchange(program, &mut result, axis),
        Action::Privatize { buffer, axis } => {
            reorder::privatize(program, &mut result, buffer, axis)
        }
        Action::Jam { axis, factor } => reorder::jam(program, &mut result, axis, *factor),
        Action::Unroll { axis, factor } => unroll(program, &mut result, axis, *factor),
        Action::Split { axis, factor } => split(program, &mut result, axis, *factor),
    };
    match outcome {
        Ok(()) => Ok(result),
        Err(reason) => Err(Illegal {
            action: action.to_string(),
            reason,
        }),
    }
}

/// A loop of a program and what is known around it.
pub(super) struct Found<'a> {
    pub scope: Scope,
    pub inner: &'a Loop,
    /// Whether the loop stands inside another loop, or a branch.
    pub nested: bool,
}

/// The loop whose counter is called `axis`.
pub(super) fn find<'a>(program: &'a Program, axis: &str) -> Result<Found<'a>, String> {
    let mut in_vector = false;
    program.walk(&mut |stmt| {
        if let Stmt::For(outer) = stmt
            && matches!(
                outer.mark,
                Mark::Vector { .. } | Mark::ParallelVector { .. }
            )
        {
            outer.body.iter().for_each(|stmt| {
                stmt.walk(&mut |stmt| {
                    in_vector |= matches!(stmt, Stmt::For(inner)
                        if program.var(inner.var).name == axis);
                });
            });
        }
    });
    if in_vector {
        return Err(format!("`{axis}` is inside a vector loop"));
    }
    search(program, &program.body, &Scope::of(program), axis, false)
        .ok_or_else(|| format!("there is no loop over `{axis}`"))
}

fn search<'a>(
    program: &'a Program,
    body: &'a [Stmt],
    scope: &Scope,
    axis: &str,
    nested: bool,
) -> Option<Found<'a>> {
    let mut scope = scope.clone();
    for stmt in body {
        match stmt {
            Stmt::For(inner) if program.var(inner.var).name == axis => {
                return Some(Found {
                    scope,
                    inner,
                    nested,
                });
            }
            Stmt::For(inner) => {
                let within = scope.enter(program, inner);
                if let Some(found) = search(program, &inner.body, &within, axis, true) {
                    return Some(found);
                }
            }
            Stmt::If {
                cond,
                then,
                otherwise,
            } => {
                for (block, holds) in [(then, true), (otherwise, false)] {
                    let within = scope.given(program, cond, holds);
                    if let Some(found) = search(program, block, &within, axis, true) {
                        return Some(found);
                    }
                }
            }
            _ => {
                for block in stmt.blocks() {
                    if let Some(found) = search(program, block, &scope, axis, true) {
                        return Some(found);
                    }
                }
            }
        }
        scope.pass(program, stmt);
    }
    None
}

/// Runs `edit` on the statement list that holds the loop called `axis` and its place there.
pub(super) fn edit_at(
    names: &Program,
    body: &mut Vec<Stmt>,
    axis: &str,
    edit: &mut dyn FnMut(&mut Vec<Stmt>, usize),
) -> bool {
    let here = body
        .iter()
        .position(|stmt| matches!(stmt, Stmt::For(inner) if names.var(inner.var).name == axis));
    if let Some(index) = here {
        edit(body, index);
        return true;
    }
    body.iter_mut().any(|stmt| {
        stmt.blocks_mut()
            .into_iter()
            .any(|block| edit_at(names, block, axis, edit))
    })
}

fn set_mark(program: &Program, result: &mut Program, axis: &str, mark: Mark) {
    edit_at(program, &mut result.body, axis, &mut |body, index| {
        if let Some(Stmt::For(inner)) = body.get_mut(index) {
            inner.mark = mark;
        }
    });
}

fn vectorize(
    program: &Program,
    result: &mut Program,
    axis: &str,
    unroll: u32,
) -> Result<(), String> {
    if !(1..=16).contains(&unroll) {
        return Err("unroll must be between 1 and 16".to_owned());
    }
    let found = find(program, axis)?;
    depend::vectorizable(program, &found.scope, found.inner)
        .map_err(|hazard| hazard.describe(program))?;
    crate::emit::check_vector_body(program, &found.scope, found.inner)?;
    let mark = match found.inner.mark {
        Mark::Serial | Mark::Vector { .. } => Mark::Vector { unroll },
        Mark::Parallel {
            grain,
            serial_below,
        }
        | Mark::ParallelVector {
            grain,
            serial_below,
            ..
        } => Mark::ParallelVector {
            grain,
            serial_below,
            unroll,
        },
        Mark::Unroll { .. } => return Err(format!("`{axis}` is already unrolled")),
    };
    set_mark(program, result, axis, mark);
    Ok(())
}

fn parallelize(
    program: &Program,
    result: &mut Program,
    axis: &str,
    grain: u64,
    serial_below: u64,
) -> Result<(), String> {
    if grain == 0 {
        return Err("grain must be at least 1".to_owned());
    }
    let found = find(program, axis)?;
    if found.nested {
        return Err(format!("`{axis}` is inside another loop or branch"));
    }
    if found.inner.step != 1 {
        return Err("its step is not 1".to_owned());
    }
    depend::parallelizable(program, &found.scope, found.inner)
        .map_err(|hazard| hazard.describe(program))?;
    let mark = match found.inner.mark {
        Mark::Serial | Mark::Parallel { .. } => Mark::Parallel {
            grain,
            serial_below,
        },
        Mark::Vector { unroll } | Mark::ParallelVector { unroll, .. } => Mark::ParallelVector {
            grain,
            serial_below,
            unroll,
        },
        Mark::Unroll { .. } => return Err(format!("`{axis}` is already unrolled")),
    };
    set_mark(program, result, axis, mark);
    Ok(())
}

fn fuse(program: &Program, result: &mut Program, first: &str, second: &str) -> Result<(), String> {
    let a = find(program, first)?;
    let b = find(program, second)?;
    if a.inner.mark != Mark::Serial || b.inner.mark != Mark::Serial {
        return Err("fusion comes before other actions on the same loops".to_owned());
    }
    depend::fusable(program, &a.scope, a.inner, b.inner)
        .map_err(|hazard| hazard.describe(program))?;
    let joint = Loop {
        body: depend::joined(a.inner, b.inner),
        ..a.inner.clone()
    };
    // Statements between the two may stay in front if neither loop minds.
    let mut done = false;
    edit_at(program, &mut result.body, first, &mut |body, index| {
        let next = body.get(index + 1);
        let adjacent =
            matches!(next, Some(Stmt::For(inner)) if program.var(inner.var).name == second);
        if adjacent {
            body.remove(index + 1);
            body[index] = Stmt::For(joint.clone());
            done = true;
        }
    });
    if done {
        Ok(())
    } else {
        Err(format!("`{second}` is not directly behind `{first}`"))
    }
}

pub(super) fn find_buffer(program: &Program, name: &str) -> Result<BufId, String> {
    program
        .bufs
        .iter()
        .position(|buf| buf.name == name)
        .map(|index| BufId(index as u32))
        .ok_or_else(|| format!("there is no buffer `{name}`"))
}

fn stream(program: &Program, result: &mut Program, name: &str) -> Result<(), String> {
    let wanted = find_buffer(program, name)?;
    if !matches!(program.buf(wanted).role, BufRole::Mutable | BufRole::Return) {
        return Err(format!("`{name}` is not a result"));
    }
    if depend::loaded(&program.body).contains(&wanted) {
        return Err(format!(
            "`{name}` is read again, so it should stay in the caches"
        ));
    }
    let mut any = false;
    fn mark(body: &mut [Stmt], wanted: BufId, any: &mut bool) {
        for stmt in body {
            if let Stmt::Store { buf, hint, .. } = stmt
                && *buf == wanted
            {
                *hint = StoreHint::Stream;
                *any = true;
            }
            for block in stmt.blocks_mut() {
                mark(block, wanted, any);
            }
        }
    }
    mark(&mut result.body, wanted, &mut any);
    if any {
        Ok(())
    } else {
        Err(format!("`{name}` is never written"))
    }
}

fn unroll(program: &Program, result: &mut Program, axis: &str, factor: u32) -> Result<(), String> {
    if !(2..=64).contains(&factor) {
        return Err("factor must be between 2 and 64".to_owned());
    }
    let found = find(program, axis)?;
    if found.inner.mark != Mark::Serial {
        return Err(format!("`{axis}` is already scheduled"));
    }
    if depend::jumps(&found.inner.body) {
        return Err("it may leave an iteration early".to_owned());
    }
    if !depend::bounds_are_fixed(found.inner, &found.inner.body) {
        return Err("it changes its own bounds".to_owned());
    }
    set_mark(program, result, axis, Mark::Unroll { factor });
    Ok(())
}

fn split(program: &Program, result: &mut Program, axis: &str, factor: u64) -> Result<(), String> {
    if factor < 2 {
        return Err("factor must be at least 2".to_owned());
    }
    let found = find(program, axis)?;
    if found.inner.mark != Mark::Serial {
        return Err(format!("`{axis}` is already scheduled"));
    }
    if found.inner.step != 1 {
        return Err("its step is not 1".to_owned());
    }
    if depend::jumps(&found.inner.body) {
        return Err("it may leave an iteration early".to_owned());
    }
    if !depend::bounds_are_fixed(found.inner, &found.inner.body) {
        return Err("it changes its own bounds".to_owned());
    }
    let inner = found.inner.clone();
    let outer_var = result.add_var(&format!("{axis}_block"), Scalar::Usize, false);
    // for axis_block in lo..hi step factor { for axis in axis_block..min(axis_block + factor, hi) }
    let end = Expr::Call(
        Func::Min,
        vec![
            Expr::binary(BinaryOp::Add, Expr::Var(outer_var), Expr::index(factor)),
            inner.hi.clone(),
        ],
    );
    let outer = Loop {
        var: outer_var,
        lo: inner.lo.clone(),
        hi: inner.hi.clone(),
        step: factor,
        mark: Mark::Serial,
        body: vec![Stmt::For(Loop {
            lo: Expr::Var(outer_var),
            hi: end,
            ..inner
        })],
    };
    edit_at(program, &mut result.body, axis, &mut |body, index| {
        body[index] = Stmt::For(outer.clone());
    });
    Ok(())
}
