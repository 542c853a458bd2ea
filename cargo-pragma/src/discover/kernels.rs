//! The marked functions of a module tree.
//!
//! Owns what counts as `#[pragma_kernel]` (bare, by path, renamed by `use`, under `cfg_attr`), on functions and on methods
//! of inherent impls, and the report of places where the attribute cannot work.

use std::collections::BTreeSet;

use proc_macro2::{Span, TokenStream};
use syn::parse::Parser;
use syn::punctuated::Punctuated;
use syn::visit::{self, Visit};
use syn::{
    Attribute, ImplItem, ImplItemFn, Item, ItemFn, ItemUse, Meta, Token, TraitItemFn, UseTree,
};

use super::modules::{Module, is_for_tests};
use super::types::type_name;

/// The attribute's name.
const NAME: &str = "pragma_kernel";

/// A marked function of a module, or method of an inherent impl in it.
#[derive(Clone, Debug)]
pub struct Marked {
    /// The function, with all its attributes.
    pub function: ItemFn,
    /// The impl that it is in.
    pub owner: Option<ImplOwner>,
    /// What stands between the attribute's parentheses.
    pub tokens: TokenStream,
}

/// An inherent impl.
#[derive(Clone, Debug)]
pub struct ImplOwner {
    /// The type that it is of.
    pub ty: syn::Type,
    /// Its parameters.
    pub generics: syn::Generics,
    /// The type's name without arguments.
    pub name: String,
}

/// The attribute stands where it cannot work yet.
#[derive(Clone, Debug)]
pub struct Misplaced {
    /// The function's name.
    pub name: String,
    /// Its place.
    pub span: Span,
    /// What kind of place that is, for people: "a method".
    pub place: &'static str,
    /// What to do about it.
    pub help: &'static str,
}

/// The names under which the modules import the attribute, the usual one included.
pub fn names(modules: &[Module]) -> BTreeSet<String> {
    let mut names = BTreeSet::from([NAME.to_owned()]);
    for module in modules {
        for item in &module.items {
            if let Item::Use(ItemUse { tree, .. }) = item {
                collect_renames(tree, &mut names);
            }
        }
    }
    names
}

fn collect_renames(tree: &UseTree, names: &mut BTreeSet<String>) {
    match tree {
        UseTree::Path(path) => collect_renames(&path.tree, names),
        UseTree::Group(group) => group
            .items
            .iter()
            .for_each(|tree| collect_renames(tree, names)),
        UseTree::Rename(rename) if rename.ident == NAME => {
            names.insert(rename.rename.to_string());
        }
        _ => {}
    }
}

/// The marked functions of one module, in source order, and the misplaced attributes in it (not in modules inside it).
pub fn find(module: &Module, names: &BTreeSet<String>) -> (Vec<Marked>, Vec<Misplaced>) {
    let mut marked = Vec::new();
    let mut search = Search {
        names,
        misplaced: Vec::new(),
    };
    for item in &module.items {
        match item {
            Item::Mod(_) => {}
            Item::Fn(function) if is_for_tests(&function.attrs) => {}
            Item::Fn(function) => {
                if let Some(tokens) = marking(&function.attrs, names) {
                    marked.push(Marked {
                        function: function.clone(),
                        owner: None,
                        tokens,
                    });
                }
                visit::visit_block(&mut search, &function.block);
            }
            Item::Impl(item) if is_for_tests(&item.attrs) => {}
            Item::Impl(item) if item.trait_.is_none() => {
                let owner = type_name(&item.self_ty).map(|name| ImplOwner {
                    ty: (*item.self_ty).clone(),
                    generics: item.generics.clone(),
                    name,
                });
                for member in &item.items {
                    let (ImplItem::Fn(method), Some(owner)) = (member, &owner) else {
                        search.visit_impl_item(member);
                        continue;
                    };
                    if is_for_tests(&method.attrs) {
                        continue;
                    }
                    if let Some(tokens) = marking(&method.attrs, names) {
                        marked.push(Marked {
                            function: ItemFn {
                                attrs: method.attrs.clone(),
                                vis: method.vis.clone(),
                                modifiers: method.modifiers.clone(),
                                sig: method.sig.clone(),
                                block: Box::new(method.block.clone()),
                            },
                            owner: Some(owner.clone()),
                            tokens,
                        });
                    }
                    visit::visit_block(&mut search, &method.block);
                }
            }
            other => search.visit_item(other),
        }
    }
    (marked, search.misplaced)
}

/// The attribute's arguments, if one of `attributes` is the attribute.
fn marking(attributes: &[Attribute], names: &BTreeSet<String>) -> Option<TokenStream> {
    attributes
        .iter()
        .find_map(|attribute| from_meta(&attribute.meta, names))
}

