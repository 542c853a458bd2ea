//! Kernels for GPUs: finding the compiler, compiling, jobs for hosts without Rust, the search on a device, results.
//!
//! Owns everything between the emitter and `pragma/` that is particular to CUDA. Calls into NVIDIA's libraries are in
//! `worker::cuda`, in processes of their own; verdicts are `verify`'s.

mod compiler;
pub mod job;
mod plan;
pub mod results;
mod sanitizer;
pub mod site;
mod toolkit;
pub mod tune;

pub use compiler::{CompileError, Compiled, Compiler, Resources};
pub use plan::spec_plan;
pub use toolkit::{NO_NVRTC, find_nvrtc};
