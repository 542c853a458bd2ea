//! Finding items of the crate by path: functions, constants, types, and what `use` brings in.
//!
//! Knows only the sources that it was given; what is not among them is `External`, and its
//! normal name (`std::f32::consts::PI`) is all that is known of it.

use super::{SourceCrate, SourceModule};

/// What a path names.
#[derive(Clone)]
pub(super) enum Found<'a> {
    /// An item of the crate: its module and itself.
    Item(&'a SourceModule, &'a syn::Item),
    /// Something outside, by its full name.
    External(String),
}

/// The items of a crate.
#[derive(Clone, Copy)]
pub(super) struct Items<'a> {
    krate: &'a SourceCrate,
}

impl<'a> Items<'a> {
    pub(super) fn new(krate: &'a SourceCrate) -> Self {
        Items { krate }
    }

    /// The module at `path`.
    pub(super) fn module(&self, path: &[String]) -> Option<&'a SourceModule> {
        self.krate.modules.iter().find(|module| module.path == path)
    }

    /// What `segments` names, seen from `module`.
    pub(super) fn resolve(&self, module: &[String], segments: &[String]) -> Found<'a> {
        self.resolve_deep(module, segments, 0)
    }

    fn resolve_deep(&self, module: &[String], segments: &[String], depth: usize) -> Found<'a> {
        let external = || Found::External(segments.join("::"));
        let Some((first, rest)) = segments.split_first() else {
            return external();
        };
        if depth > 16 {
            return external();
        }
        match first.as_str() {
            "crate" => return self.resolve_deep(&[], rest, depth + 1),
            "self" if !rest.is_empty() => return self.resolve_deep(module, rest, depth + 1),
            "super" => {
                let parent = &module[..module.len().saturating_sub(1)];
                return self.resolve_deep(parent, rest, depth + 1);
            }
            _ => {}
        }
        let Some(source) = self.module(module) else {
            return external();
        };
        if rest.is_empty()
            && let Some(item) = unique(source, first)
        {
            return Found::Item(source, item);
        }
        let mut child = module.to_vec();
        child.push(first.clone());
        if !rest.is_empty() && self.module(&child).is_some() {
            return self.resolve_deep(&child, rest, depth + 1);
        }
        // Through `use`.
        let mut globs = Vec::new();
        for item in &source.items {
            let syn::Item::Use(item) = item else { continue };
            let mut imports = Vec::new();
            flatten(&item.tree, &mut Vec::new(), &mut imports);
            for (name, path) in imports {
                match name {
                    Some(name) if name == *first && path.first() != Some(&name) => {
                        let full: Vec<String> = path.into_iter().chain(rest.to_vec()).collect();
                        return self.resolve_deep(module, &full, depth + 1);
                    }
                    // `use rand::Rng as rand` and the like would go round in circles.
                    Some(name) if name == *first => {
                        let full: Vec<String> = path.into_iter().chain(rest.to_vec()).collect();
                        return Found::External(full.join("::"));
                    }
                    Some(_) => {}
                    None => globs.push(path),
                }
            }
        }
        for path in globs {
            let full: Vec<String> = path.into_iter().chain(segments.to_vec()).collect();
            if let found @ Found::Item(..) = self.resolve_deep(module, &full, depth + 1) {
                return found;
            }
        }
        external()
    }

    /// Whether a macro or impl gives `kind` an item of its own called `name`.
    pub(super) fn provides(&self, kind: &str, name: &str) -> bool {
        self.associated(kind, name).is_some()
    }

    /// The enum called `name`, if there is only one.
    pub(super) fn enum_named(&self, name: &str) -> Option<&'a syn::ItemEnum> {
        let mut all = self.krate.modules.iter().flat_map(|module| {
            module.items.iter().filter_map(|item| match item {
                syn::Item::Enum(item) if item.ident == name => Some(item),
                _ => None,
            })
        });
        let first = all.next()?;
        all.next().is_none().then_some(first)
    }

    /// Whether the fields of the struct called `name` lie in the order of their declaration.
    pub(super) fn is_in_order(&self, name: &str) -> bool {
        self.krate.modules.iter().any(|module| {
            module.items.iter().any(|item| match item {
                syn::Item::Struct(item) if item.ident == name => item.attrs.iter().any(|attr| {
                    matches!(&attr.meta, syn::Meta::List(list) if list.path.is_ident("repr")
                    && list.tokens.to_string().split([',', ' ']).any(|word| {
                        word == "C" || word == "transparent"
                    }))
                }),
                _ => false,
            })
        })
    }

    /// The method or associated item `name` of type `kind`, wherever its impl stands.
    pub(super) fn associated(
        &self,
        kind: &str,
        name: &str,
    ) -> Option<(&'a SourceModule, &'a syn::ItemImpl, &'a syn::ImplItem)> {
        let mut all = self.candidates(kind, name);
        if all.len() > 1 {
            // A type's own items come before those of traits.
            let own = |(_, item, _): &(_, &syn::ItemImpl, _)| item.trait_.is_none();
            if all.iter().filter(|one| own(one)).count() == 1 {
                all.retain(own);
            }
        }
        match all[..] {
            [one] => Some(one),
            _ => None, // several of them: which one is a question of types
        }
    }

    /// All methods or associated items called `name` of type `kind`.
    pub(super) fn candidates(
        &self,
        kind: &str,
        name: &str,
    ) -> Vec<(&'a SourceModule, &'a syn::ItemImpl, &'a syn::ImplItem)> {
        let mut found = Vec::new();
        for module in &self.krate.modules {
            for item in &module.items {
                let syn::Item::Impl(item) = item else {
                    continue;
                };
                let blanket = item.generics.params.iter().any(|param| {
                    matches!(param, syn::GenericParam::Type(param)
                        if type_name(&item.self_ty).is_some_and(|name| param.ident == name))
                });
                if type_name(&item.self_ty).as_deref() != Some(kind) && !blanket {
                    continue;
                }
                for member in &item.items {
                    let ident = match member {
                        syn::ImplItem::Fn(member) => &member.sig.ident,
                        syn::ImplItem::Const(member) => &member.ident,
                        _ => continue,
                    };
                    if ident == name {
                        found.push((module, item, member));
                    }
                }
            }
        }
        found
    }

    /// What a trait that `kind` implements gives where the impl does not: its default.
    pub(super) fn default_method(
        &self,
        kind: &str,
        name: &str,
    ) -> Option<(&'a SourceModule, &'a syn::TraitItemFn)> {
        let mut found = self.krate.modules.iter().flat_map(|module| {
            module.items.iter().filter_map(move |item| match item {
                syn::Item::Trait(item) => {
                    let member = item.items.iter().find_map(|member| match member {
                        syn::TraitItem::Fn(member)
                            if member.sig.ident == name && member.default.is_some() =>
                        {
                            Some(member)
                        }
                        _ => None,
                    })?;
                    Some((module, item, member))
                }
                _ => None,
            })
        });
        let (module, owner, member) = found.next()?;
        let implemented = self.krate.modules.iter().any(|module| {
            module.items.iter().any(|item| match item {
                syn::Item::Impl(item) => {
                    item.trait_.as_ref().is_some_and(|(path, _)| {
                        path.segments
                            .last()
                            .is_some_and(|last| last.ident == owner.ident)
                    }) && type_name(&item.self_ty).as_deref() == Some(kind)
                }
                _ => false,
            })
        });
        (implemented && found.next().is_none()).then_some((module, member))
    }
}

