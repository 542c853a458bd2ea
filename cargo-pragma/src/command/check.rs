//! `cargo pragma check`: for CI. Do functions and kernels still belong together, and are the kernels right?
//!
//! Owns the order of checks and the exit code: files first, then the compiler, then proving again what this machine can
//! run. Works offline. What was proven before with the same everything is not proven again.

use std::collections::BTreeSet;
use std::path::Path;

use pragma_spec::{KernelId, Target, TargetOutcome, text_sha256};
use serde::Serialize;

use super::project::{Loaded, Project};
use super::tune::rustc_version;
use crate::cli::args::CheckArgs;
use crate::cli::exit::{CommandResult, ExitCode, Failure};
use crate::cli::shell::Shell;
use crate::diagnostic::Diagnostic;
use crate::discover::{self, KernelSource};
use crate::machine;
use crate::report::Table;
use crate::tune::lifting::{Lifter, dependencies};
use crate::tune::workshop::{Workshop, seed};
use crate::tune::{Depth, Evaluator, Judgement, canonical, interrupt};
use crate::vendor::KernelState;

/// One line of `--format json`; documented in `docs/commands.md`.
#[derive(Debug, Serialize)]
struct Line {
    package: String,
    /// `null` for findings about the package as a whole.
    kernel: Option<String>,
    /// `null` for findings that concern no one target.
    target: Option<String>,
    /// `ok`, `untuned`, `stale`, `dependencies-changed`, `damaged`, `orphan`, `not-run`, `unverified`.
    status: &'static str,
    detail: Option<String>,
}

/// Runs the command.
///
/// # Errors
/// Drift, a kernel that fails verification, or a crate that does not build, each with its exit code.
pub fn run(args: &CheckArgs, shell: &Shell) -> CommandResult {
    let project = Project::load(&args.common, shell)?;
    let mut check = Check {
        args,
        shell,
        project: &project,
        lines: Vec::new(),
        drifted: 0,
        wrong: 0,
    };
    let mut good = Vec::new();
    for loaded in &project.packages {
        good.push(check.files(loaded));
    }
    // With damaged files the macro reports errors, which would hide what is wrong behind a crate that does not build.
    let damaged = project
        .packages
        .iter()
        .any(|loaded| loaded.problems().next().is_some());
    if !damaged || check.drifted == 0 {
        for loaded in &project.packages {
            if loaded.source.kernels.is_empty() {
                continue;
            }
            if let Err(failure) = discover::check(&loaded.source.package, &args.common, None) {
                check.print();
                return Err(failure);
            }
        }
        if !args.no_run {
            let loaded_good: Vec<(&Loaded, Vec<Verifiable<'_>>)> =
                project.packages.iter().zip(good).collect();
            check.prove(loaded_good)?;
        }
    }
    check.print();
    check.conclude()
}

/// A fresh kernel with a target that this machine can run.
struct Verifiable<'a> {
    kernel: &'a KernelSource,
    target: Target,
    lifted: std::rc::Rc<pragma_synth::lift::Lifted>,
}

struct Check<'a> {
    args: &'a CheckArgs,
    shell: &'a Shell,
    project: &'a Project,
    lines: Vec<Line>,
    drifted: usize,
    wrong: usize,
}

impl<'a> Check<'a> {
    fn say(
        &mut self,
        package: &str,
        kernel: Option<&KernelId>,
        target: Option<Target>,
        status: &'static str,
        detail: Option<String>,
    ) {
        self.lines.push(Line {
            package: package.to_owned(),
            kernel: kernel.map(ToString::to_string),
            target: target.map(|target| target.name().to_owned()),
            status,
            detail,
        });
    }

    fn drift(&mut self, diagnostic: &Diagnostic) {
        self.drifted += 1;
        self.shell.diagnostic(diagnostic);
    }

