//! Whether a candidate is the user's function.
//!
//! Owns the cases, the judge, the test of the judge itself by mutants, and the verdict. Everything here runs in the
//! parent: workers only deliver bytes. Timing takes a [`Verified`], which only [`Bench::verify`] can make.
//!
//! Checked: values against the f64 oracle (or the attribute's accuracy), every output element written, inputs mapped
//! read-only, guard pages on both sides, canaries, unaligned buffers, repeated calls and thread counts bit-identical,
//! new data at old addresses, refusal of shapes that the guard excludes, panics where the reference panics.
//!
//! Reading the source of a candidate is the business of `screen`, before it is compiled.

mod bench;
mod cases;
mod check;
mod decline;
mod device;
mod judge;
mod mutants;
mod self_test;
mod spec;
mod values;

pub use bench::{Bench, BenchError, Limits};
pub use cases::{Case, Kind};
pub use check::{Evidence, Level, Verdict, Verified};
pub use device::{DeviceCandidate, DeviceVerdict, DeviceVerified};
pub(crate) use judge::float;
pub use judge::{Mismatch, Policy, Tally};
pub use mutants::{Mutant, SelfTest};
pub use spec::{KernelSpec, Output};
