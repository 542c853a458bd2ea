//! Eight functions as people write them.
//!
//! Each is marked `#[pragma_kernel]`. `cargo pragma tune -p quickstart` reads them, writes SIMD kernels, proves those
//! against the functions and puts the winners under `pragma/`, where they are committed like any other source.

mod activation;
mod norm;
mod search;
mod vector;

pub use activation::{gelu, softmax_rows};
pub use norm::{layer_norm, rms_norm};
pub use search::{argmax_rows, cosine_similarity};
pub use vector::{dot, saxpy};
