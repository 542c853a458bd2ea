//! Signatures that are more than slices and numbers, from `tune` to a later edit, on throwaway crates.
//!
//! Every crate has tests of its own that compare a function with its reference on hand-chosen arguments; they run before
//! and after tuning, so kernels that are vendored are kernels that run.

use std::path::{Path, PathBuf};
use std::process::Output;
use std::sync::{Mutex, MutexGuard, PoisonError};

use assert_cmd::Command;

/// Held by tests that use the shared target directory.
static SHARED: Mutex<()> = Mutex::new(());

fn take_turns() -> MutexGuard<'static, ()> {
    SHARED.lock().unwrap_or_else(PoisonError::into_inner)
}

fn workspace() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent()
        .expect("the package lies in the workspace")
        .to_owned()
}

struct Crate {
    _dir: tempfile::TempDir,
    root: PathBuf,
}

impl Crate {
    fn new(name: &str, dependencies: &str, source: &str) -> Self {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let root = dir.path().canonicalize().expect("it exists").join(name);
        std::fs::create_dir_all(root.join("src")).expect("directories");
        let made = Crate { _dir: dir, root };
        made.write(
            "Cargo.toml",
            &format!(
                "[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[workspace]\n\n[dependencies]\n{dependencies}"
            ),
        );
        std::fs::copy(workspace().join("Cargo.lock"), made.root.join("Cargo.lock"))
            .expect("a copy");
        made.write("src/lib.rs", source);
        let init = made.tool(&["init", "--path", &workspace().to_string_lossy()]);
        assert!(init.status.success(), "{init:?}");
        made
    }

    fn write(&self, path: &str, text: &str) {
        std::fs::write(self.root.join(path), text).expect("a written file");
    }

    fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.root.join(path)).expect("a readable file")
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(&self.root)
            .env("CARGO_TARGET_DIR", workspace().join("target/forms-tests"))
            .env("CARGO_NET_OFFLINE", "true")
            .env_remove("PRAGMA_DISPATCH");
        command
    }

    fn tool(&self, args: &[&str]) -> Output {
        let mut command = self.command(env!("CARGO_BIN_EXE_cargo-pragma"));
        command.arg("pragma").args(args);
        command.output().expect("the tool runs")
    }

    #[track_caller]
    fn expect(&self, args: &[&str], code: i32) -> String {
        let output = self.tool(args);
        let data = String::from_utf8_lossy(&output.stdout).into_owned();
        let messages = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "\n{data}\n{messages}");
        assert!(!messages.contains("panicked"), "{messages}");
        format!("{data}{messages}")
    }

    /// The crate's own tests, in a release build so that kernels are as they will be.
    #[track_caller]
    fn cargo_test(&self) {
        let mut command = self.command(env!("CARGO"));
        let output = command
            .args(["test", "--release", "--quiet"])
            .output()
            .expect("cargo runs");
        let said = format!(
            "{}{}",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
        assert!(output.status.success(), "{said}");
        // Kernels that do not fit their function any more would be a warning.
        assert!(!said.contains("warning"), "{said}");
    }

    /// Tunes everything; every kernel's outcome by its id, the best one over all targets.
    #[track_caller]
    fn tune(&self) -> Vec<(String, String)> {
        let output = self.tool(&["tune", "--budget", "3c", "--format", "json"]);
        let messages = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(0), "{messages}");
        let lines = String::from_utf8_lossy(&output.stdout).into_owned();
        let mut outcomes: Vec<(String, String)> = Vec::new();
        for line in lines.lines() {
            let line: serde_json::Value = serde_json::from_str(line).expect("a line of JSON");
            let text = |key: &str| line[key].as_str().unwrap_or_default().to_owned();
            let outcome = text("outcome");
            assert!(
                ["tuned", "reference-fastest"].contains(&outcome.as_str()),
                "{line}\n{messages}"
            );
            match outcomes.iter_mut().find(|(id, _)| *id == text("kernel")) {
                Some((_, known)) if outcome == "tuned" => *known = outcome,
                Some(_) => {}
                None => outcomes.push((text("kernel"), outcome)),
            }
        }
        outcomes
    }

    /// The whole life: tests, tuning, tests, a clean check, and an edit that makes kernels stale.
    #[track_caller]
    fn live(&self, ids: &[&str], edit: (&str, &str)) {
        self.cargo_test();
        let outcomes = self.tune();
        let tuned: Vec<&str> = outcomes.iter().map(|(id, _)| id.as_str()).collect();
        assert_eq!(tuned, ids);
        for (id, outcome) in &outcomes {
            assert!(
                self.root
                    .join("pragma")
                    .join(id)
                    .join("manifest.toml")
                    .exists()
            );
            eprintln!("{id}: {outcome}");
        }
        self.cargo_test();
        self.expect(&["check"], 0);
        let listed = self.expect(&["list"], 0);
        for id in ids {
            assert!(listed.contains(id), "{listed}");
        }
        let source = self.read("src/lib.rs");
        let (before, after) = edit;
        assert!(source.contains(before), "{before}");
        self.write("src/lib.rs", &source.replacen(before, after, 1));
        let said = self.expect(&["check", "--no-run"], 2);
        assert!(said.contains("changed"), "{said}");
        self.write("src/lib.rs", &source);
        self.expect(&["check", "--no-run"], 0);
    }
}

