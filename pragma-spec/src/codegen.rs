//! Tokens that the macro and the tool emit alike: decoding harness arguments and calling a kernel.
//!
//! Owns the shape of the code around a kernel. A kernel is called here exactly as it is in production, so
//! that what was verified is what runs.

use proc_macro2::{Ident, Span, TokenStream};
use quote::quote;

pub use crate::guard::param_ident;
use crate::guard::{dim_ident, plain_tokens};
use crate::{Guard, KernelSignature, ParamKind, ParamSig, ReturnSig, Scalar, Shape};

/// A scalar type in emitted code, out of reach of the user's own names.
pub fn scalar_type(scalar: Scalar) -> TokenStream {
    match scalar {
        // Types of a crate that only the user can name; every use here can be inferred.
        Scalar::F16 | Scalar::Bf16 => quote!(_),
        other => {
            let name = Ident::new(other.name(), Span::call_site());
            quote!(::core::primitive::#name)
        }
    }
}

/// The harness function's own parameters, which must not meet those of the user's function.
const ARGS: &str = "__pragma_args";
const COUNT: &str = "__pragma_count";
const RET: &str = "__pragma_ret";
/// The buffer of a returned `Vec`.
const OUT: &str = "__pragma_out";

/// A name of the emitted code's own.
fn own(name: &str) -> Ident {
    Ident::new(name, Span::call_site())
}

/// One `let` per parameter, which takes it from `__pragma_args: *const RawArg`.
///
/// `runtime` is the path of `pragma_runtime`. The statements belong into a function of the harness ABI: they
/// trust the arguments to fit the signature.
pub fn decode_args(sig: &KernelSignature, runtime: &TokenStream) -> TokenStream {
    let args = own(ARGS);
    let lets = sig.params.iter().enumerate().map(|(i, param)| {
        let name = param_ident(&param.name);
        let elem = scalar_type(param.kind.elem());
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

/// Statements that hand `value`, an expression of the function's return type, to
/// `__pragma_ret: *const RawReturn`.
pub fn encode_return(
    sig: &KernelSignature,
    runtime: &TokenStream,
    value: &TokenStream,
) -> TokenStream {
    let harness = quote!(#runtime::harness);
    let ret = own(RET);
    // SAFETY (of the emitted code): the worker passes a return whose sink is sound to call.
    match &sig.returns {
        ReturnSig::Nothing => quote!(#value;),
        ReturnSig::Scalar(_) => quote! {
            let __pragma_value = #value;
            unsafe { #harness::return_value(#ret, 0, &__pragma_value); }
        },
        ReturnSig::Tuple(scalars) => {
            let fields = (0..scalars.len()).map(syn::Index::from);
            let indices = 0..scalars.len();
            quote! {
                let __pragma_value = #value;
                unsafe { #(#harness::return_value(#ret, #indices, &__pragma_value.#fields);)* }
            }
        }
        ReturnSig::Vec(_) => quote! {
            let __pragma_value = #value;
            unsafe { #harness::return_slice(#ret, 0, &__pragma_value); }
        },
    }
}

/// An exported function of the harness ABI that evaluates `value`, an expression of the function's
/// return type over its parameters.
///
/// `value` may `return` a status of its own.
pub fn harness_entry(
    symbol: &str,
    sig: &KernelSignature,
    runtime: &TokenStream,
    value: &TokenStream,
) -> TokenStream {
    let symbol = Ident::new(symbol, Span::call_site());
    let expected = sig.params.len();
    let (args, count, ret) = (own(ARGS), own(COUNT), own(RET));
    let decode = decode_args(sig, runtime);
    let encode = encode_return(sig, runtime, value);
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
                #decode
                #encode
                #runtime::harness::STATUS_OK
            })
        }
    }
}

/// The exported function of a candidate: decodes, evaluates the guard and calls the kernel at `path`.
///
/// `shapes` are those of the lifted program, with `return` where the function returns a `Vec`.
pub fn candidate_entry(
    symbol: &str,
    path: &TokenStream,
    sig: &KernelSignature,
    guard: &Guard,
    shapes: &[(String, Shape)],
    runtime: &TokenStream,
) -> TokenStream {
    let test = guard.to_tokens();
    let dims = dims_pattern(guard);
    let call = call_kernel(path, guard, sig, shapes);
    let value = quote! {
        match #test {
            ::core::option::Option::Some(#dims) => #call,
            ::core::option::Option::None => return #runtime::harness::STATUS_GUARD,
        }
    };
    harness_entry(symbol, sig, runtime, &value)
}

/// The same for a function that returns a `Vec`, but written into the last argument, a buffer of the worker's,
/// so that it can be poisoned and guarded like any other; nothing for other functions.
pub fn candidate_into_entry(
    symbol: &str,
    path: &TokenStream,
    sig: &KernelSignature,
    guard: &Guard,
    runtime: &TokenStream,
) -> TokenStream {
    let ReturnSig::Vec(elem) = sig.returns else {
        return TokenStream::new();
    };
    let mut sig = sig.clone();
    sig.returns = ReturnSig::Nothing;
    sig.params.push(ParamSig {
        name: OUT.to_owned(),
        kind: ParamKind::Slice {
            elem,
            mutable: true,
        },
    });
    let out = own(OUT);
    let elem = scalar_type(elem);
    let test = guard.to_tokens();
    let dims = dims_pattern(guard);
    let call = call_kernel(path, guard, &sig, &[]);
    // SAFETY (of the emitted code): the same memory; the kernel only writes to it.
    let value = quote! {{
        let #out = unsafe { &mut *(#out as *mut [#elem] as *mut [::core::mem::MaybeUninit<#elem>]) };
        match #test {
            ::core::option::Option::Some(#dims) => #call,
            ::core::option::Option::None => return #runtime::harness::STATUS_GUARD,
        }
    }};
    harness_entry(symbol, &sig, runtime, &value)
}

/// The pattern that takes the dimensions out of what [`Guard::to_tokens`] yields.
pub fn dims_pattern(guard: &Guard) -> TokenStream {
    let dims = guard.dims.iter().map(|dim| dim_ident(dim));
    quote!([#(#dims),*])
}

/// An expression of the function's return type that calls the kernel at `path`, with the parameters and the
/// variables of [`dims_pattern`] in scope.
///
/// A kernel takes arrays as slices, also those that the function takes by value.
///
/// The emitted `unsafe` is sound only where the CPU has the features of the kernel's target and the guard
/// has accepted the arguments.
pub fn call_kernel(
    path: &TokenStream,
    guard: &Guard,
    sig: &KernelSignature,
    shapes: &[(String, Shape)],
) -> TokenStream {
    let dims = guard.dims.iter().map(|dim| dim_ident(dim));
    let params = sig
        .params
        .iter()
        .filter(|param| param.kind.is_buffer() || !guard.dims.contains(&param.name))
        .map(|param| {
            let name = param_ident(&param.name);
            match param.kind {
                ParamKind::Array { by_value: true, .. } => quote!(&#name),
                _ => quote!(#name),
            }
        });
    let mut args: Vec<TokenStream> = dims.map(|dim| quote!(#dim)).collect();
    args.extend(params);
    let ReturnSig::Vec(elem) = sig.returns else {
        return quote!(unsafe { #path(#(#args),*) });
    };
    let elem = scalar_type(elem);
    let shape = shapes.iter().find(|(name, _)| name == "return");
    // Without a shape nothing is returned; the tool never writes such a manifest.
    let len = shape.map_or_else(|| quote!(0), |(_, shape)| plain_tokens(&shape.len()));
    // SAFETY (of the emitted code): a kernel writes every element of the buffer it returns.
    quote! {
        {
            let __pragma_len: ::core::primitive::usize = #len;
            let mut __pragma_out = ::std::vec::Vec::<#elem>::with_capacity(__pragma_len);
            unsafe {
                #path(#(#args,)* &mut __pragma_out.spare_capacity_mut()[..__pragma_len]);
                __pragma_out.set_len(__pragma_len);
            }
            __pragma_out
        }
    }
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
