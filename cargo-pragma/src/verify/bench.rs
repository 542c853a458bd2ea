//! One kernel on the bench: its reference, its oracle, its cases, and candidates against them.
//!
//! Owns setting up reference and oracle and what every case should give. The checks on candidates are in `check`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use pragma_spec::{Accuracy, Scalar, TuneSize};

use super::cases::{self, Case};
use super::judge::Policy;
use super::spec::{KernelSpec, Output};
use crate::harness::{Built, Harness};
use crate::inputs::Rng;
use crate::process::confine::Sandbox;
use crate::worker::abi;
use crate::worker::protocol::{Access, ArgSpec, Layout, Poison};
use crate::worker::{Called, Worker, WorkerConfig, WorkerError};

/// What a bench may use.
#[derive(Clone, Debug)]
pub struct Limits {
    /// How untrusted code is started.
    pub sandbox: Sandbox,
    /// Address space of a worker, bytes.
    pub memory: u64,
    /// How long one call of a kernel may take.
    pub call_timeout: Duration,
    /// Hardware threads to use when timing.
    pub threads: usize,
}

impl Limits {
    /// Limits that suit this machine.
    pub fn new(sandbox: Sandbox) -> Self {
        Limits {
            sandbox,
            memory: 12 << 30,
            call_timeout: Duration::from_secs(10),
            threads: std::thread::available_parallelism().map_or(1, usize::from),
        }
    }
}

/// Fewer answers of the reference prove nothing.
const FEWEST: usize = 8;
/// Bytes that expressions of the attribute may make: they travel with every call.
const MOST_GIVEN: usize = 4 << 20;
/// Cases that show which outputs ignore their old content.
const PROBES: usize = 24;

/// Why a bench cannot be set up.
#[derive(Clone, Debug, thiserror::Error)]
pub enum BenchError {
    /// The machine or the harness is in the way.
    #[error("{0}")]
    Broken(String),
    /// No candidate for this function can be proven, for this reason.
    #[error("{0}")]
    Unprovable(String),
}

/// What a candidate must produce.
pub(super) enum Expected {
    /// Outputs of the reference and of the oracle.
    Values {
        reference: Vec<Vec<u8>>,
        oracle: Option<Vec<Vec<u8>>>,
    },
    /// The reference panics.
    Panic,
    /// The reference has no result: it returns an `Err` or a `None`.
    Refused,
    /// The reference gives no answer.
    Nothing,
}

/// A case with what is expected.
pub(super) struct Prepared {
    pub case: Case,
    pub expected: Expected,
}

/// A library in a worker, restarted when the worker dies.
struct Source {
    built: Built,
    worker: Option<(Worker, usize)>,
}

/// One kernel's reference, oracle and cases.
pub struct Bench {
    pub(super) spec: KernelSpec,
    pub(super) outputs: Vec<Output>,
    pub(super) limits: Limits,
    reference: Source,
    oracle: Option<Source>,
    /// Of every parameter, whether the reference ignores its old content.
    pub(super) write_only: Vec<bool>,
    pub(super) cases: Vec<Prepared>,
    /// The cases of a full verification, once one was asked for.
    pub(super) held_out: Vec<Prepared>,
    pub(super) seed: u64,
    /// What the reference took, by tuning size and threads, nanoseconds per call.
    pub(crate) reference_times: BTreeMap<(String, usize), Vec<f64>>,
    scratch: tempfile::TempDir,
}

impl Bench {
    /// Sets up the bench: starts reference and oracle, finds out which outputs ignore their old content, and computes
    /// what every case should give. `seed` decides sizes and values.
    ///
    /// # Errors
    /// If the reference cannot be run, is not deterministic, or gives no answer on any case.
    pub fn open(
        harness: &Harness,
        spec: KernelSpec,
        limits: Limits,
        seed: u64,
    ) -> Result<Self, BenchError> {
        let scratch = scratch()?;
        let oracle = match &spec.oracle {
            Some(source) => Some(
                harness
                    .build_oracle(source, &scratch.path().join("oracle"))
                    .map_err(|error| {
                        BenchError::Broken(format!("the f64 oracle {}", describe(&error)))
                    })?,
            ),
            None => None,
        };
        Bench::with(&harness.reference, oracle, spec, limits, seed, scratch)
    }

