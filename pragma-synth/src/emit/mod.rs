//! Writing programs as source text.

pub mod scalar;
