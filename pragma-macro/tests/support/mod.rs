//! Throwaway crates that use the macro, with kernels written by hand.
//!
//! Owns their files under cargo's directory for tests; they share one target directory, so that the runtime is built once.
#![allow(dead_code, reason = "every test binary uses a part")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use syn::ext::IdentExt;

use pragma_spec::{
    Artefact, Fingerprint, Index, IndexEntry, Interface, KernelId, KernelSignature, Manifest,
    Shape, Target, TargetOutcome, Variant, VerificationRecord, dependency_hash, dims_of,
    fingerprint, text_sha256,
};

/// Where all throwaway crates are built.
pub fn target_dir() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("shared-target")
}

/// A package of its own.
pub struct Crate {
    /// The directory of its `Cargo.toml`.
    pub dir: PathBuf,
    /// Its name.
    pub name: String,
}

/// What a cargo command did.
pub struct Outcome {
    /// Whether it exited with 0.
    pub ok: bool,
    /// Its output.
    pub stdout: String,
    /// Its messages.
    pub stderr: String,
}

impl Crate {
    /// A package with an empty index and no source.
    pub fn new(name: &str) -> Crate {
        let dir = Path::new(env!("CARGO_TARGET_TMPDIR"))
            .join("crates")
            .join(name);
        let _ = fs::remove_dir_all(&dir);
        let krate = Crate {
            dir,
            name: name.to_owned(),
        };
        let runtime = Path::new(env!("CARGO_MANIFEST_DIR")).join("../runtime");
        let manifest = format!(
            "[package]\nname = \"{name}\"\nversion = \"0.0.0\"\nedition = \"2024\"\npublish = false\n\n\
             [dependencies]\npragma-runtime = {{ path = {runtime:?}, default-features = false }}\n\n[workspace]\n"
        );
        krate.write("Cargo.toml", &manifest);
        let lock = Path::new(env!("CARGO_MANIFEST_DIR")).join("../Cargo.lock");
        fs::copy(lock, krate.dir.join("Cargo.lock")).expect("the workspace has a lock file");
        krate.write("pragma/index.toml", &Index::default().to_toml());
        krate
    }

    /// Writes a file of the package.
    pub fn write(&self, path: &str, text: &str) {
        let path = self.dir.join(path);
        fs::create_dir_all(path.parent().expect("a file in a directory")).expect("writable");
        fs::write(path, text).expect("writable");
    }

    /// Reads a file of the package.
    pub fn read(&self, path: &str) -> String {
        fs::read_to_string(self.dir.join(path)).expect("readable")
    }

    /// Runs cargo in the package.
    pub fn cargo(&self, args: &[&str]) -> Outcome {
        self.cargo_with(args, &[])
    }

