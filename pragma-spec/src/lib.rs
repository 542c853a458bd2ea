//! The words that all Pragma crates share.
//!
//! Owns the attribute grammar, signatures, shapes, targets, kernel ids, fingerprints and the
//! manifest format. Does no I/O: callers hand in text and tokens and get values back.
#![forbid(unsafe_code)]

mod dim;
mod scalar;
mod target;

pub use dim::{DimExpr, Shape};
pub use scalar::{Scalar, UnknownScalar};
pub use target::{Target, UnknownTarget};
