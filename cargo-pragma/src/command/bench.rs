//! `cargo pragma bench`: the reference against the vendored kernels on this machine.
//!
//! Our own paired sampler: reference and kernel run in turns in one worker, so that what slows one slows both. A kernel
//! is verified before it is timed. Writes nothing.

use pragma_spec::{TargetOutcome, TuneSize};
use serde::Serialize;

use super::project::{Loaded, Project};
use crate::cli::args::BenchArgs;
use crate::cli::exit::{CommandResult, ExitCode, Failure};
use crate::cli::shell::Shell;
use crate::diagnostic::Diagnostic;
use crate::discover::KernelSource;
use crate::machine;
use crate::report::{self, Table};
use crate::tune::bench::BenchEvaluator;
use crate::tune::lifting::Lifter;
use crate::tune::sizes::{Size, sizes};
use crate::tune::workshop::{Workshop, seed};
use crate::tune::{Depth, Effort, Evaluator, Judgement, interrupt};
use crate::vendor::KernelState;

/// One line of `--format json`; documented in `docs/commands.md`.
#[derive(Debug, Serialize)]
struct Line {
    package: String,
    kernel: String,
    target: &'static str,
    tune: String,
    entry: String,
    threads: u32,
    reference_ns: f64,
    kernel_ns: f64,
    speedup: f64,
    ci95: (f64, f64),
}

/// Runs the command.
///
/// # Errors
/// If a kernel fails verification, the crate does not build, or there is nothing to time.
pub fn run(args: &BenchArgs, shell: &Shell) -> CommandResult {
    let project = Project::load(&args.common, shell)?;
    let chosen: Vec<(usize, usize)> = project
        .choose(&args.kernels)?
        .into_iter()
        .filter(|(package, kernel)| {
            let loaded = &project.packages[*package];
            let fresh = loaded.states.kernels[*kernel] == KernelState::Fresh;
            if !fresh && !args.kernels.is_empty() {
                let id = &loaded.source.kernels[*kernel].id;
                shell.diagnostic(
                    &Diagnostic::warning(format!(
                        "`{id}` has no kernels for the function as it stands"
                    ))
                    .help(format!("run `cargo pragma tune {id}` first")),
                );
            }
            fresh
        })
        .collect();
    if chosen.is_empty() {
        shell.diagnostic(
            &Diagnostic::remark("there is nothing to time")
                .help("`cargo pragma tune` makes kernels"),
        );
        return Ok(ExitCode::Ok);
    }
    interrupt::install();
    let mut workshop = Workshop::open(
        &project.workspace,
        &args.common,
        None,
        args.confinement.into(),
    )?;
    let several = project.packages.len() > 1;
    let mut table = Table::new(&[
        "kernel",
        "target",
        "size",
        "threads",
        "reference",
        "kernel",
        "speedup [95% CI]",
    ]);
    for at in chosen {
        let (loaded, kernel) = project.kernel(at);
        let lifter = Lifter::new(&project.workspace, &loaded.source);
        for line in time(loaded, kernel, &lifter, &mut workshop, shell)? {
            shell.json(&line);
            let name = if several {
                format!("{}: {}", line.package, line.kernel)
            } else {
                line.kernel
            };
            table.row([
                name,
                line.target.to_owned(),
                line.tune,
                line.threads.to_string(),
                report::time(line.reference_ns),
                report::time(line.kernel_ns),
                report::speedup(line.speedup, line.ci95),
            ]);
        }
    }
    if !table.is_empty() {
        shell.human(&table);
    }
    Ok(ExitCode::Ok)
}

/// Every target of one kernel that this machine can run, at every size, with one thread and with all.
fn time(
    loaded: &Loaded,
    kernel: &KernelSource,
    lifter: &Lifter<'_>,
    workshop: &mut Workshop<'_>,
    shell: &Shell,
) -> Result<Vec<Line>, Failure> {
    let mut lines = Vec::new();
    let (Some(vendored), Ok(attribute), Ok(signature)) = (
        loaded.vendored.kernels.get(&kernel.id),
        &kernel.attribute,
        &kernel.signature,
    ) else {
        return Ok(lines);
    };
    let lifted = lifter.lift(kernel).map_err(Failure::Drift)?;
    let sizes = sizes(attribute, signature, &lifted.program, &lifted.shapes)
        .map_err(|error| Failure::usage(error, "fix the attribute"))?;
    let tunes: Vec<TuneSize> = sizes.iter().map(|size| size.tune.clone()).collect();
    shell.status("Timing", &kernel.id);
    let mut bench = workshop
        .bench(&loaded.source, kernel, &lifted, tunes, seed(kernel))?
        .map_err(|error| Failure::environment(error, "`cargo pragma check` says more"))?;
    let here = machine::targets();
    let most = attribute
        .threads
        .map_or_else(machine::cores, |most| machine::cores().min(most as usize));
    let mut counts = vec![1, most];
    counts.dedup();
    for artefact in &vendored.manifest.artefacts {
        let text = vendored.files.get(artefact.target.file_name());
        let (TargetOutcome::Tuned, true, Some(text)) =
            (artefact.outcome, here.contains(&artefact.target), text)
        else {
            continue;
        };
        for size in &sizes {
            // The variant that dispatch would take.
            let variant = artefact.variants.iter().find(|variant| {
                variant
                    .max_elements
                    .is_none_or(|bound| size.elements <= bound)
            });
            let Some(variant) = variant.filter(|variant| variant.entry != "reference") else {
                continue;
            };
            for &threads in &counts {
                interrupt::check()?;
                let timing = time_one(&mut bench, kernel, text, &variant.entry, size, threads)?;
                lines.push(Line {
                    package: kernel.package.clone(),
                    kernel: kernel.id.to_string(),
                    target: artefact.target.name(),
                    tune: size.tune.to_string(),
                    entry: variant.entry.clone(),
                    threads: timing.threads,
                    reference_ns: timing.reference_ns,
                    kernel_ns: timing.candidate_ns,
                    speedup: timing.speedup,
                    ci95: timing.ci95,
                });
            }
        }
    }
    Ok(lines)
}

fn time_one(
    bench: &mut BenchEvaluator,
    kernel: &KernelSource,
    text: &str,
    entry: &str,
    size: &Size,
    threads: usize,
) -> Result<crate::history::Timing, Failure> {
    let wrong = |why: String| {
        Failure::Unverified(Box::new(
            Diagnostic::error(format!(
                "the vendored kernel `{}` fails verification: {why}",
                kernel.id
            ))
            .help(format!(
                "run `cargo pragma tune {}` for a new one",
                kernel.id
            )),
        ))
    };
    match bench.judge(text, entry, Depth::Search) {
        Judgement::Proven(proven, _) => bench
            .time(&proven, None, &size.tune, threads, Effort::Final)
            .map_err(|why| {
                Failure::environment(format!("cannot time `{}`: {why}", kernel.id), "try again")
            }),
        Judgement::Wrong(why, _) | Judgement::Unproven(why) | Judgement::DoesNotBuild(why) => {
            Err(wrong(why))
        }
    }
}
