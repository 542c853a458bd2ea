//! The `#[pragma_kernel]` attribute.
#![forbid(unsafe_code)]
