//! What the loop asks of an engine: the next candidate, given how the last one came out.

use serde::Serialize;

use crate::history::Timing;

/// A candidate.
#[derive(Clone, Debug, PartialEq)]
pub struct Proposal {
    /// The schedule that reproduces it.
    pub actions: Vec<String>,
    /// Its items: `use` lines, helpers, the entry.
    pub source: String,
    /// Why it is worth trying.
    pub rationale: String,
    /// Which earlier proposal of this search it was derived from, counted from 0.
    pub parent: Option<usize>,
}

/// What an engine wants next.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Judge this.
    Try(Proposal),
    /// Nothing more to try, for this reason.
    Stop(String),
}

/// Where the time of a candidate goes, as far as it is known. Every number says where it comes from.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Profile {
    /// The time that the machine's own ceilings allow, from traffic counted in the program; computed.
    pub roof_ns: Option<f64>,
    /// What bounds the roof: `DRAM bandwidth`, `FMA`; computed.
    pub roof: Option<String>,
    /// Read from the machine code.
    pub statics: Option<StaticFacts>,
}

/// Facts read from the machine code of the hottest loops.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct StaticFacts {
    /// Part of vector instructions that use the widest registers of the target.
    pub widest: f64,
    /// Stores to and loads from the stack inside the loops.
    pub spills: u32,
    /// Fused multiply-adds over all floating-point instructions.
    pub fma_density: f64,
    /// Instructions that load single lanes from computed addresses.
    pub gathers: u32,
    /// Divisions and square roots.
    pub divisions: u32,
}

/// How the last candidate came out.
#[derive(Clone, Debug, PartialEq)]
pub enum Feedback {
    /// rustc refused it.
    DoesNotBuild(String),
    /// Its results are wrong; the first difference.
    Wrong(String),
    /// It could not be judged.
    Unproven(String),
    /// It is right, and this fast.
    Measured {
        /// Against the reference.
        timing: Timing,
        /// Whether it is the best of this search so far.
        best: bool,
        /// What limits it.
        profile: Profile,
    },
}

/// A writer of kernels for one function, target and size.
pub trait Engine {
    /// Its name in manifests.
    fn name(&self) -> &str;

    /// The next step, given how the last proposal came out (`None` before the first).
    fn next(&mut self, feedback: Option<&Feedback>) -> Step;

    /// What limits a candidate with this profile and time, in a few words.
    fn bottleneck(&self, timing: &Timing, profile: &Profile) -> Option<String>;
}
