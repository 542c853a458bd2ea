//! Writes into `pragma/`, in a way that survives a crash at any point.
//!
//! New content is first collected in `pragma/.staging-<pid>`, flushed, and renamed to `pragma/.pending`: that rename is
//! the moment from which the change counts. It is then carried out: the kernel leaves the index (so that every state on
//! the way builds, on the reference), its files are put in place one rename at a time, and the index gets its new line.
//! Whoever comes next carries out a `.pending` that was left behind, and throws a `.staging` away.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use pragma_spec::{Index, IndexEntry, KernelId, Manifest, text_sha256};

use super::{INDEX, MANIFEST, MEASUREMENTS};

const PENDING: &str = ".pending";
const STAGING: &str = ".staging-";
/// Holds the new index line in a pending change; a change without it is a removal.
const ENTRY: &str = "entry.toml";
/// Holds the kernel's id in a pending change.
const KERNEL: &str = "kernel";
/// The new files in a pending change.
const FILES: &str = "files";

/// Writing into the package failed.
#[derive(Debug, thiserror::Error)]
#[error("cannot write `{path}`: {error}")]
pub struct VendorError {
    /// The file or directory.
    pub path: PathBuf,
    /// Why.
    pub error: io::Error,
}

/// Adds the path to an I/O error.
fn on(path: &Path) -> impl FnOnce(io::Error) -> VendorError + '_ {
    move |error| VendorError {
        path: path.to_owned(),
        error,
    }
}

/// Everything that is vendored for one kernel.
#[derive(Clone, Debug)]
pub struct KernelFiles {
    /// The manifest, with the hashes of `files` in it.
    pub manifest: Manifest,
    /// Kernel source by file name.
    pub files: Vec<(String, String)>,
    /// The text of `measurements.toml`.
    pub measurements: String,
}

/// Puts a kernel into `dir`, replacing what was there for it. Files of the old one that the new one lacks go.
///
/// # Errors
/// If anything cannot be written. The kernel is then as before, or as after once [`recover`] could run.
pub fn store(dir: &Path, kernel: &KernelFiles) -> Result<(), VendorError> {
    let manifest = kernel.manifest.to_toml();
    let entry = IndexEntry {
        kernel: kernel.manifest.kernel.clone(),
        function: kernel.manifest.function.clone(),
        fingerprint: kernel.manifest.fingerprint.clone(),
        manifest_sha256: text_sha256(&manifest),
    };
    let line = Index {
        kernels: vec![entry.clone()],
        ..Index::default()
    }
    .to_toml();
    let mut files: Vec<(&str, &str)> =
        vec![(MANIFEST, &manifest), (MEASUREMENTS, &kernel.measurements)];
    files.extend(
        kernel
            .files
            .iter()
            .map(|(name, text)| (name.as_str(), text.as_str())),
    );
    if is_stored(dir, &entry, &files) {
        return Ok(());
    }
    change(dir, &entry.kernel, Some(&line), &files)
}

/// Takes a kernel, its directory and its line of the index out of `dir`.
///
/// # Errors
/// If anything cannot be written.
pub fn remove(dir: &Path, kernel: &KernelId) -> Result<(), VendorError> {
    change(dir, kernel, None, &[])
}

/// Makes `dir` with an empty index if there is no index. Returns whether it did.
///
/// # Errors
/// If it cannot be written.
pub fn ensure_index(dir: &Path) -> Result<bool, VendorError> {
    let index = dir.join(INDEX);
    if index.exists() {
        return Ok(false);
    }
    fs::create_dir_all(dir).map_err(on(dir))?;
    replace(&index, &Index::default().to_toml())?;
    Ok(true)
}

/// Whether files can be made in `dir`, or in its parent if it does not exist yet.
///
/// # Errors
/// The reason why not.
pub fn writable(dir: &Path) -> Result<(), VendorError> {
    let place = if dir.exists() {
        dir
    } else {
        dir.parent().unwrap_or(dir)
    };
    let probe = place.join(format!(".pragma-write-test-{}", std::process::id()));
    File::create(&probe).map_err(on(place))?;
    fs::remove_file(&probe).map_err(on(&probe))
}

