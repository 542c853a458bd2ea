//! What `cargo pragma tune` makes sure of before anything is built.
//!
//! Owns what the flags and package settings choose (engines, targets, budget) and whether results can be kept.

use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;

use pragma_spec::Target;

use super::super::project::{Loaded, Project};
use crate::cli::args::TuneArgs;
use crate::cli::budget::Budget;
use crate::cli::exit::Failure;
use crate::cli::shell::Shell;
use crate::diagnostic::Diagnostic;
use crate::discover::{Settings, closest};
use crate::llm::{
    Agent, Client, ConfigError, HttpTransport, Ledger, ModelConfig, Recorder, Replayer, Transport,
};
use crate::machine;
use crate::tune::engines::Engines;
use crate::tune::taped::Tape;
use crate::vendor::{self, Problem};

/// An engine of this version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Named {
    Synth,
    Llm,
    Command,
}

/// The engines that `--engine` names.
pub(super) fn known_engines(engines: &[String]) -> Result<Vec<Named>, Failure> {
    engines
        .iter()
        .map(|engine| match engine.as_str() {
            "synth" => Ok(Named::Synth),
            "llm" => Ok(Named::Llm),
            "command" => Ok(Named::Command),
            "mcp" => Err(Failure::usage(
                "the engine `mcp` is not in this version",
                "engines: synth, llm, command",
            )),
            other => Err(Failure::usage(
                format!("there is no engine `{other}`"),
                "engines: synth, llm, command",
            )),
        })
        .collect()
}

/// Sets up the engines.
pub(super) fn engines(
    named: &[Named],
    args: &TuneArgs,
    project: &Project,
) -> Result<Engines, Failure> {
    let mut engines = Engines::embedded();
    engines.synth = named.contains(&Named::Synth);
    let only = |engine: &str, given: &[(&str, bool)]| match given.iter().find(|(_, given)| *given) {
        Some((flag, _)) => Err(Failure::usage(
            format!("{flag} is for the engine `{engine}`, which takes no part"),
            format!("add `--engine synth,{engine}`"),
        )),
        None => Ok(()),
    };
    if !named.contains(&Named::Llm) {
        only(
            "llm",
            &[
                ("--model", args.model.is_some()),
                ("--record", args.record.is_some()),
                ("--replay", args.replay.is_some()),
            ],
        )?;
    }
    if !named.contains(&Named::Command) {
        only("command", &[("--command", args.command.is_some())])?;
    } else if args.record.is_some() || args.replay.is_some() {
        return Err(Failure::usage(
            "tapes hold what language models say, not what commands do",
            "leave `command` out of `--engine`",
        ));
    }
    for engine in named {
        match engine {
            Named::Synth => {}
            Named::Llm => {
                let client = model(args, project)?;
                engines.writers.push(Rc::new(RefCell::new(client)));
                engines.tape = Rc::new(RefCell::new(measurements(args)?));
            }
            Named::Command => {
                let table = setting(project, |settings| &settings.command);
                let agent = Agent::read(args.command.as_deref(), table).map_err(|why| {
                    Failure::usage(
                        why,
                        "docs/language-models.md shows the flags and the `command` table",
                    )
                })?;
                engines.writers.push(Rc::new(RefCell::new(agent)));
            }
        }
    }
    Ok(engines)
}

/// The first package's table of a kind that has one.
fn setting<'a>(
    project: &'a Project,
    of: impl Fn(&'a Settings) -> &'a serde_json::Value,
) -> &'a serde_json::Value {
    project
        .packages
        .iter()
        .map(|loaded| of(&loaded.source.package.settings))
        .find(|table| !table.is_null())
        .unwrap_or(&serde_json::Value::Null)
}

fn measurements(args: &TuneArgs) -> Result<Tape, Failure> {
    let tape = match (&args.replay, &args.record) {
        (Some(dir), _) => Tape::replay(dir),
        (None, Some(dir)) => Tape::record(dir),
        (None, None) => Ok(Tape::off()),
    };
    tape.map_err(|error| Failure::usage(error, "name another directory"))
}

/// A model that is reached, paid and recorded as the flags and the package's `llm` table say.
fn model(args: &TuneArgs, project: &Project) -> Result<Client, Failure> {
    let usage = |error: ConfigError| {
        Failure::usage(
            error,
            "docs/language-models.md shows the flags and the `llm` table",
        )
    };
    let table = setting(project, |settings| &settings.llm);
    let model = ModelConfig::read(args.model.as_deref(), table).map_err(usage)?;
    let budget = budget(args, project)?;
    model.check_budget(&budget).map_err(usage)?;
    let network = || {
        HttpTransport::new(model.timeout, model.authorities.as_deref())
            .map(|transport| Box::new(transport) as Box<dyn Transport>)
            .map_err(|error| Failure::environment(error, "check the `llm` table of the package"))
    };
    let tape = |error| Failure::usage(error, "name another directory");
    let (key, transport): (_, Box<dyn Transport>) = match (&args.replay, &args.record) {
        (Some(dir), _) => (None, Box::new(Replayer::new(dir).map_err(tape)?)),
        (None, record) => {
            let key = model.key().map_err(|error: ConfigError| {
                Failure::environment(
                    error,
                    "the key is sent to the model's server and nowhere else",
                )
            })?;
            let transport = match record {
                Some(dir) => Box::new(Recorder::new(network()?, dir).map_err(tape)?),
                None => network()?,
            };
            (key, transport)
        }
    };
    let ledger = Ledger::new(model.price, budget.dollars, budget.tokens);
    Ok(Client::new(model, key, transport, ledger))
}

/// The targets that the flags or else the packages name.
pub(super) fn words(args: &TuneArgs, project: &Project) -> Vec<String> {
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
    words
}

/// The CPU targets among `words`, all of which this machine can run.
pub(super) fn targets(words: &[String]) -> Result<Vec<Target>, Failure> {
    let here = machine::targets();
    let mut targets = Vec::new();
    for word in words {
        match word.as_str() {
            "cpu" => targets.extend(&here),
            name => {
                let target: Target = name.parse().map_err(|error| {
                    let names = ["cpu", "cuda", "x86-64-v3", "x86-64-v4", "sm_80", "sm_90"];
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
