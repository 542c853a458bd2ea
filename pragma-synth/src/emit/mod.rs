//! Writing programs as source text.

pub mod scalar;
pub mod signature;
