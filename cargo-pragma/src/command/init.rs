//! `cargo pragma init`: prepares a package.
//!
//! The only command that edits a `Cargo.toml`. It keeps comments and layout, adds only what is missing, and changes
//! nothing when run again.

use std::path::{Path, PathBuf};

use anyhow::Context;
use serde::Serialize;
use toml_edit::{DocumentMut, InlineTable, Item, Table, Value};

use crate::cli::args::InitArgs;
use crate::cli::exit::{CommandResult, ExitCode, Failure};
use crate::cli::shell::Shell;
use crate::diagnostic::Diagnostic;
use crate::discover::{self, PackageRef};
use crate::vendor;

const RUNTIME: &str = "pragma-runtime";

/// The settings block, commented out: it documents defaults without setting any.
const METADATA: &str = "
# What `cargo pragma tune` does in this package where its flags say nothing else.
# [package.metadata.pragma]
# target = [\"cpu\"]
# budget = \"3m\"
";

/// One line of `--format json`; documented in `docs/commands.md`.
#[derive(Debug, Serialize)]
struct Line {
    package: String,
    dependency: &'static str,
    index: &'static str,
    metadata: &'static str,
}

/// Runs the command.
///
/// # Errors
/// If the package cannot be read or written.
pub fn run(args: &InitArgs, shell: &Shell) -> CommandResult {
    let workspace = discover::select(&args.common)?;
    for package in &workspace.packages {
        let line = prepare(package, &workspace.root, args, shell)?;
        shell.json(&line);
    }
    shell.human("\nNext: mark a hot function and tune it.\n");
    shell.human("    use pragma_runtime::pragma_kernel;\n");
    shell.human("    #[pragma_kernel]");
    shell.human("    pub fn dot(x: &[f32], y: &[f32]) -> f32 {");
    shell.human("        x.iter().zip(y).map(|(x, y)| x * y).sum()");
    shell.human("    }\n");
    shell.human("    cargo pragma tune\n");
    Ok(ExitCode::Ok)
}

fn prepare(
    package: &PackageRef,
    root: &Path,
    args: &InitArgs,
    shell: &Shell,
) -> Result<Line, Failure> {
    let manifest = &package.manifest_path;
    let text = std::fs::read_to_string(manifest)
        .with_context(|| format!("cannot read `{}`", manifest.display()))?;
    // Cargo has read it, so this can only fail where toml_edit and cargo disagree.
    let mut document: DocumentMut = text
        .parse()
        .with_context(|| format!("cannot edit `{}`", manifest.display()))?;
    if package.targets.is_empty() {
        return Err(Failure::usage(
            format!(
                "package `{}` has neither a library nor a binary",
                package.name
            ),
            "kernels live in libraries and binaries; choose another package with `-p`",
        ));
    }
    let mut new = text.clone();
    let has_dependency = package.runtime.is_some();
    if !has_dependency {
        let source = dependency(package, root, args)?;
        add_dependency(&mut document, source)
            .ok_or_else(|| Failure::usage("`[dependencies]` is not a table", "fix the manifest"))?;
        new = document.to_string();
        shell.status("Adding", format!("{RUNTIME} to {}", manifest.display()));
    }
    let has_metadata = new.contains("package.metadata.pragma");
    if !has_metadata {
        if !new.ends_with('\n') {
            new.push('\n');
        }
        new.push_str(METADATA);
    }
    let unwritable = |error: &dyn std::fmt::Display| {
        Failure::environment(
            format!("cannot write into package `{}`: {error}", package.name),
            "make the package's directory writable",
        )
    };
    if new != text {
        write_beside(manifest, &new).map_err(|error| unwritable(&error))?;
    }
    let made = vendor::ensure_index(&package.pragma_dir()).map_err(|error| unwritable(&error))?;
    if made {
        shell.status(
            "Creating",
            format!("{}", package.pragma_dir().join(vendor::INDEX).display()),
        );
    }
    if package.forbids_unsafe {
        shell.diagnostic(
            &Diagnostic::warning(format!("package `{}` forbids `unsafe_code`", package.name))
                .note("kernels use SIMD intrinsics, which need `unsafe`; `forbid` cannot be lifted for generated code")
                .help("use `deny(unsafe_code)`, which generated code may allow for itself, or put kernels into another crate"),
        );
    }
    if new == text && !made {
        shell.status(
            "Ready",
            format!("package `{}` needed nothing", package.name),
        );
    }
    let did = |done: bool| if done { "added" } else { "present" };
    Ok(Line {
        package: package.name.clone(),
        dependency: did(!has_dependency),
        index: did(made),
        metadata: did(!has_metadata),
    })
}

