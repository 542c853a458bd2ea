//! `cargo pragma tune` for GPUs: a job from a file, or one that is made of the package on the spot.
//!
//! Owns the flags' meaning, the card, and what is printed. The search is `cuda::tune`'s.

use std::path::Path;
use std::time::Duration;

use pragma_spec::TargetOutcome;
use pragma_spec::device::GpuArch;
use serde::Serialize;

use super::super::project::Project;
use super::super::{bundle, import};
use crate::cli::args::TuneArgs;
use crate::cli::exit::{CommandResult, ExitCode, Failure};
use crate::cli::shell::Shell;
use crate::cuda::job::{FORMAT, Job, JobError};
use crate::cuda::results::{Outcome, Results};
use crate::cuda::site::{Site, SiteError, archs};
use crate::cuda::tune::{Search, open_bench, sizes_of};
use crate::cuda::{NO_NVRTC, find_nvrtc};
use crate::diagnostic::Diagnostic;
use crate::process::confine::Sandbox;
use crate::report::{self, Table};
use crate::tune::interrupt;
use crate::verify::BenchError;

/// Candidates per kernel, architecture and size where the budget does not say.
const CANDIDATES: usize = 24;

/// The architectures that `words` name, if they name GPUs and nothing else. Empty means all that the card runs.
///
/// # Errors
/// If CPU and GPU targets are mixed: they are two searches with results of their own.
pub(super) fn only_devices(words: &[String]) -> Result<Option<Vec<GpuArch>>, Failure> {
    let named = |word: &String| word == "cuda" || word.parse::<GpuArch>().is_ok();
    if !words.iter().any(named) {
        return Ok(None);
    }
    if !words.iter().all(named) {
        return Err(Failure::usage(
            format!("`{}` mixes CPU and GPU targets", words.join(",")),
            "tune for each in a run of its own: `--target cpu`, then `--target cuda`; both stay in the manifest",
        ));
    }
    let archs = words.iter().filter_map(|word| word.parse().ok());
    Ok(Some(archs.collect()))
}

/// Tunes a job from a file.
///
/// # Errors
/// See the exit codes.
pub(super) fn bundled(args: &TuneArgs, bundle: &Path, shell: &Shell) -> CommandResult {
    let Some(output) = &args.output else {
        return Err(Failure::usage(
            "there is no `--output`",
            "name the file for the results",
        ));
    };
    let chosen = only_devices(&args.target)?;
    if chosen.is_none() && !args.target.is_empty() {
        return Err(Failure::usage(
            "a bundle is tuned for GPUs",
            "leave `--target` out or write `--target cuda`",
        ));
    }
    interrupt::install();
    let scratch = scratch()?;
    let job = Job::unpack(bundle, scratch.path()).map_err(unusable)?;
    let results = tune(
        args,
        &job,
        scratch.path(),
        &chosen.unwrap_or_default(),
        shell,
    )?;
    results.write(output).map_err(unusable)?;
    shell.status(
        "Wrote",
        format!("{}; `cargo pragma import` takes it", output.display()),
    );
    conclude(&results)
}

/// Tunes the package on a machine with both Rust and a GPU.
///
/// # Errors
/// See the exit codes.
pub(super) fn here(
    args: &TuneArgs,
    project: &Project,
    chosen: &[GpuArch],
    shell: &Shell,
) -> CommandResult {
    // Before anything is built: most machines have no GPU, and the advice for them is to go elsewhere.
    let scratch = scratch()?;
    probe(args, scratch.path())?;
    interrupt::install();
    let file = scratch.path().join("job.tar");
    bundle::pack(
        project,
        &args.kernels,
        args.confinement,
        &args.common,
        &file,
        shell,
    )?;
    let unpacked = scratch.path().join("job");
    std::fs::create_dir_all(&unpacked).map_err(|error| Failure::Internal(error.into()))?;
    let job = Job::unpack(&file, &unpacked).map_err(unusable)?;
    let results = tune(args, &job, &unpacked, chosen, shell)?;
    import::vendor(project, &results, args.dry_run, shell)?;
    conclude(&results)
}

