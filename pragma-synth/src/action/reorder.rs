//! Reordering: loops change places, temporaries become private, outer iterations go side by side.
//!
//! All three leave the order of the operations on each element as it was, so results stay the
//! same bit for bit.

use std::collections::{BTreeMap, BTreeSet};

use pragma_spec::Scalar;

use crate::analyze::bounds::for_each_access;
use crate::analyze::depend;
use crate::analyze::poly::{self, Atom};
use crate::analyze::reduce;
use crate::ir::{BinaryOp, BufRole, Expr, Loop, Mark, Program, Stmt, VarId};

use super::apply::{edit_at, find, find_buffer};

/// Makes the loop directly inside `outer` the outer one of the two.
pub(super) fn interchange(
    program: &Program,
    result: &mut Program,
    axis: &str,
) -> Result<(), String> {
    let found = find(program, axis)?;
    let outer = found.inner;
    let Some((Stmt::For(inner), lets)) = outer.body.split_last() else {
        return Err(format!("`{axis}` does not end in another loop"));
    };
    if outer.mark != Mark::Serial || inner.mark != Mark::Serial {
        return Err("interchange comes before other actions on the same loops".to_owned());
    }
    if outer.step != 1 || inner.step != 1 {
        return Err("a step is not 1".to_owned());
    }
    let written = depend::stored(&inner.body);
    let mut own = BTreeSet::from([outer.var]);
    for stmt in lets {
        let Stmt::Let { var, value } = stmt else {
            return Err(format!("`{axis}` does more than run another loop"));
        };
        let mut reads_written = false;
        value.walk(&mut |node| {
            reads_written |= matches!(node, Expr::Load { buf, .. } if written.contains(buf));
        });
        if program.var(*var).mutable || reads_written {
            return Err(format!("`{axis}` does more than run another loop"));
        }
        own.insert(*var);
    }
    if [&inner.lo, &inner.hi]
        .iter()
        .any(|bound| own.iter().any(|var| bound.mentions(*var)))
        || !depend::bounds_are_fixed(inner, &inner.body)
        || !depend::bounds_are_fixed(outer, &inner.body)
    {
        return Err("the inner loop depends on the outer one".to_owned());
    }
    if !straight(&inner.body) {
        return Err("the inner loop may be left, or makes a temporary".to_owned());
    }
    if let Some(var) = reduce::carried(&inner.body).first() {
        return Err(format!(
            "`{}` carries a value from one iteration to the next",
            program.var(*var).name
        ));
    }
    // Each element belongs to one iteration of the inner loop and meets the outer one in order.
    let mut within = found.scope.enter(program, outer);
    lets.iter().for_each(|stmt| within.pass(program, stmt));
    depend::iterations_are_private(program, &within, inner)
        .map_err(|hazard| hazard.describe(program))?;
    let inside = within.enter(program, inner);
    let mut shared = None;
    for_each_access(program, &inner.body, &inside, &mut |at, buf, index, _| {
        if !written.contains(&buf) {
            return;
        }
        let fixed = poly::read(program, &at.definitions, index)
            .is_some_and(|index| !index.mentions(&Atom::Var(outer.var)));
        if !fixed {
            shared = Some(buf);
        }
    });
    if let Some(buf) = shared {
        return Err(format!(
            "`{}` is written at different elements in each iteration of `{axis}`",
            program.buf(buf).name
        ));
    }
    let mut body = lets.to_vec();
    body.extend(inner.body.clone());
    let swapped = Loop {
        body: vec![Stmt::For(Loop {
            body,
            ..outer.clone()
        })],
        ..inner.clone()
    };
    edit_at(program, &mut result.body, axis, &mut |body, index| {
        body[index] = Stmt::For(swapped.clone());
    });
    *result = crate::simplify::promote(result);
    Ok(())
}

/// Whether a body runs from its start to its end and leaves nothing behind but what it stores.
fn straight(body: &[Stmt]) -> bool {
    let mut straight = true;
    for stmt in body {
        stmt.walk(&mut |stmt| {
            straight &= !matches!(
                stmt,
                Stmt::Break
                    | Stmt::Continue
                    | Stmt::Return(_)
                    | Stmt::Decline
                    | Stmt::Panic
                    | Stmt::Alloc { .. }
                    | Stmt::While { .. }
            );
        });
    }
    straight
}

