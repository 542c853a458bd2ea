//! How fast a verified kernel is, and how fast this machine could be.
//!
//! Owns paired timing, its statistics (all in the parent, from raw samples) and the machine's measured ceilings. What a
//! number says about the next step is the Conductor's business.

mod ceilings;
mod paired;
mod probe;
mod statistics;

pub use ceilings::{Ceilings, MemoryLevel, ThreadCeilings, ceilings, raise};
pub use paired::{Effort, Measurement};
pub use statistics::{bootstrap_ratio, median};
