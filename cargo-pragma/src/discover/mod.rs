//! Finds every `#[pragma_kernel]` of a package.
//!
//! Owns the way from manifests to marked functions with their places; reads files and runs `cargo metadata`, changes
//! nothing. What the functions mean is the lifter's business; what is vendored for them is `vendor`'s.

mod ids;
mod kernels;
mod modules;
mod packages;
mod source;
mod types;

use std::collections::BTreeSet;
use std::path::PathBuf;

use pragma_synth::lift;
use proc_macro2::TokenStream;
use syn::{Attribute, ItemFn, Meta};

pub use ids::VendoredName;
pub use kernels::ImplOwner;
pub use modules::{Module, ModuleError};
pub use packages::{CrateKind, CrateTarget, PackageRef, Settings, Workspace, closest, select};
pub use source::KernelSource;

use crate::cli::args::Common;
use crate::cli::exit::Failure;
use crate::diagnostic::{Diagnostic, Location};
use crate::process;

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
    /// The kernels called `name`: id, function name or path with `::`, which means all instances of a generic function.
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
                path.extend(kernel.owner.iter().map(|owner| owner.name.clone()));
                path.push(kernel.name());
                let path = path.join(".");
                path == dotted || path.ends_with(&format!(".{dotted}"))
            })
            .collect()
    }
}

/// Reads one package. `vendored` names the kernels that it already has.
///
/// # Errors
/// If a file of the package does not parse: with rustc's own message where there is one.
pub fn read_package(
    workspace: &Workspace,
    package: &PackageRef,
    vendored: &[VendoredName],
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
        let types = types::CrateTypes::new(&modules);
        let whole = lift::SourceCrate {
            modules: modules
                .iter()
                .map(|module| lift::SourceModule {
                    path: module.path.clone(),
                    file: workspace.shown(&module.file),
                    items: module.items.clone(),
                })
                .collect(),
        };
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
            for marked in &marked {
                let start = marked.function.sig.ident.span().start();
                // A file that is a module of both the library and a binary counts once, for the library.
                if seen.insert((module.file.clone(), start.line, start.column)) {
                    let name = &package.name;
                    let kernels =
                        KernelSource::of(name, index, module, &shown, marked, &types, &whole);
                    source.kernels.extend(kernels);
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
    /// Gives every kernel its id. Functions whose names cannot be directory names are reported and dropped.
    fn name(&mut self, vendored: &[VendoredName]) {
        self.kernels.sort_by(|a, b| {
            let place = |one: &KernelSource| (one.krate, one.line, one.column, one.nth);
            (&a.file, place(a)).cmp(&(&b.file, place(b)))
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
                owner: kernel.owner.as_ref().map(|owner| owner.name.clone()),
                function: kernel.name(),
                instance: kernel.instance.suffix(),
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