    /// Compares sources with what is vendored. Returns what is worth proving again.
    fn files(&mut self, loaded: &'a Loaded) -> Vec<Verifiable<'a>> {
        let package = &loaded.source.package;
        for problem in loaded.problems() {
            self.drift(
                &Diagnostic::error(format!("package `{}`: {problem}", package.name))
                    .help(problem.help()),
            );
            self.say(
                &package.name,
                problem.kernel(),
                None,
                "damaged",
                Some(problem.to_string()),
            );
        }
        for id in &loaded.states.orphans {
            self.drift(
                &Diagnostic::error(format!("package `{}`: the function of the kernel `{id}` is gone", package.name))
                    .help("`cargo pragma clean` removes the kernel; if the function was renamed, `cargo pragma tune` makes new ones"),
            );
            self.say(&package.name, Some(id), None, "orphan", None);
        }
        let project = self.project;
        let lifter = Lifter::new(&project.workspace, &loaded.source);
        let mut good = Vec::new();
        for (kernel, state) in loaded.source.kernels.iter().zip(&loaded.states.kernels) {
            if loaded
                .source
                .crates
                .get(kernel.krate)
                .is_some_and(|krate| krate.forbids_unsafe)
            {
                self.shell.diagnostic(
                    &Diagnostic::warning(format!(
                        "`{}` cannot have kernels: its crate forbids `unsafe_code`",
                        kernel.name()
                    ))
                    .at(kernel.location("the function runs as it is written"))
                    .help("use `deny(unsafe_code)`, which generated code may allow for itself"),
                );
            }
            match state {
                KernelState::Untuned => {
                    self.shell.diagnostic(
                        &Diagnostic::warning(format!("`{}` has no kernels yet", kernel.name()))
                            .at(kernel.location("the function runs as it is written"))
                            .help(format!("run `cargo pragma tune {}`", kernel.id)),
                    );
                    self.say(&package.name, Some(&kernel.id), None, "untuned", None);
                }
                // Reported above, with what is wrong.
                KernelState::Damaged => {}
                KernelState::Stale => self.stale(loaded, kernel),
                KernelState::Fresh => good.extend(self.fresh(loaded, kernel, &lifter)),
            }
        }
        good
    }

    fn stale(&mut self, loaded: &Loaded, kernel: &KernelSource) {
        let recorded = loaded
            .vendored
            .index
            .kernels
            .iter()
            .find(|entry| entry.kernel == kernel.id);
        let old = recorded.and_then(|entry| {
            canonical::recall(&self.project.workspace.private_dir(), &entry.fingerprint)
                .or_else(|| canonical::from_git(kernel, &entry.fingerprint))
        });
        let mut diagnostic = Diagnostic::error(format!(
            "`{}` has changed since its kernels were made",
            kernel.name()
        ))
        .at(kernel.location("its kernels are for an earlier version; the reference runs"));
        let detail = old.map(|old| canonical::diff(&old, &canonical::function(kernel)).join("\n"));
        match &detail {
            Some(diff) => diagnostic = diagnostic.note(format!("what changed:\n{diff}")),
            None => {
                diagnostic = diagnostic
                    .note("the earlier version is neither on this machine nor in the last commits")
            }
        }
        self.drift(&diagnostic.help(format!(
            "run `cargo pragma tune {}` and commit `pragma/`",
            kernel.id
        )));
        self.say(
            &loaded.source.package.name,
            Some(&kernel.id),
            None,
            "stale",
            detail,
        );
    }

    fn fresh(
        &mut self,
        loaded: &'a Loaded,
        kernel: &'a KernelSource,
        lifter: &Lifter<'_>,
    ) -> Vec<Verifiable<'a>> {
        let package = &loaded.source.package.name;
        let Some(vendored) = loaded.vendored.kernels.get(&kernel.id) else {
            return Vec::new();
        };
        let help = format!("run `cargo pragma tune {}` and commit `pragma/`", kernel.id);
        let lifted = match lifter.lift(kernel) {
            Ok(lifted) => lifted,
            Err(refusal) => {
                let reason = refusal.message.clone();
                self.drift(&refusal.note("something that the function uses has changed since its kernels were made").help(help));
                self.say(
                    package,
                    Some(&kernel.id),
                    None,
                    "dependencies-changed",
                    Some(reason),
                );
                return Vec::new();
            }
        };
        let recorded = &vendored.manifest.dependencies;
        if dependencies(&lifted) != *recorded {
            let old = canonical::recall(&self.project.workspace.private_dir(), recorded);
            let detail = match old {
                Some(old) => canonical::diff(&old, &canonical::helpers(&lifted)).join("\n"),
                None => {
                    let paths: Vec<&str> = lifted
                        .dependencies
                        .iter()
                        .map(|(path, _)| path.as_str())
                        .collect();
                    format!(
                        "one of {}",
                        if paths.is_empty() {
                            "those it used before".to_owned()
                        } else {
                            paths.join(", ")
                        }
                    )
                }
            };
            self.drift(
                &Diagnostic::error(format!(
                    "what `{}` uses has changed since its kernels were made",
                    kernel.name()
                ))
                .at(kernel.location("its kernels compute with the earlier version"))
                .note(format!("what changed:\n{detail}"))
                .help(help),
            );
            self.say(
                package,
                Some(&kernel.id),
                None,
                "dependencies-changed",
                Some(detail),
            );
            return Vec::new();
        }
        let lifted = std::rc::Rc::new(lifted);
        let here = machine::targets();
        let mut good = Vec::new();
        for artefact in &vendored.manifest.artefacts {
            let status = match artefact.outcome {
                TargetOutcome::Tuned if here.contains(&artefact.target) && !self.args.no_run => {
                    good.push(Verifiable {
                        kernel,
                        target: artefact.target,
                        lifted: std::rc::Rc::clone(&lifted),
                    });
                    continue;
                }
                TargetOutcome::Tuned => "not-run",
                TargetOutcome::ReferenceFastest | TargetOutcome::Unproven => "ok",
            };
            let detail = (status == "not-run" && !self.args.no_run)
                .then(|| "this machine cannot run it".to_owned());
            self.say(
                package,
                Some(&kernel.id),
                Some(artefact.target),
                status,
                detail,
            );
        }
        good
    }

