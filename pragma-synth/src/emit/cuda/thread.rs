//! Statements that one thread executes, one after the other.
//!
//! Owns control flow and declarations. How expressions look is `expr`'s business; which threads
//! get here is the mappings'.

use crate::analyze::depend;
use crate::emit::EmitError;
use crate::emit::lines::Lines;
use crate::ir::{BufRole, Const, Expr, Loop, Stmt};

use super::expr::{Spell, element_type, value_type};

/// The most elements of a temporary array that a thread may have for itself.
const LARGEST_LOCAL: i128 = 1024;

/// What leaving the function means in a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Leaving {
    /// The thread is the only one: results are written and the kernel ends.
    Returns,
    /// Many threads run: there is nothing to return, but a thread may stop.
    Stops,
    /// Other threads wait for this one.
    Never,
}

/// A scalar statement.
pub(super) fn scalar(out: &mut Lines, stmt: &Stmt, spell: &Spell<'_>) {
    match stmt {
        Stmt::Let { var, value } => {
            let decl = spell.program.var(*var);
            let constant = if decl.mutable { "" } else { "const " };
            out.line(format!(
                "{constant}{} {} = {};",
                value_type(decl.scalar),
                decl.name,
                spell.text(value)
            ));
        }
        Stmt::Assign { var, value } => {
            out.line(format!("{} = {};", spell.var(*var), spell.text(value)));
            for (_, text) in spell.origins.iter().filter(|(origin, _)| origin == var) {
                out.line(text);
            }
        }
        _ => {}
    }
}

/// Statements in order. Definitions stay known to `spell` to the end of the block.
pub(super) fn block(
    out: &mut Lines,
    body: &[Stmt],
    spell: &Spell<'_>,
    leaving: Leaving,
) -> Result<(), EmitError> {
    let mut spell = spell.clone();
    for stmt in body {
        statement(out, stmt, &mut spell, leaving)?;
        if let Stmt::Let { var, value } = stmt {
            spell.scope.define(spell.program, *var, value);
        }
    }
    Ok(())
}

fn statement(
    out: &mut Lines,
    stmt: &Stmt,
    spell: &mut Spell<'_>,
    leaving: Leaving,
) -> Result<(), EmitError> {
    match stmt {
        Stmt::Let { .. } | Stmt::Assign { .. } => scalar(out, stmt, spell),
        Stmt::Store {
            buf, index, value, ..
        } => out.line(spell.store(*buf, index, value)),
        Stmt::Alloc { buf, len, fill } => {
            let decl = spell.program.buf(*buf);
            let count = match len {
                Expr::Const(Const::Int(_, count)) if *count <= LARGEST_LOCAL => *count,
                _ => {
                    return Err(EmitError(format!(
                        "`{}` is a temporary array of a size that is not known to be small",
                        decl.name
                    )));
                }
            };
            if decl.role != BufRole::Local {
                return Err(EmitError(format!(
                    "`{}` is filled inside a loop",
                    decl.name
                )));
            }
            let (name, ty) = (&decl.name, element_type(decl.elem));
            let fill = spell.narrowed(decl.elem, spell.text(fill));
            out.line(format!("{ty} {name}[{}];", count.max(1)));
            out.line("#pragma unroll");
            out.line(format!(
                "for (int at = 0; at < {count}; at++) {name}[at] = {fill};"
            ));
            spell.own.push((*buf, count.to_string()));
        }
        Stmt::For(inner) => {
            out.open(loop_head(inner, spell));
            let mut within = spell.clone();
            within.scope = spell.scope.enter(spell.program, inner);
            block(out, &inner.body, &within, leaving)?;
            out.close("}");
        }
        Stmt::While { cond, body } => {
            out.open(format!("while ({}) {{", spell.text(cond)));
            block(out, body, spell, leaving)?;
            out.close("}");
        }
        Stmt::If {
            cond,
            then,
            otherwise,
        } => {
            out.open(format!("if ({}) {{", spell.text(cond)));
            block(out, then, spell, leaving)?;
            if !otherwise.is_empty() {
                out.reopen("} else {");
                block(out, otherwise, spell, leaving)?;
            }
            out.close("}");
        }
        // Other threads of the warp hide the latency that this is for.
        Stmt::Prefetch { .. } => {}
        Stmt::Decline => return Err(EmitError("it may decline".to_owned())),
        Stmt::Break => out.line("break;"),
        Stmt::Continue => out.line("continue;"),
        Stmt::Return(values) => {
            if leaving != Leaving::Returns {
                return Err(EmitError("a mapped loop returns".to_owned()));
            }
            super::write_results(out, values, spell);
            out.line("return;");
        }
        Stmt::Panic => {
            if leaving == Leaving::Never {
                return Err(EmitError(
                    "a loop that a team of threads shares may panic".to_owned(),
                ));
            }
            let mut uses = spell.uses.borrow_mut();
            uses.fault = true;
            uses.helpers.insert("fault");
            out.line("report(fault);");
            out.line("return;");
        }
    }
    Ok(())
}

/// `for (usize i = lo; i < hi; i++) {`.
pub(super) fn loop_head(inner: &Loop, spell: &Spell<'_>) -> String {
    let name = &spell.program.var(inner.var).name;
    let (lo, hi) = (spell.bound(&inner.lo), spell.bound(&inner.hi));
    // The end is evaluated once: it may change while the loop runs.
    if !depend::bounds_are_fixed(inner, &inner.body) {
        let step = inner.step;
        return format!(
            "for (usize {name} = {lo}, {name}_end = {hi}; {name} < {name}_end; {name} += {step}) {{"
        );
    }
    let step = match inner.step {
        1 => format!("{name}++"),
        step => format!("{name} += {step}"),
    };
    format!("for (usize {name} = {lo}; {name} < {hi}; {step}) {{")
}
