//! What tuning, checking and timing need of a package: its harness builds, and a bench per kernel.

use std::collections::BTreeMap;

use anyhow::Context;
use pragma_spec::TuneSize;
use pragma_spec::form::HarnessForms;
use pragma_synth::lift::Lifted;
use pragma_synth::oracle;

use super::bench::BenchEvaluator;
use super::indices::indices;
use crate::cli::args::Common;
use crate::cli::exit::Failure;
use crate::diagnostic::Diagnostic;
use crate::discover::{self, CrateKind, KernelSource, PackageSource, Workspace, cargo_flags};
use crate::harness::{self, CrateTarget, Harness, HarnessError, HarnessRequest};
use crate::measure::{self, Ceilings};
use crate::process::confine::{Confinement, Sandbox};
use crate::verify::{Bench, BenchError, KernelSpec, Limits};

/// Builds harnesses when they are first needed.
pub struct Workshop<'a> {
    workspace: &'a Workspace,
    common: &'a Common,
    jobs: Option<usize>,
    sandbox: Sandbox,
    harnesses: BTreeMap<(String, usize), Harness>,
}

impl<'a> Workshop<'a> {
    /// A workshop for the packages of `workspace`; `jobs` limits what cargo runs at once.
    ///
    /// # Errors
    /// If this process cannot find its own executable, or untrusted code cannot be confined here and that was not
    /// waived.
    pub fn open(
        workspace: &'a Workspace,
        common: &'a Common,
        jobs: Option<usize>,
        confinement: Confinement,
    ) -> Result<Self, Failure> {
        let exe = std::env::current_exe().context("cannot find the executable of this process")?;
        let sandbox = Sandbox { exe, confinement };
        sandbox.probe().map_err(|missing| {
            Failure::environment(
                format!("kernels cannot be confined on this machine: {missing}"),
                "`cargo pragma doctor` says how to mend it; `--allow-unsandboxed` runs them with your own rights, and the manifest will say so",
            )
        })?;
        Ok(Workshop {
            workspace,
            common,
            jobs,
            sandbox,
            harnesses: BTreeMap::new(),
        })
    }

    /// Whether the harness of a crate is there already.
    pub fn has_harness(&self, source: &PackageSource, krate: usize) -> bool {
        self.harnesses
            .contains_key(&(source.package.name.clone(), krate))
    }

    /// The harness of a crate of a package, built on first use.
    ///
    /// # Errors
    /// A build failure with rustc's own messages, or what is missing.
    pub fn harness(&mut self, source: &PackageSource, krate: usize) -> Result<&Harness, Failure> {
        let key = (source.package.name.clone(), krate);
        if !self.harnesses.contains_key(&key) {
            let built = self.build(source, krate)?;
            self.harnesses.insert(key.clone(), built);
        }
        self.harnesses
            .get(&key)
            .ok_or_else(|| Failure::Internal(anyhow::anyhow!("a harness vanished")))
    }

    fn build(&self, source: &PackageSource, krate: usize) -> Result<Harness, Failure> {
        let package = &source.package;
        let target = source
            .crates
            .get(krate)
            .map(|krate| &krate.target)
            .ok_or_else(|| {
                Failure::Internal(anyhow::anyhow!(
                    "package `{}` has no crate {krate}",
                    package.name
                ))
            })?;
        let mut cargo_args = cargo_flags(self.common);
        cargo_args.extend(["--profile".to_owned(), self.common.profile.clone()]);
        if let Some(jobs) = self.jobs {
            cargo_args.extend(["--jobs".to_owned(), jobs.to_string()]);
        }
        let request = HarnessRequest {
            manifest_path: package.manifest_path.clone(),
            package: package.name.clone(),
            target: match &target.kind {
                CrateKind::Lib => CrateTarget::Lib,
                CrateKind::Bin(name) => CrateTarget::Bin(name.clone()),
            },
            crate_name: target.name.replace('-', "_"),
            cargo_args,
            cache: self.workspace.private_dir(),
            sandbox: self.sandbox.clone(),
            forms: HarnessForms {
                records: source
                    .kernels
                    .iter()
                    .filter(|kernel| kernel.krate == krate)
                    .filter_map(KernelSource::harness_form)
                    .collect(),
            },
            color: anstream::stderr().current_choice() != anstream::ColorChoice::Never,
        };
        harness::build(&request).map_err(|error| failure(&package.name, error))
    }

