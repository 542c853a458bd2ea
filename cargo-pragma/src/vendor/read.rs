//! Reads `pragma/` as it is, with everything that is wrong with it.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use pragma_spec::device::DeviceArtefact;
use pragma_spec::{Index, KernelId, Manifest, text_sha256};

use super::{INDEX, MANIFEST, MEASUREMENTS};
use crate::discover::VendoredName;

/// One thing that is wrong in `pragma/`, regardless of the sources.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    /// There is no index.
    NoIndex,
    /// The index cannot be read, for this reason.
    BadIndex(String),
    /// The index lists the kernel, and its manifest is missing.
    NoManifest(KernelId),
    /// The manifest cannot be read, for this reason.
    BadManifest(KernelId, String),
    /// The manifest is not the one that the index means.
    ManifestChanged(KernelId),
    /// The manifest names a file that is not there.
    NoFile(KernelId, String),
    /// A kernel's file is not the one that the manifest means.
    FileChanged(KernelId, String),
    /// A directory with a manifest that the index does not list.
    NotListed(KernelId),
    /// A file in the directory of a kernel that its manifest does not name.
    Stray(PathBuf),
    /// A file or directory that is no part of a kernel.
    Unknown(PathBuf),
    /// The kernel was made for another package.
    Foreign(KernelId, String),
}

impl Problem {
    /// The kernel that is concerned, if it is one alone.
    pub fn kernel(&self) -> Option<&KernelId> {
        match self {
            Problem::NoIndex | Problem::BadIndex(_) | Problem::Stray(_) | Problem::Unknown(_) => {
                None
            }
            Problem::NoManifest(id)
            | Problem::BadManifest(id, _)
            | Problem::ManifestChanged(id)
            | Problem::NoFile(id, _)
            | Problem::FileChanged(id, _)
            | Problem::NotListed(id)
            | Problem::Foreign(id, _) => Some(id),
        }
    }

    /// What to do about it.
    pub fn help(&self) -> String {
        match self {
            Problem::NoIndex => "run `cargo pragma init`".to_owned(),
            Problem::BadIndex(_) => {
                "restore it with `git checkout -- pragma/index.toml`, or resolve the merge".to_owned()
            }
            Problem::NotListed(_) => {
                "`cargo pragma clean` removes it; if a merge lost its line of the index, restore that".to_owned()
            }
            Problem::Stray(_) => "`cargo pragma clean` removes it".to_owned(),
            Problem::Unknown(_) => {
                "Pragma did not write it: delete it by hand, or move it out of pragma/".to_owned()
            }
            Problem::NoManifest(id)
            | Problem::BadManifest(id, _)
            | Problem::ManifestChanged(id)
            | Problem::NoFile(id, _)
            | Problem::FileChanged(id, _) => {
                format!("restore it with `git checkout -- pragma/{id}`, or run `cargo pragma tune {id}`")
            }
            Problem::Foreign(id, _) => format!("run `cargo pragma tune {id}` in this package"),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::NoIndex => write!(f, "pragma/{INDEX} is missing"),
            Problem::BadIndex(why) => write!(f, "pragma/{INDEX} cannot be read: {why}"),
            Problem::NoManifest(id) => write!(f, "pragma/{id}/{MANIFEST} is missing"),
            Problem::BadManifest(id, why) => {
                write!(f, "pragma/{id}/{MANIFEST} cannot be read: {why}")
            }
            Problem::ManifestChanged(id) => write!(f, "pragma/{id}/{MANIFEST} was changed by hand"),
            Problem::NoFile(id, file) => write!(f, "pragma/{id}/{file} is missing"),
            Problem::FileChanged(id, file) => write!(f, "pragma/{id}/{file} was changed by hand"),
            Problem::NotListed(id) => write!(f, "pragma/{id} is not in pragma/{INDEX}"),
            Problem::Stray(path) | Problem::Unknown(path) => {
                write!(f, "{} belongs to no kernel", path.display())
            }
            Problem::Foreign(id, package) => {
                write!(f, "pragma/{id} was made for the package `{package}`")
            }
        }
    }
}

/// One kernel as it lies in `pragma/`.
#[derive(Clone, Debug)]
pub struct VendoredKernel {
    /// Its manifest.
    pub manifest: Manifest,
    /// The text of each kernel file by name, where it could be read.
    pub files: BTreeMap<String, String>,
}

/// The content of `pragma/`.
#[derive(Clone, Debug, Default)]
pub struct Vendored {
    /// The index; empty if there is none that can be read.
    pub index: Index,
    /// Kernels with a readable manifest, by id.
    pub kernels: BTreeMap<KernelId, VendoredKernel>,
    /// All that is wrong.
    pub problems: Vec<Problem>,
}

impl Vendored {
    /// What every readable kernel belongs to, for naming the functions of the package.
    pub fn names(&self) -> Vec<VendoredName> {
        let name = |(id, kernel): (&KernelId, &VendoredKernel)| {
            let manifest = &kernel.manifest;
            let form = manifest.interface.form.as_ref();
            VendoredName {
                id: id.clone(),
                module: manifest.module.clone(),
                owner: form.and_then(|form| form.owner.as_deref()).map(last_name),
                function: manifest.function.clone(),
                instance: form.map(|form| form.instance.suffix()).unwrap_or_default(),
            }
        };
        self.kernels.iter().map(name).collect()
    }

