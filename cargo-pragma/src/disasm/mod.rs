//! Reading the machine code of a compiled candidate.
//!
//! Owns finding the kernel's functions in a library, their loops, and what those loops are made of. Nothing here runs
//! or measures anything: every figure is static. What a figure means for the next step is the Conductor's business.

mod classify;
mod loops;

pub use classify::Mix;
pub use loops::{LoopProfile, StaticProfile};

use std::path::Path;

use object::{Object, ObjectSection, ObjectSymbol, SymbolKind};

/// Why there is no static profile.
#[derive(Debug, thiserror::Error)]
pub enum DisasmError {
    /// The library cannot be read.
    #[error("cannot read the library: {0}")]
    Io(#[from] std::io::Error),
    /// It is not an ELF file, or a damaged one.
    #[error("not a library that can be disassembled: {0}")]
    Format(#[from] object::Error),
    /// It holds no function of the kernel.
    #[error("the library names no function of a kernel")]
    NoKernel,
}

/// In the mangled name of every function of a candidate's kernel, in both of rustc's manglings.
const KERNEL_PATH: &str = "16pragma_candidate6kernel";

/// Reads the kernel's functions in a candidate's library.
///
/// # Errors
/// If the library cannot be read or was stripped of its symbols.
pub fn read(library: &Path) -> Result<StaticProfile, DisasmError> {
    read_named(library, &|name| name.contains(KERNEL_PATH))
}

/// Reads the functions whose mangled name is `wanted`.
///
/// # Errors
/// As [`read`].
pub fn read_named(
    library: &Path,
    wanted: &dyn Fn(&str) -> bool,
) -> Result<StaticProfile, DisasmError> {
    let bytes = std::fs::read(library)?;
    let file = object::File::parse(bytes.as_slice())?;
    let mut profile = StaticProfile::default();
    let mut seen = Vec::new();
    for symbol in file.symbols() {
        let (Ok(name), Some(index)) = (symbol.name(), symbol.section_index()) else {
            continue;
        };
        if symbol.kind() != SymbolKind::Text
            || symbol.size() == 0
            || !wanted(name)
            || seen.contains(&symbol.address())
        {
            continue;
        }
        seen.push(symbol.address());
        let section = file.section_by_index(index)?;
        if let Some(code) = section.data_range(symbol.address(), symbol.size())? {
            profile.add(name, code, symbol.address());
        }
    }
    if seen.is_empty() {
        return Err(DisasmError::NoKernel);
    }
    profile.sort();
    Ok(profile)
}
