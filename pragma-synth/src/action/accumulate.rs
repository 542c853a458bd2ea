//! Accumulation in registers: `for k { for j { c[j] += .. } }` becomes `for j { for k { .. } }`.
//!
//! Owns the exchange of a loop over terms with the loops below it, with a scalar in place of the
//! element. Every element is still summed up in the order of the terms: the same bits.

use crate::analyze::bounds::Scope;
use crate::analyze::poly::{self, Atom, Poly};
use crate::analyze::reduce;
use crate::analyze::{depend, nest};
use crate::ir::{BufId, Expr, Loop, Program, Stmt, StoreHint, VarId};

use super::apply::{edit_at, find, find_buffer};

/// Exchanges the loop `over` with the nest below it that accumulates into `buffer`.
///
/// # Errors
/// What stands against it.
pub(crate) fn accumulate(program: &Program, buffer: &str, over: &str) -> Result<Program, String> {
    let buf = find_buffer(program, buffer)?;
    let found = find(program, over)?;
    let terms = found.inner;
    let sum = Sum::read(program, buf, terms)?;
    sum.check(program, &found.scope, terms)?;
    let mut result = program.clone();
    let acc = result.add_var(&format!("{buffer}_sum"), program.buf(buf).elem, true);
    let mut done = Err(format!("there is no loop over `{over}`"));
    edit_at(program, &mut result.body, over, &mut |body, at| {
        let first = at.checked_sub(1).and_then(|before| body.get(before));
        let start = first.and_then(|first| sum.start(program, &found.scope, first));
        if start.is_some() {
            body.remove(at - 1);
        }
        let place = if start.is_some() { at - 1 } else { at };
        body[place] = sum.rebuilt(terms, acc, start);
        done = Ok(());
    });
    done.map(|()| result)
}

/// What a loop over terms does.
struct Sum<'a> {
    /// The loops below, outermost first.
    loops: Vec<&'a Loop>,
    /// Definitions that are the same for every term.
    fixed: Vec<Stmt>,
    /// Definitions that are not.
    varying: Vec<Stmt>,
    buf: BufId,
    index: &'a Expr,
    value: &'a Expr,
    hint: StoreHint,
}

impl<'a> Sum<'a> {
    fn read(program: &Program, buf: BufId, terms: &'a Loop) -> Result<Self, String> {
        let mut loops: Vec<&Loop> = Vec::new();
        let mut fixed = Vec::new();
        let mut varying = Vec::new();
        // Counters and definitions that differ from term to term.
        let mut different = vec![terms.var];
        let mut body = &terms.body;
        loop {
            let Some((last, before)) = body.split_last() else {
                return Err("the loop is empty".to_owned());
            };
            for stmt in before {
                let Stmt::Let { var, value } = stmt else {
                    return Err("it does more than to accumulate".to_owned());
                };
                if program.var(*var).mutable {
                    return Err("it changes a variable".to_owned());
                }
                if different.iter().any(|other| value.mentions(*other)) {
                    different.push(*var);
                    varying.push(stmt.clone());
                } else if loops.is_empty() {
                    // In front of the loops: it goes along with the terms, and so does what needs it.
                    different.push(*var);
                    varying.push(stmt.clone());
                } else {
                    fixed.push(stmt.clone());
                }
            }
            match last {
                Stmt::For(inner) => {
                    let differs = |expr: &Expr| different.iter().any(|var| expr.mentions(*var));
                    if differs(&inner.lo) || differs(&inner.hi) {
                        return Err("the loops below depend on the term".to_owned());
                    }
                    loops.push(inner);
                    body = &inner.body;
                }
                Stmt::Store {
                    buf: stored,
                    index,
                    value,
                    hint,
                } if *stored == buf && !loops.is_empty() => {
                    if different.iter().any(|var| index.mentions(*var)) {
                        return Err("the element depends on the term".to_owned());
                    }
                    return Ok(Sum {
                        loops,
                        fixed,
                        varying,
                        buf,
                        index,
                        value,
                        hint: *hint,
                    });
                }
                _ => return Err("it does not end in a store to that buffer".to_owned()),
            }
        }
    }

    /// The value with `acc` in place of the element.
    fn updated(&self, acc: VarId) -> Expr {
        let (buf, index) = (self.buf, self.index.clone());
        self.value.clone().map(&mut |node| match node {
            Expr::Load { buf: b, index: i } if b == buf && *i == index => Expr::Var(acc),
            other => other,
        })
    }

