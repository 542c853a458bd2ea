//! Running compiled kernels in processes of their own.
//!
//! Owns the protocol (JSON lines on standard input and output), both of its ends, loading libraries and guarded memory.
//! A crash, hang or memory hog kills a worker and is reported as such. Whether outputs are right is judged by `verify`
//! in the parent, from files that the worker writes: nothing a candidate can reach decides over it.
//!
//! `memory` and `loader` hold the only unsafe code of this crate.

pub mod abi;
mod client;
pub mod cuda;
#[allow(unsafe_code)] // Loads libraries and calls into them; every block states why it is sound.
mod loader;
#[allow(unsafe_code)] // Maps and protects pages; every block states why it is sound.
mod memory;
pub mod protocol;
mod serve;

pub use client::{Called, Worker, WorkerConfig, WorkerError};
pub use serve::serve;