    /// Verifies kernels on this machine, except those that were verified before with the same everything.
    fn prove(&mut self, packages: Vec<(&'a Loaded, Vec<Verifiable<'a>>)>) -> Result<(), Failure> {
        let private = self.project.workspace.private_dir();
        let cache = private.join("verified");
        let rustc = rustc_version();
        let mut workshop = Workshop::open(
            &self.project.workspace,
            &self.args.common,
            None,
            self.args.confinement.into(),
        )?;
        interrupt::install();
        for (loaded, kernels) in packages {
            for one in &kernels {
                interrupt::check()?;
                let file = loaded
                    .vendored
                    .kernels
                    .get(&one.kernel.id)
                    .and_then(|vendored| vendored.files.get(one.target.file_name()));
                let Some(text) = file else { continue };
                let stamp = cache.join(self.stamp(loaded, one, text, &rustc));
                let package = loaded.source.package.name.clone();
                if stamp.exists() {
                    self.say(&package, Some(&one.kernel.id), Some(one.target), "ok", None);
                    continue;
                }
                self.shell
                    .status("Verifying", format!("{} for {}", one.kernel.id, one.target));
                match self.verify(&mut workshop, loaded, one, text)? {
                    None => {
                        self.say(&package, Some(&one.kernel.id), Some(one.target), "ok", None);
                        remember(&stamp);
                    }
                    Some(reason) => {
                        self.wrong += 1;
                        self.shell.diagnostic(
                            &Diagnostic::error(format!(
                                "the vendored kernel `{}` for {} fails verification on this machine",
                                one.kernel.id, one.target
                            ))
                            .at(one.kernel.location("this function is what it must compute"))
                            .note(&reason)
                            .help(format!("run `cargo pragma tune {}` for a new one; please report the old one", one.kernel.id)),
                        );
                        self.say(
                            &package,
                            Some(&one.kernel.id),
                            Some(one.target),
                            "unverified",
                            Some(reason),
                        );
                    }
                }
            }
        }
        Ok(())
    }

