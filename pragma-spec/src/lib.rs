//! The words that all Pragma crates share.
#![forbid(unsafe_code)]
