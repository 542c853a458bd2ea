//! What this machine can do at most: bandwidth per cache level and multiply-adds per second, as measured.
//!
//! Owns measuring them once, keeping them under `target/pragma/`, and the roof of a kernel. Another CPU, core count or
//! format of the file means measuring again.

use std::path::Path;
use std::time::Duration;

use pragma_spec::{Scalar, Target};
use pragma_synth::analyze::traffic::Traffic;
use serde::{Deserialize, Serialize};

use super::probe;
use crate::harness::Harness;
use crate::inputs::{Fill, Values};
use crate::machine;
use crate::verify::{BenchError, Limits};
use crate::worker::protocol::{Access, ArgSpec};
use crate::worker::{Worker, WorkerConfig, WorkerError};

/// The format of the kept file.
const FORMAT: u32 = 1;
/// The kept file.
const FILE: &str = "ceilings.json";
/// What one figure may cost.
const BUDGET: Duration = Duration::from_millis(120);

/// Stands for a bandwidth without a probe; too large to be anybody's roof.
const UNMEASURED: f64 = 1e9;

/// Four significant digits: more would be noise, and a file with fewer digits reads back as it was written.
fn digits(value: f64) -> f64 {
    format!("{value:.3e}").parse().unwrap_or(value)
}

/// Bandwidth for a working set of a certain size.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct MemoryLevel {
    /// Bytes of all buffers together.
    pub bytes: u64,
    /// Copying, bytes read plus bytes written per nanosecond (GB/s): the best of `memcpy`, vector and streaming stores.
    pub copy_gbs: f64,
    /// Reading only, GB/s.
    pub read_gbs: f64,
}

/// What a number of threads can do together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ThreadCeilings {
    /// How many.
    pub threads: usize,
    /// Smallest working set first; the last lies in main memory.
    pub levels: Vec<MemoryLevel>,
    /// f32 operations per nanosecond (a fused multiply-add is two) by tier name.
    pub fma_gflops: Vec<(String, f64)>,
}

/// The ceilings of one machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ceilings {
    /// The file's format.
    pub format: u32,
    /// The CPU and its cores, as a key.
    pub machine: String,
    /// One thread first, then as many as the hardware has.
    pub by_threads: Vec<ThreadCeilings>,
}

/// The ceilings of this machine: from `cache` if they are there, otherwise measured (a few seconds) and kept.
///
/// # Errors
/// If the probe does not build or a worker dies.
pub fn ceilings(harness: &Harness, limits: &Limits, cache: &Path) -> Result<Ceilings, BenchError> {
    let machine = format!(
        "{} x {}, threads {}",
        machine::model(),
        machine::cores(),
        limits.threads
    );
    let file = cache.join(FILE);
    let kept = std::fs::read(&file)
        .ok()
        .and_then(|bytes| serde_json::from_slice::<Ceilings>(&bytes).ok());
    if let Some(kept) = kept.filter(|kept| kept.format == FORMAT && kept.machine == machine) {
        return Ok(kept);
    }
    let measured = measure(harness, limits, machine)?;
    keep(&measured, &file);
    Ok(measured)
}

/// Measures again and keeps the higher of both figures: for when a verified kernel is faster than `known` allows, which
/// only says that the machine was busy when it was measured.
///
/// # Errors
/// As [`ceilings`].
pub fn raise(
    known: &Ceilings,
    harness: &Harness,
    limits: &Limits,
    cache: &Path,
) -> Result<Ceilings, BenchError> {
    let mut raised = measure(harness, limits, known.machine.clone())?;
    for entry in &mut raised.by_threads {
        let Some(old) = known
            .by_threads
            .iter()
            .find(|old| old.threads == entry.threads)
        else {
            continue;
        };
        for level in &mut entry.levels {
            if let Some(old) = old.levels.iter().find(|old| old.bytes == level.bytes) {
                level.copy_gbs = level.copy_gbs.max(old.copy_gbs);
                level.read_gbs = level.read_gbs.max(old.read_gbs);
            }
        }
        for (name, gflops) in &mut entry.fma_gflops {
            let old = old.fma_gflops.iter().find(|(old, _)| old == name);
            *gflops = old.map_or(*gflops, |(_, old)| gflops.max(*old));
        }
    }
    keep(&raised, &cache.join(FILE));
    Ok(raised)
}

/// A file that cannot be kept costs time and nothing else.
fn keep(ceilings: &Ceilings, file: &Path) {
    if let Ok(text) = serde_json::to_vec_pretty(ceilings) {
        let part = file.with_extension(format!("{}.part", std::process::id()));
        let _ = std::fs::write(&part, text).and_then(|()| std::fs::rename(&part, file));
    }
}

