//! From the tokens of an annotated function to what replaces them.
//!
//! Owns the order of things and which attributes go where. Whatever is wrong, the function itself is
//! emitted, so that one mistake makes one message.

use pragma_spec::{Fingerprint, KernelAttribute, KernelSignature, SpecError, fingerprint};
use proc_macro2::{Delimiter, Group, Ident, Span, TokenStream};
use quote::{format_ident, quote};
use syn::ext::IdentExt;

use crate::artefact::{self, Artefacts, Kernel, Package};
use crate::dispatch::{dispatch, include_path};
use crate::harness::{self, Harness};
use crate::message;
use crate::source;
use crate::visibility::one_module_in;

/// Expands `#[pragma_kernel(attribute)] item`.
pub fn expand(attribute: TokenStream, item: TokenStream) -> TokenStream {
    let function: syn::ItemFn = match syn::parse2(item.clone()) {
        Ok(function) => function,
        Err(_) => {
            let error = message::error(
                Span::call_site(),
                "`#[pragma_kernel]` can only be used on functions with a body",
            );
            return quote!(#error #item);
        }
    };
    if function.sig.receiver().is_some() {
        // A method's siblings would have to be methods; the error says what to do.
        let error = KernelSignature::from_syn(&function.sig).err();
        let error = error.map(|error| syn::Error::from(error).to_compile_error());
        return quote!(#error #item);
    }
    match prepare(&attribute, &function) {
        Ok(Prepared::Kernel {
            attribute: parsed,
            sig,
        }) => kernel(
            &function,
            &parsed,
            &sig,
            &fingerprint(&attribute, &function),
        ),
        Ok(Prepared::Generic { instantiated: true }) => plain(&function),
        Ok(Prepared::Generic {
            instantiated: false,
        }) => {
            let name = &function.sig.ident;
            let text = format!(
                "`{name}` is generic and has no kernels: say which types to make them for, `instantiate(T = f32)`"
            );
            let warning = message::warning(name.span(), "pragma_kernel_is_generic", &text);
            let plain = plain(&function);
            quote!(#plain #warning)
        }
        Err(error) => {
            let error = syn::Error::from(error).to_compile_error();
            let plain = plain(&function);
            quote!(#error #plain)
        }
    }
}

enum Prepared {
    Kernel {
        attribute: Box<KernelAttribute>,
        sig: KernelSignature,
    },
    Generic {
        instantiated: bool,
    },
}

fn prepare(attribute: &TokenStream, function: &syn::ItemFn) -> Result<Prepared, SpecError> {
    let parsed = KernelAttribute::parse(attribute.clone())?;
    let generics = &function.sig.generics;
    if generics.type_params().next().is_some() || generics.const_params().next().is_some() {
        return Ok(Prepared::Generic {
            instantiated: !parsed.instantiate.is_empty(),
        });
    }
    let sig = KernelSignature::from_syn(&function.sig)?;
    parsed.validate(&sig)?;
    Ok(Prepared::Kernel {
        attribute: Box::new(parsed),
        sig,
    })
}

/// A function that is fit for kernels.
fn kernel(
    function: &syn::ItemFn,
    attribute: &KernelAttribute,
    sig: &KernelSignature,
    fingerprint: &Fingerprint,
) -> TokenStream {
    let name = &function.sig.ident;
    let runtime = match &attribute.crate_path {
        None => quote!(::pragma_runtime),
        Some(path) => path.parse().unwrap_or_else(|_| quote!(::pragma_runtime)),
    };
    let cfgs = cfgs(function);
    let tracking = harness::tracking();
    let tracking = quote!(#(#cfgs)* #tracking);
    let harness = Harness::current();
    if harness != Harness::Off {
        let plain = plain(function);
        if harness == Harness::Plain {
            return quote!(#plain #tracking);
        }
        let entry = harness::entry(name, sig, fingerprint, &quote!(#name), &runtime);
        return quote!(#plain #tracking #(#cfgs)* #entry);
    }
    let Some(package) = Package::current() else {
        return plain(function);
    };
    match artefact::find(&package, sig, fingerprint) {
        Err(error) => {
            let error = message::error(name.span(), &error.0);
            let plain = plain(function);
            quote!(#error #plain)
        }
        Ok(Artefacts::NoIndex) => {
            let warning = message::warning(
                name.span(),
                "pragma_is_not_set_up",
                "this package has no `pragma/index.toml`, so kernels would not be noticed: run `cargo pragma init`",
            );
            // `cargo pragma init` edits the manifest, and cargo cannot watch a file that does not exist.
            let cargo_toml = include_path("Cargo.toml");
            let plain = plain(function);
            quote! {
                #plain
                #tracking
                #(#cfgs)* #warning
                #(#cfgs)* const _: &[::core::primitive::u8] = ::core::include_bytes!(#cargo_toml);
            }
        }
        Ok(Artefacts::Index(kernels)) => {
            let files = std::iter::once("pragma/index.toml".to_owned()).chain(
                kernels
                    .iter()
                    .map(|kernel| format!("pragma/{}/manifest.toml", kernel.manifest.kernel)),
            );
            let files = files.map(|file| {
                let path = include_path(&file);
                quote!(#(#cfgs)* const _: &[::core::primitive::u8] = ::core::include_bytes!(#path);)
            });
            let stale = kernels
                .iter()
                .filter(|kernel| kernel.fresh.is_none())
                .map(|kernel| {
                    let warning = stale(name, kernel, &runtime);
                    quote!(#(#cfgs)* #warning)
                });
            let renamed = attribute.crate_path.is_some();
            let dispatch: TokenStream = kernels
                .iter()
                .map(|kernel| dispatch(kernel, sig, &runtime, renamed))
                .collect();
            let function = if dispatch.is_empty() {
                plain(function)
            } else {
                dispatched(function, sig, &dispatch)
            };
            quote! {
                #function
                #tracking
                #(#files)*
                #(#stale)*
            }
        }
    }
}

fn stale(name: &Ident, kernel: &Kernel, runtime: &TokenStream) -> TokenStream {
    let module = &kernel.manifest.module;
    let here = quote!(#runtime::dispatch::module_matches(::core::module_path!(), #module));
    let name_in_cli = name.unraw();
    let text = format!(
        "`{name}` has changed since its kernels were made, so they are not used: run `cargo pragma tune {name_in_cli}`"
    );
    message::warning_if(name.span(), &here, "is_stale", &text)
}

/// The function as written, and `NAME::reference`.
fn plain(function: &syn::ItemFn) -> TokenStream {
    let reference = &function.sig.ident;
    let module = reference_module(function, reference);
    quote!(#function #module)
}

/// The function with a new body, its old one as a sibling, and `NAME::reference`.
fn dispatched(
    function: &syn::ItemFn,
    sig: &KernelSignature,
    dispatch: &TokenStream,
) -> TokenStream {
    let reference = format_ident!("__pragma_reference_{}", function.sig.ident.unraw());
    let module = reference_module(function, &reference);
    let args = sig
        .params
        .iter()
        .map(|param| pragma_spec::codegen::param_ident(&param.name));

    let mut original = function.clone();
    original.attrs.retain(belongs_to_body);
    original.attrs.iter_mut().for_each(relax_expect);
    original.sig.ident = reference.clone();

    let mut shim = function.clone();
    // Inner attributes stand in the body, which is the reference's.
    shim.attrs
        .retain(|attr| matches!(attr.style, syn::AttrStyle::Outer));
    shim.attrs.iter_mut().for_each(relax_expect);
    shim.sig.inputs.iter_mut().for_each(|input| {
        if let syn::FnArg::Typed(typed) = input
            && let syn::Pat::Ident(pat) = &mut *typed.pat
        {
            // Only the reference changes its parameters.
            pat.mutability = None;
        }
    });
    let (attrs, vis, sig) = (&shim.attrs, &shim.vis, &shim.sig);
    // To lints and debuggers the function is where the user wrote it, to its last brace.
    let mut body = Group::new(
        Delimiter::Brace,
        quote! {
            #dispatch
            #reference(#(#args),*)
        },
    );
    body.set_span(function.block.brace_token.span.join());
    quote! {
        #(#attrs)* #vis #sig #body
        #[doc(hidden)]
        #[allow(dead_code, clippy::must_use_candidate, clippy::too_many_arguments)]
        #original
        #module
    }
}

/// `mod NAME { use super::IDENT as reference; }`, visible wherever the function is if that can be.
fn reference_module(function: &syn::ItemFn, reference: &Ident) -> TokenStream {
    let mut name = function.sig.ident.clone();
    name.set_span(Span::call_site());
    let mut reference = reference.clone();
    reference.set_span(Span::call_site());
    // `mod dot; pub use dot::dot;` imports everything of that name that it can see. It must not see a module
    // there, which would clash with the file's own.
    let file = source::file(function.sig.ident.span());
    let own_file = file.as_deref().and_then(source::module_of)
        == Some(function.sig.ident.unraw().to_string().as_str());
    let vis = if own_file {
        &syn::Visibility::Inherited
    } else {
        &function.vis
    };
    let inner = one_module_in(vis);
    let cfgs = cfgs(function);
    quote! {
        #(#cfgs)*
        #[doc(hidden)]
        #[allow(unused_imports)]
        #vis mod #name {
            #inner use super::#reference as reference;
        }
    }
}

/// The conditions under which the function exists; they hold for everything beside it.
fn cfgs(function: &syn::ItemFn) -> Vec<&syn::Attribute> {
    let attrs = function.attrs.iter();
    attrs.filter(|attr| attr.path().is_ident("cfg")).collect()
}

/// Whether an attribute of the function goes with its body when that moves to the reference.
fn belongs_to_body(attr: &syn::Attribute) -> bool {
    const BODY: [&str; 11] = [
        "cfg",
        "cfg_attr",
        "allow",
        "expect",
        "warn",
        "deny",
        "forbid",
        "inline",
        "cold",
        "track_caller",
        "target_feature",
    ];
    BODY.iter().any(|name| attr.path().is_ident(name))
}

/// Turns `expect` into `allow`: of a function in two parts, one may fulfil what the other does not.
fn relax_expect(attr: &mut syn::Attribute) {
    if let syn::Meta::List(list) = &mut attr.meta
        && list.path.is_ident("expect")
    {
        let span = list.path.segments[0].ident.span();
        list.path = Ident::new("allow", span).into();
    }
}
