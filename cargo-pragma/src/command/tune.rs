//! `cargo pragma tune`: the main job.
//!
//! Owns what is searched and what is printed; `preflight` checks the flags and the packages before anything is built. The
//! work is `tune`'s, the writing `vendor`'s. Nothing is written into a package before every search is over.

mod device;
mod preflight;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use pragma_spec::{Target, TuneSize};
use pragma_synth::conduct::Machine;
use pragma_synth::lift::Lifted;

use preflight::{budget, engines, known_engines, prepare, targets};

use super::project::Project;
use crate::cli::args::TuneArgs;
use crate::cli::budget::Budget;
use crate::cli::exit::{CommandResult, ExitCode, Failure};
use crate::cli::shell::Shell;
use crate::diagnostic::Diagnostic;
use crate::discover::{self, KernelSource};
use crate::history::{History, RunId, SearchKey};
use crate::machine;
use crate::process;
use crate::report::Table;
use crate::tune::engines::Engines;
use crate::tune::kernel::{self, Job, TargetResult};
use crate::tune::lifting::{Lifter, dependencies};
use crate::tune::outcome::{HEADS, Line};
use crate::tune::package;
use crate::tune::progress::Progress;
use crate::tune::sizes::{Size, sizes};
use crate::tune::taped::Taped;
use crate::tune::workshop::{Workshop, seed};
use crate::tune::{Account, canonical, ceilings, interrupt};
use crate::vendor::{self, KernelFiles, KernelState, Measurements};
use crate::verify::BenchError;

/// Runs the command.
///
/// # Errors
/// See the exit codes.
pub fn run(args: &TuneArgs, shell: &Shell) -> CommandResult {
    if let Some(bundle) = &args.bundle {
        return device::bundled(args, bundle, shell);
    }
    let named = known_engines(&args.engine)?;
    let project = Project::load(&args.common, shell)?;
    let words = preflight::words(args, &project);
    if let Some(archs) = device::only_devices(&words)? {
        return device::here(args, &project, &archs, shell);
    }
    let targets = targets(&words)?;
    let chosen = project.choose(&args.kernels)?;
    if chosen.is_empty() {
        shell.diagnostic(
            &Diagnostic::remark("no function is marked with `#[pragma_kernel]`")
                .help("write `use pragma_runtime::pragma_kernel;` and `#[pragma_kernel]` over a hot function"),
        );
        return Ok(ExitCode::Ok);
    }
    let private = project.workspace.private_dir();
    prepare(&project, &chosen, args, &private, shell)?;
    let _lock = super::lock::take(&private)?;
    interrupt::install();
    let engines = engines(&named, args, &project)?;
    let mut run = Run::open(args, shell, &project, targets, engines, &private)?;
    let plan = run.plan(&chosen)?;
    run.search(plan)?;
    run.finish()
}

/// One kernel to be searched.
struct Planned {
    at: (usize, usize),
    lifted: Lifted,
    sizes: Vec<Size>,
    targets: Vec<Target>,
}

/// A run of the command.
struct Run<'a> {
    args: &'a TuneArgs,
    shell: &'a Shell,
    project: &'a Project,
    targets: Vec<Target>,
    engines: Engines,
    history: History,
    id: RunId,
    workshop: Workshop<'a>,
    budget: Budget,
    private: &'a Path,
    lines: Vec<Line>,
    /// What is to be vendored once all searches are over.
    winners: Vec<(usize, KernelFiles)>,
    budget_ended: bool,
}

impl<'a> Run<'a> {
    fn open(
        args: &'a TuneArgs,
        shell: &'a Shell,
        project: &'a Project,
        targets: Vec<Target>,
        engines: Engines,
        private: &'a Path,
    ) -> Result<Self, Failure> {
        let (history, warnings) = History::open(private).map_err(|error| {
            Failure::environment(
                error,
                "another process may hold it; `cargo pragma clean --all` starts afresh",
            )
        })?;
        for warning in &warnings {
            shell.diagnostic(warning);
        }
        let command = std::env::args().skip(1).collect::<Vec<_>>().join(" ");
        let id = history
            .begin_run(&machine::description(), &command)
            .map_err(|error| Failure::Internal(error.into()))?;
        Ok(Run {
            workshop: Workshop::open(
                &project.workspace,
                &args.common,
                args.jobs.map(usize::from),
                args.confinement.into(),
            )?,
            budget: budget(args, project)?,
            args,
            shell,
            project,
            targets,
            engines,
            history,
            id,
            private,
            lines: Vec::new(),
            winners: Vec::new(),
            budget_ended: false,
        })
    }

