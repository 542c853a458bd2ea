//! The corpus: every function is found and read, and its table of results says what was measured.
//!
//! `PRAGMA_BLESS=1` writes the table from the measurements that are vendored with the kernels; measure them on a quiet
//! machine with `cargo pragma tune -p pragma-corpus`.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use cargo_pragma::cli::args::Common;
use cargo_pragma::discover::{self, PackageSource, Workspace};
use cargo_pragma::tune::lifting::Lifter;
use cargo_pragma::vendor::{Measured, Measurements};

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/corpus")
}

fn read() -> (Workspace, PackageSource) {
    let common = Common {
        manifest_path: Some(corpus().join("Cargo.toml")),
        offline: true,
        ..Common::default()
    };
    let workspace = discover::select(&common).unwrap_or_else(|error| panic!("{error}"));
    let package = workspace
        .packages
        .iter()
        .find(|package| package.name == "pragma-corpus")
        .expect("the corpus is a package");
    let source = discover::read_package(&workspace, package, &[], &common)
        .unwrap_or_else(|error| panic!("{error}"));
    (workspace.clone(), source)
}

#[test]
fn every_function_is_found_and_makes_sense() {
    let (_, source) = read();
    assert!(source.warnings.is_empty(), "{:?}", source.warnings);
    let refused: Vec<String> = source
        .kernels
        .iter()
        .filter_map(|kernel| Some(format!("{}: {}", kernel.id, kernel.refusal()?.message)))
        .collect();
    assert!(refused.is_empty(), "{refused:#?}");
    assert_eq!(source.kernels.len(), 40);
    // Nothing is left out silently.
    for file in std::fs::read_dir(corpus().join("src")).expect("sources") {
        let text = std::fs::read_to_string(file.expect("a file").path()).expect("text");
        assert!(!text.contains("// not yet"), "{text}");
    }
}

/// The fewest functions of the corpus that must be readable.
const READABLE: usize = 36;

#[test]
fn most_functions_are_read() {
    let (workspace, source) = read();
    let lifter = Lifter::new(&workspace, &source);
    let refused: Vec<String> = source
        .kernels
        .iter()
        .filter_map(|kernel| {
            let refusal = lifter.lift(kernel).err()?;
            Some(format!("{}: {}", kernel.id, refusal.message))
        })
        .collect();
    for line in &refused {
        eprintln!("not read: {line}");
    }
    let read = source.kernels.len() - refused.len();
    assert!(
        read >= READABLE,
        "{read} of {}:\n{}",
        source.kernels.len(),
        refused.join("\n")
    );
}

const BEGIN: &str = "<!-- table -->\n";
const END: &str = "<!-- end -->\n";

/// The table of the README, from what is vendored.
fn table() -> String {
    let (workspace, source) = read();
    let lifter = Lifter::new(&workspace, &source);
    let dir = source.package.pragma_dir();
    let mut out = String::from(
        "| kernel | read | AVX-512 | one thread | AVX2 | one thread | limited by | of the roof |\n\
         |---|---|---:|---:|---:|---:|---|---:|\n",
    );
    let mut machines: Vec<String> = Vec::new();
    let mut logs = Vec::new();
    for kernel in &source.kernels {
        let lifted = lifter.lift(kernel).is_ok();
        let measurements = Measurements::read(&dir, &kernel.id);
        let of = |target: &str| {
            measurements
                .measured
                .iter()
                .rfind(|one| one.target == target)
        };
        let (v4, v3) = (of("x86-64-v4"), of("x86-64-v3"));
        if !measurements.measured.is_empty() && !machines.contains(&measurements.machine) {
            machines.push(measurements.machine.clone());
        }
        logs.extend(v4.map(|one| one.speedup.ln()));
        let times = |one: Option<f64>| one.map_or("-".to_owned(), |x| format!("{x:.1}x"));
        let best = v4.or(v3);
        let _ = writeln!(
            out,
            "| `{}` | {} | {} | {} | {} | {} | {} | {} |",
            kernel.id,
            if lifted { "yes" } else { "no" },
            times(v4.map(|one| one.speedup)),
            times(v4.and_then(|one| one.speedup_one_thread)),
            times(v3.map(|one| one.speedup)),
            times(v3.and_then(|one| one.speedup_one_thread)),
            best.and_then(|one| one.bottleneck.clone())
                .unwrap_or("-".to_owned()),
            best.and_then(roof).unwrap_or("-".to_owned()),
        );
    }
    if !logs.is_empty() {
        let mean = (logs.iter().sum::<f64>() / logs.len() as f64).exp();
        let _ = writeln!(
            out,
            "\nGeometric mean of the AVX-512 column: {mean:.1}x over {} kernels, on {}.",
            logs.len(),
            machines.join("; ")
        );
    }
    out
}

fn roof(one: &Measured) -> Option<String> {
    Some(format!("{:.0} %", 100.0 * one.roof_fraction?))
}

#[test]
fn the_table_says_what_was_measured() {
    let file = corpus().join("README.md");
    let text = std::fs::read_to_string(&file).expect("the corpus has a README");
    let (before, rest) = text.split_once(BEGIN).expect("a place for the table");
    let (_, after) = rest.split_once(END).expect("an end of the table");
    let wanted = format!("{before}{BEGIN}{}{END}{after}", table());
    if std::env::var_os("PRAGMA_BLESS").is_some() {
        std::fs::write(&file, wanted).expect("the README can be written");
    } else {
        assert_eq!(text, wanted, "PRAGMA_BLESS=1 writes the table anew");
    }
}
