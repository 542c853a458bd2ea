//! Launch plans: what a host must do to run the kernels of one version.
//!
//! Owns sizes as formulas over the dimensions, arguments, scratch memory and conditions. All of
//! it is plain data with a text form; allocating and launching is the runtime's business.

use std::fmt;

use pragma_spec::Scalar;

use crate::ir::{BufId, VarId};

/// A size as a formula over the dimensions, in saturating `u64` arithmetic. Its text is Rust over
/// `u64` values with the names of the dimensions.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Formula {
    /// A number.
    Const(u64),
    /// A dimension of the program: its index and name.
    Dim(usize, String),
    /// Sum.
    Add(Box<Formula>, Box<Formula>),
    /// Difference, 0 where it would be negative.
    Sub(Box<Formula>, Box<Formula>),
    /// Product.
    Mul(Box<Formula>, Box<Formula>),
    /// Quotient, rounded down; the divisor counts as at least 1.
    Div(Box<Formula>, Box<Formula>),
    /// Quotient, rounded up; the divisor counts as at least 1.
    DivCeil(Box<Formula>, Box<Formula>),
    /// The lesser.
    Min(Box<Formula>, Box<Formula>),
    /// The greater.
    Max(Box<Formula>, Box<Formula>),
}

impl Formula {
    /// `self + other`.
    #[must_use]
    pub fn plus(self, other: Formula) -> Formula {
        match (self, other) {
            (Formula::Const(0), a) | (a, Formula::Const(0)) => a,
            (Formula::Const(a), Formula::Const(b)) => Formula::Const(a.saturating_add(b)),
            (a, b) => Formula::Add(Box::new(a), Box::new(b)),
        }
    }

    /// `self * other`.
    #[must_use]
    pub fn times(self, other: Formula) -> Formula {
        match (self, other) {
            (Formula::Const(1), a) | (a, Formula::Const(1)) => a,
            (Formula::Const(a), Formula::Const(b)) => Formula::Const(a.saturating_mul(b)),
            (a, b) => Formula::Mul(Box::new(a), Box::new(b)),
        }
    }

    /// `self` in groups of `size`, the last one perhaps not full.
    #[must_use]
    pub fn groups_of(self, size: u64) -> Formula {
        match self {
            a if size <= 1 => a,
            Formula::Const(a) => Formula::Const(a.div_ceil(size)),
            a => Formula::DivCeil(Box::new(a), Box::new(Formula::Const(size))),
        }
    }

    /// The lesser of `self` and `limit`.
    #[must_use]
    pub fn at_most(self, limit: u64) -> Formula {
        match self {
            Formula::Const(a) => Formula::Const(a.min(limit)),
            a => Formula::Min(Box::new(a), Box::new(Formula::Const(limit))),
        }
    }

    /// The value for these dimensions; those that are missing count as 0.
    pub fn eval(&self, dims: &[u64]) -> u64 {
        let pair = |a: &Formula, b: &Formula| (a.eval(dims), b.eval(dims));
        match self {
            Formula::Const(value) => *value,
            Formula::Dim(index, _) => dims.get(*index).copied().unwrap_or(0),
            Formula::Add(a, b) => a.eval(dims).saturating_add(b.eval(dims)),
            Formula::Sub(a, b) => a.eval(dims).saturating_sub(b.eval(dims)),
            Formula::Mul(a, b) => a.eval(dims).saturating_mul(b.eval(dims)),
            Formula::Div(a, b) => a.eval(dims) / b.eval(dims).max(1),
            Formula::DivCeil(a, b) => a.eval(dims).div_ceil(b.eval(dims).max(1)),
            Formula::Min(a, b) => {
                let (a, b) = pair(a, b);
                a.min(b)
            }
            Formula::Max(a, b) => {
                let (a, b) = pair(a, b);
                a.max(b)
            }
        }
    }

    fn is_atom(&self) -> bool {
        matches!(self, Formula::Const(_) | Formula::Dim(..))
    }
}

impl fmt::Display for Formula {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let receiver = |f: &mut fmt::Formatter<'_>, a: &Formula| {
            // A method on a bare number would have no type.
            match a {
                Formula::Const(value) => write!(f, "{value}u64"),
                a => write!(f, "{a}"),
            }
        };
        let infix = |f: &mut fmt::Formatter<'_>, a: &Formula, op: &str, b: &Formula| {
            let side = |f: &mut fmt::Formatter<'_>, a: &Formula| match a {
                Formula::Add(..) | Formula::Mul(..) | Formula::Div(..) if !a.is_atom() => {
                    write!(f, "({a})")
                }
                a => write!(f, "{a}"),
            };
            side(f, a)?;
            write!(f, " {op} ")?;
            side(f, b)
        };
        let method = |f: &mut fmt::Formatter<'_>, a: &Formula, name: &str, b: &Formula| {
            match a {
                Formula::Add(..) | Formula::Mul(..) | Formula::Div(..) => write!(f, "({a})")?,
                a => receiver(f, a)?,
            }
            write!(f, ".{name}({b})")
        };
        match self {
            Formula::Const(value) => write!(f, "{value}"),
            Formula::Dim(_, name) => f.write_str(name),
            Formula::Add(a, b) => infix(f, a, "+", b),
            Formula::Mul(a, b) => infix(f, a, "*", b),
            Formula::Div(a, b) => infix(f, a, "/", b),
            Formula::Sub(a, b) => method(f, a, "saturating_sub", b),
            Formula::DivCeil(a, b) => method(f, a, "div_ceil", b),
            Formula::Min(a, b) => method(f, a, "min", b),
            Formula::Max(a, b) => method(f, a, "max", b),
        }
    }
}