/// What the dependency is to be: inherited where the workspace has it, else from the flags, else from the registry.
fn dependency(package: &PackageRef, root: &Path, args: &InitArgs) -> Result<Value, Failure> {
    let mut table = InlineTable::new();
    if let Some(path) = &args.path {
        let dir = runtime_dir(path)?;
        table.insert("path", relative(&dir, &package.root).into());
    } else if let Some(url) = &args.git {
        table.insert("git", url.as_str().into());
    } else if workspace_has_runtime(root) {
        table.insert("workspace", true.into());
    } else {
        return Ok(Value::from(concat!(
            env!("CARGO_PKG_VERSION_MAJOR"),
            ".",
            env!("CARGO_PKG_VERSION_MINOR")
        )));
    }
    Ok(Value::InlineTable(table))
}

/// The directory of pragma-runtime: the one given, or `runtime` in it, so that a checkout's root will do.
fn runtime_dir(path: &Path) -> Result<PathBuf, Failure> {
    let absolute = std::path::absolute(path).context("the current directory is gone")?;
    let is_runtime = |dir: &Path| {
        std::fs::read_to_string(dir.join("Cargo.toml")).is_ok_and(|text| {
            text.parse::<DocumentMut>().is_ok_and(|doc| {
                doc.get("package")
                    .and_then(|package| package.get("name"))
                    .and_then(Item::as_str)
                    == Some(RUNTIME)
            })
        })
    };
    [absolute.clone(), absolute.join("runtime")]
        .into_iter()
        .find(|dir| is_runtime(dir))
        .ok_or_else(|| {
            Failure::usage(
                format!("`{}` does not hold the package {RUNTIME}", path.display()),
                "give `--path` a checkout of Pragma, or its `runtime` directory",
            )
        })
}

fn workspace_has_runtime(root: &Path) -> bool {
    std::fs::read_to_string(root.join("Cargo.toml")).is_ok_and(|text| {
        text.parse::<DocumentMut>().is_ok_and(|doc| {
            doc.get("workspace")
                .and_then(|workspace| workspace.get("dependencies"))
                .and_then(|dependencies| dependencies.get(RUNTIME))
                .is_some()
        })
    })
}

/// `to` as seen from `from`, both absolute, with `/` between the parts.
fn relative(to: &Path, from: &Path) -> String {
    let to: Vec<_> = to.components().collect();
    let from: Vec<_> = from.components().collect();
    let shared = to.iter().zip(&from).take_while(|(a, b)| a == b).count();
    let up = from[shared..].iter().map(|_| "..".to_owned());
    let down = to[shared..]
        .iter()
        .map(|part| part.as_os_str().to_string_lossy().into_owned());
    let parts: Vec<String> = up.chain(down).collect();
    if parts.is_empty() {
        ".".to_owned()
    } else {
        parts.join("/")
    }
}

/// Adds the dependency, in order where the list is sorted; `None` if `dependencies` is no table.
fn add_dependency(document: &mut DocumentMut, source: Value) -> Option<()> {
    let dependencies = document
        .entry("dependencies")
        .or_insert_with(|| Item::Table(Table::new()))
        .as_table_like_mut()?;
    let keys: Vec<String> = dependencies.iter().map(|(key, _)| key.to_owned()).collect();
    dependencies.insert(RUNTIME, Item::Value(source));
    if keys.is_sorted()
        && let Some(table) = document
            .get_mut("dependencies")
            .and_then(Item::as_table_mut)
    {
        table.sort_values();
    }
    Some(())
}

fn write_beside(path: &Path, text: &str) -> std::io::Result<()> {
    let temporary = path.with_file_name(".Cargo.toml.pragma-new");
    std::fs::write(&temporary, text)?;
    std::fs::rename(&temporary, path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn added(text: &str) -> String {
        let mut document: DocumentMut = text.parse().expect("toml");
        add_dependency(&mut document, Value::from("0.1")).expect("a table");
        document.to_string()
    }

    #[test]
    fn comments_and_order_stay() {
        let text = "# top\n[package]\nname = \"x\" # its name\n\n[dependencies]\nalpha = \"1\" # first\nzeta = { version = \"2\" }\n\n[features]\n";
        assert_eq!(
            added(text),
            "# top\n[package]\nname = \"x\" # its name\n\n[dependencies]\nalpha = \"1\" # first\npragma-runtime = \"0.1\"\nzeta = { version = \"2\" }\n\n[features]\n"
        );
        assert!(
            added("[dependencies]\nzeta = \"1\"\nalpha = \"1\"\n")
                .ends_with("alpha = \"1\"\npragma-runtime = \"0.1\"\n")
        );
        assert_eq!(
            added("[package]\nname = \"x\"\n"),
            "[package]\nname = \"x\"\n\n[dependencies]\npragma-runtime = \"0.1\"\n"
        );
    }

    #[test]
    fn relative_paths() {
        assert_eq!(
            relative(Path::new("/a/b/runtime"), Path::new("/a/c/d")),
            "../../b/runtime"
        );
        assert_eq!(relative(Path::new("/a/b"), Path::new("/a/b")), ".");
        assert_eq!(relative(Path::new("/a/b c/é"), Path::new("/a")), "b c/é");
    }
}