    fn check(&self, program: &Program, scope: &Scope, terms: &Loop) -> Result<(), String> {
        let fixed = terms.step == 1 && depend::bounds_are_fixed(terms, &terms.body);
        if !fixed {
            return Err("the loop over terms has no fixed range".to_owned());
        }
        // A stand-in that no expression mentions.
        let stand_in = VarId(program.vars.len() as u32);
        let updated = self.updated(stand_in);
        let mut again = false;
        let mut look = |expr: &Expr| {
            expr.walk(&mut |node| {
                again |= matches!(node, Expr::Load { buf, .. } if *buf == self.buf);
            });
        };
        look(&updated);
        for stmt in self.fixed.iter().chain(&self.varying) {
            stmt.exprs().into_iter().for_each(&mut look);
        }
        if again || reduce::update(stand_in, &updated).is_none() {
            return Err("the elements are not accumulated one by one".to_owned());
        }
        let within = scope.enter(program, terms);
        nest::independent(program, &within, &self.loops).map_err(|hazard| hazard.describe(program))
    }

    /// The value that each element starts from, if `before` is a loop that does nothing but set
    /// those elements.
    fn start(&self, program: &Program, scope: &Scope, before: &Stmt) -> Option<Expr> {
        let (Stmt::For(first), [only]) = (before, self.loops.as_slice()) else {
            return None;
        };
        let [
            Stmt::Store {
                buf, index, value, ..
            },
        ] = first.body.as_slice()
        else {
            return None;
        };
        if *buf != self.buf
            || (&first.lo, &first.hi, first.step) != (&only.lo, &only.hi, only.step)
            || !crate::ir::interp::is_safe(program, value)
        {
            return None;
        }
        let wanted = poly::read(program, &scope.definitions, self.index)?;
        let found = poly::read(program, &scope.definitions, index)?;
        let renamed = found.substitute(&Atom::Var(first.var), &Poly::atom(Atom::Var(only.var)));
        let counter = only.var;
        (renamed == wanted).then(|| {
            value.clone().map(&mut |node| match node {
                Expr::Var(var) if var == first.var => Expr::Var(counter),
                other => other,
            })
        })
    }

    fn rebuilt(&self, terms: &Loop, acc: VarId, start: Option<Expr>) -> Stmt {
        let mut sum = self.varying.clone();
        sum.push(Stmt::Assign {
            var: acc,
            value: self.updated(acc),
        });
        let mut body = self.fixed.clone();
        body.push(Stmt::Let {
            var: acc,
            value: start.unwrap_or_else(|| Expr::load(self.buf, self.index.clone())),
        });
        body.push(Stmt::For(Loop {
            body: sum,
            ..terms.clone()
        }));
        body.push(Stmt::Store {
            buf: self.buf,
            index: self.index.clone(),
            value: Expr::Var(acc),
            hint: self.hint,
        });
        for of in self.loops.iter().rev() {
            body = vec![Stmt::For(Loop {
                body,
                ..(*of).clone()
            })];
        }
        body.remove(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::text::parse;
    use crate::ir::verify::verify;

    fn exchanged(body: &str) -> Result<String, String> {
        let text = format!(
            "kernel k(a: [f32; m, k], b: [f32; k, n], c: mut [f32; m, n]) dims(m, k, n) {{ {body} }}"
        );
        let program = parse(&text).unwrap();
        let result = accumulate(&program, "c", "p")?;
        assert_eq!(verify(&result), Ok(()), "{result}");
        Ok(result.to_string())
    }

    #[test]
    fn the_loop_over_terms_moves_inside() {
        let text = exchanged(
            "for i in 0..m {
               for z in 0..n { c[i * n + z] = 0.0 }
               for p in 0..k {
                 let v: f32 = a[i * k + p]
                 for j in 0..n { c[i * n + j] = c[i * n + j] + v * b[p * n + j] }
               }
             }",
        )
        .unwrap();
        let body: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            body.contains(
                "for i in 0..m { for j in 0..n { let mut c_sum: f32 = 0.0 for p in 0..k { let v: f32 = a[i * k + p] c_sum = c_sum + v * b[p * n + j] } c[i * n + j] = c_sum } }"
            ),
            "{body}"
        );
    }

    #[test]
    fn terms_outside_of_two_loops() {
        let text = exchanged(
            "for p in 0..k { for i in 0..m { let v: f32 = a[i * k + p]
               for j in 0..n { c[i * n + j] = c[i * n + j] + v * b[p * n + j] } } }",
        )
        .unwrap();
        let body: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(body.contains("for i in 0..m { for j in 0..n { let mut c_sum: f32 = c[i * n + j] for p in 0..k { let v: f32 = a[i * k + p] c_sum"), "{body}");
    }

    #[test]
    fn what_depends_on_the_term_stays() {
        for body in [
            // The element moves with the term.
            "for p in 0..k { for j in 0..n { c[p * n + j] = c[p * n + j] + b[p * n + j] } }",
            // Another element of the same buffer is read.
            "for p in 0..k { for j in 0..n { c[j] = c[j] + c[n + j] } }",
            // No accumulation.
            "for p in 0..k { for j in 0..n { c[j] = b[p * n + j] } }",
            // All terms and columns in one element.
            "for p in 0..k { for j in 0..n { c[0] = c[0] + b[p * n + j] } }",
        ] {
            assert!(exchanged(body).is_err(), "{body}");
        }
    }
}
