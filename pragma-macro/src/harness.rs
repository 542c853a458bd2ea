//! What a harness build adds: an exported entry per annotated function and instance.
//!
//! Owns the environment switches. While `PRAGMA_HARNESS` is set, kernels are left alone, so that a function
//! can be tuned whatever state they are in; with the value `1`, references are exported too. `PRAGMA_HARNESS_FORMS`
//! names a file of the tool's with the forms of functions whose types only the tool can see.

use pragma_spec::form::{HARNESS_FORMS, HarnessForm, HarnessForms, Instance};
use pragma_spec::{Fingerprint, KernelSignature, codegen, harness_symbol};
use proc_macro2::TokenStream;
use quote::quote;
use syn::ext::IdentExt;

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

/// The exported entries of `function`, as far as its signatures are known here or to the tool.
///
/// # Errors
/// If the tool's file cannot be read; the text says why.
pub fn entries(
    function: &syn::ItemFn,
    signatures: &[(Instance, Option<KernelSignature>)],
    fingerprint: &Fingerprint,
    runtime: &TokenStream,
) -> Result<TokenStream, String> {
    let ident = &function.sig.ident;
    let (file_name, line, column) = source::place(ident.span());
    let base = harness_symbol(ident, fingerprint, &file_name, line, column);
    let forms = forms()?;
    let told: Vec<&HarnessForm> = forms.of(&base).collect();
    let mut out = TokenStream::new();
    for record in &told {
        let sig = KernelSignature::from_form(ident.unraw().to_string(), record.form.clone())
            .map_err(|name| format!("the harness describes two parameters called `{name}`"))?;
        let callee = callee(function, &sig);
        let entry = codegen::reference_entry(&record.symbol, &sig, &callee, &record.made, runtime);
        let symbol = format!("{}_made", record.symbol);
        let made = codegen::made_entry(&symbol, &sig, &record.made, runtime);
        out.extend(quote!(const _: () = { #entry #made };));
    }
    if told.is_empty()
        && let [(_, Some(sig))] = signatures
    {
        let entry = codegen::reference_entry(&base, sig, &callee(function, sig), &[], runtime);
        out.extend(quote!(const _: () = { #entry };));
    }
    Ok(out)
}

fn forms() -> Result<HarnessForms, String> {
    let Some(path) = std::env::var_os(HARNESS_FORMS) else {
        return Ok(HarnessForms::default());
    };
    let path = std::path::PathBuf::from(path);
    let text = std::fs::read_to_string(&path)
        .map_err(|error| format!("cannot read `{}`: {error}", path.display()))?;
    HarnessForms::parse(&text).map_err(|error| format!("`{}`: {error}", path.display()))
}

/// The function as a path, from an item in its module or its body.
fn callee(function: &syn::ItemFn, sig: &KernelSignature) -> TokenStream {
    let ident = &function.sig.ident;
    let parse = |text: &str| -> TokenStream {
        text.parse().unwrap_or_else(|_| quote!(__pragma_not_a_type))
    };
    let values: Vec<TokenStream> = function
        .sig
        .generics
        .params
        .iter()
        .filter_map(|param| {
            let name = match param {
                syn::GenericParam::Lifetime(_) => return None,
                syn::GenericParam::Type(param) => &param.ident,
                syn::GenericParam::Const(param) => &param.ident,
            };
            let value = sig.form.instance.get(&name.unraw().to_string());
            let value = parse(value.unwrap_or("_"));
            Some(match param {
                syn::GenericParam::Const(_) => quote!({ #value }),
                _ => value,
            })
        })
        .collect();
    let turbofish = (!values.is_empty()).then(|| quote!(::<#(#values),*>));
    match &sig.form.owner {
        // A parameter may have the function's name.
        None => quote!(self::#ident #turbofish),
        Some(owner) => {
            let owner = parse(owner);
            quote!(#owner::#ident #turbofish)
        }
    }
}
