//! Exit codes and the error type that maps to them, in one place.
//!
//! The codes are documented in `docs/commands.md` and stable. Wording lives where a failure is made.

use std::fmt;

use crate::diagnostic::Diagnostic;

/// What the process ends with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum ExitCode {
    /// All is well.
    Ok = 0,
    /// The command line, or a setting, makes no sense.
    Usage = 1,
    /// `check` found that functions and kernels have drifted apart.
    Drift = 2,
    /// A kernel that was vendored fails verification.
    Unverified = 3,
    /// The crate does not build.
    DoesNotBuild = 4,
    /// Something that the command needs from the machine is missing.
    Environment = 5,
    /// The budget ended with nothing proven.
    NothingProven = 6,
    /// An error in Pragma itself.
    Internal = 70,
    /// Stopped by Ctrl-C, as shells count it.
    Interrupted = 130,
}

impl From<ExitCode> for std::process::ExitCode {
    fn from(code: ExitCode) -> Self {
        std::process::ExitCode::from(code as u8)
    }
}

/// Why a command did not end well. Every variant has one exit code.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// See [`ExitCode::Usage`].
    #[error("{0}")]
    Usage(Box<Diagnostic>),
    /// See [`ExitCode::Drift`].
    #[error("{0}")]
    Drift(Box<Diagnostic>),
    /// See [`ExitCode::Unverified`].
    #[error("{0}")]
    Unverified(Box<Diagnostic>),
    /// See [`ExitCode::DoesNotBuild`]. The compiler's own messages, as it rendered them, go first.
    #[error("{diagnostic}")]
    DoesNotBuild {
        /// What rustc or cargo printed.
        rendered: String,
        /// The closing line.
        diagnostic: Box<Diagnostic>,
    },
    /// See [`ExitCode::Environment`].
    #[error("{0}")]
    Environment(Box<Diagnostic>),
    /// See [`ExitCode::NothingProven`].
    #[error("{0}")]
    NothingProven(Box<Diagnostic>),
    /// See [`ExitCode::Interrupted`].
    #[error("interrupted")]
    Interrupted,
    /// See [`ExitCode::Internal`].
    #[error(transparent)]
    Internal(#[from] anyhow::Error),
}

impl Failure {
    /// A usage failure with its remedy.
    pub fn usage(message: impl fmt::Display, help: impl fmt::Display) -> Self {
        Failure::Usage(Box::new(Diagnostic::error(message).help(help)))
    }

    /// A missing need of the machine, with its remedy.
    pub fn environment(message: impl fmt::Display, help: impl fmt::Display) -> Self {
        Failure::Environment(Box::new(Diagnostic::error(message).help(help)))
    }

    /// The code the process ends with.
    pub fn exit_code(&self) -> ExitCode {
        match self {
            Failure::Usage(_) => ExitCode::Usage,
            Failure::Drift(_) => ExitCode::Drift,
            Failure::Unverified(_) => ExitCode::Unverified,
            Failure::DoesNotBuild { .. } => ExitCode::DoesNotBuild,
            Failure::Environment(_) => ExitCode::Environment,
            Failure::NothingProven(_) => ExitCode::NothingProven,
            Failure::Interrupted => ExitCode::Interrupted,
            Failure::Internal(_) => ExitCode::Internal,
        }
    }
}

/// What commands give back: the code of a run that has already said all it has to say, or a failure to be shown.
pub type CommandResult = Result<ExitCode, Failure>;