    /// A name for everything that a verification depends on.
    fn stamp(&self, loaded: &Loaded, one: &Verifiable<'_>, text: &str, rustc: &str) -> String {
        let package = &loaded.source.package;
        let manifest = std::fs::read_to_string(&package.manifest_path).unwrap_or_default();
        let lock = std::fs::read_to_string(self.project.workspace.root.join("Cargo.lock"))
            .unwrap_or_default();
        let common = &self.args.common;
        text_sha256(&format!(
            "{} {} {} {text} {rustc} {} {manifest} {lock} {:?} {} {} {}",
            env!("CARGO_PKG_VERSION"),
            one.kernel.fingerprint,
            dependencies(&one.lifted),
            machine::description(),
            common.features,
            common.all_features,
            common.no_default_features,
            common.profile,
        ))
    }

    /// Why the kernel is not what it should be, if it is not.
    fn verify(
        &self,
        workshop: &mut Workshop<'_>,
        loaded: &Loaded,
        one: &Verifiable<'_>,
        text: &str,
    ) -> Result<Option<String>, Failure> {
        let tunes = one
            .kernel
            .attribute
            .as_ref()
            .map(|attribute| attribute.tunes.clone())
            .unwrap_or_default();
        let bench = workshop.bench(
            &loaded.source,
            one.kernel,
            &one.lifted,
            tunes,
            seed(one.kernel),
        )?;
        let mut bench = match bench {
            Ok(bench) => bench,
            Err(error) => return Ok(Some(error.to_string())),
        };
        if let Err(error) = bench.self_test() {
            return Ok(Some(error.to_string()));
        }
        let entries: BTreeSet<&str> = loaded
            .vendored
            .kernels
            .get(&one.kernel.id)
            .and_then(|vendored| vendored.manifest.artefact(one.target))
            .into_iter()
            .flat_map(|artefact| &artefact.variants)
            .map(|variant| variant.entry.as_str())
            .filter(|entry| *entry != "reference")
            .collect();
        for entry in entries {
            interrupt::check()?;
            match bench.judge(text, entry, Depth::Full) {
                Judgement::Proven(..) => {}
                Judgement::Wrong(why, _) | Judgement::Unproven(why) => {
                    return Ok(Some(format!("`{entry}`: {why}")));
                }
                Judgement::DoesNotBuild(why) => {
                    return Ok(Some(format!(
                        "`{entry}` does not compile: {}",
                        why.lines().next().unwrap_or("")
                    )));
                }
            }
        }
        Ok(None)
    }

    fn print(&self) {
        let mut table = Table::new(&["kernel", "target", "status"]);
        let several = self.project.packages.len() > 1;
        for line in &self.lines {
            self.shell.json(line);
            let name = line.kernel.clone().unwrap_or_else(|| "-".to_owned());
            let name = if several {
                format!("{}: {name}", line.package)
            } else {
                name
            };
            table.row([
                name,
                line.target.clone().unwrap_or_else(|| "-".to_owned()),
                line.status.to_owned(),
            ]);
        }
        if !table.is_empty() {
            self.shell.human(&table);
        }
    }

    fn conclude(&self) -> CommandResult {
        let count = |n: usize, what: &str| {
            if n == 1 {
                format!("1 {what}")
            } else {
                format!("{n} {what}s")
            }
        };
        if self.wrong > 0 {
            return Err(Failure::Unverified(Box::new(Diagnostic::error(format!(
                "{} not compute what its function computes",
                if self.wrong == 1 {
                    "1 vendored kernel does".to_owned()
                } else {
                    format!("{} vendored kernels do", self.wrong)
                }
            )))));
        }
        if self.drifted > 0 {
            return Err(Failure::Drift(Box::new(Diagnostic::error(format!(
                "functions and kernels have drifted apart: {}",
                count(self.drifted, "finding")
            )))));
        }
        Ok(ExitCode::Ok)
    }
}

/// Notes a success. Failing to costs time later, nothing else.
fn remember(stamp: &Path) {
    if let Some(dir) = stamp.parent() {
        let _ = std::fs::create_dir_all(dir).and_then(|()| std::fs::write(stamp, ""));
    }
}
