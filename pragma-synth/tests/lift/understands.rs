//! The page "What Pragma understands", made of the case files, so that it says what is tested.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use quote::ToTokens;

use crate::support::{kernels, source_crate};

/// Sections in this order; files that are not named here come after them.
const ORDER: &[&str] = &[
    "spellings",
    "idioms",
    "vecs",
    "integers",
    "jumps",
    "inlining",
    "records",
    "generics",
    "outcomes",
    "arrays",
    "half",
];

fn cases() -> Vec<PathBuf> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/lift/cases");
    let mut files: Vec<PathBuf> = std::fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ext| ext == "rs"))
        .collect();
    files.sort_by_key(|path| {
        let stem = stem(path);
        let place = ORDER.iter().position(|name| *name == stem);
        (place.unwrap_or(ORDER.len()), stem)
    });
    files
}

fn stem(path: &Path) -> String {
    path.file_stem().unwrap().to_string_lossy().into_owned()
}

/// What the first `//!` lines of a file say.
fn intro(text: &str) -> String {
    let lines = text.lines().map_while(|line| line.strip_prefix("//!"));
    lines
        .map(str::trim)
        .collect::<Vec<_>>()
        .join(" ")
        .trim()
        .to_owned()
}

/// A signature in one line, as people write it.
fn signature(sig: &syn::Signature) -> String {
    let mut text = sig.to_token_stream().to_string();
    for (from, to) in [
        (" < ", "<"),
        (" >", ">"),
        ("& ", "&"),
        (" :", ":"),
        (" (", "("),
        ("( ", "("),
        (" )", ")"),
        (" ,", ","),
        ("[ ", "["),
        (" ]", "]"),
        (" ;", ";"),
        (":: <", "::<"),
        (" :: ", "::"),
        ("< ", "<"),
        (",)", ")"),
        (", >", ">"),
    ] {
        text = text.replace(from, to);
    }
    text.replace(":: ", "::")
        .replace(" ::", "::")
        .replace("->(", "-> (")
        .replace("->&", "-> &")
}

/// The source of a function, between its braces included.
fn source(text: &str, function: &syn::ItemFn) -> String {
    let from = function.sig.fn_token.span.start().line;
    let to = function.block.brace_token.span.close().end().line;
    let lines: Vec<&str> = text.lines().skip(from - 1).take(to - from + 1).collect();
    lines.join("\n")
}

fn page() -> String {
    let mut page = String::from(
        "# What Pragma understands\n\n\
         Made from the lifter's tests by `PRAGMA_BLESS=1 cargo test -p pragma-synth --test lift`; a test fails when \
         this page is out of date. Every function listed as read is run against the compiled function on random \
         arguments, bit for bit, or must fail where that one fails. Their sources are in \
         [`pragma-synth/tests/lift/cases`](../pragma-synth/tests/lift/cases).\n\n\
         A kernel makes the good case of a function: where it returns `Err` or `None`, fails an assertion that its \
         arguments decide, or returns a `Vec` before its end, the call runs the reference.\n",
    );
    let mut refused = String::new();
    let mut count = 0;
    for path in cases() {
        let text = std::fs::read_to_string(&path).unwrap();
        let file = path.file_name().unwrap().to_string_lossy().into_owned();
        let krate = source_crate(&file, &text);
        let mut section = String::new();
        for kernel in kernels(&krate) {
            match kernel.lift(&krate) {
                Ok(_) => {
                    count += 1;
                    let _ = writeln!(section, "- `{}`", signature(&kernel.function.sig));
                }
                Err(refusal) => {
                    let _ = write!(
                        refused,
                        "\n### {}\n\n```rust\n{}\n```\n\nLine {}: {}.\n\n- Why: {}.\n- Instead: {}.\n",
                        refusal.message,
                        source(&text, &kernel.function),
                        refusal.span.start.0 - kernel.function.sig.fn_token.span.start().line + 1,
                        refusal.message,
                        refusal.why.trim_end_matches('.'),
                        refusal.help.trim_end_matches('.'),
                    );
                }
            }
        }
        if !section.is_empty() {
            let _ = write!(
                page,
                "\n## {}\n\n{}\n\n{section}",
                title(&path),
                intro(&text)
            );
        }
    }
    let _ = write!(
        page,
        "\n{count} functions are read.\n\n## What is refused, and what to write instead\n{refused}"
    );
    page
}

fn title(path: &Path) -> String {
    let mut name = stem(path).replace('_', " ");
    name[..1].make_ascii_uppercase();
    name
}

#[test]
fn the_page_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/understands.md");
    let page = page();
    if std::env::var_os("PRAGMA_BLESS").is_some() {
        std::fs::write(&path, &page).unwrap();
    }
    assert!(
        std::fs::read_to_string(&path).unwrap_or_default() == page,
        "docs/understands.md is out of date: PRAGMA_BLESS=1 rewrites it"
    );
}
