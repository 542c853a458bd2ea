//! Nests of loops whose iterations, taken together, are independent.
//!
//! Owns the test that the iterations of a whole nest touch different elements, where a loop of it
//! alone could not be shown to: `out[j * n + i]` for `i` in `0..n`. Sound and incomplete, like
//! `depend`, whose test it complements.

use crate::ir::{BufId, Loop, Program, Stmt};

use super::bounds::{Scope, for_each_access};
use super::depend::{self, Hazard};
use super::poly::{self, Atom, Poly};
use super::reduce;

/// Whether the iterations of the nest may run in any order. `loops` are outermost first, each
/// directly in the one before but for definitions; `scope` is that around the first one.
///
/// # Errors
/// The first hazard found.
pub fn independent(program: &Program, scope: &Scope, loops: &[&Loop]) -> Result<(), Hazard> {
    let Some(innermost) = loops.last() else {
        return Ok(());
    };
    let mut inside = scope.clone();
    for (at, of) in loops.iter().enumerate() {
        let rectangular = loops[..at]
            .iter()
            .all(|outer| !of.lo.mentions(outer.var) && !of.hi.mentions(outer.var));
        if of.step != 1 || !rectangular || !depend::bounds_are_fixed(of, &of.body) {
            return Err(Hazard::Body("it is no plain nest of loops"));
        }
        inside = inside.enter(program, of);
        for stmt in &of.body {
            if let Stmt::Let { var, value } = stmt {
                inside.define(program, *var, value);
            }
        }
    }
    let mut leaves = false;
    for stmt in &innermost.body {
        stmt.walk(&mut |stmt| leaves |= matches!(stmt, Stmt::Return(_)));
    }
    if leaves || depend::jumps(&innermost.body) {
        return Err(Hazard::Exit);
    }
    if let Some(var) = reduce::carried(&innermost.body).first() {
        return Err(Hazard::Carried(*var));
    }
    let written = depend::stored(&innermost.body);
    let private = depend::allocated(&innermost.body);
    let mut found: Vec<(BufId, Poly)> = Vec::new();
    let mut hazard = None;
    for_each_access(
        program,
        &innermost.body,
        &inside,
        &mut |at, buf, index, _| {
            if !written.contains(&buf) || private.contains(&buf) || hazard.is_some() {
                return;
            }
            let Some(index) = poly::read(program, &at.definitions, index) else {
                hazard = Some(Hazard::Buffer(buf));
                return;
            };
            match found.iter().find(|(other, _)| *other == buf) {
                Some((_, known)) if *known == index => {}
                Some(_) => hazard = Some(Hazard::Buffer(buf)),
                None => found.push((buf, index)),
            }
        },
    );
    if let Some(hazard) = hazard {
        return Err(hazard);
    }
    for (buf, index) in found {
        if !is_injective(program, scope, loops, &index) {
            return Err(Hazard::Buffer(buf));
        }
    }
    Ok(())
}

/// Whether no two iterations of the nest have the same value of `index`: the counters are the
/// digits of a number in a mixed base.
fn is_injective(program: &Program, scope: &Scope, loops: &[&Loop], index: &Poly) -> bool {
    let mut digits = Vec::new();
    let mut rest = index.clone();
    for of in loops {
        let Some((slope, others)) = rest.linear_in(&Atom::Var(of.var)) else {
            return false;
        };
        let bounds = (
            poly::read(program, &scope.definitions, &of.lo),
            poly::read(program, &scope.definitions, &of.hi),
        );
        let (Some(lo), Some(hi)) = bounds else {
            return false;
        };
        digits.push((slope, hi.minus(&lo).minus(&Poly::constant(1))));
        rest = others;
    }
    let fixed = |poly: &Poly| {
        poly.vars().iter().all(|var| {
            loops.iter().all(|of| of.var != *var) && !depend::declares(&loops[0].body, *var)
        })
    };
    let plain = fixed(&rest) && digits.iter().all(|(slope, _)| fixed(slope));
    plain && has_order(scope, &digits, &Poly::default())
}

/// Whether the digits, in some order, each weigh more than all before them together.
fn has_order(scope: &Scope, digits: &[(Poly, Poly)], reach: &Poly) -> bool {
    if digits.is_empty() {
        return true;
    }
    digits.iter().enumerate().any(|(at, (slope, most))| {
        let heavier = slope.minus(reach).minus(&Poly::constant(1));
        if !slope.is_nonnegative_termwise() || !scope.is_nonnegative(&heavier) {
            return false;
        }
        let mut others = digits.to_vec();
        others.remove(at);
        has_order(scope, &others, &reach.plus(&slope.times(most)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::text::parse;

    fn holds(index: &str) -> bool {
        let text = format!(
            "kernel k(out: mut [f32; a, b, c]) dims(a, b, c) {{
               for i in 0..a {{ for j in 0..b {{ for k in 0..c {{ out[{index}] = 1.0 }} }} }} }}"
        );
        let program = parse(&text).unwrap();
        let Stmt::For(i) = &program.body[0] else {
            unreachable!()
        };
        let Stmt::For(j) = &i.body[0] else {
            unreachable!()
        };
        let Stmt::For(k) = &j.body[0] else {
            unreachable!()
        };
        independent(&program, &Scope::default(), &[i, j, k]).is_ok()
    }

    #[test]
    fn digits_in_any_order_are_independent() {
        assert!(holds("(i * b + j) * c + k"));
        assert!(holds("(j * a + i) * c + k"));
        assert!(holds("(k * b + j) * a + i"));
        assert!(!holds("(i * b + j) * c + j"));
        assert!(!holds("i * b + j + k"));
        assert!(!holds("(i * a + j) * c + k"));
        assert!(!holds("i * c + k"));
    }
}
