//! Scalar element types, as the attribute, the manifest and the IR spell them.
//!
//! Leaves alone how a scalar is computed with: that is the IR's business.

use std::fmt;
use std::str::FromStr;

/// A Rust scalar type that a kernel may take, return or hold in a buffer.
///
/// `Usize` and `Isize` are 64 bits wide: Pragma's targets are 64-bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scalar {
    /// `bool`, one byte, 0 or 1.
    Bool,
    /// `i8`.
    I8,
    /// `i16`.
    I16,
    /// `i32`.
    I32,
    /// `i64`.
    I64,
    /// `isize`.
    Isize,
    /// `u8`.
    U8,
    /// `u16`.
    U16,
    /// `u32`.
    U32,
    /// `u64`.
    U64,
    /// `usize`.
    Usize,
    /// `half::f16`, IEEE binary16.
    F16,
    /// `half::bf16`, the upper half of an `f32`.
    Bf16,
    /// `f32`.
    F32,
    /// `f64`.
    F64,
}

impl Scalar {
    /// Every scalar type, in declaration order.
    pub const ALL: [Scalar; 15] = [
        Scalar::Bool,
        Scalar::I8,
        Scalar::I16,
        Scalar::I32,
        Scalar::I64,
        Scalar::Isize,
        Scalar::U8,
        Scalar::U16,
        Scalar::U32,
        Scalar::U64,
        Scalar::Usize,
        Scalar::F16,
        Scalar::Bf16,
        Scalar::F32,
        Scalar::F64,
    ];

    /// The Rust name: `f32`, `usize`, `bf16`.
    pub const fn name(self) -> &'static str {
        match self {
            Scalar::Bool => "bool",
            Scalar::I8 => "i8",
            Scalar::I16 => "i16",
            Scalar::I32 => "i32",
            Scalar::I64 => "i64",
            Scalar::Isize => "isize",
            Scalar::U8 => "u8",
            Scalar::U16 => "u16",
            Scalar::U32 => "u32",
            Scalar::U64 => "u64",
            Scalar::Usize => "usize",
            Scalar::F16 => "f16",
            Scalar::Bf16 => "bf16",
            Scalar::F32 => "f32",
            Scalar::F64 => "f64",
        }
    }

    /// Size in bytes, which is also the alignment.
    pub const fn bytes(self) -> usize {
        match self {
            Scalar::Bool | Scalar::I8 | Scalar::U8 => 1,
            Scalar::I16 | Scalar::U16 | Scalar::F16 | Scalar::Bf16 => 2,
            Scalar::I32 | Scalar::U32 | Scalar::F32 => 4,
            Scalar::I64 | Scalar::U64 | Scalar::Isize | Scalar::Usize | Scalar::F64 => 8,
        }
    }

    /// Whether this is a floating-point type.
    pub const fn is_float(self) -> bool {
        matches!(self, Scalar::F16 | Scalar::Bf16 | Scalar::F32 | Scalar::F64)
    }

    /// Whether this is an integer type (`bool` is not).
    pub const fn is_integer(self) -> bool {
        !self.is_float() && !matches!(self, Scalar::Bool)
    }

    /// Whether this is a signed integer type.
    pub const fn is_signed(self) -> bool {
        matches!(
            self,
            Scalar::I8 | Scalar::I16 | Scalar::I32 | Scalar::I64 | Scalar::Isize
        )
    }
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The name is not that of a scalar type Pragma knows.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a scalar type Pragma knows")]
pub struct UnknownScalar(pub String);

impl FromStr for Scalar {
    type Err = UnknownScalar;

    fn from_str(name: &str) -> Result<Self, UnknownScalar> {
        Scalar::ALL
            .into_iter()
            .find(|scalar| scalar.name() == name)
            .ok_or_else(|| UnknownScalar(name.to_owned()))
    }
}
