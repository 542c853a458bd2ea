//! The loop: propose, judge, time, remember; for one kernel, target and size.
//!
//! Owns nothing but the order of steps and the best version seen. Engines propose, evaluators judge, the history
//! remembers.

use pragma_spec::TuneSize;
use serde_json::json;

use super::account::Allowance;
use super::engine::{Engine, Feedback, Profile, Proposal, Step};
use super::evaluator::{Depth, Effort, Evaluator, Judgement};
use super::interrupt;
use crate::cli::exit::Failure;
use crate::history::{
    CandidateId, History, HistoryError, NewCandidate, SearchId, SearchKey, Timing,
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
    /// What limits it.
    pub profile: Profile,
    /// The same in a few words.
    pub bottleneck: Option<String>,
}

/// How a search ended.
#[derive(Clone, Debug)]
pub struct Found {
    /// The fastest verified candidate, however it compares with the reference.
    pub best: Option<Best>,
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
        best: None,
        best_proven: None,
        rows: Vec::new(),
        proven: 0,
        last_failure: None,
    };
    for seed in &request.seeds {
        interrupt::check()?;
        allowance.count();
        search.consider(seed, None, engine, evaluator)?;
        watch(
            allowance.tried(),
            search.best.as_ref().map(|best| &best.timing),
        );
    }
    let mut feedback = None;
    let (stop, budget_ended) = loop {
        interrupt::check()?;
        if let Some(spent) = allowance.spent() {
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
                watch(
                    allowance.tried(),
                    search.best.as_ref().map(|best| &best.timing),
                );
            }
        }
    };
    Ok(Found {
        best: search.best,
        tried: allowance.tried(),
        proven: search.proven,
        stop,
        last_failure: search.last_failure,
        budget_ended,
    })
}

struct Search<'a, P> {
    request: &'a Request<'a>,
    best: Option<Best>,
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
        if let Some(known) = known {
            let timing = known.timings.iter().rev().find(|timing| {
                timing.tune == tune
                    && usize::try_from(timing.threads).is_ok_and(|n| n == request.threads)
            });
            let feedback = match (known.verdict.as_str(), timing) {
                ("does-not-build", _) => Some(Feedback::DoesNotBuild(known.evidence.clone())),
                ("wrong", _) => Some(Feedback::Wrong(known.evidence.clone())),
                ("verified", Some(timing)) => {
                    self.proven += 1;
                    let profile = Profile::default();
                    let best = self.keep_if_better(proposal, row, engine, timing, &profile, None);
                    Some(Feedback::Measured {
                        timing: timing.clone(),
                        best,
                        profile,
                    })
                }
                // What could not be judged may be judged now.
                _ => None,
            };
            if let Some(feedback) = feedback {
                request
                    .history
                    .verdict(row, Depth::Search.name(), &known.verdict, &known.evidence)
                    .map_err(internal)?;
                if let Feedback::Measured { timing, .. } = &feedback {
                    request.history.timing(row, timing).map_err(internal)?;
                }
                return Ok((row, feedback));
            }
        }
        let verdict = |name: &str, evidence: &str| {
            request
                .history
                .verdict(row, Depth::Search.name(), name, evidence)
                .map_err(internal)
        };
        let feedback = match evaluator.judge(&proposal.source, request.entry, Depth::Search) {
            Judgement::DoesNotBuild(message) => {
                verdict("does-not-build", &json!({ "rustc": message }).to_string())?;
                self.last_failure = Some("a candidate does not compile".to_owned());
                Feedback::DoesNotBuild(message)
            }
            Judgement::Wrong(sentence, evidence) => {
                verdict("wrong", &evidence)?;
                self.last_failure = Some(sentence.clone());
                Feedback::Wrong(sentence)
            }
            Judgement::Unproven(reason) => {
                verdict("unproven", &json!({ "reason": reason }).to_string())?;
                self.last_failure = Some(reason.clone());
                Feedback::Unproven(reason)
            }
            Judgement::Proven(proven, _) => {
                verdict("verified", "{}")?;
                self.proven += 1;
                let timed = evaluator.time(
                    &proven,
                    self.best_proven.as_ref(),
                    request.tune,
                    request.threads,
                    Effort::Search,
                );
                match timed {
                    Err(reason) => {
                        self.last_failure = Some(reason.clone());
                        Feedback::Unproven(reason)
                    }
                    Ok(timing) => {
                        request.history.timing(row, &timing).map_err(internal)?;
                        let profile = evaluator.profile(&proven, request.tune, request.threads);
                        let text = serde_json::to_string(&profile).unwrap_or_default();
                        request.history.profile(row, &text).map_err(internal)?;
                        let best = self.keep_if_better(
                            proposal,
                            row,
                            engine,
                            &timing,
                            &profile,
                            Some(proven),
                        );
                        Feedback::Measured {
                            timing,
                            best,
                            profile,
                        }
                    }
                }
            }
        };
        Ok((row, feedback))
    }

    fn keep_if_better(
        &mut self,
        proposal: &Proposal,
        candidate: CandidateId,
        engine: &dyn Engine,
        timing: &Timing,
        profile: &Profile,
        proven: Option<P>,
    ) -> bool {
        // Speedups are paired with the reference in the same minutes, so they compare better than times do.
        if self
            .best
            .as_ref()
            .is_some_and(|best| best.timing.speedup >= timing.speedup)
        {
            return false;
        }
        self.best = Some(Best {
            proposal: proposal.clone(),
            candidate,
            engine: engine.name().to_owned(),
            timing: timing.clone(),
            profile: profile.clone(),
            bottleneck: engine.bottleneck(timing, profile),
        });
        self.best_proven = proven;
        true
    }
}

fn internal(error: HistoryError) -> Failure {
    Failure::Internal(error.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::budget::Budget;
    use crate::tune::account::Account;
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

        fn bottleneck(&self, _: &Timing, _: &Profile) -> Option<String> {
            None
        }
    }

    fn proposal(n: usize) -> Proposal {
        Proposal {
            actions: vec![format!("step({n})")],
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

        fn profile(&mut self, _: &f64, _: &TuneSize, _: usize) -> Profile {
            Profile::default()
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
        let mut allowance = Account::open(budget, 1, 1).begin();
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
                .best
                .as_ref()
                .map(|best| best.proposal.source.as_str()),
            Some("5")
        );
        assert!(
            matches!(heard[1], Feedback::Wrong(_)) && matches!(heard[2], Feedback::DoesNotBuild(_))
        );

        // The same again, from memory: nothing is judged twice.
        let (again, fake, heard_again) = search(&history, true, Vec::new(), &Budget::default());
        assert_eq!(fake.judged, 0);
        assert_eq!(
            again.best.map(|best| best.proposal),
            found.best.map(|best| best.proposal)
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
            found.best.map(|best| best.proposal.source),
            Some("9".to_owned())
        );
        let searches = history.searches("p", "dot", 1).expect("searches");
        assert_eq!(searches[0].candidates.len(), 3);
    }
}
