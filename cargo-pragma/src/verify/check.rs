//! Trying a candidate on a bench's cases: the checks, their order, and the verdict.
//!
//! Owns [`Verified`], which nothing else can make. A worker that dies says something about the candidate in it and about
//! nothing else.

use serde::{Deserialize, Serialize};

use super::bench::{Bench, BenchError, Expected, Prepared};
use super::cases::{self, Case};
use super::judge::{Piece, Tally, judge};
use super::spec::Output;
use crate::harness::Built;
use crate::process::confine::Confinement;
use crate::worker::abi;
use crate::worker::protocol::{ArgSpec, Layout, Poison};
use crate::worker::{Called, Worker, WorkerError};

/// How much a verification covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Enough to go on searching from a candidate: a few hundred small cases.
    Search,
    /// What a winner has survived: also held-out sizes and the tuning sizes themselves.
    Full,
}

/// What a wrong candidate did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// What happened, one line.
    pub message: String,
    /// The case: kind of values and sizes.
    pub case: String,
    /// The dimensions.
    pub dims: Vec<u64>,
    /// The seed of the values.
    pub seed: u64,
    /// The output concerned.
    pub output: Option<String>,
    /// The element concerned.
    pub index: Option<usize>,
    /// The exact result, where there is an oracle.
    pub exact: Option<f64>,
    /// The reference's result.
    pub reference: Option<String>,
    /// The candidate's result.
    pub got: Option<String>,
    /// The largest error that would have passed.
    pub allowed: Option<f64>,
}

impl Evidence {
    /// All of it in one sentence.
    pub fn sentence(&self) -> String {
        let place = match (&self.output, self.index) {
            (Some(output), Some(index)) => format!(" at `{output}`[{index}]"),
            (Some(output), None) => format!(" in `{output}`"),
            _ => String::new(),
        };
        let numbers: Vec<String> = [
            self.exact.map(|exact| format!("expected {exact:e} (f64)")),
            self.reference.as_ref().map(|it| format!("reference {it}")),
            self.got.as_ref().map(|it| format!("got {it}")),
            self.allowed.map(|allowed| match allowed {
                0.0 => "no error is allowed".to_owned(),
                _ => format!("allowed error {allowed:.2e}"),
            }),
        ]
        .into_iter()
        .flatten()
        .collect();
        let colon = if numbers.is_empty() { "" } else { ": " };
        format!(
            "{}{place}{colon}{} ({})",
            self.message,
            numbers.join(", "),
            self.case
        )
    }
}

/// The verdict over a candidate.
#[derive(Clone, Debug)]
pub enum Verdict {
    /// It is not the user's function.
    Wrong(Box<Evidence>),
    /// Nothing wrong was found, but it could not be tried either.
    Unproven(String),
    /// It survived everything at the level asked for.
    Verified(Verified),
}

/// A candidate that was verified; only [`Bench::verify`] makes one.
#[derive(Clone, Debug)]
pub struct Verified {
    built: Built,
    level: Level,
    tally: Tally,
    cases: usize,
    checked: Vec<String>,
    unchecked: Vec<String>,
}

impl Verified {
    /// The library.
    pub fn built(&self) -> &Built {
        &self.built
    }
    /// How much was covered.
    pub fn level(&self) -> Level {
        self.level
    }
    /// What was compared, over all cases.
    pub fn tally(&self) -> Tally {
        self.tally
    }
    /// How many cases it was tried on.
    pub fn cases(&self) -> usize {
        self.cases
    }
    /// What was checked, for the manifest.
    pub fn checked(&self) -> &[String] {
        &self.checked
    }
    /// What was not checked, for the manifest.
    pub fn unchecked(&self) -> &[String] {
        &self.unchecked
    }
}

/// Cases with fewer bytes than this are too small to be shared out, so thread counts are not varied on them.
const PARALLEL_BYTES: u64 = 128 << 10;
/// Buffers of a full verification's tuning sizes stay below this.
const FULL_BYTES: u64 = 1 << 30;
/// The pool inside verifying workers: enough for 1, 2 and 4 threads, whatever the machine has.
const POOL: usize = 4;