    /// The machine's ceilings, measured with the harness of this crate. What is known from earlier runs can only rise:
    /// a figure that was taken on a busy machine would let kernels pass for more than the hardware can do.
    ///
    /// # Errors
    /// As [`Workshop::harness`]; a machine that cannot be measured is a missing need.
    pub fn ceilings(&mut self, source: &PackageSource, krate: usize) -> Result<Ceilings, Failure> {
        let limits = Limits::new(self.sandbox.clone());
        let private = self.workspace.private_dir();
        let harness = self.harness(source, krate)?;
        let measured = measure::ceilings(harness, &limits, &private)
            .and_then(|known| measure::raise(&known, harness, &limits, &private));
        measured.map_err(|error| {
            Failure::environment(
                format!("cannot measure this machine: {error}"),
                "`cargo pragma doctor` shows what is missing",
            )
        })
    }

    /// A bench for one kernel. `tunes` are the sizes that a full verification includes.
    ///
    /// # Errors
    /// If no candidate of this function can be proven, or the machine is in the way.
    pub fn bench(
        &mut self,
        source: &PackageSource,
        kernel: &KernelSource,
        lifted: &Lifted,
        tunes: Vec<TuneSize>,
        seed: u64,
    ) -> Result<Result<BenchEvaluator, BenchError>, Failure> {
        let sandbox = self.sandbox.clone();
        let harness = self.harness(source, kernel.krate)?.clone();
        let spec = match self.spec(kernel, lifted, tunes) {
            Ok(spec) => spec,
            Err(error) => return Ok(Err(error)),
        };
        let bench = Bench::open(&harness, spec, Limits::new(sandbox), seed);
        Ok(bench.map(|bench| BenchEvaluator::new(harness, bench)))
    }

    /// What a bench is to know of a kernel. `tunes` are the sizes that a full verification includes.
    ///
    /// # Errors
    /// If no candidate of this function can be proven.
    pub fn spec(
        &self,
        kernel: &KernelSource,
        lifted: &Lifted,
        tunes: Vec<TuneSize>,
    ) -> Result<KernelSpec, BenchError> {
        let (Ok(signature), Ok(attribute)) = (&kernel.signature, &kernel.attribute) else {
            return Err(BenchError::Unprovable(
                "its attribute or signature is refused".to_owned(),
            ));
        };
        let mut attribute = attribute.clone();
        attribute.tunes = tunes;
        let oracle = oracle::oracle_source(&lifted.program, signature).ok();
        let spec = KernelSpec::new(
            signature.clone(),
            attribute,
            &lifted.program.dims,
            lifted.shapes.clone(),
            kernel.harness_symbol(),
            oracle,
        )
        .map_err(|error| BenchError::Unprovable(error.to_string()))?;
        Ok(KernelSpec {
            declines: lifted.program.declines(),
            indices: indices(&lifted.program, signature),
            swaps: lifted.swaps.clone(),
            ..spec
        })
    }
}

fn failure(package: &str, error: HarnessError) -> Failure {
    match error {
        HarnessError::DoesNotBuild { rendered } => discover::build_failure(
            package,
            rendered,
            "fix the errors above first; `cargo build --release` shows the same",
        ),
        HarnessError::NoReference { rendered } => Failure::DoesNotBuild {
            rendered,
            diagnostic: Box::new(
                Diagnostic::error(format!(
                    "package `{package}` builds, but not with its references exported"
                ))
                .note("the marked functions are compiled a second time, with entries that a worker can call"),
            ),
        },
        error @ HarnessError::NoRuntime(_) => {
            Failure::usage(error, "run `cargo pragma init` in the package")
        }
        error @ HarnessError::NotRecorded(_) => Failure::environment(
            error,
            "look for `rustc-wrapper` or `rustc-workspace-wrapper` in cargo's configuration",
        ),
        error @ HarnessError::Io { .. } => {
            Failure::environment(error, "make cargo's target directory writable, or set CARGO_TARGET_DIR")
        }
    }
}

/// Decides test data of a kernel: the same function is tested on the same data everywhere.
pub fn seed(kernel: &KernelSource) -> u64 {
    u64::from_str_radix(&kernel.fingerprint.hex()[..8], 16).unwrap_or(0)
}
