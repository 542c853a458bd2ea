//! The functions that a harness build and a candidate export.
//!
//! Owns the way from raw arguments to a call and back. All of them have the harness ABI of the runtime.

use proc_macro2::{Ident, Span, TokenStream};
use quote::quote;

use super::{KernelCall, call_kernel, dims_pattern, kernel_type, own, param_ident};
use crate::form::ReturnedKind;
use crate::{KernelSignature, ParamKind, ParamSig, ReturnSig};

/// The harness function's own parameters, which must not meet those of the user's function.
pub(super) const ARGS: &str = "__pragma_args";
const COUNT: &str = "__pragma_count";
pub(super) const RET: &str = "__pragma_ret";

/// One `let` per parameter, which takes it from `__pragma_args: *const RawArg`.
///
/// The statements belong into a function of the harness ABI: they trust the arguments to fit the signature.
fn decode<'a>(params: impl Iterator<Item = &'a ParamSig>, runtime: &TokenStream) -> TokenStream {
    let args = own(ARGS);
    let lets = params.enumerate().map(|(i, param)| {
        let name = param_ident(&param.name);
        let elem = kernel_type(param.kind.elem());
        let harness = quote!(#runtime::harness);
        // SAFETY (of the emitted code): the worker passes one argument per parameter, of its type.
        match param.kind {
            ParamKind::Scalar(_) => {
                quote!(let #name = unsafe { #harness::scalar::<#elem>(#args, #i) };)
            }
            ParamKind::Slice { mutable: false, .. } => {
                quote!(let #name = unsafe { #harness::slice::<#elem>(#args, #i) };)
            }
            ParamKind::Slice { mutable: true, .. } => {
                quote!(let #name = unsafe { #harness::slice_mut::<#elem>(#args, #i) };)
            }
            ParamKind::Array {
                len,
                mutable,
                by_value,
                ..
            } => {
                let len = proc_macro2::Literal::u64_unsuffixed(len);
                match (mutable, by_value) {
                    (true, _) => {
                        quote!(let #name = unsafe { #harness::array_mut::<#elem, #len>(#args, #i) };)
                    }
                    (false, true) => {
                        quote!(let #name = *unsafe { #harness::array::<#elem, #len>(#args, #i) };)
                    }
                    (false, false) => {
                        quote!(let #name = unsafe { #harness::array::<#elem, #len>(#args, #i) };)
                    }
                }
            }
        }
    });
    quote!(#(#lets)*)
}

/// Statements that hand `value`, an expression of the flat return type, to `__pragma_ret: *const RawReturn`.
fn encode_return(sig: &KernelSignature, runtime: &TokenStream, value: &TokenStream) -> TokenStream {
    let kinds = sig.returns.kinds();
    if kinds.is_empty() {
        return quote!(#value;);
    }
    let single = matches!(sig.returns, ReturnSig::Scalar(_) | ReturnSig::Vec(_));
    let hand_over = kinds.iter().enumerate().map(|(i, kind)| {
        let field = syn::Index::from(i);
        let place = if single {
            quote!(__pragma_value)
        } else {
            quote!(__pragma_value.#field)
        };
        return_value(*kind, i, &place, runtime)
    });
    quote! {
        let __pragma_value = #value;
        #(#hand_over)*
    }
}

/// A statement that hands over returned value `i`, which is at `place`.
fn return_value(
    kind: ReturnedKind,
    i: usize,
    place: &TokenStream,
    runtime: &TokenStream,
) -> TokenStream {
    let ret = own(RET);
    let function = match kind {
        ReturnedKind::Scalar(_) => quote!(return_value),
        ReturnedKind::Vec(_) => quote!(return_slice),
    };
    // SAFETY (of the emitted code): the worker passes a return whose sink is sound to call.
    quote!(unsafe { #runtime::harness::#function(#ret, #i, &#place); })
}

/// An exported function of the harness ABI with this body, which may `return` a status of its own.
pub(super) fn entry(
    symbol: &str,
    expected: usize,
    runtime: &TokenStream,
    body: &TokenStream,
) -> TokenStream {
    let symbol = Ident::new(symbol, Span::call_site());
    let (args, count, ret) = (own(ARGS), own(COUNT), own(RET));
    quote! {
        #[doc(hidden)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn #symbol(
            #args: *const #runtime::harness::RawArg,
            #count: ::core::primitive::usize,
            #ret: *const #runtime::harness::RawReturn,
        ) -> ::core::primitive::u32 {
            if #count != #expected {
                return #runtime::harness::STATUS_BAD_ARGS;
            }
            #runtime::harness::guard_panic(move || {
                #body
                #runtime::harness::STATUS_OK
            })
        }
    }
}

/// The exported function of a candidate: decodes, evaluates the guard and calls the kernel.
///
/// A call that the guard or the kernel declines has the status `STATUS_GUARD`.
pub fn candidate_entry(symbol: &str, call: &KernelCall<'_>, runtime: &TokenStream) -> TokenStream {
    let decode = decode(call.sig.params.iter(), runtime);
    let value = guarded(call, &call_kernel(call), runtime);
    let encode = encode_return(call.sig, runtime, &value);
    let count = call.sig.params.len();
    entry(symbol, count, runtime, &quote!(#decode #encode))
}

/// The kernel's value if the guard accepts the arguments and the kernel does not decline.
fn guarded(call: &KernelCall<'_>, run: &TokenStream, runtime: &TokenStream) -> TokenStream {
    let test = call.guard.to_tokens();
    let dims = dims_pattern(call.guard);
    let refuse = quote!(return #runtime::harness::STATUS_GUARD);
    let run = if call.declines {
        quote! {
            match #run {
                ::core::option::Option::Some(__pragma_made) => __pragma_made,
                ::core::option::Option::None => #refuse,
            }
        }
    } else {
        quote!(#run)
    };
    quote! {
        match #test {
            ::core::option::Option::Some(#dims) => #run,
            ::core::option::Option::None => #refuse,
        }
    }
}

/// The same for a function that returns a `Vec`, but written into additional last arguments, buffers of the worker's,
/// so that they can be poisoned and guarded like any other; nothing for other functions.
///
/// Scalars that are returned as well go to the sink, under the index that they have among all returned values.
pub fn candidate_into_entry(
    symbol: &str,
    call: &KernelCall<'_>,
    runtime: &TokenStream,
) -> TokenStream {
    let kinds = call.sig.returns.kinds();
    let mut params = call.sig.params.clone();
    let mut outputs = Vec::new();
    for kind in &kinds {
        if let ReturnedKind::Vec(elem) = kind {
            let name = format!("__pragma_out_{}", outputs.len());
            outputs.push(param_ident(&name));
            params.push(ParamSig {
                name,
                kind: ParamKind::Slice {
                    elem: *elem,
                    mutable: true,
                },
            });
        }
    }
    if outputs.is_empty() {
        return TokenStream::new();
    }
    let decode = decode(params.iter(), runtime);
    let elems = kinds.iter().filter_map(|kind| match kind {
        ReturnedKind::Vec(elem) => Some(kernel_type(*elem)),
        ReturnedKind::Scalar(_) => None,
    });
    // SAFETY (of the emitted code): the same memory; the kernel only writes to it.
    let uninit: Vec<TokenStream> = outputs
        .iter()
        .zip(elems)
        .map(|(out, elem)| {
            quote!(unsafe { &mut *(#out as *mut [#elem] as *mut [::core::mem::MaybeUninit<#elem>]) })
        })
        .collect();
    let value = guarded(call, &call.raw(&uninit), runtime);
    let scalars: Vec<usize> = (0..kinds.len())
        .filter(|i| matches!(kinds[*i], ReturnedKind::Scalar(_)))
        .collect();
    let single = scalars.len() == 1;
    let encode = scalars.iter().enumerate().map(|(at, &i)| {
        let field = syn::Index::from(at);
        let place = if single {
            quote!(__pragma_value)
        } else {
            quote!(__pragma_value.#field)
        };
        return_value(kinds[i], i, &place, runtime)
    });
    let body = quote! {
        #decode
        let __pragma_value = #value;
        let _ = &__pragma_value;
        #(#encode)*
    };
    entry(symbol, params.len(), runtime, &body)
}