impl Bench {
    /// Verifies a candidate in a fresh worker.
    ///
    /// # Errors
    /// If the machine or the harness is in the way; a candidate that misbehaves is a verdict.
    pub fn verify(&mut self, built: &Built, level: Level) -> Result<Verdict, BenchError> {
        let broken = |error: WorkerError| BenchError::Broken(error.to_string());
        let mut run = Run {
            worker: self.worker(POOL).map_err(broken)?,
            library: 0,
            tally: Tally::default(),
            declined: 0,
        };
        let symbol = match self.outputs.iter().any(|output| output.is_vec) {
            true => abi::CANDIDATE_INTO,
            false => built.symbol.as_str(),
        };
        match run.worker.load(&built.path, symbol) {
            Ok(library) => run.library = library,
            Err(error) => {
                return Ok(Verdict::Unproven(format!(
                    "the candidate cannot be loaded: {error}"
                )));
            }
        }
        let mut done = 0;
        for (i, prepared) in self.cases.iter().enumerate() {
            if let Some(evidence) = self.check(&mut run, prepared, i)? {
                return Ok(Verdict::Wrong(evidence));
            }
            done += usize::from(!matches!(prepared.expected, Expected::Nothing));
        }
        for case in cases::refused(&self.spec, self.seed) {
            if let Some(evidence) = self.check_refusal(&mut run, &case)? {
                return Ok(Verdict::Wrong(evidence));
            }
        }
        let mut untried = Vec::new();
        if level == Level::Full {
            self.prepare_held_out()?;
            for (i, prepared) in self.held_out.iter().enumerate() {
                if matches!(prepared.expected, Expected::Nothing) {
                    untried.push(format!(
                        "{}: the reference gave no answer",
                        prepared.case.name
                    ));
                    continue;
                }
                done += 1;
                if let Some(evidence) = self.check(&mut run, prepared, i)? {
                    return Ok(Verdict::Wrong(evidence));
                }
            }
        }
        if run.declined * 2 > done {
            return Ok(Verdict::Unproven(format!(
                "the candidate declines {} of {done} cases that the reference answers",
                run.declined
            )));
        }
        let (checked, mut unchecked) = self.coverage(built, level, done, run.tally);
        if run.declined > 0 {
            unchecked.push(format!(
                "{} cases that kernels leave to the reference, though it answers",
                run.declined
            ));
        }
        unchecked.extend(untried);
        Ok(Verdict::Verified(Verified {
            built: built.clone(),
            level,
            tally: run.tally,
            cases: done,
            checked,
            unchecked,
        }))
    }

    /// Computes what held-out cases should give, once: several winners are tried on them.
    pub(super) fn prepare_held_out(&mut self) -> Result<(), BenchError> {
        if self.held_out.is_empty() {
            for case in cases::held_out(&self.spec, self.seed, FULL_BYTES) {
                let expected = self.expect(&case)?;
                self.held_out.push(Prepared { case, expected });
            }
        }
        Ok(())
    }

    /// One case, in all its repetitions. `at` varies which layouts it meets.
    fn check(
        &self,
        run: &mut Run,
        prepared: &Prepared,
        at: usize,
    ) -> Result<Option<Box<Evidence>>, BenchError> {
        let case = &prepared.case;
        let args = self.candidate_args(case);
        // Every other case is also tried where buffers are badly aligned. Those in between come directly after the case of
        // the same sizes before them: new data at the same addresses.
        let layouts = match at % 4 {
            0 => [Some(Layout::Odd), Some(Layout::Right)],
            2 => [Some(Layout::Left), Some(Layout::Right)],
            _ => [None, Some(Layout::Right)],
        };
        let mut first: Option<Called> = None;
        for layout in layouts.into_iter().flatten() {
            let called = match self.run(run, &args, layout, Poison::A, 0) {
                Ok(called) => called,
                Err(error) => return fatal(case, error),
            };
            let (reference, oracle) = match &prepared.expected {
                Expected::Nothing => return Ok(None),
                Expected::Panic | Expected::Refused => {
                    return Ok(self.check_decline(case, &args, &called, &prepared.expected));
                }
                Expected::Values { reference, oracle } => (reference, oracle.as_deref()),
            };
            if called.status == abi::STATUS_GUARD && self.may_decline(case) {
                run.declined += 1;
                return Ok(self.changed(case, &args, &called));
            }
            // Bits that have been judged once need not be judged again.
            let same =
                |first: &Called| first.status == called.status && first.outputs == called.outputs;
            let judged = called.overrun.is_none() && first.as_ref().is_some_and(same);
            if !judged
                && let Some(wrong) =
                    self.judge_call(&mut run.tally, case, &called, reference, oracle)
            {
                return Ok(Some(wrong));
            }
            first = Some(called);
        }
        let Some(first) = first else {
            return Ok(None);
        };
        let again = match self.run(run, &args, Layout::Right, Poison::B, 0) {
            Ok(called) => called,
            Err(error) => return fatal(case, error),
        };
        if let Some(wrong) = self.compare_repeat(case, &first, &again) {
            return Ok(Some(wrong));
        }
        if args.iter().map(ArgSpec::bytes).sum::<u64>() >= PARALLEL_BYTES {
            // Without a limit, as before, it was all of the pool.
            for threads in [1, 2] {
                let called = match self.run(run, &args, Layout::Right, Poison::A, threads) {
                    Ok(called) => called,
                    Err(error) => return fatal(case, error),
                };
                if called.outputs != first.outputs {
                    return Ok(Some(evidence(
                        case,
                        &format!("the result depends on the number of threads ({threads})"),
                    )));
                }
            }
        }
        Ok(None)
    }

