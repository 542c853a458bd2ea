//! Building the user's crate, the reference library, candidates and oracles.
//!
//! Owns the directory layout under `target/pragma/harness/`: one target directory per set of build flags, so that going
//! back and forth between them rebuilds nothing.

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use pragma_spec::form::{HARNESS_FORMS, HarnessForms};

use super::candidate::CandidateText;
use super::flags::Flags;
use super::record::{Invocation, hex};
use super::wrapper;
use crate::process::confine::{EXIT_UNCONFINED, Sandbox};
use crate::process::{self, group};
use crate::screen::{self, Refusal};

/// Which target of a package holds the kernels.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum CrateTarget {
    /// The library.
    Lib,
    /// The binary of this name.
    Bin(String),
}

/// What to build.
#[derive(Clone, Debug)]
pub struct HarnessRequest {
    /// The package's `Cargo.toml`.
    pub manifest_path: PathBuf,
    /// The package, as `cargo build -p` takes it.
    pub package: String,
    /// Which of its targets.
    pub target: CrateTarget,
    /// The target's name as a crate, with underscores.
    pub crate_name: String,
    /// Flags of the user's that cargo understands: features, profile, `--locked`, `--offline`. No `--target-dir`.
    pub cargo_args: Vec<String>,
    /// Where builds may be kept: `target/pragma`.
    pub cache: PathBuf,
    /// How untrusted code is started. Its executable is also the wrapper around rustc.
    pub sandbox: Sandbox,
    /// What the macro must know of signatures to export the references.
    pub forms: HarnessForms,
    /// Whether rustc may colour its messages.
    pub color: bool,
}

/// Why there is no harness.
#[derive(Debug, thiserror::Error)]
pub enum HarnessError {
    /// The user's crate does not compile.
    #[error("the crate does not build")]
    DoesNotBuild {
        /// What cargo and rustc wrote, as they rendered it.
        rendered: String,
    },
    /// The crate compiles, but not with its references exported.
    #[error("the crate builds, but not as a library with its references exported")]
    NoReference {
        /// What rustc wrote.
        rendered: String,
    },
    /// Cargo built the crate without calling rustc through this tool.
    #[error(
        "cargo did not say how it compiles `{0}`; a wrapper set in its configuration may be in the way"
    )]
    NotRecorded(String),
    /// The crate does not depend on the runtime.
    #[error("`{0}` does not depend on pragma-runtime")]
    NoRuntime(String),
    /// The file system refused.
    #[error("cannot use {}: {source}", .path.display())]
    Io {
        /// What was used.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
}

/// A crate that was built and recorded.
#[derive(Clone, Debug)]
pub struct Harness {
    /// The crate as a dynamic library with one exported reference per kernel.
    pub reference: PathBuf,
    invocation: Invocation,
    externs: Vec<(String, PathBuf)>,
    /// Where cargo built the crate and its dependencies.
    target_dir: PathBuf,
    sandbox: Sandbox,
    /// Identifies compiler, flags and dependencies; part of cache keys.
    pub key: String,
}

/// A compiled candidate or oracle.
#[derive(Clone, Debug)]
pub struct Built {
    /// The library.
    pub path: PathBuf,
    /// Its entry.
    pub symbol: String,
    /// Whether its source passed the screen.
    pub screened: bool,
}

