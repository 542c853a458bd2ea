//! The loop-nest IR: what a lifted function means, before and after scheduling.
//!
//! A [`Program`] is a structured imperative program over typed scalars and flat, row-major
//! buffers. Schedule marks (vector, parallel, streaming stores) never change what a program
//! computes beyond the order of reductions: read without its marks, a program is still the
//! same function. Text form, checks and meaning live in the submodules `text`, `verify` and
//! `interp`.

mod expr;
pub mod interp;
mod names;
mod program;
mod stmt;
pub mod text;
pub mod verify;

pub use expr::{BinaryOp, CompareOp, Const, Expr, Func};
pub(crate) use program::renamed;
pub use program::{BufDecl, BufId, BufRole, Param, Program, Returned, Returns, VarDecl, VarId};
pub use stmt::{Loop, Mark, Stmt, StoreHint};
