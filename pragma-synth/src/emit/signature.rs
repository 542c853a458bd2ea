//! The signature of a kernel as every emitter writes it.
//!
//! Dimensions first, as `usize`; then the parameters in order, without those that are dimensions;
//! then the returned buffer, if there is one, uninitialised.

use std::fmt::Write;

use crate::ir::{BufRole, Param, Program, Returns};

/// `pub fn entry(rows: usize, x: &[f32], out: &mut [f32]) -> f32`, without the body.
///
/// Array parameters are slices here: an IR buffer does not know which of the two it was.
pub fn signature(program: &Program, entry: &str) -> String {
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
                let reference = match decl.role {
                    BufRole::Input => "&",
                    _ => "&mut ",
                };
                params.push(format!("{}: {reference}[{}]", decl.name, decl.elem));
            }
        }
    }
    let mut result = String::new();
    match &program.returns {
        Returns::Nothing => {}
        Returns::Scalars(scalars) => {
            let names: Vec<_> = scalars.iter().map(|scalar| scalar.name()).collect();
            // Writing to a `String` cannot fail.
            let _ = match names[..] {
                [name] => write!(result, " -> {name}"),
                _ => write!(result, " -> ({})", names.join(", ")),
            };
        }
        Returns::Buffer(buf) => {
            let decl = program.buf(*buf);
            params.push(format!(
                "{}: &mut [::core::mem::MaybeUninit<{}>]",
                decl.name, decl.elem
            ));
        }
    }
    format!("pub fn {entry}({}){result}", params.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::text::parse;

    #[test]
    fn dimensions_come_first_and_once() {
        let text = |text| signature(&parse(text).unwrap(), "entry");
        assert_eq!(
            text(
                "kernel k(x: [f32; n], m: dim, mut a: f64, o: mut [u8; m]) -> (f32, bool) dims(n, m) { }"
            ),
            "pub fn entry(n: usize, m: usize, x: &[f32], mut a: f64, o: &mut [u8]) -> (f32, bool)"
        );
        assert_eq!(
            text("kernel k(x: [f32; n]) -> r: ret [i8; n] dims(n) { }"),
            "pub fn entry(n: usize, x: &[f32], r: &mut [::core::mem::MaybeUninit<i8>])"
        );
        assert_eq!(
            text("kernel k() -> f32 dims() { }"),
            "pub fn entry() -> f32"
        );
    }
}