/// Why a candidate was not built.
#[derive(Clone, Debug, thiserror::Error)]
pub enum BuildError {
    /// rustc refused it.
    #[error("does not compile")]
    Rejected {
        /// What rustc wrote.
        stderr: String,
    },
    /// The screen refused its source.
    #[error("its source contains what kernels may not: {0}")]
    Screened(#[from] Refusal),
    /// rustc took too long.
    #[error("takes more than {0:?} to compile")]
    TimedOut(Duration),
    /// The signature has something that candidates cannot have yet.
    #[error("{0}")]
    Unsupported(String),
    /// The file system or process table refused.
    #[error("cannot compile it: {0}")]
    Io(String),
}

/// A candidate that rustc cannot finish in this time is not worth having.
const RUSTC_TIMEOUT: Duration = Duration::from_secs(120);

/// Builds the crate, then the reference library if anything changed since the last time.
///
/// # Errors
/// See [`HarnessError`].
pub fn build(request: &HarnessRequest) -> Result<Harness, HarnessError> {
    // Another executable of this tool is another wrapper, for which cargo builds everything anew.
    let config = hex(format!(
        "{:?} {:?} {:?}",
        request.cargo_args,
        std::env::var_os("RUSTFLAGS"),
        request.sandbox.exe
    )
    .as_bytes());
    let dir = request.cache.join("harness").join(&config[..8]);
    let records = dir.join("records");
    create(&records)?;
    let artifact = cargo_build(request, &dir, &records)?;
    let root = request.manifest_path.parent().unwrap_or(Path::new("."));
    let is_bin = matches!(request.target, CrateTarget::Bin(_));
    let file = Invocation::file(&records, &request.crate_name, is_bin, root);
    let invocation = Invocation::read(&file)
        .map_err(|_| HarnessError::NotRecorded(request.crate_name.clone()))?;
    let flags = Flags::parse(&invocation.args);
    let (name, runtime) = flags
        .runtime()
        .ok_or_else(|| HarnessError::NoRuntime(request.crate_name.clone()))?;
    let mut externs = vec![("pragma_runtime".to_owned(), runtime.clone())];
    if name != "pragma_runtime" {
        externs.push((name, runtime));
    }
    let key = hex(format!(
        "{invocation:?} {:?} {:?}",
        modified(&artifact),
        modified(&externs[0].1)
    )
    .as_bytes());
    let libraries = dir.join("reference");
    create(&libraries)?;
    let forms = request.forms.to_text();
    let name = hex(format!("{key} {forms}").as_bytes());
    let reference = libraries.join(format!("{}-{}.so", request.crate_name, &name[..16]));
    if !reference.exists() {
        build_reference(&invocation, &flags, &reference, &forms, request.color)?;
    }
    Ok(Harness {
        reference,
        invocation,
        externs,
        target_dir: dir.join("target"),
        sandbox: request.sandbox.clone(),
        key,
    })
}

/// Runs cargo; the artifact of the wanted target.
fn cargo_build(
    request: &HarnessRequest,
    dir: &Path,
    records: &Path,
) -> Result<PathBuf, HarnessError> {
    let base = dir.join("environment");
    std::fs::write(&base, wrapper::base_environment()).map_err(|source| HarnessError::Io {
        path: base.clone(),
        source,
    })?;
    let mut command = process::cargo();
    command
        .args([
            "build",
            "--message-format=json-render-diagnostics",
            "--manifest-path",
        ])
        .arg(&request.manifest_path)
        .args(["-p", &request.package])
        .arg("--target-dir")
        .arg(dir.join("target"))
        .args(&request.cargo_args)
        .args(["--color", if request.color { "always" } else { "never" }])
        // A caching wrapper does not know this one; the private directory caches as well.
        .env("RUSTC_WRAPPER", "")
        .env("RUSTC_WORKSPACE_WRAPPER", &request.sandbox.exe)
        // The macro then leaves kernels alone: damaged ones, which tuning replaces, must not fail this build.
        .env("PRAGMA_HARNESS", "0")
        .env(wrapper::RECORD_DIR, records)
        .env(wrapper::BASE_ENV, &base);
    match &request.target {
        CrateTarget::Lib => command.arg("--lib"),
        CrateTarget::Bin(name) => command.args(["--bin", name]),
    };
    let output = process::output(&mut command).map_err(|source| HarnessError::Io {
        path: "cargo".into(),
        source,
    })?;
    if !output.status.success() {
        return Err(HarnessError::DoesNotBuild {
            rendered: String::from_utf8_lossy(&output.stderr).into_owned(),
        });
    }
    let wanted_kind = if matches!(request.target, CrateTarget::Lib) {
        "lib"
    } else {
        "bin"
    };
    let manifest = request.manifest_path.to_string_lossy().into_owned();
    String::from_utf8_lossy(&output.stdout)
        .lines()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
        .filter(|message| {
            message["reason"] == "compiler-artifact"
                && message["manifest_path"] == manifest.as_str()
        })
        .filter(|message| {
            let kinds = message["target"]["kind"].as_array();
            kinds.is_some_and(|kinds| {
                kinds
                    .iter()
                    .any(|kind| (kind == "bin") == (wanted_kind == "bin") && kind != "custom-build")
            })
        })
        .filter_map(|message| message["filenames"][0].as_str().map(PathBuf::from))
        .next_back()
        .ok_or_else(|| HarnessError::NotRecorded(request.crate_name.clone()))
}

fn build_reference(
    invocation: &Invocation,
    flags: &Flags,
    output: &Path,
    forms: &str,
    color: bool,
) -> Result<(), HarnessError> {
    let forms_file = output.with_extension("forms");
    std::fs::write(&forms_file, forms).map_err(|source| HarnessError::Io {
        path: forms_file.clone(),
        source,
    })?;
    let part = output.with_extension(format!("{}.part", std::process::id()));
    let mut command = process::command(&invocation.rustc);
    command
        .args(flags.reference(&part))
        .args(["--color", if color { "always" } else { "never" }])
        .current_dir(&invocation.cwd)
        .envs(invocation.env.iter().map(|(name, value)| (name, value)))
        .env("PRAGMA_HARNESS", "1")
        .env(HARNESS_FORMS, &forms_file);
    let io = |source| HarnessError::Io {
        path: output.to_owned(),
        source,
    };
    let result = process::output(&mut command).map_err(io)?;
    if !result.status.success() {
        return Err(HarnessError::NoReference {
            rendered: String::from_utf8_lossy(&result.stderr).into_owned(),
        });
    }
    std::fs::rename(&part, output).map_err(io)
}

impl Harness {
    /// Screens a candidate and compiles it into `dir`.
    ///
    /// # Errors
    /// See [`BuildError`].
    pub fn build_candidate(
        &self,
        text: &CandidateText<'_>,
        dir: &Path,
    ) -> Result<Built, BuildError> {
        screen::screen(text.source)?;
        let mut built = self.build_unscreened(text, dir)?;
        built.screened = true;
        Ok(built)
    }

