//! Compiling the user's crate, its reference and candidates.
//!
//! Owns the builds: the user's own `cargo build` in a private target directory, recorded through
//! `RUSTC_WORKSPACE_WRAPPER`; the same rustc call a second time, as a dynamic library with the exported references; and
//! candidates and oracles with the very same code generation flags. Changes nothing in the user's crate. Loading what
//! was built is the worker's.

mod build;
mod candidate;
mod flags;
mod record;
pub mod wrapper;

pub use build::{BuildError, Built, CrateTarget, Harness, HarnessError, HarnessRequest, build};
pub use candidate::{CandidateText, candidate_source};
