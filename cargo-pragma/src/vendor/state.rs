//! How functions and vendored kernels belong together.

use pragma_spec::{Fingerprint, KernelId, TargetOutcome};

use super::read::Vendored;
use crate::discover::{KernelSource, PackageSource};

/// The state of one marked function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KernelState {
    /// It has no kernels yet.
    Untuned,
    /// Its kernels were made for it as it stands.
    Fresh,
    /// It has changed since its kernels were made; the reference runs.
    Stale,
    /// Its vendored files are damaged; see the problems.
    Damaged,
}

impl KernelState {
    /// The word in reports.
    pub fn name(self) -> &'static str {
        match self {
            KernelState::Untuned => "untuned",
            KernelState::Fresh => "fresh",
            KernelState::Stale => "stale",
            KernelState::Damaged => "damaged",
        }
    }
}

/// States of all functions of a package, and what belongs to none of them.
#[derive(Clone, Debug, Default)]
pub struct States {
    /// In the order of [`PackageSource::kernels`].
    pub kernels: Vec<KernelState>,
    /// Kernels in the index whose function is gone.
    pub orphans: Vec<KernelId>,
}

/// Compares the functions of a package with what is vendored.
pub fn judge(source: &PackageSource, vendored: &Vendored) -> States {
    let kernels = source
        .kernels
        .iter()
        .map(|kernel| state(kernel, vendored))
        .collect();
    let orphans = vendored
        .index
        .kernels
        .iter()
        .map(|entry| &entry.kernel)
        .filter(|id| source.kernels.iter().all(|kernel| kernel.id != **id))
        .cloned()
        .collect();
    States { kernels, orphans }
}

fn state(kernel: &KernelSource, vendored: &Vendored) -> KernelState {
    if vendored.problem_of(&kernel.id).is_some() {
        return KernelState::Damaged;
    }
    let Some(entry) = vendored
        .index
        .kernels
        .iter()
        .find(|entry| entry.kernel == kernel.id)
    else {
        return KernelState::Untuned;
    };
    if entry.fingerprint == kernel.fingerprint {
        KernelState::Fresh
    } else {
        KernelState::Stale
    }
}

impl Vendored {
    /// Targets for which this kernel has a kernel, as names.
    pub fn tuned_targets(&self, id: &KernelId) -> Vec<&'static str> {
        let Some(kernel) = self.kernels.get(id) else {
            return Vec::new();
        };
        kernel
            .manifest
            .artefacts
            .iter()
            .filter(|artefact| artefact.outcome == TargetOutcome::Tuned)
            .map(|artefact| artefact.target.name())
            .collect()
    }

    /// The dependency hash that the kernels of `id` were made with.
    pub fn dependencies(&self, id: &KernelId) -> Option<&Fingerprint> {
        self.kernels
            .get(id)
            .map(|kernel| &kernel.manifest.dependencies)
    }
}