/// Ends what a crash interrupted. Returns the kernel whose change was carried out, if one was pending.
///
/// # Errors
/// If anything cannot be written.
pub fn recover(dir: &Path) -> Result<Option<KernelId>, VendorError> {
    let Ok(listing) = fs::read_dir(dir) else {
        return Ok(None);
    };
    for entry in listing.flatten() {
        if entry.file_name().to_string_lossy().starts_with(STAGING) {
            fs::remove_dir_all(entry.path()).map_err(on(&entry.path()))?;
        }
    }
    if dir.join(PENDING).is_dir() {
        carry_out(dir).map(Some)
    } else {
        Ok(None)
    }
}

/// Whether `dir` holds exactly this already.
fn is_stored(dir: &Path, entry: &IndexEntry, files: &[(&str, &str)]) -> bool {
    let home = dir.join(entry.kernel.as_str());
    let same = |(name, text): &(&str, &str)| {
        fs::read_to_string(home.join(name)).is_ok_and(|old| old == *text)
    };
    let listed = fs::read_to_string(dir.join(INDEX))
        .ok()
        .and_then(|text| Index::parse(&text).ok())
        .is_some_and(|index| index.kernels.contains(entry));
    let count = fs::read_dir(&home)
        .map(|listing| listing.count())
        .unwrap_or(0);
    listed && count == files.len() && files.iter().all(same)
}

fn change(
    dir: &Path,
    kernel: &KernelId,
    line: Option<&str>,
    files: &[(&str, &str)],
) -> Result<(), VendorError> {
    fs::create_dir_all(dir).map_err(on(dir))?;
    recover(dir)?;
    let staging = dir.join(format!("{STAGING}{}", std::process::id()));
    let new = staging.join(FILES);
    fs::create_dir_all(&new).map_err(on(&new))?;
    for (name, text) in files {
        write_flushed(&new.join(name), text)?;
    }
    write_flushed(&staging.join(KERNEL), kernel.as_str())?;
    if let Some(line) = line {
        write_flushed(&staging.join(ENTRY), line)?;
    }
    flush_dir(&new);
    flush_dir(&staging);
    let pending = dir.join(PENDING);
    fs::rename(&staging, &pending).map_err(on(&pending))?;
    flush_dir(dir);
    carry_out(dir).map(|_| ())
}

/// Carries out `.pending`. Every step may be repeated, so a second attempt after a crash ends in the same place.
fn carry_out(dir: &Path) -> Result<KernelId, VendorError> {
    let pending = dir.join(PENDING);
    let id_file = pending.join(KERNEL);
    let id = fs::read_to_string(&id_file).map_err(on(&id_file))?;
    let id = KernelId::new(id).map_err(|error| VendorError {
        path: id_file,
        error: io::Error::other(error),
    })?;
    let entry = match fs::read_to_string(pending.join(ENTRY)) {
        Ok(text) => Index::parse(&text)
            .ok()
            .and_then(|index| index.kernels.into_iter().next()),
        Err(_) => None,
    };
    edit_index(dir, &id, None)?;
    let home = dir.join(id.as_str());
    if let Some(entry) = entry {
        fs::create_dir_all(&home).map_err(on(&home))?;
        let new = pending.join(FILES);
        let names = |dir: &Path| -> Vec<PathBuf> {
            fs::read_dir(dir)
                .map(|list| list.flatten().map(|entry| entry.path()).collect())
                .unwrap_or_default()
        };
        // Copied and renamed, not moved: the pending change stays whole until all of it is in place.
        let mut kept = Vec::new();
        for source in names(&new) {
            let Some(name) = source.file_name() else {
                continue;
            };
            let text = fs::read_to_string(&source).map_err(on(&source))?;
            replace(&home.join(name), &text)?;
            kept.push(name.to_owned());
        }
        for old in names(&home) {
            if !kept
                .iter()
                .any(|name| Some(name.as_os_str()) == old.file_name())
            {
                let removed = if old.is_dir() {
                    fs::remove_dir_all(&old)
                } else {
                    fs::remove_file(&old)
                };
                removed.map_err(on(&old))?;
            }
        }
        flush_dir(&home);
        edit_index(dir, &id, Some(entry))?;
    } else if home.exists() {
        fs::remove_dir_all(&home).map_err(on(&home))?;
    }
    flush_dir(dir);
    // Renamed first: a directory that is half removed must not look like a pending change.
    let done = dir.join(format!("{STAGING}done"));
    let _ = fs::remove_dir_all(&done);
    fs::rename(&pending, &done).map_err(on(&pending))?;
    fs::remove_dir_all(&done).map_err(on(&done))?;
    Ok(id)
}

