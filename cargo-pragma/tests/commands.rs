//! Every command, run as users run it, on throwaway crates.
//!
//! The crates share one target directory below the workspace's, so that the runtime is compiled once; tests that build
//! take turns.

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

/// A throwaway crate.
struct Crate {
    _dir: tempfile::TempDir,
    root: PathBuf,
}

const AXPY: &str = "\
use pragma_runtime::pragma_kernel;

/// Adds.
#[pragma_kernel(shape(x = [n], y = [n]), tune(n = 2048))]
pub fn axpy(a: f32, x: &[f32], y: &mut [f32]) {
    for (y, x) in y.iter_mut().zip(x) {
        *y += a * scaled(*x);
    }
}

fn scaled(x: f32) -> f32 {
    x * 3.0
}
";

impl Crate {
    /// A package in the directory `place` of a temporary one, without any dependency.
    fn empty(place: &str, name: &str) -> Self {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let root = dir.path().canonicalize().expect("it exists").join(place);
        std::fs::create_dir_all(root.join("src")).expect("directories");
        let made = Crate { _dir: dir, root };
        made.write(
            "Cargo.toml",
            &format!(
                "# kept\n[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[workspace]\n\n[dependencies]\n"
            ),
        );
        // The workspace's choice of versions: what is already there can be used, offline.
        std::fs::copy(workspace().join("Cargo.lock"), made.root.join("Cargo.lock"))
            .expect("a copy");
        made
    }

    /// The same, prepared by `init`, with this library.
    fn with_lib(place: &str, name: &str, source: &str) -> Self {
        let made = Crate::empty(place, name);
        made.write("src/lib.rs", source);
        made.run(&["init", "--path"])
            .arg(workspace())
            .assert()
            .success();
        made
    }

    fn write(&self, path: &str, text: &str) {
        std::fs::write(self.root.join(path), text).expect("a written file");
    }

    fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.root.join(path)).expect("a readable file")
    }

    /// The tool in this crate, the way cargo calls it.
    fn run(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cargo-pragma"));
        command
            .arg("pragma")
            .args(args)
            .current_dir(&self.root)
            .env(
                "CARGO_TARGET_DIR",
                workspace().join("target/commands-tests"),
            )
            .env("CARGO_NET_OFFLINE", "true")
            .env_remove("PRAGMA_DISPATCH");
        command
    }

    #[track_caller]
    fn expect(&self, args: &[&str], code: i32) -> Said {
        Said::of(self.run(args).output().expect("the tool runs"), code)
    }
}

/// What a run said.
struct Said {
    data: String,
    messages: String,
}

impl Said {
    #[track_caller]
    fn of(output: Output, code: i32) -> Self {
        let said = Said {
            data: String::from_utf8_lossy(&output.stdout).into_owned(),
            messages: String::from_utf8_lossy(&output.stderr).into_owned(),
        };
        assert_eq!(
            output.status.code(),
            Some(code),
            "\n{}\n{}",
            said.data,
            said.messages
        );
        assert!(!said.messages.contains("panicked"), "{}", said.messages);
        said
    }

    #[track_caller]
    fn mentions(&self, text: &str) -> &Self {
        assert!(
            self.messages.contains(text),
            "no `{text}` in:\n{}",
            self.messages
        );
        self
    }

    #[track_caller]
    fn json(&self) -> Vec<serde_json::Value> {
        let parse =
            |line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error} in {line}"));
        self.data.lines().map(parse).collect()
    }
}

