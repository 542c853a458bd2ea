//! Vectors with the semantics of scalar Rust, one width per tier.
//!
//! [`v3`] (AVX2, FMA) has 8 lanes and [`v4`] (AVX-512) 16, for every element type: `F64`, `I64` and `U64` are two
//! registers. Both modules have the same types and methods, so the text of a kernel changes with the tier in its `use`
//! line and its `target_feature` attribute only:
//!
//! ```
//! # #[cfg(target_arch = "x86_64")] mod kernel {
//! use pragma_runtime::simd::v3::{F32, LANES};
//!
//! #[target_feature(enable = "avx2,fma,bmi1,bmi2,f16c,lzcnt,movbe,popcnt")]
//! pub fn scale(a: f32, x: &mut [f32]) {
//!     let a = F32::splat(a);
//!     let mut i = 0;
//!     while i < x.len() {
//!         let p = x[i..].as_mut_ptr();
//!         // SAFETY: the partial accesses touch at most the `x.len() - i` elements at `p`.
//!         unsafe { F32::load_partial(p, x.len() - i).mul(a).store_partial(p, x.len() - i) }
//!         i += LANES;
//!     }
//! }
//! # }
//! ```
//!
//! Methods inline into functions that enable the tier's features ([`V3_FEATURES`], [`V4_FEATURES`]); they are safe to
//! call there, except those that take pointers, whose contracts are about memory only. No access needs alignment beyond
//! what the method says. Every method gives, lane by lane, the bits that scalar Rust gives (NaN payloads aside), except
//! vector math (`exp`, `sin`, ...), whose error bounds are stated per function.
//!
//! This module leaves the choice of tier to [`crate::tier`](mod@crate::tier) and threads to [`crate::parallel`].

#![allow(
    clippy::approx_constant,
    reason = "a coefficient may be near a constant without being it"
)]
#![allow(
    clippy::duplicate_mod,
    reason = "the files of math/ are compiled once per tier"
)]
#![allow(
    clippy::should_implement_trait,
    reason = "operator traits cannot have target features"
)]

/// The `target_feature` string of functions that use [`v3`].
pub const V3_FEATURES: &str = "avx2,fma,bmi1,bmi2,f16c,lzcnt,movbe,popcnt";
/// The `target_feature` string of functions that use [`v4`].
pub const V4_FEATURES: &str =
    "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx2,fma,bmi1,bmi2,f16c,lzcnt,movbe,popcnt";

#[cfg(target_arch = "x86_64")]
#[macro_use]
mod float;
#[cfg(target_arch = "x86_64")]
#[macro_use]
mod int;
#[cfg(target_arch = "x86_64")]
#[macro_use]
mod mask;
#[cfg(target_arch = "x86_64")]
#[macro_use]
mod narrow;
#[cfg(target_arch = "x86_64")]
#[macro_use]
mod native;

/// Asks for the cache lines of `N` bytes at `ptr`, if those start a line; otherwise for all but perhaps the last.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn prefetch_bytes<const N: usize>(ptr: *const u8) {
    use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    const LINE: usize = 64;
    let mut at = 0;
    while at < N {
        // SAFETY: a prefetch of any address, mapped or not, has no effect but on caches.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(ptr.wrapping_add(at).cast()) };
        at += LINE;
    }
}

#[cfg(target_arch = "x86_64")]
pub mod v3;
#[cfg(target_arch = "x86_64")]
pub mod v4;

#[cfg(all(test, target_arch = "x86_64"))]
mod tests;
