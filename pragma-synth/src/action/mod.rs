//! Schedule actions: named, checked rewrites of a program.
//!
//! Every action checks its own legality and leaves the meaning of the program as it was, but
//! for the order of floating-point reductions. A list of actions applied in order names a
//! version of a kernel; its text goes into the manifest and back.

mod accumulate;
mod apply;
pub mod gpu;
mod prefetch;
mod reorder;
mod stage;
mod text;

pub(crate) use accumulate::accumulate;
pub use apply::apply;
pub use text::ParseActionError;

use crate::ir::Program;

/// One rewrite. Loops are named by their counter, buffers by their name.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// Run an innermost loop in vectors, `unroll` of them per step.
    Vectorize {
        /// The loop.
        axis: String,
        /// Vectors per step; for reductions also the number of accumulators.
        unroll: u32,
    },
    /// Run blocks of a loop on several threads.
    Parallelize {
        /// The loop.
        axis: String,
        /// Innermost iterations per block.
        grain: u64,
        /// Stay on one thread below this many innermost iterations.
        serial_below: u64,
    },
    /// Merge two neighbouring loops over the same range.
    Fuse {
        /// The first loop; its counter stays.
        first: String,
        /// The loop directly behind it.
        second: String,
    },
    /// Write a buffer around the caches.
    Stream {
        /// The buffer.
        buffer: String,
    },
    /// Keep the part of a buffer that one iteration works on in a temporary, and write it out
    /// in the last pass over it.
    Stage {
        /// The buffer.
        buffer: String,
        /// The loop whose iterations each work on their own part.
        axis: String,
    },
    /// While a loop works, ask for what will be read later.
    Prefetch {
        /// The buffer to read ahead.
        buffer: String,
        /// The loop that has time for it.
        axis: String,
        /// How many of its iterations ahead; without a number, what the next iteration of the loop
        /// around it will read at the same place.
        ahead: Option<u64>,
    },
    /// Make the loop directly inside a loop the outer one of the two.
    Interchange {
        /// The outer loop.
        axis: String,
    },
    /// Give every iteration of a loop a temporary of its own.
    Privatize {
        /// The temporary.
        buffer: String,
        /// The loop.
        axis: String,
    },
    /// Run iterations of an outer loop side by side through its inner loops.
    Jam {
        /// The outer loop.
        axis: String,
        /// How many.
        factor: u64,
    },
    /// Repeat the body of a loop.
    Unroll {
        /// The loop.
        axis: String,
        /// Copies of the body.
        factor: u32,
    },
    /// Turn one loop into two: the outer in steps of `factor`, the inner over the step.
    Split {
        /// The loop.
        axis: String,
        /// Iterations of the inner loop.
        factor: u64,
    },
}

/// Why an action does not apply.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{action}: {reason}")]
pub struct Illegal {
    /// The action, as text.
    pub action: String,
    /// What stands against it.
    pub reason: String,
}

/// The version of a lifted program that `actions` name: the clean-ups of [`simplify`], then the
/// actions in order. This is how a version is made again from what a manifest records.
///
/// # Errors
/// The first action that does not apply.
///
/// [`simplify`]: crate::simplify::simplify
pub fn schedule(lifted: &Program, actions: &[Action]) -> Result<Program, Illegal> {
    apply_all(&crate::simplify::simplify(lifted), actions)
}

/// Applies `actions` in order.
///
/// # Errors
/// The first action that does not apply.
pub fn apply_all(program: &Program, actions: &[Action]) -> Result<Program, Illegal> {
    actions
        .iter()
        .try_fold(program.clone(), |program, action| apply(&program, action))
}
