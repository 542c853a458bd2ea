//! What the loop asks of the evaluation: judge a source text, time what was proven.

use pragma_spec::{TuneSize, VerificationRecord};

use super::engine::StaticFacts;
use crate::history::Timing;

/// How thoroughly to verify.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// Enough to steer a search: a wrong candidate almost never passes.
    Search,
    /// Everything there is: what a winner must survive.
    Full,
}

impl Depth {
    /// The word in the history.
    pub fn name(self) -> &'static str {
        match self {
            Depth::Search => "search",
            Depth::Full => "full",
        }
    }
}

/// What came of judging a source text. `P` proves that it was verified; only an [`Evaluator`] makes one.
#[derive(Debug)]
pub enum Judgement<P> {
    /// rustc refused it, with this message.
    DoesNotBuild(String),
    /// It computes something else: a sentence, and the evidence as JSON.
    Wrong(String, String),
    /// It could not be judged, for this reason.
    Unproven(String),
    /// It survived.
    Proven(P, VerificationRecord),
}

/// How long to time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// About a quarter of a second.
    Search,
    /// About one and a half seconds.
    Final,
}

/// Judges and times candidates of one kernel.
pub trait Evaluator {
    /// Proof that a candidate was verified.
    type Proven;

    /// Builds and judges `source`, whose entry function is `entry`.
    fn judge(&mut self, source: &str, entry: &str, depth: Depth) -> Judgement<Self::Proven>;

    /// Times `new` against the reference, and against `best` where there is one, at `tune`.
    ///
    /// # Errors
    /// A sentence if it cannot be timed.
    fn time(
        &mut self,
        new: &Self::Proven,
        best: Option<&Self::Proven>,
        tune: &TuneSize,
        threads: usize,
        effort: Effort,
    ) -> Result<Timing, String>;

    /// What the machine code of a verified candidate shows, if it can be read.
    fn facts(&mut self, proven: &Self::Proven) -> Option<StaticFacts>;
}
