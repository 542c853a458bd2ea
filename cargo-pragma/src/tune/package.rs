//! What is vendored for a tuned kernel: manifest, files, measurements.

use std::collections::BTreeMap;

use pragma_spec::device::DeviceArtefact;
use pragma_spec::{
    Artefact, Fingerprint, Interface, MANIFEST_FORMAT, Manifest, Target, TargetOutcome,
    VerificationRecord, text_sha256,
};
use pragma_synth::lift::Lifted;

use super::kernel::TargetResult;
use crate::cuda::results::Outcome;
use crate::discover::KernelSource;
use crate::vendor::{KernelFiles, Measured, Measurements, VendoredKernel};

/// The vendored files for a kernel with these results, or `None` if nothing was proven for any target.
///
/// `previous` is what is vendored for the same function already: its targets stay where this run had no say.
pub fn package(
    kernel: &KernelSource,
    lifted: &Lifted,
    dependencies: Fingerprint,
    results: &[TargetResult],
    previous: Option<(&VendoredKernel, Measurements)>,
    machine: &str,
) -> Option<KernelFiles> {
    if results
        .iter()
        .all(|result| result.outcome == TargetOutcome::Unproven)
    {
        return None;
    }
    let mut artefacts: BTreeMap<Target, Artefact> = BTreeMap::new();
    let mut files: BTreeMap<String, String> = BTreeMap::new();
    let mut measured: Vec<Measured> = Vec::new();
    let mut record = VerificationRecord::default();
    let mut devices = Vec::new();
    if let Some((old, times)) = previous {
        for device in &old.manifest.devices {
            devices.push(device.clone());
            for file in device.files() {
                if let Some(text) = old.files.get(&file.name) {
                    files.insert(file.name.clone(), text.clone());
                }
            }
            let arch = device.arch.name();
            measured.extend(
                times
                    .measured
                    .iter()
                    .filter(|one| one.target == arch)
                    .cloned(),
            );
        }
        for artefact in &old.manifest.artefacts {
            if results
                .iter()
                .any(|result| result.target == artefact.target)
            {
                continue;
            }
            if let Some(file) = &artefact.file
                && let Some(text) = old.files.get(file)
            {
                files.insert(file.clone(), text.clone());
            }
            measured.extend(
                times
                    .measured
                    .iter()
                    .filter(|one| one.target == artefact.target.name())
                    .cloned(),
            );
            artefacts.insert(artefact.target, artefact.clone());
            merge(&mut record, &old.manifest.verification);
        }
    }
    for result in results {
        let file = result
            .file
            .as_ref()
            .map(|_| result.target.file_name().to_owned());
        artefacts.insert(
            result.target,
            Artefact {
                target: result.target,
                outcome: result.outcome,
                reason: result
                    .reason
                    .clone()
                    .map(|reason| stable(&reason, result.outcome)),
                sha256: result.file.as_deref().map(text_sha256),
                file: file.clone(),
                variants: result.variants.clone(),
            },
        );
        if let (Some(name), Some(text)) = (file, &result.file) {
            files.insert(name, text.clone());
        }
        merge(&mut record, &result.record);
        measured.extend(result.sizes.iter().filter_map(|size| {
            let timing = size.timing.as_ref()?;
            Some(Measured {
                target: result.target.name().to_owned(),
                entry: size.entry.clone(),
                tune: size.tune.to_string(),
                threads: timing.threads,
                reference_ns: timing.reference_ns,
                best_ns: timing.candidate_ns,
                speedup: timing.speedup,
                ci95: timing.ci95,
                speedup_one_thread: size.one_thread.as_ref().map(|timing| timing.speedup),
                roof_fraction: size.roof_fraction,
                bottleneck: size.limit.as_ref().map(|limit| limit.bottleneck.clone()),
            })
        }));
    }
    measured.sort_by(|a, b| a.target.cmp(&b.target));
    let manifest = Manifest {
        artefacts: artefacts.into_values().collect(),
        devices,
        verification: record,
        ..empty_manifest(kernel, lifted, dependencies)
    };
    let measurements = Measurements {
        machine: machine.to_owned(),
        measured,
    }
    .to_toml();
    Some(KernelFiles {
        manifest,
        files: files.into_iter().collect(),
        measurements,
    })
}