fn scratch() -> Result<tempfile::TempDir, Failure> {
    tempfile::Builder::new()
        .prefix("pragma-cuda-")
        .tempdir()
        .map_err(|error| {
            Failure::environment(error, "make the directory for temporary files writable")
        })
}

fn unusable(error: JobError) -> Failure {
    Failure::usage(
        error,
        "`cargo pragma bundle -o job.tar` makes a job, `tune --bundle job.tar -o results.tar` its results",
    )
}

/// Whether there is a card at all.
fn probe(args: &TuneArgs, scratch: &Path) -> Result<(), Failure> {
    let exe = std::env::current_exe().map_err(|error| Failure::Internal(error.into()))?;
    let worker =
        crate::worker::cuda::GpuWorker::start(&exe, args.device, scratch, Duration::from_secs(60));
    worker
        .and_then(|mut worker| worker.facts())
        .map(|_| ())
        .map_err(|error| no_gpu(&error.to_string()))
}

fn no_gpu(why: &str) -> Failure {
    Failure::environment(
        format!("no GPU can be used here: {why}"),
        "`cargo pragma bundle -o job.tar` packs the job for a host with a GPU; `cargo pragma doctor` shows what this one lacks",
    )
}

/// Opens the card and tunes every kernel of a job that is unpacked in `dir`.
fn tune(
    args: &TuneArgs,
    job: &Job,
    dir: &Path,
    chosen: &[GpuArch],
    shell: &Shell,
) -> Result<Results, Failure> {
    let exe = std::env::current_exe().map_err(|error| Failure::Internal(error.into()))?;
    let sandbox = Sandbox {
        exe,
        confinement: args.confinement.into(),
    };
    sandbox.probe().map_err(|missing| {
        Failure::environment(
            format!("the references cannot be confined on this machine: {missing}"),
            "`cargo pragma doctor` says how to mend it; `--allow-unsandboxed` runs them with your own rights",
        )
    })?;
    let nvrtc =
        find_nvrtc().ok_or_else(|| Failure::environment("NVRTC is not installed", NO_NVRTC))?;
    let site =
        Site::open(nvrtc, sandbox.clone(), args.device, dir).map_err(|error| match error {
            SiteError::Device(why) => no_gpu(&why),
            SiteError::Compiler(why) => Failure::environment(why, NO_NVRTC),
        })?;
    let machine = site.describe();
    shell.status("Device", &machine);
    let mut runnable = archs(&site.facts);
    if !chosen.is_empty() {
        if let Some(arch) = chosen.iter().find(|arch| !runnable.contains(arch)) {
            return Err(Failure::environment(
                format!("{} cannot run kernels for {arch}", site.facts.name),
                "kernels are proven by running them; tune on a newer card",
            ));
        }
        runnable.retain(|arch| chosen.contains(arch));
    }
    let most = args
        .budget
        .and_then(|budget| budget.candidates)
        .and_then(|count| usize::try_from(count).ok())
        .unwrap_or(CANDIDATES);
    let mut outcomes = Vec::new();
    for kernel in &job.kernels {
        let unproven = |why: String| {
            shell.diagnostic(&Diagnostic::warning(format!("`{}`: {why}", kernel.kernel)));
        };
        let program = match kernel.program() {
            Ok(program) => program,
            Err(why) => {
                unproven(why);
                continue;
            }
        };
        shell.status("Testing", format!("the judge of {}", kernel.kernel));
        let mut bench = match open_bench(kernel, &program, dir, sandbox.clone()) {
            Ok(bench) => bench,
            Err(error) => {
                unproven(error.to_string());
                continue;
            }
        };
        let sizes = match sizes_of(&bench, &program) {
            Ok(sizes) => sizes,
            Err(why) => {
                unproven(why);
                continue;
            }
        };
        for &arch in runnable.iter().rev() {
            let search = Search {
                site: &site,
                kernel,
                program: &program,
                sizes: &sizes,
                arch,
                most,
            };
            match search.run(&mut bench, &mut |line| shell.status("Tried", line)) {
                Ok(outcome) => outcomes.push(outcome),
                Err(BenchError::Unprovable(why)) => unproven(why),
                Err(BenchError::Broken(why)) => {
                    interrupt::check()?;
                    unproven(why);
                }
            }
        }
    }
    let results = Results {
        format: FORMAT,
        tool: env!("CARGO_PKG_VERSION").to_owned(),
        machine,
        outcomes,
    };
    report(&results, shell);
    Ok(results)
}

