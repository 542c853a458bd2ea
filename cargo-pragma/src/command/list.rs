//! `cargo pragma list`: every kernel with its state.

use serde::Serialize;

use super::project::{Loaded, Project};
use crate::cli::args::ListArgs;
use crate::cli::exit::{CommandResult, ExitCode};
use crate::cli::shell::Shell;
use crate::diagnostic::Diagnostic;
use crate::report::{Table, ratio};
use crate::tune::lifting::Lifter;
use crate::vendor::{KernelState, Measurements};

/// One line of `--format json`; documented in `docs/commands.md`.
#[derive(Debug, Serialize)]
struct Line {
    package: String,
    kernel: String,
    state: &'static str,
    lifted: Option<bool>,
    reason: Option<String>,
    targets: Vec<&'static str>,
    speedup: Option<f64>,
    file: Option<String>,
    line: Option<usize>,
}

/// Runs the command.
///
/// # Errors
/// If the packages cannot be read.
pub fn run(args: &ListArgs, shell: &Shell) -> CommandResult {
    let project = Project::load(&args.common, shell)?;
    let several = project.packages.len() > 1;
    let mut table = Table::new(&["kernel", "state", "targets", "speedup", "where"]);
    for loaded in &project.packages {
        for line in lines(&project, loaded) {
            shell.json(&line);
            let name = if several {
                format!("{}: {}", line.package, line.kernel)
            } else {
                line.kernel
            };
            let place = line
                .file
                .zip(line.line)
                .map_or("-".to_owned(), |(file, line)| format!("{file}:{line}"));
            let state = match line.lifted {
                Some(false) if line.state == KernelState::Untuned.name() => {
                    "untuned (not readable)".to_owned()
                }
                _ => line.state.to_owned(),
            };
            let targets = if line.targets.is_empty() {
                "-".to_owned()
            } else {
                line.targets.join(", ")
            };
            table.row([
                name,
                state,
                targets,
                line.speedup.map_or("-".to_owned(), ratio),
                place,
            ]);
        }
        for problem in loaded.problems() {
            shell.diagnostic(&Diagnostic::warning(problem).help(problem.help()));
        }
    }
    if table.is_empty() {
        shell.diagnostic(
            &Diagnostic::remark("no function is marked with `#[pragma_kernel]`")
                .help("write `use pragma_runtime::pragma_kernel;` and `#[pragma_kernel]` over a hot function"),
        );
    } else {
        shell.human(&table);
    }
    Ok(ExitCode::Ok)
}

fn lines(project: &Project, loaded: &Loaded) -> Vec<Line> {
    let lifter = Lifter::new(&project.workspace, &loaded.source);
    let dir = loaded.source.package.pragma_dir();
    let speedup = |id| {
        Measurements::read(&dir, id)
            .headline()
            .map(|measured| measured.speedup)
    };
    let package = &loaded.source.package.name;
    let mut lines: Vec<Line> = loaded
        .source
        .kernels
        .iter()
        .zip(&loaded.states.kernels)
        .map(|(kernel, state)| {
            let reason = lifter.lift(kernel).err().map(|refusal| refusal.message);
            Line {
                package: package.clone(),
                kernel: kernel.id.to_string(),
                state: state.name(),
                lifted: Some(reason.is_none()),
                reason,
                targets: loaded.vendored.tuned_targets(&kernel.id),
                speedup: speedup(&kernel.id),
                file: Some(kernel.shown.clone()),
                line: Some(kernel.line),
            }
        })
        .collect();
    lines.extend(loaded.states.orphans.iter().map(|id| Line {
        package: package.clone(),
        kernel: id.to_string(),
        state: "orphan",
        lifted: None,
        reason: Some("its function is gone".to_owned()),
        targets: loaded.vendored.tuned_targets(id),
        speedup: speedup(id),
        file: None,
        line: None,
    }));
    lines
}
