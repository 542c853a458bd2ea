//! Every side effect of Pragma: the `cargo pragma` command and all that it runs.
//!
//! A library so that its own tests can reach the parts; not an API for other crates. In processing order: [`cli`]
//! reads the command line, [`command`] has one file per command, [`discover`] finds the kernels of a package,
//! [`harness`] compiles references and candidates, [`worker`] runs them in processes of their own on [`inputs`] derived
//! from seeds, [`verify`] judges them, [`cuda`] does the same on GPUs, [`measure`] times them, [`disasm`] reads their code, [`history`] keeps what tuning learned, [`vendor`] alone writes into a crate's
//! `pragma/`, [`report`] and [`diagnostic`] speak to the user, [`machine`] looks at the hardware, [`process`] alone
//! starts processes.
#![deny(unsafe_code)]

pub mod cli;
pub mod command;
pub mod cuda;
pub mod diagnostic;
pub mod disasm;
pub mod discover;
pub mod harness;
pub mod history;
pub mod inputs;
pub mod llm;
pub mod machine;
pub mod measure;
pub mod process;
pub mod report;
pub mod screen;
pub mod tune;
pub mod vendor;
pub mod verify;
pub mod worker;
