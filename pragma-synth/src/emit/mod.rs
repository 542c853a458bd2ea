//! Kernels as Rust source: scalar code, vector loops, parallel blocks.
//!
//! Owns everything a vendored `.rs` file says below its header. The text is the same for every
//! x86-64 tier but for the vector module and the target features, since the vectors of
//! `pragma_runtime::simd` share their method names.

mod body;
mod contract;
pub mod cuda;
mod lines;
mod names;
mod native;
mod parallel_loop;
pub mod scalar;
mod vector;
mod vector_body;
mod vector_control;
mod vector_loop;
mod vector_memory;

use pragma_spec::Target;

use crate::analyze::bounds::{self, Scope};
use crate::analyze::depend;
use crate::ir::{BufRole, Loop, Param, Program, Stmt};

use body::Unit;
use lines::Lines;

/// Why a program cannot be written for a target.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct EmitError(pub String);

/// Choices of spelling that change rounding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EmitOptions {
    /// Write pairs of operations in vectors as one where possible, rounded differently: a product
    /// and a sum as a fused operation, a division by what is the same in all lanes as a product
    /// with the reciprocal, `1 + tanh x` without its cancellation. Off for kernels that must
    /// match the reference bit for bit.
    pub contract: bool,
}

impl Default for EmitOptions {
    fn default() -> Self {
        EmitOptions { contract: true }
    }
}

/// Writes `program`, with its marks, as the items of a kernel file whose entry function is
/// called `entry`.
///
/// # Errors
/// If a marked loop turns out not to be legal, or needs a vector operation that is not there.
pub fn emit(
    program: &Program,
    target: Target,
    entry: &str,
    options: EmitOptions,
) -> Result<String, EmitError> {
    emit_variants(&[(program, entry)], target, options)
}

/// Writes several versions of a kernel, each with its entry function, as one kernel file.
/// Entry names must differ, and none may begin with another one and an underscore.
///
/// # Errors
/// As for [`emit`], for any of the versions.
pub fn emit_variants(
    variants: &[(&Program, &str)],
    target: Target,
    options: EmitOptions,
) -> Result<String, EmitError> {
    let mut uses = body::Uses::default();
    let mut functions = Vec::new();
    for (program, entry) in variants {
        let program = &names::with_free_names(program);
        let mut unit = Unit {
            program,
            entry,
            contract: options.contract,
            features: format!("#[target_feature(enable = \"{}\")]", target.features()),
            functions: Vec::new(),
            uses,
            streams_pending: false,
        };
        let mut code = Lines::at(2);
        unit.block(&mut code, &program.body, &Scope::of(program))?;
        unit.fence(&mut code);
        let ended = matches!(
            program.body.last(),
            Some(Stmt::Return(_) | Stmt::Panic | Stmt::Decline)
        );
        if program.declines() && program.returns.scalars().is_empty() && !ended {
            code.line("Some(())");
        }
        let mut head = Lines::default();
        entry_head(&mut head, &unit);
        functions.push(format!("{}{}    }}\n}}\n", head.finish(), code.finish()));
        functions.append(&mut unit.functions);
        uses = unit.uses;
    }
    let mut out = Lines::default();
    imports(&mut out, &uses, target);
    if uses.checked {
        functions.push(CHECKED.to_owned());
    }
    if uses.checked_run {
        functions.push(CHECKED_RUN.to_owned());
    }
    Ok(format!("{}{}", out.finish(), functions.join("\n")))
}