/// What must hold for a version to be used; otherwise another one, or the reference, runs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Requirement {
    /// The buffer's first element lies at a multiple of so many bytes.
    Aligned {
        /// The buffer.
        buf: BufId,
        /// Bytes, a power of two.
        bytes: u64,
    },
    /// The size is a multiple of a number.
    Multiple {
        /// The size.
        size: Formula,
        /// The number.
        of: u64,
    },
    /// The size is at most a number.
    AtMost {
        /// The size.
        size: Formula,
        /// The number.
        limit: u64,
    },
}

impl Requirement {
    /// Whether it holds for these dimensions; alignment is the caller's to check.
    pub fn holds(&self, dims: &[u64]) -> bool {
        match self {
            Requirement::Aligned { .. } => true,
            Requirement::Multiple { size, of } => size.eval(dims) % (*of).max(1) == 0,
            Requirement::AtMost { size, limit } => size.eval(dims) <= *limit,
        }
    }
}

/// Device memory that a version needs beside its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scratch {
    /// Its name among the parameters of the kernels.
    pub name: String,
    /// Its size.
    pub bytes: Formula,
    /// Whether it must be all zeros before the first launch of every call.
    pub zeroed: bool,
}

/// One argument of a kernel, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KernelArg {
    /// A dimension, as a 64-bit unsigned integer.
    Dim(usize),
    /// A scalar parameter of the function, in its own type (half types as their 16 bits).
    Scalar(VarId),
    /// The device address of a buffer.
    Buffer(BufId),
    /// The device address of [`LaunchPlan::scratch`] with this index.
    Scratch(usize),
    /// The device address of the returned scalars: one slot of 8 bytes for each of
    /// [`LaunchPlan::results`], the value at the slot's start.
    Results,
    /// The device address of a 32-bit word that is 0 before the call. Not 0 afterwards: the
    /// reference would have panicked, and results mean nothing.
    Fault,
}

/// One kernel launch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launch {
    /// The name of the `extern "C" __global__` function.
    pub kernel: String,
    /// Blocks along x, y and z.
    pub grid: [Formula; 3],
    /// Threads along x, y and z.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory; above 48 KB the function's limit must be raised first.
    pub shared: Formula,
    /// The arguments.
    pub args: Vec<KernelArg>,
}

/// How to run one version: the launches in order, on one stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LaunchPlan {
    /// Conditions, all of which must hold.
    pub requires: Vec<Requirement>,
    /// Scratch memory.
    pub scratch: Vec<Scratch>,
    /// The launches.
    pub launches: Vec<Launch>,
    /// Types of the returned scalars.
    pub results: Vec<Scalar>,
    /// Whether the kernels report faults.
    pub fault: bool,
    /// Options for the compiler beside the architecture.
    pub options: Vec<String>,
}

impl LaunchPlan {
    /// Whether the conditions on sizes hold for these dimensions.
    pub fn fits(&self, dims: &[u64]) -> bool {
        self.requires.iter().all(|condition| condition.holds(dims))
    }

    /// Bytes of scratch memory for these dimensions.
    pub fn scratch_bytes(&self, dims: &[u64]) -> u64 {
        self.scratch.iter().fold(0, |sum: u64, scratch| {
            sum.saturating_add(scratch.bytes.eval(dims))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Formula;

    #[test]
    fn formulas_read_as_rust_and_have_values() {
        let n = || Formula::Dim(0, "n".to_owned());
        let m = Formula::Dim(1, "m".to_owned());
        let blocks = n().plus(Formula::Const(3)).groups_of(1024).at_most(132);
        assert_eq!(blocks.to_string(), "(n + 3).div_ceil(1024).min(132)");
        assert_eq!(blocks.eval(&[1022, 0]), 2);
        assert_eq!(blocks.eval(&[u64::MAX, 0]), 132);
        assert_eq!(n().times(m.plus(n())).to_string(), "n * (m + n)");
        assert_eq!(Formula::Const(8).groups_of(3), Formula::Const(3));
        let never = Formula::Div(Box::new(n()), Box::new(Formula::Const(0)));
        assert_eq!(never.eval(&[7]), 7);
    }
}