    fn say(&mut self, line: Line) {
        self.shell.json(&line);
        self.lines.push(line);
    }

    /// Decides what is searched; says what is not, and why.
    fn plan(&mut self, chosen: &[(usize, usize)]) -> Result<Vec<Planned>, Failure> {
        let project = self.project;
        let mut lifters: BTreeMap<usize, Lifter<'_>> = BTreeMap::new();
        let mut planned = Vec::new();
        let mut fresh = 0;
        let mut compiles: BTreeSet<usize> = BTreeSet::new();
        for &at in chosen {
            let (loaded, kernel) = project.kernel(at);
            let lifter = lifters
                .entry(at.0)
                .or_insert_with(|| Lifter::new(&project.workspace, &loaded.source));
            let targets = self.targets.clone();
            let give_up = |run: &mut Self, outcome, diagnostic: &Diagnostic| {
                run.shell.diagnostic(diagnostic);
                for &target in &targets {
                    let reason = diagnostic.message.clone();
                    run.say(Line::without_search(
                        &kernel.package,
                        kernel.id.as_str(),
                        target,
                        outcome,
                        reason,
                    ));
                }
            };
            if loaded
                .source
                .crates
                .get(kernel.krate)
                .is_some_and(|krate| krate.forbids_unsafe)
            {
                give_up(self, "failed", &forbidden(kernel));
                continue;
            }
            let attribute = kernel.attribute.as_ref().ok();
            if attribute.is_some_and(|attribute| !attribute.targets.cpu) {
                let diagnostic = Diagnostic::warning(format!(
                    "`{}` asks for GPU kernels only, which are not in this version",
                    kernel.name()
                ))
                .at(kernel.location(""));
                give_up(self, "failed", &diagnostic);
                continue;
            }
            let lifted = match lifter.lift(kernel) {
                Ok(lifted) => lifted,
                Err(refusal) => {
                    // What rustc refuses as well is an error of the crate, and rustc says it better.
                    if compiles.insert(at.0) {
                        discover::check(&loaded.source.package, &self.args.common, None)?;
                    }
                    let refusal = refusal
                        .note("the function runs as it is written")
                        .as_warning();
                    give_up(self, "unliftable", &refusal);
                    continue;
                }
            };
            for note in &lifted.notes {
                self.shell
                    .diagnostic(&Diagnostic::remark(format!("`{}`: {note}", kernel.name())));
            }
            let missing = self.missing_targets(at, &lifted);
            // Kernels that came with the crate were tuned elsewhere; what is best here is not known yet.
            let foreign = !self.searched_here(kernel);
            let named = !self.args.kernels.is_empty() || self.args.force || foreign;
            if missing.is_empty() && !named {
                fresh += 1;
                continue;
            }
            let (Some(attribute), Ok(signature)) = (attribute, &kernel.signature) else {
                continue;
            };
            match sizes(attribute, signature, &lifted.program, &lifted.shapes) {
                Ok(sizes) if sizes.is_empty() => {
                    let diagnostic = Diagnostic::warning(format!(
                        "`{}` has no sizes that it could be tuned for",
                        kernel.name()
                    ))
                    .at(kernel.location(""))
                    .help(
                        "write one in the attribute: `tune(..)` with a value for every dimension",
                    );
                    give_up(self, "failed", &diagnostic);
                }
                Ok(sizes) => {
                    let targets = if named { self.targets.clone() } else { missing };
                    planned.push(Planned {
                        at,
                        lifted,
                        sizes,
                        targets,
                    });
                }
                Err(error) => {
                    give_up(
                        self,
                        "failed",
                        &Diagnostic::warning(error).at(kernel.location("")),
                    );
                }
            }
        }
        if fresh > 0 {
            let kernels = if fresh == 1 {
                "1 kernel is".to_owned()
            } else {
                format!("{fresh} kernels are")
            };
            self.shell.status(
                "Fresh",
                format!("{kernels} up to date; name a kernel or use --force to tune it again"),
            );
        }
        Ok(planned)
    }

    /// Whether this function was tuned on this machine, as far as the history goes back.
    fn searched_here(&self, kernel: &KernelSource) -> bool {
        let fingerprint = kernel.fingerprint.to_string();
        self.history
            .searches(&kernel.package, kernel.id.as_str(), 8)
            .is_ok_and(|searches| {
                searches
                    .iter()
                    .any(|search| search.fingerprint == fingerprint)
            })
    }

