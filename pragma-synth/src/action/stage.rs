//! Staging: the part of a result that one iteration works on moves into a temporary.
//!
//! Pays where a result is written, read again and written again: the passes in between stay in
//! the nearest cache and the last pass writes memory once, with streaming stores if wanted.

use crate::analyze::bounds::Scope;
use crate::analyze::poly::{self, Atom, Poly};
use crate::ir::{BufId, BufRole, Const, Expr, Loop, Mark, Program, Stmt, StoreHint};
use pragma_spec::{Scalar, Shape};

use super::apply::{edit_at, find, find_buffer};

pub(super) fn stage(
    program: &Program,
    result: &mut Program,
    buffer: &str,
    axis: &str,
) -> Result<(), String> {
    let buf = find_buffer(program, buffer)?;
    let found = find(program, axis)?;
    let outer = found.inner;
    if !matches!(outer.mark, Mark::Serial | Mark::Parallel { .. }) {
        return Err(format!("`{axis}` is already scheduled"));
    }
    let elem = program.buf(buf).elem;
    let passes = passes(program, &found.scope, outer, buf)?;
    let [first, .., last] = passes.as_slice() else {
        return Err(format!(
            "`{buffer}` has only one pass per iteration of `{axis}`"
        ));
    };
    if first.loads || !first.stores {
        return Err(format!(
            "`{buffer}` is not wholly written before it is read"
        ));
    }
    if !last.stores {
        return Err(format!("the last pass over `{buffer}` does not write it"));
    }
    if passes
        .iter()
        .any(|pass| pass.slope != first.slope || pass.hi != first.hi)
    {
        return Err(format!(
            "passes over `{buffer}` cover different parts of it"
        ));
    }
    let (last_at, len) = (last.at, first.hi.clone());
    let name = format!("{buffer}_row");
    let row = result.add_buf(&name, elem, BufRole::Local, Shape::default());
    if let Some(extent) = row_extent(program, buf, &first.slope) {
        result.bufs[row.0 as usize].shape = Shape(vec![extent]);
    }
    let fill = match elem {
        Scalar::Bool => Const::Bool(false),
        scalar if scalar.is_float() => Const::Float(scalar, 0.0),
        scalar => Const::Int(scalar, 0),
    };
    edit_at(program, &mut result.body, axis, &mut |body, index| {
        let Some(Stmt::For(outer)) = body.get_mut(index) else {
            return;
        };
        for (at, stmt) in outer.body.iter_mut().enumerate() {
            if let Stmt::For(pass) = stmt {
                let counter = pass.var;
                pass.body
                    .iter_mut()
                    .for_each(|stmt| redirect(stmt, buf, row, counter, at == last_at));
            }
        }
        outer.body.insert(
            0,
            Stmt::Alloc {
                buf: row,
                len: len.clone(),
                fill: Expr::Const(fill),
            },
        );
    });
    Ok(())
}

/// The extent of the last dimensions of `buf` whose product is `slope`.
fn row_extent(program: &Program, buf: BufId, slope: &Poly) -> Option<pragma_spec::DimExpr> {
    let shape = &program.buf(buf).shape.0;
    (0..shape.len()).find_map(|from| {
        let extent = pragma_spec::DimExpr::product(&shape[from..]);
        (poly::read_dim(program, &extent)? == *slope).then_some(extent)
    })
}

/// One loop, directly in the body of the outer one, that touches the buffer at
/// `outer * slope + counter` for every counter in `0..hi`.
struct Pass {
    at: usize,
    slope: Poly,
    hi: Expr,
    loads: bool,
    stores: bool,
}

fn passes(program: &Program, scope: &Scope, outer: &Loop, buf: BufId) -> Result<Vec<Pass>, String> {
    let name = &program.buf(buf).name;
    let irregular = || format!("`{name}` is not worked on row by row");
    let mut scope = scope.enter(program, outer);
    let mut passes = Vec::new();
    for (at, stmt) in outer.body.iter().enumerate() {
        if let Stmt::Let { var, value } = stmt {
            scope.define(program, *var, value);
        }
        let touches = {
            let one = std::slice::from_ref(stmt);
            crate::analyze::depend::loaded(one).contains(&buf)
                || crate::analyze::depend::stored(one).contains(&buf)
        };
        if !touches {
            continue;
        }
        let Stmt::For(inner) = stmt else {
            return Err(irregular());
        };
        if inner.mark != Mark::Serial || inner.step != 1 || inner.lo != Expr::index(0) {
            return Err(irregular());
        }
        let within = scope.enter(program, inner);
        let mut pass = Pass {
            at,
            slope: Poly::default(),
            hi: inner.hi.clone(),
            loads: false,
            stores: false,
        };
        let mut inside = within.clone();
        for stmt in &inner.body {
            let own = |index: &Expr, inside: &Scope| -> Option<Poly> {
                let index = poly::read(program, &inside.definitions, index)?;
                let (step, rest) = index.linear_in(&Atom::Var(inner.var))?;
                let (slope, rest) = rest.linear_in(&Atom::Var(outer.var))?;
                (step == Poly::constant(1) && rest == Poly::default()).then_some(slope)
            };
            let mut slopes = Vec::new();
            let mut bad = false;
            for expr in stmt.exprs() {
                expr.walk(&mut |node| {
                    if let Expr::Load { buf: b, index } = node
                        && *b == buf
                    {
                        // Loads behind the store of the same pass would see the temporary.
                        bad |= pass.stores;
                        pass.loads = true;
                        slopes.push(own(index, &inside));
                    }
                });
            }
            match stmt {
                Stmt::Let { var, value } => inside.define(program, *var, value),
                Stmt::Store { buf: b, index, .. } if *b == buf => {
                    bad |= pass.stores;
                    pass.stores = true;
                    slopes.push(own(index, &inside));
                }
                Stmt::If { .. } | Stmt::For(_) | Stmt::While { .. } => {
                    let inner_blocks = stmt.blocks();
                    bad |= inner_blocks.iter().any(|block| {
                        crate::analyze::depend::stored(block).contains(&buf)
                            || crate::analyze::depend::loaded(block).contains(&buf)
                    });
                }
                _ => {}
            }
            for slope in slopes {
                let slope = slope.ok_or_else(irregular)?;
                bad |= pass.slope != Poly::default() && pass.slope != slope;
                pass.slope = slope;
            }
            if bad {
                return Err(irregular());
            }
        }
        let hi = poly::read(program, &scope.definitions, &inner.hi).ok_or_else(irregular)?;
        if hi != pass.slope {
            return Err(irregular());
        }
        passes.push(pass);
    }
    Ok(passes)
}

fn redirect(stmt: &mut Stmt, buf: BufId, row: BufId, counter: crate::ir::VarId, last: bool) {
    for expr in stmt.exprs_mut() {
        *expr = std::mem::replace(expr, Expr::Dim(0)).map(&mut |node| match node {
            Expr::Load { buf: b, .. } if b == buf => Expr::load(row, Expr::Var(counter)),
            other => other,
        });
    }
    if let Stmt::Store {
        buf: b,
        index,
        hint,
        ..
    } = stmt
        && *b == buf
        && !last
    {
        *b = row;
        *index = Expr::Var(counter);
        *hint = StoreHint::Cached;
    }
    for block in stmt.blocks_mut() {
        block
            .iter_mut()
            .for_each(|stmt| redirect(stmt, buf, row, counter, last));
    }
}
