//! The search on a device: every proposal compiled, judged and timed in a process of its own, the best once more in full.
//!
//! Owns the order and the choice. What to try is the Conductor's, verdicts are `verify`'s. Needs no Rust toolchain.

use std::path::Path;
use std::time::{Duration, Instant};

use pragma_spec::device::{DeviceArtefact, DeviceVariant, GpuArch, HashedFile, LaunchPlan};
use pragma_spec::{Accuracy, TargetOutcome, text_sha256};
use pragma_synth::conduct::gpu::{GpuProposal, GpuSetting, proposals};
use pragma_synth::emit::cuda::CudaTarget;
use pragma_synth::ir::Program;

use super::compiler::{CompileError, Compiled};
use super::job::JobKernel;
use super::plan::spec_plan;
use super::results::{Outcome, Times, Tried};
use super::sanitizer::{self, Sanitized};
use super::site::Site;
use crate::measure::{Effort, median};
use crate::process::confine::Sandbox;
use crate::tune::sizes::Size;
use crate::verify::{
    Bench, BenchError, DeviceCandidate, DeviceVerdict, DeviceVerified, Level, Limits,
};
use crate::worker::WorkerError;
use crate::worker::cuda::GpuWorker;
use crate::worker::cuda::protocol::DeviceTimes;

/// Fewer than this share of the floor is more than the card can do: something is not computed.
const BELOW_FLOOR: f64 = 0.9;
/// How many of the fastest get a chance in the final verification.
const FINALISTS: usize = 3;
const SEARCH_TIME: Duration = Duration::from_millis(250);
const FINAL_TIME: Duration = Duration::from_millis(1000);
const SEARCH_SAMPLES: usize = 40;
const FINAL_SAMPLES: usize = 200;

fn engine_target(arch: GpuArch) -> CudaTarget {
    match arch {
        GpuArch::Sm80 => CudaTarget::Sm80,
        GpuArch::Sm90 => CudaTarget::Sm90,
    }
}

/// A bench for a kernel of a job that is unpacked in `dir`.
///
/// # Errors
/// If the kernel cannot be proven, or the job is damaged.
pub fn open_bench(
    kernel: &JobKernel,
    program: &Program,
    dir: &Path,
    sandbox: Sandbox,
) -> Result<Bench, BenchError> {
    let spec = kernel.spec(program).map_err(BenchError::Broken)?;
    if let Some(reason) = spec.no_device_reason() {
        return Err(BenchError::Unprovable(reason.to_owned()));
    }
    let mut bench = Bench::open_built(
        &dir.join(&kernel.reference),
        kernel.oracle(dir),
        spec,
        Limits::new(sandbox),
        kernel.seed,
    )?;
    bench.self_test()?;
    Ok(bench)
}

/// One kernel on one architecture.
pub struct Search<'a> {
    /// The card.
    pub site: &'a Site,
    /// The kernel.
    pub kernel: &'a JobKernel,
    /// What it means.
    pub program: &'a Program,
    /// The sizes.
    pub sizes: &'a [Size],
    /// The architecture.
    pub arch: GpuArch,
    /// Candidates per size.
    pub most: usize,
}

/// A version that survived the search.
struct Version {
    actions: Vec<String>,
    source: String,
    plan: LaunchPlan,
    compiled: Compiled,
    median: f64,
}

/// A winner of one size.
struct Winner {
    version: Version,
    times: DeviceTimes,
    verified: DeviceVerified,
    sanitized: Vec<String>,
    unsanitized: Vec<String>,
}

