//! Parameters that an expression of the user's makes, where leaves cannot.

use proc_macro2::{Group, TokenStream, TokenTree};
use quote::quote;

use super::harness::{RET, entry};
use super::layout::layouts_fit;
use super::read::{read_some, receiver_or};
use super::{own, param_ident, path_tokens};
use crate::KernelSignature;
use crate::form::{Form, Pattern, SignatureForm, SourceParam};

/// The exported function `symbol` that hands over the leaves of the parameters in `made`, each under its argument number;
/// it takes no arguments. Nothing if no parameter is made by an expression.
pub fn made_entry(
    symbol: &str,
    sig: &KernelSignature,
    made: &[(String, String)],
    runtime: &TokenStream,
) -> TokenStream {
    let mut lets = TokenStream::new();
    let mut names = Vec::new();
    for param in &sig.form.params {
        let (Some(expr), Pattern::Name(name)) = (made_of(param, sig, made), &param.pattern) else {
            continue;
        };
        let ident = receiver_or(name);
        lets.extend(match &param.form {
            Form::Ref { mutable: true, .. } => quote!(let #ident = &mut #expr;),
            Form::Ref { .. } => quote!(let #ident = &#expr;),
            _ => quote! {
                #[allow(unused_mut)]
                let mut #ident = #expr;
            },
        });
        names.push(name.as_str());
    }
    if names.is_empty() {
        return TokenStream::new();
    }
    let refuse = quote!(return #runtime::harness::STATUS_LAYOUT);
    let before = read_some(sig, &names, runtime, &refuse);
    let layout = layouts_fit(&sig.form, runtime).map(|fits| quote!(if !#fits { #refuse; }));
    let ret = own(RET);
    let of_made = |name: &str| {
        let root = name.split('.').next().unwrap_or(name);
        names.contains(&root)
    };
    let hand = sig
        .params
        .iter()
        .enumerate()
        .filter(|(_, param)| of_made(&param.name));
    // SAFETY (of the emitted code): the worker passes a return whose sink is sound to call.
    let hand = hand.map(|(i, param)| {
        let ident = param_ident(&param.name);
        if param.kind.is_buffer() {
            quote!(unsafe { #runtime::harness::return_slice(#ret, #i, &#ident[..]); })
        } else {
            quote!(unsafe { #runtime::harness::return_value(#ret, #i, &#ident); })
        }
    });
    let body = quote!(#layout #lets #before #(#hand)*);
    entry(symbol, 0, runtime, &body)
}

/// What makes a parameter, with the owner's type for `Self` and the instance's for type parameters: an item inside of a
/// method knows neither.
pub(super) fn made_of(
    param: &SourceParam,
    sig: &KernelSignature,
    made: &[(String, String)],
) -> Option<TokenStream> {
    let Pattern::Name(name) = &param.pattern else {
        return None;
    };
    let (_, expr) = made.iter().find(|(known, _)| known == name)?;
    Some(concrete(path_tokens(expr), &sig.form))
}

fn concrete(tokens: TokenStream, form: &SignatureForm) -> TokenStream {
    let replace = |token: TokenTree| match token {
        TokenTree::Group(group) => {
            let inner = concrete(group.stream(), form);
            TokenTree::Group(Group::new(group.delimiter(), inner)).into()
        }
        TokenTree::Ident(ident) => {
            let name = ident.to_string();
            let owner = form.owner.as_deref().filter(|_| name == "Self");
            match owner.or_else(|| form.instance.get(&name)) {
                Some(known) => path_tokens(known),
                None => TokenTree::Ident(ident).into(),
            }
        }
        other => TokenStream::from(other),
    };
    tokens.into_iter().flat_map(replace).collect()
}
