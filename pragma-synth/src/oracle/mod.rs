//! The `f64` oracle: what a program should give, and how far rounding may take it from there.
//!
//! Owns [`oracle_source`], which turns a program into the Rust source of a library, and the
//! numbers it computes with, [`dual`]. Compiling, loading and judging are the tool's.
//!
//! The library exports, beside what every library for the worker does (`pragma_set_threads`,
//! `pragma_abi_version`), `pragma_oracle` with the harness ABI and the arguments of the kernel, which
//! it only reads. Each result goes to the return sink under its own index: the `&mut` parameters
//! in order, then what the function returns. A result of a float type is a sequence of pairs
//! `(value, magnitude)` of `f64`; one of an integer type or `bool` a sequence of `i64` (a `u64`
//! above `i64::MAX` wraps). A scalar is a sequence of one.
//!
//! Floats are `f64` throughout: `f32` inputs and literals are widened, casts between float types
//! do nothing, casts to integers look at the `f64` value. A program that overflows in `f32` does
//! therefore not overflow here.

pub mod dual;
mod style;

use std::fmt::Write;

use pragma_spec::{DimExpr, Guard, GuardError, GuardParam, KernelSignature, Scalar, Shape};

use crate::emit::scalar::{ScalarStyle, emit_scalar};
use crate::ir::verify::{VerifyError, verify};
use crate::ir::{BufDecl, BufRole, Param, Program, Returned, Stmt};
use crate::simplify::half;
use style::DualStyle;

/// The exported symbol.
pub const ORACLE_SYMBOL: &str = "pragma_oracle";

/// Why a program has no oracle.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum OracleError {
    /// `verify` refuses the program.
    #[error("not a program: {0}")]
    Unverified(VerifyError),
    /// Parameters of program and signature differ in number.
    #[error("the program has {program} parameters, the signature {signature}")]
    OtherSignature {
        /// Parameters of the program.
        program: usize,
        /// Parameters of the signature.
        signature: usize,
    },
    /// A type that the oracle does not compute with.
    #[error("the oracle does not compute with {0}")]
    Unsupported(Scalar),
    /// The shapes do not determine the dimensions.
    #[error(transparent)]
    Guard(#[from] GuardError),
}

/// The source of a library whose `pragma_oracle` computes `program`; it needs the crate
/// `pragma_runtime` and the edition 2021 or later.
///
/// `signature` is that of the function the program was lifted from, parameter by parameter.
///
/// # Errors
/// If the program is not well-formed, does not belong to the signature, gives half-precision
/// floats, or its dimensions do not follow from its arguments.
pub fn oracle_source(
    program: &Program,
    signature: &KernelSignature,
) -> Result<String, OracleError> {
    verify(program).map_err(|errors| {
        let first = errors.into_iter().next();
        OracleError::Unverified(first.unwrap_or_else(|| VerifyError {
            at: String::new(),
            message: String::new(),
        }))
    })?;
    let mut program = program.with_plain_dims();
    if !gives_half(&program) {
        // What is only read in half precision is read exactly, through its bits.
        program = half::on_bits(&program);
    }
    let program = &program;
    if program.params.len() != signature.params.len() {
        return Err(OracleError::OtherSignature {
            program: program.params.len(),
            signature: signature.params.len(),
        });
    }
    if let Some(scalar) = unsupported(program) {
        return Err(OracleError::Unsupported(scalar));
    }
    let guard = plan(program, signature)?;
    let mut out = String::new();
    let _ = write!(
        out,
        "//! Computes `{}` in `f64`, with the magnitudes of its rounding errors. Generated.\n\
         #![allow(warnings, unconditional_panic, arithmetic_overflow)]\n\n\
         pub mod dual {{\n{}}}\n\n\
         use dual::Dual;\n\
         use pragma_runtime::harness;\n\n",
        program.name,
        include_str!("dual.rs"),
    );
    write_dims(&mut out, program, signature, &guard);
    write_run(&mut out, program);
    write_entry(&mut out, program, signature);
    out.push_str(
        "\n#[unsafe(no_mangle)]\n\
         pub extern \"C\" fn pragma_set_threads(threads: usize) {\n    \
             harness::set_thread_limit(threads)\n\
         }\n\n\
         #[unsafe(no_mangle)]\n\
         pub extern \"C\" fn pragma_abi_version() -> u32 {\n    \
             harness::ABI_VERSION\n\
         }\n",
    );
    Ok(out)
}

/// Whether a result is in half precision: the exact value would have to be judged in it.
fn gives_half(program: &Program) -> bool {
    let half = |scalar: Scalar| matches!(scalar, Scalar::F16 | Scalar::Bf16);
    let buffer =
        |buf: &BufDecl| half(buf.elem) && matches!(buf.role, BufRole::Mutable | BufRole::Return);
    program.bufs.iter().any(buffer) || program.returns.scalars().into_iter().any(half)
}