#[test]
fn the_life_of_a_kernel() {
    let _turn = take_turns();
    // A path with a space and letters beyond ASCII.
    let made = Crate::with_lib("mein Größen-Paket", "life", AXPY);
    assert!(made.read("Cargo.toml").starts_with("# kept\n"));
    let manifest = made.read("Cargo.toml");
    made.run(&["init"]).assert().success();
    assert_eq!(
        made.read("Cargo.toml"),
        manifest,
        "init changes nothing when run again"
    );

    let list = made.expect(&["list", "--format", "json"], 0).json();
    assert_eq!((list.len(), &list[0]["state"]), (1, &"untuned".into()));
    made.expect(&["check", "--no-run"], 0)
        .mentions("has no kernels yet");

    let tuned = made
        .expect(&["tune", "--budget", "3c", "--format", "json"], 0)
        .json();
    assert!(!tuned.is_empty());
    for line in &tuned {
        let outcome = line["outcome"].as_str().expect("a word");
        assert!(["tuned", "reference-fastest"].contains(&outcome), "{line}");
        assert!(line["speedup"].as_f64().expect("a number") > 0.0, "{line}");
        for key in [
            "kernel",
            "target",
            "reason",
            "reference_ns",
            "best_ns",
            "ci95",
            "threads",
        ] {
            assert!(line.get(key).is_some(), "no {key} in {line}");
        }
    }
    let index = made.read("pragma/index.toml");
    assert!(index.contains("\"axpy\""), "{index}");
    let generated = made.read("pragma/axpy/manifest.toml");
    let here = made.root.to_string_lossy().into_owned();
    assert!(
        !generated.contains(&here),
        "a manifest names no place of one machine"
    );
    // With nothing changed nothing is tuned, and the same bytes stay.
    made.expect(&["tune"], 0).mentions("up to date");
    assert_eq!(made.read("pragma/index.toml"), index);
    let list = made.expect(&["list", "--format", "json"], 0).json();
    assert_eq!(list[0]["state"], "fresh");

    made.expect(&["check"], 0);
    made.expect(&["check"], 0);
    let bench = made.expect(&["bench", "--format", "json"], 0).json();
    assert!(
        bench
            .iter()
            .all(|line| line["kernel_ns"].as_f64().is_some_and(|ns| ns > 0.0))
    );
    let explained = made.expect(&["explain", "axpy"], 0);
    assert!(
        explained.data.contains("kernel axpy(") && explained.data.contains("gave:"),
        "{}",
        explained.data
    );
    made.expect(&["explain", "axpi"], 1).mentions("`axpy`");

    // The function changes.
    made.write(
        "src/lib.rs",
        &AXPY.replace("a * scaled", "2.0 * a * scaled"),
    );
    made.expect(&["check"], 2)
        .mentions("has changed since")
        .mentions("+ ");
    assert_eq!(
        made.expect(&["list", "--format", "json"], 0).json()[0]["state"],
        "stale"
    );
    // A helper changes.
    made.write("src/lib.rs", &AXPY.replace("x * 3.0", "x * 4.0"));
    made.expect(&["check"], 2)
        .mentions("what `axpy` uses has changed")
        .mentions("4.0");
    // Layout and comments do not matter.
    made.write(
        "src/lib.rs",
        &AXPY.replace("/// Adds.", "/// Adds!\n// Really.\n"),
    );
    made.expect(&["check", "--no-run"], 0);
    made.write("src/lib.rs", AXPY);

    // A kernel changes.
    let target = tuned
        .iter()
        .find(|line| line["outcome"] == "tuned")
        .map(|line| line["target"].as_str());
    if let Some(Some(target)) = target {
        let file = format!("pragma/axpy/{target}.rs");
        let good = made.read(&file);
        made.write(&file, &format!("{good}// by hand\n"));
        made.expect(&["check"], 2).mentions("was changed by hand");
        made.write(&file, &good);
        made.expect(&["check"], 0);
    }

    // Files that nobody names: those of a kernel go, others are the user's.
    made.write("pragma/axpy/left.rs", "// left over\n");
    std::fs::create_dir(made.root.join("pragma/mine")).expect("a directory");
    made.expect(&["check"], 2)
        .mentions("pragma/axpy/left.rs belongs to no kernel")
        .mentions("pragma/mine belongs to no kernel")
        .mentions("delete it by hand");
    let private = workspace().join("target/commands-tests/pragma");
    let lock = std::fs::File::create(private.join("lock")).expect("a lock file");
    lock.lock().expect("the lock");
    made.expect(&["clean"], 5)
        .mentions("works in this target directory");
    assert!(made.root.join("pragma/axpy/left.rs").exists());
    drop(lock);
    let aside = workspace().join("target/commands-tests/pragma-aside");
    std::fs::rename(&private, &aside).expect("renamed");
    std::fs::create_dir(&private).expect("a directory");
    made.expect(&["clean", "--all"], 0)
        .mentions("pragma/axpy/left.rs");
    assert!(private.join("lock").exists());
    std::fs::remove_dir_all(&private).expect("removed");
    std::fs::rename(&aside, &private).expect("renamed");
    assert!(!made.root.join("pragma/axpy/left.rs").exists());
    assert!(made.root.join("pragma/mine").is_dir());
    std::fs::remove_dir(made.root.join("pragma/mine")).expect("removed");
    made.expect(&["check"], 0);

    // The function goes.
    made.write("src/lib.rs", "");
    made.expect(&["check"], 2).mentions("is gone");
    made.expect(&["clean", "--dry-run"], 0)
        .mentions("pragma/axpy");
    assert!(made.root.join("pragma/axpy").exists());
    // Only the orphan: the caches are those of other tests too.
    std::fs::rename(&private, &aside).expect("renamed");
    made.expect(&["clean"], 0);
    let _ = std::fs::remove_dir_all(&private);
    std::fs::rename(&aside, &private).expect("renamed");
    assert!(!made.root.join("pragma/axpy").exists());
    made.expect(&["check"], 0);

    // The crate breaks: rustc says how.
    made.write("src/lib.rs", "pub fn broken( {\n");
    made.expect(&["check"], 4).mentions("src/lib.rs:1");
    made.write("src/lib.rs", &AXPY.replace("x * 3.0", "x * \"three\""));
    made.expect(&["check"], 4)
        .mentions("cannot multiply")
        .mentions("E0277");
    made.expect(&["tune"], 4).mentions("E0277");
}

