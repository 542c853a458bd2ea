//! The crates depend on each other only along the arrows of ARCHITECTURE.md.

use std::process::Command;

/// The crates that `package` depends on, through normal dependencies and no proc macros.
fn reaches(package: &str, dependency: &str) -> bool {
    let output = Command::new(env!("CARGO"))
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
        .args([
            "tree",
            "--offline",
            "--locked",
            "--edges",
            "normal,no-proc-macro",
        ])
        .args(["--package", package, "--prefix", "none", "--format", "{p}"])
        .output()
        .expect("cargo tree runs");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let text = String::from_utf8(output.stdout).expect("package names are UTF-8");
    text.lines()
        .skip(1)
        .any(|line| line.split(' ').next() == Some(dependency))
}

#[test]
fn forbidden_arrows_are_absent() {
    let forbidden = [
        // The words depend on nobody.
        ("pragma-spec", "pragma-synth"),
        ("pragma-spec", "pragma-runtime"),
        ("pragma-spec", "cargo-pragma"),
        // The engine is pure: it reaches neither the runtime nor the tool.
        ("pragma-synth", "pragma-runtime"),
        ("pragma-synth", "cargo-pragma"),
        ("pragma-synth", "pragma-macro"),
        // The macro knows the words only.
        ("pragma-macro", "pragma-synth"),
        ("pragma-macro", "pragma-runtime"),
        ("pragma-macro", "cargo-pragma"),
        // Users compile the runtime: no parser, no engine, no tool.
        ("pragma-runtime", "syn"),
        ("pragma-runtime", "pragma-spec"),
        ("pragma-runtime", "pragma-synth"),
        ("pragma-runtime", "cargo-pragma"),
        // The engine does no I/O of its own.
        ("pragma-synth", "tokio"),
        ("pragma-synth", "reqwest"),
        ("pragma-synth", "rusqlite"),
        ("pragma-synth", "libc"),
    ];
    for (from, to) in forbidden {
        assert!(!reaches(from, to), "{from} must not depend on {to}");
    }
}

#[test]
fn the_arrows_of_the_design_are_there() {
    for (from, to) in [
        ("pragma-macro", "pragma-spec"),
        ("pragma-synth", "pragma-spec"),
        ("cargo-pragma", "pragma-synth"),
        ("cargo-pragma", "pragma-spec"),
    ] {
        assert!(reaches(from, to), "{from} should depend on {to}");
    }
}
