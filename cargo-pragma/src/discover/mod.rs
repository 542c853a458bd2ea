//! Finds every `#[pragma_kernel]` of a package.
//!
//! Owns the way from manifests to marked functions with their places; reads files and runs `cargo metadata`, changes
//! nothing. What the functions mean is the lifter's business; what is vendored for them is `vendor`'s.

mod ids;
mod kernels;
mod modules;
mod packages;

use std::collections::BTreeSet;
use std::path::PathBuf;

use pragma_spec::{
    Fingerprint, KernelAttribute, KernelId, KernelSignature, SpecError, fingerprint,
};
use proc_macro2::{Span, TokenStream};
use syn::{Attribute, ItemFn, Meta};

pub use modules::{Module, ModuleError};
pub use packages::{CrateKind, CrateTarget, PackageRef, Workspace, closest, select};

use crate::cli::args::Common;
use crate::cli::exit::Failure;
use crate::diagnostic::{Diagnostic, Location};
use crate::process;

/// One marked function.
#[derive(Clone, Debug)]
pub struct KernelSource {
    /// Its name in `pragma/`.
    pub id: KernelId,
    /// The package's name.
    pub package: String,
    /// Which of [`PackageSource::crates`] it is in.
    pub krate: usize,
    /// Its module, from the crate root.
    pub module: Vec<String>,
    /// Its file, absolute.
    pub file: PathBuf,
    /// The file as users know it.
    pub shown: String,
    /// Line of the function's name, from 1.
    pub line: usize,
    /// Column of the function's name in characters, from 0.
    pub column: usize,
    /// The function with all its attributes.
    pub function: ItemFn,
    /// The attribute's arguments as written.
    pub tokens: TokenStream,
    /// The attribute, if it makes sense.
    pub attribute: Result<KernelAttribute, SpecError>,
    /// The signature, if a kernel can have it.
    pub signature: Result<KernelSignature, SpecError>,
    /// Identifies function and attribute.
    pub fingerprint: Fingerprint,
}

impl KernelSource {
    /// The function's name.
    pub fn name(&self) -> String {
        let name = self.function.sig.ident.to_string();
        name.strip_prefix("r#").unwrap_or(&name).to_owned()
    }

    /// The module as manifests write it: `a::b`, empty for the crate root.
    pub fn module_text(&self) -> String {
        self.module.join("::")
    }

    /// The place of a span in this function's file.
    pub fn locate(&self, span: Span, label: &str) -> Option<Location> {
        let (start, end) = (span.start(), span.end());
        Location::in_file(
            &self.shown,
            &self.file,
            (start.line, start.column),
            (end.line, end.column),
            label,
        )
    }

    /// The place of the function's name.
    pub fn location(&self, label: &str) -> Option<Location> {
        self.locate(self.function.sig.ident.span(), label)
    }

    /// Why the macro refuses this function, if it does.
    pub fn refusal(&self) -> Option<&SpecError> {
        self.attribute
            .as_ref()
            .err()
            .or(self.signature.as_ref().err())
    }
}

/// One crate of a package.
#[derive(Clone, Debug)]
pub struct CrateSource {
    /// Which crate.
    pub target: CrateTarget,
    /// Its modules, sorted by path.
    pub modules: Vec<Module>,
    /// Whether it, or its manifest, forbids `unsafe_code`, which kernels cannot do without.
    pub forbids_unsafe: bool,
}

/// All that a package's sources tell.
#[derive(Clone, Debug)]
pub struct PackageSource {
    /// The package.
    pub package: PackageRef,
    /// Its library and binaries.
    pub crates: Vec<CrateSource>,
    /// The marked functions, in order of file and line.
    pub kernels: Vec<KernelSource>,
    /// Attributes in places where they cannot work, and files that were left out.
    pub warnings: Vec<Diagnostic>,
}

impl PackageSource {
    /// The kernel called `name` (id, function name or path with `::`).
    pub fn find(&self, name: &str) -> Vec<&KernelSource> {
        let dotted = name.replace("::", ".");
        let exact: Vec<&KernelSource> = self
            .kernels
            .iter()
            .filter(|kernel| kernel.id.as_str() == dotted)
            .collect();
        if !exact.is_empty() {
            return exact;
        }
        self.kernels
            .iter()
            .filter(|kernel| {
                let mut path = kernel.module.clone();
                path.push(kernel.name());
                let path = path.join(".");
                path == dotted || path.ends_with(&format!(".{dotted}"))
            })
            .collect()
    }
}