    /// Runs cargo in the package with more environment.
    pub fn cargo_with(&self, args: &[&str], env: &[(&str, &str)]) -> Outcome {
        let mut command = Command::new(env!("CARGO"));
        command
            .args(args)
            .env("CARGO_NET_OFFLINE", "true")
            .current_dir(&self.dir)
            .env("CARGO_TARGET_DIR", target_dir())
            .env("CARGO_TERM_COLOR", "never")
            .env_remove("RUSTFLAGS")
            .env_remove("PRAGMA_HARNESS")
            .env_remove("PRAGMA_DISPATCH")
            .envs(env.iter().copied());
        let output = command.output().expect("cargo runs");
        Outcome {
            ok: output.status.success(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// `cargo run`, which must succeed; what it printed.
    pub fn run(&self) -> String {
        self.run_with(&[])
    }

    /// `cargo run` with more environment, which must succeed; what it printed.
    pub fn run_with(&self, env: &[(&str, &str)]) -> String {
        let outcome = self.cargo_with(&["run", "--quiet"], env);
        assert!(outcome.ok, "{}", outcome.stderr);
        outcome.stdout.trim().to_owned()
    }

    /// Gives a function of `source` (a file of the package, itself the module `module`) kernels.
    pub fn tune(&self, source: &str, module: &str, function: &str, kernel: &HandWritten<'_>) {
        let file = syn::parse_file(&self.read(source)).expect("the source parses");
        let (attribute, item) = find(&file.items, function).expect("the function is there");
        let fingerprint = fingerprint(&attribute, &item);
        let id = if module.is_empty() {
            function.to_owned()
        } else {
            format!("{}.{function}", module.replace("::", "."))
        };
        let id = KernelId::new(id).expect("a plain name");
        let shapes = kernel.shapes();
        let artefacts = self.files(id.as_str(), kernel);
        let manifest = Manifest {
            format: 1,
            kernel: id.clone(),
            function: function.to_owned(),
            package: self.name.clone(),
            module: module.to_owned(),
            fingerprint: fingerprint.clone(),
            dependencies: dependency_hash(&[]),
            signature: KernelSignature::from_syn(&item.sig)
                .expect("a kernel signature")
                .to_string(),
            dims: dims_of(&shapes),
            shapes,
            interface: Interface::default(),
            artefacts,
            devices: Vec::new(),
            verification: VerificationRecord::default(),
        };
        self.write_manifest(&manifest);
    }

    /// Writes the files of a kernel; what a manifest says of them.
    pub fn files(&self, id: &str, kernel: &HandWritten<'_>) -> Vec<Artefact> {
        let write = |(target, text, variants): &(Target, &str, &[Bucket<'_>])| {
            self.write(&format!("pragma/{id}/{}", target.file_name()), text);
            Artefact {
                target: *target,
                outcome: TargetOutcome::Tuned,
                reason: None,
                file: Some(target.file_name().to_owned()),
                sha256: Some(text_sha256(text)),
                variants: variants
                    .iter()
                    .map(|(entry, max_elements)| Variant {
                        entry: (*entry).to_owned(),
                        max_elements: *max_elements,
                        tune: "n = 4".to_owned(),
                        engine: "by hand".to_owned(),
                        actions: Vec::new(),
                        seed: 0,
                        authorship: None,
                    })
                    .collect(),
            }
        };
        kernel.files.iter().map(write).collect()
    }

    /// Writes a manifest and lists it.
    pub fn write_manifest(&self, manifest: &Manifest) {
        let text = manifest.to_toml();
        self.write(&format!("pragma/{}/manifest.toml", manifest.kernel), &text);
        self.list(
            &manifest.kernel,
            &manifest.function,
            &manifest.fingerprint,
            &text,
        );
    }

    fn list(&self, kernel: &KernelId, function: &str, fingerprint: &Fingerprint, manifest: &str) {
        let mut index = Index::parse(&self.read("pragma/index.toml")).expect("an index");
        index.kernels.retain(|entry| entry.kernel != *kernel);
        index.kernels.push(IndexEntry {
            kernel: kernel.clone(),
            function: function.to_owned(),
            fingerprint: fingerprint.clone(),
            manifest_sha256: text_sha256(manifest),
        });
        self.write("pragma/index.toml", &index.to_toml());
    }
}

/// An entry and the most elements it is for.
pub type Bucket<'a> = (&'a str, Option<u64>);

/// Kernels of one function.
pub struct HandWritten<'a> {
    /// Shapes by parameter.
    pub shapes: &'a [(&'a str, &'a str)],
    /// Target, text, and variants: entry and its most elements.
    pub files: &'a [(Target, &'a str, &'a [Bucket<'a>])],
}

impl HandWritten<'_> {
    /// The shapes.
    pub fn shapes(&self) -> Vec<(String, Shape)> {
        let shapes = self.shapes.iter();
        shapes
            .map(|(name, shape)| ((*name).to_owned(), shape.parse().expect("a shape")))
            .collect()
    }
}

/// The annotated function of that name, with what its attribute says.
pub fn find(
    items: &[syn::Item],
    function: &str,
) -> Option<(proc_macro2::TokenStream, syn::ItemFn)> {
    items.iter().find_map(|item| match item {
        syn::Item::Fn(item) if item.sig.ident.unraw() == function => {
            let attr = item.attrs.iter().find(|attr| {
                attr.path()
                    .segments
                    .last()
                    .is_some_and(|s| s.ident == "pragma_kernel")
            })?;
            let tokens = match &attr.meta {
                syn::Meta::List(list) => list.tokens.clone(),
                _ => proc_macro2::TokenStream::new(),
            };
            Some((tokens, item.clone()))
        }
        syn::Item::Mod(module) => find(&module.content.as_ref()?.1, function),
        _ => None,
    })
}

/// A kernel function for `fn sum(x: &[f32]) -> f32` that says which one ran.
pub fn sum_kernel(target: Target, entry: &str, value: f32) -> String {
    format!(
        "// A kernel by hand.\n#[target_feature(enable = \"{}\")]\npub fn {entry}(n: usize, x: &[f32]) -> f32 {{\n    \
         {value:?} + n as f32 + x[0]\n}}\n",
        target.features()
    )
}