#[test]
fn a_method_that_keeps_state() {
    let _turn = take_turns();
    let made = Crate::new(
        "state",
        "",
        "\
use pragma_runtime::pragma_kernel;

pub struct Gain {
    pub level: f32,
    pub weights: Vec<f32>,
    pub calls: u32,
    pub name: String,
}

impl Gain {
    #[pragma_kernel(shape(self.weights = [d], x = [rows, d]), tune(rows = 64, d = 64, self.level = 0.5))]
    pub fn apply(&mut self, x: &mut [f32]) {
        for row in x.chunks_exact_mut(self.weights.len()) {
            for (v, w) in row.iter_mut().zip(&self.weights) {
                *v = *v * *w * self.level;
            }
        }
        self.calls += 1;
    }
}

#[test]
fn the_state_is_kept() {
    let mut gain = Gain { level: 2.0, weights: vec![1.0, 0.5, 3.0], calls: 7, name: \"n\".to_owned() };
    let mut x = [1.0, 2.0, 3.0, -1.0, -2.0, 0.0];
    gain.apply(&mut x);
    gain.apply(&mut x);
    assert_eq!(x, [4.0, 2.0, 108.0, -4.0, -2.0, 0.0]);
    assert_eq!((gain.calls, gain.name.as_str()), (9, \"n\"));
}
",
    );
    made.live(&["Gain.apply"], ("pub calls: u32", "pub calls: u64"));
}

#[test]
fn arrays_of_other_crates() {
    let _turn = take_turns();
    let made = Crate::new(
        "foreign",
        "half = \"2.7\"\nndarray = \"0.17\"\n",
        "\
use half::f16;
use ndarray::{Array2, ArrayView1};
use pragma_runtime::pragma_kernel;

#[pragma_kernel(shape(m = [r, c], by = [c]), tune(r = 64, c = 64))]
pub fn scale_columns(m: &mut Array2<f32>, by: ArrayView1<f32>) {
    for mut row in m.rows_mut() {
        for (v, b) in row.iter_mut().zip(by.iter()) {
            *v *= *b;
        }
    }
}

#[pragma_kernel(shape(x = [n]), tune(n = 4096), inputs(x = -8.0..8.0))]
pub fn relu(x: &mut [f16]) {
    for v in x.iter_mut() {
        *v = f16::from_f32(v.to_f32().max(0.0));
    }
}

#[test]
fn as_their_crates_have_them() {
    let mut m = Array2::from_shape_vec((2, 3), vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).unwrap();
    let by = ndarray::arr1(&[1.0, 10.0, 100.0]);
    scale_columns(&mut m, by.view());
    assert_eq!(m, ndarray::arr2(&[[1.0, 20.0, 300.0], [4.0, 50.0, 600.0]]));
    // Not in standard order: the reference's business.
    let mut turned = m.clone().reversed_axes();
    scale_columns(&mut turned, ndarray::arr1(&[2.0, 0.0]).view());
    assert_eq!(turned, ndarray::arr2(&[[2.0, 0.0], [40.0, 0.0], [600.0, 0.0]]));
    let mut x = vec![f16::from_f32(-1.5); 20];
    x[3] = f16::from_f32(2.25);
    relu(&mut x);
    assert_eq!((x[3].to_f32(), x[4].to_f32()), (2.25, 0.0));
}
",
    );
    made.live(&["scale_columns", "relu"], ("*v *= *b", "*v += *b"));
}
