//! The bench behind the loop's trait.

use pragma_spec::{TuneSize, VerificationRecord};

use super::engine::StaticFacts;
use super::evaluator::{Depth, Effort, Evaluator, Judgement};
use crate::disasm;
use crate::harness::{BuildError, CandidateText, Harness};
use crate::history::Timing;
use crate::measure;
use crate::verify::{Bench, BenchError, Level, SelfTest, Verdict, Verified};

/// Builds, judges and times candidates of one kernel.
pub struct BenchEvaluator {
    harness: Harness,
    bench: Bench,
}

impl BenchEvaluator {
    /// An evaluator over an open bench.
    pub fn new(harness: Harness, bench: Bench) -> Self {
        BenchEvaluator { harness, bench }
    }

    /// Tests the judge with mutants; call it before the first candidate.
    ///
    /// # Errors
    /// If wrong results would pass on this kernel's inputs.
    pub fn self_test(&mut self) -> Result<SelfTest, BenchError> {
        self.bench.self_test()
    }

    /// Identifies compiler, flags and dependencies.
    pub fn build_key(&self) -> &str {
        &self.harness.key
    }
}

impl Evaluator for BenchEvaluator {
    type Proven = Verified;

    fn judge(&mut self, source: &str, entry: &str, depth: Depth) -> Judgement<Verified> {
        let spec = self.bench.spec();
        let text = CandidateText {
            source,
            entry,
            signature: &spec.signature,
            guard: &spec.guard,
            shapes: &spec.shapes,
            declines: spec.declines,
        };
        let built = match self
            .harness
            .build_candidate(&text, &self.bench.candidates())
        {
            Ok(built) => built,
            Err(BuildError::Rejected { stderr }) => return Judgement::DoesNotBuild(stderr),
            Err(
                error @ (BuildError::Screened(_)
                | BuildError::TimedOut(_)
                | BuildError::Unsupported(_)
                | BuildError::Io(_)),
            ) => {
                return Judgement::Unproven(error.to_string());
            }
        };
        let level = match depth {
            Depth::Search => Level::Search,
            Depth::Full => Level::Full,
        };
        match self.bench.verify(&built, level) {
            Ok(Verdict::Verified(verified)) => {
                let record = VerificationRecord {
                    checked: verified.checked().to_vec(),
                    unchecked: verified.unchecked().to_vec(),
                    accuracy: self.bench.spec().accuracy(),
                };
                Judgement::Proven(verified, record)
            }
            Ok(Verdict::Wrong(evidence)) => {
                let sentence = evidence.sentence();
                let json = serde_json::to_string(&evidence).unwrap_or_default();
                Judgement::Wrong(sentence, json)
            }
            Ok(Verdict::Unproven(reason)) => Judgement::Unproven(reason),
            Err(error) => Judgement::Unproven(error.to_string()),
        }
    }

    fn time(
        &mut self,
        new: &Verified,
        best: Option<&Verified>,
        tune: &TuneSize,
        threads: usize,
        effort: Effort,
    ) -> Result<Timing, String> {
        let effort = match effort {
            Effort::Search => measure::Effort::Search,
            Effort::Final => measure::Effort::Final,
        };
        let measured = self
            .bench
            .measure(new, best, tune, threads, effort)
            .map_err(|error| error.to_string())?;
        Ok(Timing {
            tune: tune.to_string(),
            threads: u32::try_from(threads).unwrap_or(u32::MAX),
            reference_ns: measured.reference_ns,
            candidate_ns: measured.candidate_ns,
            speedup: measured.speedup,
            ci95: measured.ci95,
        })
    }

    fn facts(&mut self, proven: &Verified) -> Option<StaticFacts> {
        let hot = disasm::read(&proven.built().path).ok()?.hot();
        let floats = f64::from(hot.float_ops.max(1));
        Some(StaticFacts {
            scalar_share: f64::from(hot.scalar_float) / floats,
            spills: hot.vector_spills,
            fma_density: hot.fma_share(),
            widest: match (hot.zmm, hot.ymm, hot.xmm) {
                (1.., _, _) => 512,
                (0, 1.., _) => 256,
                (0, 0, 1..) => 128,
                (0, 0, 0) => 0,
            },
        })
    }
}
