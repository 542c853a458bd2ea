//! One recorded rustc call.
//!
//! Owns the file format between the wrapper, which writes it in a process started by cargo, and the tool, which reads
//! it. It lives in the private target directory and names machine paths freely.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// How cargo called rustc for one crate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Invocation {
    /// The compiler.
    pub rustc: PathBuf,
    /// Its arguments.
    pub args: Vec<String>,
    /// The directory it ran in.
    pub cwd: PathBuf,
    /// What cargo and the build script added to the environment, by name; no secrets.
    pub env: Vec<(String, String)>,
}

impl Invocation {
    /// The file for a crate inside the record directory.
    pub fn file(dir: &Path, crate_name: &str, is_bin: bool, manifest_dir: &Path) -> PathBuf {
        let kind = if is_bin { "bin" } else { "lib" };
        let place = hex(manifest_dir.as_os_str().as_encoded_bytes());
        dir.join(format!("{crate_name}-{kind}-{}.json", &place[..16]))
    }

    /// Reads a record.
    ///
    /// # Errors
    /// If the file is missing or not a record.
    pub fn read(path: &Path) -> io::Result<Self> {
        Ok(serde_json::from_slice(&std::fs::read(path)?)?)
    }

    /// Writes a record; readers see the old or the new one.
    ///
    /// # Errors
    /// If the directory cannot be written to.
    pub fn write(&self, path: &Path) -> io::Result<()> {
        let part = path.with_extension(format!("{}.part", std::process::id()));
        std::fs::write(&part, serde_json::to_vec_pretty(self)?)?;
        std::fs::rename(&part, path)
    }
}

/// SHA-256 as 64 hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// A name for a variable's value that does not reveal it: what the tool tells the wrapper about its own environment.
pub fn variable_digest(name: &OsStr, value: &OsStr) -> String {
    let mut bytes = name.as_encoded_bytes().to_vec();
    bytes.push(b'=');
    bytes.extend_from_slice(value.as_encoded_bytes());
    hex(&bytes)[..32].to_owned()
}
