//! What this executable does when cargo runs it in place of rustc.
//!
//! Owns recording the call; then it becomes rustc. It runs once per workspace crate, inside cargo, and must not be
//! noticed: it prints nothing and fails only if rustc cannot be started.

use std::collections::HashSet;
use std::env;
use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};

use super::flags::Flags;
use super::record::{Invocation, variable_digest};
use crate::process;

/// Names the directory for records. Its presence says that this process is a wrapper.
pub const RECORD_DIR: &str = "PRAGMA_WRAPPER_RECORDS";
/// Names a file with digests of the tool's own environment, one a line.
pub const BASE_ENV: &str = "PRAGMA_WRAPPER_BASE";

/// Whether cargo called this process as a rustc wrapper for the tool.
pub fn is_wrapper() -> bool {
    env::var_os(RECORD_DIR).is_some()
        && env::args_os()
            .nth(1)
            .is_some_and(|arg| looks_like_rustc(&arg))
}

fn looks_like_rustc(arg: &OsStr) -> bool {
    Path::new(arg).file_stem().is_some_and(|stem| {
        stem.to_string_lossy().contains("rustc") || stem.to_string_lossy().contains("clippy-driver")
    })
}

/// Records the call and becomes rustc. Returns only if that fails, with the exit code to end with.
pub fn run() -> u8 {
    let args: Vec<OsString> = env::args_os().skip(1).collect();
    let Some((rustc, rest)) = args.split_first() else {
        return 70;
    };
    if let Some(dir) = env::var_os(RECORD_DIR)
        && let Err(error) = record(Path::new(&dir), rustc, rest)
    {
        eprintln!("warning: cargo pragma cannot record how this crate is compiled: {error}");
    }
    let error = process::command(rustc)
        .args(rest)
        .env_remove(RECORD_DIR)
        .env_remove(BASE_ENV)
        .exec();
    eprintln!("error: cannot start {}: {error}", rustc.display());
    101
}

fn record(dir: &Path, rustc: &OsStr, args: &[OsString]) -> std::io::Result<()> {
    // Arguments that are not Unicode cannot come from cargo except inside paths; such a crate is not recorded, and the
    // tool says so.
    let Some(args) = args
        .iter()
        .map(|arg| arg.to_str().map(str::to_owned))
        .collect::<Option<Vec<_>>>()
    else {
        return Ok(());
    };
    let flags = Flags::parse(&args);
    let (Some(name), Some(manifest_dir)) =
        (flags.get("--crate-name"), env::var_os("CARGO_MANIFEST_DIR"))
    else {
        return Ok(());
    };
    if name == "___" || flags.get("--emit").is_none() || flags.has("--test") {
        return Ok(());
    }
    let is_bin = flags.get("--crate-type") == Some("bin");
    let file = Invocation::file(dir, name, is_bin, Path::new(&manifest_dir));
    let invocation = Invocation {
        rustc: PathBuf::from(rustc),
        cwd: env::current_dir()?,
        env: added_environment(),
        args,
    };
    invocation.write(&file)
}

/// The variables that the tool did not have when it started cargo.
fn added_environment() -> Vec<(String, String)> {
    let base: HashSet<String> = env::var_os(BASE_ENV)
        .and_then(|path| std::fs::read_to_string(path).ok())
        .map(|text| text.lines().map(str::to_owned).collect())
        .unwrap_or_default();
    let mut added: Vec<(String, String)> = env::vars_os()
        .filter(|(name, value)| {
            // Cargo's own description of the crate is always recorded: a tool that cargo runs has another crate's.
            let own = name.to_string_lossy().starts_with("CARGO_");
            !process::is_secret(name) && (own || !base.contains(&variable_digest(name, value)))
        })
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .filter(|(name, _)| name != RECORD_DIR && name != BASE_ENV && name != "CARGO_MAKEFLAGS")
        .collect();
    added.sort();
    added
}

/// The digests for [`BASE_ENV`].
pub fn base_environment() -> String {
    env::vars_os()
        .map(|(name, value)| variable_digest(&name, &value) + "\n")
        .collect()
}