/// The manifest of a function without kernels.
fn empty_manifest(kernel: &KernelSource, lifted: &Lifted, dependencies: Fingerprint) -> Manifest {
    Manifest {
        format: MANIFEST_FORMAT,
        kernel: kernel.id.clone(),
        function: kernel.name(),
        package: kernel.package.clone(),
        module: kernel.module_text(),
        fingerprint: kernel.fingerprint.clone(),
        dependencies,
        signature: kernel
            .signature
            .as_ref()
            .map_or_else(|_| kernel.name(), ToString::to_string),
        dims: lifted.program.dims.clone(),
        shapes: lifted.shapes.clone(),
        interface: Interface {
            overflow_checked_in_debug: lifted.program.may_wrap(),
            form: kernel
                .signature
                .as_ref()
                .ok()
                .filter(|signature| !signature.form.is_plain())
                .map(|signature| signature.form.clone()),
            declines: lifted.program.declines(),
            swaps: lifted.swaps.clone(),
        },
        artefacts: Vec::new(),
        devices: Vec::new(),
        verification: VerificationRecord::default(),
    }
}

/// The vendored files for a kernel with these GPU artefacts. `previous` is what is vendored for the same function
/// already: it stays but for the architectures that are new.
pub fn with_devices(
    kernel: &KernelSource,
    lifted: &Lifted,
    dependencies: Fingerprint,
    devices: &[(DeviceArtefact, &Outcome)],
    previous: Option<(&VendoredKernel, Measurements)>,
    machine: &str,
) -> KernelFiles {
    let (mut manifest, mut files, mut times) = match previous {
        Some((old, times)) => (old.manifest.clone(), old.files.clone(), times),
        None => (
            empty_manifest(kernel, lifted, dependencies),
            BTreeMap::new(),
            Measurements {
                machine: machine.to_owned(),
                measured: Vec::new(),
            },
        ),
    };
    for (device, outcome) in devices {
        manifest.devices.retain(|old| old.arch != device.arch);
        manifest.devices.push(device.clone());
        if manifest.verification.accuracy.is_empty() {
            manifest.verification.accuracy.clone_from(&outcome.accuracy);
        }
        let arch = device.arch.name();
        files.retain(|name, _| !name.starts_with(arch));
        files.extend(outcome.files.iter().cloned());
        times.measured.retain(|old| old.target != arch);
        times.measured.extend(outcome.measured(arch));
    }
    manifest.devices.sort_by_key(|device| device.arch);
    times.measured.sort_by(|a, b| a.target.cmp(&b.target));
    if !times.machine.contains(machine) {
        times.machine = format!("{}; {machine}", times.machine);
    }
    KernelFiles {
        manifest,
        files: files.into_iter().collect(),
        measurements: times.to_toml(),
    }
}

/// A reason without the numbers of one machine: those are in the measurements.
fn stable(reason: &str, outcome: TargetOutcome) -> String {
    match outcome {
        TargetOutcome::ReferenceFastest => {
            "no proven kernel was faster than the reference".to_owned()
        }
        TargetOutcome::Tuned | TargetOutcome::Unproven => reason.to_owned(),
    }
}

fn merge(into: &mut VerificationRecord, from: &VerificationRecord) {
    let add = |into: &mut Vec<String>, from: &[String]| {
        for text in from {
            if !into.contains(text) {
                into.push(text.clone());
            }
        }
    };
    add(&mut into.checked, &from.checked);
    add(&mut into.unchecked, &from.unchecked);
    if !from.accuracy.is_empty() {
        into.accuracy.clone_from(&from.accuracy);
    }
}