    /// Arguments that the guard must refuse.
    fn check_refusal(
        &self,
        run: &mut Run,
        case: &Case,
    ) -> Result<Option<Box<Evidence>>, BenchError> {
        let args = self.candidate_args(case);
        match run.call(&args, Layout::Right, Poison::A, 0) {
            Ok(called) if called.status == abi::STATUS_GUARD => Ok(None),
            Ok(_) => Ok(Some(evidence(
                case,
                "the candidate takes arguments that its shapes exclude",
            ))),
            Err(error) => fatal(case, error),
        }
    }

    pub(super) fn candidate_args(&self, case: &Case) -> Vec<ArgSpec> {
        let mut args = self.spec.args(case, &self.write_only);
        args.extend(self.spec.return_args(case));
        args
    }

    pub(super) fn judge_call(
        &self,
        tally: &mut Tally,
        case: &Case,
        called: &Called,
        reference: &[Vec<u8>],
        oracle: Option<&[Vec<u8>]>,
    ) -> Option<Box<Evidence>> {
        if let Some(arg) = called.overrun {
            let name = self
                .spec
                .signature
                .params
                .get(arg)
                .map_or("the result", |param| param.name.as_str());
            return Some(evidence(
                case,
                &format!("the candidate writes outside of `{name}`"),
            ));
        }
        match called.status {
            abi::STATUS_OK => {}
            abi::STATUS_PANIC => return Some(evidence(case, "the candidate panics")),
            abi::STATUS_GUARD => {
                return Some(evidence(
                    case,
                    "the candidate's guard refuses arguments that its shapes allow",
                ));
            }
            status => {
                return Some(evidence(
                    case,
                    &format!("the candidate ends with status {status}"),
                ));
            }
        }
        if called.outputs.len() != reference.len() {
            return Some(evidence(
                case,
                "the candidate returns another number of values",
            ));
        }
        for (i, output) in self.outputs.iter().enumerate() {
            let piece = Piece {
                elem: output.elem,
                reference: &reference[i],
                oracle: oracle.and_then(|oracle| oracle.get(i)).map(Vec::as_slice),
                got: &called.outputs[i],
            };
            match judge(piece, self.policy(output.elem, oracle.is_some())) {
                Ok(judged) => tally.add(judged),
                Err(mismatch) => {
                    let mut wrong = evidence(case, "wrong result");
                    if self.is_poison(output, &called.outputs[i], mismatch.index) {
                        wrong.message = "an element of the output is not written".into();
                    }
                    wrong.output = Some(output.name.clone());
                    wrong.index = Some(mismatch.index);
                    wrong.exact = mismatch.exact;
                    wrong.reference = Some(mismatch.reference);
                    wrong.got = Some(mismatch.got);
                    wrong.allowed = Some(mismatch.allowed);
                    return Some(wrong);
                }
            }
        }
        None
    }

    /// The same call with another poison must give the same bits.
    pub(super) fn compare_repeat(
        &self,
        case: &Case,
        first: &Called,
        again: &Called,
    ) -> Option<Box<Evidence>> {
        let pairs = self
            .outputs
            .iter()
            .zip(first.outputs.iter().zip(&again.outputs));
        for (output, (a, b)) in pairs {
            if a == b {
                continue;
            }
            let size = output.elem.bytes();
            let index = a
                .iter()
                .zip(b)
                .position(|(x, y)| x != y)
                .unwrap_or(a.len().min(b.len()))
                / size;
            let message = if self.is_poison(output, a, index) {
                "an element of the output is not written"
            } else {
                "the same call twice gives different results"
            };
            let mut wrong = evidence(case, message);
            wrong.output = Some(output.name.clone());
            wrong.index = Some(index);
            return Some(wrong);
        }
        (again.status != first.status)
            .then(|| evidence(case, "the same call twice ends differently"))
    }