fn measure(harness: &Harness, limits: &Limits, machine: String) -> Result<Ceilings, BenchError> {
    let broken = |error: WorkerError| BenchError::Broken(format!("measuring the machine: {error}"));
    let scratch = tempfile::tempdir().map_err(|error| BenchError::Broken(error.to_string()))?;
    let targets = machine::targets();
    let built = harness
        .build_library(
            "probe",
            &probe::source(&targets),
            "probe_memcpy",
            scratch.path(),
        )
        .map_err(|error| BenchError::Broken(format!("the machine probe: {error:?}")))?;
    let mut counts = vec![1];
    if limits.threads > 1 {
        counts.push(limits.threads);
    }
    let mut by_threads = Vec::new();
    for threads in counts {
        let config = WorkerConfig {
            sandbox: limits.sandbox.clone(),
            libraries: vec![built.path.clone()],
            memory: limits.memory,
            cpu_seconds: 120,
            threads,
            call_timeout: Duration::from_secs(30),
        };
        let worker = Worker::start(&config, scratch.path()).map_err(broken)?;
        let mut prober = Prober {
            worker,
            library: &built.path,
            threads,
        };
        by_threads.push(prober.run(&targets).map_err(broken)?);
    }
    Ok(Ceilings {
        format: FORMAT,
        machine,
        by_threads,
    })
}

/// Runs probes in one worker.
struct Prober<'a> {
    worker: Worker,
    library: &'a Path,
    threads: usize,
}

impl Prober<'_> {
    fn run(&mut self, targets: &[Target]) -> Result<ThreadCeilings, WorkerError> {
        let named = |probe: &str| {
            targets
                .iter()
                .map(|&target| probe::symbol(probe, target))
                .collect::<Vec<_>>()
        };
        let mut copies = vec!["probe_memcpy".to_owned()];
        copies.extend(named("copy"));
        copies.extend(named("stream"));
        let mut levels = Vec::new();
        for bytes in working_sets(self.threads) {
            let half = bytes / 8;
            let copy = self.fastest(
                &copies,
                &[buffer(half, Access::Read), buffer(half, Access::Write)],
            )?;
            let read = self.fastest(&named("read"), &[buffer(bytes / 4, Access::Read)])?;
            levels.push(MemoryLevel {
                bytes,
                copy_gbs: copy.map_or(UNMEASURED, |ns| digits(bytes as f64 / ns)),
                read_gbs: read.map_or(UNMEASURED, |ns| digits(bytes as f64 / ns)),
            });
        }
        let mut fma_gflops = Vec::new();
        for &target in targets {
            let operations =
                (2 * target.lanes() * probe::FMA_CHAINS * probe::FMA_STEPS * probe::FMA_BLOCKS)
                    as f64;
            if let Some(ns) =
                self.fastest(&[probe::symbol("fma", target)], &[buffer(16, Access::Read)])?
            {
                fma_gflops.push((target.name().to_owned(), digits(operations / ns)));
            }
        }
        Ok(ThreadCeilings {
            threads: self.threads,
            levels,
            fma_gflops,
        })
    }

    /// The fastest round of the fastest probe, nanoseconds per call: a ceiling is what the machine can do when nothing
    /// else runs.
    fn fastest(&mut self, probes: &[String], args: &[ArgSpec]) -> Result<Option<f64>, WorkerError> {
        if probes.is_empty() {
            return Ok(None);
        }
        let mut libraries = Vec::new();
        for probe in probes {
            libraries.push(self.worker.load(self.library, probe)?);
        }
        let rounds = self
            .worker
            .time(&libraries, args, self.threads, BUDGET, 60, 1)?;
        Ok(rounds.iter().flatten().copied().min_by(f64::total_cmp))
    }
}

fn buffer(len: u64, access: Access) -> ArgSpec {
    ArgSpec {
        view_of: None,
        elem: Scalar::F32,
        len,
        access,
        values: Values::plain(Fill::Constant(1.0)),
        seed: 0,
    }
}

/// Sizes in L1, L2, the last level and main memory, whole blocks of the probes where they are large. Private caches
/// count once per thread.
fn working_sets(threads: usize) -> Vec<u64> {
    let threads = threads as u64;
    let (l1, l2, l3) = (
        cache_bytes(0, 32 << 10),
        cache_bytes(2, 1 << 20),
        cache_bytes(3, 32 << 20),
    );
    let memory = (8 * l3).clamp(256 << 20, 1 << 30);
    // Shared out, a working set as small as L1 measures how fast threads wake up; it is left out.
    let mut sets = if threads == 1 {
        vec![l1 / 2]
    } else {
        Vec::new()
    };
    sets.extend([threads * l2 / 2, (l3 / 2).max(threads * l2), memory]);
    sets.dedup();
    sets
}

