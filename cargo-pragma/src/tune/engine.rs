//! What the loop asks of an engine: the next candidate, given how the last one came out.

use pragma_spec::Authorship;
use serde::{Deserialize, Serialize};

use crate::history::Timing;

/// A candidate.
#[derive(Clone, Debug, PartialEq)]
pub struct Proposal {
    /// The schedule that reproduces it, where there is one.
    pub actions: Vec<String>,
    /// Where the text comes from.
    pub origin: Origin,
    /// Its items: `use` lines, helpers, the entry.
    pub source: String,
    /// Why it is worth trying.
    pub rationale: String,
    /// Which earlier proposal of this search it was derived from, counted from 0.
    pub parent: Option<usize>,
}

/// Where the text of a candidate comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Its actions make it again.
    Schedule,
    /// A model wrote it.
    Model(Authorship),
}

/// What an engine wants next.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Judge this.
    Try(Proposal),
    /// Nothing more to try, for this reason.
    Stop(String),
}

/// Facts read from the machine code of the hottest loops, without running it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StaticFacts {
    /// Share of floating-point instructions that are scalar, 0 to 1.
    pub scalar_share: f64,
    /// Loads and stores of spilled registers.
    pub spills: u32,
    /// Fused multiply-adds per floating-point instruction, 0 to 1.
    pub fma_density: f64,
    /// Width in bits of the widest vectors used.
    pub widest: u32,
}

/// How the last candidate came out.
#[derive(Clone, Debug, PartialEq)]
pub enum Feedback {
    /// It did not build, is wrong, or could not be judged.
    Refused {
        /// A sentence.
        reason: String,
        /// The compiler's words or the counterexample.
        evidence: String,
    },
    /// It is right, and this fast.
    Measured {
        /// Against the reference.
        timing: Timing,
        /// What its machine code shows, where it was read.
        facts: Option<StaticFacts>,
    },
}

/// What limits a version, and the numbers it rests on.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Limit {
    /// A name: `bandwidth`, `spills`.
    pub bottleneck: String,
    /// The numbers, each with its unit and whether it is measured or static.
    pub evidence: String,
}

/// A writer of kernels for one function, target and size.
pub trait Engine {
    /// Its name in manifests.
    fn name(&self) -> &str;

    /// The next step, given how the last proposal came out (`None` before the first).
    fn next(&mut self, feedback: Option<&Feedback>) -> Step;

    /// What limits the best version that it has heard of.
    fn limit(&self) -> Option<Limit>;

    /// Which part of the machine's own ceiling a call of this many nanoseconds reaches.
    fn roof_fraction(&self, ns: f64) -> Option<f64>;
}
