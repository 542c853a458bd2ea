//! The `#[pragma_kernel]` attribute.
//!
//! Owns the way from an annotated function to the code that calls its kernels. It reads `pragma/` in the
//! package and nothing else: it never writes, spawns or probes the machine.
#![forbid(unsafe_code)]

mod artefact;
mod dispatch;
mod expand;
mod harness;
mod message;
mod shim;
mod source;
mod visibility;

use proc_macro::TokenStream;

/// Lets `cargo pragma tune` give this function kernels, and calls them once it has.
///
/// The function keeps its name, signature, visibility, documentation and meaning. `NAME::reference(..)` is the
/// function as written (visible like the function, except for a function in a file of its own name: there it is private,
/// so that `mod dot; pub use dot::dot;` keeps working). Without kernels, `NAME(..)` is the same thing; with kernels, it checks the lengths of its
/// arguments and the CPU, and runs the kernel that fits. Beside a method `NAME` stands `NAME_reference`, unless it is private.
///
/// Sizes may be fields: `shape(self.weight = [rows, self.width])`.
///
/// ```text
/// #[pragma_kernel]                              the shapes follow from the body
/// #[pragma_kernel(
///     shape(x = [rows, d], out = [rows, d]),    or are given: sizes, with `+ - * /`
///     tune(rows = 2048, d = 4096),              what to optimise for; repeatable
///     inputs(x = -4.0..4.0, idx = 0..rows),     what test data looks like
///     tolerance(rtol = 1e-5, atol = 1e-8),      or `exact`; the default is as close to f64 as the function is
///     assume(finite),                           no NaN, no infinity
///     instantiate(T = f32, N = 4),              what type and const parameters stand for; repeatable
///     targets(cpu),
///     threads(1),                               no parallelism
///     crate = my_runtime,                       where `pragma_runtime` is called otherwise
/// )]
/// ```
///
/// If the function has changed since its kernels were made, they are not used and the compiler warns. If the files under
/// `pragma/` are not those that were verified, the compiler reports an error.
#[proc_macro_attribute]
pub fn pragma_kernel(attribute: TokenStream, item: TokenStream) -> TokenStream {
    expand::expand(attribute.into(), item.into()).into()
}
