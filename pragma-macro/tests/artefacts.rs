//! What the compiler says when the files under `pragma/` do not belong to the function.
//!
//! Stale is a warning and the reference runs; everything that `cargo pragma tune` cannot have written is an error.

mod support;

use pragma_spec::{KernelId, Manifest, Target};
use support::{Crate, HandWritten, sum_kernel};

const V3: Target = Target::X86_64V3;

const SUM: &str = "\
use pragma_runtime::pragma_kernel;

/// Sums.
#[pragma_kernel(shape(x = [n]))]
pub fn sum(x: &[f32]) -> f32 {
    x.iter().fold(0.0, |a, b| a + b)
}

fn main() {
    println!(\"{} {}\", sum(&[1.0]), sum::reference(&[1.0]));
}
";

/// A crate whose `sum` has a kernel that prints `302`.
fn tuned(name: &str) -> Crate {
    let krate = Crate::new(name);
    krate.write("src/main.rs", SUM);
    let text = sum_kernel(V3, "sum", 300.0);
    let kernel = HandWritten {
        shapes: &[("x", "[n]")],
        files: &[(V3, &text, &[("sum", None)])],
    };
    krate.tune("src/main.rs", "", "sum", &kernel);
    krate
}

/// `cargo build`'s messages without those of cargo itself.
fn build(krate: &Crate) -> (bool, String) {
    let outcome = krate.cargo(&["build", "--quiet"]);
    let lines = outcome.stderr.lines();
    let kept: Vec<&str> = lines
        .filter(|line| {
            !line.starts_with("error: could not compile") && !line.starts_with("warning: `")
        })
        .collect();
    (outcome.ok, kept.join("\n").trim().to_owned())
}

/// The build fails with exactly this one error.
fn assert_error(krate: &Crate, text: &str) {
    let (ok, stderr) = build(krate);
    assert!(!ok, "the build must fail");
    assert!(stderr.starts_with(&format!("error: {text}")), "{stderr}");
    assert_eq!(stderr.matches("error").count(), 1, "{stderr}");
    assert!(!stderr.contains("warning"), "{stderr}");
    assert!(stderr.contains("src/main.rs:5:8"), "{stderr}");
}

fn restore(path: &str) -> String {
    format!(
        "\n         = help: restore it with `git checkout -- {path}`, or make new kernels with `cargo pragma tune sum`"
    )
}

#[test]
fn an_edited_function_is_stale_until_it_is_edited_back() {
    let krate = tuned("artefacts-stale");
    assert_eq!(build(&krate), (true, String::new()));
    krate.write("src/main.rs", &SUM.replace("fold(0.0", "fold(1.0"));
    let (ok, stderr) = build(&krate);
    assert!(ok);
    let expected = "\
warning: use of deprecated associated function `_::PragmaKernel::<true>::is_stale`: `sum` has changed since its \
kernels were made, so they are not used: run `cargo pragma tune sum`
 --> src/main.rs:5:8
  |
5 | pub fn sum(x: &[f32]) -> f32 {
  |        ^^^
  |
  = note: `#[warn(deprecated)]` on by default";
    assert_eq!(stderr, expected);
    assert_eq!(krate.run(), "2 2");

    // What does not change the meaning does not make a kernel stale.
    let same = SUM
        .replace("/// Sums.", "/// Adds up.\n#[inline]\n#[allow(unused)]")
        .replace("pub fn sum", "// Adds up.\npub(crate) fn sum")
        .replace("|a, b| a + b", "|a,b|\n a+b");
    krate.write("src/main.rs", &same);
    assert_eq!(build(&krate), (true, String::new()));

    krate.write("src/main.rs", &SUM.replace("[n]", "[rows]"));
    let (_, stderr) = build(&krate);
    assert!(stderr.contains("has changed since its kernels"), "{stderr}");

    krate.write("src/main.rs", SUM);
    assert_eq!(build(&krate), (true, String::new()));
}

#[test]
fn a_function_of_the_same_name_elsewhere_is_not_stale() {
    let krate = tuned("artefacts-same-name");
    let other = "mod other {\n    #[pragma_runtime::pragma_kernel]\n    pub fn sum(x: &[f64]) -> f64 { x[0] }\n}\n";
    krate.write(
        "src/main.rs",
        &SUM.replace(
            "fn main() {",
            &format!("{other}fn main() {{ other::sum(&[1.0]);"),
        ),
    );
    assert_eq!(build(&krate), (true, String::new()));
}

#[test]
fn without_an_index_the_macro_asks_for_init() {
    let krate = Crate::new("artefacts-no-index");
    krate.write("src/main.rs", SUM);
    std::fs::remove_dir_all(krate.dir.join("pragma")).expect("it was there");
    let (ok, stderr) = build(&krate);
    assert!(ok);
    let expected = "\
warning: use of deprecated constant `_::pragma_is_not_set_up`: this package has no `pragma/index.toml`, so kernels \
would not be noticed: run `cargo pragma init`
 --> src/main.rs:5:8
  |
5 | pub fn sum(x: &[f32]) -> f32 {
  |        ^^^
  |
  = note: `#[warn(deprecated)]` on by default";
    assert_eq!(stderr, expected);
    // Init adds the index and edits Cargo.toml, and that alone must make cargo look again.
    let manifest = krate.read("Cargo.toml") + "\n[package.metadata.pragma]\n";
    std::thread::sleep(std::time::Duration::from_millis(20));
    krate.write("Cargo.toml", &manifest);
    krate.write(
        "pragma/index.toml",
        &pragma_spec::Index::default().to_toml(),
    );
    assert_eq!(build(&krate), (true, String::new()));
}

#[test]
fn a_kernel_edited_by_hand_is_refused() {
    let krate = tuned("artefacts-edited");
    assert_eq!(build(&krate), (true, String::new()));
    let path = "pragma/sum/x86-64-v3.rs";
    let text = krate.read(path);
    krate.write(path, &text.replace("300.0", "301.0"));
    let message = format!(
        "`{path}` is not the kernel that was verified: it was changed{}",
        restore(path)
    );
    assert_error(&krate, &message);
    // Line ends are git's business.
    krate.write(path, &text.replace('\n', "\r\n"));
    assert_eq!(build(&krate), (true, String::new()));
    std::fs::remove_file(krate.dir.join(path)).expect("it was there");
    assert_error(&krate, &format!("`{path}` is missing{}", restore(path)));
    std::fs::write(krate.dir.join(path), b"\xff\xfe").expect("writable");
    assert_error(&krate, &format!("`{path}` cannot be read: "));
}

#[test]
fn a_manifest_edited_by_hand_is_refused() {
    let krate = tuned("artefacts-manifest");
    let path = "pragma/sum/manifest.toml";
    let text = krate.read(path);
    krate.write(path, &text.replace("[n]", "[m]"));
    let message = format!(
        "`{path}` is not the file that `pragma/index.toml` lists: it was changed{}",
        restore(path)
    );
    assert_error(&krate, &message);
    std::fs::remove_file(krate.dir.join(path)).expect("it was there");
    assert_error(&krate, &format!("`{path}` is missing{}", restore(path)));
}

/// Changes the manifest and the index with it, so that only the content can be wrong.
fn with_manifest(name: &str, change: impl FnOnce(&mut Manifest)) -> Crate {
    let krate = tuned(name);
    let text = krate.read("pragma/sum/manifest.toml");
    let mut manifest = Manifest::parse(&text).expect("a manifest");
    change(&mut manifest);
    krate.write_manifest(&manifest);
    krate
}

#[test]
fn kernels_of_another_package_are_refused() {
    let krate = with_manifest("artefacts-foreign", |manifest| {
        manifest.package = "elsewhere".to_owned();
    });
    let path = "pragma/sum/manifest.toml";
    let message = format!(
        "`{path}` belongs to the package `elsewhere`, and this is `artefacts-foreign`{}",
        restore(path)
    );
    assert_error(&krate, &message);
}

#[test]
fn newer_formats_are_refused() {
    let update = "\n         = help: update `pragma-runtime` to the version of the `cargo pragma` that wrote it";
    let krate = with_manifest("artefacts-newer", |manifest| manifest.format = 2);
    let message = format!(
        "`pragma/sum/manifest.toml`: format 2 is newer than this version of pragma understands (1){update}"
    );
    assert_error(&krate, &message);
    let index = krate
        .read("pragma/index.toml")
        .replace("format = 1", "format = 7");
    krate.write("pragma/index.toml", &index);
    let message = format!(
        "`pragma/index.toml`: format 7 is newer than this version of pragma understands (1){update}"
    );
    assert_error(&krate, &message);
}

#[test]
fn a_broken_index_is_refused() {
    let krate = tuned("artefacts-index");
    let index = krate.read("pragma/index.toml");
    let help = "\n         = help: restore it with `git checkout -- pragma/index.toml`, or run `cargo pragma tune`";
    krate.write(
        "pragma/index.toml",
        &index.replace("kernels = [", "<<<<<<< HEAD\nkernels = ["),
    );
    let (ok, stderr) = build(&krate);
    assert!(
        !ok && stderr.contains("`pragma/index.toml`: line 4: "),
        "{stderr}"
    );
    assert!(stderr.contains(help.trim()), "{stderr}");
    let line = index
        .lines()
        .find(|line| line.contains("sum"))
        .expect("listed");
    krate.write(
        "pragma/index.toml",
        &index.replace(line, &format!("{line}\n{line}")),
    );
    assert_error(
        &krate,
        &format!("`pragma/index.toml`: the kernel `sum` is listed twice{help}"),
    );
    krate.write(
        "pragma/index.toml",
        &index.replace("function = \"sum\", ", ""),
    );
    assert_error(
        &krate,
        &format!("`pragma/index.toml`: `function` is missing{help}"),
    );
}

#[test]
fn contradictions_are_refused() {
    let path = "pragma/sum/manifest.toml";
    let krate = with_manifest("artefacts-contradiction", |_| {});
    let index = krate.read("pragma/index.toml");
    let zeros = format!("sha256:{}", "0".repeat(64));
    let parsed = pragma_spec::Index::parse(&index).expect("an index");
    let fingerprint = parsed.kernels[0].fingerprint.as_str();
    krate.write("pragma/index.toml", &index.replace(fingerprint, &zeros));
    let message = format!("`{path}` contradicts `pragma/index.toml`{}", restore(path));
    assert_error(&krate, &message);

    let krate = with_manifest("artefacts-shapes", |manifest| {
        manifest.dims.push("k".to_owned());
    });
    assert_error(
        &krate,
        &format!("`{path}` has shapes that do not work: the size `k` cannot be computed"),
    );

    let krate = with_manifest("artefacts-no-shape", |manifest| {
        manifest.dims.clear();
        manifest.shapes.clear();
    });
    let message = format!("`{path}` has no shape for `x`{}", restore(path));
    assert_error(&krate, &message);

    let krate = with_manifest("artefacts-path", |manifest| {
        manifest.artefacts[0].file = Some("../sum.rs".to_owned());
    });
    let message = format!("`{path}` names `../sum.rs` for x86-64-v3{}", restore(path));
    assert_error(&krate, &message);

    let krate = with_manifest("artefacts-no-file", |manifest| {
        manifest.artefacts[0].file = None
    });
    let message = format!("`{path}` names no file for x86-64-v3{}", restore(path));
    assert_error(&krate, &message);

    let message = format!(
        "`{path}` has variants for x86-64-v3 that do not work{}",
        restore(path)
    );
    let krate = with_manifest("artefacts-bounded", |manifest| {
        manifest.artefacts[0].variants[0].max_elements = Some(4);
    });
    assert_error(&krate, &message);
    let krate = with_manifest("artefacts-entry", |manifest| {
        manifest.artefacts[0].variants[0].entry = "a b".to_owned();
    });
    assert_error(&krate, &message);
    let krate = with_manifest("artefacts-none", |manifest| {
        manifest.artefacts[0].variants.clear()
    });
    assert_error(&krate, &message);

    let krate = with_manifest("artefacts-renamed", |manifest| {
        manifest.kernel = KernelId::new("sum2").expect("an id");
    });
    // The new directory is not that of the kernel files.
    let stderr = build(&krate).1;
    assert!(
        stderr.contains("`pragma/sum2/x86-64-v3.rs` is missing"),
        "{stderr}"
    );
}
