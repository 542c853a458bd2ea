//! Timing a candidate beside the reference and the current best.
//!
//! Owns what is timed together and for how long. All contenders run in one worker on the same arguments, in random
//! order in every round; only raw samples leave it.

use std::time::Duration;

use pragma_spec::TuneSize;
use serde::{Deserialize, Serialize};

use super::statistics::{bootstrap_ratio, median};
use crate::verify::{Bench, BenchError, Verified};
use crate::worker::abi;

/// How much time a comparison may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// About a quarter of a second: to choose the next step of a search.
    Search,
    /// About one and a half seconds: for figures that are reported.
    Final,
}

impl Effort {
    fn budget(self) -> Duration {
        match self {
            Effort::Search => Duration::from_millis(250),
            Effort::Final => Duration::from_millis(1500),
        }
    }

    fn max_rounds(self) -> usize {
        match self {
            Effort::Search => 60,
            Effort::Final => 400,
        }
    }
}

/// Times of one comparison, nanoseconds per call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// Median of the reference.
    pub reference_ns: f64,
    /// Median of the best so far, if there was one.
    pub best_ns: Option<f64>,
    /// Median of the candidate.
    pub candidate_ns: f64,
    /// `reference_ns / candidate_ns`.
    pub speedup: f64,
    /// Its 95% interval.
    pub ci95: (f64, f64),
    /// `best_ns / candidate_ns` and its 95% interval: above 1 the candidate is better.
    pub against_best: Option<(f64, (f64, f64))>,
    /// Rounds measured.
    pub rounds: usize,
    /// Threads that the contenders could use.
    pub threads: usize,
}

impl Bench {
    /// Times a verified candidate on a tuning size, on `threads` threads.
    ///
    /// # Errors
    /// If the size does not fit the kernel's shapes, or a contender dies while being timed.
    pub fn measure(
        &mut self,
        new: &Verified,
        best: Option<&Verified>,
        tune: &TuneSize,
        threads: usize,
        effort: Effort,
    ) -> Result<Measurement, BenchError> {
        let mut contenders = vec![new];
        contenders.extend(best);
        let rounds = self.time_all(&contenders, tune, threads, effort)?;
        let column = |i: usize| rounds.iter().map(|round| round[i]).collect::<Vec<f64>>();
        let (reference, candidate) = (column(0), column(1));
        let (reference_ns, candidate_ns) = (median(&reference), median(&candidate));
        let seed = self.derive(0x71e);
        let best_column = best.map(|_| column(2));
        Ok(Measurement {
            reference_ns,
            candidate_ns,
            best_ns: best_column.as_deref().map(median),
            speedup: reference_ns / candidate_ns,
            ci95: bootstrap_ratio(&reference, &candidate, seed),
            against_best: best_column.map(|best| {
                (
                    median(&best) / candidate_ns,
                    bootstrap_ratio(&best, &candidate, seed),
                )
            }),
            rounds: rounds.len(),
            threads,
        })
    }

    /// The reference's own time on a tuning size, nanoseconds per call.
    ///
    /// # Errors
    /// As [`Bench::measure`].
    pub fn measure_reference(
        &mut self,
        tune: &TuneSize,
        threads: usize,
        effort: Effort,
    ) -> Result<f64, BenchError> {
        let rounds = self.time_all(&[], tune, threads, effort)?;
        Ok(median(
            &rounds.iter().map(|round| round[0]).collect::<Vec<_>>(),
        ))
    }

    /// Raw samples: the reference first, then `contenders`.
    fn time_all(
        &mut self,
        contenders: &[&Verified],
        tune: &TuneSize,
        threads: usize,
        effort: Effort,
    ) -> Result<Vec<Vec<f64>>, BenchError> {
        let broken = |what: &str| {
            let what = what.to_owned();
            move |error: crate::worker::WorkerError| BenchError::Broken(format!("{what}: {error}"))
        };
        let args = self.tuning_args(tune).ok_or_else(|| {
            BenchError::Unprovable(format!(
                "the tuning size ({tune}) does not fit the kernel's shapes"
            ))
        })?;
        let mut worker = self.worker(threads).map_err(broken("timing"))?;
        let reference = self.reference();
        let mut libraries = vec![
            worker
                .load(&reference.path, &reference.symbol)
                .map_err(broken("timing the reference"))?,
        ];
        for contender in contenders {
            libraries.push(
                worker
                    .load(&contender.built().path, abi::CANDIDATE)
                    .map_err(broken("timing a candidate"))?,
            );
        }
        let seed = self.derive(0x0de5);
        let samples = worker
            .time(
                &libraries,
                &args,
                threads,
                effort.budget(),
                effort.max_rounds(),
                seed,
            )
            .map_err(broken("timing"))?;
        if samples.is_empty()
            || samples
                .iter()
                .flatten()
                .any(|ns| !ns.is_finite() || *ns < 0.0)
        {
            return Err(BenchError::Broken("timing gave no samples".into()));
        }
        Ok(samples)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn final_figures_take_longer() {
        assert!(Effort::Final.budget() > Effort::Search.budget());
        assert!(Effort::Final.max_rounds() > Effort::Search.max_rounds());
    }
}
