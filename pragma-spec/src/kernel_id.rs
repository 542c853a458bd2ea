//! The name under which a package keeps one kernel.

use std::fmt;
use std::str::FromStr;

/// A kernel's directory under `pragma/`: the function's name, or `module.path.name` where the
/// bare name is not unique in the package.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct KernelId(String);

/// The text cannot be a kernel id.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a kernel id: letters, digits, `_` and `.` only, and no `.` at either end")]
pub struct InvalidKernelId(pub String);

impl KernelId {
    /// The id written `text`.
    ///
    /// # Errors
    /// If `text` could not be a directory name on every platform.
    pub fn new(text: impl Into<String>) -> Result<Self, InvalidKernelId> {
        let text = text.into();
        let allowed = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
        let parts_exist = text.split('.').all(|part| !part.is_empty());
        if parts_exist && text.chars().all(allowed) && text.len() <= 200 {
            Ok(KernelId(text))
        } else {
            Err(InvalidKernelId(text))
        }
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for KernelId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for KernelId {
    type Err = InvalidKernelId;

    fn from_str(text: &str) -> Result<Self, InvalidKernelId> {
        KernelId::new(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_directory_names() {
        for good in ["dot", "rms_norm", "a.b.dot", "_x1", "Dot2"] {
            assert_eq!(
                KernelId::new(good).map(|id| id.to_string()),
                Ok(good.to_owned())
            );
        }
        for bad in [
            "", ".", "..", ".dot", "dot.", "a..b", "a/b", "a\\b", "a b", "é", "a:b",
        ] {
            assert!(KernelId::new(bad).is_err(), "{bad}");
        }
        assert!(KernelId::new("x".repeat(201)).is_err());
    }
}