/// Reads one package. `vendored` gives id, function and module of the kernels it already has.
///
/// # Errors
/// If a file of the package does not parse: with rustc's own message where there is one.
pub fn read_package(
    workspace: &Workspace,
    package: &PackageRef,
    vendored: &[(KernelId, String, String)],
    common: &Common,
) -> Result<PackageSource, Failure> {
    let mut source = PackageSource {
        package: package.clone(),
        crates: Vec::new(),
        kernels: Vec::new(),
        warnings: Vec::new(),
    };
    let mut seen = BTreeSet::new();
    for target in &package.targets {
        let modules::ReadCrate {
            modules,
            attributes,
            errors,
        } = modules::read_crate(&target.src_path)
            .map_err(|error| unreadable(package, common, &error))?;
        for error in &errors {
            // A file that rustc does not compile (a `cfg` that is off) may hold anything; rustc has the say.
            if let Some(failure) = compiler_says(package, common) {
                return Err(failure);
            }
            source.warnings.push(
                Diagnostic::warning(error).note("the crate compiles without it, so it is left out"),
            );
        }
        let index = source.crates.len();
        let names = kernels::names(&modules);
        for module in &modules {
            let shown = workspace.shown(&module.file);
            let (marked, misplaced) = kernels::find(module, &names);
            for wrong in misplaced {
                let (start, end) = (wrong.span.start(), wrong.span.end());
                let place = Location::in_file(
                    &shown,
                    &module.file,
                    (start.line, start.column),
                    (end.line, end.column),
                    wrong.place,
                );
                source.warnings.push(
                    Diagnostic::warning(format!(
                        "`{}` cannot have kernels: it is {}",
                        wrong.name, wrong.place
                    ))
                    .at(place)
                    .help(wrong.help),
                );
            }
            for marked in marked {
                let start = marked.function.sig.ident.span().start();
                // A file that is a module of both the library and a binary counts once, for the library.
                if seen.insert((module.file.clone(), start.line, start.column)) {
                    source.add(index, module, shown.clone(), marked);
                }
            }
        }
        source.crates.push(CrateSource {
            target: target.clone(),
            modules,
            forbids_unsafe: package.forbids_unsafe || forbids_unsafe(&attributes),
        });
    }
    source.name(vendored);
    Ok(source)
}

impl PackageSource {
    fn add(&mut self, krate: usize, module: &Module, shown: String, marked: kernels::Marked) {
        let start = marked.function.sig.ident.span().start();
        let signature = KernelSignature::from_syn(&marked.function.sig);
        let attribute =
            KernelAttribute::parse(marked.tokens.clone()).and_then(|attribute| match &signature {
                Ok(signature) => attribute.validate(signature).map(|()| attribute),
                Err(_) => Ok(attribute),
            });
        let Ok(unnamed) = KernelId::new("unnamed") else {
            return;
        };
        self.kernels.push(KernelSource {
            id: unnamed,
            package: self.package.name.clone(),
            krate,
            module: module.path.clone(),
            file: module.file.clone(),
            shown,
            line: start.line,
            column: start.column,
            fingerprint: fingerprint(&marked.tokens, &marked.function),
            function: marked.function,
            tokens: marked.tokens,
            attribute,
            signature,
        });
    }

    /// Gives every kernel its id. Functions whose names cannot be directory names are reported and dropped.
    fn name(&mut self, vendored: &[(KernelId, String, String)]) {
        self.kernels.sort_by(|a, b| {
            (a.krate, &a.file, a.line, a.column).cmp(&(b.krate, &b.file, b.line, b.column))
        });
        let kinds: Vec<CrateKind> = self
            .crates
            .iter()
            .map(|krate| krate.target.kind.clone())
            .collect();
        let places: Vec<ids::Place> = self
            .kernels
            .iter()
            .map(|kernel| ids::Place {
                kind: kinds.get(kernel.krate).cloned().unwrap_or(CrateKind::Lib),
                module: kernel.module.clone(),
                function: kernel.name(),
            })
            .collect();
        let kernels = std::mem::take(&mut self.kernels);
        for (mut kernel, id) in kernels.into_iter().zip(ids::assign(&places, vendored)) {
            match id {
                Some(id) => {
                    kernel.id = id;
                    self.kernels.push(kernel);
                }
                None => self.warnings.push(
                    Diagnostic::warning(format!("`{}` cannot have kernels under this name", kernel.name()))
                        .at(kernel.location("kernels live in directories named after the function"))
                        .help("use ASCII letters, digits and `_` in the names of the function and its modules"),
                ),
            }
        }
    }
}

