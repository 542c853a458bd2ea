//! A card: opening it, measuring it, and what it can do at best.

use std::path::{Path, PathBuf};
use std::time::Duration;

use pragma_spec::device::GpuArch;
use pragma_synth::analyze::traffic;
use pragma_synth::ir::Program;

use super::compiler::Compiler;
use crate::process::confine::Sandbox;
use crate::worker::WorkerError;
use crate::worker::cuda::protocol::DeviceCeilings;
use crate::worker::cuda::{DeviceFacts, GpuWorker, PROBE_SOURCE};

/// A card with the compiler for it.
#[derive(Clone, Debug)]
pub struct Site {
    /// The compiler.
    pub compiler: Compiler,
    /// The device's number.
    pub device: u32,
    /// What it is.
    pub facts: DeviceFacts,
    /// What it can do, measured.
    pub ceilings: DeviceCeilings,
    /// For compiled code and outputs.
    pub scratch: PathBuf,
    /// NVRTC's version of CUDA.
    pub nvrtc_version: (i32, i32),
}

/// A call on a device that takes longer is hung.
const CALL_TIMEOUT: Duration = Duration::from_secs(20);
/// The card cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SiteError {
    /// There is no usable device.
    #[error("no GPU can be used here: {0}")]
    Device(String),
    /// There is no usable compiler.
    #[error("{0}")]
    Compiler(String),
}

impl Site {
    /// Opens device `device` and measures it.
    ///
    /// # Errors
    /// If there is no driver, no device or no compiler that works.
    pub fn open(
        nvrtc: PathBuf,
        sandbox: Sandbox,
        device: u32,
        scratch: &Path,
    ) -> Result<Self, SiteError> {
        let gone = |error: WorkerError| SiteError::Device(error.to_string());
        let compiler = Compiler { nvrtc, sandbox };
        let mut worker =
            GpuWorker::start(&compiler.sandbox.exe, device, scratch, CALL_TIMEOUT).map_err(gone)?;
        let facts = worker.facts().map_err(gone)?;
        let arch = archs(&facts).pop().ok_or_else(|| {
            let (major, minor) = facts.capability;
            SiteError::Device(format!(
                "{} has compute capability {major}.{minor}, and kernels need 8.0",
                facts.name
            ))
        })?;
        let probe = compiler
            .compile(PROBE_SOURCE, "probe", arch, &[], scratch)
            .map_err(|error| SiteError::Compiler(error.to_string()))?;
        let ceilings = worker.ceilings(&probe.ptx_file).map_err(gone)?;
        Ok(Site {
            compiler,
            device,
            facts,
            ceilings,
            scratch: scratch.to_owned(),
            nvrtc_version: probe.version,
        })
    }

    /// The card, its driver and the compiler in one line.
    pub fn describe(&self) -> String {
        let driver = self.facts.driver;
        let (major, minor) = self.nvrtc_version;
        format!(
            "{}, driver for CUDA {}.{}, NVRTC {major}.{minor}; copy {:.2} TB/s, FP32 {:.1} TFLOP/s",
            self.facts.name,
            driver / 1000,
            driver % 1000 / 10,
            self.ceilings.copy / 1e12,
            self.ceilings.flops / 1e12
        )
    }

    /// A fresh worker with a context of its own.
    ///
    /// # Errors
    /// If it does not come up.
    pub fn worker(&self) -> Result<GpuWorker, WorkerError> {
        GpuWorker::start(
            &self.compiler.sandbox.exe,
            self.device,
            &self.scratch,
            CALL_TIMEOUT,
        )
    }

    /// The shortest time that a call can take, and what sets it: compulsory traffic beyond what the L2 cache can keep,
    /// and arithmetic.
    pub(super) fn floor(&self, program: &Program, dims: &[u64]) -> Floor {
        let traffic = traffic::traffic(program, dims);
        let kept = self.facts.l2_bytes as f64;
        let memory = |bytes: f64| bytes / self.ceilings.copy * 1e9;
        let arithmetic = traffic.flops / self.ceilings.flops * 1e9;
        Floor {
            // Flushed before every call, the cache holds none of the inputs, but may keep all of the outputs. Arithmetic
            // is not certain: tensor cores and special function units do more than the probe.
            certain: memory(traffic.bytes_read + (traffic.bytes_written - kept).max(0.0)),
            roof: memory(traffic.bytes()).max(arithmetic),
            name: if arithmetic > memory(traffic.bytes()) {
                "FP32"
            } else {
                "DRAM bandwidth"
            },
        }
    }
}

pub(super) struct Floor {
    /// No call can be faster, nanoseconds.
    pub certain: f64,
    /// What a call that leaves nothing in the caches takes at best, nanoseconds.
    pub roof: f64,
    /// What sets it.
    pub name: &'static str,
}

/// The architectures whose code a device runs, weakest first.
pub fn archs(facts: &DeviceFacts) -> Vec<GpuArch> {
    GpuArch::ALL
        .into_iter()
        .filter(|arch| arch.runs_on(facts.capability))
        .collect()
}
