//! The main job: from marked functions to vendored kernels.

mod account;
mod engine;
mod evaluator;
pub mod interrupt;
pub mod search;
mod select;
pub mod sizes;
pub mod synth;

pub use account::{Account, Allowance};
pub use engine::{Engine, Feedback, Limit, Proposal, StaticFacts, Step};
pub use evaluator::{Depth, Effort, Evaluator, Judgement};

pub use select::{Contender, WORTH_IT, variants};
