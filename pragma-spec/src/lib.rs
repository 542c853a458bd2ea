//! The words that all Pragma crates share.
//!
//! Owns the attribute grammar, signatures and their forms, shapes, targets, kernel ids, fingerprints and the
//! manifest format. Does no I/O: callers hand in text and tokens and get values back.
#![forbid(unsafe_code)]

mod attribute;
mod attribute_grammar;
mod attribute_inputs;
mod attribute_resolve;
mod canonical;
pub mod codegen;
pub mod device;
mod dim;
mod error;
mod fingerprint;
pub mod form;
mod guard;
mod index;
mod kernel_id;
mod manifest;
mod record;
mod scalar;
mod sha256;
mod signature;
mod suggest;
mod target;

pub use attribute::{Accuracy, InputSpec, KernelAttribute, TargetSet, TuneSize, dims_of};
pub use attribute_inputs::{Condition, OffsetBase, Relation};
pub use canonical::canonical_tokens;
pub use dim::{DimExpr, InvalidShape, Shape};
pub use error::SpecError;
pub use fingerprint::{
    Fingerprint, InvalidFingerprint, canonical_text, dependency_hash, fingerprint, harness_symbol,
    text_sha256,
};
pub use guard::{Guard, GuardError, GuardParam, GuardStep, Quantity};
pub use index::{INDEX_FORMAT, Index, IndexEntry, IndexError};
pub use kernel_id::{InvalidKernelId, KernelId};
pub use manifest::{
    Artefact, Authorship, Interface, MANIFEST_FORMAT, Manifest, ManifestError, TargetOutcome,
    Variant, VerificationRecord,
};
pub use record::RecordError;
pub use scalar::{Scalar, UnknownScalar};
pub use signature::{KernelSignature, ParamKind, ParamSig, ReturnSig};
pub use target::{Target, UnknownTarget};
