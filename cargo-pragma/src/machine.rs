//! What this machine is and what it can run.
//!
//! Owns CPU detection for tuning (the same tiers that `pragma-runtime` dispatches on, `PRAGMA_DISPATCH` included) and
//! the private directory. How fast the machine is belongs to `measure`.

use std::fs;
use std::io;
use std::path::Path;

use pragma_spec::Target;

/// The environment variable with which `pragma-runtime` lets users lower the tier.
const OVERRIDE: &str = "PRAGMA_DISPATCH";

/// Targets that this process may tune for and run, weakest first.
pub fn targets() -> Vec<Target> {
    allowed(&supported(), std::env::var(OVERRIDE).ok().as_deref())
}

/// Why [`targets`] is empty.
pub fn no_target_reason() -> String {
    match std::env::var(OVERRIDE) {
        Ok(value) if !supported().is_empty() => format!("{OVERRIDE}={value} leaves no target"),
        _ => format!("this CPU ({}) has none of the targets", model()),
    }
}

fn allowed(supported: &[Target], request: Option<&str>) -> Vec<Target> {
    let most = match request {
        Some("reference") => return Vec::new(),
        Some(name) => name.parse().ok(),
        None => None,
    };
    supported
        .iter()
        .copied()
        .filter(|target| most.is_none_or(|most| *target <= most))
        .collect()
}

#[cfg(target_arch = "x86_64")]
fn supported() -> Vec<Target> {
    use std::arch::is_x86_feature_detected as has;
    let v3 = has!("avx2")
        && has!("fma")
        && has!("f16c")
        && has!("bmi1")
        && has!("bmi2")
        && has!("lzcnt")
        && has!("movbe")
        && has!("popcnt");
    let v4 = v3
        && has!("avx512f")
        && has!("avx512bw")
        && has!("avx512cd")
        && has!("avx512dq")
        && has!("avx512vl");
    let mut targets = Vec::new();
    if v3 {
        targets.push(Target::X86_64V3);
    }
    if v4 {
        targets.push(Target::X86_64V4);
    }
    targets
}

#[cfg(not(target_arch = "x86_64"))]
fn supported() -> Vec<Target> {
    Vec::new()
}

/// The CPU's model name, or its architecture where the system does not tell.
pub fn model() -> String {
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    info.lines()
        .find_map(|line| line.strip_prefix("model name"))
        .and_then(|rest| rest.split_once(':'))
        .map_or_else(
            || std::env::consts::ARCH.to_owned(),
            |(_, name)| name.trim().to_owned(),
        )
}

/// Cores that this process may use, at least 1.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Model and cores, which is what times depend on.
pub fn description() -> String {
    let cores = cores();
    format!(
        "{}, {cores} core{}",
        model(),
        if cores == 1 { "" } else { "s" }
    )
}

/// Makes the private directory and proves that it can be written.
///
/// # Errors
/// If it cannot be made or written.
pub fn prepare_private_dir(dir: &Path) -> io::Result<()> {
    fs::create_dir_all(dir)?;
    let probe = dir.join(format!(".write-test-{}", std::process::id()));
    fs::write(&probe, "")?;
    fs::remove_file(&probe)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_override_lowers_only() {
        let both = [Target::X86_64V3, Target::X86_64V4];
        assert_eq!(allowed(&both, None), both);
        assert_eq!(allowed(&both, Some("reference")), []);
        assert_eq!(allowed(&both, Some("x86-64-v3")), [Target::X86_64V3]);
        assert_eq!(allowed(&both[..1], Some("x86-64-v4")), [Target::X86_64V3]);
        assert_eq!(allowed(&both, Some("nonsense")), both);
    }
}
