//! A tuning job as one file: everything that a host with a GPU and without Rust needs, but for the tool itself.
//!
//! Owns the format: a tar archive with `job.json`, the compiled references and the compiled f64 oracles. A job runs
//! its libraries, so it is as trustworthy as the machine that made it.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use pragma_spec::form::ReturnedKind;
use pragma_spec::{
    KernelAttribute, KernelSignature, ParamKind, ParamSig, ReturnSig, Scalar, Shape,
};
use pragma_synth::ir::{self, Program};
use serde::{Deserialize, Serialize};

use crate::harness::Built;
use crate::verify::KernelSpec;
use crate::worker::abi;

/// The format of jobs and results.
pub const FORMAT: u32 = 1;
const INDEX: &str = "job.json";

/// A job.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Job {
    /// [`FORMAT`].
    pub format: u32,
    /// The version of the tool that made it.
    pub tool: String,
    /// The machine that the references were compiled on.
    pub machine: String,
    /// What is to be tuned.
    pub kernels: Vec<JobKernel>,
}

/// One function of a job.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct JobKernel {
    /// Its package.
    pub package: String,
    /// Its name in `pragma/`.
    pub kernel: String,
    /// The function's name.
    pub function: String,
    /// Identifies function and attribute.
    pub fingerprint: String,
    /// Identifies what it depends on.
    pub dependencies: String,
    /// Parameters, as leaves.
    params: Vec<JobParam>,
    /// Returned values.
    returns: Vec<JobReturn>,
    /// The attribute's arguments as written.
    attribute: String,
    /// The sizes to tune for, as attribute arguments.
    tunes: String,
    /// Shapes by parameter.
    shapes: Vec<(String, String)>,
    /// The function in the engine's text form.
    program: String,
    /// The file of the reference.
    pub reference: String,
    /// The reference's symbol.
    pub symbol: String,
    /// The file of the f64 oracle, where there is one.
    pub oracle: Option<String>,
    /// Decides test data.
    pub seed: u64,
    /// Whether the function can decline.
    pub declines: bool,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct JobParam {
    name: String,
    scalar: String,
    /// `scalar`, `slice` or `array`.
    kind: String,
    len: u64,
    mutable: bool,
    by_value: bool,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct JobReturn {
    scalar: String,
    vec: bool,
}

/// A job cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum JobError {
    /// The file system refuses, or the archive is cut off.
    #[error("`{}`: {error}", .path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// It is no job of this version.
    #[error("`{}` is not usable: {reason}", .path.display())]
    Bad {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
}

/// What a kernel of a job is made from.
pub struct Part<'a> {
    /// Its package.
    pub package: &'a str,
    /// Its name in `pragma/`.
    pub kernel: &'a str,
    /// Identifies function and attribute.
    pub fingerprint: String,
    /// Identifies what it depends on.
    pub dependencies: String,
    /// The attribute's arguments as written.
    pub attribute: String,
    /// How it is tested.
    pub spec: &'a KernelSpec,
    /// What it means.
    pub program: &'a Program,
    /// The file of the reference in the archive.
    pub reference: String,
    /// The file of the oracle in the archive.
    pub oracle: Option<String>,
    /// Decides test data.
    pub seed: u64,
}

impl JobKernel {
    /// A kernel of a job.
    pub fn new(part: Part<'_>) -> Self {
        let signature = &part.spec.signature;
        let tunes: Vec<String> = part
            .spec
            .attribute
            .tunes
            .iter()
            .map(|tune| format!("tune({tune})"))
            .collect();
        JobKernel {
            package: part.package.to_owned(),
            kernel: part.kernel.to_owned(),
            function: signature.name.clone(),
            fingerprint: part.fingerprint,
            dependencies: part.dependencies,
            params: signature.params.iter().map(JobParam::of).collect(),
            returns: signature
                .returns
                .kinds()
                .into_iter()
                .map(JobReturn::of)
                .collect(),
            attribute: part.attribute,
            tunes: tunes.join(", "),
            shapes: part
                .spec
                .shapes
                .iter()
                .map(|(name, shape)| (name.clone(), shape.to_string()))
                .collect(),
            program: part.program.to_string(),
            reference: part.reference,
            symbol: part.spec.reference_symbol.clone(),
            oracle: part.oracle,
            seed: part.seed,
            declines: part.spec.declines,
        }
    }

    /// The function in the engine's form.
    ///
    /// # Errors
    /// If the text cannot be read.
    pub fn program(&self) -> Result<Program, String> {
        ir::text::parse(&self.program).map_err(|error| error.to_string())
    }