/// Gives every iteration of a loop a temporary of its own.
pub(super) fn privatize(
    program: &Program,
    result: &mut Program,
    buffer: &str,
    axis: &str,
) -> Result<(), String> {
    let buf = find_buffer(program, buffer)?;
    if program.buf(buf).role != BufRole::Local {
        return Err(format!("`{buffer}` is not a temporary"));
    }
    let found = find(program, axis)?;
    let at = program
        .body
        .iter()
        .position(|stmt| matches!(stmt, Stmt::Alloc { buf: of, .. } if *of == buf))
        .ok_or_else(|| format!("`{buffer}` is not made at the start of the function"))?;
    if found.nested || found.inner.mark != Mark::Serial {
        return Err(format!("`{axis}` is inside another loop, or scheduled"));
    }
    let touches = |stmt: &Stmt| {
        let one = std::slice::from_ref(stmt);
        depend::loaded(one).contains(&buf) || depend::stored(one).contains(&buf)
    };
    let is_axis = |stmt: &Stmt| matches!(stmt, Stmt::For(inner) if inner.var == found.inner.var);
    if program
        .body
        .iter()
        .any(|stmt| touches(stmt) && !is_axis(stmt))
    {
        return Err(format!("`{buffer}` is also used outside of `{axis}`"));
    }
    let Stmt::Alloc { len, fill, .. } = &program.body[at] else {
        return Err(format!(
            "`{buffer}` is not made at the start of the function"
        ));
    };
    let mut fixed = true;
    for expr in [len, fill] {
        expr.walk(&mut |node| {
            fixed &= match node {
                Expr::Var(var) => !program.var(*var).mutable,
                Expr::Load { .. } => false,
                _ => true,
            };
        });
    }
    if !fixed {
        return Err(format!("the size of `{buffer}` may change"));
    }
    let within = found.scope.enter(program, found.inner);
    if !depend::written_first(program, &within, &found.inner.body, buf) {
        return Err(format!(
            "an iteration of `{axis}` may read what another one left in `{buffer}`"
        ));
    }
    let alloc = result.body.remove(at);
    edit_at(program, &mut result.body, axis, &mut |body, index| {
        if let Some(Stmt::For(inner)) = body.get_mut(index) {
            inner.body.insert(0, alloc.clone());
        }
    });
    Ok(())
}

