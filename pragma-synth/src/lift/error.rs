//! Refusals: why a function could not be read, where, and what to write instead.
//!
//! Owns the error types only; the wording stands where each refusal is made.

use proc_macro2::Span;

use super::shapes::Refinement;

/// A stretch of source: lines count from 1, columns from 0, in characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceSpan {
    /// The file, as [`super::SourceModule::file`] names it.
    pub file: String,
    /// Line and column of the first character.
    pub start: (usize, usize),
    /// Line and column after the last character.
    pub end: (usize, usize),
}

impl SourceSpan {
    /// The place of `span` in `file`.
    pub fn new(file: &str, span: Span) -> Self {
        let (start, end) = (span.start(), span.end());
        SourceSpan {
            file: file.to_owned(),
            start: (start.line, start.column),
            end: (end.line, end.column),
        }
    }
}

/// Why a function cannot be read into the IR. Not a defect of the function: it stays with the
/// other engines, or with its reference.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}:{}:{}: {message}", span.file, span.start.0, span.start.1 + 1)]
pub struct Unliftable {
    /// The smallest stretch of source that was not understood.
    pub span: SourceSpan,
    /// What was not understood, in one line.
    pub message: String,
    /// Why that matters.
    pub why: String,
    /// The smallest rewrite that helps.
    pub help: String,
}

/// What ends a pass over the function early.
#[derive(Clone, Debug)]
pub(super) enum Interrupt {
    /// It cannot be read.
    Refuse(Box<Unliftable>),
    /// A length was learnt: read the function again knowing it.
    Refine(Refinement),
}

/// The result of reading a piece of the function.
pub(super) type Lift<T> = Result<T, Interrupt>;
