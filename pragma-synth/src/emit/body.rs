//! Statements of a kernel: scalar code, and the dispatch of loops by their marks.

use std::collections::BTreeSet;

use pragma_spec::Scalar;

use crate::analyze::bounds::Scope;
use crate::analyze::{depend, traffic};
use crate::ir::{BufRole, Const, Expr, Loop, Mark, Program, Stmt, VarId};

use super::EmitError;
use super::lines::Lines;
use super::native::{Native, constant};

/// One kernel source file being written.
pub(super) struct Unit<'a> {
    pub program: &'a Program,
    pub entry: &'a str,
    /// Whether a product and a sum may become one operation.
    pub contract: bool,
    /// The attribute line of every function.
    pub features: String,
    /// Functions besides the entry, finished.
    pub functions: Vec<String>,
    pub uses: Uses,
    /// Whether streaming stores were written that no fence follows yet.
    pub streams_pending: bool,
}

/// What the file must import or define.
#[derive(Default)]
pub(super) struct Uses {
    pub types: BTreeSet<&'static str>,
    pub lanes: bool,
    pub fence: bool,
    pub blocks: bool,
    pub shared: bool,
    pub shared_const: bool,
    pub checked: bool,
    pub checked_run: bool,
}

pub(super) type Outcome = Result<(), EmitError>;