const CHECKED: &str = "\
/// The index, if it is inside the buffer; the reference would panic here as well.
fn checked(index: usize, len: usize) -> usize {
    assert!(index < len, \"index out of bounds: the len is {len} but the index is {index}\");
    index
}

";

const CHECKED_RUN: &str = "\
/// The index, if it and its `count - 1` successors are inside the buffer.
fn checked_run(index: usize, count: usize, len: usize) -> usize {
    assert!(
        index <= len && count <= len - index,
        \"index out of bounds: the len is {len} but the index is {}\",
        index.max(len)
    );
    index
}
";

fn imports(out: &mut Lines, uses: &body::Uses, target: Target) {
    let module = target.simd_module();
    let mut names: Vec<&str> = uses.types.iter().copied().collect();
    if uses.lanes {
        names.push("LANES");
    }
    names.sort_by_key(|name| (name.len() > 4, *name));
    let mut parallel: Vec<&str> = Vec::new();
    if uses.blocks {
        parallel.push("self");
    }
    if uses.shared {
        parallel.push("Shared");
    }
    if uses.shared_const {
        parallel.push("SharedConst");
    }
    match parallel.as_slice() {
        [] => {}
        ["self"] => out.line("use pragma_runtime::parallel;"),
        many => out.line(format!(
            "use pragma_runtime::parallel::{{{}}};",
            many.join(", ")
        )),
    }
    if uses.fence {
        names.insert(0, "self as simd");
    }
    match names.as_slice() {
        [] => {}
        [one] => out.line(format!("use pragma_runtime::simd::{module}::{one};")),
        many => {
            out.line(format!(
                "use pragma_runtime::simd::{module}::{{{}}};",
                many.join(", ")
            ));
        }
    }
    if !names.is_empty() || !parallel.is_empty() {
        out.line("");
    }
}

/// Writes a function head, one parameter a line where it would not fit.
fn signature(out: &mut Lines, keyword: &str, name: &str, params: &[String], arrow: &str) {
    let line = format!("{keyword} {name}({}){arrow} {{", params.join(", "));
    if line.len() <= 100 {
        out.line(line);
        return;
    }
    out.open(format!("{keyword} {name}("));
    for param in params {
        out.line(format!("{param},"));
    }
    out.close(format!("){arrow} {{"));
}

fn entry_head(out: &mut Lines, unit: &Unit<'_>) {
    let program = unit.program;
    out.line(format!(
        "/// `{}`, for sizes that the dispatch shim has checked.",
        program.name
    ));
    out.line("///");
    out.line("/// # Safety");
    let shapes: Vec<String> = program
        .bufs
        .iter()
        .filter(|buf| buf.role != BufRole::Local)
        .map(|buf| format!("`{}` has {} elements", buf.name, buf.shape.len()))
        .collect();
    if shapes.is_empty() {
        out.line("/// The CPU has the features below.");
    } else {
        out.line("/// The CPU has the features below, and:");
        for shape in shapes {
            out.line(format!("/// - {shape}"));
        }
    }
    out.line(&unit.features);
    let mut params: Vec<String> = program
        .dims
        .iter()
        .map(|dim| format!("{dim}: usize"))
        .collect();
    for param in &program.params {
        match param {
            Param::Dim(_) => {}
            Param::Scalar(var) => {
                let decl = program.var(*var);
                let keyword = if decl.mutable { "mut " } else { "" };
                params.push(format!("{keyword}{}: {}", decl.name, decl.scalar));
            }
            Param::Buffer(buf) => {
                let decl = program.buf(*buf);
                let reference = if decl.role == BufRole::Input {
                    "&"
                } else {
                    "&mut "
                };
                params.push(format!("{}: {reference}[{}]", decl.name, decl.elem));
            }
        }
    }
    for buf in program.returns.buffers() {
        let decl = program.buf(buf);
        params.push(format!(
            "{}: &mut [core::mem::MaybeUninit<{}>]",
            decl.name, decl.elem
        ));
    }
    let scalars = program.returns.scalars();
    let names: Vec<&str> = scalars.iter().map(|scalar| scalar.name()).collect();
    let value = match names.as_slice() {
        [one] => (*one).to_owned(),
        many => format!("({})", many.join(", ")),
    };
    let arrow = match (program.declines(), names.is_empty()) {
        (true, _) => format!(" -> Option<{value}>"),
        (false, true) => String::new(),
        (false, false) => format!(" -> {value}"),
    };
    signature(out, "pub unsafe fn", unit.entry, &params, &arrow);
    let mut body = Lines::at(1);
    let unproven = bounds::unproven_buffers(program);
    for (index, decl) in program.bufs.iter().enumerate() {
        let name = &decl.name;
        if decl.role == BufRole::Local {
            continue;
        }
        if unproven.contains(&crate::ir::BufId(index as u32)) {
            body.line(format!("let {name}_len = {name}.len();"));
        }
        body.line(match decl.role {
            BufRole::Return => format!("let {name} = {name}.as_mut_ptr().cast::<{}>();", decl.elem),
            BufRole::Mutable => format!("let {name} = {name}.as_mut_ptr();"),
            _ => format!("let {name} = {name}.as_ptr();"),
        });
    }
    body.line(
        "// SAFETY: the caller vouches for the lengths, and every index below follows from them.",
    );
    body.line("unsafe {");
    for line in body.finish().lines() {
        out.line(line);
    }
}

/// Whether the body of a loop can be written in vectors at all.
///
/// # Errors
/// What stands against it, in words.
pub(crate) fn check_vector_body(
    program: &Program,
    scope: &Scope,
    inner: &Loop,
) -> Result<(), String> {
    depend::vectorizable(program, scope, inner).map_err(|hazard| hazard.describe(program))?;
    let mut unit = Unit {
        program,
        entry: "check",
        contract: true,
        features: String::new(),
        functions: Vec::new(),
        uses: body::Uses::default(),
        streams_pending: false,
    };
    unit.vector_loop(&mut Lines::default(), inner, scope, ("0", "1"), 1)
        .map_err(|error| error.0)
}
