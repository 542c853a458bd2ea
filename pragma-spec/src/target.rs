//! What a kernel is compiled for.
//!
//! Owns the names and the instruction sets they stand for. Finding out what a machine has is
//! the runtime's business.

use std::fmt;
use std::str::FromStr;

/// A compilation target of kernels. CPU tiers follow the x86-64 psABI micro-architecture levels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Target {
    /// AVX2, FMA, F16C, BMI1, BMI2, LZCNT, MOVBE.
    X86_64V3,
    /// `X86_64V3` plus AVX-512 F, BW, CD, DQ and VL.
    X86_64V4,
}

impl Target {
    /// Every target, weakest first.
    pub const ALL: [Target; 2] = [Target::X86_64V3, Target::X86_64V4];

    /// The name in manifests, file names and messages: `x86-64-v4`.
    pub const fn name(self) -> &'static str {
        match self {
            Target::X86_64V3 => "x86-64-v3",
            Target::X86_64V4 => "x86-64-v4",
        }
    }

    /// The name of the vendored source file.
    pub const fn file_name(self) -> &'static str {
        match self {
            Target::X86_64V3 => "x86-64-v3.rs",
            Target::X86_64V4 => "x86-64-v4.rs",
        }
    }

    /// The value of `#[target_feature(enable = "..")]` on every function of such a kernel.
    pub const fn features(self) -> &'static str {
        match self {
            Target::X86_64V3 => "avx2,fma,bmi1,bmi2,f16c,lzcnt,movbe,popcnt",
            Target::X86_64V4 => {
                "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx2,fma,bmi1,bmi2,f16c,lzcnt,movbe,popcnt"
            }
        }
    }

    /// The module of `pragma_runtime::simd` with this target's vectors.
    pub const fn simd_module(self) -> &'static str {
        match self {
            Target::X86_64V3 => "v3",
            Target::X86_64V4 => "v4",
        }
    }

    /// Elements in one logical vector of `pragma_runtime::simd`, for every element type.
    pub const fn lanes(self) -> usize {
        match self {
            Target::X86_64V3 => 8,
            Target::X86_64V4 => 16,
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The text does not name a target.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a target; known targets are x86-64-v3 and x86-64-v4")]
pub struct UnknownTarget(pub String);

impl FromStr for Target {
    type Err = UnknownTarget;

    fn from_str(name: &str) -> Result<Self, UnknownTarget> {
        Target::ALL
            .into_iter()
            .find(|target| target.name() == name)
            .ok_or_else(|| UnknownTarget(name.to_owned()))
    }
}