/// Runs `factor` iterations of a loop side by side: its inner loops are shared by all of them.
pub(super) fn jam(
    program: &Program,
    result: &mut Program,
    axis: &str,
    factor: u64,
) -> Result<(), String> {
    if !(2..=8).contains(&factor) {
        return Err("factor must be between 2 and 8".to_owned());
    }
    let found = find(program, axis)?;
    let of = found.inner;
    if of.mark != Mark::Serial || of.step != 1 {
        return Err(format!("`{axis}` is already scheduled"));
    }
    let reductions = depend::parallelizable(program, &found.scope, of)
        .map_err(|hazard| hazard.describe(program))?;
    if !reductions.is_empty() {
        return Err(format!("`{axis}` reduces"));
    }
    if !straight(&of.body) {
        return Err(format!(
            "`{axis}` makes temporaries, or may leave an iteration early"
        ));
    }
    let mut serial = true;
    let mut varying = BTreeSet::from([of.var]);
    collect_lets(&of.body, &mut varying);
    for stmt in &of.body {
        stmt.walk(&mut |stmt| {
            if let Stmt::For(inner) = stmt {
                serial &= inner.mark == Mark::Serial;
                for bound in [&inner.lo, &inner.hi] {
                    serial &= !varying.iter().any(|var| bound.mentions(*var));
                    bound.walk(&mut |node| serial &= !matches!(node, Expr::Load { .. }));
                }
            }
        });
    }
    if !serial {
        return Err(
            "inner loops are scheduled, or run over other ranges in each iteration".to_owned(),
        );
    }
    // for axis_group in 0..(hi - lo) / factor { .. } for axis in lo + .. * factor..hi { .. }
    let group = result.add_var(&format!("{axis}_group"), Scalar::Usize, false);
    let count = if of.lo == Expr::index(0) {
        of.hi.clone()
    } else {
        Expr::binary(BinaryOp::Sub, of.hi.clone(), of.lo.clone())
    };
    let groups = Expr::binary(BinaryOp::Div, count, Expr::index(factor));
    let base = |group: Expr| {
        let offset = Expr::binary(BinaryOp::Mul, group, Expr::index(factor));
        if of.lo == Expr::index(0) {
            offset
        } else {
            Expr::binary(BinaryOp::Add, of.lo.clone(), offset)
        }
    };
    let (lo, hi) = (
        poly::read(program, &found.scope.definitions, &of.lo),
        poly::read(program, &found.scope.definitions, &of.hi),
    );
    let fits = match (lo, hi) {
        (Some(lo), Some(hi)) => {
            found.scope.is_nonnegative(&hi.minus(&lo)) && found.scope.is_nonnegative(&lo)
        }
        _ => false,
    };
    if !fits {
        return Err(format!(
            "the number of iterations of `{axis}` is not known to be a size"
        ));
    }
    let mut copies = Vec::new();
    let counters: BTreeSet<VarId> = counters(&of.body);
    for copy in 0..factor {
        let mut names: BTreeMap<VarId, VarId> = BTreeMap::new();
        for var in varying.iter().filter(|var| !counters.contains(var)) {
            let decl = program.var(*var).clone();
            names.insert(*var, result.add_var(&decl.name, decl.scalar, decl.mutable));
        }
        let start = base(Expr::Var(group));
        let value = match copy {
            0 => start,
            copy => Expr::binary(BinaryOp::Add, start, Expr::index(copy)),
        };
        let mut body = vec![Stmt::Let { var: of.var, value }];
        body.extend(of.body.clone());
        body.iter_mut().for_each(|stmt| rename(stmt, &names));
        copies.push(body);
    }
    let main = Loop {
        var: group,
        lo: Expr::index(0),
        hi: groups.clone(),
        step: 1,
        mark: Mark::Serial,
        body: side_by_side(copies),
    };
    let mut rest = Loop {
        lo: base(groups),
        ..of.clone()
    };
    // The remainder's inner loops are loops of their own, with names of their own.
    let mut names = BTreeMap::new();
    for var in counters.iter().chain(varying.iter()) {
        if *var == of.var {
            continue;
        }
        let decl = program.var(*var).clone();
        names
            .entry(*var)
            .or_insert_with(|| result.add_var(&decl.name, decl.scalar, decl.mutable));
    }
    rest.body.iter_mut().for_each(|stmt| rename(stmt, &names));
    edit_at(program, &mut result.body, axis, &mut |body, index| {
        body[index] = Stmt::For(main.clone());
        body.insert(index + 1, Stmt::For(rest.clone()));
    });
    Ok(())
}

fn collect_lets(body: &[Stmt], vars: &mut BTreeSet<VarId>) {
    for stmt in body {
        stmt.walk(&mut |stmt| {
            if let Stmt::Let { var, .. } = stmt {
                vars.insert(*var);
            }
        });
    }
}

fn counters(body: &[Stmt]) -> BTreeSet<VarId> {
    let mut vars = BTreeSet::new();
    for stmt in body {
        stmt.walk(&mut |stmt| {
            if let Stmt::For(inner) = stmt {
                vars.insert(inner.var);
            }
        });
    }
    vars
}

/// The statements of several copies of one body in turn, with one loop for the loops of all.
fn side_by_side(copies: Vec<Vec<Stmt>>) -> Vec<Stmt> {
    let mut columns: Vec<std::vec::IntoIter<Stmt>> =
        copies.into_iter().map(Vec::into_iter).collect();
    let mut out = Vec::new();
    loop {
        let row: Vec<Stmt> = columns.iter_mut().filter_map(Iterator::next).collect();
        match row.first() {
            None => return out,
            Some(Stmt::For(first)) => {
                let mut joint = first.clone();
                let bodies = row
                    .into_iter()
                    .map(|stmt| match stmt {
                        Stmt::For(inner) => inner.body,
                        other => vec![other],
                    })
                    .collect();
                joint.body = side_by_side(bodies);
                out.push(Stmt::For(joint));
            }
            Some(_) => out.extend(row),
        }
    }
}

