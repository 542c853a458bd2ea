//! The embedded engine.
#![forbid(unsafe_code)]