    /// Whether the element still holds the first poison.
    fn is_poison(&self, output: &Output, bytes: &[u8], index: usize) -> bool {
        let poisoned = match output.param {
            Some(param) => self.write_only.get(param) == Some(&true),
            None => output.is_vec,
        };
        let size = output.elem.bytes();
        let mut poison = vec![0; size];
        Poison::A.fill(&mut poison, output.elem);
        poisoned && bytes.get(index * size..(index + 1) * size) == Some(poison.as_slice())
    }

    /// What was checked and what was not, in words for the manifest. The same verification gives the same words.
    fn coverage(
        &self,
        built: &Built,
        level: Level,
        cases: usize,
        tally: Tally,
    ) -> (Vec<String>, Vec<String>) {
        let mut checked = vec![
            format!("accuracy ({}) on {cases} cases", self.spec.accuracy()),
            "every output element written, nothing outside of the buffers, inputs read-only"
                .to_owned(),
            "unaligned buffers; new data at old addresses".to_owned(),
            "repeated calls and 1, 2 and 4 threads bit-identical".to_owned(),
            "shapes that the guard excludes are refused".to_owned(),
        ];
        let mut unchecked = Vec::new();
        if built.screened {
            checked.push("source screened: arithmetic and memory, nothing else named".to_owned());
        } else {
            unchecked.push("screening of the source".to_owned());
        }
        match self.limits.sandbox.confinement {
            Confinement::Required => checked.push(
                "in a sandbox: no files, no network, no other programs or processes".to_owned(),
            ),
            Confinement::Waived => {
                unchecked.push("confinement: run with --allow-unsandboxed".to_owned());
            }
        }
        if self.spec.attribute.assume_finite {
            unchecked.push("NaN and infinities: assumed absent".to_owned());
        } else {
            checked.push("NaN, infinities, denormals and zeros".to_owned());
        }
        let panics = self
            .cases
            .iter()
            .filter(|p| matches!(p.expected, Expected::Panic))
            .count();
        if panics > 0 {
            checked.push(format!(
                "panics where the reference panics ({panics} cases)"
            ));
        }
        let refusals = self
            .cases
            .iter()
            .filter(|p| matches!(p.expected, Expected::Refused))
            .count();
        if refusals > 0 {
            checked.push(format!(
                "nothing touched where the reference returns an error or nothing ({refusals} cases)"
            ));
        }
        let silent = self
            .cases
            .iter()
            .filter(|p| matches!(p.expected, Expected::Nothing))
            .count();
        if silent > 0 {
            unchecked.push(format!(
                "{silent} cases on which the reference dies or takes too long"
            ));
        }
        if tally.skipped > 0 {
            unchecked.push(format!(
                "{} elements where the reference overflows and the exact result does not",
                tally.skipped
            ));
        }
        match level {
            Level::Full => checked.push("held-out sizes and the tuning sizes".to_owned()),
            Level::Search => unchecked.push("held-out sizes and the tuning sizes".to_owned()),
        }
        (checked, unchecked)
    }
}

/// A candidate in its worker.
pub(super) struct Run {
    worker: Worker,
    library: usize,
    tally: Tally,
    /// Cases left to the reference, though it has a result.
    declined: usize,
}

impl Run {
    pub(super) fn call(
        &mut self,
        args: &[ArgSpec],
        layout: Layout,
        poison: Poison,
        threads: usize,
    ) -> Result<Called, WorkerError> {
        self.worker
            .call(self.library, args, layout, poison, threads)
    }
}

pub(super) fn evidence(case: &Case, message: &str) -> Box<Evidence> {
    Box::new(Evidence {
        message: message.to_owned(),
        case: case.name.clone(),
        dims: case.dims.clone(),
        seed: case.seed,
        output: None,
        index: None,
        exact: None,
        reference: None,
        got: None,
        allowed: None,
    })
}

/// The verdict over a candidate whose worker gave no answer.
fn fatal(case: &Case, error: WorkerError) -> Result<Option<Box<Evidence>>, BenchError> {
    match error {
        WorkerError::Died { .. } => Ok(Some(evidence(case, &error.to_string()))),
        WorkerError::TimedOut(after) => Ok(Some(evidence(
            case,
            &format!("the candidate does not return within {after:?}"),
        ))),
        WorkerError::Start(_) | WorkerError::Refused(_) => {
            Err(BenchError::Broken(error.to_string()))
        }
    }
}