    /// Compiles a candidate without reading it first: for tests of what running it shows by itself. Its verification
    /// lists the screen as unchecked.
    ///
    /// # Errors
    /// See [`BuildError`].
    pub fn build_unscreened(
        &self,
        text: &CandidateText<'_>,
        dir: &Path,
    ) -> Result<Built, BuildError> {
        let source = super::candidate_source(text)?;
        self.build_library("candidate", &source, crate::worker::abi::CANDIDATE, dir)
    }

    /// Compiles an oracle, complete source text, into `dir`.
    ///
    /// # Errors
    /// See [`BuildError`].
    pub fn build_oracle(&self, source: &str, dir: &Path) -> Result<Built, BuildError> {
        self.build_library("oracle", source, crate::worker::abi::ORACLE, dir)
    }

    /// Compiles complete source text as the dynamic library `name` with the user's code generation flags and the
    /// user's copy of the runtime. The file name is that of the content, so equal text is compiled once.
    ///
    /// # Errors
    /// See [`BuildError`].
    pub fn build_library(
        &self,
        name: &str,
        source: &str,
        symbol: &str,
        dir: &Path,
    ) -> Result<Built, BuildError> {
        let io = |error: io::Error| BuildError::Io(error.to_string());
        std::fs::create_dir_all(dir).map_err(io)?;
        let stem = format!(
            "{name}-{}",
            &hex(format!("{} {source}", self.key).as_bytes())[..16]
        );
        let library = dir.join(format!("{stem}.so"));
        let built = Built {
            path: library.clone(),
            symbol: symbol.to_owned(),
            screened: false,
        };
        if library.exists() {
            return Ok(built);
        }
        let file = dir.join(format!("{stem}.rs"));
        std::fs::write(&file, source).map_err(io)?;
        let part = dir.join(format!("{stem}.{}.part", std::process::id()));
        let flags = Flags::parse(&self.invocation.args);
        let crate_name = format!("pragma_{name}");
        let inputs = [self.target_dir.clone()];
        let mut command = self
            .sandbox
            .compiler(Path::new(&self.invocation.rustc), &inputs, dir);
        command
            .args(flags.candidate(&crate_name, &file, &part, &self.externs))
            .current_dir(dir);
        let output = group::output(command, RUSTC_TIMEOUT)
            .map_err(io)?
            .ok_or(BuildError::TimedOut(RUSTC_TIMEOUT))?;
        let said = || String::from_utf8_lossy(&output.stderr).into_owned();
        if output.status.code() == Some(i32::from(EXIT_UNCONFINED)) {
            return Err(BuildError::Io(said()));
        }
        if !output.status.success() {
            return Err(BuildError::Rejected { stderr: said() });
        }
        std::fs::rename(&part, &library).map_err(io)?;
        Ok(built)
    }
}

fn create(dir: &Path) -> Result<(), HarnessError> {
    std::fs::create_dir_all(dir).map_err(|source| HarnessError::Io {
        path: dir.to_owned(),
        source,
    })
}

/// Modification time and size, to notice that cargo built something anew.
fn modified(path: &Path) -> Option<(u128, u64)> {
    let meta = std::fs::metadata(path).ok()?;
    let since = meta.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    Some((since.as_nanos(), meta.len()))
}
