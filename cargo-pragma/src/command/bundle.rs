//! `cargo pragma bundle`: a tuning job as one file, for a host with a GPU and without Rust.
//!
//! Owns which functions go into a job. Its format is `cuda::job`'s.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use pragma_spec::TuneSize;

use super::project::Project;
use crate::cli::args::{BundleArgs, Common, ConfinementArgs};
use crate::cli::exit::{CommandResult, ExitCode, Failure};
use crate::cli::shell::Shell;
use crate::cuda::job::{FORMAT, Job, JobKernel, Part};
use crate::diagnostic::Diagnostic;
use crate::machine;
use crate::tune::lifting::{Lifter, dependencies};
use crate::tune::sizes::sizes;
use crate::tune::workshop::{Workshop, seed};

/// Runs the command.
///
/// # Errors
/// See the exit codes.
pub fn run(args: &BundleArgs, shell: &Shell) -> CommandResult {
    let project = Project::load(&args.common, shell)?;
    let count = pack(
        &project,
        &args.kernels,
        args.confinement,
        &args.common,
        &args.output,
        shell,
    )?;
    let kernels = if count == 1 {
        "1 kernel".to_owned()
    } else {
        format!("{count} kernels")
    };
    shell.status(
        "Packed",
        format!("{kernels} into {}", args.output.display()),
    );
    shell.status(
        "Next",
        "on the host with the GPU: `cargo-pragma tune --bundle FILE --target cuda -o results.tar`; here: `cargo pragma import results.tar`",
    );
    Ok(ExitCode::Ok)
}

/// Writes the job of the kernels called `names`, or of all; how many there are.
///
/// # Errors
/// If the package does not build, nothing can be packed, or the file not be written.
pub(super) fn pack(
    project: &Project,
    names: &[String],
    confinement: ConfinementArgs,
    common: &Common,
    output: &Path,
    shell: &Shell,
) -> Result<usize, Failure> {
    let private = project.workspace.private_dir();
    machine::prepare_private_dir(&private).map_err(|error| {
        Failure::environment(
            format!("cannot write into `{}`: {error}", private.display()),
            "make it writable, or set CARGO_TARGET_DIR to a directory that is",
        )
    })?;
    let _lock = super::lock::take(&private)?;
    let mut workshop = Workshop::open(&project.workspace, common, None, confinement.into())?;
    let mut kernels = Vec::new();
    let mut files: Vec<(String, PathBuf)> = Vec::new();
    let mut references: BTreeMap<PathBuf, String> = BTreeMap::new();
    let oracles = tempfile::tempdir().map_err(|error| Failure::Internal(error.into()))?;
    for at in project.choose(names)? {
        let (loaded, kernel) = project.kernel(at);
        let leave_out = |why: String| {
            shell.diagnostic(
                &Diagnostic::warning(format!("`{}` is left out: {why}", kernel.name()))
                    .at(kernel.location("")),
            );
        };
        let (Ok(attribute), Ok(signature)) = (&kernel.attribute, &kernel.signature) else {
            leave_out("its attribute or signature is refused".to_owned());
            continue;
        };
        let lifter = Lifter::new(&project.workspace, &loaded.source);
        let lifted = match lifter.lift(kernel) {
            Ok(lifted) => lifted,
            Err(refusal) => {
                shell.diagnostic(&refusal.as_warning());
                continue;
            }
        };
        let tunes: Vec<TuneSize> =
            match sizes(attribute, signature, &lifted.program, &lifted.shapes) {
                Ok(sizes) => sizes.into_iter().map(|size| size.tune).collect(),
                Err(error) => {
                    leave_out(error.to_string());
                    continue;
                }
            };
        let spec = match workshop.spec(kernel, &lifted, tunes) {
            Ok(spec) => spec,
            Err(error) => {
                leave_out(error.to_string());
                continue;
            }
        };
        if let Some(reason) = spec.no_device_reason() {
            leave_out(reason.to_owned());
            continue;
        }
        shell.status(
            "Building",
            format!("the reference and the oracle of {}", kernel.id),
        );
        let harness = workshop.harness(&loaded.source, kernel.krate)?;
        let fresh = format!("reference-{}.so", references.len());
        let reference = references
            .entry(harness.reference.clone())
            .or_insert(fresh)
            .clone();
        let oracle = match &spec.oracle {
            None => None,
            Some(source) => match harness.build_oracle(source, oracles.path()) {
                Ok(built) => {
                    let name = format!("oracle-{}.so", kernels.len());
                    files.push((name.clone(), built.path));
                    Some(name)
                }
                Err(error) => {
                    leave_out(format!("its f64 oracle {error}"));
                    continue;
                }
            },
        };
        kernels.push(JobKernel::new(Part {
            package: &kernel.package,
            kernel: kernel.id.as_str(),
            fingerprint: kernel.fingerprint.to_string(),
            dependencies: dependencies(&lifted).to_string(),
            attribute: kernel.tokens.to_string(),
            spec: &spec,
            program: &lifted.program,
            reference,
            oracle,
            seed: seed(kernel),
        }));
    }
    if kernels.is_empty() {
        return Err(Failure::usage(
            "there is nothing to pack",
            "mark a function with `#[pragma_kernel]`; `cargo pragma list` shows what can be read",
        ));
    }
    files.extend(references.into_iter().map(|(path, name)| (name, path)));
    let job = Job {
        format: FORMAT,
        tool: env!("CARGO_PKG_VERSION").to_owned(),
        machine: machine::description(),
        kernels,
    };
    job.write(output, &files)
        .map_err(|error| Failure::environment(error, "name a file that can be written"))?;
    Ok(job.kernels.len())
}
