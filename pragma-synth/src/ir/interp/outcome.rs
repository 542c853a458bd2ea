//! What a run gives: results, or why there are none.

use super::{Buffer, Value};
use crate::ir::verify::VerifyError;

/// What a program returned.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome<F> {
    /// `()`.
    Nothing,
    /// One value for each of `Returns::Scalars`.
    Scalars(Vec<Value<F>>),
    /// The returned `Vec`, every element written.
    Buffer(Buffer<F>),
    /// One for each of `Returns::Mixed`.
    Mixed(Vec<Returned<F>>),
    /// `Stmt::Decline` was reached: the reference does the work. No argument has changed.
    Declined,
}

/// One of several returned values.
#[derive(Clone, Debug, PartialEq)]
pub enum Returned<F> {
    /// A scalar.
    Scalar(Value<F>),
    /// A `Vec`, every element written.
    Buffer(Buffer<F>),
}

/// Why a run has no outcome.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Trap {
    /// `verify` refuses the program.
    #[error("not a program: {}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Unverified(Vec<VerifyError>),
    /// The program does something that `verify` should have refused.
    #[error("malformed program: {0}")]
    Malformed(String),
    /// The arguments do not fit the parameters.
    #[error("arguments do not fit: {0}")]
    BadArguments(String),
    /// An index is not below the buffer's length.
    #[error("index {index} is out of bounds of `{buffer}` with {len} elements")]
    OutOfBounds {
        /// The buffer's name.
        buffer: String,
        /// The index.
        index: u64,
        /// The number of elements.
        len: u64,
    },
    /// An element was read, or returned, before it was written.
    #[error("element {index} of `{buffer}` was never written")]
    Unwritten {
        /// The buffer's name.
        buffer: String,
        /// The element.
        index: u64,
    },
    /// An integer divisor was zero.
    #[error("integer division by zero")]
    DivideByZero,
    /// `MIN / -1` or `MIN % -1`.
    #[error("integer division overflows")]
    DivideOverflow,
    /// `Stmt::Panic` was reached.
    #[error("the reference panics here")]
    Panic,
    /// `Limits::steps` ran out.
    #[error("more than {0} steps")]
    TooManySteps(u64),
    /// `Limits::elements` ran out.
    #[error("more than {0} elements allocated")]
    TooManyElements(u64),
}
