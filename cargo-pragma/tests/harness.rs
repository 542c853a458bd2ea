//! The harness on throwaway crates of every shape: libraries, binaries, workspaces, features, odd paths, broken code.
#![forbid(unsafe_code)]

mod support;

use std::path::Path;

use cargo_pragma::harness::{CrateTarget, Harness, HarnessError};
use cargo_pragma::verify::Level;
use object::{Object, ObjectSymbol};
use support::{Fixture, bench, spec, verdict};

const MARKED: &str = "use pragma_runtime::pragma_kernel;\n\n#[pragma_kernel(shape(x = [n], out = [n]))]\nfn double(x: &[f32], out: &mut [f32]) {\n    for (o, x) in out.iter_mut().zip(x) {\n        *o = 2.0 * x;\n    }\n}\n";
const GOOD: &str =
    "pub fn k(n: usize, x: &[f32], out: &mut [f32]) { for i in 0..n { out[i] = 2.0 * x[i]; } }";
const BAD: &str =
    "pub fn k(n: usize, x: &[f32], out: &mut [f32]) { for i in 0..n { out[i] = 2.5 * x[i]; } }";

/// The references that a library exports.
fn references(library: &Path) -> Vec<String> {
    let bytes = std::fs::read(library).expect("the reference library exists");
    let file = object::File::parse(bytes.as_slice()).expect("is a library");
    let names = file
        .dynamic_symbols()
        .filter_map(|symbol| symbol.name().ok().map(str::to_owned));
    names
        .filter(|name| name.starts_with("pragma_reference_"))
        .collect()
}

/// Judges a good and a bad kernel against the one reference of the harness.
fn works(harness: &Harness) {
    let symbols = references(&harness.reference);
    let [symbol] = symbols.as_slice() else {
        panic!("one reference expected, found {symbols:?}");
    };
    let spec = spec(
        "fn double(x: &[f32], out: &mut [f32])",
        "shape(x = [n], out = [n])",
        symbol,
        None,
    );
    let mut bench = bench(harness, spec).unwrap_or_else(|error| panic!("{error}"));
    let good = format!(
        "{:?}",
        verdict(harness, &mut bench, GOOD, "k", Level::Search)
    );
    assert!(good.starts_with("Verified"), "{good}");
    let bad = format!(
        "{:?}",
        verdict(harness, &mut bench, BAD, "k", Level::Search)
    );
    assert!(bad.starts_with("Wrong"), "{bad}");
}

fn built(result: Result<Harness, HarnessError>) -> Harness {
    result.unwrap_or_else(|error| panic!("{error:?}"))
}

/// Every file under `root` but for the lock file, which cargo may prune.
fn tree(root: &Path) -> Vec<(String, Vec<u8>)> {
    let mut files = Vec::new();
    let mut dirs = vec![root.to_owned()];
    while let Some(dir) = dirs.pop() {
        for entry in std::fs::read_dir(dir)
            .expect("can be read")
            .map(|entry| entry.expect("can be read").path())
        {
            if entry.is_dir() {
                dirs.push(entry);
            } else if entry.file_name().is_none_or(|name| name != "Cargo.lock") {
                files.push((
                    entry.display().to_string(),
                    std::fs::read(&entry).expect("can be read"),
                ));
            }
        }
    }
    files.sort();
    files
}

#[test]
fn a_private_function_of_a_library_with_nothing_changed() {
    let fixture = Fixture::new("plain", "plain", "")
        .file("src/lib.rs", MARKED)
        .file("pragma/index.toml", "format = 1\n");
    let before = tree(&fixture.root);
    let harness = built(fixture.build("plain"));
    works(&harness);
    assert_eq!(tree(&fixture.root), before);
    // Nothing changed, so nothing is built again; a change is noticed.
    let modified = |harness: &Harness| {
        std::fs::metadata(&harness.reference)
            .and_then(|meta| meta.modified())
            .expect("exists")
    };
    let again = built(fixture.build("plain"));
    assert_eq!(
        (&again.reference, modified(&again)),
        (&harness.reference, modified(&harness))
    );
    let fixture = fixture.file("src/lib.rs", &MARKED.replace("2.0 * x", "3.0 * x"));
    let changed = built(fixture.build("plain"));
    assert_ne!(changed.reference, harness.reference);
    assert_ne!(
        references(&changed.reference),
        references(&harness.reference)
    );
}

