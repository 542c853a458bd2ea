//! The text form of a program.
//!
//! Owns printing (`Display` of [`Program`], [`expr_text`], [`stmt_text`]) and [`parse`], which
//! are inverse to each other on every program that `verify` accepts. Leaves alone what a program
//! means and whether it makes sense: `parse` resolves names and nothing else.
//!
//! ```text
//! kernel rms_norm(x: [f32; rows, d], weight: [f32; d], eps: f32, out: mut [f32; rows, d]) dims(rows, d) {
//!   for r in 0..rows parallel(grain = 65536, serial_below = 65536) {
//!     let mut ms: f32 = 0.0
//!     for j in 0..d vector(unroll = 4) {
//!       ms = ms + x[r * d + j] * x[r * d + j]
//!     }
//!     let scale: f32 = 1.0 / sqrt(ms / d as f32 + eps)
//!     for i in 0..d vector(unroll = 1) {
//!       stream out[r * d + i] = x[r * d + i] * scale * weight[i]
//!     }
//!   }
//! }
//! ```
//!
//! - Operators, their binding strength, function names and type names are Rust's; a function
//!   is written `sqrt(x)`, a conditional value `select(cond, then, otherwise)`.
//! - A bare integer is a `usize`, a bare float an `f32`; other literals carry their type:
//!   `1i32`, `0.5f64`. Not-finite values are `f32::NAN`, `f32::INFINITY`, `f32::NEG_INFINITY`.
//! - Buffers are `[elem; extents]`, with `mut` for a `&mut` parameter, `ret` for the returned
//!   one and `local` for a temporary, which `alloc name: local [f32; n] len n fill 0.0` makes.
//! - A parameter that is a dimension is written `n: dim`.
//! - Variables and buffers are numbered as they appear. Where a program numbers them
//!   differently, or declares some that it never mentions, `vars(..)` and `bufs(..)` after
//!   `dims(..)` list all of them.
//! - `stream out[i] = x` stores around the caches, `prefetch x[i]` is a hint.
//! - `//` starts a comment. Line breaks and indentation mean nothing.

mod lex;
mod parse;
mod parse_expr;
mod parse_stmt;
mod print;
mod results;

pub use parse::{ParseError, parse};
pub use print::{const_text, expr_text, stmt_text};

#[allow(unused_imports, reason = "named by the documentation above")]
use super::Program;

#[cfg(test)]
mod tests;
