//! The function that replaces the annotated one, and what stands beside it.
//!
//! Owns names and attributes: which go with the body to the reference, which stay. A free function gets its reference as
//! a sibling and in a module of its name; a method as a sibling method, or within itself where there is no place for a
//! sibling (a private method, which may be a trait's).

use pragma_spec::codegen;
use pragma_spec::form::{Pattern, SignatureForm};
use proc_macro2::{Delimiter, Group, Ident, Span, TokenStream};
use quote::{ToTokens, format_ident, quote};
use syn::ext::IdentExt;

use crate::source;
use crate::visibility::one_module_in;

/// Items that go with a function.
pub struct Beside {
    /// Where the function is a method: in its body.
    pub inside: TokenStream,
    /// Beside it, also of a method; errors, which are anything anywhere.
    pub outside: TokenStream,
}

impl Beside {
    /// Items that may stand inside and outside.
    pub fn both(items: TokenStream) -> Beside {
        Beside {
            inside: items,
            outside: TokenStream::new(),
        }
    }
}

/// Whether the function is a method, so that only methods can stand beside it.
fn is_method(function: &syn::ItemFn) -> bool {
    function.sig.receiver().is_some()
}

/// Whether a method can have a sibling: a trait's methods have no visibility.
fn has_sibling(function: &syn::ItemFn) -> bool {
    !matches!(function.vis, syn::Visibility::Inherited)
}

