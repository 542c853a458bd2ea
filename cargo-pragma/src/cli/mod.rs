//! The process: arguments in, exit code out.
//!
//! Owns how the tool is called (as `cargo pragma`, as its own child, as cargo's rustc wrapper), the panic hook and the
//! last word on failures. Commands themselves are in `command`.

pub mod args;
pub mod budget;
pub mod exit;
pub mod shell;

use std::ffi::OsString;

use clap::Parser;
use clap::error::ErrorKind;

use args::{Cli, Command};
use exit::{CommandResult, ExitCode, Failure};
use shell::Shell;

use crate::diagnostic::Diagnostic;
use crate::process::confine;
use crate::{command, harness, worker};

/// Runs the tool on this process's arguments.
pub fn main() -> std::process::ExitCode {
    set_panic_hook();
    let args: Vec<OsString> = std::env::args_os().collect();
    // Hidden roles, before anything that could print: cargo's rustc wrapper, the way into the sandbox, workers, a compiler.
    if harness::wrapper::is_wrapper() {
        return harness::wrapper::run().into();
    }
    if args.get(1).is_some_and(|arg| arg == confine::CONFINE) {
        return confine::run_confined(&args[2..]).into();
    }
    if args.get(1).is_some_and(|arg| arg == "__worker") {
        return worker::serve(&args[2..]).into();
    }
    if args.get(1).is_some_and(|arg| arg == "__gpu_worker") {
        return worker::cuda::serve(&args[2..]).into();
    }
    if args.get(1).is_some_and(|arg| arg == "__nvrtc") {
        return worker::cuda::compile(&args[2..]).into();
    }
    // A panic anywhere below has been reported by the hook; what is left is the exit code.
    match std::panic::catch_unwind(|| run(args)) {
        Ok(code) => code.into(),
        Err(_) => ExitCode::Internal.into(),
    }
}

fn run(mut args: Vec<OsString>) -> ExitCode {
    // `cargo pragma X` runs `cargo-pragma pragma X`.
    if args.get(1).is_some_and(|arg| arg == "pragma") {
        args.remove(1);
    }
    let cli = match Cli::try_parse_from(args) {
        Ok(cli) => cli,
        Err(error) => {
            let _ = error.print();
            return match error.kind() {
                ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => ExitCode::Ok,
                _ => ExitCode::Usage,
            };
        }
    };
    let common = cli.command.common();
    common.color.apply();
    let shell = Shell::new(common.format, common.quiet);
    match dispatch(&cli.command, &shell) {
        Ok(code) => code,
        Err(failure) => {
            report(&shell, &failure);
            failure.exit_code()
        }
    }
}

fn dispatch(command: &Command, shell: &Shell) -> CommandResult {
    match command {
        Command::Init(args) => command::init::run(args, shell),
        Command::List(args) => command::list::run(args, shell),
        Command::Doctor(args) => command::doctor::run(args, shell),
        Command::Tune(args) => command::tune::run(args, shell),
        Command::Bundle(args) => command::bundle::run(args, shell),
        Command::Import(args) => command::import::run(args, shell),
        Command::Check(args) => command::check::run(args, shell),
        Command::Explain(args) => command::explain::run(args, shell),
        Command::Clean(args) => command::clean::run(args, shell),
        Command::Bench(args) => command::bench::run(args, shell),
    }
}

fn report(shell: &Shell, failure: &Failure) {
    match failure {
        Failure::Usage(diagnostic)
        | Failure::Drift(diagnostic)
        | Failure::Unverified(diagnostic)
        | Failure::Environment(diagnostic)
        | Failure::NothingProven(diagnostic) => shell.diagnostic(diagnostic),
        Failure::DoesNotBuild {
            rendered,
            diagnostic,
        } => {
            shell.raw(rendered);
            shell.diagnostic(diagnostic);
        }
        Failure::Interrupted => shell.diagnostic(&Diagnostic::error("interrupted")),
        Failure::Internal(error) => {
            let mut diagnostic = Diagnostic::error(format!("internal error: {error}"));
            for cause in error.chain().skip(1) {
                diagnostic = diagnostic.note(cause);
            }
            shell.diagnostic(&diagnostic.help(PLEASE_REPORT));
        }
    }
}

const PLEASE_REPORT: &str = concat!(
    "this is a bug in cargo-pragma ",
    env!("CARGO_PKG_VERSION"),
    "; please report it with the command line and the messages above at ",
    env!("CARGO_PKG_REPOSITORY"),
    "/issues"
);

fn set_panic_hook() {
    let default = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        default(info);
        Shell::new(shell::Format::Human, false)
            .diagnostic(&Diagnostic::error("internal error: panic").help(PLEASE_REPORT));
    }));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        use clap::CommandFactory;
        Cli::command().debug_assert();
    }

    fn code(args: &[&str]) -> ExitCode {
        run(args.iter().map(OsString::from).collect())
    }

    #[test]
    fn usage_errors_exit_with_1_and_help_with_0() {
        assert_eq!(
            code(&["cargo-pragma", "pragma", "no-such-command"]),
            ExitCode::Usage
        );
        assert_eq!(code(&["cargo-pragma"]), ExitCode::Usage);
        assert_eq!(
            code(&["cargo-pragma", "tune", "--budget", "nan"]),
            ExitCode::Usage
        );
        assert_eq!(
            code(&["cargo-pragma", "tune", "--jobs", "0"]),
            ExitCode::Usage
        );
        assert_eq!(code(&["cargo-pragma", "pragma", "--help"]), ExitCode::Ok);
        assert_eq!(code(&["cargo-pragma", "--version"]), ExitCode::Ok);
    }
}
