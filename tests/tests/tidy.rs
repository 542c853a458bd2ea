//! Habits of the source tree that a compiler does not check.

use std::path::{Path, PathBuf};

/// Lines of a file that are not tests, at most.
const LONGEST: usize = 600;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Every file that git tracks (or would), relative to the root.
fn tracked() -> Vec<PathBuf> {
    let mut files = Vec::new();
    walk(&root(), &mut files);
    files.sort();
    files
}

fn walk(dir: &Path, files: &mut Vec<PathBuf>) {
    let mut entries: Vec<_> = std::fs::read_dir(dir)
        .expect("the tree is readable")
        .map(|entry| entry.expect("the tree is readable").path())
        .collect();
    entries.sort();
    for path in entries {
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        if path.is_dir() {
            if !matches!(name.as_str(), "target" | ".git" | "node_modules") {
                walk(&path, files);
            }
        } else if name == ".git" {
            // A worktree's link to its repository.
            continue;
        } else {
            files.push(path);
        }
    }
}

fn is_rust(path: &Path) -> bool {
    path.extension().is_some_and(|ext| ext == "rs")
}

fn relative(path: &Path) -> String {
    path.strip_prefix(root())
        .unwrap_or(path)
        .to_string_lossy()
        .replace('\\', "/")
}

/// Source that people write: no test inputs, no vendored kernels.
fn is_source(path: &Path) -> bool {
    let name = relative(path);
    is_rust(path)
        && !name.contains("/pragma/")
        && !name.contains("/tests/")
        && !name.contains("/fixtures/")
        && !name.starts_with("tests/")
}

#[test]
fn source_files_say_what_they_own() {
    let silent: Vec<_> = tracked()
        .into_iter()
        .filter(|path| is_source(path))
        .filter(|path| {
            let text = std::fs::read_to_string(path).expect("source is UTF-8");
            !text.lines().take(3).any(|line| line.starts_with("//!"))
        })
        .map(|path| relative(&path))
        .collect();
    assert!(silent.is_empty(), "no `//!` header: {silent:#?}");
}

#[test]
fn source_files_fit_in_the_head() {
    let long: Vec<_> = tracked()
        .into_iter()
        .filter(|path| is_source(path))
        .filter_map(|path| {
            let text = std::fs::read_to_string(&path).expect("source is UTF-8");
            let lines = text
                .lines()
                .take_while(|line| *line != "#[cfg(test)]")
                .count();
            (lines > LONGEST).then(|| format!("{} ({lines} lines)", relative(&path)))
        })
        .collect();
    assert!(long.is_empty(), "longer than {LONGEST} lines: {long:#?}");
}

#[test]
fn nothing_is_left_lying_about() {
    // Spelled in halves so that this file does not find itself.
    let words = [
        concat!("dbg", "!("),
        concat!("todo", "!("),
        concat!("unimplemented", "!("),
        concat!("#[ig", "nore"),
        concat!("TO", "DO"),
        concat!("FIX", "ME"),
    ];
    let mut found = Vec::new();
    for path in tracked().into_iter().filter(|path| is_rust(path)) {
        let Ok(text) = std::fs::read_to_string(&path) else {
            continue;
        };
        for (at, line) in text.lines().enumerate() {
            for word in words {
                if line.contains(word) {
                    found.push(format!("{}:{}: {word}", relative(&path), at + 1));
                }
            }
        }
    }
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn module_names_say_something() {
    let vague: Vec<_> = tracked()
        .into_iter()
        .filter(|path| is_rust(path))
        .filter(|path| {
            let stem = path.file_stem().unwrap_or_default().to_string_lossy();
            matches!(
                &*stem,
                "utils" | "util" | "imp" | "base" | "misc" | "helpers" | "common"
            )
        })
        .map(|path| relative(&path))
        .collect();
    assert!(vague.is_empty(), "{vague:#?}");
}

#[test]
fn no_machine_is_named() {
    let mut found = Vec::new();
    let words = [
        concat!("/wo", "rk/"),
        concat!("/ro", "ot/"),
        concat!("/ho", "me/"),
    ];
    for path in tracked() {
        let name = relative(&path);
        if name.ends_with("Cargo.lock") {
            continue;
        }
        let Ok(text) = std::fs::read_to_string(&path) else {
            continue;
        };
        for (at, line) in text.lines().enumerate() {
            if words.iter().any(|word| line.contains(word)) {
                found.push(format!("{name}:{}", at + 1));
            }
        }
    }
    assert!(found.is_empty(), "a path of one machine: {found:#?}");
}

#[test]
fn unsafe_code_stays_where_it_belongs() {
    let allowed = |name: &str| {
        name.starts_with("runtime/")
            || name.contains("/pragma/")
            || name.contains("/tests/")
            || name.starts_with("cargo-pragma/src/worker/")
            // Source text of other crates, in quoted tokens and a raw string.
            || name == "cargo-pragma/src/harness/candidate.rs"
            || name == "cargo-pragma/src/measure/probe.rs"
    };
    for krate in ["pragma-spec", "pragma-macro", "pragma-synth"] {
        let lib = std::fs::read_to_string(root().join(krate).join("src/lib.rs")).expect("a lib.rs");
        assert!(
            lib.contains("#![forbid(unsafe_code)]"),
            "{krate} does not forbid unsafe code"
        );
    }
    let mut found = Vec::new();
    for path in tracked().into_iter().filter(|path| is_rust(path)) {
        let name = relative(&path);
        if allowed(&name) || !name.starts_with("cargo-pragma/src/") {
            continue;
        }
        let text = std::fs::read_to_string(&path).expect("source is UTF-8");
        for (at, line) in text.lines().enumerate() {
            let code = line.split("//").next().unwrap_or_default();
            // Text that holds generated code is in string literals.
            let code: String = code.split('"').step_by(2).collect();
            let code = format!(" {code}");
            if code.contains(" unsafe {") || code.contains(" unsafe fn") {
                found.push(format!("{name}:{}", at + 1));
            }
        }
    }
    assert!(found.is_empty(), "unsafe code: {found:#?}");
}
