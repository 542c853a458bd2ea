//! What a package has under `pragma/`: reading it, judging it, and, alone in all of Pragma, writing it.
//!
//! Owns the directory's layout and the promise that a crash at any point leaves kernels as before or as after. What
//! goes into the files is decided by `tune`; the words and text forms are `pragma-spec`'s.

mod compose;
mod format;
mod measurements;
mod read;
mod state;
mod write;

pub use compose::{FileVariant, compose_file, model_module, model_text, rename};
pub use format::formatted;
pub use measurements::{Measured, Measurements};
pub use read::{Problem, Vendored, VendoredKernel, read};
pub use state::{KernelState, States, judge};
pub use write::{KernelFiles, VendorError, ensure_index, recover, remove, store, writable};

/// The index's file name.
pub const INDEX: &str = "index.toml";
/// The manifest's file name in a kernel's directory.
pub const MANIFEST: &str = "manifest.toml";
/// The file of machine-bound numbers in a kernel's directory, which no check looks at.
pub const MEASUREMENTS: &str = "measurements.toml";
