//! `cargo pragma import`: results from a host with a GPU into `pragma/`.
//!
//! Owns the question whether results are for the functions as they stand. Results are trusted as far as the host is
//! that made them: here nothing can run them.

use pragma_spec::TargetOutcome;

use super::project::Project;
use crate::cli::args::ImportArgs;
use crate::cli::exit::{CommandResult, ExitCode, Failure};
use crate::cli::shell::Shell;
use crate::cuda::results::{Outcome, Results};
use crate::diagnostic::Diagnostic;
use crate::tune::lifting::{Lifter, dependencies};
use crate::tune::package;
use crate::vendor::{self, KernelState, Measurements};

/// Runs the command.
///
/// # Errors
/// See the exit codes.
pub fn run(args: &ImportArgs, shell: &Shell) -> CommandResult {
    let project = Project::load(&args.common, shell)?;
    let results = Results::read(&args.results).map_err(|error| {
        Failure::usage(
            error,
            "`cargo-pragma tune --bundle job.tar -o results.tar` makes results",
        )
    })?;
    vendor(&project, &results, args.dry_run, shell)?;
    Ok(ExitCode::Ok)
}

/// Puts what is proven into `pragma/`.
///
/// # Errors
/// If results are not for these functions, or a package cannot be written.
pub(super) fn vendor(
    project: &Project,
    results: &Results,
    dry_run: bool,
    shell: &Shell,
) -> Result<(), Failure> {
    let mut stale = Vec::new();
    let mut plan = Vec::new();
    let mut kernels: Vec<(&str, &str)> = results
        .outcomes
        .iter()
        .map(|outcome| (outcome.package.as_str(), outcome.kernel.as_str()))
        .collect();
    kernels.dedup();
    for (package, id) in kernels {
        let outcomes: Vec<&Outcome> = results
            .outcomes
            .iter()
            .filter(|outcome| outcome.package == package && outcome.kernel == id)
            .collect();
        let mut devices = Vec::new();
        for outcome in &outcomes {
            let device = outcome.artefact().map_err(|why| {
                Failure::usage(
                    format!("the results for `{id}` are damaged: {why}"),
                    "copy the file again",
                )
            })?;
            if device.outcome == TargetOutcome::Tuned {
                devices.push((device, *outcome));
            }
        }
        let found = project.packages.iter().enumerate().find_map(|(p, loaded)| {
            let wanted = loaded.source.package.name == package;
            let mut all = loaded.source.kernels.iter();
            let k = all.position(|kernel| wanted && kernel.id.as_str() == id)?;
            Some((p, k))
        });
        let Some(at) = found else {
            stale.push(format!("`{id}` of package `{package}` is not here"));
            continue;
        };
        let (loaded, kernel) = project.kernel(at);
        let lifted = match Lifter::new(&project.workspace, &loaded.source).lift(kernel) {
            Ok(lifted) => lifted,
            Err(refusal) => {
                shell.diagnostic(&refusal);
                stale.push(format!("`{id}` can no longer be read"));
                continue;
            }
        };
        let depends = dependencies(&lifted);
        let same = outcomes.iter().all(|outcome| {
            outcome.fingerprint() == Some(kernel.fingerprint.clone())
                && outcome.dependencies == depends.to_string()
        });
        if !same {
            stale.push(format!("`{id}` has changed since the bundle was made"));
            continue;
        }
        if devices.is_empty() {
            continue;
        }
        let previous = loaded.vendored.kernels.get(&kernel.id).filter(|_| {
            loaded.states.kernels[at.1] == KernelState::Fresh
                && loaded.vendored.dependencies(&kernel.id) == Some(&depends)
        });
        let dir = loaded.source.package.pragma_dir();
        let previous = previous.map(|vendored| (vendored, Measurements::read(&dir, &kernel.id)));
        let files = package::with_devices(
            kernel,
            &lifted,
            depends,
            &devices,
            previous,
            &results.machine,
        );
        plan.push((dir, files));
    }
    if !stale.is_empty() {
        let mut diagnostic =
            Diagnostic::error("these results are not for the functions as they stand");
        for one in stale {
            diagnostic = diagnostic.note(one);
        }
        return Err(Failure::Drift(Box::new(diagnostic.help(
            "make a new bundle with `cargo pragma bundle`, tune it, and import that",
        ))));
    }
    let count = plan.len();
    if !dry_run {
        for (dir, files) in &plan {
            let unwritable =
                |error| Failure::environment(error, "make the package writable and import again");
            vendor::ensure_index(dir).map_err(unwritable)?;
            vendor::store(dir, files).map_err(unwritable)?;
        }
    }
    let kernels = if count == 1 {
        "1 kernel".to_owned()
    } else {
        format!("{count} kernels")
    };
    if dry_run {
        shell.status("Dry run", format!("{kernels} would be vendored"));
    } else {
        shell.status(
            "Vendored",
            format!("{kernels}; review and commit `pragma/`"),
        );
    }
    Ok(())
}
