//! `cargo pragma clean`: removes orphaned kernels and caches.
//!
//! Never touches a kernel that a function still has, nor files in `pragma/` that Pragma did not write.

use std::fs;
use std::path::Path;

use serde::Serialize;

use super::project::Project;
use crate::cli::args::CleanArgs;
use crate::cli::exit::{CommandResult, ExitCode, Failure};
use crate::cli::shell::Shell;
use crate::diagnostic::Diagnostic;
use crate::history;
use crate::vendor::{self, Problem};

/// One line of `--format json`; documented in `docs/commands.md`.
#[derive(Debug, Serialize)]
struct Line {
    /// `kernel` or `cache`.
    kind: &'static str,
    package: Option<String>,
    path: String,
    removed: bool,
}

/// Runs the command.
///
/// # Errors
/// If something cannot be removed.
pub fn run(args: &CleanArgs, shell: &Shell) -> CommandResult {
    let project = Project::load(&args.common, shell)?;
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
                // A directory with a manifest was written by Pragma; others are the user's business.
                Problem::NotListed(id)
                    if dir.join(id.as_str()).join(vendor::MANIFEST).is_file() =>
                {
                    Some(id)
                }
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
    }
    let private = project.workspace.private_dir();
    for name in caches(&private, args.all) {
        any = true;
        let path = private.join(&name);
        shell.status(verb, path.display());
        if !args.dry_run {
            let removed = if path.is_dir() {
                fs::remove_dir_all(&path)
            } else {
                fs::remove_file(&path)
            };
            removed.map_err(|error| {
                Failure::environment(
                    format!("cannot remove `{}`: {error}", path.display()),
                    "make cargo's target directory writable",
                )
            })?;
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

/// Names in the private directory that may go, sorted.
fn caches(private: &Path, all: bool) -> Vec<String> {
    let Ok(listing) = fs::read_dir(private) else {
        return Vec::new();
    };
    let mut names: Vec<String> = listing
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .filter(|name| all || !name.starts_with(history::FILE))
        .collect();
    names.sort();
    names
}