/// Replaces the index line of `id`; writes only if that changes the text.
fn edit_index(dir: &Path, id: &KernelId, entry: Option<IndexEntry>) -> Result<(), VendorError> {
    let path = dir.join(INDEX);
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(VendorError { path, error }),
    };
    let mut index = if text.is_empty() {
        Index::default()
    } else {
        Index::parse(&text).map_err(|error| VendorError {
            path: path.clone(),
            error: io::Error::other(error),
        })?
    };
    index.kernels.retain(|known| known.kernel != *id);
    index.kernels.extend(entry);
    let new = index.to_toml();
    if new == text {
        Ok(())
    } else {
        replace(&path, &new)
    }
}

/// Puts `text` at `path` by writing beside it and renaming. A file with that content already is left alone.
fn replace(path: &Path, text: &str) -> Result<(), VendorError> {
    if fs::read_to_string(path).is_ok_and(|old| old == text) {
        return Ok(());
    }
    let name = path
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let temporary = path.with_file_name(format!(".{name}.new"));
    write_flushed(&temporary, text)?;
    fs::rename(&temporary, path).map_err(on(path))?;
    if let Some(dir) = path.parent() {
        flush_dir(dir);
    }
    Ok(())
}

fn write_flushed(path: &Path, text: &str) -> Result<(), VendorError> {
    let mut file = File::create(path).map_err(on(path))?;
    file.write_all(text.as_bytes())
        .and_then(|()| file.sync_all())
        .map_err(on(path))
}

