//! Tokens that the macro and the tool emit alike: decoding harness arguments and calling a kernel.
//!
//! Owns the shape of the code around a kernel. A kernel is called here exactly as it is in production, so
//! that what was verified is what runs.
//!
//! A kernel is an `unsafe fn` that takes the dimensions of the guard in order, then the parameters that are not among
//! them (slices, arrays as slices, scalars), then a `&mut [MaybeUninit<T>]` for each returned `Vec`. It returns the
//! scalars: `()`, one, or a tuple; in an `Option` if it can decline. 16-bit floats come and go as `u16`.

mod empty;
mod encode;
mod harness;
mod layout;
mod made;
mod make;
mod read;
mod reference;

use proc_macro2::{Delimiter, Ident, Span, TokenStream, TokenTree};
use quote::{format_ident, quote};

use crate::form::{Elements, Form, ReturnedKind, SignatureForm};
pub use crate::guard::param_ident;
use crate::guard::{dim_ident, plain_tokens};
use crate::{Guard, KernelSignature, ParamKind, ParamSig, Scalar, Shape};
pub use harness::{candidate_entry, candidate_into_entry};
pub use made::made_entry;
pub use make::run_and_return;
pub use read::{Reading, needs_mut, read_leaves};
pub use reference::reference_entry;

/// A kernel and what is needed to call it.
#[derive(Clone, Copy, Debug)]
pub struct KernelCall<'a> {
    /// Its path in the emitted code.
    pub path: &'a TokenStream,
    /// The signature that it is for.
    pub sig: &'a KernelSignature,
    /// How its dimensions follow from the arguments.
    pub guard: &'a Guard,
    /// The shapes behind the guard, with that of each returned `Vec`.
    pub shapes: &'a [(String, Shape)],
    /// Whether it can decline, so that the reference must run after all.
    pub declines: bool,
}

