//! Finding a function's kernels under `pragma/` and refusing what was not verified.
//!
//! Owns all reading of files. What is made of the findings is `expand`'s and `dispatch`'s business.

use std::io;
use std::path::{Path, PathBuf};

use pragma_spec::form::ReturnedKind;
use pragma_spec::{
    Fingerprint, Guard, GuardParam, Index, IndexEntry, KernelSignature, Manifest, ParamKind,
    TargetOutcome, text_sha256,
};

/// The package being compiled.
pub struct Package {
    /// The directory of its `Cargo.toml`.
    pub dir: PathBuf,
    /// Its name.
    pub name: String,
}

impl Package {
    /// As cargo tells every compiler it starts; `None` outside cargo.
    pub fn current() -> Option<Package> {
        Some(Package {
            dir: PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR")?),
            name: std::env::var("CARGO_PKG_NAME").ok()?,
        })
    }
}

/// What there is for one function.
pub enum Artefacts {
    /// The package has no `pragma/index.toml`.
    NoIndex,
    /// These kernels belong to functions of this name.
    Index(Vec<Kernel>),
}

/// A kernel of a function of the wanted name; whether of the same module shows after expansion only.
pub struct Kernel {
    /// Its manifest.
    pub manifest: Manifest,
    /// How to call it, if the function has not changed since; `None` means stale.
    pub fresh: Option<Fresh>,
}

/// What a kernel takes and when.
pub struct Fresh {
    /// The signature that it was made for.
    pub sig: KernelSignature,
    /// How to test arguments.
    pub guard: Guard,
}

/// A function whose kernels are looked for.
pub struct Wanted<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its fingerprint.
    pub fingerprint: &'a Fingerprint,
    /// Its signature, where the function itself shows it; else a manifest does.
    pub sig: Option<&'a KernelSignature>,
}

/// `pragma/` is not as `cargo pragma tune` left it. The text says which file and what to do.
#[derive(Debug)]
pub struct ArtefactError(pub String);

/// Looks for kernels of a function.
///
/// # Errors
/// If a file is missing, unreadable, of a newer format, of another package, or not the one that was verified.
pub fn find(package: &Package, wanted: &Wanted<'_>) -> Result<Artefacts, ArtefactError> {
    let path = "pragma/index.toml";
    let text = match read(package, path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Artefacts::NoIndex),
        Err(error) => {
            return Err(ArtefactError(format!(
                "cannot read `{path}`: {error}\n  = help: make it readable, or restore it with `git checkout -- {path}`"
            )));
        }
    };
    let index = Index::parse(&text).map_err(|error| {
        let help = match error {
            pragma_spec::IndexError::Newer(_) => UPDATE.to_owned(),
            _ => format!("restore it with `git checkout -- {path}`, or run `cargo pragma tune`"),
        };
        ArtefactError(format!("`{path}`: {error}\n  = help: {help}"))
    })?;
    let entries = index.kernels.iter();
    let kernels = entries
        .filter(|entry| entry.function == wanted.name)
        .map(|entry| kernel(package, entry, wanted))
        .collect::<Result<_, _>>()?;
    Ok(Artefacts::Index(kernels))
}

const UPDATE: &str = "update `pragma-runtime` to the version of the `cargo pragma` that wrote it";

fn read(package: &Package, path: &str) -> io::Result<String> {
    std::fs::read_to_string(package.dir.join(Path::new(path)))
}