/// One line of `--format json`; documented in `docs/commands.md`.
#[derive(Serialize)]
struct Line<'a> {
    package: &'a str,
    kernel: &'a str,
    target: String,
    outcome: &'static str,
    reason: Option<String>,
    reference_ns: Option<f64>,
    best_ns: Option<f64>,
    speedup: Option<f64>,
    ci95: Option<(f64, f64)>,
    roof_fraction: Option<f64>,
    bottleneck: Option<&'a str>,
    submit_ns: Option<f64>,
    candidates: u64,
    seconds: f64,
}

fn report(results: &Results, shell: &Shell) {
    let mut table = Table::new(&[
        "kernel",
        "target",
        "size",
        "reference (CPU, 1 thread)",
        "GPU",
        "speedup",
        "roof",
        "outcome",
    ]);
    for outcome in &results.outcomes {
        let Ok(device) = outcome.artefact() else {
            continue;
        };
        let first = outcome.times.first();
        let speedup = |times: &crate::cuda::results::Times| times.reference_ns / times.best_ns;
        shell.json(&Line {
            package: &outcome.package,
            kernel: &outcome.kernel,
            target: device.arch.to_string(),
            outcome: device.outcome.name(),
            reason: device.reason.clone(),
            reference_ns: first.map(|times| times.reference_ns),
            best_ns: first.map(|times| times.best_ns),
            speedup: first.map(speedup),
            ci95: first.map(|times| times.ci95),
            roof_fraction: first.and_then(|times| times.roof_fraction),
            bottleneck: first.and_then(|times| times.bottleneck.as_deref()),
            submit_ns: first.map(|times| times.submit_ns),
            candidates: outcome.candidates,
            seconds: outcome.seconds,
        });
        for times in &outcome.times {
            table.row([
                outcome.kernel.clone(),
                device.arch.to_string(),
                times.tune.clone(),
                report::time(times.reference_ns),
                report::time(times.best_ns),
                format!("{:.1}x", speedup(times)),
                times
                    .roof_fraction
                    .map_or_else(|| "-".to_owned(), report::percent),
                device.outcome.name().to_owned(),
            ]);
        }
        if outcome.times.is_empty() {
            let reason = device.reason.unwrap_or_default();
            let dash = || "-".to_owned();
            table.row([
                outcome.kernel.clone(),
                device.arch.to_string(),
                dash(),
                dash(),
                dash(),
                dash(),
                dash(),
                format!("{}: {reason}", device.outcome.name()),
            ]);
        }
    }
    if !table.is_empty() {
        shell.human(&table);
    }
}

fn conclude(results: &Results) -> CommandResult {
    let proven = |outcome: &Outcome| {
        outcome
            .artefact()
            .is_ok_and(|device| device.outcome == TargetOutcome::Tuned)
    };
    if results.outcomes.iter().any(proven) {
        return Ok(ExitCode::Ok);
    }
    Err(Failure::NothingProven(Box::new(
        Diagnostic::error("the search ended with nothing proven")
            .help("the results file says what was tried and what was wrong with it"),
    )))
}
