//! The statements that call a function's kernels.
//!
//! Owns the order of decisions: module, CPU tier, types, leaves, shape guard, size bucket, kernel or reference. Reading
//! leaves, the guard itself and the call are shared with the tool, in `pragma_spec`.

use pragma_spec::form::SignatureForm;
use pragma_spec::{
    Artefact, Manifest, Target, TargetOutcome, Variant,
    codegen::{self, KernelCall, Reading},
};
use proc_macro2::{Ident, Literal, Span, TokenStream};
use quote::quote;
use syn::ext::IdentExt;

use crate::artefact::{Fresh, Kernel};

/// Statements that return a kernel's result if one fits, and otherwise fall through.
///
/// `generics` are the function's own.
pub fn dispatch(
    kernel: &Kernel,
    generics: &syn::Generics,
    runtime: &TokenStream,
    renamed: bool,
) -> TokenStream {
    let Some(fresh) = &kernel.fresh else {
        return TokenStream::new();
    };
    let manifest = &kernel.manifest;
    let usable = |target| {
        let artefact = manifest.artefact(target)?;
        (artefact.outcome == TargetOutcome::Tuned).then_some(artefact)
    };
    let (v3, v4) = (usable(Target::X86_64V3), usable(Target::X86_64V4));
    if v3.is_none() && v4.is_none() {
        return TokenStream::new();
    }
    let leave = quote!(break 'pragma);
    let reading = codegen::read_leaves(&fresh.sig, &manifest.interface.swaps, runtime, &leave);
    // Where a target was tried and the reference won, the weaker target does not get a turn.
    let v4_decided = manifest
        .artefact(Target::X86_64V4)
        .is_some_and(|artefact| artefact.outcome != TargetOutcome::Unproven);
    let modules = [v3, v4]
        .into_iter()
        .flatten()
        .map(|artefact| module(manifest, artefact, runtime, renamed));
    let call = |artefact: Option<&Artefact>| match artefact {
        Some(artefact) => buckets(manifest, artefact, fresh, &reading, (runtime, &leave)),
        None => TokenStream::new(),
    };
    let mut arms = TokenStream::new();
    let tier = quote!(#runtime::tier::Tier);
    if v4_decided {
        let (v3, v4) = (call(v3), call(v4));
        arms.extend(quote! {
            #tier::V4 => { #v4 }
            #tier::V3 => { #v3 }
        });
    } else {
        let v3 = call(v3);
        arms.extend(quote!(#tier::V4 | #tier::V3 => { #v3 }));
    }
    let module_path = &manifest.module;
    let types = types_fit(&fresh.sig.form, generics, runtime);
    // Kernels wrap where a build with debug assertions panics.
    let overflow = manifest
        .interface
        .overflow_checked_in_debug
        .then(|| quote!(if ::core::cfg!(debug_assertions) { #leave; }));
    let test = fresh.guard.to_tokens();
    let dims = codegen::dims_pattern(&fresh.guard);
    let total = codegen::total_elements(&fresh.sig);
    let before = &reading.before;
    quote! {
        #[cfg(target_arch = "x86_64")]
        'pragma: {
            #(#modules)*
            // An equal function of another module is another kernel's business: its helpers may differ.
            const __PRAGMA_HERE: ::core::primitive::bool =
                #runtime::dispatch::module_matches(::core::module_path!(), #module_path);
            let __pragma_tier = #runtime::tier::tier();
            if !__PRAGMA_HERE || ::core::matches!(__pragma_tier, #tier::Reference) #types {
                #leave;
            }
            #overflow
            #before
            let ::core::option::Option::Some(#dims) = #test else { #leave };
            let __pragma_total: ::core::primitive::usize = #total;
            match __pragma_tier {
                #arms
                _ => {}
            }
        }
    }
}

/// `|| !..` for everything that must hold of the types at hand, known when the function is compiled for them.
fn types_fit(form: &SignatureForm, generics: &syn::Generics, runtime: &TokenStream) -> TokenStream {
    let mut out = TokenStream::new();
    let parse = |text: &str| -> TokenStream {
        text.parse().unwrap_or_else(|_| quote!(__pragma_not_a_type))
    };
    if let Some(owner) = &form.owner {
        let owner = parse(owner);
        out.extend(quote!(|| !#runtime::dispatch::type_is::<Self, #owner>()));
    }
    // The parameters of an impl show in `Self`.
    for param in &generics.params {
        let (ident, is_const) = match param {
            syn::GenericParam::Lifetime(_) => continue,
            syn::GenericParam::Type(param) => (&param.ident, false),
            syn::GenericParam::Const(param) => (&param.ident, true),
        };
        let value = form.instance.get(&ident.unraw().to_string());
        let value = parse(value.unwrap_or_default());
        out.extend(if is_const {
            quote!(|| #ident != { #value })
        } else {
            quote!(|| !#runtime::dispatch::type_is::<#ident, #value>())
        });
    }
    if let Some(fits) = codegen::layouts_fit(form, runtime) {
        out.extend(quote!(|| !#fits));
    }
    out
}

fn module_name(target: Target) -> Ident {
    let name = format!("__pragma_{}", target.name().replace('-', "_"));
    Ident::new(&name, Span::call_site())
}

/// The kernels of one target, from their file.
fn module(
    manifest: &Manifest,
    artefact: &Artefact,
    runtime: &TokenStream,
    renamed: bool,
) -> TokenStream {
    let name = module_name(artefact.target);
    let file = include_path(&format!(
        "pragma/{}/{}",
        manifest.kernel,
        artefact.target.file_name()
    ));
    // Kernel files say `pragma_runtime`, whatever the user's crate calls it.
    let alias = renamed.then(|| quote!(use #runtime as pragma_runtime;));
    quote! {
        // The file is the user's in the eyes of lints, and not the user's to improve.
        #[allow(
            warnings, unused, nonstandard_style, unsafe_code, unreachable_pub, unused_qualifications, missing_docs,
            trivial_casts, trivial_numeric_casts, unused_results, unsafe_op_in_unsafe_fn,
            clippy::all, clippy::pedantic, clippy::nursery, clippy::restriction
        )]
        mod #name {
            #alias
            ::core::include!(#file);
        }
    }
}

/// An expression for the path of a file in the package.
pub fn include_path(path: &str) -> TokenStream {
    let path = format!("/{path}");
    quote!(::core::concat!(::core::env!("CARGO_MANIFEST_DIR"), #path))
}

/// The kernel for the number of elements, or nothing where the reference is best.
fn buckets(
    manifest: &Manifest,
    artefact: &Artefact,
    fresh: &Fresh,
    reading: &Reading,
    (runtime, leave): (&TokenStream, &TokenStream),
) -> TokenStream {
    let module = module_name(artefact.target);
    let run = |variant: &Variant| {
        if variant.entry == "reference" {
            return TokenStream::new();
        }
        let entry = codegen::param_ident(&variant.entry);
        // SAFETY (of the emitted code): the tier says that the CPU has the features of the target, and the
        // guard has accepted the arguments; the kernel was verified for exactly these.
        let call = KernelCall {
            path: &quote!(#module::#entry),
            sig: &fresh.sig,
            guard: &fresh.guard,
            shapes: &manifest.shapes,
            declines: manifest.interface.declines,
        };
        codegen::run_and_return(&call, &reading.after, runtime, leave)
    };
    let mut tokens = TokenStream::new();
    for variant in artefact.variants.iter().rev() {
        let run = run(variant);
        tokens = match variant.max_elements {
            None => run,
            Some(max) => {
                let max = Literal::u64_unsuffixed(max);
                quote! {
                    if __pragma_total <= #max { #run } else { #tokens }
                }
            }
        };
    }
    tokens
}