    /// Whether anything is wrong with this kernel's own files.
    pub fn problem_of(&self, id: &KernelId) -> Option<&Problem> {
        self.problems
            .iter()
            .find(|problem| problem.kernel() == Some(id))
    }
}

/// The type's name in a path with arguments: `Raster` of `crate::imaging::Raster::<3>`.
fn last_name(path: &str) -> String {
    let plain = path.split("::<").next().unwrap_or(path);
    plain.rsplit("::").next().unwrap_or(plain).to_owned()
}

/// Reads `dir`, the `pragma/` of the package `package`. Never fails: what cannot be read is a [`Problem`].
pub fn read(dir: &Path, package: &str) -> Vendored {
    let mut vendored = Vendored::default();
    match std::fs::read_to_string(dir.join(INDEX)) {
        Ok(text) => match Index::parse(&text) {
            Ok(index) => vendored.index = index,
            Err(error) => vendored.problems.push(Problem::BadIndex(error.to_string())),
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            vendored.problems.push(Problem::NoIndex)
        }
        Err(error) => vendored.problems.push(Problem::BadIndex(error.to_string())),
    }
    for entry in vendored.index.kernels.clone() {
        let id = entry.kernel;
        match std::fs::read_to_string(dir.join(id.as_str()).join(MANIFEST)) {
            Ok(text) => {
                if text_sha256(&text) != entry.manifest_sha256 {
                    vendored.problems.push(Problem::ManifestChanged(id.clone()));
                }
                vendored.add(dir, package, &id, &text);
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                vendored.problems.push(Problem::NoManifest(id));
            }
            Err(error) => vendored
                .problems
                .push(Problem::BadManifest(id, error.to_string())),
        }
    }
    vendored.find_strays(dir);
    vendored
}

impl Vendored {
    fn add(&mut self, dir: &Path, package: &str, id: &KernelId, text: &str) {
        let manifest = match Manifest::parse(text) {
            Ok(manifest) => manifest,
            Err(error) => {
                self.problems
                    .push(Problem::BadManifest(id.clone(), error.to_string()));
                return;
            }
        };
        if manifest.package != package {
            self.problems
                .push(Problem::Foreign(id.clone(), manifest.package.clone()));
        }
        if manifest.kernel != *id {
            let why = format!("it is that of the kernel `{}`", manifest.kernel);
            self.problems.push(Problem::BadManifest(id.clone(), why));
        }
        let mut files = BTreeMap::new();
        let cpu = manifest
            .artefacts
            .iter()
            .filter_map(|artefact| Some((artefact.file.as_ref()?, artefact.sha256.clone())));
        let device = manifest
            .devices
            .iter()
            .flat_map(DeviceArtefact::files)
            .map(|file| (&file.name, Some(file.sha256.clone())));
        for (file, sha256) in cpu.chain(device) {
            match std::fs::read_to_string(dir.join(id.as_str()).join(file)) {
                Ok(text) => {
                    if Some(text_sha256(&text)) != sha256 {
                        self.problems
                            .push(Problem::FileChanged(id.clone(), file.clone()));
                    }
                    files.insert(file.clone(), text);
                }
                Err(_) => self
                    .problems
                    .push(Problem::NoFile(id.clone(), file.clone())),
            }
        }
        self.kernels
            .insert(id.clone(), VendoredKernel { manifest, files });
    }

    fn find_strays(&mut self, dir: &Path) {
        for (name, is_dir) in entries(dir) {
            if name == INDEX || name.starts_with('.') {
                continue;
            }
            let Some(id) = is_dir.then(|| KernelId::new(name.clone()).ok()).flatten() else {
                self.problems
                    .push(Problem::Unknown(Path::new("pragma").join(&name)));
                continue;
            };
            if !self.index.kernels.iter().any(|entry| entry.kernel == id) {
                let is_kernel = dir.join(&name).join(MANIFEST).is_file();
                self.problems.push(if is_kernel {
                    Problem::NotListed(id)
                } else {
                    Problem::Unknown(Path::new("pragma").join(&name))
                });
                continue;
            }
            // A manifest that is not Pragma's own does not say which files are.
            if self.problems.iter().any(|problem| {
                matches!(problem, Problem::ManifestChanged(bad) | Problem::BadManifest(bad, _) if *bad == id)
            }) {
                continue;
            }
            let Some(kernel) = self.kernels.get(&id) else {
                continue;
            };
            for (file, is_dir) in entries(&dir.join(&name)) {
                let known =
                    file == MANIFEST || file == MEASUREMENTS || kernel.files.contains_key(&file);
                let reported = self
                    .problems
                    .contains(&Problem::NoFile(id.clone(), file.clone()));
                if !known && !reported {
                    let path = Path::new("pragma").join(&name).join(&file);
                    self.problems.push(if is_dir {
                        Problem::Unknown(path)
                    } else {
                        Problem::Stray(path)
                    });
                }
            }
        }
    }
}

/// Names in a directory, sorted, and whether each is a directory; none if it cannot be read.
fn entries(dir: &Path) -> Vec<(String, bool)> {
    let Ok(listing) = std::fs::read_dir(dir) else {
        return Vec::new();
    };
    let mut names: Vec<(String, bool)> = listing
        .flatten()
        .map(|entry| {
            (
                entry.file_name().to_string_lossy().into_owned(),
                entry.path().is_dir(),
            )
        })
        .collect();
    names.sort();
    names
}
