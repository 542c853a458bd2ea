//! Which names of a kernel's text mean what.
//!
//! Owns imports, the kernel's own items and the expansion of paths. Names are not resolved as a compiler does, but to all
//! that they could mean in any scope of the file; each of these must be allowed.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::Span;
use syn::visit::{self, Visit};
use syn::{Expr, Item, Pat, UseTree};

use super::names;

/// A path as text, without generic arguments and without a leading `::`.
pub fn text(path: &syn::Path) -> String {
    let segments: Vec<String> = path
        .segments
        .iter()
        .map(|segment| segment.ident.to_string())
        .collect();
    segments.join("::")
}

/// The names of a file.
#[derive(Debug, Default)]
pub struct Scope {
    /// What each imported name may stand for.
    imports: BTreeMap<String, BTreeSet<String>>,
    /// Whether the instructions of the processor are in scope by their bare names.
    instructions: bool,
    /// Types, generic parameters and aliases of the file.
    types: BTreeSet<String>,
    /// Functions, tuple structs and named closures of the file.
    callables: BTreeSet<String>,
    /// Bound variables.
    variables: BTreeSet<String>,
}

impl Scope {
    /// Collects the names of a file.
    pub fn of(file: &syn::File) -> Self {
        let mut scope = Scope::default();
        scope.visit_file(file);
        scope
    }

    /// Whether a bare name may mean a function.
    pub fn is_callable(&self, name: &str) -> bool {
        self.callables.contains(name)
            || names::CONSTRUCTORS.contains(&name)
            || (self.instructions && name.starts_with('_') && !self.variables.contains(name))
            || self.imports.get(name).is_some_and(|paths| {
                let function = |path: &String| {
                    let last = path.rsplit("::").next().unwrap_or(path);
                    last.starts_with(|first: char| first.is_lowercase() || first == '_')
                };
                paths.iter().any(function)
            })
    }

    /// Whether a path may mean `target`, a path under `core`.
    pub fn resolves_to(&self, path: &syn::Path, target: &str) -> bool {
        let wanted = target.strip_prefix("core::").unwrap_or(target);
        self.expand(path).iter().any(|path| {
            let path = path
                .strip_prefix("core::")
                .or_else(|| path.strip_prefix("std::"))
                .unwrap_or(path);
            path == wanted
        })
    }

    /// What a path may stand for, imports written out.
    fn expand(&self, path: &syn::Path) -> Vec<String> {
        let whole = text(path);
        let (first, rest) = match whole.split_once("::") {
            Some((first, rest)) => (first, Some(rest)),
            None => (whole.as_str(), None),
        };
        match self
            .imports
            .get(first)
            .filter(|_| path.leading_colon.is_none())
        {
            Some(roots) => roots
                .iter()
                .map(|root| rest.map_or_else(|| root.clone(), |rest| format!("{root}::{rest}")))
                .collect(),
            None => vec![whole],
        }
    }

    /// Whether a path may be named.
    ///
    /// # Errors
    /// What it is, where it may not.
    pub fn check(&self, path: &syn::Path) -> Result<(), String> {
        let whole = text(path);
        let first = path
            .segments
            .first()
            .map(|segment| segment.ident.to_string())
            .unwrap_or_default();
        let single = path.segments.len() == 1 && path.leading_colon.is_none();
        if let Some(roots) = self
            .imports
            .get(&first)
            .filter(|_| path.leading_colon.is_none())
        {
            // The import itself was checked; through a module more can be reached than it shows.
            let bad = self.expand(path).into_iter().find(|path| {
                let through_module = roots
                    .iter()
                    .any(|root| names::is_module(root) && path.starts_with(root.as_str()));
                let fine = names::is_allowed(path)
                    || Self::is_associated(roots, path)
                    || (single && through_module);
                !fine
            });
            return bad.map_or(Ok(()), |bad| Err(format!("`{bad}`")));
        }
        if single {
            let known = self.variables.contains(&whole)
                || self.types.contains(&whole)
                || self.callables.contains(&whole);
            let refused = names::is_not_arithmetic(&whole)
                || (self.instructions
                    && whole.starts_with('_')
                    && !known
                    && !names::is_instruction(&whole))
                || matches!(whole.as_str(), "super" | "crate" | "self");
            // `self` alone is a method's receiver.
            return if refused && whole != "self" {
                Err(format!("`{whole}`"))
            } else {
                Ok(())
            };
        }
        let own = first == "Self"
            || self.types.contains(&first)
            || (names::PRELUDE_TYPES.contains(&first.as_str()) && path.leading_colon.is_none());
        if own && path.leading_colon.is_none() {
            return Ok(());
        }
        if names::is_allowed(&whole)
            || names::is_allowed(&format!("{whole}::_")) && names::is_module(&whole)
        {
            return Ok(());
        }
        Err(format!("`{whole}`"))
    }

    /// Whether a path names something that belongs to an imported type.
    fn is_associated(roots: &BTreeSet<String>, path: &str) -> bool {
        roots.iter().any(|root| {
            let is_type = root.rsplit("::").next().is_some_and(|name| {
                name.starts_with(char::is_uppercase) || name.starts_with("__m")
            });
            is_type && names::is_allowed(root) && path.starts_with(&format!("{root}::"))
        })
    }

