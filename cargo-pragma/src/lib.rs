//! Every side effect of Pragma: the `cargo pragma` command and all that it runs.
//!
//! A library so that its own tests can reach the parts; not an API for other crates. In processing order: [`cli`]
//! reads the command line, [`diagnostic`] speaks to the user, [`process`] alone starts processes.
#![deny(unsafe_code)]

pub mod cli;
pub mod command;
pub mod diagnostic;
pub mod discover;
pub mod history;
pub mod machine;
pub mod process;
pub mod report;
pub mod tune;
pub mod vendor;
