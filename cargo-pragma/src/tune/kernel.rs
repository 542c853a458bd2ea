//! Tuning one kernel: every target and size, then the winners once more and in full.
//!
//! Owns the order (strongest target first, so that weaker ones start from its plans), the final verification and the
//! choice between kernel and reference. Writes nothing: what is to be vendored is handed back.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Instant;

use pragma_spec::{
    Accuracy, KernelAttribute, Target, TargetOutcome, TuneSize, Variant, VerificationRecord,
};
use pragma_synth::conduct::{Machine, Plan};
use pragma_synth::lift::Lifted;

use super::account::Account;
use super::brief;
use super::engine::{Engine, Limit, Origin, Proposal};
use super::engines::Engines;
use super::evaluator::{Depth, Effort, Evaluator, Judgement};
use super::search::{self, Best, Found, Request};
use super::select::{Contender, variants};
use super::sizes::Size;
use super::synth::{self, Purpose, Synth};
use super::versions::{combine, seeds};
use crate::cli::exit::Failure;
use crate::discover::KernelSource;
use crate::history::{History, HistoryError, RunId, SearchKey, Timing};
use crate::llm::LlmCoder;
use crate::report;
use crate::vendor::{FileVariant, VendoredKernel, compose_file, formatted};

/// How many of the fastest versions of a size get a chance in the final verification.
const FINALISTS: usize = 3;

/// What is to be tuned, and with what.
pub struct Job<'a> {
    /// The function.
    pub kernel: &'a KernelSource,
    /// Its attribute.
    pub attribute: &'a KernelAttribute,
    /// The function, read.
    pub lifted: &'a Lifted,
    /// The sizes.
    pub sizes: &'a [Size],
    /// The targets, weakest first.
    pub targets: &'a [Target],
    /// Threads of this machine.
    pub threads: usize,
    /// Decides test data; part of the manifest.
    pub seed: u64,
    /// The machine's ceilings for a target.
    pub machine: &'a dyn Fn(Target) -> Machine,
    /// What results depend on, for a target.
    pub key: &'a dyn Fn(Target) -> SearchKey,
    /// Where to remember.
    pub history: &'a History,
    /// This run.
    pub run: RunId,
    /// Whether verdicts of earlier runs count.
    pub resume: bool,
    /// What is vendored, if it is for the function as it stands.
    pub previous: Option<&'a VendoredKernel>,
    /// Who writes versions.
    pub engines: &'a Engines,
}

/// What came of one size.
#[derive(Clone, Debug)]
pub struct SizeResult {
    /// The size.
    pub tune: TuneSize,
    /// What runs at it: an entry, or `reference`.
    pub entry: String,
    /// The best proven version against the reference.
    pub timing: Option<Timing>,
    /// The same on one thread.
    pub one_thread: Option<Timing>,
    /// What limits it.
    pub limit: Option<Limit>,
    /// Which part of the machine's ceiling it reaches.
    pub roof_fraction: Option<f64>,
    /// Why the search stopped.
    pub stop: String,
    /// Why nothing was proven, where that is so.
    pub reason: Option<String>,
}

/// What came of one target.
#[derive(Clone, Debug)]
pub struct TargetResult {
    /// The target.
    pub target: Target,
    /// How it ended.
    pub outcome: TargetOutcome,
    /// Why there is no kernel, where there is none.
    pub reason: Option<String>,
    /// Every size, in the attribute's order.
    pub sizes: Vec<SizeResult>,
    /// What dispatch is to do.
    pub variants: Vec<Variant>,
    /// The text of the kernel file, where there is a kernel.
    pub file: Option<String>,
    /// What the winners survived.
    pub record: VerificationRecord,
    /// Candidates tried.
    pub candidates: u64,
    /// Time taken.
    pub seconds: f64,
    /// Whether a budget ended a search.
    pub budget_ended: bool,
}

/// News of a search, for the progress display.
#[derive(Clone, Copy, Debug)]
pub struct News<'a> {
    /// The target.
    pub target: Target,
    /// The size.
    pub tune: &'a TuneSize,
    /// Candidates tried.
    pub tried: u64,
    /// The best so far.
    pub best: Option<&'a Timing>,
}

