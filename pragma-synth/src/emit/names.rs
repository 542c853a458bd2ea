//! Names of a program that the emitter needs for itself.
//!
//! A user's variable may be called `end` or `u`. Those are renamed before anything is written, so
//! that the emitter's own names never meet them.

use crate::ir::{Program, renamed as renamed_dim};

/// Names that emitted code declares or imports.
const RESERVED: &[&str] = &[
    "F32",
    "F64",
    "I32",
    "I64",
    "LANES",
    "Mask",
    "Shared",
    "SharedConst",
    "U32",
    "U64",
    "begin",
    "block",
    "checked",
    "checked_run",
    "core",
    "end",
    "fails",
    "holds",
    "iteration",
    "iterations",
    "lane",
    "live",
    "many",
    "one",
    "parallel",
    "partial",
    "partials",
    "pragma_runtime",
    "simd",
    "slots",
    "std",
    "there",
    "u",
    "value",
    "values",
    "wins",
    "worthwhile",
];

/// Endings of names that are made from the program's names.
const SUFFIXES: &[&str] = &[
    "_aligned", "_at", "_block", "_head", "_len", "_next", "_rest", "_u", "_v", "holds", "fails",
];

/// The program with every such name changed by underscores at its end.
pub(super) fn with_free_names(program: &Program) -> Program {
    renamed(program, &|name| {
        is_reserved(name).then(|| format!("{name}_"))
    })
}

/// The program with every name changed for which `other` has another one; underscores at its end
/// keep that apart from the rest.
pub(super) fn renamed(program: &Program, other: &dyn Fn(&str) -> Option<String>) -> Program {
    let program = &program.with_plain_dims();
    let mut result = program.clone();
    let mut taken: Vec<String> = program.dims.clone();
    taken.extend(program.vars.iter().map(|var| var.name.clone()));
    taken.extend(program.bufs.iter().map(|buf| buf.name.clone()));
    let mut free = |name: &mut String| {
        let Some(mut candidate) = other(name) else {
            return;
        };
        while taken.contains(&candidate) {
            candidate.push('_');
        }
        taken.push(candidate.clone());
        *name = candidate;
    };
    for index in 0..result.dims.len() {
        let before = result.dims[index].clone();
        free(&mut result.dims[index]);
        if result.dims[index] != before {
            let after = result.dims[index].clone();
            for buf in &mut result.bufs {
                for extent in &mut buf.shape.0 {
                    *extent = renamed_dim(extent, &before, &after);
                }
            }
        }
    }
    for var in &mut result.vars {
        free(&mut var.name);
    }
    for buf in &mut result.bufs {
        free(&mut buf.name);
    }
    result
}

fn is_reserved(name: &str) -> bool {
    // `x_u3` is what `x` is called in the third vector of a step.
    let counted = name.rsplit_once("_u").is_some_and(|(_, digits)| {
        !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
    });
    RESERVED.contains(&name) || counted || SUFFIXES.iter().any(|suffix| name.ends_with(suffix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_the_emitter_are_given_way() {
        let text = "kernel k(end: f32, u: [f32; block], out: mut [f32; block]) dims(block) {
            for lane in 0..block { out[lane] = u[lane] * end }
        }";
        let program = with_free_names(&crate::ir::text::parse(text).unwrap());
        assert_eq!(program.dims, ["block_"]);
        assert_eq!(program.bufs[0].shape.to_string(), "[block_]");
        let names: Vec<_> = program.vars.iter().map(|var| var.name.as_str()).collect();
        assert_eq!(names, ["end_", "lane_"]);
        assert_eq!(program.bufs[0].name, "u_");
    }
}
