//! A crate in one text, and flattening one of its functions.

use std::collections::BTreeSet;

use pragma_spec::form::{FlattenPlace, Instance, Owner, Resolved, ReturnedKind, TypeLookup};
use pragma_spec::{KernelSignature, SpecError};

/// The items of a crate.
pub struct Source(syn::File);

impl Source {
    pub fn new(text: &str) -> Source {
        Source(syn::parse_file(text).expect("the text parses"))
    }

    fn items(&self, module: &[String]) -> Option<&[syn::Item]> {
        let mut items = &self.0.items[..];
        for name in module {
            items = items.iter().find_map(|item| match item {
                syn::Item::Mod(inner) if inner.ident == name => {
                    inner.content.as_ref().map(|(_, items)| &items[..])
                }
                _ => None,
            })?;
        }
        Some(items)
    }

    /// Flattens `function` of `module`, a method as `Type::function`.
    pub fn flatten(
        &self,
        module: &[&str],
        function: &str,
        instance: &[(&str, &str)],
    ) -> Result<KernelSignature, SpecError> {
        self.flatten_with(module, function, instance, &[], &[])
    }

    /// The same with written scalars and unread fields.
    pub fn flatten_with(
        &self,
        module: &[&str],
        function: &str,
        instance: &[(&str, &str)],
        written: &[&str],
        unread: &[&str],
    ) -> Result<KernelSignature, SpecError> {
        let module: Vec<String> = module.iter().map(|part| (*part).to_owned()).collect();
        let items = self.items(&module).expect("the module is there");
        let text = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let instance = Instance(instance.iter().map(text).collect());
        let set = |names: &[&str]| -> BTreeSet<String> {
            names.iter().map(|name| (*name).to_owned()).collect()
        };
        let (written, unread) = (set(written), set(unread));
        let place = FlattenPlace {
            module: &module,
            owner: None,
            instance: &instance,
            lookup: self,
            written: &written,
            unread: &unread,
        };
        for item in items {
            match (item, function.split_once("::")) {
                (syn::Item::Fn(item), None) if item.sig.ident == function => {
                    return KernelSignature::flatten(&item.sig, &place);
                }
                (syn::Item::Impl(block), Some((_, method))) => {
                    for member in &block.items {
                        if let syn::ImplItem::Fn(member) = member
                            && member.sig.ident == method
                        {
                            let owner = Some(Owner {
                                ty: &block.self_ty,
                                generics: &block.generics,
                            });
                            return KernelSignature::flatten(
                                &member.sig,
                                &FlattenPlace { owner, ..place },
                            );
                        }
                    }
                }
                _ => {}
            }
        }
        panic!("no function `{function}`");
    }
}

impl TypeLookup for Source {
    fn resolve(&self, module: &[String], segments: &[String]) -> Resolved<'_> {
        let (mut path, mut rest) = (module.to_vec(), segments);
        loop {
            match rest.first().map(String::as_str) {
                Some("crate") => path.clear(),
                Some("super") => {
                    path.pop();
                }
                Some("self") => {}
                _ => break,
            }
            rest = &rest[1..];
        }
        let Some((name, modules)) = rest.split_last() else {
            return Resolved::Unknown;
        };
        path.extend(modules.iter().cloned());
        for item in self.items(&path).unwrap_or_default() {
            match item {
                syn::Item::Struct(item) if item.ident == name => {
                    return Resolved::Struct(path, item);
                }
                syn::Item::Enum(item) if item.ident == name => return Resolved::Enum(path, item),
                syn::Item::Type(item) if item.ident == name => return Resolved::Alias(path, item),
                _ => {}
            }
        }
        // The usual imports.
        Resolved::External(match name.as_str() {
            "f16" | "bf16" => format!("half::{name}"),
            name if name.starts_with("Array") => format!("ndarray::{name}"),
            name if name.starts_with("Complex") => format!("num_complex::{name}"),
            _ => segments.join("::"),
        })
    }

    fn constant(&self, module: &[String], segments: &[String]) -> Option<u64> {
        let [name] = segments else { return None };
        self.items(module)?.iter().find_map(|item| match item {
            syn::Item::Const(item) if item.ident == name => {
                let text = quote::ToTokens::to_token_stream(&item.expr).to_string();
                text.parse().ok()
            }
            _ => None,
        })
    }
}

/// Leaves as `name: type`, with the extents that the type fixes, then `-> name: type` for returned values.
pub fn show(sig: &KernelSignature) -> Vec<String> {
    let leaves = sig.form.leaves();
    let mut lines: Vec<String> = leaves
        .iter()
        .map(|leaf| {
            let mut line = format!("{}: {}", leaf.name, leaf.kind);
            if !leaf.inner.is_empty() {
                line += &format!(" by {:?}", leaf.inner);
            }
            if let Some(shape) = &leaf.shape {
                line += &format!(" = {shape}");
            }
            if let Some(of) = &leaf.view_of {
                line += &format!(" of {of}");
            }
            line
        })
        .collect();
    lines.extend(sig.returned().iter().map(|value| {
        let ty = match value.kind {
            ReturnedKind::Scalar(scalar) => scalar.to_string(),
            ReturnedKind::Vec(scalar) => format!("Vec<{scalar}>"),
        };
        let inner = match value.inner.is_empty() {
            true => String::new(),
            false => format!(" by {:?}", value.inner),
        };
        format!("-> {}: {ty}{inner}", value.name)
    }));
    lines
}
