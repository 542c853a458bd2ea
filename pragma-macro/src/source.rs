//! Where in the user's source a token stands.

use std::path::{Path, PathBuf};

use proc_macro2::Span;

/// The file of `span`, if it is one.
pub fn file(span: Span) -> Option<PathBuf> {
    span.unwrap().local_file()
}

/// The last component of the file of `span`, and line (from 1) and column (from 0, in characters).
pub fn place(span: Span) -> (String, usize, usize) {
    let file = file(span);
    let name = file.as_deref().and_then(Path::file_name);
    let name = name.map(|name| name.to_string_lossy().into_owned());
    let span = span.unwrap();
    (
        name.unwrap_or_default(),
        span.line(),
        // The compiler counts columns from 1, `proc_macro2` and so the tool from 0.
        span.column().saturating_sub(1),
    )
}

/// The name of the module that is usually in such a file: `a` for `a.rs` and `a/mod.rs`.
pub fn module_of(file: &Path) -> Option<&str> {
    match file.file_stem()?.to_str()? {
        "mod" => file.parent()?.file_name()?.to_str(),
        "lib" | "main" => None,
        stem => Some(stem),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_of_files() {
        for (file, module) in [
            ("src/a.rs", Some("a")),
            ("src/a/mod.rs", Some("a")),
            ("src/a/b.rs", Some("b")),
            ("src/lib.rs", None),
            ("src/main.rs", None),
            ("mod.rs", None),
        ] {
            assert_eq!(module_of(Path::new(file)), module, "{file}");
        }
    }
}
