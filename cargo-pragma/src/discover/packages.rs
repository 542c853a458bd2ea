//! Which packages a command works on.
//!
//! Owns the reading of `cargo metadata` and the selection rules, which are cargo's own: `--workspace`, `--package`, else
//! the package of the manifest at hand, else the default members of a virtual workspace. Source files are `modules`'s.

use std::path::{Path, PathBuf};

use anyhow::Context;
use cargo_metadata::{Metadata, MetadataCommand, Package, TargetKind};
use toml_edit::DocumentMut;

use crate::cli::args::Common;
use crate::cli::exit::Failure;
use crate::diagnostic::Diagnostic;
use crate::process;

/// A crate of a package that may hold kernels.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CrateKind {
    /// The library.
    Lib,
    /// A binary of this name.
    Bin(String),
}

/// A crate of a package.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CrateTarget {
    /// Library or binary.
    pub kind: CrateKind,
    /// The name that cargo passes to rustc, with dashes for libraries replaced by underscores.
    pub name: String,
    /// The root source file, absolute.
    pub src_path: PathBuf,
    /// Features without which cargo does not build this crate.
    pub required_features: Vec<String>,
}

/// A package of the workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackageRef {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Its manifest, absolute.
    pub manifest_path: PathBuf,
    /// The directory of its manifest, absolute.
    pub root: PathBuf,
    /// Library first, then binaries by name.
    pub targets: Vec<CrateTarget>,
    /// The name under which it depends on `pragma-runtime`, if it does.
    pub runtime: Option<String>,
    /// Whether its manifest (or the workspace's, inherited) forbids `unsafe_code`.
    pub forbids_unsafe: bool,
    /// What `[package.metadata.pragma]` sets.
    pub settings: Settings,
}

/// Defaults that a package sets for itself in `[package.metadata.pragma]`; flags go before them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// As `--target` takes it, in a list.
    pub target: Vec<String>,
    /// As `--budget` takes it.
    pub budget: Option<String>,
    /// The `llm` table, for the engine to read; null if there is none.
    pub llm: serde_json::Value,
    /// The `command` table, likewise.
    pub command: serde_json::Value,
}

impl PackageRef {
    /// Where its kernels are vendored.
    pub fn pragma_dir(&self) -> PathBuf {
        self.root.join("pragma")
    }
}

/// The workspace of a command and the packages chosen.
#[derive(Clone, Debug)]
pub struct Workspace {
    /// The workspace's directory, absolute.
    pub root: PathBuf,
    /// Cargo's target directory.
    pub target_dir: PathBuf,
    /// The packages chosen, by name.
    pub packages: Vec<PackageRef>,
}

impl Workspace {
    /// The directory that belongs to Pragma: caches, harness builds, history.
    pub fn private_dir(&self) -> PathBuf {
        self.target_dir.join("pragma")
    }

    /// A path the way users know it: relative to the workspace where possible.
    pub fn shown(&self, path: &Path) -> String {
        path.strip_prefix(&self.root)
            .unwrap_or(path)
            .display()
            .to_string()
    }
}

/// Finds the workspace and the packages that the flags choose.
///
/// # Errors
/// A usage failure where there is no manifest or no such package; a build failure, with cargo's own words, where the
/// manifest does not make sense to cargo.
pub fn select(common: &Common) -> Result<Workspace, Failure> {
    let manifest = match &common.manifest_path {
        Some(path) => given_manifest(path)?,
        None => nearest_manifest()?,
    };
    let metadata = read_metadata(&manifest, common)?;
    let chosen = choose(&metadata, &manifest, common)?;
    let workspace_lints = forbids_in(
        &read_toml(metadata.workspace_root.join("Cargo.toml").as_std_path()),
        "workspace",
    );
    let mut packages: Vec<PackageRef> = chosen
        .into_iter()
        .map(|package| describe(package, workspace_lints))
        .collect();
    packages.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(Workspace {
        root: metadata.workspace_root.clone().into_std_path_buf(),
        target_dir: metadata.target_directory.clone().into_std_path_buf(),
        packages,
    })
}