/// A scalar type as kernels take it.
pub fn kernel_type(scalar: Scalar) -> TokenStream {
    let name = match scalar {
        Scalar::F16 | Scalar::Bf16 => "u16",
        other => other.name(),
    };
    let name = Ident::new(name, Span::call_site());
    quote!(::core::primitive::#name)
}

/// Whether every record that is an element of something lies in memory as the leaves assume: an expression of type
/// `bool` that is constant once compiled. `None` if there are no such records.
pub fn layouts_fit(form: &SignatureForm, runtime: &TokenStream) -> Option<TokenStream> {
    layout::layouts_fit(form, runtime)
}

/// The type of an element in emitted code; one that nothing has for what is none.
fn type_tokens(form: &Form) -> TokenStream {
    form.type_text()
        .map_or_else(nothing, |text| path_tokens(&text))
}

/// The tokens of a path or type that a form holds.
fn path_tokens(text: &str) -> TokenStream {
    text.parse().unwrap_or_else(|_| nothing())
}

/// What a damaged manifest's types become, so that the compiler and not a panic reports them.
fn nothing() -> TokenStream {
    quote!(__pragma_not_a_type)
}

/// The path of a struct literal whose generic arguments are inferred.
fn literal_path(path: &str) -> TokenStream {
    match path.split_once("::<") {
        Some((head, _)) => path_tokens(head),
        None => path_tokens(path),
    }
}

/// A field, variant or tuple index.
fn field_ident(name: &str) -> TokenStream {
    match name.parse::<u32>() {
        Ok(index) => {
            let index = proc_macro2::Literal::u32_unsuffixed(index);
            quote!(#index)
        }
        Err(_) => {
            let ident = param_ident(name);
            quote!(#ident)
        }
    }
}

/// The numbers in `[elem; len]`.
fn array_count(len: u64, elem: &Form) -> proc_macro2::Literal {
    let count = match Elements::of(elem) {
        Some(Elements::Numbers(_, inner)) => inner.iter().product::<u64>(),
        _ => 1,
    };
    proc_macro2::Literal::u64_unsuffixed(len.saturating_mul(count))
}

/// An expression that may stand before an `else`.
fn before_else(value: TokenStream) -> TokenStream {
    let last = value.clone().into_iter().last();
    match last {
        Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace => quote!((#value)),
        _ => value,
    }
}

/// A name of the emitted code's own.
fn own(name: &str) -> Ident {
    Ident::new(name, Span::call_site())
}

/// The pattern that takes the dimensions out of what [`Guard::to_tokens`] yields.
pub fn dims_pattern(guard: &Guard) -> TokenStream {
    let dims = guard.dims.iter().map(|dim| dim_ident(dim));
    quote!([#(#dims),*])
}

impl KernelCall<'_> {
    /// An expression that calls the kernel with the parameters and the variables of [`dims_pattern`] in scope, and the
    /// values of `outputs` for the returned `Vec`s; of the type that the kernel has.
    ///
    /// The emitted `unsafe` is sound only where the CPU has the features of the kernel's target and the guard has
    /// accepted the arguments.
    fn raw(&self, outputs: &[TokenStream]) -> TokenStream {
        let path = self.path;
        let dims = self.guard.dims.iter().map(|dim| dim_ident(dim));
        let params = self
            .sig
            .params
            .iter()
            .filter(|param| self.passes(param))
            .map(|param| {
                let name = param_ident(&param.name);
                match param.kind {
                    ParamKind::Array { by_value: true, .. } => quote!(&#name),
                    _ => quote!(#name),
                }
            });
        quote!(unsafe { #path(#(#dims,)* #(#params,)* #(#outputs),*) })
    }

    /// Whether the kernel takes the parameter itself: not if it is a dimension, or a shape says what it is.
    fn passes(&self, param: &ParamSig) -> bool {
        let known = || self.shapes.iter().any(|(name, _)| *name == param.name);
        param.kind.is_buffer() || !(self.guard.dims.contains(&param.name) || known())
    }

    /// The length of every returned `Vec`, with the dimensions in scope.
    fn lengths(&self) -> Vec<TokenStream> {
        let returned = self.sig.returned();
        let vecs = returned
            .iter()
            .filter(|value| matches!(value.kind, ReturnedKind::Vec(_)));
        vecs.map(|value| {
            let shape = self.shapes.iter().find(|(name, _)| *name == value.name);
            match shape {
                Some((_, shape)) => plain_tokens(&shape.len()),
                None if value.fixed => {
                    let len = value.inner.iter().product::<u64>();
                    let len = proc_macro2::Literal::u64_unsuffixed(len);
                    quote!(#len)
                }
                // The tool never writes such a manifest.
                None => quote!(0),
            }
        })
        .collect()
    }
}

/// An expression of the flat return type that calls the kernel, with the parameters and the variables of
/// [`dims_pattern`] in scope: `()`, the value, or a tuple of all values in order; in an `Option` if the kernel can
/// decline.
///
/// The emitted `unsafe` is sound only where the CPU has the features of the kernel's target and the guard
/// has accepted the arguments.
pub fn call_kernel(call: &KernelCall<'_>) -> TokenStream {
    let kinds = call.sig.returns.kinds();
    let vecs: Vec<Scalar> = kinds
        .iter()
        .filter_map(|kind| match kind {
            ReturnedKind::Vec(scalar) => Some(*scalar),
            ReturnedKind::Scalar(_) => None,
        })
        .collect();
    if vecs.is_empty() {
        return call.raw(&[]);
    }
    let outs: Vec<Ident> = (0..vecs.len())
        .map(|i| format_ident!("__pragma_out_{i}"))
        .collect();
    let lens: Vec<Ident> = (0..vecs.len())
        .map(|i| format_ident!("__pragma_len_{i}"))
        .collect();
    let lengths = call.lengths();
    let elems = vecs.iter().map(|scalar| kernel_type(*scalar));
    let spare = outs.iter().zip(&lens);
    let spare: Vec<TokenStream> = spare
        .map(|(out, len)| quote!(&mut #out.spare_capacity_mut()[..#len]))
        .collect();
    let run = call.raw(&spare);
    let scalars = own("__pragma_scalars");
    let values = flat_values(&kinds, &outs, &scalars);
    let value = match &values[..] {
        [one] => quote!(#one),
        many => quote!((#(#many),*)),
    };
    // SAFETY (of the emitted code): a kernel writes every element of the buffers it returns, unless it declines.
    let run = if call.declines {
        quote! {
            match #run {
                ::core::option::Option::Some(#scalars) => {
                    #(unsafe { #outs.set_len(#lens); })*
                    ::core::option::Option::Some(#value)
                }
                ::core::option::Option::None => ::core::option::Option::None,
            }
        }
    } else {
        quote! {
            let #scalars = #run;
            #(unsafe { #outs.set_len(#lens); })*
            #value
        }
    };
    quote! {{
        #(
            let #lens: ::core::primitive::usize = #lengths;
            let mut #outs = ::std::vec::Vec::<#elems>::with_capacity(#lens);
        )*
        #run
    }}
}

/// The values in order: vectors from `outs`, scalars out of `scalars`, what a kernel returned.
fn flat_values(kinds: &[ReturnedKind], outs: &[Ident], scalars: &Ident) -> Vec<TokenStream> {
    let count = kinds
        .iter()
        .filter(|kind| matches!(kind, ReturnedKind::Scalar(_)))
        .count();
    let (mut scalar, mut vec) = (0, outs.iter());
    let value = |kind: &ReturnedKind| match kind {
        ReturnedKind::Vec(_) => vec.next().map_or_else(|| quote!(()), |out| quote!(#out)),
        ReturnedKind::Scalar(_) if count == 1 => quote!(#scalars),
        ReturnedKind::Scalar(_) => {
            let index = syn::Index::from(scalar);
            scalar += 1;
            quote!(#scalars.#index)
        }
    };
    kinds.iter().map(value).collect()
}

/// The number of elements over all slice parameters, which size buckets go by.
pub fn total_elements(sig: &KernelSignature) -> TokenStream {
    let lens = sig
        .params
        .iter()
        .filter(|param| matches!(param.kind, ParamKind::Slice { .. }))
        .map(|param| {
            let name = param_ident(&param.name);
            quote!(.saturating_add(#name.len()))
        });
    quote!(0usize #(#lens)*)
}
