//! Timing a candidate beside the reference and the current best.
//!
//! Owns what is timed together and for how long. All contenders run in one worker on the same arguments, in random
//! order in every round; only raw samples leave it.

use std::time::Duration;

use pragma_spec::TuneSize;
use serde::{Deserialize, Serialize};

use super::statistics::{bootstrap_ratio, median};
use crate::verify::{Bench, BenchError, Verified};
use crate::worker::{WorkerError, abi};

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
    /// The candidate and the best so far are always timed side by side. Under [`Effort::Search`] the reference, which
    /// may be hundreds of times slower, is timed the first time only and remembered; figures to report come from
    /// [`Effort::Final`], where all of them take part in every round.
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
        let known = self.reference_times.get(&(tune.to_string(), threads));
        let known = known.filter(|_| effort == Effort::Search).cloned();
        let mut contenders = vec![Contender::Candidate(new)];
        contenders.extend(best.map(Contender::Candidate));
        if known.is_none() {
            contenders.push(Contender::Reference);
        }
        let rounds = self.time_all(&contenders, tune, threads, effort)?;
        let column = |i: usize| rounds.iter().map(|round| round[i]).collect::<Vec<f64>>();
        let candidate = column(0);
        let best = best.map(|_| column(1));
        let reference = match known {
            Some(times) => times,
            None => self.remember(tune, threads, column(contenders.len() - 1)),
        };
        let (reference_ns, candidate_ns) = (median(&reference), median(&candidate));
        let seed = self.derive(0x71e);
        Ok(Measurement {
            reference_ns,
            candidate_ns,
            best_ns: best.as_deref().map(median),
            speedup: reference_ns / candidate_ns,
            ci95: bootstrap_ratio(&reference, &candidate, seed),
            against_best: best.map(|best| {
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
        let rounds = self.time_all(&[Contender::Reference], tune, threads, effort)?;
        let times = self.remember(tune, threads, rounds.iter().map(|round| round[0]).collect());
        Ok(median(&times))
    }

    fn remember(&mut self, tune: &TuneSize, threads: usize, times: Vec<f64>) -> Vec<f64> {
        self.reference_times
            .insert((tune.to_string(), threads), times.clone());
        times
    }

    /// Raw samples: one row a round, one column a contender.
    fn time_all(
        &mut self,
        contenders: &[Contender<'_>],
        tune: &TuneSize,
        threads: usize,
        effort: Effort,
    ) -> Result<Vec<Vec<f64>>, BenchError> {
        let broken = |error: WorkerError| BenchError::Broken(format!("timing: {error}"));
        let args = self.tuning_args(tune).ok_or_else(|| {
            BenchError::Unprovable(format!(
                "the tuning size ({tune}) does not fit the kernel's shapes"
            ))
        })?;
        let mut worker = self.worker_beside_reference(threads).map_err(broken)?;
        let mut libraries = Vec::new();
        for contender in contenders {
            let (path, symbol) = match contender {
                Contender::Reference => (&self.reference().path, self.reference().symbol.as_str()),
                Contender::Candidate(verified) => (&verified.built().path, abi::CANDIDATE),
            };
            libraries.push(worker.load(path, symbol).map_err(broken)?);
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
            .map_err(broken)?;
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

/// Something to time.
enum Contender<'a> {
    Reference,
    Candidate(&'a Verified),
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
