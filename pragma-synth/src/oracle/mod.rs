//! The `f64` oracle: what a program should give, and how far rounding may take it from there.

pub mod dual;
