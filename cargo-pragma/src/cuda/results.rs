//! What tuning on a device came to, as one file, and what of it goes into `pragma/`.
//!
//! Owns the format: a tar archive with `results.json` and the kernel files.

use std::path::Path;

use pragma_spec::Fingerprint;
use pragma_spec::device::DeviceArtefact;
use serde::{Deserialize, Serialize};

use super::job::{FORMAT, JobError, read_archive, write_archive};
use crate::vendor::Measured;

const INDEX: &str = "results.json";

/// The outcome of a job.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Results {
    /// [`FORMAT`].
    pub format: u32,
    /// The version of the tool that made them.
    pub tool: String,
    /// The card, the driver and the compiler.
    pub machine: String,
    /// One entry per kernel and architecture.
    pub outcomes: Vec<Outcome>,
}

/// What came of one kernel on one architecture.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Outcome {
    /// Its package.
    pub package: String,
    /// Its name in `pragma/`.
    pub kernel: String,
    /// Identifies function and attribute.
    pub fingerprint: String,
    /// Identifies what it depends on.
    pub dependencies: String,
    /// The accuracy policy, in words.
    pub accuracy: String,
    /// A [`DeviceArtefact`] as text.
    pub device: String,
    /// Kernel files: name in the kernel's directory and text.
    pub files: Vec<(String, String)>,
    /// Times, one per size.
    pub times: Vec<Times>,
    /// Candidates tried.
    pub candidates: u64,
    /// Time taken.
    pub seconds: f64,
    /// What was tried, in order: actions, verdict, time.
    pub tried: Vec<Tried>,
}

/// The best version of one size.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Times {
    /// The size.
    pub tune: String,
    /// The kernel file, or `reference`.
    pub entry: String,
    /// Median time of a call of the reference on the host's CPU, one thread, nanoseconds.
    pub reference_ns: f64,
    /// Median time of a call on the device with data in its memory and cold caches, nanoseconds.
    pub best_ns: f64,
    /// The middle 95 % of the samples' ratios.
    pub ci95: (f64, f64),
    /// Which part of the card's measured ceiling it reaches.
    pub roof_fraction: Option<f64>,
    /// What limits it by the analytic floor: `DRAM bandwidth` or `FP32`.
    pub bottleneck: Option<String>,
    /// Time of the host to start a call, nanoseconds.
    pub submit_ns: f64,
}

/// One candidate.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Tried {
    /// The size.
    pub tune: String,
    /// Its actions.
    pub actions: Vec<String>,
    /// `verified`, or what is wrong with it.
    pub verdict: String,
    /// Median time, nanoseconds.
    pub ns: Option<f64>,
    /// Registers, spilled bytes and static shared memory of its kernels.
    pub resources: Vec<(u32, u32, u32)>,
}

impl Outcome {
    /// The artefact.
    ///
    /// # Errors
    /// If it cannot be read, or a file is not the one that it means.
    pub fn artefact(&self) -> Result<DeviceArtefact, String> {
        let device: DeviceArtefact = self
            .device
            .parse()
            .map_err(|error: pragma_spec::RecordError| error.to_string())?;
        for file in device.files() {
            let text = self.files.iter().find(|(name, _)| *name == file.name);
            if text
                .map(|(_, text)| pragma_spec::text_sha256(text))
                .as_ref()
                != Some(&file.sha256)
            {
                return Err(format!("`{}` is missing or was changed", file.name));
            }
        }
        Ok(device)
    }

    /// Identifies function and attribute.
    pub fn fingerprint(&self) -> Option<Fingerprint> {
        self.fingerprint.parse().ok()
    }

    /// The lines for `measurements.toml`.
    pub fn measured(&self, arch: &str) -> Vec<Measured> {
        let line = |times: &Times| Measured {
            target: arch.to_owned(),
            entry: times.entry.clone(),
            tune: times.tune.clone(),
            threads: 1,
            reference_ns: times.reference_ns,
            best_ns: times.best_ns,
            speedup: times.reference_ns / times.best_ns.max(f64::MIN_POSITIVE),
            ci95: times.ci95,
            speedup_one_thread: None,
            roof_fraction: times.roof_fraction,
            bottleneck: times.bottleneck.clone(),
        };
        self.times.iter().map(line).collect()
    }
}

impl Results {
    /// Writes the archive `path`.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), JobError> {
        let index = serde_json::to_vec_pretty(self).unwrap_or_default();
        write_archive(path, &[(INDEX.to_owned(), index)])
    }

    /// Reads the archive `path`.
    ///
    /// # Errors
    /// If these are no results of this version.
    pub fn read(path: &Path) -> Result<Self, JobError> {
        let bad = |reason: String| JobError::Bad {
            path: path.to_owned(),
            reason,
        };
        let contents = read_archive(path)?;
        let (_, bytes) = contents
            .iter()
            .find(|(name, _)| name == INDEX)
            .ok_or_else(|| bad(format!("it has no {INDEX}")))?;
        let results: Results =
            serde_json::from_slice(bytes).map_err(|error| bad(error.to_string()))?;
        if results.format != FORMAT {
            return Err(bad(format!(
                "it has format {}, and this version of cargo-pragma reads {FORMAT}",
                results.format
            )));
        }
        Ok(results)
    }
}
