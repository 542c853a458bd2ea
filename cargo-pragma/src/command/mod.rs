//! One file per command, and what they share.
//!
//! A command reads flags, calls the parts that do the work, prints, and gives back an exit code.

pub mod bench;
pub mod bundle;
pub mod check;
pub mod clean;
pub mod doctor;
pub mod explain;
pub mod import;
pub mod init;
pub mod list;
mod lock;
mod project;
pub mod tune;

pub use project::{Loaded, Project};
