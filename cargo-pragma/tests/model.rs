//! `cargo pragma tune --engine llm`, on a throwaway crate and against a server that plays the model.
#![forbid(unsafe_code)]

use std::path::{Path, PathBuf};
use std::process::Output;

use assert_cmd::Command;
use httpmock::prelude::*;
use serde_json::{Value, json};

const KEY: &str = "sk-very-secret";

const SOURCE: &str = "\
use pragma_runtime::pragma_kernel;

/// The sum of squares.
#[pragma_kernel(shape(x = [n]), tune(n = 4096), inputs(x = -1.0..1.0))]
pub fn energy(x: &[f32]) -> f32 {
    x.iter().map(|v| v * v).sum()
}
";

/// Right, and faster than one addition after the other.
const KERNEL: &str = "\
/// Sixteen sums side by side.
pub unsafe fn energy(n: usize, x: &[f32]) -> f32 {
    let mut sums = [0.0f32; 16];
    let (head, tail) = x[..n].split_at(n / 16 * 16);
    for chunk in head.chunks_exact(16) {
        for (sum, v) in sums.iter_mut().zip(chunk) {
            *sum += v * v;
        }
    }
    let mut total = sums.iter().sum::<f32>();
    for v in tail {
        total += v * v;
    }
    total
}
";

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("the package lies in the workspace")
        .to_owned()
}

struct Crate {
    dir: tempfile::TempDir,
}

impl Crate {
    fn new(llm: &str) -> Self {
        let made = Crate {
            dir: tempfile::tempdir().expect("a directory"),
        };
        std::fs::create_dir_all(made.dir.path().join("src")).expect("directories");
        made.write("src/lib.rs", SOURCE);
        made.write(
            "Cargo.toml",
            &format!("[package]\nname = \"modelled\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[workspace]\n\n[package.metadata.pragma.llm]\n{llm}\n"),
        );
        std::fs::copy(
            workspace().join("Cargo.lock"),
            made.dir.path().join("Cargo.lock"),
        )
        .expect("a copy");
        made.run(&["init", "--path"], 0)
            .arg(workspace())
            .assert()
            .success();
        made
    }

    fn write(&self, path: &str, text: &str) {
        std::fs::write(self.dir.path().join(path), text).expect("a written file");
    }

    fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.dir.path().join(path)).expect("a readable file")
    }

    fn run(&self, args: &[&str], run: u32) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cargo-pragma"));
        command
            .arg("pragma")
            .args(args)
            .current_dir(self.dir.path())
            .env(
                "CARGO_TARGET_DIR",
                workspace().join(format!("target/commands-tests/model-{run}")),
            )
            .env("CARGO_NET_OFFLINE", "true")
            .env("OPENAI_API_KEY", KEY)
            .env_remove("PRAGMA_DISPATCH");
        command
    }

    #[track_caller]
    fn expect(&self, args: &[&str], run: u32, code: i32) -> (String, String) {
        let Output {
            status,
            stdout,
            stderr,
        } = self.run(args, run).output().expect("the tool runs");
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        let (data, messages) = (text(stdout), text(stderr));
        assert_eq!(status.code(), Some(code), "\n{data}\n{messages}");
        assert!(!data.contains(KEY) && !messages.contains(KEY));
        (data, messages)
    }
}

/// A server whose answers are the kernels, one after the other; the last one is repeated.
fn model(server: &MockServer, first: &'static str, second: &'static str) {
    let answer = |text: &str| {
        let text =
            format!("Many sums at once hide the latency of an addition.\n```rust\n{text}```\n");
        let events = [
            json!({ "choices": [{ "delta": { "content": text } }] }),
            json!({ "choices": [{ "delta": {}, "finish_reason": "stop" }] }),
            json!({ "choices": [], "usage": { "prompt_tokens": 1000, "completion_tokens": 100 } }),
        ];
        let stream: String = events
            .iter()
            .map(|event| format!("data: {event}\n\n"))
            .collect();
        stream + "data: [DONE]\n\n"
    };
    server.mock(|when, then| {
        when.method(POST).body_includes("This kernel was refused");
        then.status(200).body(answer(second));
    });
    server.mock(|when, then| {
        when.method(POST).body_excludes("This kernel was refused");
        then.status(200).body(answer(first));
    });
}

