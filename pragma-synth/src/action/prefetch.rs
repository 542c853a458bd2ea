//! Prefetching: a loop asks for what will be read later, a next row or some iterations ahead.
//!
//! The next row pays where a function passes over each row several times: in the first pass the row comes from memory, in
//! the others memory would idle. Some iterations ahead pays where a loop computes much for each element: the prefetch of
//! the hardware ends with each page. A prefetch changes no result, whatever its address, so legality is about finding
//! the right one: the index of a load, so many iterations further.

use crate::analyze::bounds::{Scope, for_each_access};
use crate::analyze::depend;
use crate::analyze::poly::{self, Atom, Poly};
use crate::ir::{BufId, BufRole, Expr, Program, Stmt};

use super::apply::{Found, edit_at, find, find_buffer};

/// Far enough for any cache, and too little for an index to overflow.
const LARGEST: u64 = 1 << 24;

pub(super) fn prefetch(
    program: &Program,
    result: &mut Program,
    buffer: &str,
    axis: &str,
    ahead: Option<u64>,
) -> Result<(), String> {
    if ahead.is_some_and(|ahead| !(1..=LARGEST).contains(&ahead)) {
        return Err(format!("ahead must be between 1 and {LARGEST}"));
    }
    let buf = find_buffer(program, buffer)?;
    let decl = program.buf(buf);
    if decl.role == BufRole::Local {
        return Err(format!("`{buffer}` is a temporary and in the caches"));
    }
    if decl.elem.bytes() < 4 {
        return Err(format!(
            "several iterations of a vector of `{}` share a cache line",
            decl.elem
        ));
    }
    let found = find(program, axis)?;
    let is_loop = |stmt: &Stmt| matches!(stmt, Stmt::For(_) | Stmt::While { .. });
    if found.inner.body.iter().any(is_loop) {
        return Err(format!("`{axis}` is not an innermost loop"));
    }
    if depend::prefetched(&found.inner.body).contains(&buf) {
        return Err(format!("`{axis}` prefetches `{buffer}` already"));
    }
    let index = match ahead {
        Some(ahead) => further(program, &found, buf, ahead),
        None => next_row(program, &found, buf)?,
    };
    let index = index.ok_or_else(|| {
        let place = match ahead {
            Some(_) => "element by element in",
            None => "row by row, over the range of",
        };
        format!("`{buffer}` is not read {place} `{axis}`")
    })?;
    edit_at(program, &mut result.body, axis, &mut |body, at| {
        if let Some(Stmt::For(inner)) = body.get_mut(at) {
            let index = index.clone();
            inner.body.insert(0, Stmt::Prefetch { buf, index });
        }
    });
    Ok(())
}

/// The index of the first load of `buf` in a loop that moves by one element, `ahead` iterations further.
fn further(program: &Program, found: &Found<'_>, buf: BufId, ahead: u64) -> Option<Expr> {
    let counter = Atom::Var(found.inner.var);
    let ahead = Poly::atom(counter.clone()).plus(&Poly::constant(i64::try_from(ahead).ok()?));
    let within = found.scope.enter(program, found.inner);
    let mut index = None;
    for_each_access(
        program,
        &found.inner.body,
        &within,
        &mut |at, of, load, is_store| {
            if of != buf || is_store || index.is_some() {
                return;
            }
            index = poly::read(program, &at.definitions, load)
                .filter(|load| moves_by_one(load, &counter))
                .map(|load| load.substitute(&counter, &ahead))
                .filter(|index| is_visible(index, &within))
                .and_then(|index| index.to_expr());
        },
    );
    index
}

fn moves_by_one(index: &Poly, counter: &Atom) -> bool {
    index
        .linear_in(counter)
        .is_some_and(|(slope, _)| slope == Poly::constant(1))
}

/// Whether `index` is made of dimensions and counters of loops around.
fn is_visible(index: &Poly, scope: &Scope) -> bool {
    let counter = |var| {
        let of = |range: &crate::analyze::bounds::Range| range.counter && range.var == var;
        scope.ranges.iter().any(of)
    };
    index.vars().into_iter().all(counter)
}

