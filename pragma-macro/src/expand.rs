//! From the tokens of an annotated function to what replaces them.
//!
//! Owns the order of things. Whatever is wrong, the function itself is emitted, so that one mistake makes one message.

use std::collections::BTreeSet;

use pragma_spec::form::{FlattenPlace, Instance, NoTypes};
use pragma_spec::{Fingerprint, KernelAttribute, KernelSignature, SpecError, fingerprint};
use proc_macro2::{Ident, Span, TokenStream};
use quote::quote;
use syn::ext::IdentExt;

use crate::artefact::{self, Artefacts, Kernel, Package, Wanted};
use crate::dispatch::{dispatch, include_path};
use crate::harness::{self, Harness};
use crate::message;
use crate::shim::{self, Beside};

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
    match prepare(&attribute, &function) {
        Ok(Some(prepared)) => kernel(&function, &prepared, &fingerprint(&attribute, &function)),
        Ok(None) => {
            let name = &function.sig.ident;
            let text = format!(
                "`{name}` is generic and has no kernels: say which types to make them for, `instantiate(T = f32)`"
            );
            let warning = message::warning(name.span(), "pragma_kernel_is_generic", &text);
            shim::plain(&function, Beside::both(warning))
        }
        Err(error) => failed(&function, syn::Error::from(error).to_compile_error()),
    }
}

/// The function itself and an error.
fn failed(function: &syn::ItemFn, error: TokenStream) -> TokenStream {
    shim::plain(
        function,
        Beside {
            inside: TokenStream::new(),
            outside: error,
        },
    )
}

/// What is known of a function before its kernels are looked for.
struct Prepared {
    attribute: KernelAttribute,
    /// Per instance: the signature, where the function shows it.
    signatures: Vec<(Instance, Option<KernelSignature>)>,
}

/// `None` if the function is generic and nothing says for which types kernels are wanted.
fn prepare(attribute: &TokenStream, function: &syn::ItemFn) -> Result<Option<Prepared>, SpecError> {
    let parsed = KernelAttribute::parse(attribute.clone())?;
    let generics = &function.sig.generics;
    let generic =
        generics.type_params().next().is_some() || generics.const_params().next().is_some();
    if generic && parsed.instantiate.is_empty() {
        return Ok(None);
    }
    let none = BTreeSet::new();
    let mut signatures = Vec::new();
    for instance in parsed.instances() {
        let place = FlattenPlace {
            module: &[],
            owner: None,
            instance: &instance,
            lookup: &NoTypes,
            written: &none,
            unread: &none,
        };
        match KernelSignature::flatten(&function.sig, &place) {
            Ok(sig) => {
                // Constants of the crate are known to the tool only.
                parsed.resolve(&sig, &|_| None)?;
                signatures.push((instance, Some(sig)));
            }
            Err(error) if error.needs_types => signatures.push((instance, None)),
            Err(error) => return Err(error),
        }
    }
    Ok(Some(Prepared {
        attribute: parsed,
        signatures,
    }))
}

