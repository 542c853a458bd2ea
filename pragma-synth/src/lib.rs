//! The embedded engine: reads a function into a loop-nest IR, schedules it, writes SIMD kernels.
//!
//! One module per stage: [`ir`] is what a function means, `lift` reads it from Rust, `analyze`
//! finds what may be changed, `action` changes it, `emit` writes it, `conduct` chooses what to
//! try next. Everything here is pure: text and tokens in, values out.
#![forbid(unsafe_code)]

pub mod action;
pub mod analyze;
pub mod conduct;
pub mod emit;
pub mod ir;
pub mod lift;
pub mod oracle;
pub mod simplify;
