//! A load that is sure to see a store of the same iteration takes the stored value instead.
//!
//! `*o = f(v); sum += *o;` becomes `let o_new = f(v); out[i] = o_new; sum = sum + o_new`: the
//! buffer is then only written in that loop and may be staged or streamed.

use crate::ir::{BufId, Expr, Program, Stmt, StoreHint, VarId};

/// Applies the rewrite everywhere.
pub(super) fn forward_stores(program: &Program) -> Program {
    let mut result = program.clone();
    let body = std::mem::take(&mut result.body);
    result.body = block(&mut result, body);
    result
}

/// A store whose value is still in a variable.
struct Available {
    buf: BufId,
    index: Expr,
    value: VarId,
}

fn block(program: &mut Program, body: Vec<Stmt>) -> Vec<Stmt> {
    let mut out: Vec<Stmt> = Vec::new();
    let mut available: Vec<Available> = Vec::new();
    let mut rest = body.into_iter().collect::<std::collections::VecDeque<_>>();
    while let Some(mut stmt) = rest.pop_front() {
        for inner in stmt.blocks_mut() {
            let statements = std::mem::take(inner);
            *inner = block(program, statements);
        }
        let written = crate::analyze::depend::stored(std::slice::from_ref(&stmt));
        for expr in stmt.exprs_mut() {
            substitute(expr, &available);
        }
        if !matches!(stmt, Stmt::While { .. }) {
            for inner in stmt.blocks_mut() {
                inner
                    .iter_mut()
                    .for_each(|stmt| substitute_all(stmt, &available, &written));
            }
        }
        match stmt {
            Stmt::Store {
                buf,
                index,
                value,
                hint,
            } => {
                available.retain(|entry| entry.buf != buf);
                if !read_again(&rest, buf, &index) {
                    out.push(Stmt::Store {
                        buf,
                        index,
                        value,
                        hint,
                    });
                    continue;
                }
                let value_var = keep(program, &mut out, buf, value, hint, &index);
                available.push(Available {
                    buf,
                    index,
                    value: value_var,
                });
            }
            other => {
                available.retain(|entry| {
                    !written.contains(&entry.buf) && !changes(&other, &entry.index)
                });
                out.push(other);
            }
        }
    }
    out
}

/// Writes `let new = value; buf[index] = new`.
fn keep(
    program: &mut Program,
    out: &mut Vec<Stmt>,
    buf: BufId,
    value: Expr,
    hint: StoreHint,
    index: &Expr,
) -> VarId {
    let decl = program.buf(buf);
    let (name, elem) = (format!("{}_new", decl.name), decl.elem);
    let var = program.add_var(&name, elem, false);
    out.push(Stmt::Let { var, value });
    out.push(Stmt::Store {
        buf,
        index: index.clone(),
        value: Expr::Var(var),
        hint,
    });
    var
}

/// Whether a statement to come, before the next store to the buffer, loads this very element.
fn read_again(rest: &std::collections::VecDeque<Stmt>, buf: BufId, index: &Expr) -> bool {
    for stmt in rest {
        let mut found = false;
        stmt.walk(&mut |stmt| {
            for expr in stmt.exprs() {
                expr.walk(&mut |node| {
                    found |= matches!(node, Expr::Load { buf: b, index: at } if *b == buf && **at == *index);
                });
            }
        });
        if found {
            return true;
        }
        if crate::analyze::depend::stored(std::slice::from_ref(stmt)).contains(&buf)
            || changes(stmt, index)
        {
            return false;
        }
    }
    false
}

fn substitute(expr: &mut Expr, available: &[Available]) {
    *expr = std::mem::replace(expr, Expr::Dim(0)).map(&mut |node| match node {
        Expr::Load { buf, index } => {
            match available
                .iter()
                .find(|entry| entry.buf == buf && entry.index == *index)
            {
                Some(entry) => Expr::Var(entry.value),
                None => Expr::Load { buf, index },
            }
        }
        other => other,
    });
}

/// Substitutes in a nested statement, for the buffers that the block around does not store to.
fn substitute_all(
    stmt: &mut Stmt,
    available: &[Available],
    written: &std::collections::BTreeSet<BufId>,
) {
    let usable: Vec<Available> = available
        .iter()
        .filter(|entry| !written.contains(&entry.buf))
        .map(|entry| Available {
            buf: entry.buf,
            index: entry.index.clone(),
            value: entry.value,
        })
        .collect();
    for expr in stmt.exprs_mut() {
        substitute(expr, &usable);
    }
    for inner in stmt.blocks_mut() {
        inner
            .iter_mut()
            .for_each(|stmt| substitute_all(stmt, available, written));
    }
}

/// Whether the statement changes a variable or an element that `index` depends on.
fn changes(stmt: &Stmt, index: &Expr) -> bool {
    let mut changed = false;
    let written = crate::analyze::depend::stored(std::slice::from_ref(stmt));
    index.walk(&mut |node| {
        if let Expr::Load { buf, .. } = node {
            changed |= written.contains(buf);
        }
    });
    stmt.walk(&mut |stmt| {
        if let Stmt::Assign { var, .. } = stmt {
            changed |= index.mentions(*var);
        }
    });
    changed
}

#[cfg(test)]
mod tests {
    use crate::ir::text::parse;
    use crate::simplify::simplify;

    fn simplified(text: &str) -> String {
        simplify(&parse(text).unwrap()).to_string()
    }

    #[test]
    fn a_stored_value_is_used_directly() {
        let text = simplified(
            "kernel k(x: [f32; n], out: mut [f32; n]) -> f32 dims(n) {
               let mut sum: f32 = 0.0
               for i in 0..n {
                 out[i] = exp(x[i])
                 sum = sum + out[i]
               }
               return(sum)
             }",
        );
        assert!(text.contains("let out_new: f32 = exp(x[i])"), "{text}");
        assert!(text.contains("out[i] = out_new"), "{text}");
        assert!(text.contains("sum = sum + out_new"), "{text}");
    }

    #[test]
    fn an_overwritten_or_moved_element_is_loaded() {
        for text in [
            // Another element, maybe the same one.
            "kernel k(out: mut [f32; n]) dims(n) { out[0] = 1.0 out[n - 1] = 2.0 out[1] = out[0] }",
            // The index has changed since.
            "kernel k(out: mut [f32; n]) dims(n) {
               let mut i: usize = 0
               out[i] = 1.0
               i = i + 1
               out[0] = out[i]
             }",
        ] {
            let before = parse(text).unwrap().to_string();
            assert_eq!(simplified(text), before);
        }
    }

    #[test]
    fn inner_loops_that_only_read_see_the_value() {
        let text = simplified(
            "kernel k(x: [f32; n], out: mut [f32; n], acc: mut [f32; n]) dims(n) {
               for i in 0..n {
                 out[i] = x[i] * 2.0
                 for j in 0..n { acc[j] = acc[j] + out[i] }
               }
             }",
        );
        assert!(text.contains("acc[j] = acc[j] + out_new"), "{text}");
    }
}
