//! What a run reports for a kernel and target: rows for people, objects for programs.

use pragma_spec::{Target, TargetOutcome};
use serde::Serialize;

use super::kernel::{SizeResult, TargetResult};
use crate::history::Timing;
use crate::report;

/// One line of `tune --format json`; documented in `docs/commands.md`.
#[derive(Clone, Debug, Serialize)]
pub struct Line {
    /// The package.
    pub package: String,
    /// The kernel.
    pub kernel: String,
    /// The target.
    pub target: String,
    /// `tuned`, `reference-fastest`, `unproven`, `unliftable` or `failed`.
    pub outcome: &'static str,
    /// Why there is no kernel, where there is none.
    pub reason: Option<String>,
    /// Median time of the reference at the first size.
    pub reference_ns: Option<f64>,
    /// Median time of the best proven kernel at the first size.
    pub best_ns: Option<f64>,
    /// Reference over kernel at the first size.
    pub speedup: Option<f64>,
    /// Its 95 % confidence interval.
    pub ci95: Option<(f64, f64)>,
    /// Threads allowed.
    pub threads: Option<u32>,
    /// The speedup with one thread at the first size.
    pub speedup_one_thread: Option<f64>,
    /// Which part of the machine's ceiling the kernel reaches at the first size.
    pub roof_fraction: Option<f64>,
    /// What limits the kernel at the first size.
    pub bottleneck: Option<String>,
    /// Candidates tried.
    pub candidates: u64,
    /// Time taken.
    pub seconds: f64,
    /// The same numbers for every size.
    pub sizes: Vec<SizeLine>,
}

/// One size of a [`Line`].
#[derive(Clone, Debug, Serialize)]
pub struct SizeLine {
    /// The size.
    pub tune: String,
    /// What runs at it: an entry, or `reference`.
    pub entry: String,
    /// Median time of the reference.
    pub reference_ns: Option<f64>,
    /// Median time of the best proven kernel.
    pub best_ns: Option<f64>,
    /// Reference over kernel.
    pub speedup: Option<f64>,
    /// Its 95 % confidence interval.
    pub ci95: Option<(f64, f64)>,
    /// The speedup with one thread.
    pub speedup_one_thread: Option<f64>,
    /// Which part of the machine's ceiling the kernel reaches.
    pub roof_fraction: Option<f64>,
    /// What limits the kernel.
    pub bottleneck: Option<String>,
    /// Why the search stopped.
    pub stop: String,
    /// Why nothing was proven, where that is so.
    pub reason: Option<String>,
}

impl Line {
    /// A kernel that was not searched.
    pub fn without_search(
        package: &str,
        kernel: &str,
        target: Target,
        outcome: &'static str,
        reason: String,
    ) -> Self {
        Line {
            package: package.to_owned(),
            kernel: kernel.to_owned(),
            target: target.name().to_owned(),
            outcome,
            reason: Some(reason),
            reference_ns: None,
            best_ns: None,
            speedup: None,
            ci95: None,
            threads: None,
            speedup_one_thread: None,
            roof_fraction: None,
            bottleneck: None,
            candidates: 0,
            seconds: 0.0,
            sizes: Vec::new(),
        }
    }

    /// What a search came to.
    pub fn of(package: &str, kernel: &str, result: &TargetResult) -> Self {
        let sizes: Vec<SizeLine> = result.sizes.iter().map(SizeLine::of).collect();
        let first = sizes.first();
        Line {
            package: package.to_owned(),
            kernel: kernel.to_owned(),
            target: result.target.name().to_owned(),
            outcome: result.outcome.name(),
            reason: result.reason.clone(),
            reference_ns: first.and_then(|size| size.reference_ns),
            best_ns: first.and_then(|size| size.best_ns),
            speedup: first.and_then(|size| size.speedup),
            ci95: first.and_then(|size| size.ci95),
            threads: result
                .sizes
                .iter()
                .find_map(|size| size.timing.as_ref())
                .map(|timing| timing.threads),
            speedup_one_thread: first.and_then(|size| size.speedup_one_thread),
            roof_fraction: first.and_then(|size| size.roof_fraction),
            bottleneck: first.and_then(|size| size.bottleneck.clone()),
            candidates: result.candidates,
            seconds: result.seconds,
            sizes,
        }
    }

    /// Whether a search ended with something proven.
    pub fn is_proven(&self) -> bool {
        self.outcome == TargetOutcome::Tuned.name()
            || self.outcome == TargetOutcome::ReferenceFastest.name()
    }

    /// Rows of the final table, one for each size.
    pub fn rows(&self, name: &str) -> Vec<[String; 9]> {
        let dash = || "-".to_owned();
        if self.sizes.iter().all(|size| size.best_ns.is_none()) {
            let reason = self.reason.clone().unwrap_or_default();
            let outcome = if reason.is_empty() {
                self.outcome.to_owned()
            } else {
                format!("{}: {reason}", self.outcome)
            };
            let target = self.target.clone();
            return vec![[
                name.to_owned(),
                target,
                dash(),
                dash(),
                dash(),
                dash(),
                dash(),
                dash(),
                outcome,
            ]];
        }
        self.sizes
            .iter()
            .map(|size| {
                let reason = size.reason.as_deref().unwrap_or_default();
                let unproven = format!("unproven: {reason}");
                let outcome = match (size.entry.as_str(), size.best_ns) {
                    (_, None) => unproven.as_str(),
                    ("reference", _) => TargetOutcome::ReferenceFastest.name(),
                    _ => self.outcome,
                };
                [
                    name.to_owned(),
                    self.target.clone(),
                    size.tune.clone(),
                    size.reference_ns.map_or_else(dash, report::time),
                    size.best_ns.map_or_else(dash, report::time),
                    size.speedup
                        .zip(size.ci95)
                        .map_or_else(dash, |(ratio, ci)| report::speedup(ratio, ci)),
                    size.roof_fraction.map_or_else(dash, report::percent),
                    size.bottleneck.clone().unwrap_or_else(dash),
                    outcome.to_owned(),
                ]
            })
            .collect()
    }
}

impl SizeLine {
    fn of(size: &SizeResult) -> Self {
        let number = |read: fn(&Timing) -> f64| size.timing.as_ref().map(read);
        SizeLine {
            tune: size.tune.to_string(),
            entry: size.entry.clone(),
            reference_ns: number(|timing| timing.reference_ns),
            best_ns: number(|timing| timing.candidate_ns),
            speedup: number(|timing| timing.speedup),
            ci95: size.timing.as_ref().map(|timing| timing.ci95),
            speedup_one_thread: size.one_thread.as_ref().map(|timing| timing.speedup),
            roof_fraction: size.roof_fraction,
            bottleneck: size.limit.as_ref().map(|limit| limit.bottleneck.clone()),
            stop: size.stop.clone(),
            reason: size.reason.clone(),
        }
    }
}

/// Heads of the final table.
pub const HEADS: [&str; 9] = [
    "kernel",
    "target",
    "size",
    "reference",
    "best",
    "speedup [95% CI]",
    "roof",
    "bottleneck",
    "outcome",
];