/// A function that is fit for kernels.
fn kernel(function: &syn::ItemFn, prepared: &Prepared, fingerprint: &Fingerprint) -> TokenStream {
    let name = &function.sig.ident;
    let runtime = match &prepared.attribute.crate_path {
        None => quote!(::pragma_runtime),
        Some(path) => path.parse().unwrap_or_else(|_| quote!(::pragma_runtime)),
    };
    let tracking = harness::tracking();
    let harness = Harness::current();
    if harness != Harness::Off {
        let mut inside = tracking;
        if harness == Harness::Export {
            match harness::entries(function, &prepared.signatures, fingerprint, &runtime) {
                Ok(entries) => inside.extend(entries),
                Err(text) => return failed(function, message::error(name.span(), &text)),
            }
        }
        return shim::plain(function, Beside::both(inside));
    }
    let Some(package) = Package::current() else {
        return shim::plain(function, Beside::both(TokenStream::new()));
    };
    let name_text = name.unraw().to_string();
    let wanted = Wanted {
        name: &name_text,
        fingerprint,
        sig: match &prepared.signatures[..] {
            [(_, sig)] => sig.as_ref(),
            _ => None,
        },
    };
    match artefact::find(&package, &wanted) {
        Err(error) => failed(function, message::error(name.span(), &error.0)),
        Ok(Artefacts::NoIndex) => {
            let warning = message::warning(
                name.span(),
                "pragma_is_not_set_up",
                "this package has no `pragma/index.toml`, so kernels would not be noticed: run `cargo pragma init`",
            );
            // `cargo pragma init` edits the manifest, and cargo cannot watch a file that does not exist.
            let cargo_toml = include_path("Cargo.toml");
            shim::plain(
                function,
                Beside::both(quote! {
                    #tracking
                    #warning
                    const _: &[::core::primitive::u8] = ::core::include_bytes!(#cargo_toml);
                }),
            )
        }
        Ok(Artefacts::Index(kernels)) => {
            let files = std::iter::once("pragma/index.toml".to_owned()).chain(
                kernels
                    .iter()
                    .map(|kernel| format!("pragma/{}/manifest.toml", kernel.manifest.kernel)),
            );
            let files = files.map(|file| {
                let path = include_path(&file);
                quote!(
                    const _: &[::core::primitive::u8] = ::core::include_bytes!(#path);
                )
            });
            let stale = stale_kernels(&kernels, function);
            let stale = stale
                .iter()
                .map(|kernel| stale_warning(name, kernel, &runtime));
            let beside = Beside::both(quote! {
                #tracking
                #(#files)*
                #(#stale)*
            });
            let renamed = prepared.attribute.crate_path.is_some();
            let dispatch: TokenStream = kernels
                .iter()
                .map(|kernel| dispatch(kernel, &function.sig.generics, &runtime, renamed))
                .collect();
            if dispatch.is_empty() {
                shim::plain(function, beside)
            } else {
                let forms = kernels.iter().filter_map(|kernel| kernel.fresh.as_ref());
                let form = forms.map(|fresh| &fresh.sig.form).next();
                shim::dispatched(function, form, &dispatch, beside)
            }
        }
    }
}

/// The kernels that were this function's and are not any more, one per module.
///
/// A method's name may be that of another type's method in the same module, which is another function: of these, only
/// what has the same parameters may be this one, and only if nothing else is.
fn stale_kernels<'a>(kernels: &'a [Kernel], function: &syn::ItemFn) -> Vec<&'a Kernel> {
    let any_fresh = kernels.iter().any(|kernel| kernel.fresh.is_some());
    let mut stale: Vec<&Kernel> = Vec::new();
    for kernel in kernels.iter().filter(|kernel| kernel.fresh.is_none()) {
        let form = kernel.manifest.interface.form.as_ref();
        let is_method = form.is_some_and(|form| form.owner.is_some());
        if is_method != function.sig.receiver().is_some() {
            continue;
        }
        if let Some(form) = form.filter(|_| is_method)
            && (any_fresh || form.params.len() != function.sig.inputs.len())
        {
            continue;
        }
        let module = &kernel.manifest.module;
        if !stale.iter().any(|known| known.manifest.module == *module) {
            stale.push(kernel);
        }
    }
    stale
}

fn stale_warning(name: &Ident, kernel: &Kernel, runtime: &TokenStream) -> TokenStream {
    let module = &kernel.manifest.module;
    let here = quote!(#runtime::dispatch::module_matches(::core::module_path!(), #module));
    let name_in_cli = name.unraw();
    let text = format!(
        "`{name}` has changed since its kernels were made, so they are not used: run `cargo pragma tune {name_in_cli}`"
    );
    message::warning_if(name.span(), &here, "is_stale", &text)
}
