//! The only place that starts processes, so that what they inherit is decided once.
//!
//! Owns the environment that children see and how their output is collected. Timeouts, limits and process groups for
//! untrusted code are in [`group`].

pub mod confine;
pub mod group;

use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// Parts of variable names whose values are secrets; no child gets them.
const SECRET_PARTS: [&str; 4] = ["KEY", "TOKEN", "SECRET", "PASSWORD"];

/// Whether a variable of this name may hold a secret.
pub fn is_secret(name: &OsStr) -> bool {
    let name = name.to_string_lossy().to_ascii_uppercase();
    SECRET_PARTS.iter().any(|part| name.contains(part))
}

/// A command for `program` that inherits the environment except for secrets.
#[allow(clippy::disallowed_methods)] // This module is where it is allowed.
pub fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    for (name, _) in std::env::vars_os().filter(|(name, _)| is_secret(name)) {
        command.env_remove(name);
    }
    command
}

/// The cargo that runs this process as a subcommand, or the one on the path.
pub fn cargo() -> Command {
    command(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// Runs to the end with nothing on standard input and both outputs collected.
///
/// # Errors
/// If the program cannot be started.
pub fn output(command: &mut Command) -> io::Result<Output> {
    command.stdin(Stdio::null()).output()
}

/// The first line that `program args..` prints, if it can be run and succeeds.
pub fn first_line(program: impl AsRef<OsStr>, args: &[&str], dir: Option<&Path>) -> Option<String> {
    let mut command = command(program);
    command.args(args);
    if let Some(dir) = dir {
        command.current_dir(dir);
    }
    let output = output(&mut command).ok()?;
    output.status.success().then(|| {
        String::from_utf8_lossy(&output.stdout)
            .lines()
            .next()
            .unwrap_or("")
            .trim()
            .to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_look_secret() {
        for name in [
            "AWS_SECRET_ACCESS",
            "GITHUB_TOKEN",
            "openai_api_key",
            "DB_PASSWORD",
        ] {
            assert!(is_secret(OsStr::new(name)), "{name}");
        }
        for name in ["PATH", "CARGO_HOME", "RUSTUP_TOOLCHAIN"] {
            assert!(!is_secret(OsStr::new(name)), "{name}");
        }
    }
}
