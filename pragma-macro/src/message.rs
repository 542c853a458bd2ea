//! Errors and warnings as tokens.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{quote, quote_spanned};

/// An error at `span`.
pub fn error(span: Span, text: &str) -> TokenStream {
    syn::Error::new(span, text).to_compile_error()
}

/// A warning at `span`: a use of something deprecated, the only way for a macro on stable Rust to warn.
///
/// `name` is part of what the compiler prints.
pub fn warning(span: Span, name: &str, text: &str) -> TokenStream {
    let item = Ident::new(name, Span::call_site());
    let used = Ident::new(name, span);
    quote_spanned! {span=>
        const _: () = {
            #[deprecated(note = #text)]
            #[allow(non_upper_case_globals)]
            const #item: () = ();
            #used
        };
    }
}

/// The same, if `condition`, a constant expression, holds.
pub fn warning_if(span: Span, condition: &TokenStream, name: &str, text: &str) -> TokenStream {
    let item = Ident::new(name, Span::call_site());
    let used = Ident::new(name, span);
    let path = Ident::new("PragmaKernel", Span::call_site());
    // Which of the two functions is meant is known once the constant is, that is, after expansion.
    quote! {
        const _: () = {
            struct #path<const WARN: ::core::primitive::bool>;
            impl #path<true> {
                #[deprecated(note = #text)]
                const fn #item() {}
            }
            impl #path<false> {
                const fn #item() {}
            }
            #path::<{ #condition }>::#used()
        };
    }
}
