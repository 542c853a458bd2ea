//! The list of a package's kernels.
//!
//! Owns `pragma/index.toml`: always there once `cargo pragma init` has run, so that cargo notices when
//! kernels appear.

use crate::record::{Record, RecordError, quote_text};
use crate::{Fingerprint, KernelId};

/// The newest index format this version reads and writes.
pub const INDEX_FORMAT: u32 = 1;

/// `pragma/index.toml`.
#[derive(Clone, Debug, PartialEq)]
pub struct Index {
    /// Format version of the file.
    pub format: u32,
    /// The kernels; written sorted by id.
    pub kernels: Vec<IndexEntry>,
}

/// One kernel of a package.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexEntry {
    /// Its directory.
    pub kernel: KernelId,
    /// The function's name.
    pub function: String,
    /// What the function looked like when its kernels were made.
    pub fingerprint: Fingerprint,
    /// [`crate::text_sha256`] of its manifest.
    pub manifest_sha256: String,
}

/// An index cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IndexError {
    /// Written by a later version of Pragma.
    #[error("format {0} is newer than this version of pragma understands ({INDEX_FORMAT})")]
    Newer(u32),
    /// The same kernel twice, as a merge may leave it.
    #[error("the kernel `{0}` is listed twice")]
    Duplicate(KernelId),
    /// Not what an index looks like.
    #[error(transparent)]
    Malformed(#[from] RecordError),
}

impl Default for Index {
    fn default() -> Self {
        Index {
            format: INDEX_FORMAT,
            kernels: Vec::new(),
        }
    }
}

impl Index {
    /// Reads the text of an index. Keys it does not know are ignored.
    ///
    /// # Errors
    /// If the text is not TOML, its format is newer, something is missing, or a kernel is listed twice.
    pub fn parse(text: &str) -> Result<Self, IndexError> {
        let root = Record::parse(text)?;
        let format = root.number("format")?;
        if format > INDEX_FORMAT {
            return Err(IndexError::Newer(format));
        }
        let mut kernels: Vec<IndexEntry> = Vec::new();
        for record in root.tables("kernels")? {
            let entry = IndexEntry {
                kernel: record.parsed("kernel")?,
                function: record.text("function")?,
                fingerprint: record.parsed("fingerprint")?,
                manifest_sha256: record.text("manifest_sha256")?,
            };
            if kernels.iter().any(|known| known.kernel == entry.kernel) {
                return Err(IndexError::Duplicate(entry.kernel));
            }
            kernels.push(entry);
        }
        Ok(Index { format, kernels })
    }

    /// The text of the index: one line per kernel, sorted by id.
    pub fn to_toml(&self) -> String {
        let mut kernels: Vec<&IndexEntry> = self.kernels.iter().collect();
        kernels.sort_by(|a, b| a.kernel.cmp(&b.kernel));
        let mut out = String::from(
            "# The Pragma kernels of this package. Written by `cargo pragma`; commit it, do not edit it.\n\
             # The `#[pragma_kernel]` macro reads it, so that cargo rebuilds when kernels appear or go.\n",
        );
        out.push_str(&format!("format = {}\nkernels = [\n", self.format));
        for entry in kernels {
            out.push_str(&format!(
                "    {{ kernel = {}, function = {}, fingerprint = {}, manifest_sha256 = {} }},\n",
                quote_text(entry.kernel.as_str()),
                quote_text(&entry.function),
                quote_text(entry.fingerprint.as_str()),
                quote_text(&entry.manifest_sha256)
            ));
        }
        out.push_str("]\n");
        out
    }
}