/// The size of cache `index` of the first processor: 0 for L1 data, 2 for L2, 3 for L3.
fn cache_bytes(index: u32, fallback: u64) -> u64 {
    let path = format!("/sys/devices/system/cpu/cpu0/cache/index{index}/size");
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let text = text.trim();
    let parsed = match text.strip_suffix('K') {
        Some(kib) => kib.parse::<u64>().ok().map(|kib| kib << 10),
        None => text
            .strip_suffix('M')
            .and_then(|mib| mib.parse::<u64>().ok())
            .map(|mib| mib << 20),
    };
    parsed.filter(|bytes| *bytes > 0).unwrap_or(fallback)
}

impl Ceilings {
    /// Those for a number of threads: the entry with the most threads that is not above it.
    pub fn for_threads(&self, threads: usize) -> Option<&ThreadCeilings> {
        self.by_threads
            .iter()
            .filter(|entry| entry.threads <= threads)
            .max_by_key(|entry| entry.threads)
    }
}

impl ThreadCeilings {
    /// Main memory.
    pub fn memory(&self) -> Option<&MemoryLevel> {
        self.levels.last()
    }

    /// The level that decides for a working set: the largest measured one that it fills, so that a roof is never above
    /// what the caches in between could give.
    pub fn level(&self, bytes: u64) -> Option<&MemoryLevel> {
        self.levels
            .iter()
            .rev()
            .find(|level| level.bytes <= bytes)
            .or(self.levels.first())
    }

    /// Operations per nanosecond on a tier.
    pub fn gflops(&self, target: Target) -> Option<f64> {
        self.fma_gflops
            .iter()
            .find(|(name, _)| name == target.name())
            .map(|(_, gflops)| *gflops)
    }

    /// The least time that moving these bytes takes, nanoseconds. What is written is paired with what is read at the
    /// speed of a copy; what is left is read.
    pub fn memory_ns(&self, traffic: &Traffic, footprint: u64) -> f64 {
        let Some(level) = self.level(footprint) else {
            return 0.0;
        };
        let paired = 2.0 * traffic.bytes_read.min(traffic.bytes_written);
        let rest = traffic.bytes_read + traffic.bytes_written - paired;
        let rest_gbs = if traffic.bytes_read >= traffic.bytes_written {
            level.read_gbs
        } else {
            level.copy_gbs
        };
        paired / level.copy_gbs + rest / rest_gbs
    }

    /// The least time that these operations take, nanoseconds.
    pub fn compute_ns(&self, traffic: &Traffic, target: Target) -> f64 {
        self.gflops(target)
            .map_or(0.0, |gflops| traffic.flops / gflops)
    }

    /// The roof: no kernel for this tier can be faster, nanoseconds. `footprint` is the bytes of all buffers.
    pub fn roof_ns(&self, traffic: &Traffic, footprint: u64, target: Target) -> f64 {
        self.memory_ns(traffic, footprint)
            .max(self.compute_ns(traffic, target))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> ThreadCeilings {
        let level = |bytes, copy_gbs, read_gbs| MemoryLevel {
            bytes,
            copy_gbs,
            read_gbs,
        };
        ThreadCeilings {
            threads: 1,
            levels: vec![level(16 << 10, 200.0, 300.0), level(256 << 20, 10.0, 15.0)],
            fma_gflops: vec![("x86-64-v4".into(), 100.0)],
        }
    }

    #[test]
    fn the_roof_is_the_slower_of_memory_and_arithmetic() {
        let ceilings = sample();
        let traffic = |read: f64, written: f64, flops: f64| Traffic {
            bytes_read: read,
            bytes_written: written,
            flops,
            integer_ops: 0.0,
        };
        // A copy, out of cache.
        assert_eq!(
            ceilings.roof_ns(&traffic(1e9, 1e9, 1.0), 2 << 30, Target::X86_64V4),
            2e8
        );
        // Twice as much read as written: the rest at the speed of reading.
        assert_eq!(
            ceilings.memory_ns(&traffic(3e9, 1.5e9, 0.0), 2 << 30),
            3e8 + 1e8
        );
        assert_eq!(
            ceilings.roof_ns(&traffic(1e3, 0.0, 1e6), 1 << 12, Target::X86_64V4),
            1e4
        );
        // Between two levels the faster one counts.
        assert_eq!(
            ceilings.level(1 << 20).map(|level| level.bytes),
            Some(16 << 10)
        );
        assert_eq!(ceilings.level(1).map(|level| level.bytes), Some(16 << 10));
    }

    #[test]
    fn sizes_grow() {
        for threads in [1, 2, 64] {
            let sets = working_sets(threads);
            assert!(sets.windows(2).all(|w| w[0] < w[1]), "{sets:?}");
        }
    }
}
