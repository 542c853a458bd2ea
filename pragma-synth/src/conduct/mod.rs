//! The Conductor of the embedded engine: from what was measured to what is tried next.
//!
//! One [`Conductor`] works on one program, one target and one size. It proposes a version, is
//! told what came of it, names the bottleneck with its evidence, and picks the next change from
//! the rule for that bottleneck. It never sees a clock or a file: measurements come in as
//! values, versions go out as text.

mod bottleneck;
mod choice;
mod conductor;
mod diagnose;
pub mod gpu;
mod plan;
mod roof;
mod structure;

pub use bottleneck::{Bottleneck, Diagnosis, RULES, Rule, rule};
pub use conductor::{Conductor, Feedback, Proposal, Setting, Step, StopReason, Why};
pub use plan::Plan;
pub use roof::{Level, Machine, Roof, StaticProfile, roof};