    /// How it is tested.
    ///
    /// # Errors
    /// If a part of it cannot be read.
    pub fn spec(&self, program: &Program) -> Result<KernelSpec, String> {
        let params = self
            .params
            .iter()
            .map(JobParam::read)
            .collect::<Result<_, _>>()?;
        let returns = self
            .returns
            .iter()
            .map(JobReturn::read)
            .collect::<Result<Vec<_>, _>>()?;
        let signature = KernelSignature::plain(self.function.clone(), params, returns_of(&returns));
        let attribute = |text: &str| -> Result<KernelAttribute, String> {
            let tokens = text
                .parse()
                .map_err(|_| "the attribute is no Rust".to_owned())?;
            KernelAttribute::parse(tokens).map_err(|error| error.message)
        };
        let mut whole = attribute(&self.attribute)?;
        whole.tunes = attribute(&self.tunes)?.tunes;
        let shapes = self
            .shapes
            .iter()
            .map(|(name, text)| match text.parse::<Shape>() {
                Ok(shape) => Ok((name.clone(), shape)),
                Err(error) => Err(error.to_string()),
            })
            .collect::<Result<Vec<_>, String>>()?;
        let oracle = self.oracle.as_ref().map(|_| String::new());
        let spec = KernelSpec::new(
            signature,
            whole,
            &program.dims,
            shapes,
            self.symbol.clone(),
            oracle,
        )
        .map_err(|error| error.to_string())?;
        Ok(KernelSpec {
            declines: self.declines,
            indices: crate::tune::indices::indices(program, &spec.signature),
            ..spec
        })
    }

    /// The oracle, unpacked below `dir`.
    pub fn oracle(&self, dir: &Path) -> Option<Built> {
        self.oracle.as_ref().map(|file| Built {
            path: dir.join(file),
            symbol: abi::ORACLE.to_owned(),
            screened: false,
        })
    }
}

fn returns_of(kinds: &[ReturnedKind]) -> ReturnSig {
    let scalars: Option<Vec<Scalar>> = kinds
        .iter()
        .map(|kind| match kind {
            ReturnedKind::Scalar(scalar) => Some(*scalar),
            ReturnedKind::Vec(_) => None,
        })
        .collect();
    match (kinds, scalars) {
        ([], _) => ReturnSig::Nothing,
        ([ReturnedKind::Scalar(scalar)], _) => ReturnSig::Scalar(*scalar),
        ([ReturnedKind::Vec(scalar)], _) => ReturnSig::Vec(*scalar),
        (_, Some(scalars)) => ReturnSig::Tuple(scalars),
        (many, None) => ReturnSig::Mixed(many.to_vec()),
    }
}

impl JobParam {
    fn of(param: &ParamSig) -> Self {
        let (kind, len, by_value) = match param.kind {
            ParamKind::Scalar(_) => ("scalar", 1, false),
            ParamKind::Slice { .. } => ("slice", 0, false),
            ParamKind::Array { len, by_value, .. } => ("array", len, by_value),
        };
        JobParam {
            name: param.name.clone(),
            scalar: param.kind.elem().name().to_owned(),
            kind: kind.to_owned(),
            len,
            mutable: param.kind.is_mutable(),
            by_value,
        }
    }

    fn read(&self) -> Result<ParamSig, String> {
        let elem: Scalar = self.scalar.parse().map_err(|error| format!("{error}"))?;
        let mutable = self.mutable;
        Ok(ParamSig {
            name: self.name.clone(),
            kind: match self.kind.as_str() {
                "scalar" => ParamKind::Scalar(elem),
                "slice" => ParamKind::Slice { elem, mutable },
                "array" => ParamKind::Array {
                    elem,
                    len: self.len,
                    mutable,
                    by_value: self.by_value,
                },
                other => return Err(format!("`{other}` is no kind of parameter")),
            },
        })
    }
}

impl JobReturn {
    fn of(kind: ReturnedKind) -> Self {
        JobReturn {
            scalar: kind.elem().name().to_owned(),
            vec: matches!(kind, ReturnedKind::Vec(_)),
        }
    }

    fn read(&self) -> Result<ReturnedKind, String> {
        let scalar: Scalar = self.scalar.parse().map_err(|error| format!("{error}"))?;
        Ok(if self.vec {
            ReturnedKind::Vec(scalar)
        } else {
            ReturnedKind::Scalar(scalar)
        })
    }
}

impl Job {
    /// Writes the archive `path` with `files`, each with its name in there.
    ///
    /// # Errors
    /// If a file cannot be read or the archive not be written.
    pub fn write(&self, path: &Path, files: &[(String, PathBuf)]) -> Result<(), JobError> {
        let index = serde_json::to_vec_pretty(self).unwrap_or_default();
        let mut contents = vec![(INDEX.to_owned(), index)];
        for (name, file) in files {
            let bytes = std::fs::read(file).map_err(|error| JobError::Io {
                path: file.clone(),
                error,
            })?;
            contents.push((name.clone(), bytes));
        }
        write_archive(path, &contents)
    }

