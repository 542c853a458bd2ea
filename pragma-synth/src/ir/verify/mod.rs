//! Checks that a program is well-formed: run after lifting, after every action, before emitting.
//!
//! Checked:
//! - every id is in range; names are identifiers, those of dimensions perhaps ways to a field
//!   (`self.height`), unique among variables, buffers, dimensions;
//! - parameters are distinct; each buffer of role `Input` or `Mutable` is a parameter and no
//!   other is; a `Return` buffer exists exactly if the program returns it;
//! - shapes and expressions mention declared dimensions only;
//! - every expression and statement is well-typed, every literal fits its type, every function
//!   has its number of arguments;
//! - a scalar is declared by exactly one parameter, `Let` or loop, and used only where that
//!   declaration is in scope; only mutable ones are assigned; loop counters are immutable `usize`;
//! - `Input` buffers are never written; a `Local` is allocated by exactly one `Alloc` and used
//!   only in that one's scope; each `Alloc` of a `Return` buffer fills it anew;
//! - `Break` and `Continue` are inside a loop; `Return` gives the declared types, and the body of
//!   a program that returns scalars ends in one on every path; no store to a `Mutable` buffer can
//!   come before a `Decline`;
//! - loop steps are at least 1; marks have sane numbers; what a `Vector` loop contains is
//!   not scheduled, and it has no way out (`Break`, `Return`); a `Parallel` loop is in no vector, parallel
//!   or `while` loop and has no way out; a `ParallelVector` loop is both; an
//!   `Unroll` loop has no `Break` or `Continue` of its own.
//!
//! Not checked, because it depends on values or is the business of `analyze`: that indices are
//! in bounds, that every element of a `Return` buffer is written, that integer divisors are not
//! zero, that loops end, that marked loops may legally run in another order, that code after
//! `Return` is reachable.

mod scope;
mod types;

use std::collections::HashSet;

use super::{BufRole, Param, Program, Returns, Stmt};

/// One thing that is wrong with a program.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{at}: {message}")]
pub struct VerifyError {
    /// Where: a path of statement positions and loop names, `body.0(for r).2(let scale)`.
    pub at: String,
    /// What is wrong.
    pub message: String,
}

/// Checks `program` against the list in the module documentation.
///
/// # Errors
/// Everything that is wrong, in program order; never empty.
pub fn verify(program: &Program) -> Result<(), Vec<VerifyError>> {
    let mut errors = Vec::new();
    if ids_in_range(program, &mut errors) {
        declarations(program, &mut errors);
        scope::check(program, &mut errors);
    }
    if errors.is_empty() {
        Ok(())
    } else {
        Err(errors)
    }
}

fn push(errors: &mut Vec<VerifyError>, at: &str, message: impl Into<String>) {
    errors.push(VerifyError {
        at: at.to_owned(),
        message: message.into(),
    });
}

/// Everything else indexes freely once this holds.
fn ids_in_range(program: &Program, errors: &mut Vec<VerifyError>) -> bool {
    use super::Expr;
    let before = errors.len();
    let var_ok = |var: super::VarId| (var.0 as usize) < program.vars.len();
    let buf_ok = |buf: super::BufId| (buf.0 as usize) < program.bufs.len();
    for param in &program.params {
        let ok = match param {
            Param::Scalar(var) => var_ok(*var),
            Param::Buffer(buf) => buf_ok(*buf),
            Param::Dim(dim) => *dim < program.dims.len(),
        };
        if !ok {
            push(errors, "params", format!("{param:?} does not exist"));
        }
    }
    for buf in program.returns.buffers() {
        if !buf_ok(buf) {
            push(errors, "returns", format!("{buf:?} does not exist"));
        }
    }
    program.walk(&mut |stmt| {
        let ok = match stmt {
            Stmt::Let { var, .. } | Stmt::Assign { var, .. } => var_ok(*var),
            Stmt::Store { buf, .. } | Stmt::Alloc { buf, .. } | Stmt::Prefetch { buf, .. } => {
                buf_ok(*buf)
            }
            Stmt::For(inner) => var_ok(inner.var),
            _ => true,
        };
        if !ok {
            push(
                errors,
                "body",
                "a statement names an id that does not exist",
            );
        }
        for expr in stmt.exprs() {
            expr.walk(&mut |expr| {
                let ok = match expr {
                    Expr::Var(var) => var_ok(*var),
                    Expr::Load { buf, .. } => buf_ok(*buf),
                    Expr::Dim(dim) => *dim < program.dims.len(),
                    _ => true,
                };
                if !ok {
                    push(errors, "body", format!("{expr:?} does not exist"));
                }
            });
        }
    });
    errors.len() == before
}