#[test]
fn wrong_command_lines() {
    let made = Crate::with_lib("plain", "usage", AXPY);
    made.expect(&["frobnicate"], 1);
    made.expect(&["tune", "--budget", "NaN"], 1)
        .mentions("unit is missing");
    made.expect(&["tune", "--budget", "-5m"], 1);
    made.expect(&["tune", "axpyy"], 1)
        .mentions("similar name exists: `axpy`");
    made.expect(&["list", "-p", "other"], 1)
        .mentions("no package `other`");
    made.expect(&["tune", "--engine", "llm"], 1)
        .mentions("no model is chosen");
    made.expect(&["tune", "--engine", "mcp"], 1)
        .mentions("not in this version");
    made.expect(&["tune", "--target", "x86-64-v5"], 1)
        .mentions("did you mean");
    made.expect(&["list", "--manifest-path", "nowhere/Cargo.toml"], 1);
    // What the machine, not the command line, is missing.
    made.expect(&["tune", "--target", "cpu,cuda"], 1)
        .mentions("mixes CPU and GPU targets");
    made.expect(&["tune", "--bundle", "job.tar"], 1)
        .mentions("--output");
    made.expect(&["import", "nothing.tar"], 1)
        .mentions("nothing.tar");
    if Path::new("/dev/nvidia0").exists() {
        eprintln!("skipped: there is a GPU, so its absence cannot be tested");
    } else {
        made.expect(&["tune", "--target", "cuda"], 5)
            .mentions("cargo pragma bundle");
    }
    let reference = made
        .run(&["tune"])
        .env("PRAGMA_DISPATCH", "reference")
        .output()
        .expect("the tool runs");
    Said::of(reference, 5).mentions("no target to tune for");
    // A file where the target directory should be.
    let blocked = made
        .run(&["tune"])
        .env("CARGO_TARGET_DIR", made.root.join("Cargo.toml"))
        .output();
    Said::of(blocked.expect("the tool runs"), 5).mentions("cannot write into");
}