impl Search<'_> {
    /// Searches every size; `say` hears of progress.
    ///
    /// # Errors
    /// If the machine is in the way.
    pub fn run(
        &self,
        bench: &mut Bench,
        say: &mut dyn FnMut(String),
    ) -> Result<Outcome, BenchError> {
        let start = Instant::now();
        let mut outcome = Outcome {
            package: self.kernel.package.clone(),
            kernel: self.kernel.kernel.clone(),
            fingerprint: self.kernel.fingerprint.clone(),
            dependencies: self.kernel.dependencies.clone(),
            accuracy: bench.spec().accuracy(),
            device: String::new(),
            files: Vec::new(),
            times: Vec::new(),
            candidates: 0,
            seconds: 0.0,
            tried: Vec::new(),
        };
        let mut device = DeviceArtefact {
            arch: self.arch,
            outcome: TargetOutcome::Unproven,
            reason: None,
            variants: Vec::new(),
            checked: Vec::new(),
            unchecked: Vec::new(),
        };
        let mut order: Vec<usize> = (0..self.sizes.len()).collect();
        order.sort_by_key(|&at| self.sizes[at].elements);
        let mut found = Vec::new();
        for &at in &order {
            let size = &self.sizes[at];
            let before = outcome.tried.len();
            let versions = self.search_size(bench, size, &mut outcome, say)?;
            let winner = self.final_round(bench, size, versions, &mut outcome, say)?;
            if winner.is_none() {
                let why = outcome.tried[before..]
                    .iter()
                    .rev()
                    .find(|one| one.verdict != VERIFIED);
                device.reason = why.map(|one| one.verdict.clone()).or_else(|| {
                    Some("the engine proposes nothing for this function on GPUs".to_owned())
                });
            }
            found.push((at, winner));
        }
        self.conclude(bench, found, &mut device, &mut outcome)?;
        outcome.candidates = outcome.tried.len() as u64;
        outcome.device = device.to_toml();
        outcome.seconds = start.elapsed().as_secs_f64();
        Ok(outcome)
    }

    fn search_size(
        &self,
        bench: &mut Bench,
        size: &Size,
        outcome: &mut Outcome,
        say: &mut dyn FnMut(String),
    ) -> Result<Vec<Version>, BenchError> {
        let setting = GpuSetting {
            target: engine_target(self.arch),
            dims: size.dims.clone(),
            exact: bench.spec().attribute.accuracy == Accuracy::Exact,
            entry: self.kernel.function.clone(),
        };
        let mut versions: Vec<Version> = Vec::new();
        for proposal in proposals(self.program, &setting)
            .into_iter()
            .take(self.most)
        {
            crate::tune::interrupt::check()
                .map_err(|_| BenchError::Broken("interrupted".to_owned()))?;
            let mut tried = Tried {
                tune: size.tune.to_string(),
                actions: proposal.actions.iter().map(ToString::to_string).collect(),
                verdict: String::new(),
                ns: None,
                resources: Vec::new(),
            };
            match self.try_one(bench, size, &proposal, &mut tried)? {
                Ok(version) => {
                    VERIFIED.clone_into(&mut tried.verdict);
                    tried.ns = Some(version.median);
                    versions.push(version);
                }
                Err(why) => tried.verdict = why,
            }
            say(format!(
                "{} {} ({}): {}{}",
                self.kernel.kernel,
                self.arch,
                tried.actions.join("; "),
                tried.verdict,
                tried
                    .ns
                    .map_or(String::new(), |ns| format!(", {:.1} us", ns / 1e3))
            ));
            outcome.tried.push(tried);
        }
        versions.sort_by(|a, b| a.median.total_cmp(&b.median));
        Ok(versions)
    }

    /// Compiles, judges and times a proposal; the inner error is about the proposal.
    fn try_one(
        &self,
        bench: &mut Bench,
        size: &Size,
        proposal: &GpuProposal,
        tried: &mut Tried,
    ) -> Result<Result<Version, String>, BenchError> {
        let params: Vec<String> = bench
            .spec()
            .signature
            .params
            .iter()
            .map(|param| param.name.clone())
            .collect();
        let plan = match spec_plan(self.program, &params, &proposal.kernel.plan) {
            Ok(plan) => plan,
            Err(why) => return Ok(Err(format!("its launch plan is unusable: {why}"))),
        };
        let name = format!(
            "{}-{}",
            self.kernel.function,
            short(&proposal.kernel.source)
        );
        let compiled = self.site.compiler.compile(
            &proposal.kernel.source,
            &name,
            self.arch,
            &plan.options,
            &self.site.scratch,
        );
        let compiled = match compiled {
            Ok(compiled) => compiled,
            Err(error @ CompileError::Broken(_)) => {
                return Err(BenchError::Broken(error.to_string()));
            }
            Err(error) => return Ok(Err(error.to_string())),
        };
        tried.resources = compiled
            .resources
            .iter()
            .map(|one| {
                (
                    one.registers,
                    one.spill_stores + one.spill_loads,
                    one.shared_bytes,
                )
            })
            .collect();
        if let Err(why) = compiled.fits(&plan) {
            return Ok(Err(why));
        }
        let mut worker = self.site.worker().map_err(broken)?;
        let candidate = match load(&mut worker, bench, &compiled.ptx_file, &plan) {
            Ok(candidate) => candidate,
            Err(error) => return Ok(Err(format!("the driver cannot use it: {error}"))),
        };
        let verified = match bench.verify_on_device(candidate, &mut worker, Level::Search)? {
            DeviceVerdict::Verified(verified) => verified,
            DeviceVerdict::Wrong(evidence) => return Ok(Err(evidence.sentence())),
            DeviceVerdict::Unproven(why) => return Ok(Err(why)),
        };
        let times = self.time(
            bench,
            &verified,
            &mut worker,
            size,
            SEARCH_TIME,
            SEARCH_SAMPLES,
        );
        let times = match times {
            Ok(times) => times,
            Err(why) => return Ok(Err(why)),
        };
        Ok(Ok(Version {
            actions: tried.actions.clone(),
            source: proposal.kernel.source.clone(),
            plan,
            compiled,
            median: median(&times.cold),
        }))
    }

    /// Times a verified program and refuses times that cannot be.
    fn time(
        &self,
        bench: &Bench,
        verified: &DeviceVerified,
        worker: &mut GpuWorker,
        size: &Size,
        budget: Duration,
        samples: usize,
    ) -> Result<DeviceTimes, String> {
        let call = bench
            .device_call(verified.candidate(), &size.tune)
            .ok_or("the size cannot be called")?;
        let times = worker
            .time(&call, budget, samples)
            .map_err(|error| error.to_string())?;
        let floor = self.site.floor(self.program, &size.dims);
        let certain = floor.certain;
        let fastest = times.cold.iter().copied().fold(f64::INFINITY, f64::min);
        if fastest < certain * BELOW_FLOOR {
            return Err(format!(
                "it takes {fastest:.0} ns, and this card needs {certain:.0} ns to move and compute that much: something is not done"
            ));
        }
        // Both clocks saw the same batch; starting it is inside of the host's time only.
        if times.batch_event < 0.5 * (times.batch_host - times.batch_submit) {
            return Err(format!(
                "the device's clock says {:.0} ns a call and the host's {:.0} ns",
                times.batch_event, times.batch_host
            ));
        }
        Ok(times)
    }

    /// The fastest version that survives everything.
    fn final_round(
        &self,
        bench: &mut Bench,
        size: &Size,
        versions: Vec<Version>,
        outcome: &mut Outcome,
        say: &mut dyn FnMut(String),
    ) -> Result<Option<Winner>, BenchError> {
        for version in versions.into_iter().take(FINALISTS) {
            let mut refuse = |why: String| {
                say(format!("{} {}: {why}", self.kernel.kernel, self.arch));
                outcome.tried.push(Tried {
                    tune: size.tune.to_string(),
                    actions: version.actions.clone(),
                    verdict: why,
                    ns: None,
                    resources: Vec::new(),
                });
            };
            let mut worker = self.site.worker().map_err(broken)?;
            let candidate = load(
                &mut worker,
                bench,
                &version.compiled.ptx_file,
                &version.plan,
            )
            .map_err(broken)?;
            let verified = match bench.verify_on_device(candidate, &mut worker, Level::Full)? {
                DeviceVerdict::Verified(verified) => verified,
                DeviceVerdict::Wrong(evidence) => {
                    refuse(evidence.sentence());
                    continue;
                }
                DeviceVerdict::Unproven(why) => {
                    refuse(why);
                    continue;
                }
            };
            let times = match self.time(
                bench,
                &verified,
                &mut worker,
                size,
                FINAL_TIME,
                FINAL_SAMPLES,
            ) {
                Ok(times) => times,
                Err(why) => {
                    refuse(why);
                    continue;
                }
            };
            drop(worker);
            let (mut sanitized, mut unsanitized) = (Vec::new(), Vec::new());
            match sanitizer::run(
                bench,
                &self.site.compiler.sandbox.exe,
                self.site.device,
                &version.compiled.ptx_file,
                &version.plan.to_toml(),
                &self.site.scratch,
            ) {
                Sanitized::Clean(tools) => {
                    sanitized.push(format!("compute-sanitizer: {}", tools.join(", ")));
                }
                Sanitized::Dirty(tool, text) => {
                    refuse(format!("compute-sanitizer's {tool}: {text}"));
                    continue;
                }
                Sanitized::Absent(why) => unsanitized.push(format!("compute-sanitizer: {why}")),
            }
            return Ok(Some(Winner {
                version,
                times,
                verified,
                sanitized,
                unsanitized,
            }));
        }
        Ok(None)
    }

    /// Turns winners into variants, files and times.
    fn conclude(
        &self,
        bench: &mut Bench,
        found: Vec<(usize, Option<Winner>)>,
        device: &mut DeviceArtefact,
        outcome: &mut Outcome,
    ) -> Result<(), BenchError> {
        let count = found.len();
        for (rank, (at, winner)) in found.into_iter().enumerate() {
            let Some(winner) = winner else { continue };
            let size = &self.sizes[at];
            let stem = if count == 1 {
                self.arch.name().to_owned()
            } else {
                format!("{}-{}", self.arch, rank + 1)
            };
            let source = file_text(&self.kernel.function, self.arch, size, &winner.version);
            let ptx = winner.version.compiled.ptx.clone();
            let hashed = |name: String, text: &str| HashedFile {
                sha256: text_sha256(text),
                name,
            };
            let (cu_name, ptx_name) = (format!("{stem}.cu"), format!("{stem}.ptx"));
            let next = self.sizes.get(at).map(|size| size.elements);
            device.variants.push(DeviceVariant {
                source: hashed(cu_name.clone(), &source),
                ptx: hashed(ptx_name.clone(), &ptx),
                max_elements: next,
                tune: size.tune.to_string(),
                engine: "synth".to_owned(),
                actions: winner.version.actions.clone(),
                plan: winner.version.plan.clone(),
            });
            outcome
                .times
                .push(self.times(bench, size, &cu_name, &winner)?);
            outcome.files.extend([(cu_name, source), (ptx_name, ptx)]);
            let add = |into: &mut Vec<String>, from: &[String]| {
                for text in from {
                    if !into.contains(text) {
                        into.push(text.clone());
                    }
                }
            };
            add(&mut device.checked, winner.verified.checked());
            add(&mut device.checked, &winner.sanitized);
            add(&mut device.unchecked, winner.verified.unchecked());
            add(&mut device.unchecked, &winner.unsanitized);
        }
        // Between two sizes the geometric mean decides, as on the CPU; beyond the last there is no bound.
        let bounds: Vec<u64> = device
            .variants
            .iter()
            .filter_map(|variant| variant.max_elements)
            .collect();
        let last = device.variants.len().saturating_sub(1);
        for (at, variant) in device.variants.iter_mut().enumerate() {
            variant.max_elements =
                (at < last).then(|| (bounds[at] as f64 * bounds[at + 1] as f64).sqrt() as u64);
        }
        if !device.variants.is_empty() {
            device.outcome = TargetOutcome::Tuned;
            device.reason = None;
            if !self.arch.is_native_on(self.site.facts.capability) {
                device.unchecked.push(format!(
                    "run and timed on {} alone, through the driver's compiler",
                    self.site.facts.name
                ));
            }
            device
                .unchecked
                .push("hardware counters: what limits a kernel is the analytic floor".to_owned());
        }
        Ok(())
    }

    fn times(
        &self,
        bench: &mut Bench,
        size: &Size,
        entry: &str,
        winner: &Winner,
    ) -> Result<Times, BenchError> {
        let reference_ns = bench.measure_reference(&size.tune, 1, Effort::Search)?;
        let best_ns = median(&winner.times.cold);
        let mut sorted = winner.times.cold.clone();
        sorted.sort_by(f64::total_cmp);
        let at = |share: f64| sorted[((sorted.len() - 1) as f64 * share).round() as usize];
        let floor = self.site.floor(self.program, &size.dims);
        Ok(Times {
            tune: size.tune.to_string(),
            entry: entry.to_owned(),
            reference_ns,
            best_ns,
            ci95: (reference_ns / at(0.975), reference_ns / at(0.025)),
            roof_fraction: Some(floor.roof / best_ns),
            bottleneck: Some(format!("{} (analytic)", floor.name)),
            submit_ns: winner.times.batch_submit,
        })
    }
}