    /// Targets for which the kernel has nothing that still holds.
    fn missing_targets(&self, at: (usize, usize), lifted: &Lifted) -> Vec<Target> {
        let (loaded, kernel) = self.project.kernel(at);
        let fresh = loaded.states.kernels[at.1] == KernelState::Fresh
            && loaded.vendored.dependencies(&kernel.id) == Some(&dependencies(lifted));
        let has = |target: Target| {
            fresh
                && loaded
                    .vendored
                    .kernels
                    .get(&kernel.id)
                    .is_some_and(|vendored| vendored.manifest.artefact(target).is_some())
        };
        self.targets
            .iter()
            .copied()
            .filter(|target| !has(*target))
            .collect()
    }

    fn search(&mut self, plan: Vec<Planned>) -> Result<(), Failure> {
        let Some(first) = plan.first() else {
            return Ok(());
        };
        let per_size = self.engines.count();
        let searches = |one: &Planned| one.sizes.len() * one.targets.len() * per_size;
        let total: usize = plan.iter().map(searches).sum();
        let mut progress = Progress::start(self.shell, total);
        // Building the package and measuring the machine is not searching: the account opens afterwards.
        for one in &plan {
            let (loaded, kernel) = self.project.kernel(one.at);
            if !self.workshop.has_harness(&loaded.source, kernel.krate) {
                let name = &loaded.source.package.name;
                progress.step("Building", &format!("{name} and its references"));
            }
            interrupt::check()?;
            if let Err(failure) = self.workshop.harness(&loaded.source, kernel.krate) {
                interrupt::check()?;
                return Err(failure);
            }
        }
        progress.step("Measuring", "this machine's ceilings");
        let machines = self.machines(first)?;
        let mut account = Account::open(&self.budget, self.engines.per_kernel(), plan.len(), total);
        for one in &plan {
            let count = searches(one);
            let lines = self.search_one(one, &mut account, &machines, &progress)?;
            for line in lines {
                progress.suspend(|| self.shell.json(&line));
                self.lines.push(line);
            }
            progress.finish(count);
        }
        Ok(())
    }

    /// The machine's ceilings for every target; any harness will do to measure them.
    fn machines(&mut self, any: &Planned) -> Result<BTreeMap<Target, Machine>, Failure> {
        let (loaded, kernel) = self.project.kernel(any.at);
        let measured = self.workshop.ceilings(&loaded.source, kernel.krate)?;
        let machine = |target: &Target| {
            (
                *target,
                ceilings::machine(&measured, *target, machine::cores()),
            )
        };
        Ok(self.targets.iter().map(machine).collect())
    }