#[test]
fn a_read_only_package_is_refused_before_any_work() {
    let made = Crate::with_lib("plain", "readonly", AXPY);
    let pragma = made.root.join("pragma");
    let allow = |mode: u32| {
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(&pragma, std::fs::Permissions::from_mode(mode))
            .expect("permissions");
    };
    allow(0o555);
    let bound = std::fs::write(pragma.join("probe"), "").is_err();
    if bound {
        made.expect(&["tune"], 5)
            .mentions("cannot write into package");
    } else {
        eprintln!("skipped: this user may write anywhere");
    }
    allow(0o755);
}

#[test]
fn an_unusable_target_directory_is_not_the_packages_fault() {
    let made = Crate::with_lib("plain", "no-target", AXPY);
    made.write("file", "");
    let output = made
        .run(&["check"])
        .env("CARGO_TARGET_DIR", made.root.join("file"))
        .output()
        .expect("the tool runs");
    Said::of(output, 5).mentions("cargo cannot build package `no-target`");
}

#[test]
fn a_program_without_a_library() {
    let _turn = take_turns();
    let made = Crate::empty("bin", "only-bin");
    let main = AXPY.replace("pub fn", "fn")
        + "\nfn main() {\n    let mut y = [1.0; 4];\n    axpy(1.0, &[1.0; 4], &mut y);\n    assert_eq!(y, [4.0; 4]);\n}\n";
    made.write("src/main.rs", &main);
    made.run(&["init", "--path"])
        .arg(workspace())
        .assert()
        .success();
    let before = made.read("pragma/index.toml");
    let dry = made.expect(
        &[
            "tune",
            "axpy",
            "--dry-run",
            "--budget",
            "1c",
            "--format",
            "json",
        ],
        0,
    );
    assert!(
        dry.json().iter().all(|line| line["outcome"] != "failed"),
        "{}",
        dry.data
    );
    assert_eq!(
        made.read("pragma/index.toml"),
        before,
        "a dry run writes nothing"
    );
    let resumed = made.expect(
        &[
            "tune", "axpy", "--resume", "--budget", "1c", "--format", "json",
        ],
        0,
    );
    assert!(
        resumed
            .json()
            .iter()
            .all(|line| line["outcome"] != "failed"),
        "{}",
        resumed.data
    );
    assert_ne!(made.read("pragma/index.toml"), before);
}

#[test]
#[cfg(unix)]
#[allow(clippy::disallowed_methods)] // A child that is to be interrupted must be at hand.
fn ctrl_c_leaves_the_crate_as_it_was() {
    use std::io::{BufRead, BufReader, Read};
    use std::process::Stdio;
    let _turn = take_turns();
    let made = Crate::with_lib("plain", "interrupted", AXPY);
    let before = made.read("pragma/index.toml");
    let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_cargo-pragma"))
        .args(["tune", "--budget", "10m"])
        .current_dir(&made.root)
        .env(
            "CARGO_TARGET_DIR",
            workspace().join("target/commands-tests"),
        )
        .env("CARGO_NET_OFFLINE", "true")
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the tool starts");
    let mut messages = BufReader::new(child.stderr.take().expect("a pipe"));
    let mut line = String::new();
    while !line.contains("Searching") {
        line.clear();
        let read = messages.read_line(&mut line).expect("text");
        assert_ne!(read, 0, "the tool ended before it searched");
    }
    let killed = std::process::Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status();
    assert!(killed.is_ok_and(|status| status.success()));
    let mut rest = String::new();
    messages.read_to_string(&mut rest).expect("text");
    let code = child.wait().expect("the tool ends").code();
    // A search that was over before the signal came is no failure of this test's subject.
    if code == Some(0) {
        eprintln!("skipped: the run was over first");
        return;
    }
    assert_eq!(code, Some(130), "{rest}");
    assert_eq!(made.read("pragma/index.toml"), before);
    assert!(!made.root.join("pragma/axpy").exists());
    made.expect(&["tune", "--resume", "--budget", "1c"], 0);
    assert_ne!(made.read("pragma/index.toml"), before);
}

