//! What a crate with Pragma kernels depends on, and all of it.
//!
//! A function marked `#[pragma_kernel]` keeps its meaning; once it has been tuned, faster kernels sit next to it as
//! ordinary source. This crate is the little that those kernels and the code around them need at run time:
//!
//! - [`tier`](mod@tier): which instruction-set tier this process may use, decided once;
//! - [`simd`]: vectors of one width per tier with the semantics of scalar Rust, and vector math;
//! - [`parallel`]: a parallel loop over blocks whose results do not depend on the number of threads.
//!
//! It leaves alone everything that happens before run time (reading source, choosing and proving kernels), needs no
//! network, GPU or build script, and has one optional dependency, rayon (feature `parallel`, on by default).
//!
//! On targets other than x86-64 the crate builds and every kernel's reference runs.

#![deny(unsafe_op_in_unsafe_fn)]

#[doc(hidden)]
pub mod dispatch;
#[doc(hidden)]
pub mod harness;
pub mod parallel;
pub mod simd;
pub mod tier;

pub use pragma_macro::pragma_kernel;
pub use tier::{Tier, tier};
