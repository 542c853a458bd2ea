//! Reads a Rust function into the IR.
//!
//! An abstract interpreter over syn's tree: it runs the function on symbolic values and writes
//! down what happens as loops, loads and stores. Helpers of the same crate are inlined. Types
//! are inferred as rustc does it; lengths are learnt from use, and become the shapes that the
//! dispatch guard checks. What cannot be read is refused with its exact span; nothing is
//! guessed, and no panic of the function is dropped silently.
//!
//! Leaves alone: finding sources (the tool hands them in), proving every access in bounds and
//! all scheduling (`analyze`, `action`).

mod aggregate;
mod assertions;
mod best;
mod branches;
mod bytes;
mod calls;
mod cleanup;
mod complex;
mod constants;
mod control;
mod enums;
mod error;
mod exits;
mod expand;
mod expr;
mod externals;
mod finish;
mod fold;
mod function;
mod hoist;
mod inline;
mod items;
mod iter;
mod literals;
mod lookup;
mod macros;
mod matching;
mod nd;
mod nd_dot;
mod nd_make;
mod nd_ops;
mod nd_zip;
mod numeric;
mod operators;
mod ordering;
mod params;
mod pattern;
mod places;
mod polish;
mod poly;
mod prove;
mod range;
mod reader;
mod records;
mod reduce;
mod returning;
mod rounds;
mod shapes;
mod slices;
mod sorting;
mod storage;
mod types;
mod usage;
mod value;
mod walk;
mod whiles;
mod written;

pub use error::{SourceSpan, Unliftable};
pub use usage::{Usage, flatten, usage};

use pragma_spec::{KernelAttribute, KernelSignature, Shape};
use proc_macro2::TokenStream;

use crate::ir::Program;
use error::Interrupt;
use reader::Reader;

/// The sources of a crate, as far as they were found: pure data.
#[derive(Clone, Debug, Default)]
pub struct SourceCrate {
    /// All modules, the root among them.
    pub modules: Vec<SourceModule>,
}

/// One module.
#[derive(Clone, Debug)]
pub struct SourceModule {
    /// Its path below the crate root: `["a", "b"]`, empty for the root.
    pub path: Vec<String>,
    /// The file it stands in, as shown to users.
    pub file: String,
    /// Its items. Those of inline modules are modules of their own in [`SourceCrate::modules`].
    pub items: Vec<syn::Item>,
}

/// A function to be read.
#[derive(Clone, Copy, Debug)]
pub struct KernelRequest<'a> {
    /// Where its helpers and constants are looked up.
    pub krate: &'a SourceCrate,
    /// The module it stands in.
    pub module: &'a [String],
    /// The function.
    pub function: &'a syn::ItemFn,
    /// What its attribute says.
    pub attribute: &'a KernelAttribute,
    /// Its signature.
    pub signature: &'a KernelSignature,
}

/// A function that was read.
#[derive(Clone, Debug)]
pub struct Lifted {
    /// What it means.
    pub program: Program,
    /// The shape of every slice and array parameter, given or inferred, and of `return` for a
    /// function that returns a `Vec`.
    pub shapes: Vec<(String, Shape)>,
    /// Helpers and constants that were inlined: path and tokens, sorted by path.
    pub dependencies: Vec<(String, TokenStream)>,
    /// Pairs of leaves whose owners are exchanged after the kernel, in order: it does not do that
    /// itself.
    pub swaps: Vec<(String, String)>,
    /// Remarks for the user, such as an assumption that the guard will check.
    pub notes: Vec<String>,
}

/// Relations learnt at most: each reads the function again.
const MAX_PASSES: usize = 64;

/// Reads a function.
///
/// # Errors
/// If any part of it is outside what the engine understands; the refusal says where, why it
/// matters, and what to write instead.
#[expect(
    clippy::result_large_err,
    reason = "made once per function, and callers show all of it"
)]
pub fn lift(request: &KernelRequest<'_>) -> Result<Lifted, Unliftable> {
    let expanded = expand::expand(request.krate);
    let request = &KernelRequest {
        krate: expanded.as_ref().unwrap_or(request.krate),
        ..*request
    };
    let mut table = function::table(request);
    for _ in 0..MAX_PASSES {
        table.strides.clear();
        let mut reader = Reader::new(*request, table);
        let refinement = match reader.function() {
            Ok(()) => match reader.learn_from_reaches() {
                Some(refinement) => refinement,
                None => {
                    let wrong: Vec<usize> = reader
                        .optimistic
                        .iter()
                        .copied()
                        .filter(|dim| !reader.table.at_least_one(*dim))
                        .collect();
                    if wrong.is_empty() {
                        return finish::finish(reader);
                    }
                    table = reader.table;
                    table.plain.extend(wrong);
                    continue;
                }
            },
            Err(Interrupt::Refine(refinement)) => refinement,
            Err(Interrupt::Refuse(refusal)) => return Err(*refusal),
        };
        table = reader.table;
        table.apply(refinement);
    }
    Err(Unliftable {
        span: function::whole_span(request),
        message: "the lengths of the slices do not settle".to_owned(),
        why: "a kernel needs to know how the lengths of its slices relate".to_owned(),
        help: "write the shapes in the attribute: `shape(x = [rows, d], ..)`".to_owned(),
    })
}
