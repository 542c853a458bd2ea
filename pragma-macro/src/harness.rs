//! What a harness build adds: an exported entry per annotated function.
//!
//! Owns the environment switch. While `PRAGMA_HARNESS` is set, kernels are left alone, so that a function
//! can be tuned whatever state they are in; with the value `1`, references are exported too.

use pragma_spec::{Fingerprint, KernelSignature, codegen, harness_symbol};
use proc_macro2::TokenStream;
use quote::quote;

use crate::source;

/// Whether this is a build for tuning.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Harness {
    /// An ordinary build.
    Off,
    /// Kernels are not looked at.
    Plain,
    /// Kernels are not looked at, and references are exported.
    Export,
}

impl Harness {
    /// As the environment says.
    pub fn current() -> Harness {
        match std::env::var_os("PRAGMA_HARNESS") {
            None => Harness::Off,
            Some(value) if value.is_empty() => Harness::Off,
            Some(value) if value == "1" => Harness::Export,
            Some(_) => Harness::Plain,
        }
    }
}

/// Makes cargo rebuild the crate when the switch changes.
pub fn tracking() -> TokenStream {
    quote! {
        const _: ::core::option::Option<&'static ::core::primitive::str> = ::core::option_env!("PRAGMA_HARNESS");
    }
}

/// The exported entry of `function`, which calls `reference`.
pub fn entry(
    function: &syn::Ident,
    sig: &KernelSignature,
    fingerprint: &Fingerprint,
    reference: &TokenStream,
    runtime: &TokenStream,
) -> TokenStream {
    let (file_name, line, column) = source::place(function.span());
    let symbol = harness_symbol(function, fingerprint, &file_name, line, column);
    let args = sig
        .params
        .iter()
        .map(|param| codegen::param_ident(&param.name));
    // A parameter may have the function's name.
    let call = quote!(self::#reference(#(#args),*));
    let entry = codegen::harness_entry(&symbol, sig, runtime, &call);
    quote! {
        const _: () = { #entry };
    }
}