    /// The same with libraries that were built elsewhere. Where there is an oracle, the spec says so by a source, which
    /// may be empty.
    ///
    /// # Errors
    /// As [`Bench::open`].
    pub fn open_built(
        reference: &Path,
        oracle: Option<Built>,
        spec: KernelSpec,
        limits: Limits,
        seed: u64,
    ) -> Result<Self, BenchError> {
        Bench::with(reference, oracle, spec, limits, seed, scratch()?)
    }

    fn with(
        reference: &Path,
        oracle: Option<Built>,
        spec: KernelSpec,
        limits: Limits,
        seed: u64,
        scratch: tempfile::TempDir,
    ) -> Result<Self, BenchError> {
        let oracle = oracle.map(|built| Source {
            built,
            worker: None,
        });
        let mut bench = Bench {
            outputs: spec.outputs(),
            reference: Source {
                built: Built {
                    path: reference.to_owned(),
                    symbol: spec.reference_symbol.clone(),
                    screened: false,
                },
                worker: None,
            },
            oracle,
            write_only: vec![false; spec.signature.params.len()],
            cases: Vec::new(),
            held_out: Vec::new(),
            seed,
            reference_times: BTreeMap::new(),
            scratch,
            limits,
            spec,
        };
        bench.fetch_given()?;
        let plan = cases::search(&bench.spec, seed);
        // Sizes like those that the function is used with, if any, are sizes that it accepts.
        let familiar = cases::like_tuning(&bench.spec, seed);
        if bench.probe(&plan)? < PROBES / 2 {
            bench.probe(&familiar)?;
        }
        bench.prepare(plan)?;
        if bench.answers() * 2 < bench.cases.len() || bench.answers() < 2 * FEWEST {
            bench.prepare(familiar)?;
        }
        let answers = bench.answers();
        if answers < FEWEST {
            return Err(BenchError::Unprovable(format!(
                "the reference answers only {answers} of {} test cases (it panics, refuses or takes too long on the others); `inputs(..)` can say what its arguments look like",
                bench.cases.len()
            )));
        }
        Ok(bench)
    }

    /// Asks the reference's library for what the attribute's expressions make.
    fn fetch_given(&mut self) -> Result<(), BenchError> {
        let made = self.spec.made();
        if made.is_empty() {
            return Ok(());
        }
        let broken = |error: WorkerError| BenchError::Broken(error.to_string());
        let library = self.reference.built.path.clone();
        let mut worker = self.worker_beside_reference(1).map_err(broken)?;
        let symbol = format!("{}_made", self.reference.built.symbol);
        let at = worker.load(&library, &symbol).map_err(broken)?;
        let called = worker
            .call(at, &[], Layout::Left, Poison::A, 0)
            .map_err(broken)?;
        if called.status != abi::STATUS_OK || called.outputs.len() != made.len() {
            return Err(BenchError::Unprovable(
                "an expression in `inputs(..)` does not make its parameter: it panics, or makes something of another layout".into(),
            ));
        }
        let bytes: usize = called.outputs.iter().map(Vec::len).sum();
        if bytes > MOST_GIVEN {
            return Err(BenchError::Unprovable(format!(
                "the expressions in `inputs(..)` make {bytes} bytes, and {MOST_GIVEN} are the most"
            )));
        }
        self.spec.given = made.into_iter().zip(called.outputs).collect();
        Ok(())
    }

    /// Finds out what these cases should give.
    fn prepare(&mut self, plan: Vec<Case>) -> Result<(), BenchError> {
        for case in plan {
            let expected = self.expect(&case)?;
            self.cases.push(Prepared { case, expected });
        }
        Ok(())
    }

    /// The cases that the reference answers.
    fn answers(&self) -> usize {
        let values = |p: &&Prepared| matches!(p.expected, Expected::Values { .. });
        self.cases.iter().filter(values).count()
    }

    /// The kernel.
    pub fn spec(&self) -> &KernelSpec {
        &self.spec
    }

    /// A directory for candidates, removed with the bench.
    pub fn candidates(&self) -> PathBuf {
        self.scratch.path().join("candidates")
    }

    fn config(&self, threads: usize, libraries: Vec<PathBuf>) -> WorkerConfig {
        WorkerConfig {
            sandbox: self.limits.sandbox.clone(),
            libraries,
            memory: self.limits.memory,
            cpu_seconds: 600,
            threads,
            call_timeout: self.limits.call_timeout,
        }
    }

