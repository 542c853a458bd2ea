//! Asking the compiler whether records lie in memory as kernels assume.

use proc_macro2::{Literal, TokenStream};
use quote::quote;

use super::{field_ident, type_tokens};
use crate::form::{ElementLayout, Form, SignatureForm};

/// A constant-foldable expression of type `bool`: every record that is an element of a slice, array or `Vec` in the
/// form is laid out as its leaves assume. `None` if there are no such records.
pub(super) fn layouts_fit(form: &SignatureForm, runtime: &TokenStream) -> Option<TokenStream> {
    let mut records: Vec<&Form> = Vec::new();
    for param in &form.params {
        collect(&param.form, &mut records);
    }
    collect(&form.result, &mut records);
    let checks: Vec<TokenStream> = records
        .iter()
        .filter_map(|record| fits(record, runtime))
        .collect();
    (!checks.is_empty()).then(|| quote!((true #(&& #checks)*)))
}

/// The records that are elements of something.
fn collect<'a>(form: &'a Form, out: &mut Vec<&'a Form>) {
    match form {
        Form::Slice(elem) | Form::Vec(elem) | Form::Boxed(elem) | Form::Array(_, elem) => {
            let record = matches!(**elem, Form::Record(_) | Form::Tuple(_));
            if record && !out.contains(&&**elem) {
                out.push(elem);
            } else {
                collect(elem, out);
            }
        }
        Form::Record(record) => {
            for field in &record.fields {
                collect(&field.form, out);
            }
        }
        Form::Tuple(items) => items.iter().for_each(|item| collect(item, out)),
        Form::Option(inner) | Form::Result(inner) | Form::Ref { inner, .. } => collect(inner, out),
        Form::Ndarray { elem, .. } => collect(elem, out),
        Form::Unit
        | Form::Scalar { .. }
        | Form::Enum { .. }
        | Form::Unread(_)
        | Form::Untouched => {}
    }
}

fn fits(record: &Form, runtime: &TokenStream) -> Option<TokenStream> {
    let layout = ElementLayout::of(record)?;
    let ty = type_tokens(record);
    let size = Literal::u64_unsuffixed(layout.size);
    let fields = layout.fields.iter().map(|field| {
        let path = field.path.split('.').map(field_ident);
        let path = quote!(#(#path).*);
        let offset = Literal::u64_unsuffixed(field.offset);
        let of = record
            .at(&field.path)
            .map_or_else(|| quote!(()), type_tokens);
        quote! {
            && const { ::core::mem::offset_of!(#ty, #path) == #offset }
            && #runtime::dispatch::field_is::<#ty, _, #of>(|__pragma_record| &__pragma_record.#path)
        }
    });
    Some(quote!((const { ::core::mem::size_of::<#ty>() == #size } #(#fields)*)))
}
