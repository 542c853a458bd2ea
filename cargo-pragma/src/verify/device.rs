//! Trying a candidate on a GPU on a bench's cases.
//!
//! Owns the checks that make sense on a device and the words for them. Values are judged exactly as on the CPU: against
//! the user's own compiled function and the f64 oracle, by the parent.

use pragma_spec::{ParamKind, ReturnSig, TuneSize};

use super::bench::{Bench, BenchError, Expected, Prepared};
use super::cases::{self, Case};
use super::check::{Evidence, Level, evidence};
use super::judge::Tally;
use super::spec::KernelSpec;
use crate::worker::abi;
use crate::worker::cuda::GpuWorker;
use crate::worker::cuda::protocol::DeviceCall;
use crate::worker::protocol::{ArgSpec, Layout, Poison};
use crate::worker::{Called, WorkerError};

/// A program that a worker has loaded.
#[derive(Clone, Copy, Debug)]
pub struct DeviceCandidate {
    /// Its number there.
    pub program: usize,
    /// Whether it reports faults.
    pub reports_faults: bool,
}

/// The verdict over a candidate.
#[derive(Clone, Debug)]
pub enum DeviceVerdict {
    /// It is not the user's function.
    Wrong(Box<Evidence>),
    /// Nothing wrong was found, but it could not be tried either.
    Unproven(String),
    /// It survived everything at the level asked for.
    Verified(DeviceVerified),
}

/// A candidate that was verified on a device; only [`Bench::verify_on_device`] makes one.
#[derive(Clone, Debug)]
pub struct DeviceVerified {
    candidate: DeviceCandidate,
    checked: Vec<String>,
    unchecked: Vec<String>,
    cases: usize,
}

impl DeviceVerified {
    /// The program.
    pub fn candidate(&self) -> DeviceCandidate {
        self.candidate
    }
    /// What was checked, for the manifest.
    pub fn checked(&self) -> &[String] {
        &self.checked
    }
    /// What was not checked, for the manifest.
    pub fn unchecked(&self) -> &[String] {
        &self.unchecked
    }
    /// How many cases it was tried on.
    pub fn cases(&self) -> usize {
        self.cases
    }
}

/// Fewer cases than this prove nothing.
const FEWEST_CASES: usize = 8;

/// What a run over the cases saw.
#[derive(Default)]
struct Seen {
    tally: Tally,
    done: usize,
    refused: usize,
    misaligned: usize,
    panics: usize,
}

impl KernelSpec {
    /// Names of the arguments of a call on a device.
    pub fn device_params(&self) -> Vec<String> {
        let mut names: Vec<String> = self
            .signature
            .params
            .iter()
            .map(|param| param.name.clone())
            .collect();
        if matches!(self.signature.returns, ReturnSig::Vec(_)) {
            names.push("return".to_owned());
        }
        names
    }

    /// Why functions of this kind have no kernels for GPUs yet, where that is so.
    pub fn no_device_reason(&self) -> Option<&'static str> {
        if matches!(self.signature.returns, ReturnSig::Mixed(_)) {
            return Some(
                "functions that return several values with a `Vec` among them have no GPU kernels yet",
            );
        }
        if !self.swaps.is_empty() {
            return Some("functions that exchange buffers have no GPU kernels yet");
        }
        if !self.made().is_empty() {
            return Some("functions whose arguments an expression makes have no GPU kernels yet");
        }
        self.declines
            .then_some("functions that can fail have no GPU kernels yet")
    }
}

impl Bench {
    /// Verifies a candidate that `worker` has loaded.
    ///
    /// # Errors
    /// If the machine or the harness is in the way; a candidate that misbehaves is a verdict.
    pub fn verify_on_device(
        &mut self,
        candidate: DeviceCandidate,
        worker: &mut GpuWorker,
        level: Level,
    ) -> Result<DeviceVerdict, BenchError> {
        let mut seen = Seen::default();
        if level == Level::Full {
            self.prepare_held_out()?;
        }
        let held_out = if level == Level::Full {
            &self.held_out[..]
        } else {
            &[]
        };
        for (at, prepared) in self.cases.iter().chain(held_out).enumerate() {
            if let Some(wrong) = self.check_on_device(candidate, worker, prepared, at, &mut seen)? {
                return Ok(DeviceVerdict::Wrong(wrong));
            }
        }
        if seen.done < FEWEST_CASES {
            return Ok(DeviceVerdict::Unproven(format!(
                "its conditions hold in only {} of {} cases",
                seen.done,
                seen.done + seen.refused
            )));
        }
        let (checked, unchecked) = self.device_coverage(level, &seen, candidate);
        Ok(DeviceVerdict::Verified(DeviceVerified {
            candidate,
            checked,
            unchecked,
            cases: seen.done,
        }))
    }

    /// The call that a tuning size is timed on.
    pub fn device_call(&self, candidate: DeviceCandidate, tune: &TuneSize) -> Option<DeviceCall> {
        let case = cases::tuning(&self.spec, tune, self.seed)?;
        Some(self.call_of(candidate, &case))
    }

    /// The calls of the first `count` small cases, for tools that make every call slow.
    pub fn device_samples(&self, candidate: DeviceCandidate, count: usize) -> Vec<DeviceCall> {
        let step = (self.cases.len() / count.max(1)).max(1);
        self.cases
            .iter()
            .step_by(step)
            .map(|prepared| self.call_of(candidate, &prepared.case))
            .collect()
    }