const VERIFIED: &str = "verified";

fn broken(error: WorkerError) -> BenchError {
    BenchError::Broken(error.to_string())
}

fn load(
    worker: &mut GpuWorker,
    bench: &Bench,
    image: &Path,
    plan: &LaunchPlan,
) -> Result<DeviceCandidate, WorkerError> {
    let (program, _) = worker.load(image, &plan.to_toml(), &bench.spec().device_params())?;
    Ok(DeviceCandidate {
        program,
        reports_faults: plan.fault,
    })
}

fn short(text: &str) -> String {
    text_sha256(text)
        .trim_start_matches("sha256:")
        .chars()
        .take(12)
        .collect()
}

/// The text of a vendored `.cu` file.
fn file_text(function: &str, arch: GpuArch, size: &Size, version: &Version) -> String {
    format!(
        "// `{function}` for {arch}, written by `cargo pragma tune`; do not edit.\n\
         // Tuned for {}. Schedule: {}.\n\
         // The manifest beside this file says how it is launched and what it was tested for.\n\n{}",
        size.tune,
        version.actions.join("; "),
        version.source
    )
}

/// The sizes of a job's kernel.
///
/// # Errors
/// If one does not fit the function.
pub fn sizes_of(bench: &Bench, program: &Program) -> Result<Vec<Size>, String> {
    let spec = bench.spec();
    crate::tune::sizes::sizes(&spec.attribute, &spec.signature, program, &spec.shapes)
        .map_err(|error| error.to_string())
}
