//! What `cargo pragma tune` makes sure of before anything is built.
//!
//! Owns what the flags and package settings choose (engines, targets, budget) and whether results can be kept.

use std::path::Path;

use pragma_spec::Target;

use super::super::project::{Loaded, Project};
use crate::cli::args::TuneArgs;
use crate::cli::budget::Budget;
use crate::cli::exit::Failure;
use crate::cli::shell::Shell;
use crate::diagnostic::Diagnostic;
use crate::discover::closest;
use crate::machine;
use crate::vendor::{self, Problem};

/// Engines of this version; the others of the design are named so that nobody looks for a typing error.
pub(super) fn only_known_engines(engines: &[String]) -> Result<(), Failure> {
    for engine in engines {
        match engine.as_str() {
            "synth" => {}
            "llm" | "command" | "mcp" => {
                return Err(Failure::usage(
                    format!("the engine `{engine}` is not in this version"),
                    "use `--engine synth`, the embedded engine",
                ));
            }
            other => {
                return Err(Failure::usage(
                    format!("there is no engine `{other}`"),
                    "engines: synth",
                ));
            }
        }
    }
    Ok(())
}

/// The targets that the flags or else the packages choose, among those that this machine can run.
pub(super) fn targets(args: &TuneArgs, project: &Project) -> Result<Vec<Target>, Failure> {
    let mut words = args.target.clone();
    if words.is_empty() {
        words = project
            .packages
            .iter()
            .flat_map(|loaded| loaded.source.package.settings.target.clone())
            .collect();
    }
    if words.is_empty() {
        words.push("cpu".to_owned());
    }
    let here = machine::targets();
    let mut targets = Vec::new();
    for word in &words {
        match word.as_str() {
            "cpu" => targets.extend(&here),
            "cuda" => {
                return Err(Failure::environment(
                    "GPU kernels are not in this version",
                    "leave `cuda` out; `cargo pragma doctor` shows what this machine can do",
                ));
            }
            name => {
                let target: Target = name.parse().map_err(|error| {
                    let names = ["cpu", "cuda", "x86-64-v3", "x86-64-v4"];
                    let help = match closest(name, &names) {
                        Some(near) => format!("did you mean `{near}`?"),
                        None => format!("targets: {}", names.join(", ")),
                    };
                    Failure::usage(error, help)
                })?;
                if !here.contains(&target) {
                    return Err(Failure::environment(
                        format!("this machine cannot run kernels for {target}"),
                        "kernels are proven by running them; tune for it on a machine that has it",
                    ));
                }
                targets.push(target);
            }
        }
    }
    targets.sort_unstable();
    targets.dedup();
    if targets.is_empty() {
        return Err(Failure::environment(
            format!(
                "there is no target to tune for: {}",
                machine::no_target_reason()
            ),
            "tune on an x86-64 machine with AVX2, without PRAGMA_DISPATCH",
        ));
    }
    Ok(targets)
}

/// Finds out before any work whether the results can be kept.
pub(super) fn prepare(
    project: &Project,
    chosen: &[(usize, usize)],
    args: &TuneArgs,
    private: &Path,
    shell: &Shell,
) -> Result<(), Failure> {
    machine::prepare_private_dir(private).map_err(|error| {
        Failure::environment(
            format!("cannot write into `{}`: {error}", private.display()),
            "make it writable, or set CARGO_TARGET_DIR to a directory that is",
        )
    })?;
    let mut packages: Vec<usize> = chosen.iter().map(|(package, _)| *package).collect();
    packages.dedup();
    for index in packages {
        let Loaded {
            source, vendored, ..
        } = &project.packages[index];
        let package = &source.package;
        if package.runtime.is_none() {
            return Err(Failure::usage(
                format!(
                    "package `{}` does not depend on pragma-runtime",
                    package.name
                ),
                "run `cargo pragma init` in it",
            ));
        }
        let dir = package.pragma_dir();
        if !args.dry_run {
            let unwritable = |error| {
                Failure::environment(
                    format!("cannot write into package `{}`: {error}", package.name),
                    "make the package writable, or use `--dry-run` to search without vendoring",
                )
            };
            vendor::writable(&dir).map_err(unwritable)?;
            if vendored.problems.contains(&Problem::NoIndex) {
                vendor::ensure_index(&dir).map_err(unwritable)?;
                shell.diagnostic(
                    &Diagnostic::warning(format!("pragma/index.toml of package `{}` was missing; it is there now", package.name))
                        .note("cargo does not notice a file that appears")
                        .help("change any source file of the package, or run `cargo clean -p` for it, before the next build"),
                );
            }
        }
        if let Some(problem @ Problem::BadIndex(_)) = vendored.problems.first() {
            return Err(Failure::usage(problem, problem.help()));
        }
    }
    Ok(())
}

/// The budget of the flag, or else of the package if there is one alone.
pub(super) fn budget(args: &TuneArgs, project: &Project) -> Result<Budget, Failure> {
    if let Some(budget) = args.budget {
        return Ok(budget);
    }
    match project.packages.as_slice() {
        [only] => match &only.source.package.settings.budget {
            Some(text) => text.parse().map_err(|error| {
                Failure::usage(error, "fix `budget` in `[package.metadata.pragma]`")
            }),
            None => Ok(Budget::default()),
        },
        _ => Ok(Budget::default()),
    }
}