fn unsupported(program: &Program) -> Option<Scalar> {
    let half = |scalar: Scalar| matches!(scalar, Scalar::F16 | Scalar::Bf16);
    let mut found = program
        .vars
        .iter()
        .map(|var| var.scalar)
        .chain(program.bufs.iter().map(|buf| buf.elem))
        .find(|scalar| half(*scalar));
    program.walk(&mut |stmt| {
        for expr in stmt.exprs() {
            expr.walk(&mut |expr| {
                let scalar = expr.scalar(program);
                if half(scalar) {
                    found = Some(scalar);
                }
            });
        }
    });
    found
}

/// The guard over the program's dimensions, under the signature's parameter names.
fn plan(program: &Program, signature: &KernelSignature) -> Result<Guard, GuardError> {
    let params = GuardParam::all(signature);
    let mut shapes: Vec<(String, Shape)> = Vec::new();
    for (param, sig) in program.params.iter().zip(&signature.params) {
        match param {
            Param::Buffer(buf) => shapes.push((sig.name.clone(), program.buf(*buf).shape.clone())),
            // An integer whose value is a dimension of another name.
            Param::Dim(dim) if program.dims[*dim] != sig.name => {
                let value = DimExpr::dim(program.dims[*dim].clone());
                shapes.push((sig.name.clone(), Shape(vec![value])));
            }
            Param::Dim(_) | Param::Scalar(_) => {}
        }
    }
    if let [Returned::Buffer(buf)] = program.returns.parts()[..] {
        shapes.push(("return".to_owned(), program.buf(buf).shape.clone()));
    }
    Guard::plan(&program.dims, &params, &shapes)
}

/// `fn dims(..)`: the dimensions, or `None` where the kernel's guard would refuse.
fn write_dims(out: &mut String, program: &Program, signature: &KernelSignature, guard: &Guard) {
    out.push_str("fn dims(");
    for (i, param) in program.params.iter().enumerate() {
        let name = pragma_spec::codegen::param_ident(&signature.params[i].name);
        let ty = match param {
            Param::Buffer(buf) => format!("&[{}]", program.buf(*buf).elem),
            _ => signature.params[i].kind.elem().to_string(),
        };
        let _ = write!(out, "{name}: {ty}, ");
    }
    let _ = write!(
        out,
        ") -> Option<[usize; {}]> {{\n    {}\n}}\n\n",
        program.dims.len(),
        guard.to_tokens()
    );
}

/// `fn run(..)`: the program.
fn write_run(out: &mut String, program: &Program) {
    let style = DualStyle;
    out.push_str("fn run(\n");
    for dim in &program.dims {
        let _ = writeln!(out, "    {dim}: usize,");
    }
    for param in &program.params {
        match param {
            Param::Scalar(var) => {
                let decl = program.var(*var);
                let mutable = if decl.mutable { "mut " } else { "" };
                let ty = style.type_name(decl.scalar);
                let _ = writeln!(out, "    {mutable}{}: {ty},", decl.name);
            }
            Param::Buffer(buf) => {
                let decl = program.buf(*buf);
                let ty = match decl.role {
                    BufRole::Input => format!("&[{}]", decl.elem),
                    _ => format!("&mut [{}]", style.type_name(decl.elem)),
                };
                let _ = writeln!(out, "    {}: {ty},", decl.name);
            }
            Param::Dim(_) => {}
        }
    }
    for buf in program.returns.buffers() {
        let decl = program.buf(buf);
        let ty = style.type_name(decl.elem);
        let _ = writeln!(out, "    {}: &mut [{ty}],", decl.name);
    }
    // A tuple even of one, so that the entry treats all alike.
    let types: Vec<_> = program
        .returns
        .scalars()
        .iter()
        .map(|scalar| style.type_name(*scalar) + ",")
        .collect();
    let result = match program.declines() {
        true => format!("Option<({})>", types.join(" ")),
        false => format!("({})", types.join(" ")),
    };
    let _ = writeln!(out, ") -> {result} {{");
    out.push_str(&emit_scalar(program, &style, 1));
    let ended = matches!(program.body.last(), Some(Stmt::Return(_) | Stmt::Decline));
    if !types.is_empty() && !ended {
        // Every path has returned, which the compiler may not see.
        out.push_str("    unreachable!()\n");
    } else if program.declines() && !ended {
        out.push_str("    Some(())\n");
    }
    out.push_str("}\n\n");
}

/// The parameters whose final content is a result, with the entry's variable for each.
fn results(program: &Program) -> Vec<(String, &BufDecl)> {
    let params = program.params.iter().enumerate();
    let mutable = params.filter_map(|(i, param)| match param {
        Param::Buffer(buf) if program.buf(*buf).role == BufRole::Mutable => {
            Some((format!("w{i}"), program.buf(*buf)))
        }
        _ => None,
    });
    mutable.collect()
}

