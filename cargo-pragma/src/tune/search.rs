//! The loop: propose, judge, time, remember; for one kernel, target and size.
//!
//! Owns nothing but the order of steps and the best version seen. Engines propose, evaluators judge, the history
//! remembers.

use pragma_spec::TuneSize;
use serde_json::json;

use super::account::Allowance;
use super::engine::{Engine, Feedback, Limit, Proposal, Step};
use super::evaluator::{Depth, Effort, Evaluator, Judgement};
use super::interrupt;
use crate::cli::exit::Failure;
use crate::history::{
    CandidateId, History, HistoryError, Known, NewCandidate, SearchId, SearchKey, Timing,
};

/// What one search works on.
#[derive(Debug)]
pub struct Request<'a> {
    /// The size to optimise for.
    pub tune: &'a TuneSize,
    /// The entry function's name in every source.
    pub entry: &'a str,
    /// Threads allowed.
    pub threads: usize,
    /// Where to remember.
    pub history: &'a History,
    /// The row of this search.
    pub search: SearchId,
    /// What results depend on.
    pub key: &'a SearchKey,
    /// Whether verdicts of earlier runs count.
    pub resume: bool,
    /// Versions that were best before: tried first, so that none is lost.
    pub seeds: Vec<Proposal>,
}

/// The best version of a search.
#[derive(Clone, Debug)]
pub struct Best {
    /// The candidate.
    pub proposal: Proposal,
    /// Its row.
    pub candidate: CandidateId,
    /// Who wrote it.
    pub engine: String,
    /// Its time.
    pub timing: Timing,
}

/// How a search ended.
#[derive(Clone, Debug)]
pub struct Found {
    /// The verified candidates that were timed, fastest first, however they compare with the reference.
    pub ranked: Vec<Best>,
    /// What limits the best version.
    pub limit: Option<Limit>,
    /// Candidates tried.
    pub tried: u64,
    /// Candidates that survived verification.
    pub proven: u64,
    /// Why it stopped.
    pub stop: String,
    /// Why the last candidate that failed did so.
    pub last_failure: Option<String>,
    /// Whether the budget ended it.
    pub budget_ended: bool,
}

impl Found {
    /// What two engines found one after the other. `first` and `second` are their names.
    pub fn merge(earlier: Option<Found>, later: Found, first: &str, second: &str) -> Found {
        let Some(earlier) = earlier else {
            return later;
        };
        let best = |found: &Found| found.ranked.first().map_or(0.0, |best| best.timing.speedup);
        let (ahead, behind) = (best(&later), best(&earlier));
        let won = match (ahead > behind, behind > 0.0) {
            (true, true) => format!("{second} won by {:.1}%", (ahead / behind - 1.0) * 100.0),
            (true, false) => format!("only {second} found a version"),
            (false, _) => format!("{first} was not beaten"),
        };
        let mut ranked = earlier.ranked;
        ranked.extend(later.ranked);
        ranked.sort_by(|a, b| b.timing.speedup.total_cmp(&a.timing.speedup));
        Found {
            ranked,
            limit: if ahead > behind {
                later.limit
            } else {
                earlier.limit
            },
            tried: earlier.tried + later.tried,
            proven: earlier.proven + later.proven,
            stop: format!("{first}: {}; {second}: {}; {won}", earlier.stop, later.stop),
            last_failure: later.last_failure.or(earlier.last_failure),
            budget_ended: earlier.budget_ended || later.budget_ended,
        }
    }
}

/// Runs one search to its end.
///
/// # Errors
/// If the user interrupts, or the history database refuses.
pub fn run<E: Evaluator>(
    request: &Request<'_>,
    engine: &mut dyn Engine,
    evaluator: &mut E,
    allowance: &mut Allowance,
    watch: &mut dyn FnMut(u64, Option<&Timing>),
) -> Result<Found, Failure> {
    let mut search = Search {
        request,
        timed: Vec::new(),
        best: None,
        best_proven: None,
        rows: Vec::new(),
        proven: 0,
        last_failure: None,
    };
    for seed in &request.seeds {
        interrupt::check()?;
        allowance.count_seed();
        search.consider(seed, None, engine, evaluator)?;
        watch(allowance.tried(), search.best_timing());
    }
    let mut feedback = None;
    let (stop, budget_ended) = loop {
        interrupt::check()?;
        if let Some(spent) = allowance.spent() {
            // The engine hears of the last candidate too: what it says of limits is then up to date.
            if feedback.is_some() {
                engine.next(feedback.as_ref());
            }
            break (spent.to_owned(), true);
        }
        match engine.next(feedback.as_ref()) {
            Step::Stop(reason) => break (reason, false),
            Step::Try(proposal) => {
                allowance.count();
                let parent = proposal
                    .parent
                    .and_then(|index| search.rows.get(index).copied());
                let (row, result) = search.consider(&proposal, parent, engine, evaluator)?;
                search.rows.push(row);
                feedback = Some(result);
                watch(allowance.tried(), search.best_timing());
            }
        }
    };
    Ok(Found {
        limit: engine.limit(),
        ranked: ranked(search.timed),
        tried: allowance.tried(),
        proven: search.proven,
        stop,
        last_failure: search.last_failure,
        budget_ended,
    })
}