/// The index of the first load of `buf`, in a loop over the same range directly inside the loop around, that walks
/// along a row of its own: in the next row, at the place of this loop.
fn next_row(program: &Program, found: &Found<'_>, buf: BufId) -> Result<Option<Expr>, String> {
    let axis = &program.var(found.inner.var).name;
    let Some(outer_range) = found.scope.ranges.last() else {
        return Err(format!("there is no regular loop around `{axis}`"));
    };
    let depth = found.scope.ranges.len();
    let outer = find(program, &program.var(outer_range.var).name)?;
    let within = found.scope.enter(program, found.inner);
    let Some(range) = within.ranges.get(depth) else {
        return Err(format!("the bounds of `{axis}` are no polynomials"));
    };
    let counter = Atom::Var(outer.inner.var);
    let ahead = Poly::atom(counter.clone()).plus(&Poly::constant(
        i64::try_from(outer.inner.step).unwrap_or(1),
    ));
    let mut next_row = None;
    let inside = outer.scope.enter(program, outer.inner);
    for_each_access(
        program,
        &outer.inner.body,
        &inside,
        &mut |at, of, index, is_store| {
            let Some(own) = at
                .ranges
                .get(depth)
                .filter(|_| at.ranges.len() == depth + 1)
            else {
                return;
            };
            let same_range = own.lo == range.lo && own.hi == range.hi;
            if of != buf || is_store || next_row.is_some() || !same_range {
                return;
            }
            let own = Atom::Var(own.var);
            next_row = poly::read(program, &at.definitions, index)
                .filter(|index| moves_by_one(index, &own) && index.mentions(&counter))
                .map(|index| {
                    index
                        .substitute(&own, &Poly::atom(Atom::Var(found.inner.var)))
                        .substitute(&counter, &ahead)
                })
                .filter(|index| is_visible(index, &within))
                .and_then(|index| index.to_expr());
        },
    );
    Ok(next_row)
}

#[cfg(test)]
mod tests {
    use crate::action::{Action, apply};
    use crate::ir::text::parse;

    const ROWS: &str = "\
kernel rows(x: [f32; rows, d], w: [f32; d], b: [u8; rows, d], out: mut [f32; rows, d]) dims(rows, d) {
  for r in 0..rows {
    let start: usize = r * d
    let mut sum: f32 = 0.0
    for i in 0..d {
      sum = sum + x[start + i]
    }
    for j in 1..d {
      out[r * d + j] = w[j] + b[start + j] as f32
    }
    for k in 0..d {
      out[r * d + k] = w[k] * sum
    }
  }
}
";

    fn after(action: &str) -> Result<String, String> {
        let action: Action = action.parse().unwrap();
        let program = parse(ROWS).unwrap();
        let program = apply(&program, &action).map_err(|illegal| illegal.reason)?;
        assert_eq!(crate::ir::verify::verify(&program), Ok(()));
        Ok(program.to_string())
    }

    #[test]
    fn the_next_row_of_a_load_elsewhere_is_asked_for() {
        for (axis, text) in [
            (
                "k",
                "    for k in 0..d {\n      prefetch x[k + r * d + d]\n",
            ),
            (
                "i",
                "    for i in 0..d {\n      prefetch x[i + r * d + d]\n",
            ),
        ] {
            let program = after(&format!("prefetch(x, {axis})")).unwrap();
            assert!(program.contains(text), "{program}");
        }
    }

    #[test]
    fn so_many_iterations_ahead_are_asked_for() {
        for (action, text) in [
            ("prefetch(x, i, ahead = 64)", "prefetch x[i + r * d + 64]\n"),
            ("prefetch(w, k, ahead = 1)", "prefetch w[k + 1]\n"),
        ] {
            let program = after(action).unwrap();
            assert!(program.contains(text), "{program}");
        }
    }

    #[test]
    fn what_has_no_next_row_is_refused() {
        for (action, reason) in [
            ("prefetch(w, k)", "not read row by row"),
            ("prefetch(out, k)", "not read row by row"),
            // Another range: the rows would not be of one length.
            ("prefetch(x, j)", "not read row by row"),
            ("prefetch(b, j)", "share a cache line"),
            (
                "prefetch(x, k, ahead = 1)",
                "not read element by element in `k`",
            ),
            ("prefetch(x, i, ahead = 0)", "between 1 and"),
            ("prefetch(x, r)", "not an innermost loop"),
            ("prefetch(y, k)", "there is no buffer `y`"),
            ("prefetch(x, z)", "there is no loop over `z`"),
        ] {
            let refusal = after(action).unwrap_err();
            assert!(refusal.contains(reason), "{action}: {refusal}");
        }
    }
}