fn given_manifest(path: &Path) -> Result<PathBuf, Failure> {
    let path = std::path::absolute(path).context("the current directory is gone")?;
    let path = if path.is_dir() {
        path.join("Cargo.toml")
    } else {
        path
    };
    if path.is_file() {
        return Ok(path);
    }
    Err(Failure::usage(
        format!("the manifest `{}` does not exist", path.display()),
        "give `--manifest-path` the path of a Cargo.toml",
    ))
}

fn nearest_manifest() -> Result<PathBuf, Failure> {
    let here = std::env::current_dir().context("the current directory is gone")?;
    here.ancestors()
        .map(|dir| dir.join("Cargo.toml"))
        .find(|path| path.is_file())
        .ok_or_else(|| {
            Failure::usage(
                format!(
                    "there is no Cargo.toml in `{}` or a directory above it",
                    here.display()
                ),
                "run this inside a package, or give `--manifest-path`",
            )
        })
}

fn read_metadata(manifest: &Path, common: &Common) -> Result<Metadata, Failure> {
    let mut command = process::cargo();
    command
        .args([
            "metadata",
            "--format-version",
            "1",
            "--no-deps",
            "--manifest-path",
        ])
        .arg(manifest);
    if let Some(dir) = manifest.parent() {
        // Cargo reads its configuration from the working directory upwards.
        command.current_dir(dir);
    }
    if common.offline {
        command.arg("--offline");
    }
    if common.locked {
        command.arg("--locked");
    }
    let output = process::output(&mut command).map_err(|error| {
        Failure::environment(
            format!("cannot run cargo: {error}"),
            "install Rust (rustup) or put cargo on the PATH",
        )
    })?;
    if !output.status.success() {
        return Err(Failure::DoesNotBuild {
            rendered: String::from_utf8_lossy(&output.stderr).into_owned(),
            diagnostic: Box::new(
                Diagnostic::error(format!("cargo cannot read `{}`", manifest.display()))
                    .help("`cargo check` shows the same message; fix the manifest first"),
            ),
        });
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let json = text
        .lines()
        .find(|line| line.starts_with('{'))
        .unwrap_or("");
    Ok(MetadataCommand::parse(json).context("cannot read what `cargo metadata` printed")?)
}

fn choose<'a>(
    metadata: &'a Metadata,
    manifest: &Path,
    common: &Common,
) -> Result<Vec<&'a Package>, Failure> {
    let members = metadata.workspace_packages();
    if common.workspace {
        return Ok(members);
    }
    if !common.package.is_empty() {
        let names: Vec<&str> = members
            .iter()
            .map(|package| package.name.as_str())
            .collect();
        return common
            .package
            .iter()
            .map(|wanted| {
                members
                    .iter()
                    .copied()
                    .find(|package| package.name.as_str() == wanted.as_str())
                    .ok_or_else(|| {
                        let help = match closest(wanted, &names) {
                            Some(name) => format!("a package with a similar name exists: `{name}`"),
                            None => format!("packages of this workspace: {}", names.join(", ")),
                        };
                        Failure::usage(
                            format!("there is no package `{wanted}` in this workspace"),
                            help,
                        )
                    })
            })
            .collect();
    }
    let same = |package: &&Package| same_file(package.manifest_path.as_std_path(), manifest);
    if let Some(package) = members.iter().copied().find(same) {
        return Ok(vec![package]);
    }
    Ok(metadata.workspace_default_packages())
}

fn same_file(a: &Path, b: &Path) -> bool {
    a == b || matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b)
}