    fn call_of(&self, candidate: DeviceCandidate, case: &Case) -> DeviceCall {
        let args: Vec<ArgSpec> = self.candidate_args(case);
        let params = &self.spec.signature.params;
        let scalar = |at: usize| {
            params
                .get(at)
                .is_some_and(|param| matches!(param.kind, ParamKind::Scalar(_)))
        };
        DeviceCall {
            program: candidate.program,
            scalars: (0..args.len()).map(scalar).collect(),
            args,
            dims: self
                .spec
                .guard
                .dims
                .iter()
                .cloned()
                .zip(case.dims.iter().copied())
                .collect(),
        }
    }

    fn check_on_device(
        &self,
        candidate: DeviceCandidate,
        worker: &mut GpuWorker,
        prepared: &Prepared,
        at: usize,
        seen: &mut Seen,
    ) -> Result<Option<Box<Evidence>>, BenchError> {
        let case = &prepared.case;
        if matches!(prepared.expected, Expected::Nothing) {
            return Ok(None);
        }
        let call = self.call_of(candidate, case);
        // Cases in between come directly after the one of the same sizes before them: new data at the same addresses.
        let layouts: &[Layout] = match at % 4 {
            0 => &[Layout::Odd, Layout::Right],
            2 => &[Layout::Left, Layout::Right],
            _ => &[Layout::Right],
        };
        let mut first: Option<(Layout, Called)> = None;
        for &layout in layouts {
            let called = match worker.call(&call, layout, Poison::A) {
                Ok(called) => called,
                Err(error) => return fatal(case, error),
            };
            if called.status == abi::STATUS_GUARD {
                seen.refused += usize::from(layout == Layout::Right);
                continue;
            }
            seen.misaligned += usize::from(layout == Layout::Odd);
            if called.overrun.is_some() {
                return Ok(self.judge_call(&mut seen.tally, case, &called, &[], None));
            }
            let (reference, oracle) = match &prepared.expected {
                // Functions that refuse arguments have no device kernels; see `no_device_reason`.
                Expected::Nothing | Expected::Refused => return Ok(None),
                Expected::Panic if called.status == abi::STATUS_PANIC => {
                    seen.panics += 1;
                    return Ok(None);
                }
                Expected::Panic => {
                    return Ok(Some(evidence(
                        case,
                        "the reference panics on these arguments and the candidate does not report it",
                    )));
                }
                Expected::Values { reference, oracle } => (reference, oracle.as_deref()),
            };
            if called.status == abi::STATUS_PANIC {
                return Ok(Some(evidence(
                    case,
                    "the candidate reports a panic where the reference has none",
                )));
            }
            let judged = first
                .as_ref()
                .is_some_and(|(_, first)| first.outputs == called.outputs);
            if !judged
                && let Some(wrong) =
                    self.judge_call(&mut seen.tally, case, &called, reference, oracle)
            {
                return Ok(Some(wrong));
            }
            first = Some((layout, called));
        }
        let Some((layout, first)) = first else {
            return Ok(None);
        };
        seen.done += 1;
        match worker.call(&call, layout, Poison::B) {
            Ok(again) => Ok(self.compare_repeat(case, &first, &again)),
            Err(error) => fatal(case, error),
        }
    }

    /// What was checked and what was not, in words for the manifest.
    fn device_coverage(
        &self,
        level: Level,
        seen: &Seen,
        candidate: DeviceCandidate,
    ) -> (Vec<String>, Vec<String>) {
        let mut checked = vec![
            format!(
                "on a device: accuracy ({}) on {} cases",
                self.spec.accuracy(),
                seen.done
            ),
            "on a device: every output element written, nothing near the buffers, inputs unchanged"
                .to_owned(),
            "on a device: repeated calls bit-identical with other poison in outputs and scratch memory; new data at old addresses"
                .to_owned(),
        ];
        let mut unchecked = Vec::new();
        if seen.misaligned > 0 {
            checked.push("on a device: misaligned buffers".to_owned());
        } else {
            unchecked
                .push("on a device: misaligned buffers, which the launch plan excludes".to_owned());
        }
        if seen.refused > 0 {
            unchecked.push(format!(
                "on a device: {} cases that the launch plan excludes",
                seen.refused
            ));
        }
        if seen.panics > 0 {
            checked.push(format!(
                "on a device: faults where the reference panics ({} cases)",
                seen.panics
            ));
        } else if candidate.reports_faults {
            unchecked.push("on a device: faults, no case panics".to_owned());
        }
        if seen.tally.skipped > 0 {
            unchecked.push(format!(
                "on a device: {} elements where the reference overflows and the exact result does not",
                seen.tally.skipped
            ));
        }
        match level {
            Level::Full => {
                checked.push("on a device: held-out sizes and the tuning sizes".to_owned())
            }
            Level::Search => {
                unchecked.push("on a device: held-out sizes and the tuning sizes".to_owned());
            }
        }
        (checked, unchecked)
    }
}

/// The verdict over a candidate whose worker gave no answer.
fn fatal(case: &Case, error: WorkerError) -> Result<Option<Box<Evidence>>, BenchError> {
    match error {
        WorkerError::Died { ref stderr, .. } => {
            let said = stderr.trim().lines().last().unwrap_or("no message");
            Ok(Some(evidence(
                case,
                &format!("the kernel ends its context: {said}"),
            )))
        }
        WorkerError::TimedOut(after) => Ok(Some(evidence(
            case,
            &format!("the kernel does not end within {after:?}"),
        ))),
        WorkerError::Start(_) | WorkerError::Refused(_) => {
            Err(BenchError::Broken(error.to_string()))
        }
    }
}