fn is_identifier(name: &str) -> bool {
    let plain = name.strip_prefix("r#").unwrap_or(name);
    let mut chars = plain.chars();
    chars
        .next()
        .is_some_and(|first| first.is_alphabetic() || first == '_')
        && chars.all(|c| c.is_alphanumeric() || c == '_')
        && (plain != name || syn::parse_str::<syn::Ident>(name).is_ok())
}

fn declarations(program: &Program, errors: &mut Vec<VerifyError>) {
    let mut names = HashSet::new();
    let all = program
        .vars
        .iter()
        .map(|var| (&var.name, false))
        .chain(program.bufs.iter().map(|buf| (&buf.name, false)))
        .chain(program.dims.iter().map(|dim| (dim, true)));
    for (name, is_dim) in all {
        // A dimension may be a field of a parameter: `self.height`.
        let word =
            |part: &str| !part.is_empty() && part.chars().all(|c| c.is_alphanumeric() || c == '_');
        let is_path = is_dim && name.contains('.') && name.split('.').all(word);
        if !is_identifier(name) && !is_path {
            push(
                errors,
                "declarations",
                format!("`{name}` is not an identifier"),
            );
        }
        if !names.insert(name) {
            push(
                errors,
                "declarations",
                format!("`{name}` is declared twice"),
            );
        }
    }
    for (i, param) in program.params.iter().enumerate() {
        // Several integers may be known to be one size.
        let repeats = program.params[..i].contains(param) && !matches!(param, Param::Dim(_));
        if repeats {
            push(
                errors,
                "params",
                format!("parameter {i} repeats another one"),
            );
        }
        if let Param::Buffer(buf) = param {
            let decl = program.buf(*buf);
            if !matches!(decl.role, BufRole::Input | BufRole::Mutable) {
                push(
                    errors,
                    "params",
                    format!(
                        "`{}` has role {:?} and is a parameter",
                        decl.name, decl.role
                    ),
                );
            }
        }
    }
    for (i, decl) in program.bufs.iter().enumerate() {
        let id = super::BufId(i as u32);
        match decl.role {
            BufRole::Input | BufRole::Mutable => {
                if !program.params.contains(&Param::Buffer(id)) {
                    push(
                        errors,
                        "declarations",
                        format!(
                            "`{}` has role {:?} but is no parameter",
                            decl.name, decl.role
                        ),
                    );
                }
            }
            BufRole::Return => {
                if !program.returns.buffers().contains(&id) {
                    push(
                        errors,
                        "declarations",
                        format!("`{}` has role Return but is not returned", decl.name),
                    );
                }
            }
            BufRole::Local => {}
        }
        for extent in &decl.shape.0 {
            extent.for_each_dim(&mut |dim| {
                if !program.dims.iter().any(|name| name == dim) {
                    push(
                        errors,
                        "declarations",
                        format!(
                            "the shape of `{}` mentions `{dim}`, no dimension",
                            decl.name
                        ),
                    );
                }
            });
        }
    }
    returned(program, errors);
}

fn returned(program: &Program, errors: &mut Vec<VerifyError>) {
    let (scalars, buffers) = (program.returns.scalars(), program.returns.buffers());
    if program.returns == Returns::Scalars(Vec::new()) {
        push(
            errors,
            "returns",
            "a tuple of no scalars: that is `Nothing`",
        );
    }
    if let Returns::Mixed(parts) = &program.returns
        && (parts.len() < 2 || buffers.is_empty())
    {
        push(
            errors,
            "returns",
            "mixed results are at least two, one of them a buffer",
        );
    }
    if !scalars.is_empty() && !ends_in_return(&program.body) {
        push(
            errors,
            "body",
            "the body can end without returning its scalars",
        );
    }
    for (i, buf) in buffers.iter().enumerate() {
        let decl = program.buf(*buf);
        if decl.role != BufRole::Return {
            push(
                errors,
                "returns",
                format!("`{}` is returned but has another role", decl.name),
            );
        }
        if buffers[..i].contains(buf) {
            push(
                errors,
                "returns",
                format!("`{}` is returned twice", decl.name),
            );
        }
    }
}