    fn import(&mut self, prefix: &str, tree: &UseTree) {
        let joined = |name: &str| {
            if prefix.is_empty() {
                name.to_owned()
            } else {
                format!("{prefix}::{name}")
            }
        };
        match tree {
            UseTree::Path(path) => self.import(&joined(&path.ident.to_string()), &path.tree),
            UseTree::Group(group) => group
                .items
                .iter()
                .for_each(|tree| self.import(prefix, tree)),
            UseTree::Glob(_) => {
                self.instructions |= names::may_glob(prefix) && prefix.ends_with("x86_64")
            }
            UseTree::Name(name) if name.ident == "self" => {
                let last = prefix.rsplit("::").next().unwrap_or(prefix).to_owned();
                self.imports
                    .entry(last)
                    .or_default()
                    .insert(prefix.to_owned());
            }
            UseTree::Name(name) => {
                let name = name.ident.to_string();
                self.imports
                    .entry(name.clone())
                    .or_default()
                    .insert(joined(&name));
            }
            UseTree::Rename(rename) => {
                let path = if rename.ident == "self" {
                    prefix.to_owned()
                } else {
                    joined(&rename.ident.to_string())
                };
                self.imports
                    .entry(rename.rename.to_string())
                    .or_default()
                    .insert(path);
            }
        }
    }
}

impl<'ast> Visit<'ast> for Scope {
    fn visit_item(&mut self, item: &'ast Item) {
        match item {
            Item::Use(item) => self.import("", &item.tree),
            Item::Fn(item) => {
                self.callables.insert(item.sig.ident.to_string());
            }
            Item::Struct(item) => {
                self.types.insert(item.ident.to_string());
                if matches!(item.fields, syn::Fields::Unnamed(_)) {
                    self.callables.insert(item.ident.to_string());
                }
            }
            Item::Enum(item) => {
                self.types.insert(item.ident.to_string());
                let constructors = item
                    .variants
                    .iter()
                    .filter(|variant| matches!(variant.fields, syn::Fields::Unnamed(_)));
                self.callables
                    .extend(constructors.map(|variant| variant.ident.to_string()));
            }
            Item::Type(item) => {
                self.types.insert(item.ident.to_string());
            }
            _ => {}
        }
        visit::visit_item(self, item);
    }

    fn visit_type_param(&mut self, param: &'ast syn::TypeParam) {
        self.types.insert(param.ident.to_string());
        visit::visit_type_param(self, param);
    }

    fn visit_pat_ident(&mut self, pat: &'ast syn::PatIdent) {
        self.variables.insert(pat.ident.to_string());
        visit::visit_pat_ident(self, pat);
    }

    fn visit_local(&mut self, local: &'ast syn::Local) {
        if let (Pat::Ident(name), Some(init)) = (&local.pat, &local.init)
            && matches!(&*init.expr, Expr::Closure(_))
        {
            self.callables.insert(name.ident.to_string());
        }
        visit::visit_local(self, local);
    }
}

/// Whether an item is `pub use MODULE::NAME`, of one of the modules that `is_module` knows.
pub fn is_reexport(item: &Item, is_module: impl Fn(&syn::Ident) -> bool) -> bool {
    let Item::Use(item) = item else {
        return false;
    };
    let named = match &item.tree {
        UseTree::Path(path) => is_module(&path.ident) && matches!(&*path.tree, UseTree::Name(_)),
        _ => false,
    };
    named && item.attrs.is_empty() && item.leading_colon.is_none()
}

/// Whether a `use` brings in nothing but what a kernel may name.
///
/// # Errors
/// Where and what, if it does not.
pub fn check(item: &syn::ItemUse) -> Result<(), (Span, String)> {
    check_tree("", &item.tree)
}

fn check_tree(prefix: &str, tree: &UseTree) -> Result<(), (Span, String)> {
    let joined = |name: &str| {
        if prefix.is_empty() {
            name.to_owned()
        } else {
            format!("{prefix}::{name}")
        }
    };
    let leaf = |span: Span, path: String| {
        if names::is_allowed(&path) || names::is_module(&path) {
            Ok(())
        } else {
            Err((span, format!("the import of `{path}`")))
        }
    };
    match tree {
        UseTree::Path(path) => check_tree(&joined(&path.ident.to_string()), &path.tree),
        UseTree::Group(group) => group
            .items
            .iter()
            .try_for_each(|tree| check_tree(prefix, tree)),
        UseTree::Glob(glob) if names::may_glob(prefix) => {
            let _ = glob;
            Ok(())
        }
        UseTree::Glob(glob) => Err((
            glob.star_token.spans[0],
            format!("the import of everything in `{prefix}`"),
        )),
        UseTree::Name(name) if name.ident == "self" => leaf(name.ident.span(), prefix.to_owned()),
        UseTree::Name(name) => leaf(name.ident.span(), joined(&name.ident.to_string())),
        UseTree::Rename(rename) if rename.ident == "self" => {
            leaf(rename.ident.span(), prefix.to_owned())
        }
        UseTree::Rename(rename) => leaf(rename.ident.span(), joined(&rename.ident.to_string())),
    }
}