    /// A fresh worker with a pool of `threads` that can load candidates, and nothing else.
    pub(crate) fn worker(&self, threads: usize) -> Result<Worker, WorkerError> {
        let libraries = vec![self.candidates()];
        Worker::start(&self.config(threads, libraries), self.scratch.path())
    }

    /// A fresh worker with a pool of `threads` that can load candidates and the reference.
    pub(crate) fn worker_beside_reference(&self, threads: usize) -> Result<Worker, WorkerError> {
        let libraries = vec![self.candidates(), self.reference.built.path.clone()];
        Worker::start(&self.config(threads, libraries), self.scratch.path())
    }

    /// The reference's library and entry.
    pub(crate) fn reference(&self) -> &Built {
        &self.reference.built
    }

    /// The arguments that a tuning size is timed on.
    pub(crate) fn tuning_args(&self, tune: &TuneSize) -> Option<Vec<ArgSpec>> {
        let case = cases::tuning(&self.spec, tune, self.seed)?;
        Some(self.spec.args(&case, &self.write_only))
    }

    /// Finds out which mutable parameters the reference only writes, and that it is deterministic; how many cases it
    /// answered.
    fn probe(&mut self, plan: &[Case]) -> Result<usize, BenchError> {
        let mutable: Vec<usize> = self
            .outputs
            .iter()
            .filter_map(|output| output.param)
            .collect();
        let mut write_only: Vec<bool> = (0..self.write_only.len())
            .map(|i| mutable.contains(&i))
            .collect();
        let mut tried = 0;
        let step = (plan.len() / PROBES).clamp(1, 7);
        for case in plan.iter().skip(1).step_by(step).take(PROBES) {
            let base = self.spec.args(case, &[]);
            let Some(first) = self.run_reference(&base, Poison::A)? else {
                continue;
            };
            tried += 1;
            if self.run_reference(&base, Poison::A)?.as_ref() != Some(&first) {
                return Err(BenchError::Unprovable(
                    "the reference does not give the same result twice for the same arguments"
                        .into(),
                ));
            }
            for &param in &mutable {
                if !write_only[param] {
                    continue;
                }
                // Other values first: NaNs alone are ignored by `max` and `min`.
                let mut other = base.clone();
                other[param].seed ^= 0x0dd;
                other[param].values = crate::inputs::Values::plain(crate::inputs::Fill::Bits);
                let mut poisoned = base.clone();
                poisoned[param].access = Access::Write;
                for (args, poison) in [
                    (&other, Poison::A),
                    (&poisoned, Poison::A),
                    (&poisoned, Poison::B),
                ] {
                    let same = self
                        .run_reference(args, poison)?
                        .is_some_and(|outputs| outputs == first);
                    if !same {
                        write_only[param] = false;
                    }
                }
            }
        }
        // Without any answer nothing is known of the old content's meaning; it then counts as meaningful.
        self.write_only = if tried == 0 {
            vec![false; write_only.len()]
        } else {
            write_only
        };
        Ok(tried)
    }

    /// The reference's outputs; `None` if it panics, dies or takes too long on these arguments.
    fn run_reference(
        &mut self,
        args: &[ArgSpec],
        poison: Poison,
    ) -> Result<Option<Vec<Vec<u8>>>, BenchError> {
        let called = self.call_source(false, args, poison)?;
        Ok(called
            .filter(|called| called.status == abi::STATUS_OK)
            .map(|called| called.outputs))
    }

    /// Calls reference or oracle; `None` if the worker died over it.
    fn call_source(
        &mut self,
        oracle: bool,
        args: &[ArgSpec],
        poison: Poison,
    ) -> Result<Option<Called>, BenchError> {
        let library = match (oracle, &self.oracle) {
            (true, Some(source)) => source.built.path.clone(),
            (true, None) => return Ok(None),
            (false, _) => self.reference.built.path.clone(),
        };
        let config = self.config(1, vec![library]);
        let scratch = self.scratch.path().to_owned();
        let source = match (oracle, &mut self.oracle) {
            (true, Some(source)) => source,
            (true, None) => return Ok(None),
            (false, _) => &mut self.reference,
        };
        let broken = |error: WorkerError| BenchError::Broken(error.to_string());
        let (worker, library) = match &mut source.worker {
            Some(running) => running,
            empty => {
                let mut worker = Worker::start(&config, &scratch).map_err(broken)?;
                let library = worker
                    .load(&source.built.path, &source.built.symbol)
                    .map_err(broken)?;
                empty.insert((worker, library))
            }
        };
        match worker.call(*library, args, Layout::Left, poison, 0) {
            Ok(called) => Ok(Some(called)),
            Err(WorkerError::Refused(message)) => Err(BenchError::Broken(message)),
            Err(_) => {
                source.worker = None;
                Ok(None)
            }
        }
    }