fn ends_in_return(body: &[Stmt]) -> bool {
    match body.last() {
        Some(Stmt::Return(_) | Stmt::Panic | Stmt::Decline) => true,
        Some(Stmt::If {
            then, otherwise, ..
        }) => ends_in_return(then) && ends_in_return(otherwise),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::text::parse;

    fn complaints(text: &str) -> Vec<String> {
        match verify(&parse(text).unwrap()) {
            Ok(()) => Vec::new(),
            Err(errors) => errors.iter().map(ToString::to_string).collect(),
        }
    }

    fn complains(text: &str, about: &str) {
        let found = complaints(text);
        assert!(
            found.iter().any(|message| message.contains(about)),
            "expected a complaint about {about:?}, found {found:?}"
        );
    }

    /// A kernel `k(x, out, n: dim, a)` with this body.
    fn body(body: &str) -> String {
        format!(
            "kernel k(x: [f32; n], out: mut [f32; n], n: dim, a: f32, b: bool) dims(n) {{ {body} }}"
        )
    }

    #[test]
    fn a_sound_program_passes() {
        let text = body(
            "let mut s: f32 = 0.0
             alloc tmp: local [f32; n] len n fill 0.0
             for i in 0..n vector(unroll = 2) { s = s + x[i] tmp[i] = select(x[i] < a, x[i], a) }
             for j in 0..n step 2 parallel(grain = 1, serial_below = 0) {
               let mut k: usize = j
               while k > 0 { k = k / 2 if b { break } else { continue } }
               stream out[j] = tmp[j] * s
             }",
        );
        assert_eq!(complaints(&text), Vec::<String>::new());
    }

    #[test]
    fn types() {
        complains(&body("let s: f32 = 1"), "usize");
        complains(&body("let s: f32 = 0.0f64"), "f64");
        complains(&body("let s: f32 = a + 1"), "operands");
        complains(&body("let s: bool = a < 1"), "operands");
        complains(&body("let s: f32 = a & a"), "`&`");
        complains(&body("let s: f32 = a << 1"), "`<<`");
        complains(&body("let s: bool = b + b"), "`+`");
        complains(&body("let s: f32 = x[a]"), "index");
        complains(&body("let s: f32 = select(a, a, a)"), "condition");
        complains(&body("let s: f32 = select(b, a, 1)"), "branches");
        complains(&body("let s: f32 = b as f32"), "cast");
        complains(&body("let s: bool = n as bool"), "cast");
        complains(&body("let s: usize = sqrt(n)"), "sqrt");
        complains(&body("let s: f32 = max(a, n)"), "max");
        complains(&body("let s: f32 = powi(a, 2u32)"), "powi");
        complains(&body("let s: f32 = sqrt(a, a)"), "argument");
        complains(&body("let s: usize = -n"), "neg");
        complains(&body("let s: u8 = 256u8"), "literal");
        complains(&body("let s: f64 = from_bits(1u16) as f64"), "from_bits");
        complains(&body("out[0] = 1"), "element");
        complains(&body("if a { }"), "condition");
        complains(&body("while n { }"), "condition");
        complains(&body("for i in a..n { }"), "bounds");
        complains(&body("alloc t: local [f32;] len n fill 1"), "fill");
        complains(&body("alloc t: local [f32;] len a fill a"), "len");
    }

    #[test]
    fn literals_are_exact() {
        let mut program = parse(&body("let s: f32 = 0.5")).unwrap();
        let Stmt::Let { value, .. } = &mut program.body[0] else {
            unreachable!()
        };
        *value = crate::ir::Expr::Const(crate::ir::Const::Float(pragma_spec::Scalar::F32, 0.1));
        assert!(verify(&program).unwrap_err()[0].message.contains("literal"));
    }

    #[test]
    fn scopes() {
        complains(&body("if b { let s: f32 = a } out[0] = s"), "scope");
        complains(&body("for i in 0..n { } out[i] = a"), "scope");
        complains(&body("a = 1.0"), "not mutable");
        complains(&body("for i in 0..n { i = 0 }"), "not mutable");
        complains(
            &body("if b { alloc t: local [f32;] len n fill a } out[0] = t[0]"),
            "scope",
        );
        complains(&body("x[0] = a"), "read only");
        complains(&body("alloc x len n fill a"), "parameter");
    }

    #[test]
    fn a_variable_is_declared_once() {
        let mut program = parse(&body("let s: f32 = 0.5")).unwrap();
        program.body.push(program.body[0].clone());
        assert!(
            verify(&program).unwrap_err()[0]
                .message
                .contains("declared twice")
        );
        let mut program = parse(&body("for i in 0..n { }")).unwrap();
        program.body.push(program.body[0].clone());
        assert!(
            verify(&program).unwrap_err()[0]
                .message
                .contains("declared twice")
        );
    }

    #[test]
    fn control() {
        complains(&body("break"), "outside");
        complains(&body("if b { continue }"), "outside");
        complains(&body("return (a)"), "returns");
        complains("kernel k() -> f32 dims() { return (1) }", "returns");
        complains(
            "kernel k(b: bool) -> f32 dims() { if b { return (1.0) } }",
            "can end",
        );
        complains("kernel k() -> () dims() { return () }", "no scalars");
        complains(&body("for i in 0..n step 0 { }"), "step");
        complains(&body("for i in 0..n vector(unroll = 0) { }"), "unroll");
        complains(&body("for i in 0..n unroll(factor = 1) { }"), "factor");
        complains(
            &body("for i in 0..n parallel(grain = 0, serial_below = 0) { }"),
            "grain",
        );
        complains(
            &body("for i in 0..n vector(unroll = 1) { for j in 0..n unroll(factor = 2) { } }"),
            "vector",
        );
        complains(
            &body("for i in 0..n vector(unroll = 1) { break }"),
            "vector",
        );
        complains(
            &body("for i in 0..n unroll(factor = 2) { if b { continue } }"),
            "unrolled",
        );
        complains(
            &body("for i in 0..n parallel(grain = 1, serial_below = 0) vector(unroll = 0) { }"),
            "unroll",
        );
        complains(
            &body("for i in 0..n parallel(grain = 1, serial_below = 0) { if b { return () } }"),
            "parallel",
        );
        complains(
            &body("while b { for i in 0..n parallel(grain = 1, serial_below = 0) { out[i] = a } }"),
            "parallel",
        );
    }

    #[test]
    fn declines_come_first() {
        let fine = body(
            "alloc t: local [f32; n] len n fill 0.0
             for i in 0..n { t[i] = x[i] if b { decline } }
             for j in 0..n { out[j] = t[j] }",
        );
        assert_eq!(complaints(&fine), Vec::<String>::new());
        assert!(parse(&fine).unwrap().declines());
        complains(&body("out[0] = a if b { decline }"), "decline");
        complains(
            &body("for i in 0..n { if b { decline } out[i] = a }"),
            "decline",
        );
        complains(&body("if b { out[0] = a } else { } decline"), "decline");
        complains(
            &body("while b { decline for i in 0..n { out[i] = a } }"),
            "decline",
        );
        // A path that has returned does not go on.
        let guarded = body("if b { out[0] = a return () } if a < 0.0 { decline } out[0] = a");
        assert_eq!(complaints(&guarded), Vec::<String>::new());
        complains(
            &body("for i in 0..n vector(unroll = 1) { decline }"),
            "way out",
        );
    }

    #[test]
    fn mixed_results() {
        let text =
            "kernel k(n: dim) -> (r: ret [f32; n], u32, s: ret [u8; n]) dims(n) { return (1u32) }";
        assert_eq!(complaints(text), Vec::<String>::new());
        complains(
            "kernel k(n: dim) -> (r: ret [f32; n], u32) dims(n) { }",
            "can end",
        );
    }

    #[test]
    fn roles_and_names() {
        complains("kernel k() -> r: [f32; n] dims(n) { }", "role");
        complains("kernel k(x: [f32; m]) dims(n) { }", "no dimension");
        complains("kernel k(x: local [f32; n]) dims(n) { }", "is a parameter");
        complains(
            "kernel k(x: f32) dims() bufs(y: [f32;]) { }",
            "no parameter",
        );
        let mut program = parse(&body("")).unwrap();
        program.vars[0].name = "fn".to_owned();
        assert!(
            verify(&program).unwrap_err()[0]
                .message
                .contains("identifier")
        );
        let mut program = parse(&body("")).unwrap();
        program.vars[0].name = "x".to_owned();
        assert!(
            verify(&program).unwrap_err()[0]
                .message
                .contains("declared twice")
        );
    }

    #[test]
    fn a_foreign_id_is_reported_not_followed() {
        let mut program = parse(&body("let s: f32 = a")).unwrap();
        program.vars.pop();
        assert!(
            verify(&program).unwrap_err()[0]
                .message
                .contains("does not exist")
        );
    }

    #[test]
    fn errors_say_where() {
        let found = complaints(&body("for i in 0..n { let s: f32 = 1 }"));
        assert!(found[0].starts_with("body.0(for i).0(let s)"), "{found:?}");
    }
}
