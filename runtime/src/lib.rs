//! What a crate with Pragma kernels depends on.
