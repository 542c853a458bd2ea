//! Handing the result of a reference to the worker, as flat values.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};

use super::harness::RET;
use super::{field_ident, own, path_tokens};
use crate::KernelSignature;
use crate::form::{Elements, Form};

/// Statements that hand over `__pragma_value`, the source's result.
pub(super) fn encode(sig: &KernelSignature, runtime: &TokenStream) -> TokenStream {
    let harness = quote!(#runtime::harness);
    let refuse = quote!(return #harness::STATUS_REFUSED);
    let open = match &sig.form.result {
        Form::Option(_) => quote! {
            let ::core::option::Option::Some(__pragma_value) = __pragma_value else { #refuse };
        },
        Form::Result(_) => quote! {
            let ::core::result::Result::Ok(__pragma_value) = __pragma_value else { #refuse };
        },
        _ => TokenStream::new(),
    };
    let mut encoder = Encoder {
        runtime,
        at: 0,
        out: TokenStream::new(),
    };
    encoder.value(sig.form.result.success(), &quote!(__pragma_value));
    let values = encoder.out;
    quote! {
        #open
        let _ = &__pragma_value;
        #values
    }
}

struct Encoder<'a> {
    runtime: &'a TokenStream,
    at: usize,
    out: TokenStream,
}

impl Encoder<'_> {
    /// Hands over the next value: one number, or array, at `place`, or a slice.
    fn hand(&mut self, function: &str, place: &TokenStream) {
        let (runtime, ret, i) = (self.runtime, own(RET), self.at);
        let function = format_ident!("{function}");
        self.at += 1;
        // SAFETY (of the emitted code): the worker passes a return whose sink is sound to call.
        self.out
            .extend(quote!(unsafe { #runtime::harness::#function(#ret, #i, #place); }));
    }

    fn value(&mut self, form: &Form, place: &TokenStream) {
        match form {
            Form::Scalar { .. } => self.hand("return_value", &quote!(&#place)),
            Form::Enum { path, variants } => {
                let path = path_tokens(path);
                let arms = variants.iter().enumerate().map(|(i, variant)| {
                    let (i, variant) = (i as u8, field_ident(variant));
                    quote!(#path::#variant => #i)
                });
                self.hand("return_value", &quote!(&match #place { #(#arms,)* }));
            }
            Form::Vec(elem) if matches!(Elements::of(elem), Some(Elements::Rows(..))) => {
                let runtime = self.runtime;
                let width = quote!(#place.first().map_or(0, |row| row.len()));
                // Rows of different lengths are nothing that a kernel makes.
                self.out.extend(quote! {
                    if #place.iter().any(|row| row.len() != #width) {
                        return #runtime::harness::STATUS_REFUSED;
                    }
                });
                self.hand("return_slice", &quote!(&#place.concat()));
                self.hand("return_value", &quote!(&#place.len()));
                self.hand("return_value", &quote!(&#width));
            }
            Form::Vec(_) | Form::Boxed(_) => self.hand("return_slice", &quote!(&#place[..])),
            Form::Array(..) => {
                self.hand("return_slice", &quote!(::core::slice::from_ref(&#place)));
            }
            Form::Ndarray { rank, .. } => {
                let collected = quote!(#place.iter().cloned().collect::<::std::vec::Vec<_>>());
                self.hand(
                    "return_slice",
                    &quote!(&*match #place.as_slice() {
                        ::core::option::Option::Some(all) => ::std::borrow::Cow::Borrowed(all),
                        ::core::option::Option::None => ::std::borrow::Cow::Owned(#collected),
                    }),
                );
                for axis in 0..*rank {
                    self.hand("return_value", &quote!(&#place.shape()[#axis]));
                }
            }
            Form::Record(record) => {
                for field in &record.fields {
                    let ident = field_ident(&field.name);
                    self.value(&field.form, &quote!(#place.#ident));
                }
            }
            Form::Tuple(items) => {
                for (i, item) in items.iter().enumerate() {
                    let index = syn::Index::from(i);
                    self.value(item, &quote!(#place.#index));
                }
            }
            _ => {}
        }
    }
}