    /// Unpacks the archive `path` into `dir`.
    ///
    /// # Errors
    /// If it is no job of this version.
    pub fn unpack(path: &Path, dir: &Path) -> Result<Self, JobError> {
        let bad = |reason: String| JobError::Bad {
            path: path.to_owned(),
            reason,
        };
        let mut job = None;
        for (name, bytes) in read_archive(path)? {
            if name == INDEX {
                job = Some(bytes);
                continue;
            }
            let file = dir.join(&name);
            std::fs::write(&file, bytes).map_err(|error| JobError::Io { path: file, error })?;
        }
        let job = job.ok_or_else(|| bad(format!("it has no {INDEX}")))?;
        let job: Job = serde_json::from_slice(&job).map_err(|error| bad(error.to_string()))?;
        if job.format != FORMAT {
            return Err(bad(format!(
                "it has format {}, and this version of cargo-pragma reads {FORMAT}",
                job.format
            )));
        }
        Ok(job)
    }
}

/// Writes an archive of flat files. The same contents give the same bytes.
pub(super) fn write_archive(path: &Path, contents: &[(String, Vec<u8>)]) -> Result<(), JobError> {
    let io = |error| JobError::Io {
        path: path.to_owned(),
        error,
    };
    let part = path.with_extension(format!("{}.part", std::process::id()));
    let mut archive = tar::Builder::new(File::create(&part).map_err(io)?);
    for (name, bytes) in contents {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        archive
            .append_data(&mut header, name, bytes.as_slice())
            .map_err(io)?;
    }
    archive
        .into_inner()
        .and_then(|file| file.sync_all())
        .map_err(io)?;
    std::fs::rename(&part, path).map_err(io)
}

/// The files of an archive. Names that are more than a file name are refused: nothing is written elsewhere.
pub(super) fn read_archive(path: &Path) -> Result<Vec<(String, Vec<u8>)>, JobError> {
    let io = |error| JobError::Io {
        path: path.to_owned(),
        error,
    };
    let mut archive = tar::Archive::new(File::open(path).map_err(io)?);
    let mut contents = Vec::new();
    for entry in archive.entries().map_err(io)? {
        let mut entry = entry.map_err(io)?;
        let name = entry.path().map_err(io)?.to_string_lossy().into_owned();
        let flat = !name.is_empty() && name != "." && name != ".." && !name.contains(['/', '\\']);
        if !flat || !entry.header().entry_type().is_file() {
            return Err(JobError::Bad {
                path: path.to_owned(),
                reason: format!("it holds `{name}`, which is no plain file"),
            });
        }
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).map_err(io)?;
        contents.push((name, bytes));
    }
    Ok(contents)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn archives_hold_flat_files_only() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("a.tar");
        let contents = vec![
            ("x".to_owned(), vec![1, 2, 3]),
            ("y".to_owned(), Vec::new()),
        ];
        write_archive(&path, &contents).expect("writes");
        assert_eq!(read_archive(&path).expect("reads"), contents);
        write_archive(&path, &[("a/b".to_owned(), vec![1])]).expect("writes");
        let error = read_archive(&path).expect_err("refuses");
        assert!(error.to_string().contains("no plain file"), "{error}");
        std::fs::write(&path, "no archive at all, but long enough to be looked at")
            .expect("writes");
        assert!(Job::unpack(&path, dir.path()).is_err());
    }

    #[test]
    fn a_kernel_survives_the_way() {
        let program = "fn scale(x: &[f32], k: f32, out: &mut [f32])";
        let item: syn::ItemFn = syn::parse_str(&format!("{program} {{}}")).expect("parses");
        let signature = KernelSignature::from_syn(&item.sig).expect("is supported");
        let text = "shape(x = [n], out = [n]), tune(n = 4096)";
        let attribute =
            KernelAttribute::parse(text.parse().expect("tokens")).expect("an attribute");
        let shapes = vec![
            ("x".to_owned(), "[n]".parse().expect("a shape")),
            ("out".to_owned(), "[n]".parse().expect("a shape")),
        ];
        let dims = ["n".to_owned()];
        let spec = KernelSpec::new(
            signature,
            attribute,
            &dims,
            shapes,
            "symbol".to_owned(),
            None,
        )
        .expect("a spec");
        let ir = Program {
            name: "scale".to_owned(),
            dims: dims.to_vec(),
            ..Program::default()
        };
        let kernel = JobKernel::new(Part {
            package: "p",
            kernel: "scale",
            fingerprint: "f".to_owned(),
            dependencies: "d".to_owned(),
            attribute: text.to_owned(),
            spec: &spec,
            program: &ir,
            reference: "r.so".to_owned(),
            oracle: None,
            seed: 7,
        });
        let again = kernel.spec(&ir).expect("reads back");
        assert_eq!(again.signature, spec.signature);
        assert_eq!(again.attribute.tunes, spec.attribute.tunes);
        assert_eq!(again.shapes, spec.shapes);
    }
}
