//! The lock over the private directory, which `tune` and `clean` hold while they change files.
//!
//! The file is never removed: a second run would then lock another file of the same name.

use std::fs::{File, TryLockError};
use std::path::Path;

use crate::cli::exit::Failure;

/// The name of the file in the private directory.
pub(super) const FILE: &str = "lock";

/// Keeps a second run out until the file is dropped: both would change the same files.
///
/// # Errors
/// An environment failure if another run holds the lock, or the file cannot be made.
pub(super) fn take(private: &Path) -> Result<File, Failure> {
    let path = private.join(FILE);
    let refuse = |error: &dyn std::fmt::Display| {
        Failure::environment(
            format!("cannot lock `{}`: {error}", path.display()),
            "make cargo's target directory writable",
        )
    };
    let file = File::create(&path).map_err(|error| refuse(&error))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(Failure::environment(
            "another `cargo pragma tune` or `cargo pragma clean` works in this target directory",
            "wait for it, or set CARGO_TARGET_DIR to another directory",
        )),
        Err(TryLockError::Error(error)) => Err(refuse(&error)),
    }
}
