//! Which instruction-set tier this process may use.
//!
//! Owns detection and the `PRAGMA_DISPATCH` override. Shape guards and size buckets are in the code that the macro emits.

use std::sync::atomic::{AtomicU8, Ordering};

/// A set of instructions that kernels are written for. Ordered: a later tier includes the earlier ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Tier {
    /// No kernel fits; the function as its author wrote it runs.
    Reference = 1,
    /// x86-64-v3: AVX2, FMA, F16C, BMI1, BMI2, LZCNT, MOVBE.
    V3 = 2,
    /// x86-64-v4: v3 and AVX-512 F, BW, CD, DQ, VL.
    V4 = 3,
}

impl Tier {
    /// The name used in file names, manifests and `PRAGMA_DISPATCH`.
    pub const fn name(self) -> &'static str {
        match self {
            Tier::Reference => "reference",
            Tier::V3 => "x86-64-v3",
            Tier::V4 => "x86-64-v4",
        }
    }

    /// The best tier that this CPU and operating system can run, whatever `PRAGMA_DISPATCH` says.
    #[cfg(target_arch = "x86_64")]
    pub fn supported() -> Tier {
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
        if v4 {
            Tier::V4
        } else if v3 {
            Tier::V3
        } else {
            Tier::Reference
        }
    }

    /// The best tier that this CPU can run: on this architecture, always the reference.
    #[cfg(not(target_arch = "x86_64"))]
    pub fn supported() -> Tier {
        Tier::Reference
    }
}

/// 0 until the first call of [`tier`], then a `Tier`.
static CHOSEN: AtomicU8 = AtomicU8::new(0);

/// The tier to use in this process: what the CPU supports, or less where the environment variable `PRAGMA_DISPATCH`
/// (`reference`, `x86-64-v3`, `x86-64-v4`) asks for less.
///
/// Decided at the first call and constant from then on; later calls cost one load. An override can lower the tier but
/// never raise it above what the CPU has.
#[inline]
pub fn tier() -> Tier {
    match CHOSEN.load(Ordering::Relaxed) {
        1 => Tier::Reference,
        2 => Tier::V3,
        3 => Tier::V4,
        _ => choose(),
    }
}

#[cold]
fn choose() -> Tier {
    let request = std::env::var_os("PRAGMA_DISPATCH");
    let request = request.as_ref().map(|value| value.to_string_lossy());
    let (tier, warning) = resolve(request.as_deref(), Tier::supported());
    CHOSEN.store(tier as u8, Ordering::Relaxed);
    if let Some(warning) = warning {
        eprintln!("{warning}");
    }
    tier
}

/// The tier for a request on a CPU, and a line to print if the request cannot be met.
fn resolve(request: Option<&str>, supported: Tier) -> (Tier, Option<String>) {
    let wanted = match request {
        // A GPU request says nothing about which CPU kernels may run.
        None | Some("" | "cuda") => return (supported, None),
        Some("reference") => Tier::Reference,
        Some("x86-64-v3") => Tier::V3,
        Some("x86-64-v4") => Tier::V4,
        Some(other) => {
            let warning = format!(
                "pragma: PRAGMA_DISPATCH={other} ignored: expected reference, x86-64-v3, x86-64-v4 or cuda"
            );
            return (supported, Some(warning));
        }
    };
    if wanted > supported {
        let warning = format!(
            "pragma: PRAGMA_DISPATCH={} is more than this CPU has; using {}",
            wanted.name(),
            supported.name()
        );
        return (supported, Some(warning));
    }
    (wanted, None)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Tier; 3] = [Tier::Reference, Tier::V3, Tier::V4];

    #[test]
    fn no_request_means_the_best_supported() {
        for supported in ALL {
            assert_eq!(resolve(None, supported), (supported, None));
            assert_eq!(resolve(Some(""), supported), (supported, None));
            assert_eq!(resolve(Some("cuda"), supported), (supported, None));
        }
    }

    #[test]
    fn a_request_lowers_but_never_raises() {
        for supported in ALL {
            for wanted in ALL {
                let (tier, warning) = resolve(Some(wanted.name()), supported);
                assert_eq!(tier, wanted.min(supported));
                assert_eq!(warning.is_some(), wanted > supported);
            }
        }
    }

    #[test]
    fn an_unknown_request_is_ignored_aloud() {
        let (tier, warning) = resolve(Some("avx2"), Tier::V3);
        assert_eq!(tier, Tier::V3);
        let warning = warning.unwrap_or_default();
        assert!(
            warning.contains("avx2") && warning.lines().count() == 1,
            "{warning}"
        );
    }

    #[test]
    fn the_tier_is_supported_and_constant() {
        let first = tier();
        assert!(first <= Tier::supported());
        assert_eq!(first, tier());
    }

    /// Not a test of its own: the child half of `the_environment_decides`.
    #[test]
    fn child_prints_its_tier() {
        if std::env::var_os("PRAGMA_TIER_CHILD").is_some() {
            println!("tier={}", tier().name());
        }
    }

    #[test]
    fn the_environment_decides() {
        let run = |request: &str| {
            let exe = std::env::current_exe().expect("a test knows its own path");
            let out = std::process::Command::new(exe)
                .args([
                    "--exact",
                    "tier::tests::child_prints_its_tier",
                    "--nocapture",
                ])
                .env("PRAGMA_TIER_CHILD", "1")
                .env("PRAGMA_DISPATCH", request)
                .output()
                .expect("the test binary runs");
            (
                String::from_utf8_lossy(&out.stdout).into_owned(),
                String::from_utf8_lossy(&out.stderr).into_owned(),
            )
        };
        let (out, err) = run("reference");
        assert!(out.contains("tier=reference"), "{out}");
        assert!(!err.contains("pragma:"), "{err}");
        let (out, _) = run("x86-64-v3");
        assert!(
            out.contains(&format!("tier={}", Tier::V3.min(Tier::supported()).name())),
            "{out}"
        );
        let (out, err) = run("nonsense");
        assert!(
            out.contains(&format!("tier={}", Tier::supported().name())),
            "{out}"
        );
        assert!(err.contains("PRAGMA_DISPATCH=nonsense"), "{err}");
    }
}
