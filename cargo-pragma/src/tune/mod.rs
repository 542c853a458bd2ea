//! The main job: from marked functions to vendored kernels.

mod account;
pub mod bench;
mod brief;
pub mod canonical;
pub mod ceilings;
mod engine;
pub mod engines;
mod evaluator;
pub mod indices;
pub mod interrupt;
pub mod kernel;
pub mod lifting;
pub mod outcome;
pub mod package;
pub mod progress;
pub mod search;
mod select;
pub mod sizes;
pub mod synth;
pub mod taped;
mod versions;
pub mod workshop;

pub use account::{Account, Allowance, DEFAULT_PER_KERNEL, DEFAULT_PER_KERNEL_WITH_MODEL};
pub use engine::{Engine, Feedback, Limit, Origin, Proposal, StaticFacts, Step};
pub use evaluator::{Depth, Effort, Evaluator, Judgement};

pub use select::{Contender, WORTH_IT, variants};