    fn search_one(
        &mut self,
        one: &Planned,
        account: &mut Account,
        machines: &BTreeMap<Target, Machine>,
        progress: &Progress<'_>,
    ) -> Result<Vec<Line>, Failure> {
        let (loaded, kernel) = self.project.kernel(one.at);
        let searches = one.sizes.len() * one.targets.len() * self.engines.count();
        let failed = |outcome: &'static str, reason: &str| -> Vec<Line> {
            let line = |target: &Target| {
                Line::without_search(
                    &kernel.package,
                    kernel.id.as_str(),
                    *target,
                    outcome,
                    reason.to_owned(),
                )
            };
            one.targets.iter().map(line).collect()
        };
        progress.step("Testing", &format!("the judge of {}", kernel.id));
        interrupt::check()?;
        let tunes: Vec<TuneSize> = one.sizes.iter().map(|size| size.tune.clone()).collect();
        let bench =
            self.workshop
                .bench(&loaded.source, kernel, &one.lifted, tunes, seed(kernel))?;
        let tested = bench.and_then(|mut bench| bench.self_test().map(|_| bench));
        let mut bench = match tested {
            Ok(bench) => bench,
            Err(BenchError::Unprovable(reason)) => {
                account.skip(searches);
                return Ok(failed("unproven", &reason));
            }
            Err(error @ BenchError::Broken(_)) => {
                account.skip(searches);
                return Ok(failed("failed", &error.to_string()));
            }
        };
        let depends = dependencies(&one.lifted);
        canonical::remember(self.private, kernel, &one.lifted);
        let build = format!("{} {}", bench.build_key(), self.args.common.profile);
        let key = |target: Target| SearchKey {
            fingerprint: kernel.fingerprint.to_string(),
            dependencies: depends.to_string(),
            target: target.name().to_owned(),
            machine: machine::description(),
            tool: env!("CARGO_PKG_VERSION").to_owned(),
            build: build.clone(),
        };
        let roofs = |target: Target| {
            machines
                .get(&target)
                .cloned()
                .unwrap_or_else(ceilings::unknown)
        };
        let still = loaded.states.kernels[one.at.1] == KernelState::Fresh
            && loaded.vendored.dependencies(&kernel.id) == Some(&depends);
        let previous = loaded.vendored.kernels.get(&kernel.id).filter(|_| still);
        let Ok(attribute) = &kernel.attribute else {
            return Ok(Vec::new());
        };
        let job = Job {
            kernel,
            attribute,
            lifted: &one.lifted,
            sizes: &one.sizes,
            targets: &one.targets,
            threads: machine::cores(),
            seed: seed(kernel),
            machine: &roofs,
            key: &key,
            history: &self.history,
            run: self.id,
            resume: self.args.resume,
            previous,
            engines: &self.engines,
        };
        let mut taped = Taped {
            inner: &mut bench,
            tape: &self.engines.tape,
        };
        let results: Vec<TargetResult> = kernel::tune(&job, &mut taped, account, &mut |news| {
            progress.news(kernel.id.as_str(), news)
        })?;
        self.budget_ended |= results.iter().any(|result| result.budget_ended);
        let dir = loaded.source.package.pragma_dir();
        let previous = previous.map(|vendored| (vendored, Measurements::read(&dir, &kernel.id)));
        let files = package::package(
            kernel,
            &one.lifted,
            depends,
            &results,
            previous,
            &machine::description(),
        );
        if let Some(files) = files {
            self.winners.push((one.at.0, files));
        }
        Ok(results
            .iter()
            .map(|result| Line::of(&kernel.package, kernel.id.as_str(), result))
            .collect())
    }

    fn finish(mut self) -> CommandResult {
        interrupt::check()?;
        let winners = std::mem::take(&mut self.winners);
        if !self.args.dry_run {
            for (package, files) in &winners {
                let dir = self.project.packages[*package].source.package.pragma_dir();
                vendor::store(&dir, files).map_err(|error| {
                    Failure::environment(
                        error,
                        "make the package writable and run again with `--resume`",
                    )
                })?;
            }
        }
        let several = self.project.packages.len() > 1;
        let mut table = Table::new(&HEADS);
        for line in &self.lines {
            let name = if several {
                format!("{}: {}", line.package, line.kernel)
            } else {
                line.kernel.clone()
            };
            line.rows(&name).into_iter().for_each(|row| table.row(row));
        }
        if !table.is_empty() {
            self.shell.human(&table);
        }
        self.report_vendored(winners.len());
        let searched = self
            .lines
            .iter()
            .filter(|line| line.outcome != "unliftable" && line.outcome != "failed");
        let proven = self.lines.iter().any(Line::is_proven);
        if searched.count() > 0 && !proven {
            let why = if self.budget_ended {
                "the budget ended"
            } else {
                "the search ended"
            };
            return Err(Failure::NothingProven(Box::new(
                Diagnostic::error(format!("{why} with nothing proven"))
                    .help("`cargo pragma explain KERNEL` shows what was tried; a larger `--budget` tries more"),
            )));
        }
        Ok(ExitCode::Ok)
    }

    fn report_vendored(&self, count: usize) {
        if count == 0 {
            return;
        }
        let kernels = if count == 1 {
            "1 kernel".to_owned()
        } else {
            format!("{count} kernels")
        };
        if self.args.dry_run {
            self.shell
                .status("Dry run", format!("{kernels} would be vendored"));
        } else {
            self.shell.status(
                "Vendored",
                format!("{kernels}; review and commit `pragma/`"),
            );
        }
    }
}

fn forbidden(kernel: &KernelSource) -> Diagnostic {
    Diagnostic::warning(format!("`{}` cannot have kernels: its crate forbids `unsafe_code`", kernel.name()))
        .at(kernel.location("the function runs as it is written"))
        .note("kernels use SIMD intrinsics, which need `unsafe`; nothing can lift a `forbid`")
        .help("use `deny(unsafe_code)`, which generated code may allow for itself, or move the function to another crate")
}

/// The compiler's version, which is part of what results depend on.
pub fn rustc_version() -> String {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    process::first_line(rustc, &["-V"], None).unwrap_or_default()
}