/// The last segment of a path type.
pub(super) fn type_name(ty: &syn::Type) -> Option<String> {
    match ty {
        syn::Type::Path(path) => path.path.segments.last().map(|last| last.ident.to_string()),
        syn::Type::Reference(inner) => type_name(&inner.elem),
        syn::Type::Paren(inner) => type_name(&inner.elem),
        syn::Type::Group(inner) => type_name(&inner.elem),
        _ => None,
    }
}

/// The name of an item that a path can name.
pub(super) fn item_name(item: &syn::Item) -> Option<&syn::Ident> {
    match item {
        syn::Item::Fn(item) => Some(&item.sig.ident),
        syn::Item::Const(item) => Some(&item.ident),
        syn::Item::Static(item) => Some(&item.ident),
        syn::Item::Struct(item) => Some(&item.ident),
        syn::Item::Enum(item) => Some(&item.ident),
        syn::Item::Type(item) => Some(&item.ident),
        _ => None,
    }
}

/// The one item called `name`: none if `cfg` makes there be several.
fn unique<'a>(module: &'a SourceModule, name: &str) -> Option<&'a syn::Item> {
    let mut named = module
        .items
        .iter()
        .filter(|item| item_name(item).is_some_and(|ident| ident == name));
    let first = named.next()?;
    named.next().is_none().then_some(first)
}

type Import = (Option<String>, Vec<String>);

fn flatten(tree: &syn::UseTree, prefix: &mut Vec<String>, into: &mut Vec<Import>) {
    match tree {
        syn::UseTree::Path(path) => {
            prefix.push(path.ident.to_string());
            flatten(&path.tree, prefix, into);
            prefix.pop();
        }
        syn::UseTree::Name(name) => {
            let name = name.ident.to_string();
            let mut path = prefix.clone();
            if name == "self" {
                into.push((prefix.last().cloned(), path));
            } else {
                path.push(name.clone());
                into.push((Some(name), path));
            }
        }
        syn::UseTree::Rename(rename) => {
            let mut path = prefix.clone();
            if rename.ident != "self" {
                path.push(rename.ident.to_string());
            }
            into.push((Some(rename.rename.to_string()), path));
        }
        syn::UseTree::Glob(_) => into.push((None, prefix.clone())),
        syn::UseTree::Group(group) => {
            for tree in &group.items {
                flatten(tree, prefix, into);
            }
        }
    }
}