/// The function as written, and a way to call it as the reference: `NAME::reference`, or a sibling method.
pub fn plain(function: &syn::ItemFn, beside: Beside) -> TokenStream {
    let Beside { inside, outside } = beside;
    if is_method(function) {
        let function = with_items(function, inside);
        let sibling = has_sibling(&function).then(|| {
            let callee = &function.sig.ident;
            let forward = forward(&function, &quote!(Self::#callee));
            sibling(&function, &quote!({ #forward }))
        });
        return quote!(#function #sibling #outside);
    }
    let reference = &function.sig.ident;
    let module = reference_module(function, reference);
    let items = under_cfgs(function, inside);
    let outside = under_cfgs(function, outside);
    quote!(#function #module #items #outside)
}

/// The function with `dispatch` before its body.
pub fn dispatched(
    function: &syn::ItemFn,
    form: Option<&SignatureForm>,
    dispatch: &TokenStream,
    beside: Beside,
) -> TokenStream {
    let Beside { inside, outside } = beside;
    if is_method(function) && !has_sibling(function) {
        let mut whole = function.clone();
        make_mutable(&mut whole, form);
        let whole = with_items(&whole, quote!(#inside #dispatch));
        return quote!(#whole #outside);
    }
    let reference = if is_method(function) {
        sibling_name(function)
    } else {
        format_ident!("__pragma_reference_{}", function.sig.ident.unraw())
    };
    let mut original = function.clone();
    original.attrs.retain(belongs_to_body);
    original.attrs.iter_mut().for_each(relax_expect);
    original.sig.ident = reference.clone();

    let mut shim = function.clone();
    // Inner attributes stand in the body, which is the reference's.
    shim.attrs
        .retain(|attr| matches!(attr.style, syn::AttrStyle::Outer));
    shim.attrs.iter_mut().for_each(relax_expect);
    shim.sig
        .inputs
        .iter_mut()
        .enumerate()
        .for_each(|(i, input)| match input {
            // Only the reference changes its parameters.
            syn::FnArg::Typed(typed) => name_all(&mut typed.pat, &i.to_string()),
            syn::FnArg::Receiver(receiver) => receiver.mutability = None,
        });
    let callee = if is_method(function) {
        quote!(Self::#reference)
    } else {
        quote!(#reference)
    };
    let call = forward(&shim, &callee);
    make_mutable(&mut shim, form);
    // A call for one row must not cost more than the row: callers, those of other crates too, may take the tests in.
    if !shim.attrs.iter().any(|attr| attr.path().is_ident("inline")) {
        shim.attrs.push(syn::parse_quote!(#[inline]));
    }
    let (attrs, vis, sig) = (&shim.attrs, &shim.vis, &shim.sig);
    let items = if is_method(function) {
        inside.clone()
    } else {
        TokenStream::new()
    };
    // To lints and debuggers the function is where the user wrote it, to its last brace.
    let mut body = Group::new(
        Delimiter::Brace,
        quote! {
            #items
            #dispatch
            #call
        },
    );
    body.set_span(function.block.brace_token.span.join());
    if is_method(function) {
        let original = sibling_of(original, &function.vis);
        return quote! {
            #(#attrs)* #vis #sig #body
            #original
            #outside
        };
    }
    let module = reference_module(function, &reference);
    let items = under_cfgs(function, inside);
    quote! {
        #(#attrs)* #vis #sig #body
        #[doc(hidden)]
        #[allow(dead_code, clippy::must_use_candidate, clippy::too_many_arguments)]
        #original
        #module
        #items
        #outside
    }
}

/// The function with items at the start of its body.
fn with_items(function: &syn::ItemFn, items: TokenStream) -> syn::ItemFn {
    let mut function = function.clone();
    if items.is_empty() {
        return function;
    }
    function
        .block
        .stmts
        .insert(0, syn::Stmt::Expr(syn::Expr::Verbatim(items), None));
    function
}

fn sibling_name(function: &syn::ItemFn) -> Ident {
    format_ident!("{}_reference", function.sig.ident.unraw())
}

/// A sibling method that does what `body` says.
fn sibling(function: &syn::ItemFn, body: &TokenStream) -> TokenStream {
    let mut sibling = function.clone();
    sibling.attrs.retain(|attr| attr.path().is_ident("cfg"));
    sibling.sig.ident = sibling_name(function);
    sibling
        .sig
        .inputs
        .iter_mut()
        .enumerate()
        .for_each(|(i, input)| match input {
            syn::FnArg::Typed(typed) => name_all(&mut typed.pat, &i.to_string()),
            syn::FnArg::Receiver(receiver) => receiver.mutability = None,
        });
    let (attrs, vis, sig) = (&sibling.attrs, &sibling.vis, &sibling.sig);
    quote! {
        #(#attrs)*
        #[doc(hidden)]
        #[allow(dead_code, missing_docs, clippy::must_use_candidate, clippy::too_many_arguments, clippy::missing_errors_doc, clippy::missing_panics_doc)]
        #vis #sig #body
    }
}

/// The method as written, as a sibling.
fn sibling_of(original: syn::ItemFn, vis: &syn::Visibility) -> TokenStream {
    let original = syn::ItemFn {
        vis: vis.clone(),
        ..original
    };
    quote! {
        #[doc(hidden)]
        #[allow(dead_code, missing_docs, clippy::must_use_candidate, clippy::too_many_arguments, clippy::missing_errors_doc, clippy::missing_panics_doc)]
        #original
    }
}

/// A call of `callee` with the function's own parameters, whose patterns all have names.
fn forward(function: &syn::ItemFn, callee: &TokenStream) -> TokenStream {
    let args = function
        .sig
        .inputs
        .iter()
        .enumerate()
        .map(|(i, input)| match input {
            syn::FnArg::Receiver(_) => quote!(self),
            syn::FnArg::Typed(typed) => {
                let mut pat = typed.pat.clone();
                name_all(&mut pat, &i.to_string());
                let by_reference = matches!(&*typed.ty, syn::Type::Reference(_));
                rebuilt(&pat, by_reference && matches!(*pat, syn::Pat::Tuple(_)))
            }
        });
    let generics: Vec<&Ident> = function
        .sig
        .generics
        .params
        .iter()
        .filter_map(|param| match param {
            syn::GenericParam::Lifetime(_) => None,
            syn::GenericParam::Type(param) => Some(&param.ident),
            syn::GenericParam::Const(param) => Some(&param.ident),
        })
        .collect();
    let turbofish = (!generics.is_empty()).then(|| quote!(::<#(#generics),*>));
    quote!(#callee #turbofish (#(#args),*))
}

/// The value that a pattern took apart. A reference to a tuple gave references to its parts, which are copied.
fn rebuilt(pat: &syn::Pat, of_references: bool) -> TokenStream {
    match pat {
        syn::Pat::Ident(pat) => {
            let ident = &pat.ident;
            if of_references {
                quote!(*#ident)
            } else {
                quote!(#ident)
            }
        }
        syn::Pat::Paren(paren) => rebuilt(&paren.pat, of_references),
        syn::Pat::Reference(reference) => {
            let (mutability, inner) = (&reference.mutability, rebuilt(&reference.pat, false));
            quote!(& #mutability #inner)
        }
        syn::Pat::Tuple(tuple) => {
            let items = tuple.elems.iter().map(|item| rebuilt(item, of_references));
            let whole = quote!((#(#items,)*));
            if of_references {
                quote!(&#whole)
            } else {
                whole
            }
        }
        other => other.to_token_stream(),
    }
}

/// Gives everything in a pattern a name and takes `mut` away.
fn name_all(pat: &mut syn::Pat, id: &str) {
    match pat {
        syn::Pat::Ident(pat) => pat.mutability = None,
        syn::Pat::Wild(_) => {
            let ident = format_ident!("__pragma_unnamed_{id}");
            *pat = syn::parse_quote!(#ident);
        }
        syn::Pat::Paren(paren) => name_all(&mut paren.pat, id),
        syn::Pat::Reference(reference) => name_all(&mut reference.pat, id),
        syn::Pat::Tuple(tuple) => {
            for (i, item) in tuple.elems.iter_mut().enumerate() {
                name_all(item, &format!("{id}_{i}"));
            }
        }
        _ => {}
    }
}

/// Makes bindings `mut` through which leaves are borrowed to be written to.
fn make_mutable(function: &mut syn::ItemFn, form: Option<&SignatureForm>) {
    let params = form.map(|form| &form.params[..]).unwrap_or_default();
    let mut any = false;
    for (input, param) in function.sig.inputs.iter_mut().zip(params) {
        if let (syn::FnArg::Typed(typed), Pattern::Name(_)) = (input, &param.pattern)
            && let syn::Pat::Ident(pat) = &mut *typed.pat
            && pat.mutability.is_none()
            && codegen::needs_mut(&param.form)
        {
            pat.mutability = Some(Default::default());
            any = true;
        }
    }
    if any {
        // On other targets nothing borrows them.
        function.attrs.push(syn::parse_quote!(#[allow(unused_mut)]));
    }
}

/// `mod NAME { use super::IDENT as reference; }`, visible wherever the function is if that can be.
fn reference_module(function: &syn::ItemFn, reference: &Ident) -> TokenStream {
    let mut name = function.sig.ident.clone();
    name.set_span(Span::call_site());
    let mut reference = reference.clone();
    reference.set_span(Span::call_site());
    // `mod dot; pub use dot::dot;` imports everything of that name that it can see. It must not see a module
    // there, which would clash with the file's own.
    let file = source::file(function.sig.ident.span());
    let own_file = file.as_deref().and_then(source::module_of)
        == Some(function.sig.ident.unraw().to_string().as_str());
    let vis = if own_file {
        &syn::Visibility::Inherited
    } else {
        &function.vis
    };
    let inner = one_module_in(vis);
    let cfgs = cfgs(function);
    quote! {
        #(#cfgs)*
        #[doc(hidden)]
        #[allow(unused_imports)]
        #vis mod #name {
            #inner use super::#reference as reference;
        }
    }
}

/// Items that exist under the conditions under which the function does.
fn under_cfgs(function: &syn::ItemFn, items: TokenStream) -> TokenStream {
    let cfgs = cfgs(function);
    if cfgs.is_empty() || items.is_empty() {
        return items;
    }
    quote!(#(#cfgs)* const _: () = { #items };)
}

/// The conditions under which the function exists; they hold for everything beside it.
fn cfgs(function: &syn::ItemFn) -> Vec<&syn::Attribute> {
    let attrs = function.attrs.iter();
    attrs.filter(|attr| attr.path().is_ident("cfg")).collect()
}

/// Whether an attribute of the function goes with its body when that moves to the reference.
fn belongs_to_body(attr: &syn::Attribute) -> bool {
    const BODY: [&str; 11] = [
        "cfg",
        "cfg_attr",
        "allow",
        "expect",
        "warn",
        "deny",
        "forbid",
        "inline",
        "cold",
        "track_caller",
        "target_feature",
    ];
    BODY.iter().any(|name| attr.path().is_ident(name))
}

/// Turns `expect` into `allow`: of a function in two parts, one may fulfil what the other does not.
fn relax_expect(attr: &mut syn::Attribute) {
    if let syn::Meta::List(list) = &mut attr.meta
        && list.path.is_ident("expect")
    {
        let span = list.path.segments[0].ident.span();
        list.path = Ident::new("allow", span).into();
    }
}
