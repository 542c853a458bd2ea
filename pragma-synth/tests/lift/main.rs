//! Golden tests of the lifter: what each function of `cases/*.rs` is read as.
//!
//! A case file is plain Rust; every `pub fn` in it is a kernel, and a doc line `attr: ..` holds
//! what its attribute would. Beside it stands the text of the programs it is read as.
//! `PRAGMA_BLESS=1` rewrites those.

mod support;

use std::path::Path;

use support::{kernels, source_crate};

#[test]
fn golden() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/lift/cases");
    let mut files: Vec<_> = std::fs::read_dir(&dir)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ext| ext == "rs"))
        .collect();
    files.sort();
    let bless = std::env::var_os("PRAGMA_BLESS").is_some();
    let mut wrong = Vec::new();
    for path in files {
        let text = std::fs::read_to_string(&path).unwrap();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let krate = source_crate(&name, &text);
        let mut found = String::new();
        for kernel in kernels(&krate) {
            found.push_str(&kernel.describe(&krate));
            found.push('\n');
        }
        let golden = path.with_extension("pir");
        if bless {
            std::fs::write(&golden, &found).unwrap();
        } else if std::fs::read_to_string(&golden).unwrap_or_default() != found {
            wrong.push(name);
        }
    }
    assert!(
        wrong.is_empty(),
        "read differently than recorded (PRAGMA_BLESS=1 to update): {wrong:?}"
    );
}