struct Search<'a, P> {
    request: &'a Request<'a>,
    timed: Vec<Best>,
    /// Which of them is the best.
    best: Option<usize>,
    /// The best version as a loaded candidate; none if its times come from an earlier run.
    best_proven: Option<P>,
    /// Rows of the engine's own proposals, in order.
    rows: Vec<CandidateId>,
    proven: u64,
    last_failure: Option<String>,
}

impl<P> Search<'_, P> {
    fn consider<E: Evaluator<Proven = P>>(
        &mut self,
        proposal: &Proposal,
        parent: Option<CandidateId>,
        engine: &dyn Engine,
        evaluator: &mut E,
    ) -> Result<(CandidateId, Feedback), Failure> {
        let request = self.request;
        let tune = request.tune.to_string();
        let again = self
            .timed
            .iter()
            .find(|one| one.proposal.source == proposal.source);
        if let Some(again) = again {
            // A version from an earlier run, which the engine now proposes by itself.
            let feedback = Feedback::Measured {
                timing: again.timing.clone(),
                facts: None,
            };
            return Ok((again.candidate, feedback));
        }
        let known = if request.resume {
            request
                .history
                .known(request.key, &proposal.source, Depth::Search.name())
                .map_err(internal)?
        } else {
            None
        };
        let new = NewCandidate {
            parent,
            engine: engine.name(),
            tune: &tune,
            actions: &proposal.actions,
            rationale: &proposal.rationale,
            source: &proposal.source,
        };
        let row = request
            .history
            .candidate(request.search, &new)
            .map_err(internal)?;
        let feedback = match known.map(|known| self.recall(known, &tune, proposal, row, engine)) {
            Some(Ok(Some(feedback))) => feedback,
            Some(Err(failure)) => return Err(failure),
            // What could not be judged or timed before may be now.
            Some(Ok(None)) | None => self.judge(proposal, row, engine, evaluator)?,
        };
        Ok((row, feedback))
    }

    /// What an earlier run found out counts as if it were found out now.
    fn recall(
        &mut self,
        known: Known,
        tune: &str,
        proposal: &Proposal,
        row: CandidateId,
        engine: &dyn Engine,
    ) -> Result<Option<Feedback>, Failure> {
        let history = self.request.history;
        let threads = u32::try_from(self.request.threads).unwrap_or(u32::MAX);
        let timing = known
            .timings
            .iter()
            .rev()
            .find(|timing| timing.tune == tune && timing.threads == threads);
        let feedback = match (known.verdict.as_str(), timing) {
            ("does-not-build" | "wrong", _) => {
                let reason = format!("{} in an earlier run", known.verdict);
                self.last_failure = Some(reason.clone());
                Feedback::Refused {
                    reason,
                    evidence: known.evidence.clone(),
                }
            }
            ("verified", Some(timing)) => {
                history.timing(row, timing).map_err(internal)?;
                self.proven += 1;
                self.keep(proposal, row, engine, timing, None);
                Feedback::Measured {
                    timing: timing.clone(),
                    facts: None,
                }
            }
            _ => return Ok(None),
        };
        history
            .verdict(row, Depth::Search.name(), &known.verdict, &known.evidence)
            .map_err(internal)?;
        Ok(Some(feedback))
    }

    fn judge<E: Evaluator<Proven = P>>(
        &mut self,
        proposal: &Proposal,
        row: CandidateId,
        engine: &dyn Engine,
        evaluator: &mut E,
    ) -> Result<Feedback, Failure> {
        let request = self.request;
        let judgement = evaluator.judge(&proposal.source, request.entry, Depth::Search);
        let (verdict, evidence, reason, said) = match judgement {
            Judgement::DoesNotBuild(message) => (
                "does-not-build",
                json!({ "rustc": message }).to_string(),
                "it does not compile".to_owned(),
                message,
            ),
            Judgement::Wrong(sentence, evidence) => ("wrong", evidence.clone(), sentence, evidence),
            Judgement::Unproven(reason) => (
                "unproven",
                json!({ "reason": reason }).to_string(),
                reason,
                String::new(),
            ),
            Judgement::Proven(proven, _) => {
                request
                    .history
                    .verdict(row, Depth::Search.name(), "verified", "{}")
                    .map_err(internal)?;
                self.proven += 1;
                return self.time(proposal, row, engine, evaluator, proven);
            }
        };
        request
            .history
            .verdict(row, Depth::Search.name(), verdict, &evidence)
            .map_err(internal)?;
        self.last_failure = Some(reason.clone());
        Ok(Feedback::Refused {
            reason,
            evidence: said,
        })
    }

    fn time<E: Evaluator<Proven = P>>(
        &mut self,
        proposal: &Proposal,
        row: CandidateId,
        engine: &dyn Engine,
        evaluator: &mut E,
        proven: P,
    ) -> Result<Feedback, Failure> {
        let request = self.request;
        let best = self.best_proven.as_ref();
        let timed = evaluator.time(&proven, best, request.tune, request.threads, Effort::Search);
        let timing = match timed {
            Ok(timing) => timing,
            Err(reason) => {
                self.last_failure = Some(reason.clone());
                return Ok(Feedback::Refused {
                    reason,
                    evidence: String::new(),
                });
            }
        };
        request.history.timing(row, &timing).map_err(internal)?;
        let facts = evaluator.facts(&proven);
        if let Some(facts) = &facts {
            let text = serde_json::to_string(facts).unwrap_or_default();
            request.history.profile(row, &text).map_err(internal)?;
        }
        self.keep(proposal, row, engine, &timing, Some(proven));
        Ok(Feedback::Measured { timing, facts })
    }

    fn keep(
        &mut self,
        proposal: &Proposal,
        candidate: CandidateId,
        engine: &dyn Engine,
        timing: &Timing,
        proven: Option<P>,
    ) {
        // Speedups are paired with the reference in the same minutes, so they compare better than times do.
        let better = self
            .best_timing()
            .is_none_or(|best| best.speedup < timing.speedup);
        if better {
            self.best = Some(self.timed.len());
            self.best_proven = proven;
        }
        self.timed.push(Best {
            proposal: proposal.clone(),
            candidate,
            engine: engine.name().to_owned(),
            timing: timing.clone(),
        });
    }

    fn best_timing(&self) -> Option<&Timing> {
        self.best
            .and_then(|index| self.timed.get(index))
            .map(|best| &best.timing)
    }
}

