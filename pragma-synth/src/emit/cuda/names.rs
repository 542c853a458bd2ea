//! Names of a program that C++ or the emitter needs for itself.

use crate::ir::Program;

/// Keywords of C++, names of CUDA, and names that emitted code declares.
const RESERVED: &[&str] = &[
    "alignas",
    "alignof",
    "and",
    "and_eq",
    "asm",
    "auto",
    "bitand",
    "bitor",
    "bool",
    "break",
    "case",
    "catch",
    "char",
    "class",
    "compl",
    "const",
    "const_cast",
    "constexpr",
    "continue",
    "decltype",
    "default",
    "delete",
    "do",
    "double",
    "dynamic_cast",
    "else",
    "enum",
    "explicit",
    "export",
    "extern",
    "false",
    "float",
    "for",
    "friend",
    "goto",
    "if",
    "inline",
    "int",
    "long",
    "mutable",
    "namespace",
    "new",
    "noexcept",
    "not",
    "not_eq",
    "nullptr",
    "operator",
    "or",
    "or_eq",
    "private",
    "protected",
    "public",
    "register",
    "reinterpret_cast",
    "return",
    "short",
    "signed",
    "sizeof",
    "static",
    "static_assert",
    "static_cast",
    "struct",
    "switch",
    "template",
    "this",
    "thread_local",
    "throw",
    "true",
    "try",
    "typedef",
    "typeid",
    "typename",
    "union",
    "unsigned",
    "using",
    "virtual",
    "void",
    "volatile",
    "wchar_t",
    "while",
    "xor",
    "xor_eq",
    "i8",
    "i16",
    "i32",
    "i64",
    "u8",
    "u16",
    "u32",
    "u64",
    "usize",
    "isize",
    "f32",
    "f64",
    "f16",
    "bf16",
    "at",
    "await",
    "blockDim",
    "blockIdx",
    "carry",
    "fault",
    "first",
    "from",
    "gridDim",
    "group",
    "item",
    "lane",
    "left",
    "rank",
    "results",
    "row",
    "shared",
    "threadIdx",
    "thread",
    "tile",
    "value",
    "warp",
    "warpSize",
    "widen",
    "report",
    "publish",
    "quotient",
    "powi",
    "signum",
    "shuffle",
    "main",
    "abs",
    "acos",
    "asin",
    "atan",
    "atan2",
    "cbrt",
    "ceil",
    "copysign",
    "cos",
    "cosh",
    "exp",
    "exp2",
    "expm1",
    "fabs",
    "floor",
    "fma",
    "fmax",
    "fmin",
    "fmod",
    "hypot",
    "log",
    "log10",
    "log1p",
    "log2",
    "max",
    "min",
    "pow",
    "rint",
    "round",
    "sin",
    "sinh",
    "sqrt",
    "tan",
    "tanh",
    "trunc",
    "rem_euclid",
    "div_euclid",
    "max_of",
    "min_of",
    "rotate_left",
    "saturating_add",
    "saturating_sub",
    "saturating_cast",
    "across_team",
    "ticket",
    "tiles",
    "count",
    "total",
    "start",
    "upto",
    "combine",
    "across",
    "fast",
    "slow",
    "step",
    "other",
    "own",
    "stage",
    "sums",
    "parts",
    "part",
    "own_x",
    "own_y",
    "own_row",
    "own_column",
    "a_tiles",
    "b_tiles",
    "fetch",
    "line",
    "along",
    "piece",
    "inside",
    "term",
];

/// Endings of names that are made from the program's names.
const SUFFIXES: &[&str] = &[
    "_at",
    "_end",
    "_first",
    "_from",
    "_pack",
    "_packs",
    "_part",
    "_row",
    "_slots",
    "_tile",
    "_tiles",
    "_f32",
    "_f64",
    "_total",
    "_block",
    "_combine",
    "_candidate",
    "_partials",
    "_status",
    "_before",
    "_start",
];

/// The program with every such name changed.
pub(super) fn with_free_names(program: &Program) -> Program {
    crate::emit::names::renamed(program, &|name| {
        is_reserved(name).then(|| format!("{}_v", plain(name)))
    })
}

fn is_reserved(name: &str) -> bool {
    // `x_pack_2` is the second one of its kind.
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let stem = if stem.len() < name.len() {
        stem.trim_end_matches('_')
    } else {
        name
    };
    RESERVED.contains(&name)
        || SUFFIXES.iter().any(|suffix| stem.ends_with(suffix))
        || plain(name) != name
}

/// The name in the letters of C++, without underscores that it keeps for itself.
fn plain(name: &str) -> String {
    let mut result = String::new();
    for c in name.chars() {
        let c = if c.is_ascii_alphanumeric() || c == '_' {
            c
        } else {
            'u'
        };
        if c != '_' || !(result.is_empty() || result.ends_with('_')) {
            result.push(c);
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_cpp_and_of_the_emitter_are_given_way() {
        let text = "kernel k(float: f32, _x: [f32; block], out: mut [f32; block]) dims(block) {
            for x_pack in 0..block { out[x_pack] = _x[x_pack] * float }
        }";
        let program = with_free_names(&crate::ir::text::parse(text).unwrap());
        assert_eq!(program.dims, ["block"]);
        let names: Vec<_> = program.vars.iter().map(|var| var.name.as_str()).collect();
        assert_eq!(names, ["float_v", "x_pack_v"]);
        assert_eq!(program.bufs[0].name, "x_v");
    }
}