#[test]
fn a_binary_with_its_own_module() {
    let main = format!(
        "mod kernels {{\n{MARKED}\npub fn go() {{ let mut out = [0.0; 2]; double(&[1.0, 2.0], &mut out); println!(\"{{out:?}}\"); }}\n}}\nfn main() {{ kernels::go() }}\n"
    );
    let fixture = Fixture::new("app", "my-app", "")
        .file("src/main.rs", &main)
        .file("pragma/index.toml", "format = 1\n");
    let harness = built(fixture.build_target("my-app", CrateTarget::Bin("my-app".into()), &[]));
    works(&harness);
}

#[test]
fn spaces_and_letters_in_the_path() {
    let fixture = Fixture::new("mit Leerzeichen/größe 数", "pfad", "")
        .file("src/lib.rs", MARKED)
        .file("pragma/index.toml", "format = 1\n");
    works(&built(fixture.build("pfad")));
}

#[test]
fn a_member_of_a_workspace_with_a_dependency_in_it() {
    let fixture = Fixture::new("ws", "unused", "")
        .file(
            "helper/Cargo.toml",
            "[package]\nname = \"helper\"\nversion = \"0.1.0\"\nedition = \"2024\"\n",
        )
        .file("helper/src/lib.rs", "pub const FACTOR: f32 = 2.0;\n");
    let runtime = support::workspace().join("runtime");
    let fixture = fixture
        .file("Cargo.toml", "[workspace]\nresolver = \"3\"\nmembers = [\"helper\", \"member\"]\n")
        .file(
            "member/Cargo.toml",
            &format!("[package]\nname = \"member\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[dependencies]\nhelper = {{ path = \"../helper\" }}\nrt = {{ package = \"pragma-runtime\", path = {runtime:?} }}\n"),
        )
        .file("member/pragma/index.toml", "format = 1\n")
        .file(
            "member/src/lib.rs",
            &MARKED
                .replace("pragma_runtime::", "rt::")
                .replace("shape(x", "crate = rt, shape(x")
                .replace("2.0 * x", "helper::FACTOR * x"),
        );
    let mut member = fixture;
    member.root = member.root.join("member");
    works(&built(member.build("member")));
}

#[test]
fn features_and_build_scripts_reach_the_reference() {
    let source = MARKED.replace("2.0 * x", "FACTOR * x")
        + "#[cfg(feature = \"two\")]\nconst FACTOR: f32 = 2.0;\n#[cfg(not(feature = \"two\"))]\nconst FACTOR: f32 = 1.0;\nconst _: &str = env!(\"FROM_SCRIPT\");\n";
    let fixture = Fixture::new("feat", "feat", "\n[features]\ntwo = []\n")
        .file("src/lib.rs", &source)
        .file(
            "build.rs",
            "fn main() { println!(\"cargo::rustc-env=FROM_SCRIPT=yes\"); }\n",
        )
        .file("pragma/index.toml", "format = 1\n");
    works(&built(fixture.build_target(
        "feat",
        CrateTarget::Lib,
        &["--features", "two"],
    )));
}

#[test]
fn a_broken_crate_is_shown_in_rustcs_words() {
    let fixture =
        Fixture::new("broken", "broken", "").file("src/lib.rs", "fn f() -> u32 { \"text\" }\n");
    match fixture.build("broken") {
        Err(HarnessError::DoesNotBuild { rendered }) => {
            assert!(
                rendered.contains("error[E0308]: mismatched types")
                    && rendered.contains("src/lib.rs:1:"),
                "{rendered}"
            );
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_crate_without_the_runtime_is_told_so() {
    let fixture = Fixture::new("bare", "bare", "");
    let manifest =
        "[package]\nname = \"bare\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[workspace]\n";
    let fixture = fixture
        .file("Cargo.toml", manifest)
        .file("src/lib.rs", "pub fn f() {}\n");
    match fixture.build("bare") {
        Err(HarnessError::NoRuntime(name)) => assert_eq!(name, "bare"),
        other => panic!("{other:?}"),
    }
}
