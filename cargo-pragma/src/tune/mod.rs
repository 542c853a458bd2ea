//! The main job: from marked functions to vendored kernels.

mod account;
pub mod bench;
pub mod canonical;
pub mod ceilings;
mod engine;
mod evaluator;
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
pub mod workshop;

pub use account::{Account, Allowance};
pub use engine::{Engine, Feedback, Limit, Origin, Proposal, StaticFacts, Step};
pub use evaluator::{Depth, Effort, Evaluator, Judgement};

pub use select::{Contender, WORTH_IT, variants};
