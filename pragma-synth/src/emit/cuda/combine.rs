//! Reductions across threads: what each thread starts from, and how results are put together.
//!
//! Every combination has a fixed order that depends on sizes alone, so that repeats give the same
//! bits. There are no float atomics.

use std::fmt::Write;

use pragma_spec::Scalar;

use crate::analyze::reduce::{self, Combine, Reduction};
use crate::emit::lines::Lines;
use crate::ir::VarId;

use super::expr::{Spell, value_type};

/// `a` and `b` combined, as C++.
pub(super) fn text(
    spell: &Spell<'_>,
    combine: Combine,
    scalar: Scalar,
    a: &str,
    b: &str,
) -> String {
    let ty = value_type(scalar);
    let wrapping = if scalar.bytes() == 8 { "u64" } else { "u32" };
    let float = scalar.is_float();
    let arithmetic = |op: &str| match (float, scalar) {
        (true, Scalar::Bf16) => {
            spell.uses.borrow_mut().helpers.insert("bf16");
            format!("round_bf16({a} {op} {b})")
        }
        (true, _) => format!("{a} {op} {b}"),
        _ => format!("({ty})(({wrapping}){a} {op} ({wrapping}){b})"),
    };
    let bitwise = |op: &str| match scalar {
        Scalar::Bool => format!("{a} {op} {b}"),
        _ => format!("({ty})({a} {op} {b})"),
    };
    let extreme = |float_name: &str, op: &str| match scalar {
        Scalar::F64 => format!("{float_name}({a}, {b})"),
        _ if float => format!("{float_name}f({a}, {b})"),
        _ => format!("{b} {op} {a} ? {b} : {a}"),
    };
    match combine {
        Combine::Add => arithmetic("+"),
        Combine::Mul => arithmetic("*"),
        Combine::And if scalar == Scalar::Bool => bitwise("&&"),
        Combine::Or if scalar == Scalar::Bool => bitwise("||"),
        Combine::Xor if scalar == Scalar::Bool => bitwise("!="),
        Combine::And => bitwise("&"),
        Combine::Or => bitwise("|"),
        Combine::Xor => bitwise("^"),
        Combine::Max => extreme("fmax", ">"),
        Combine::Min => extreme("fmin", "<"),
        Combine::PickGt => format!("{b} > {a} ? {b} : {a}"),
        Combine::PickLt => format!("{b} < {a} ? {b} : {a}"),
    }
}

/// The name of a thread's part of a variable.
pub(super) fn part(spell: &Spell<'_>, var: VarId) -> String {
    format!("{}_part", spell.program.var(var).name)
}

/// The value a thread's part starts from: what changes nothing, or else the variable as it is.
pub(super) fn start(spell: &Spell<'_>, acc: VarId, combine: Combine) -> (String, bool) {
    let scalar = spell.program.var(acc).scalar;
    match reduce::identity(combine, scalar) {
        Some(identity) => (spell.literal_text(identity), true),
        None => (spell.var(acc), false),
    }
}

/// Variables with a text for each: a name, or a statement.
pub(super) type Spellings = Vec<(VarId, String)>;

/// Declares a thread's parts of all reductions of a loop over `counter`; returns how the body
/// calls them.
pub(super) fn declare(
    out: &mut Lines,
    spell: &Spell<'_>,
    reductions: &[Reduction],
    counter: VarId,
) -> (Spellings, Spellings) {
    let mut renamed = Vec::new();
    let mut origins = Vec::new();
    for reduction in reductions {
        let (acc, combine) = match reduction {
            Reduction::Plain { acc, combine } => (*acc, *combine),
            Reduction::Arg { best, combine, .. } => (*best, *combine),
        };
        let (value, _) = start(spell, acc, combine);
        let ty = value_type(spell.program.var(acc).scalar);
        out.line(format!("{ty} {} = {value};", part(spell, acc)));
        renamed.push((acc, part(spell, acc)));
        if let Reduction::Arg { with, .. } = reduction {
            for var in with {
                let ty = value_type(spell.program.var(*var).scalar);
                out.line(format!("{ty} {} = {};", part(spell, *var), spell.var(*var)));
                renamed.push((*var, part(spell, *var)));
            }
            // Where the value was found, from 1; 0 is the value before the loop.
            let from = format!("{}_from", spell.program.var(acc).name);
            let counter = &spell.program.var(counter).name;
            out.line(format!("usize {from} = 0;"));
            origins.push((acc, format!("{from} = {counter} + 1;")));
        }
    }
    (renamed, origins)
}

/// The type of one reduction's value between threads, and how two of them combine.
pub(super) struct Shape {
    /// A declaration that the kernel needs first, if any.
    pub declaration: Option<String>,
    /// The C++ type.
    pub ty: String,
    /// A lambda of two values.
    pub lambda: String,
    /// A thread's part as one value.
    pub gather: String,
}

/// How the parts of a reduction travel.
pub(super) fn shape(spell: &Spell<'_>, reduction: &Reduction) -> Shape {
    let program = spell.program;
    match reduction {
        Reduction::Plain { acc, combine } => {
            let scalar = program.var(*acc).scalar;
            let ty = value_type(scalar).to_owned();
            let combined = text(spell, *combine, scalar, "a", "b");
            Shape {
                declaration: None,
                lambda: format!("[]({ty} a, {ty} b) {{ return {combined}; }}"),
                ty,
                gather: part(spell, *acc),
            }
        }
        Reduction::Arg {
            best,
            combine,
            with,
        } => {
            let name = &program.var(*best).name;
            let ty = format!("{name}_candidate");
            let op = if *combine == Combine::PickGt {
                ">"
            } else {
                "<"
            };
            let mut fields = String::new();
            let mut parts = vec![part(spell, *best)];
            // Writing to a string cannot fail.
            let best_ty = value_type(program.var(*best).scalar);
            let _ = write!(fields, "{best_ty} {name}; ");
            for var in with {
                let decl = program.var(*var);
                let _ = write!(fields, "{} {}; ", value_type(decl.scalar), decl.name);
                parts.push(part(spell, *var));
            }
            parts.push(format!("{name}_from"));
            Shape {
                declaration: Some(format!("struct {ty} {{ {fields}usize from; }};")),
                lambda: format!(
                    "[](const {ty}& a, const {ty}& b) {{ return b.{name} {op} a.{name} || (b.{name} == a.{name} && b.from < a.from) ? b : a; }}"
                ),
                gather: format!("{ty}{{{}}}", parts.join(", ")),
                ty,
            }
        }
    }
}

/// Statements that set the variables of a reduction to the combined value called `total`.
pub(super) fn finish(out: &mut Lines, spell: &Spell<'_>, reduction: &Reduction, total: &str) {
    match reduction {
        Reduction::Plain { acc, combine } => {
            let name = spell.var(*acc);
            let (_, identity) = start(spell, *acc, *combine);
            let scalar = spell.program.var(*acc).scalar;
            if identity {
                let value = text(spell, *combine, scalar, &name, total);
                out.line(format!("{name} = {value};"));
            } else {
                out.line(format!("{name} = {total};"));
            }
        }
        Reduction::Arg { best, with, .. } => {
            for var in std::iter::once(best).chain(with) {
                let name = spell.var(*var);
                out.line(format!(
                    "{name} = {total}.{};",
                    spell.program.var(*var).name
                ));
            }
        }
    }
}