/// Tunes a kernel. Results are in the order of the job's targets.
///
/// # Errors
/// If the user interrupts, or the history database refuses.
pub fn tune<E: Evaluator>(
    job: &Job<'_>,
    evaluator: &mut E,
    account: &mut Account,
    watch: &mut dyn FnMut(News<'_>),
) -> Result<Vec<TargetResult>, Failure> {
    let mut plans: BTreeMap<usize, Plan> = BTreeMap::new();
    let mut results = Vec::with_capacity(job.targets.len());
    for &target in job.targets.iter().rev() {
        results.push(tune_target(
            job, target, evaluator, account, &mut plans, watch,
        )?);
    }
    results.reverse();
    Ok(results)
}

/// One size after its search.
struct Searched {
    found: Found,
    engine: Synth,
    entry: String,
    row: crate::history::SearchId,
    seconds: f64,
}

fn tune_target<E: Evaluator>(
    job: &Job<'_>,
    target: Target,
    evaluator: &mut E,
    account: &mut Account,
    plans: &mut BTreeMap<usize, Plan>,
    watch: &mut dyn FnMut(News<'_>),
) -> Result<TargetResult, Failure> {
    let start = Instant::now();
    let mut searched = Vec::with_capacity(job.sizes.len());
    for index in 0..job.sizes.len() {
        let one = search_size(
            job,
            target,
            index,
            evaluator,
            account,
            plans.get(&index),
            watch,
        )?;
        if let Some(plan) = one.engine.best_plan() {
            plans.insert(index, plan);
        }
        searched.push(one);
    }
    let mut finals = Finals {
        job,
        record: VerificationRecord::default(),
        failure: None,
    };
    let mut sizes = Vec::with_capacity(searched.len());
    let mut contenders = Vec::with_capacity(searched.len());
    let mut texts: BTreeMap<String, String> = BTreeMap::new();
    for (size, one) in job.sizes.iter().zip(&searched) {
        let winner = finals.winner(size, one, evaluator)?;
        let timing = winner.as_ref().map(|winner| winner.timing.clone());
        contenders.push(Contender {
            tune: size.tune.to_string(),
            elements: size.elements,
            entry: one.entry.clone(),
            engine: winner
                .as_ref()
                .map_or_else(|| synth::NAME.to_owned(), |winner| winner.engine.clone()),
            actions: winner
                .as_ref()
                .map(|winner| winner.proposal.actions.clone())
                .unwrap_or_default(),
            origin: winner
                .as_ref()
                .map_or(Origin::Schedule, |winner| winner.proposal.origin.clone()),
            low: timing.as_ref().map(|timing| timing.ci95.0),
        });
        sizes.push(SizeResult {
            tune: size.tune.clone(),
            entry: one.entry.clone(),
            roof_fraction: timing
                .as_ref()
                .and_then(|timing| one.engine.roof_fraction(timing.candidate_ns)),
            one_thread: winner.as_ref().and_then(|winner| winner.one_thread.clone()),
            limit: timing.as_ref().and(one.found.limit.clone()),
            reason: match timing {
                Some(_) => None,
                None => finals
                    .failure
                    .take()
                    .or_else(|| one.found.last_failure.clone())
                    .or_else(|| Some(one.found.stop.clone())),
            },
            timing,
            stop: one.found.stop.clone(),
        });
        if let Some(winner) = winner {
            texts.insert(one.entry.clone(), winner.proposal.source);
        }
    }
    let variants = variants(contenders, job.seed);
    for size in &mut sizes {
        let text = size.tune.to_string();
        let runs = variants
            .iter()
            .find(|variant| variant.tune.split("; ").any(|tune| tune == text));
        size.entry = runs.map_or_else(|| "reference".to_owned(), |variant| variant.entry.clone());
    }
    let mut result = TargetResult {
        target,
        outcome: TargetOutcome::Unproven,
        reason: None,
        sizes,
        variants,
        file: None,
        record: finals.record.clone(),
        candidates: searched.iter().map(|one| one.found.tried).sum(),
        seconds: 0.0,
        budget_ended: searched.iter().any(|one| one.found.budget_ended),
    };
    conclude(job, &mut result, &texts, evaluator);
    result.seconds = start.elapsed().as_secs_f64();
    for one in &searched {
        job.history
            .end_search(
                one.row,
                result.outcome.name(),
                result.reason.as_deref(),
                &one.found.stop,
                one.seconds,
            )
            .map_err(internal)?;
    }
    Ok(result)
}

fn search_size<E: Evaluator>(
    job: &Job<'_>,
    target: Target,
    index: usize,
    evaluator: &mut E,
    account: &mut Account,
    plan: Option<&Plan>,
    watch: &mut dyn FnMut(News<'_>),
) -> Result<Searched, Failure> {
    let start = Instant::now();
    let size = &job.sizes[index];
    let key = (job.key)(target);
    let name = job.kernel.name();
    let entry = if job.sizes.len() == 1 {
        name
    } else {
        format!("{name}_{}", index + 1)
    };
    let threads = threads(job);
    let mut engine = Synth::new(
        &job.lifted.program,
        Purpose {
            target,
            dims: size.dims.clone(),
            machine: (job.machine)(target),
            exact: is_exact(job),
            parallel: threads > 1,
            entry: entry.clone(),
            seed: plan.cloned(),
        },
    );
    let row = job
        .history
        .begin_search(job.run, &job.kernel.package, job.kernel.id.as_str(), &key)
        .map_err(internal)?;
    let request = Request {
        tune: &size.tune,
        entry: &entry,
        threads,
        history: job.history,
        search: row,
        key: &key,
        resume: job.resume,
        seeds: seeds(job, target, size, &entry, &key, threads)?,
    };
    let mut allowance = account.begin();
    let mut tell = |tried, best: Option<&Timing>| {
        watch(News {
            target,
            tune: &size.tune,
            tried,
            best,
        })
    };
    tell(0, None);
    let mut found = if job.engines.synth {
        Some(search::run(
            &request,
            &mut engine,
            evaluator,
            &mut allowance,
            &mut tell,
        )?)
    } else {
        None
    };
    let mut names = vec![synth::NAME];
    for writer in &job.engines.writers {
        let roof_ns = engine.roof_fraction(1.0);
        let mut task = brief::task(job, target, size, &entry, found.as_ref(), roof_ns);
        let mut tape = job.engines.tape.borrow_mut();
        let machine = tape.through("machine", || (task.machine.clone(), task.roof_ns));
        (task.machine, task.roof_ns) =
            machine.map_err(|why| Failure::usage(why, "record the run again"))?;
        drop(tape);
        let mut coder = LlmCoder::new(Rc::clone(writer), task)
            .map_err(|error| Failure::Internal(error.into()))?;
        // What was best before is known by now, unless nobody has looked at it yet.
        let (mut allowance, seeds) = match &found {
            Some(_) => (account.begin(), Vec::new()),
            None => (allowance.clone(), request.seeds.clone()),
        };
        let request = Request { seeds, ..request };
        let more = search::run(&request, &mut coder, evaluator, &mut allowance, &mut tell);
        for call in writer.borrow_mut().take_calls() {
            job.history.call(row, &call).map_err(internal)?;
        }
        found = Some(Found::merge(
            found,
            more?,
            &names.join(" and "),
            coder.name(),
        ));
        names.push(writer.borrow().engine());
    }
    let found = found.ok_or_else(|| Failure::Internal(anyhow::anyhow!("no engine takes part")))?;
    Ok(Searched {
        found,
        engine,
        entry,
        row,
        seconds: start.elapsed().as_secs_f64(),
    })
}

/// A version that survived the final verification.
struct Winner {
    proposal: Proposal,
    engine: String,
    timing: Timing,
    one_thread: Option<Timing>,
}

/// The final verification of one target.
struct Finals<'a> {
    job: &'a Job<'a>,
    record: VerificationRecord,
    failure: Option<String>,
}

impl Finals<'_> {
    /// The fastest version of a size that survives everything.
    fn winner<E: Evaluator>(
        &mut self,
        size: &Size,
        one: &Searched,
        evaluator: &mut E,
    ) -> Result<Option<Winner>, Failure> {
        for best in one.found.ranked.iter().take(FINALISTS) {
            super::interrupt::check()?;
            if let Some(winner) = self.try_one(size, &one.entry, best, evaluator)? {
                return Ok(Some(winner));
            }
        }
        Ok(None)
    }

    fn try_one<E: Evaluator>(
        &mut self,
        size: &Size,
        entry: &str,
        best: &Best,
        evaluator: &mut E,
    ) -> Result<Option<Winner>, Failure> {
        let history = self.job.history;
        let verdict = |verdict: &str, evidence: &str| {
            history
                .verdict(best.candidate, Depth::Full.name(), verdict, evidence)
                .map_err(internal)
        };
        let reason = |reason: &str| serde_json::json!({ "reason": reason }).to_string();
        let proven = match evaluator.judge(&best.proposal.source, entry, Depth::Full) {
            Judgement::Proven(proven, record) => {
                verdict("verified", "{}")?;
                self.merge(record);
                proven
            }
            Judgement::Wrong(sentence, evidence) => {
                verdict("wrong", &evidence)?;
                self.failure = Some(sentence);
                return Ok(None);
            }
            Judgement::Unproven(why) | Judgement::DoesNotBuild(why) => {
                verdict("unproven", &reason(&why))?;
                self.failure = Some(why);
                return Ok(None);
            }
        };
        let threads = threads(self.job);
        let timing = match evaluator.time(&proven, None, &size.tune, threads, Effort::Final) {
            Ok(timing) => timing,
            Err(why) => {
                self.failure = Some(why);
                return Ok(None);
            }
        };
        history.timing(best.candidate, &timing).map_err(internal)?;
        let one_thread = if threads > 1 {
            evaluator
                .time(&proven, None, &size.tune, 1, Effort::Search)
                .ok()
        } else {
            Some(timing.clone())
        };
        Ok(Some(Winner {
            proposal: best.proposal.clone(),
            engine: best.engine.clone(),
            timing,
            one_thread,
        }))
    }

    fn merge(&mut self, record: VerificationRecord) {
        let add = |into: &mut Vec<String>, from: Vec<String>| {
            for text in from {
                if !into.contains(&text) {
                    into.push(text);
                }
            }
        };
        add(&mut self.record.checked, record.checked);
        add(&mut self.record.unchecked, record.unchecked);
        self.record.accuracy = record.accuracy;
    }
}

/// Says how a target ended, and writes its file if there is a kernel.
///
/// `texts` are the winners' texts by entry.
fn conclude<E: Evaluator>(
    job: &Job<'_>,
    result: &mut TargetResult,
    texts: &BTreeMap<String, String>,
    evaluator: &mut E,
) {
    let proven = result.sizes.iter().any(|size| size.timing.is_some());
    if !proven {
        result.reason = result.sizes.iter().find_map(|size| size.reason.clone());
        return;
    }
    if result.variants.is_empty() {
        let best = result
            .sizes
            .iter()
            .filter_map(|size| size.timing.as_ref())
            .max_by(|a, b| a.speedup.total_cmp(&b.speedup));
        result.outcome = TargetOutcome::ReferenceFastest;
        result.reason = best.map(|timing| {
            format!(
                "the best proven kernel reaches {}",
                report::speedup(timing.speedup, timing.ci95)
            )
        });
        return;
    }
    let kernels: Vec<&Variant> = result
        .variants
        .iter()
        .filter(|variant| variant.entry != "reference")
        .collect();
    let code = match combine(job, result.target, &kernels, texts) {
        Ok(code) => code,
        Err(why) => {
            result.reason = Some(why);
            result.variants.clear();
            return;
        }
    };
    let heads: Vec<FileVariant> = kernels
        .iter()
        .map(|variant| FileVariant {
            entry: variant.entry.clone(),
            tune: variant.tune.clone(),
            engine: variant.engine.clone(),
            actions: variant.actions.clone(),
            authorship: variant.authorship.clone(),
        })
        .collect();
    let file = compose_file(
        &job.kernel.id,
        &job.kernel.fingerprint,
        result.target,
        &heads,
        &code,
    );
    let file = formatted(&file);
    // Each version was verified in full by itself; what is vendored is one file, so it has to show that it is them.
    for variant in &kernels {
        match evaluator.judge(&file, &variant.entry, Depth::Search) {
            Judgement::Proven(..) => {}
            Judgement::Wrong(why, _) | Judgement::Unproven(why) | Judgement::DoesNotBuild(why) => {
                result.reason = Some(format!(
                    "the versions of several sizes do not work in one file: {why}"
                ));
                result.variants.clear();
                return;
            }
        }
    }
    result.outcome = TargetOutcome::Tuned;
    result.file = Some(file);
}

pub(super) fn is_exact(job: &Job<'_>) -> bool {
    job.attribute.accuracy == Accuracy::Exact
}

fn threads(job: &Job<'_>) -> usize {
    match job.attribute.threads {
        Some(most) => job.threads.min(most as usize).max(1),
        None => job.threads,
    }
}

pub(super) fn internal(error: HistoryError) -> Failure {
    Failure::Internal(error.into())
}