fn kernel(
    package: &Package,
    entry: &IndexEntry,
    wanted: &Wanted<'_>,
) -> Result<Kernel, ArtefactError> {
    let path = format!("pragma/{}/manifest.toml", entry.kernel);
    let redo = |what: String| Err(damaged(&path, &what, wanted.name));
    let text = match read(package, &path) {
        Ok(text) => text,
        Err(error) => return redo(unreadable(&error)),
    };
    if text_sha256(&text) != entry.manifest_sha256 {
        return redo("is not the file that `pragma/index.toml` lists: it was changed".to_owned());
    }
    let manifest = match Manifest::parse(&text) {
        Ok(manifest) => manifest,
        Err(error @ pragma_spec::ManifestError::Newer(_)) => {
            return Err(ArtefactError(format!(
                "`{path}`: {error}\n  = help: {UPDATE}"
            )));
        }
        Err(error) => return redo(format!("cannot be read: {error}")),
    };
    if manifest.package != package.name {
        return redo(format!(
            "belongs to the package `{}`, and this is `{}`",
            manifest.package, package.name
        ));
    }
    if manifest.kernel != entry.kernel
        || manifest.function != entry.function
        || manifest.fingerprint != entry.fingerprint
    {
        return redo("contradicts `pragma/index.toml`".to_owned());
    }
    if manifest.fingerprint != *wanted.fingerprint {
        return Ok(Kernel {
            manifest,
            fresh: None,
        });
    }
    let sig = match (&manifest.interface.form, wanted.sig) {
        (Some(form), _) => KernelSignature::from_form(wanted.name.to_owned(), form.clone())
            .map_err(|name| format!("has two parameters called `{name}`")),
        (None, Some(sig)) => Ok(sig.clone()),
        (None, None) => Err("has no `form`, which this function needs".to_owned()),
    };
    let sig = match sig {
        Ok(sig) => sig,
        Err(what) => return redo(what),
    };
    if let Some(name) = without_shape(&sig, &manifest) {
        // The guard would let any length through to a kernel that trusts it.
        return redo(format!("has no shape for `{name}`"));
    }
    let guard = match Guard::plan(&manifest.dims, &GuardParam::all(&sig), &manifest.shapes) {
        Ok(guard) => guard,
        Err(error) => return redo(format!("has shapes that do not work: {error}")),
    };
    check_files(package, &manifest, &path)?;
    Ok(Kernel {
        manifest,
        fresh: Some(Fresh { sig, guard }),
    })
}

/// A slice or returned vector that the manifest says nothing about.
fn without_shape(sig: &KernelSignature, manifest: &Manifest) -> Option<String> {
    let missing = |name: &String| !manifest.shapes.iter().any(|(known, _)| known == name);
    let slices = sig
        .params
        .iter()
        .filter(|param| matches!(param.kind, ParamKind::Slice { .. }))
        .map(|param| param.name.clone());
    let returned = sig
        .returned()
        .into_iter()
        .filter(|value| matches!(value.kind, ReturnedKind::Vec(_)) && !value.fixed)
        .map(|value| value.name);
    slices.chain(returned).find(missing)
}

/// Every kernel file is the one that was verified, and its entries can be called.
fn check_files(
    package: &Package,
    manifest: &Manifest,
    manifest_path: &str,
) -> Result<(), ArtefactError> {
    let name = &manifest.function;
    for artefact in &manifest.artefacts {
        if artefact.outcome != TargetOutcome::Tuned {
            continue;
        }
        let target = artefact.target;
        let (Some(file), Some(sha256)) = (&artefact.file, &artefact.sha256) else {
            let what = format!("names no file for {target}");
            return Err(damaged(manifest_path, &what, name));
        };
        if file != target.file_name() {
            let what = format!("names `{file}` for {target}");
            return Err(damaged(manifest_path, &what, name));
        }
        let variants = &artefact.variants;
        let bounded = variants.len().saturating_sub(1);
        let ascending =
            variants
                .windows(2)
                .all(|pair| match (pair[0].max_elements, pair[1].max_elements) {
                    (Some(a), Some(b)) => a < b,
                    (a, _) => a.is_some(),
                });
        let last_is_open = variants
            .get(bounded)
            .is_some_and(|last| last.max_elements.is_none());
        let callable = variants
            .iter()
            .all(|variant| syn::parse_str::<syn::Ident>(&variant.entry).is_ok());
        if !ascending || !last_is_open || !callable {
            let what = format!("has variants for {target} that do not work");
            return Err(damaged(manifest_path, &what, name));
        }
        let path = format!("pragma/{}/{file}", manifest.kernel);
        match read(package, &path) {
            Ok(text) if text_sha256(&text) == *sha256 => {}
            Ok(_) => {
                let what = "is not the kernel that was verified: it was changed";
                return Err(damaged(&path, what, name));
            }
            Err(error) => return Err(damaged(&path, &unreadable(&error), name)),
        }
    }
    Ok(())
}

fn unreadable(error: &io::Error) -> String {
    if error.kind() == io::ErrorKind::NotFound {
        "is missing".to_owned()
    } else {
        format!("cannot be read: {error}")
    }
}

fn damaged(path: &str, what: &str, function: &str) -> ArtefactError {
    ArtefactError(format!(
        "`{path}` {what}\n  = help: restore it with `git checkout -- {path}`, or make new kernels with `cargo pragma tune {function}`"
    ))
}