impl<'a> Unit<'a> {
    pub fn native(&self, scope: &Scope) -> Native<'a> {
        Native {
            program: self.program,
            names: Default::default(),
            scope: scope.clone(),
        }
    }

    /// Writes statements in scalar code; loops go by their marks.
    pub fn block(&mut self, out: &mut Lines, body: &[Stmt], scope: &Scope) -> Outcome {
        let mut scope = scope.clone();
        for stmt in body {
            self.stmt(out, stmt, &scope)?;
            scope.pass(self.program, stmt);
        }
        Ok(())
    }

    /// Writes the fence that streaming stores need before other threads may look.
    pub fn fence(&mut self, out: &mut Lines) {
        if self.streams_pending {
            out.line("// Streaming stores become visible to other threads here.");
            out.line("simd::stream_fence();");
        }
    }

    fn stmt(&mut self, out: &mut Lines, stmt: &Stmt, scope: &Scope) -> Outcome {
        let native = self.native(scope);
        self.note_checks(stmt, scope);
        match stmt {
            Stmt::Let { var, value } => {
                let decl = self.program.var(*var);
                let keyword = if decl.mutable { "let mut" } else { "let" };
                out.line(format!(
                    "{keyword} {}: {} = {};",
                    decl.name,
                    decl.scalar,
                    native.text(value)
                ));
            }
            Stmt::Assign { var, value } => {
                out.line(format!("{} = {};", native.var(*var), native.text(value)));
            }
            Stmt::Store {
                buf, index, value, ..
            } => {
                out.line(format!(
                    "*{} = {};",
                    native.place(*buf, index),
                    native.text(value)
                ));
            }
            // Only vector loops are fast enough to wait for memory.
            Stmt::Prefetch { .. } => {}
            Stmt::Alloc { buf, len, fill } => {
                let name = &self.program.buf(*buf).name;
                let fill = native.print_typed(fill).text;
                if self.program.buf(*buf).role == BufRole::Return {
                    // Both are evaluated out of reach of the names used here.
                    out.open("{");
                    let len = native.text(len);
                    out.line(format!("let (fill, len): (_, usize) = ({fill}, {len});"));
                    out.open("for i in 0..len {");
                    out.line(format!("*{name}.add(i) = fill;"));
                    out.close("}");
                    out.close("}");
                    return Ok(());
                }
                match len {
                    Expr::Const(Const::Int(_, n)) if *n <= 4096 => {
                        out.line(format!("let mut {name} = [{fill}; {n}];"));
                    }
                    _ => out.line(format!(
                        "let mut {name} = vec![{fill}; {}];",
                        native.text(len)
                    )),
                }
                out.line(format!("let {name}_len = {name}.len();"));
                // The pointer shadows its owner, which lives on to the end of the block.
                out.line(format!("let {name} = {name}.as_mut_ptr();"));
            }
            Stmt::For(inner) => match inner.mark {
                Mark::Serial => self.serial(out, inner, scope)?,
                Mark::Unroll { factor } => self.unrolled(out, inner, scope, factor)?,
                Mark::Vector { unroll } => {
                    let hi = native.text(&inner.hi);
                    let lo = native.text(&inner.lo);
                    self.vector_loop(out, inner, scope, (&lo, &hi), unroll)?;
                }
                Mark::Parallel { .. } | Mark::ParallelVector { .. } => {
                    self.parallel_loop(out, inner, scope)?;
                }
            },
            Stmt::While { cond, body } => {
                out.open(format!("while {} {{", native.text(cond)));
                self.block(out, body, &scope.given(self.program, cond, true))?;
                out.close("}");
            }
            Stmt::If {
                cond,
                then,
                otherwise,
            } => {
                out.open(format!("if {} {{", native.text(cond)));
                self.block(out, then, &scope.given(self.program, cond, true))?;
                if !otherwise.is_empty() {
                    out.reopen("} else {");
                    self.block(out, otherwise, &scope.given(self.program, cond, false))?;
                }
                out.close("}");
            }
            Stmt::Break => out.line("break;"),
            Stmt::Continue => out.line("continue;"),
            Stmt::Return(values) => {
                self.fence(out);
                let values: Vec<String> = values.iter().map(|value| native.text(value)).collect();
                let value = match values.as_slice() {
                    [one] => one.clone(),
                    many => format!("({})", many.join(", ")),
                };
                out.line(match (self.program.declines(), values.is_empty()) {
                    (true, _) => format!("return Some({value});"),
                    (false, true) => "return;".to_owned(),
                    (false, false) => format!("return {value};"),
                });
            }
            Stmt::Panic => out.line("panic!(\"the function panics for these arguments\");"),
            Stmt::Decline => out.line("return None;"),
        }
        Ok(())
    }

    /// Takes note if an access directly in `stmt` needs the `checked` helper.
    pub fn note_checks(&mut self, stmt: &Stmt, scope: &Scope) {
        let mut unproven = false;
        for expr in stmt.exprs() {
            expr.walk(&mut |node| {
                if let Expr::Load { buf, index } = node {
                    unproven |= !scope.is_in_bounds(self.program, *buf, index);
                }
            });
        }
        if let Stmt::Store { buf, index, .. } = stmt {
            unproven |= !scope.is_in_bounds(self.program, *buf, index);
        }
        self.uses.checked |= unproven;
    }

    pub fn serial(&mut self, out: &mut Lines, inner: &Loop, scope: &Scope) -> Outcome {
        let native = self.native(scope);
        let name = &self.program.var(inner.var).name;
        // Between two bare literals the counter would have no type.
        let lo = native.print_beside(&inner.lo, &inner.hi).text;
        let hi = native.text(&inner.hi);
        let within = scope.enter(self.program, inner);
        let hoisted = self.hoist_allocs(out, inner, scope)?;
        let range = match inner.step {
            1 => format!("{lo}..{hi}"),
            step => format!("({lo}..{hi}).step_by({step})"),
        };
        out.open(format!("for {name} in {range} {{"));
        self.block(out, &inner.body[hoisted..], &within)?;
        out.close("}");
        Ok(())
    }

    /// Writes the temporaries at the head of a loop body in front of the loop where every
    /// iteration overwrites them, and says how many statements that took care of.
    pub fn hoist_allocs(
        &mut self,
        out: &mut Lines,
        inner: &Loop,
        scope: &Scope,
    ) -> Result<usize, EmitError> {
        // The same in every iteration, and harmless where there is none.
        let program = self.program;
        let fixed = |expr: &Expr| {
            let mut fixed = crate::ir::interp::is_safe(program, expr);
            expr.walk(&mut |node| {
                if let Expr::Var(var) = node {
                    fixed &= *var != inner.var && !program.var(*var).mutable;
                }
            });
            fixed
        };
        let mut count = 0;
        for stmt in &inner.body {
            let Stmt::Alloc { buf, len, fill } = stmt else {
                break;
            };
            if !fixed(len) || !fixed(fill) {
                break;
            }
            let overwritten = self.program.buf(*buf).role == BufRole::Local
                && (overwrites_first(&inner.body[count + 1..], *buf, len)
                    || depend::written_first(
                        self.program,
                        &scope.enter(self.program, inner),
                        &inner.body[count + 1..],
                        *buf,
                    ));
            if !overwritten {
                break;
            }
            self.stmt(out, stmt, scope)?;
            count += 1;
        }
        Ok(count)
    }

    fn unrolled(&mut self, out: &mut Lines, inner: &Loop, scope: &Scope, factor: u32) -> Outcome {
        let native = self.native(scope);
        let name = self.program.var(inner.var).name.clone();
        let (lo, hi) = (native.text(&inner.lo), native.text(&inner.hi));
        let span = u64::from(factor) * inner.step;
        out.line(format!("let mut {name}_next: usize = {lo};"));
        out.open(format!(
            "while {name}_next + {} < {hi} {{",
            span - inner.step
        ));
        let within = scope.enter(self.program, inner);
        for copy in 0..u64::from(factor) {
            let at = copy * inner.step;
            out.open("{");
            out.line(if at == 0 {
                format!("let {name} = {name}_next;")
            } else {
                format!("let {name} = {name}_next + {at};")
            });
            self.block(out, &inner.body, &within)?;
            out.close("}");
        }
        out.line(format!("{name}_next += {span};"));
        out.close("}");
        let range = match inner.step {
            1 => format!("{name}_next..{hi}"),
            step => format!("({name}_next..{hi}).step_by({step})"),
        };
        out.open(format!("for {name} in {range} {{"));
        self.block(out, &inner.body, &within)?;
        out.close("}");
        Ok(())
    }

    /// The starting text of an accumulator.
    pub fn literal(&self, value: Const) -> String {
        constant(value).text
    }

    /// Scalar variables that `body` uses but does not declare, in order of declaration.
    pub fn captured(&self, of: &Loop) -> Vec<VarId> {
        let mut used = BTreeSet::new();
        let mut declared = BTreeSet::from([of.var]);
        for stmt in &of.body {
            stmt.walk(&mut |stmt| {
                for expr in stmt.exprs() {
                    expr.walk(&mut |node| {
                        if let Expr::Var(var) = node {
                            used.insert(*var);
                        }
                    });
                }
                match stmt {
                    Stmt::Let { var, .. } => {
                        declared.insert(*var);
                    }
                    Stmt::For(inner) => {
                        declared.insert(inner.var);
                    }
                    _ => {}
                }
            });
        }
        used.difference(&declared).copied().collect()
    }

    /// Innermost iterations per iteration of `of`, as Rust text over dimensions, at least 1.
    pub fn work_per_iteration(&self, of: &Loop, scope: &Scope) -> String {
        let within = scope.enter(self.program, of);
        traffic::work_bound(self.program, &within, &of.body)
            .and_then(|poly| super::vector::print_poly(self.program, &poly))
            .unwrap_or_else(|| "1".to_owned())
    }
}