fn rename(stmt: &mut Stmt, names: &BTreeMap<VarId, VarId>) {
    for expr in stmt.exprs_mut() {
        *expr = std::mem::replace(expr, Expr::Dim(0)).map(&mut |node| match node {
            Expr::Var(var) => Expr::Var(names.get(&var).copied().unwrap_or(var)),
            other => other,
        });
    }
    match stmt {
        Stmt::Let { var, .. } | Stmt::Assign { var, .. } => {
            *var = names.get(var).copied().unwrap_or(*var);
        }
        Stmt::For(inner) => inner.var = names.get(&inner.var).copied().unwrap_or(inner.var),
        _ => {}
    }
    for block in stmt.blocks_mut() {
        block.iter_mut().for_each(|stmt| rename(stmt, names));
    }
}

#[cfg(test)]
mod tests {
    use crate::action::{Action, apply};
    use crate::ir::text::parse;

    const PROGRAM: &str = "\
kernel k(a: [f32; m, k], b: [f32; k, n], c: mut [f32; m, n], s: mut [f32; n]) dims(m, k, n) {
  alloc row: local [f32; n] len n fill 0.0
  alloc sums: local [f32; n] len n fill 0.0
  for i in 0..m {
    for p in 0..k {
      let v: f32 = a[i * k + p]
      for j in 0..n {
        c[i * n + j] = c[i * n + j] + v * b[p * n + j]
      }
    }
  }
  for q in 0..n {
    for t in 0..q + 1 {
      row[t] = b[t]
    }
    let mut sum: f32 = 0.0
    for u in 0..q + 1 {
      sum = sum + row[u]
    }
    s[q] = sum
  }
  for x in 0..m {
    for y in 0..n {
      sums[y] = sums[y] + a[x * k]
    }
  }
  for e in 0..m {
    for f in 0..n {
      c[e * n + f] = c[f] + 1.0
    }
  }
}
";

    fn after(action: &str) -> Result<String, String> {
        let action: Action = action.parse().unwrap();
        let program = apply(&parse(PROGRAM).unwrap(), &action).map_err(|illegal| illegal.reason)?;
        assert_eq!(crate::ir::verify::verify(&program), Ok(()));
        Ok(program.to_string())
    }

    #[test]
    fn loops_change_places_and_the_accumulator_is_held() {
        let program = after("interchange(p)").unwrap();
        let wanted = "    for j in 0..n {
      let mut c_held: f32 = c[i * n + j]
      for p in 0..k {
        let v: f32 = a[i * k + p]
        c_held = c_held + v * b[p * n + j]
      }
      c[i * n + j] = c_held
    }
";
        assert!(program.contains(wanted), "{program}");
    }

    #[test]
    fn temporaries_become_private() {
        let program = after("privatize(row, q)").unwrap();
        let wanted = "  for q in 0..n {\n    alloc row: local [f32; n] len n fill 0.0\n";
        assert!(program.contains(wanted), "{program}");
    }

    #[test]
    fn iterations_go_side_by_side_through_one_inner_loop() {
        let program = after("jam(i, factor = 2)").unwrap();
        assert!(program.contains("for i_group in 0..m / 2 {"), "{program}");
        assert!(program.contains("for i in m / 2 * 2..m {"), "{program}");
        let main = program.split("for i in m / 2").next().unwrap();
        assert_eq!(main.matches("for p in 0..k {").count(), 1, "{program}");
        assert_eq!(main.matches("for j in 0..n {").count(), 1, "{program}");
        assert_eq!(main.matches("b[p * n + j]").count(), 2, "{program}");
    }

    #[test]
    fn what_would_change_results_is_refused() {
        for (action, reason) in [
            // The rows of `c` belong to iterations of `i`.
            ("interchange(i)", "the same element of `c`"),
            ("interchange(e)", "the same element of `c`"),
            ("interchange(q)", "does not end in another loop"),
            ("interchange(j)", "does not end in another loop"),
            ("privatize(sums, x)", "what another one left in `sums`"),
            ("privatize(row, i)", "outside of `i`"),
            ("privatize(c, i)", "is not a temporary"),
            // All rows add up in `sums`.
            ("jam(x, factor = 2)", "the same element of `sums`"),
            ("jam(e, factor = 2)", "the same element of `c`"),
            // Each iteration has a row of its own length.
            ("jam(q, factor = 2)", "the same element of `row`"),
            ("jam(i, factor = 1)", "between 2 and 8"),
        ] {
            let refusal = after(action).expect_err(action);
            assert!(refusal.contains(reason), "{action}: {refusal}");
        }
    }
}