fn describe(package: &Package, workspace_forbids: bool) -> PackageRef {
    let manifest_path = package.manifest_path.clone().into_std_path_buf();
    let mut targets: Vec<CrateTarget> = package
        .targets
        .iter()
        .filter_map(|target| {
            let is_lib = target.kind.iter().any(|kind| {
                matches!(
                    kind,
                    TargetKind::Lib
                        | TargetKind::RLib
                        | TargetKind::DyLib
                        | TargetKind::CDyLib
                        | TargetKind::StaticLib
                )
            });
            let kind = if is_lib {
                CrateKind::Lib
            } else if target.kind.contains(&TargetKind::Bin) {
                CrateKind::Bin(target.name.clone())
            } else {
                return None;
            };
            Some(CrateTarget {
                kind,
                name: target.name.clone(),
                src_path: target.src_path.clone().into_std_path_buf(),
                required_features: target.required_features.clone(),
            })
        })
        .collect();
    targets.sort_by(|a, b| a.kind.cmp(&b.kind));
    let runtime = package
        .dependencies
        .iter()
        .find(|dependency| dependency.name == "pragma-runtime")
        .map(|dependency| {
            dependency
                .rename
                .as_deref()
                .unwrap_or(&dependency.name)
                .replace('-', "_")
        });
    let manifest = read_toml(&manifest_path);
    let inherits = manifest
        .get("lints")
        .and_then(|lints| lints.get("workspace"))
        .and_then(toml_edit::Item::as_bool)
        .unwrap_or(false);
    PackageRef {
        name: package.name.to_string(),
        version: package.version.to_string(),
        root: manifest_path
            .parent()
            .map(Path::to_path_buf)
            .unwrap_or_default(),
        targets,
        runtime,
        settings: settings(package),
        forbids_unsafe: forbids_in(&manifest, "") || (inherits && workspace_forbids),
        manifest_path,
    }
}

fn settings(package: &Package) -> Settings {
    let table = &package.metadata["pragma"];
    let text = |value: &serde_json::Value| value.as_str().map(str::to_owned);
    Settings {
        target: table["target"]
            .as_array()
            .map(|list| list.iter().filter_map(text).collect())
            .unwrap_or_default(),
        budget: text(&table["budget"]),
        llm: table["llm"].clone(),
        command: table["command"].clone(),
    }
}

/// A manifest's content; an empty table if it cannot be read, as cargo has the say about errors.
fn read_toml(path: &Path) -> toml_edit::Item {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.parse::<DocumentMut>().unwrap_or_default().into_item()
}

/// Whether `[lints.rust]` (below `section`, if any) sets `unsafe_code` to `forbid`.
fn forbids_in(manifest: &toml_edit::Item, section: &str) -> bool {
    let table = if section.is_empty() {
        Some(manifest)
    } else {
        manifest.get(section)
    };
    let lint = table
        .and_then(|table| table.get("lints"))
        .and_then(|lints| lints.get("rust"))
        .and_then(|rust| rust.get("unsafe_code"));
    let level = lint.and_then(|lint| {
        lint.as_str()
            .or_else(|| lint.get("level").and_then(toml_edit::Item::as_str))
    });
    level == Some("forbid")
}

/// The name nearest to `wanted`, if any is near enough to be a typing error.
pub fn closest<'a>(wanted: &str, names: &[&'a str]) -> Option<&'a str> {
    names
        .iter()
        .map(|name| (distance(wanted, name), *name))
        .filter(|(distance, name)| *distance <= name.len().max(wanted.len()) / 3 + 1)
        .min()
        .map(|(_, name)| name)
}

/// Edits (insert, delete, replace a character) between two words.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_suggested() {
        assert_eq!(
            closest("quickstrat", &["bin-app", "quickstart"]),
            Some("quickstart")
        );
        assert_eq!(closest("zzz", &["quickstart", "bin-app"]), None);
        assert_eq!(closest("dot", &["dott", "dota"]), Some("dota"));
        assert_eq!(distance("kitten", "sitting"), 3);
    }

    #[test]
    fn forbidden_unsafe_is_read_from_both_spellings() {
        let read = |text: &str| text.parse::<DocumentMut>().expect("toml").into_item();
        assert!(forbids_in(
            &read("[lints.rust]\nunsafe_code = 'forbid'"),
            ""
        ));
        assert!(forbids_in(
            &read("[lints.rust]\nunsafe_code = { level = 'forbid', priority = 1 }"),
            ""
        ));
        assert!(!forbids_in(&read("[lints.rust]\nunsafe_code = 'deny'"), ""));
        assert!(!forbids_in(&read("[package]\nname = 'x'"), ""));
        assert!(forbids_in(
            &read("[workspace.lints.rust]\nunsafe_code = 'forbid'"),
            "workspace"
        ));
    }
}