/// Whether the first statement of `body` that touches `buf` is a loop that stores each of its
/// `len` elements.
fn overwrites_first(body: &[Stmt], buf: crate::ir::BufId, len: &Expr) -> bool {
    for stmt in body {
        let one = std::slice::from_ref(stmt);
        let (loads, stores) = (
            depend::loaded(one).contains(&buf),
            depend::stored(one).contains(&buf),
        );
        if !loads && !stores {
            continue;
        }
        let Stmt::For(inner) = stmt else { return false };
        return !loads
            && inner.lo == Expr::index(0)
            && inner.hi == *len
            && inner.step == 1
            && inner.body.iter().any(|stmt| {
                matches!(stmt, Stmt::Store { buf: b, index: Expr::Var(var), .. }
                    if *b == buf && *var == inner.var)
            });
    }
    true
}

/// The combination of two scalars of one reduction, as Rust.
pub(super) fn combined(
    combine: crate::analyze::reduce::Combine,
    scalar: Scalar,
    a: &str,
    b: &str,
) -> String {
    use crate::analyze::reduce::Combine;
    let float = scalar.is_float();
    match combine {
        Combine::Add if float => format!("{a} + {b}"),
        Combine::Mul if float => format!("{a} * {b}"),
        Combine::Add => format!("{a}.wrapping_add({b})"),
        Combine::Mul => format!("{a}.wrapping_mul({b})"),
        Combine::And => format!("{a} & {b}"),
        Combine::Or => format!("{a} | {b}"),
        Combine::Xor => format!("{a} ^ {b}"),
        Combine::Max => format!("{a}.max({b})"),
        Combine::Min => format!("{a}.min({b})"),
        Combine::PickGt => format!("if {b} > {a} {{ {b} }} else {{ {a} }}"),
        Combine::PickLt => format!("if {b} < {a} {{ {b} }} else {{ {a} }}"),
    }
}
