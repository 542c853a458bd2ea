//! `cargo pragma clean`: removes orphaned kernels and caches.
//!
//! Never touches a kernel that a function still has, nor anything in `pragma/` outside of the directories of kernels.

use std::fs;
use std::io;
use std::path::Path;

use serde::Serialize;

use super::lock;
use super::project::Project;
use crate::cli::args::CleanArgs;
use crate::cli::exit::{CommandResult, ExitCode, Failure};
use crate::cli::shell::Shell;
use crate::diagnostic::Diagnostic;
use crate::discover;
use crate::history;
use crate::vendor::{self, Problem};

/// One line of `--format json`; documented in `docs/commands.md`.
#[derive(Debug, Serialize)]
struct Line {
    /// `kernel`, `file` or `cache`.
    kind: &'static str,
    package: Option<String>,
    path: String,
    removed: bool,
}

/// Runs the command.
///
/// # Errors
/// If something cannot be removed, or another run is at work.
pub fn run(args: &CleanArgs, shell: &Shell) -> CommandResult {
    let workspace = discover::select(&args.common)?;
    let private = workspace.private_dir();
    // Before anything is read: what a run of `tune` is about to list would look forgotten.
    let _lock = if !args.dry_run && private.is_dir() {
        Some(lock::take(&private)?)
    } else {
        None
    };
    let project = Project::read(workspace, &args.common, shell)?;
    let verb = if args.dry_run {
        "Would remove"
    } else {
        "Removing"
    };
    let mut any = false;
    for loaded in &project.packages {
        let dir = loaded.source.package.pragma_dir();
        let unlisted = loaded
            .vendored
            .problems
            .iter()
            .filter_map(|problem| match problem {
                Problem::NotListed(id) => Some(id),
                _ => None,
            });
        for id in loaded.states.orphans.iter().chain(unlisted) {
            any = true;
            shell.status(
                verb,
                format!("pragma/{id} of package `{}`", loaded.source.package.name),
            );
            if !args.dry_run {
                vendor::remove(&dir, id)
                    .map_err(|error| Failure::environment(error, "make the package writable"))?;
            }
            shell.json(&Line {
                kind: "kernel",
                package: Some(loaded.source.package.name.clone()),
                path: format!("pragma/{id}"),
                removed: !args.dry_run,
            });
        }
        for problem in &loaded.vendored.problems {
            let Problem::Stray(path) = problem else {
                continue;
            };
            any = true;
            let package = &loaded.source.package;
            shell.status(
                verb,
                format!("{} of package `{}`", path.display(), package.name),
            );
            if !args.dry_run {
                remove_file(&package.root.join(path), "make the package writable")?;
            }
            shell.json(&Line {
                kind: "file",
                package: Some(package.name.clone()),
                path: path.display().to_string(),
                removed: !args.dry_run,
            });
        }
    }
    for name in caches(&private, args.all) {
        any = true;
        let path = private.join(&name);
        shell.status(verb, path.display());
        if !args.dry_run {
            let help = "make cargo's target directory writable";
            if path.is_dir() {
                fs::remove_dir_all(&path).map_err(|error| irremovable(&path, &error, help))?;
            } else {
                remove_file(&path, help)?;
            }
        }
        shell.json(&Line {
            kind: "cache",
            package: None,
            path: path.display().to_string(),
            removed: !args.dry_run,
        });
    }
    if !any {
        shell.diagnostic(&Diagnostic::remark("nothing to remove"));
    }
    Ok(ExitCode::Ok)
}

fn irremovable(path: &Path, error: &io::Error, help: &str) -> Failure {
    Failure::environment(format!("cannot remove `{}`: {error}", path.display()), help)
}

fn remove_file(path: &Path, help: &str) -> Result<(), Failure> {
    fs::remove_file(path).map_err(|error| irremovable(path, &error, help))
}

/// Names in the private directory that may go, sorted.
fn caches(private: &Path, all: bool) -> Vec<String> {
    let Ok(listing) = fs::read_dir(private) else {
        return Vec::new();
    };
    let mut names: Vec<String> = listing
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .filter(|name| name != lock::FILE && (all || !name.starts_with(history::FILE)))
        .collect();
    names.sort();
    names
}