    /// What a case should give.
    pub(super) fn expect(&mut self, case: &Case) -> Result<Expected, BenchError> {
        let args = self.spec.args(case, &self.write_only);
        let Some(called) = self.call_source(false, &args, Poison::A)? else {
            return Ok(Expected::Nothing);
        };
        match called.status {
            abi::STATUS_OK => {}
            abi::STATUS_PANIC => return Ok(Expected::Panic),
            abi::STATUS_REFUSED => return Ok(Expected::Refused),
            abi::STATUS_LAYOUT => {
                return Err(BenchError::Unprovable(
                    "the compiler lays out a record of its parameters otherwise than expected: `#[repr(C)]` settles it".into(),
                ));
            }
            status => {
                return Err(BenchError::Broken(format!(
                    "the reference's entry refuses its arguments (status {status})"
                )));
            }
        }
        let reference = called.outputs;
        if reference.len() != self.outputs.len() {
            return Err(BenchError::Broken(
                "the reference's entry returns another number of values than its signature".into(),
            ));
        }
        let vecs = self
            .outputs
            .iter()
            .zip(&reference)
            .filter(|(output, _)| output.is_vec);
        for ((output, bytes), (elem, declared)) in vecs.zip(self.spec.returned_vecs(&case.dims)) {
            let got = bytes.len() as u64 / elem.bytes() as u64;
            if declared != Some(got) {
                return Err(BenchError::Unprovable(format!(
                    "the function returns {got} elements as `{}` where its shape says {} ({})",
                    output.name,
                    declared.map_or("none".to_owned(), |len| len.to_string()),
                    case.name
                )));
            }
        }
        // The oracle returns every result and writes to nothing.
        let mut read = args;
        for arg in &mut read {
            arg.access = Access::Read;
        }
        let oracle = self
            .call_source(true, &read, Poison::A)?
            .filter(|called| {
                called.status == abi::STATUS_OK && called.outputs.len() == self.outputs.len()
            })
            .map(|called| {
                let mut outputs = called.outputs;
                self.spec.exchange(&mut outputs);
                outputs
            });
        Ok(Expected::Values { reference, oracle })
    }

    /// How an output is judged, given whether there is an oracle for the case.
    pub(super) fn policy(&self, elem: Scalar, oracle: bool) -> Policy {
        match self.spec.attribute.accuracy {
            Accuracy::Exact => Policy::Exact,
            Accuracy::Tolerance { rtol, atol } => Policy::Tolerance { rtol, atol },
            Accuracy::Default if oracle => Policy::Oracle,
            Accuracy::Default => match elem {
                Scalar::F64 => Policy::Tolerance {
                    rtol: 1e-12,
                    atol: 1e-13,
                },
                // Two units in the last place: a sum in another order may round to the neighbour.
                Scalar::F16 => Policy::Tolerance {
                    rtol: 2f64.powi(-9),
                    atol: 2f64.powi(-23),
                },
                Scalar::Bf16 => Policy::Tolerance {
                    rtol: 2f64.powi(-6),
                    atol: 2f64.powi(-132),
                },
                _ => Policy::Tolerance {
                    rtol: 1e-5,
                    atol: 1e-6,
                },
            },
        }
    }

    /// A seed for something named by `index`.
    pub(crate) fn derive(&self, index: u64) -> u64 {
        Rng::derive(self.seed, index)
    }
}

fn describe(error: &crate::harness::BuildError) -> String {
    match error {
        crate::harness::BuildError::Rejected { stderr } => format!("does not compile:\n{stderr}"),
        other => other.to_string(),
    }
}

/// Outputs go to memory where the system offers that.
fn scratch() -> Result<tempfile::TempDir, BenchError> {
    let mut builder = tempfile::Builder::new();
    builder.prefix("pragma-");
    match builder.tempdir_in("/dev/shm") {
        Ok(dir) => Ok(dir),
        Err(_) => builder.tempdir().map_err(|error| {
            BenchError::Broken(format!("cannot make a scratch directory: {error}"))
        }),
    }
}
