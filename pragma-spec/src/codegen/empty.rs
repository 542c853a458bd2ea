//! Any value of a type: what a harness puts where the function does not look.

use proc_macro2::TokenStream;
use quote::quote;

use super::{field_ident, path_tokens};
use crate::form::{Form, NdarrayKind};

/// Any value of a type whose value does not matter.
pub(super) fn empty(form: &Form) -> TokenStream {
    match form {
        Form::Unit => quote!(()),
        // SAFETY (of the emitted code): numbers, `bool` and arrays of them may be zero.
        Form::Scalar { .. } => quote!(unsafe { ::core::mem::zeroed() }),
        Form::Array(len, elem) => {
            let len = proc_macro2::Literal::u64_unsuffixed(*len);
            let elem = empty(elem);
            quote!(::core::array::from_fn::<_, #len, _>(|_| #elem))
        }
        Form::Vec(_) => quote!(::std::vec::Vec::new()),
        Form::Boxed(_) => quote!(::std::boxed::Box::new([])),
        Form::Slice(_) => quote!([]),
        Form::Ref { mutable, inner } => match &**inner {
            Form::Slice(_) if *mutable => quote!(&mut []),
            Form::Slice(_) => quote!(&[]),
            inner => {
                let value = empty(inner);
                let amp = if *mutable { quote!(&mut) } else { quote!(&) };
                // Leaked, once per call: such a field holds next to nothing.
                quote!(#amp *::std::boxed::Box::leak(::std::boxed::Box::new(#value)))
            }
        },
        Form::Record(record) => {
            let path = path_tokens(&record.path);
            let fields = record.fields.iter().map(|field| {
                let (name, value) = (field_ident(&field.name), empty(&field.form));
                quote!(#name: #value)
            });
            quote!(#path { #(#fields),* })
        }
        Form::Tuple(items) => {
            let items = items.iter().map(empty);
            quote!((#(#items,)*))
        }
        Form::Option(_) => quote!(::core::option::Option::None),
        Form::Enum { path, variants } => {
            let path = path_tokens(path);
            let first = variants
                .first()
                .map_or_else(super::nothing, |name| field_ident(name));
            quote!(#path::#first)
        }
        Form::Ndarray {
            kind, path, rank, ..
        } => {
            let path = path_tokens(path);
            let shape = vec![quote!(0usize); *rank];
            match kind {
                NdarrayKind::Owned => quote!(::core::default::Default::default()),
                NdarrayKind::View => quote!(#path::from_shape([#(#shape),*], &[]).expect("empty")),
                NdarrayKind::ViewMut => {
                    quote!(#path::from_shape([#(#shape),*], &mut []).expect("empty"))
                }
            }
        }
        Form::Unread(inner) => empty(inner),
        Form::Untouched | Form::Result(_) => quote!(::core::default::Default::default()),
    }
}