/// The exported function. Its variables are `p0`, `p1`, .. for arguments, `w0`, .. for the copies
/// that the program writes, `d0`, .. for dimensions.
fn write_entry(out: &mut String, program: &Program, signature: &KernelSignature) {
    let count = program.params.len();
    let _ = write!(
        out,
        "#[unsafe(no_mangle)]\n\
         pub unsafe extern \"C\" fn {ORACLE_SYMBOL}(\n    \
             args: *const harness::RawArg,\n    \
             count: usize,\n    \
             ret: *const harness::RawReturn,\n\
         ) -> u32 {{\n    \
             if count != {count} {{\n        return harness::STATUS_BAD_ARGS;\n    }}\n    \
             harness::guard_panic(move || {{\n        \
                 // SAFETY: the worker passes one argument per parameter, of its type.\n"
    );
    for (i, param) in program.params.iter().enumerate() {
        let (read, ty) = match param {
            Param::Buffer(buf) => ("slice", program.buf(*buf).elem.name()),
            _ => ("scalar", signature.params[i].kind.elem().name()),
        };
        let _ = writeln!(
            out,
            "        let p{i} = unsafe {{ harness::{read}::<{ty}>(args, {i}) }};"
        );
    }
    let params: Vec<_> = (0..count).map(|i| format!("p{i}")).collect();
    let dims: Vec<_> = (0..program.dims.len()).map(|i| format!("d{i}")).collect();
    let _ = writeln!(
        out,
        "        let Some([{}]) = dims({}) else {{\n            return harness::STATUS_GUARD;\n        }};",
        dims.join(", "),
        params.join(", ")
    );
    let mut call = dims;
    for (i, param) in program.params.iter().enumerate() {
        match param {
            Param::Dim(_) => {}
            Param::Scalar(var) if program.var(*var).scalar.is_float() => {
                call.push(format!("Dual::exact(p{i} as f64)"));
            }
            Param::Scalar(_) => call.push(format!("p{i}")),
            Param::Buffer(buf) if program.buf(*buf).role == BufRole::Mutable => {
                let copy = if program.buf(*buf).elem.is_float() {
                    "iter().map(|v| Dual::exact(*v as f64)).collect::<Vec<_>>()"
                } else {
                    "to_vec()"
                };
                let _ = writeln!(out, "        let mut w{i} = p{i}.{copy};");
                call.push(format!("&mut w{i}"));
            }
            Param::Buffer(_) => call.push(format!("p{i}")),
        }
    }
    for (i, buf) in program.returns.buffers().into_iter().enumerate() {
        let decl = program.buf(buf);
        let fill = match decl.elem {
            scalar if scalar.is_float() => "Dual::exact(f64::NAN)".to_owned(),
            Scalar::Bool => "false".to_owned(),
            scalar => format!("0{scalar}"),
        };
        let len = style::extent(program, &decl.shape.len());
        let _ = writeln!(out, "        let mut returned{i} = vec![{fill}; {len}];");
        call.push(format!("&mut returned{i}"));
    }
    if program.declines() {
        let _ = writeln!(
            out,
            "        let Some(scalars) = run({}) else {{\n            return harness::STATUS_GUARD;\n        }};",
            call.join(", ")
        );
    } else {
        let _ = writeln!(out, "        let scalars = run({});", call.join(", "));
    }
    out.push_str("        // SAFETY: the worker passes a return whose sink is sound to call.\n");
    out.push_str("        unsafe {\n");
    let mut index = 0;
    let give_slice = |out: &mut String, name: String, decl: &BufDecl, index: usize| {
        let values = if decl.elem.is_float() {
            name
        } else {
            format!("{name}.iter().map(|v| *v as i64).collect::<Vec<_>>()")
        };
        let _ = writeln!(
            out,
            "            harness::return_slice(ret, {index}, &{values});"
        );
    };
    for (name, decl) in results(program) {
        give_slice(out, name, decl, index);
        index += 1;
    }
    let (mut scalars, mut buffers) = (0, 0);
    for part in program.returns.parts() {
        match part {
            Returned::Buffer(buf) => {
                give_slice(out, format!("returned{buffers}"), program.buf(buf), index);
                buffers += 1;
            }
            Returned::Scalar(scalar) => {
                let value = if scalar.is_float() {
                    format!("scalars.{scalars}")
                } else {
                    format!("(scalars.{scalars} as i64)")
                };
                let _ = writeln!(
                    out,
                    "            harness::return_value(ret, {index}, &{value});"
                );
                scalars += 1;
            }
        }
        index += 1;
    }
    out.push_str("        }\n        harness::STATUS_OK\n    })\n}\n");
}

#[cfg(test)]
mod tests;