#[test]
fn a_models_kernel_is_judged_vendored_kept_and_played_back() {
    if !cfg!(target_arch = "x86_64") || !std::arch::is_x86_feature_detected!("avx2") {
        eprintln!("skipped: this machine has no AVX2");
        return;
    }
    let server = MockServer::start();
    // The first answer forgets the tail and is found out; what comes of that is told to the model.
    let wrong = "pub unsafe fn energy(n: usize, x: &[f32]) -> f32 { x[..n / 16 * 16].iter().map(|v| v * v).sum() }\n";
    model(&server, wrong, KERNEL);
    let made = Crate::new(&format!(
        "model = \"openai:m\"\nbase-url = \"{}\"",
        server.url("/v1")
    ));
    let tape = made.dir.path().join("tape");
    let tape = tape.to_str().expect("is Unicode");
    let tune = [
        "tune",
        "--engine",
        "llm",
        "--target",
        "x86-64-v3",
        "--budget",
        "20kt",
        "--format",
        "json",
    ];
    let (data, _) = made.expect(&[&tune[..], &["--record", tape]].concat(), 1, 0);
    let line: Value = serde_json::from_str(data.lines().next().expect("a line")).expect("is JSON");
    assert_eq!(line["outcome"], "tuned", "{line}");
    let manifest = made.read("pragma/energy/manifest.toml");
    assert!(
        manifest.contains("engine = \"llm\"") && manifest.contains("model = \"openai:m\""),
        "{manifest}"
    );
    let file = made.read("pragma/energy/x86-64-v3.rs");
    assert!(
        file.contains("Sixteen sums") && file.contains("openai:m"),
        "{file}"
    );
    assert!(!file.contains(KEY) && !manifest.contains(KEY));
    made.expect(&["check"], 1, 0);

    // Nothing is lost: the embedded engine starts from what the model wrote.
    made.expect(
        &[
            "tune",
            "--engine",
            "synth",
            "--target",
            "x86-64-v3",
            "--force",
            "--budget",
            "1c",
        ],
        1,
        0,
    );
    made.expect(&["check"], 1, 0);

    // The same conversation without a server, from the start.
    drop(server);
    let again = Crate::new("model = \"openai:m\"\nbase-url = \"http://127.0.0.1:9/v1\"");
    let config = again.read("Cargo.toml");
    let recorded: Value = serde_json::from_str(
        &std::fs::read_to_string(made.dir.path().join("tape/00001.json")).expect("is there"),
    )
    .expect("is JSON");
    let base = recorded["url"]
        .as_str()
        .expect("a URL")
        .trim_end_matches("/chat/completions");
    again.write("Cargo.toml", &config.replace("http://127.0.0.1:9/v1", base));
    again.expect(&[&tune[..], &["--replay", tape]].concat(), 2, 0);
    assert_eq!(again.read("pragma/energy/x86-64-v3.rs"), file);
    assert_eq!(again.read("pragma/energy/manifest.toml"), manifest);
}

#[test]
fn an_agent_starts_from_the_embedded_engines_version() {
    if !cfg!(target_arch = "x86_64") || !std::arch::is_x86_feature_detected!("avx2") {
        eprintln!("skipped: this machine has no AVX2");
        return;
    }
    let made = Crate::new("model = \"openai:unused\"");
    made.write("answer.rs", KERNEL);
    let seen = made.dir.path().join("seen.md");
    let answer = made.dir.path().join("answer.rs");
    let line = format!(
        "cp PROMPT.md '{}' && cp '{}' kernel.rs && env > environment",
        seen.display(),
        answer.display()
    );
    let args = [
        "tune",
        "--engine",
        "synth,command",
        "--command",
        &line,
        "--target",
        "x86-64-v3",
        "--budget",
        "3c",
        "--format",
        "json",
    ];
    let (data, _) = made.expect(&args, 4, 0);
    let line: Value = serde_json::from_str(data.lines().next().expect("a line")).expect("is JSON");
    assert_eq!(line["outcome"], "tuned", "{line}");
    let stop = line["sizes"][0]["stop"].as_str().expect("a reason");
    assert!(
        stop.contains("synth: ") && stop.contains("command: "),
        "{stop}"
    );
    let prompt = made.read("seen.md");
    assert!(
        prompt.contains("This is the best kernel so far")
            && prompt.contains("pub unsafe fn energy("),
        "{prompt}"
    );
    assert!(prompt.contains("kernel.rs") && !prompt.contains(KEY));
    made.expect(&["check"], 4, 0);
}

#[test]
fn what_is_missing_is_said_before_anything_is_built() {
    let made = Crate::new("model = \"openai:m\"");
    let said = |args: &[&str], code| made.expect(args, 3, code).1;
    assert!(
        said(&["tune", "--engine", "llm", "--budget", "$2"], 1)
            .contains("what `m` costs is unknown")
    );
    assert!(said(&["tune", "--engine", "llm", "--model", "m"], 1).contains("is not a model"));
    assert!(said(&["tune", "--model", "openai:m"], 1).contains("takes no part"));
    assert!(said(&["tune", "--command", "x"], 1).contains("takes no part"));
    assert!(said(&["tune", "--engine", "command"], 1).contains("no command is named"));
    assert!(said(&["tune", "--engine", "llm", "--replay", "nowhere"], 1).contains("nowhere"));
    let mut keyless = made.run(&["tune", "--engine", "llm"], 3);
    let output = keyless
        .env_remove("OPENAI_API_KEY")
        .output()
        .expect("the tool runs");
    assert_eq!(output.status.code(), Some(5));
    assert!(String::from_utf8_lossy(&output.stderr).contains("OPENAI_API_KEY"));
}
