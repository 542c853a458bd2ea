//! Throwaway crates for the tests of harness, worker and verification.
//!
//! Owns writing a crate to a temporary directory and building it through the harness. All share one build cache, so
//! that the runtime and its dependencies are compiled once.

#![allow(dead_code)] // Every test binary uses a part of it.

use pragma_spec::form::HarnessForms;
use std::path::{Path, PathBuf};

use cargo_pragma::harness::{
    CandidateText, CrateTarget, Harness, HarnessError, HarnessRequest, build,
};
use cargo_pragma::process::confine::Sandbox;
use cargo_pragma::verify::{Bench, BenchError, KernelSpec, Level, Limits, Verdict};
use pragma_spec::{KernelAttribute, KernelSignature};

/// The executable under test.
pub fn exe() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_cargo-pragma"))
}

/// The workspace.
pub fn workspace() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent()
        .expect("the package lies in the workspace")
        .to_owned()
}

/// A crate in a temporary directory.
pub struct Fixture {
    pub dir: tempfile::TempDir,
    pub root: PathBuf,
}

impl Fixture {
    /// A package `name` under `place` of a fresh directory, depending on the runtime. `extra` follows in its manifest.
    pub fn new(place: &str, name: &str, extra: &str) -> Self {
        let dir = tempfile::tempdir().expect("a temporary directory");
        // The harness compares paths that cargo has made canonical.
        let root = dir.path().canonicalize().expect("exists").join(place);
        std::fs::create_dir_all(root.join("src")).expect("can be made");
        let runtime = workspace().join("runtime");
        let manifest = format!(
            "[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[workspace]\n\n[dependencies]\npragma-runtime = {{ path = {runtime:?} }}\n{extra}"
        );
        std::fs::write(root.join("Cargo.toml"), manifest).expect("can be written");
        // The workspace's choice of versions: what is already there can be used.
        std::fs::copy(workspace().join("Cargo.lock"), root.join("Cargo.lock"))
            .expect("can be copied");
        Fixture { dir, root }
    }

    /// Writes a source file.
    pub fn file(self, path: &str, text: &str) -> Self {
        let path = self.root.join(path);
        std::fs::create_dir_all(path.parent().expect("has a parent")).expect("can be made");
        std::fs::write(path, text).expect("can be written");
        self
    }

    /// Builds the library through the harness.
    pub fn build(&self, package: &str) -> Result<Harness, HarnessError> {
        self.build_target(package, CrateTarget::Lib, &[])
    }

    /// Builds a target through the harness.
    pub fn build_target(
        &self,
        package: &str,
        target: CrateTarget,
        cargo_args: &[&str],
    ) -> Result<Harness, HarnessError> {
        let name = match &target {
            CrateTarget::Lib => package,
            CrateTarget::Bin(name) => name,
        };
        build(&HarnessRequest {
            manifest_path: self.root.join("Cargo.toml"),
            package: package.into(),
            crate_name: name.replace('-', "_"),
            target,
            cargo_args: ["--profile", "release"]
                .iter()
                .chain(cargo_args)
                .map(|arg| (*arg).to_owned())
                .collect(),
            cache: Path::new(env!("CARGO_TARGET_TMPDIR")).join("fixtures"),
            sandbox: Sandbox::required(exe()),
            forms: HarnessForms::default(),
            color: false,
        })
    }
}

/// A reference written out the way the macro exports it, around `body`, Rust that ends in a call.
pub fn export(symbol: &str, body: &str) -> String {
    format!(
        "#[unsafe(no_mangle)]\npub unsafe extern \"C\" fn {symbol}(args: *const pragma_runtime::harness::RawArg, count: usize, ret: *const pragma_runtime::harness::RawReturn) -> u32 {{\n    use pragma_runtime::harness as h;\n    let _ = (count, ret);\n    h::guard_panic(|| unsafe {{ {body}; h::STATUS_OK }})\n}}\n"
    )
}

/// A spec from source text.
pub fn spec(signature: &str, attribute: &str, symbol: &str, oracle: Option<String>) -> KernelSpec {
    let item: syn::ItemFn = syn::parse_str(&format!("{signature} {{}}")).expect("parses");
    let signature = KernelSignature::from_syn(&item.sig).expect("is supported");
    let attribute =
        KernelAttribute::parse(attribute.parse().expect("tokens")).expect("is an attribute");
    let dims = attribute.dims();
    let shapes = attribute.shapes.clone();
    KernelSpec::new(signature, attribute, &dims, shapes, symbol.into(), oracle)
        .expect("dims are determined")
}

/// Limits with a short timeout.
pub fn limits() -> Limits {
    let mut limits = Limits::new(Sandbox::required(exe()));
    limits.call_timeout = std::time::Duration::from_secs(5);
    limits.memory = 2 << 30;
    limits
}

/// Opens a bench that has passed its self-test.
pub fn bench(harness: &Harness, spec: KernelSpec) -> Result<Bench, BenchError> {
    let mut bench = Bench::open(harness, spec, limits(), 1)?;
    bench.self_test()?;
    Ok(bench)
}

/// The verdict over a kernel's source.
pub fn verdict(
    harness: &Harness,
    bench: &mut Bench,
    source: &str,
    entry: &str,
    level: Level,
) -> Verdict {
    let spec = bench.spec().clone();
    let text = CandidateText {
        source,
        entry,
        signature: &spec.signature,
        guard: &spec.guard,
        shapes: &spec.shapes,
        declines: false,
    };
    let dir = bench.candidates();
    // Unscreened: what running a kernel shows must not depend on someone having read it.
    let built = harness
        .build_unscreened(&text, &dir)
        .unwrap_or_else(|error| panic!("{error:?}"));
    bench.verify(&built, level).expect("the bench works")
}
