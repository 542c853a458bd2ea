//! Clean-ups that every schedule profits from and none can harm.
//!
//! A lifted program says what the function says, element by element. [`simplify`] removes the
//! detours through memory that people write because Rust's iterators make them handy, and writes
//! half-precision numbers as bits. It runs before the search; the oracle and the interpreter see the program as lifted.

mod forward;
pub(crate) mod half;
mod promote;
mod rebase;

use crate::ir::Program;

pub(crate) use promote::promote;

/// The same program with the clean-ups applied.
#[must_use]
pub fn simplify(program: &Program) -> Program {
    let program = forward::forward_stores(&half::on_bits(program));
    promote(&rebase::rebase(&program))
}