/// The timed versions, fastest first; each source once.
fn ranked(mut timed: Vec<Best>) -> Vec<Best> {
    timed.sort_by(|a, b| b.timing.speedup.total_cmp(&a.timing.speedup));
    let mut ranked: Vec<Best> = Vec::with_capacity(timed.len());
    for best in timed {
        if ranked
            .iter()
            .all(|known| known.proposal.source != best.proposal.source)
        {
            ranked.push(best);
        }
    }
    ranked
}

fn internal(error: HistoryError) -> Failure {
    Failure::Internal(error.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::budget::Budget;
    use crate::tune::StaticFacts;
    use crate::tune::account::Account;
    use crate::tune::{DEFAULT_PER_KERNEL, Origin};
    use pragma_spec::VerificationRecord;

    /// Proposes sources "0", "1", .. up to a number.
    struct Counter {
        next: usize,
        end: usize,
        heard: Vec<Feedback>,
    }

    impl Engine for Counter {
        fn name(&self) -> &str {
            "counter"
        }

        fn next(&mut self, feedback: Option<&Feedback>) -> Step {
            self.heard.extend(feedback.cloned());
            if self.next == self.end {
                return Step::Stop("counted to the end".to_owned());
            }
            self.next += 1;
            Step::Try(proposal(self.next - 1))
        }

        fn limit(&self) -> Option<Limit> {
            None
        }

        fn roof_fraction(&self, _: f64) -> Option<f64> {
            None
        }
    }

    fn proposal(n: usize) -> Proposal {
        Proposal {
            actions: vec![format!("step({n})")],
            origin: Origin::Schedule,
            source: n.to_string(),
            rationale: String::new(),
            parent: n.checked_sub(1),
        }
    }

    /// Source "1" is wrong, "2" does not build; the others are as fast as their number.
    #[derive(Default)]
    struct Fake {
        judged: usize,
    }

    impl Evaluator for Fake {
        type Proven = f64;

        fn judge(&mut self, source: &str, _: &str, _: Depth) -> Judgement<f64> {
            self.judged += 1;
            match source {
                "1" => Judgement::Wrong("off by one".to_owned(), "{}".to_owned()),
                "2" => Judgement::DoesNotBuild("error".to_owned()),
                other => {
                    Judgement::Proven(other.parse().unwrap_or(0.0), VerificationRecord::default())
                }
            }
        }

        fn time(
            &mut self,
            new: &f64,
            _: Option<&f64>,
            tune: &TuneSize,
            threads: usize,
            _: Effort,
        ) -> Result<Timing, String> {
            Ok(Timing {
                tune: tune.to_string(),
                threads: threads as u32,
                reference_ns: 100.0,
                candidate_ns: 100.0 / new,
                speedup: *new,
                ci95: (*new, *new),
            })
        }

        fn facts(&mut self, _: &f64) -> Option<StaticFacts> {
            None
        }
    }

    fn search(
        history: &History,
        resume: bool,
        seeds: Vec<Proposal>,
        budget: &Budget,
    ) -> (Found, Fake, Vec<Feedback>) {
        let key = SearchKey {
            fingerprint: "f".to_owned(),
            dependencies: String::new(),
            target: "x86-64-v3".to_owned(),
            machine: String::new(),
            tool: String::new(),
            build: String::new(),
        };
        let run_id = history.begin_run("m", "tune").expect("a run");
        let request = Request {
            tune: &TuneSize::default(),
            entry: "dot",
            threads: 1,
            history,
            search: history
                .begin_search(run_id, "p", "dot", &key)
                .expect("a search"),
            key: &key,
            resume,
            seeds,
        };
        let mut engine = Counter {
            next: 0,
            end: 6,
            heard: Vec::new(),
        };
        let mut fake = Fake::default();
        let mut allowance = Account::open(budget, DEFAULT_PER_KERNEL, 1, 1).begin();
        let found = run(
            &request,
            &mut engine,
            &mut fake,
            &mut allowance,
            &mut |_, _| {},
        )
        .expect("a search to its end");
        (found, fake, engine.heard)
    }

    #[test]
    fn the_best_verified_candidate_is_kept() {
        let dir = tempfile::tempdir().expect("a directory");
        let (history, _) = History::open(dir.path()).expect("a database");
        let (found, fake, heard) = search(&history, false, Vec::new(), &Budget::default());
        assert_eq!((found.tried, found.proven, fake.judged), (6, 4, 6));
        assert_eq!(found.stop, "counted to the end");
        assert!(!found.budget_ended);
        assert_eq!(
            found
                .ranked
                .first()
                .map(|best| best.proposal.source.as_str()),
            Some("5")
        );
        assert!(
            matches!(heard[1], Feedback::Refused { .. })
                && matches!(heard[2], Feedback::Refused { .. })
        );

        // The same again, from memory: nothing is judged twice.
        let (again, fake, heard_again) = search(&history, true, Vec::new(), &Budget::default());
        assert_eq!(fake.judged, 0);
        assert_eq!(
            again.ranked.first().map(|best| &best.proposal),
            found.ranked.first().map(|best| &best.proposal)
        );
        assert_eq!(heard_again.len(), heard.len());
    }

    #[test]
    fn earlier_winners_are_not_lost() {
        let dir = tempfile::tempdir().expect("a directory");
        let (history, _) = History::open(dir.path()).expect("a database");
        let budget = Budget {
            candidates: Some(3),
            ..Budget::default()
        };
        let (found, _, _) = search(&history, false, vec![proposal(9)], &budget);
        assert_eq!((found.tried, found.budget_ended), (3, true));
        assert_eq!(
            found
                .ranked
                .first()
                .map(|best| best.proposal.source.as_str()),
            Some("9")
        );
        let searches = history.searches("p", "dot", 1).expect("searches");
        assert_eq!(searches[0].candidates.len(), 3);
    }
}
