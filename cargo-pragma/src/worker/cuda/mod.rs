//! Kernels on a GPU in processes of their own: NVRTC, the driver, the worker's two ends.
//!
//! Owns everything that touches NVIDIA's libraries, which are loaded at run time where they are there. A kernel that
//! faults, hangs or corrupts its context takes one worker with it; the next worker gets a fresh context.

mod arena;
mod client;
mod compile;
#[allow(unsafe_code)] // Calls the driver; every block states why it is sound.
mod driver;
#[allow(unsafe_code)] // Calls the compiler; every block states why it is sound.
mod nvrtc;
mod program;
pub mod protocol;
mod serve;

pub use client::GpuWorker;
pub use compile::{CompileReply, CompileRequest, compile};
pub use driver::DeviceFacts;
pub use serve::serve;

/// The kernel of [`PROBE_SOURCE`].
pub const PROBE: &str = "pragma_probe";

/// The kernel that [`GpuWorker::ceilings`] runs: eight independent chains of fused multiply-adds, 64 a round.
pub const PROBE_SOURCE: &str = r#"extern "C" __global__ void __launch_bounds__(256) pragma_probe(float *out, unsigned long long rounds) {
    float seed = threadIdx.x * 1e-6f + 1.0f;
    float a[8];
#pragma unroll
    for (int i = 0; i < 8; i++) a[i] = seed + i;
    float b = 1.0f - seed * 1e-7f;
    for (unsigned long long r = 0; r < rounds; r++) {
#pragma unroll
        for (int k = 0; k < 8; k++) {
#pragma unroll
            for (int i = 0; i < 8; i++) a[i] = fmaf(a[i], b, seed);
        }
    }
    float sum = 0.0f;
#pragma unroll
    for (int i = 0; i < 8; i++) sum += a[i];
    if (sum == 12345.0f) out[threadIdx.x] = sum;
}
"#;