#[test]
fn functions_that_cannot_have_kernels_say_why() {
    let _turn = take_turns();
    let source = "\
use pragma_runtime::pragma_kernel;

#[pragma_kernel]
pub fn prints(x: &[f32]) -> f32 {
    println!(\"{}\", x.len());
    x[0]
}
";
    let made = Crate::with_lib("plain", "refused", source);
    made.expect(&["explain", "prints"], 0)
        .mentions("cannot read `prints`")
        .mentions("src/lib.rs:5");
    let lines = made.expect(&["tune", "--format", "json"], 0).json();
    assert!(
        !lines.is_empty() && lines.iter().all(|line| line["outcome"] == "unliftable"),
        "{lines:?}"
    );
    // What the macro refuses is an error of the crate.
    made.write("src/lib.rs", &AXPY.replace("shape(", "shap("));
    made.expect(&["explain", "axpy"], 0)
        .mentions("shap")
        .mentions("src/lib.rs:4");
    made.expect(&["tune"], 4).mentions("shap");
    let forbidding = Crate::with_lib(
        "plain",
        "forbids",
        &format!("#![forbid(unsafe_code)]\n{AXPY}"),
    );
    let said = forbidding.expect(&["tune", "--format", "json"], 0);
    said.mentions("forbids `unsafe_code`");
    assert!(
        said.json().iter().all(|line| line["outcome"] == "failed"),
        "{}",
        said.data
    );
}

#[test]
fn init_inherits_from_the_workspace() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let root = dir.path().canonicalize().expect("it exists");
    let runtime = workspace().join("runtime");
    std::fs::create_dir_all(root.join("member/src")).expect("directories");
    let manifest = format!(
        "[workspace]\nresolver = \"3\"\nmembers = [\"member\"]\n\n[workspace.dependencies]\npragma-runtime = {{ path = {runtime:?} }}\n"
    );
    std::fs::write(root.join("Cargo.toml"), manifest).expect("written");
    let member = "[package]\nname = \"member\"\nversion = \"0.1.0\"\nedition = \"2024\"\n";
    std::fs::write(root.join("member/Cargo.toml"), member).expect("written");
    std::fs::write(root.join("member/src/lib.rs"), "").expect("written");
    Command::new(env!("CARGO_BIN_EXE_cargo-pragma"))
        .args(["init", "-p", "member"])
        .current_dir(&root)
        .assert()
        .success();
    let text = std::fs::read_to_string(root.join("member/Cargo.toml")).expect("read");
    assert!(
        text.contains("pragma-runtime = { workspace = true }"),
        "{text}"
    );
    assert!(text.contains("# [package.metadata.pragma]"), "{text}");
    assert!(root.join("member/pragma/index.toml").is_file());
}

#[test]
fn doctor_speaks_both_languages() {
    let made = Crate::empty("plain", "doctored");
    made.write("src/lib.rs", "");
    let output = made
        .run(&["doctor", "--format", "json"])
        .output()
        .expect("the tool runs");
    let code = output.status.code().expect("an exit code");
    assert!(code == 0 || code == 5, "{code}");
    let lines = Said::of(output, code).json();
    assert!(
        lines
            .iter()
            .any(|line| line["item"] == "rustc" && line["status"] == "ok"),
        "{lines:?}"
    );
    let text = made
        .run(&["doctor", "--color", "never"])
        .output()
        .expect("the tool runs");
    assert!(String::from_utf8_lossy(&text.stdout).contains("instruction sets"));
}

#[test]
#[allow(clippy::disallowed_methods)] // Only the standard command can let go of a pipe.
fn a_reader_that_goes_away_is_no_error() {
    use std::process::Stdio;
    let made = Crate::with_lib("plain", "pipe", AXPY);
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_cargo-pragma"));
    let mut child = command
        .args(["list", "--format", "json"])
        .current_dir(&made.root)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the tool starts");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("the tool ends");
    Said::of(output, 0);
}