/// The marked functions among the items of one file, inline modules included, with their attributes' arguments.
pub fn marked_functions(items: Vec<syn::Item>) -> Vec<(TokenStream, ItemFn)> {
    let mut modules = vec![Module {
        path: Vec::new(),
        file: PathBuf::new(),
        items,
    }];
    let mut functions = Vec::new();
    while let Some(module) = modules.pop() {
        let names = kernels::names(std::slice::from_ref(&module));
        let (marked, _) = kernels::find(&module, &names);
        functions.extend(
            marked
                .into_iter()
                .map(|marked| (marked.tokens, marked.function)),
        );
        modules.extend(module.items.into_iter().filter_map(|item| match item {
            syn::Item::Mod(inner) => Some(Module {
                path: Vec::new(),
                file: PathBuf::new(),
                items: inner.content?.1,
            }),
            _ => None,
        }));
    }
    functions
}

fn forbids_unsafe(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("forbid")
            && matches!(&attribute.meta, Meta::List(list)
                if list.tokens.clone().into_iter().any(|token| token.to_string() == "unsafe_code"))
    })
}

fn unreadable(package: &PackageRef, common: &Common, error: &ModuleError) -> Failure {
    compiler_says(package, common).unwrap_or_else(|| Failure::DoesNotBuild {
        rendered: String::new(),
        diagnostic: Box::new(Diagnostic::error(error)),
    })
}

/// Runs `cargo check`; a failure carries what the compiler printed.
fn compiler_says(package: &PackageRef, common: &Common) -> Option<Failure> {
    check(package, common, None).err()
}

/// Arguments that select features and network use for a cargo command.
pub fn cargo_flags(common: &Common) -> Vec<String> {
    let mut flags = Vec::new();
    if !common.features.is_empty() {
        flags.extend(["--features".to_owned(), common.features.join(",")]);
    }
    for (set, flag) in [
        (common.all_features, "--all-features"),
        (common.no_default_features, "--no-default-features"),
        (common.offline, "--offline"),
        (common.locked, "--locked"),
    ] {
        if set {
            flags.push(flag.to_owned());
        }
    }
    flags
}

/// Compiles the package without producing code, as `cargo check` does.
///
/// # Errors
/// A build failure with rustc's messages as rustc rendered them, or a missing cargo.
pub fn check(
    package: &PackageRef,
    common: &Common,
    target_dir: Option<&std::path::Path>,
) -> Result<(), Failure> {
    let mut command = process::cargo();
    command
        .arg("check")
        .arg("--quiet")
        .arg("--manifest-path")
        .arg(&package.manifest_path);
    command
        .arg("--color")
        .arg(match anstream::stderr().current_choice() {
            anstream::ColorChoice::Never => "never",
            _ => "always",
        });
    command.args(cargo_flags(common)).current_dir(&package.root);
    if let Some(dir) = target_dir {
        command.arg("--target-dir").arg(dir);
    }
    let output = process::output(&mut command).map_err(|error| {
        Failure::environment(
            format!("cannot run cargo: {error}"),
            "install Rust (rustup) or put cargo on the PATH",
        )
    })?;
    if output.status.success() {
        return Ok(());
    }
    Err(build_failure(
        &package.name,
        String::from_utf8_lossy(&output.stderr).into_owned(),
        "fix the errors above first; `cargo check` shows the same",
    ))
}

/// What a failed cargo run means, from what it wrote to standard error: the package's own fault only if the compiler
/// or a build script failed, and otherwise that of its surroundings.
pub fn build_failure(package: &str, rendered: String, help: &str) -> Failure {
    let compiled = ["could not compile", "failed to run custom build command"];
    if compiled.iter().any(|words| rendered.contains(words)) {
        return Failure::DoesNotBuild {
            rendered,
            diagnostic: Box::new(
                Diagnostic::error(format!("package `{package}` does not build")).help(help),
            ),
        };
    }
    let plain = anstream::adapter::strip_str(&rendered).to_string();
    Failure::environment(
        format!(
            "cargo cannot build package `{package}`: {}",
            plain.trim().trim_start_matches("error: ")
        ),
        "no code was compiled: cargo's message says what it lacks, such as a writable target directory",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::exit::ExitCode;

    #[test]
    fn only_compilers_and_build_scripts_blame_the_package() {
        for (text, code) in [
            (
                "error[E0277]: cannot multiply\nerror: could not compile `p` (lib) due to 1 previous error\n",
                ExitCode::DoesNotBuild,
            ),
            (
                "error: failed to run custom build command for `p v0.1.0`\n",
                ExitCode::DoesNotBuild,
            ),
            (
                "\u{1b}[1m\u{1b}[91merror\u{1b}[0m: failed to create directory `t/debug`\n\nCaused by:\n  Permission denied\n",
                ExitCode::Environment,
            ),
        ] {
            let failure = build_failure("p", text.to_owned(), "fix it");
            assert_eq!(failure.exit_code(), code, "{text}");
            if code == ExitCode::Environment {
                let said = failure.to_string();
                assert!(
                    said.contains("`p`: failed to create directory") && said.contains("Permission"),
                    "{said}"
                );
            }
        }
    }
}