fn from_meta(meta: &Meta, names: &BTreeSet<String>) -> Option<TokenStream> {
    let last = meta.path().segments.last()?.ident.to_string();
    if names.contains(&last) {
        return match meta {
            Meta::List(list) => Some(list.tokens.clone()),
            _ => Some(TokenStream::new()),
        };
    }
    match meta {
        Meta::List(list) if last == "cfg_attr" => {
            let inner = Punctuated::<Meta, Token![,]>::parse_terminated
                .parse2(list.tokens.clone())
                .ok()?;
            inner.iter().skip(1).find_map(|meta| from_meta(meta, names))
        }
        _ => None,
    }
}

struct Search<'a> {
    names: &'a BTreeSet<String>,
    misplaced: Vec<Misplaced>,
}

impl Search<'_> {
    fn note(
        &mut self,
        attributes: &[Attribute],
        ident: &syn::Ident,
        place: &'static str,
        help: &'static str,
    ) {
        if marking(attributes, self.names).is_some() {
            self.misplaced.push(Misplaced {
                name: ident.to_string(),
                span: ident.span(),
                place,
                help,
            });
        }
    }
}

impl<'ast> Visit<'ast> for Search<'_> {
    fn visit_item_fn(&mut self, function: &'ast ItemFn) {
        let help = "move the function out of the body, into its module";
        self.note(
            &function.attrs,
            &function.sig.ident,
            "a function inside a function body",
            help,
        );
        visit::visit_item_fn(self, function);
    }

    fn visit_impl_item_fn(&mut self, function: &'ast ImplItemFn) {
        let help = "the trait says what its impl contains: mark a method of an inherent impl (`impl Type`) and call it from this one";
        self.note(
            &function.attrs,
            &function.sig.ident,
            "a method of a trait impl",
            help,
        );
        visit::visit_impl_item_fn(self, function);
    }

    fn visit_trait_item_fn(&mut self, function: &'ast TraitItemFn) {
        let help = "a default method is for types that nobody knows: mark a free function and call it from the method";
        self.note(&function.attrs, &function.sig.ident, "a trait method", help);
        visit::visit_trait_item_fn(self, function);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Marked functions as `name(arguments)`, and the names of misplaced ones.
    fn search(source: &str) -> (Vec<String>, Vec<String>) {
        let module = Module {
            path: Vec::new(),
            file: "lib.rs".into(),
            items: syn::parse_file(source).expect("valid source").items,
        };
        let names = names(std::slice::from_ref(&module));
        let (marked, misplaced) = find(&module, &names);
        (
            marked
                .iter()
                .map(|m| {
                    let owner = m
                        .owner
                        .as_ref()
                        .map_or(String::new(), |owner| format!("{}.", owner.name));
                    format!("{owner}{}({})", m.function.sig.ident, m.tokens)
                })
                .collect(),
            misplaced.into_iter().map(|m| m.name).collect(),
        )
    }

    #[test]
    fn every_spelling_is_found() {
        let (marked, misplaced) = search(
            "use pragma_runtime::{pragma_kernel, pragma_kernel as fast};\n\
             #[pragma_kernel] fn a() {}\n\
             #[pragma_runtime::pragma_kernel(exact)] fn b() {}\n\
             #[fast] fn c() {}\n\
             #[cfg_attr(feature = \"simd\", inline, pragma_kernel(threads(1)))] fn d() {}\n\
             #[inline] fn not() {}\n\
             #[cfg(test)] #[pragma_kernel] fn neither() {}\n",
        );
        assert_eq!(marked, ["a()", "b(exact)", "c()", "d(threads (1))"]);
        assert!(misplaced.is_empty());
    }

    #[test]
    fn places_where_it_cannot_work() {
        let (marked, misplaced) = search(
            "fn outer() { #[pragma_kernel] fn inner() {} }\n\
             impl T for X { #[pragma_kernel] fn method(&self) {} }\n\
             impl X { fn outside(&self) { #[pragma_kernel] fn inside() {} } }\n\
             trait T { #[pragma_kernel] fn provided() {} }\n",
        );
        assert!(marked.is_empty());
        assert_eq!(misplaced, ["inner", "method", "inside", "provided"]);
    }

    #[test]
    fn methods_of_inherent_impls_are_found() {
        let (marked, misplaced) = search(
            "impl<T: Real> a::Biquad<T> { #[pragma_kernel(instantiate(T = f32))] pub fn process(&mut self) {} fn not(&self) {} }\n\
             #[cfg(test)] impl X { #[pragma_kernel] fn tested(&self) {} }\n",
        );
        assert_eq!(marked, ["Biquad.process(instantiate (T = f32))"]);
        assert!(misplaced.is_empty());
    }
}