/// Flushes a directory's entries where the system can; where it cannot, there is nothing better to do.
fn flush_dir(dir: &Path) {
    if let Ok(handle) = File::open(dir) {
        let _ = handle.sync_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vendor::{Problem, read};
    use pragma_spec::{
        Artefact, Fingerprint, Interface, Target, TargetOutcome, VerificationRecord,
    };

    fn kernel(name: &str, text: &str) -> KernelFiles {
        let manifest = Manifest {
            format: 1,
            kernel: KernelId::new(name).expect("an id"),
            function: name.to_owned(),
            package: "p".to_owned(),
            module: String::new(),
            fingerprint: Fingerprint::of_text(text),
            dependencies: Fingerprint::of_text(""),
            signature: "fn()".to_owned(),
            dims: Vec::new(),
            shapes: Vec::new(),
            interface: Interface::default(),
            artefacts: vec![Artefact {
                target: Target::X86_64V3,
                outcome: TargetOutcome::Tuned,
                reason: None,
                file: Some("x86-64-v3.rs".to_owned()),
                sha256: Some(text_sha256(text)),
                variants: Vec::new(),
            }],
            devices: Vec::new(),
            verification: VerificationRecord::default(),
        };
        KernelFiles {
            manifest,
            files: vec![("x86-64-v3.rs".to_owned(), text.to_owned())],
            measurements: "# times\n".to_owned(),
        }
    }

    fn problems(dir: &Path) -> Vec<Problem> {
        read(dir, "p").problems
    }

    #[test]
    fn store_replace_remove() {
        let dir = tempfile::tempdir().expect("a directory");
        let dir = dir.path().join("pragma");
        store(&dir, &kernel("dot", "// one\n")).expect("stored");
        store(&dir, &kernel("axpy", "// two\n")).expect("stored");
        assert_eq!(problems(&dir), []);
        fs::write(dir.join("dot/x86-64-v4.rs"), "old").expect("a stray file");
        assert_eq!(problems(&dir).len(), 1);
        store(&dir, &kernel("dot", "// three\n")).expect("stored");
        assert_eq!(problems(&dir), []);
        let index = fs::read_to_string(dir.join(INDEX)).expect("an index");
        store(&dir, &kernel("dot", "// three\n")).expect("stored");
        assert_eq!(
            fs::read_to_string(dir.join(INDEX)).expect("an index"),
            index
        );
        let vendored = read(&dir, "p");
        let dot = KernelId::new("dot").expect("an id");
        assert_eq!(vendored.kernels[&dot].files["x86-64-v3.rs"], "// three\n");
        remove(&dir, &dot).expect("removed");
        assert_eq!(read(&dir, "p").kernels.len(), 1);
        assert!(!dir.join("dot").exists());
        assert_eq!(problems(&dir), []);
    }

    #[test]
    fn what_is_wrong_is_seen() {
        let dir = tempfile::tempdir().expect("a directory");
        assert_eq!(problems(dir.path()), [Problem::NoIndex]);
        let dir = dir.path().join("pragma");
        store(&dir, &kernel("dot", "// one\n")).expect("stored");
        let id = || KernelId::new("dot").expect("an id");
        let file = dir.join("dot/x86-64-v3.rs");
        fs::write(&file, "// one\r\n").expect("written");
        assert_eq!(problems(&dir), [], "line ends do not matter");
        fs::write(&file, "// changed\n").expect("written");
        assert_eq!(
            problems(&dir),
            [Problem::FileChanged(id(), "x86-64-v3.rs".to_owned())]
        );
        fs::remove_file(&file).expect("removed");
        assert_eq!(
            problems(&dir),
            [Problem::NoFile(id(), "x86-64-v3.rs".to_owned())]
        );
        assert_eq!(
            read(&dir, "q").problems[0],
            Problem::Foreign(id(), "p".to_owned())
        );
        fs::write(dir.join("dot/manifest.toml"), "format = 99\n").expect("written");
        assert_eq!(problems(&dir).len(), 2);
        fs::write(dir.join(INDEX), "<<<<<<< ours\n").expect("written");
        assert!(matches!(problems(&dir)[0], Problem::BadIndex(_)));
    }

    /// Copies a directory as a crash would leave it.
    fn copy(from: &Path, to: &Path) {
        fs::create_dir_all(to).expect("a directory");
        for entry in fs::read_dir(from).expect("a directory").flatten() {
            let target = to.join(entry.file_name());
            if entry.path().is_dir() {
                copy(&entry.path(), &target);
            } else {
                fs::copy(entry.path(), target).expect("a copy");
            }
        }
    }

    #[test]
    fn a_crash_leaves_before_or_after() {
        let root = tempfile::tempdir().expect("a directory");
        let before = root.path().join("before");
        store(&before, &kernel("dot", "// one\n")).expect("stored");
        let staged = |name: &str, into: &str| {
            let dir = root.path().join(name);
            copy(&before, &dir);
            let new = kernel("dot", "// two\n");
            let change = dir.join(into);
            fs::create_dir_all(change.join(FILES)).expect("a directory");
            let manifest = new.manifest.to_toml();
            fs::write(change.join(FILES).join(MANIFEST), &manifest).expect("written");
            fs::write(change.join(FILES).join(MEASUREMENTS), "").expect("written");
            fs::write(change.join(FILES).join("x86-64-v3.rs"), "// two\n").expect("written");
            fs::write(change.join(KERNEL), "dot").expect("written");
            let entry = IndexEntry {
                kernel: new.manifest.kernel.clone(),
                function: "dot".to_owned(),
                fingerprint: new.manifest.fingerprint.clone(),
                manifest_sha256: text_sha256(&manifest),
            };
            let line = Index {
                kernels: vec![entry],
                ..Index::default()
            }
            .to_toml();
            fs::write(change.join(ENTRY), line).expect("written");
            dir
        };
        let text = |dir: &Path| fs::read_to_string(dir.join("dot/x86-64-v3.rs")).expect("a file");
        // Before the rename that makes it count.
        let dir = staged("early", ".staging-1");
        assert_eq!(recover(&dir).expect("recovered"), None);
        assert_eq!(
            (text(&dir), problems(&dir)),
            ("// one\n".to_owned(), vec![])
        );
        // After it, with nothing, something and everything done.
        for step in 0..4 {
            let dir = staged(&format!("late{step}"), PENDING);
            if step > 0 {
                edit_index(&dir, &KernelId::new("dot").expect("an id"), None).expect("edited");
                // The half-done state has the kernel out of the index: it builds, on the reference.
                assert_eq!(read(&dir, "p").kernels.len(), 0);
            }
            if step > 1 {
                replace(&dir.join("dot/x86-64-v3.rs"), "// two\n").expect("replaced");
            }
            if step > 2 {
                fs::remove_file(dir.join("dot/manifest.toml")).expect("removed");
            }
            assert!(recover(&dir).expect("recovered").is_some());
            assert_eq!(
                (text(&dir), problems(&dir)),
                ("// two\n".to_owned(), vec![])
            );
            assert!(!dir.join(PENDING).exists());
        }
    }
}
