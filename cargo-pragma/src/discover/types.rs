//! What the crate's own types and constants are, for reading signatures.
//!
//! Owns paths: modules, `use` with renames and globs, `self`, `super` and `crate`. Macros are not expanded, so a type that
//! a macro makes is not seen. What a signature looked at is remembered: its kernels depend on it.

use std::cell::RefCell;
use std::collections::BTreeMap;

use pragma_spec::form::{Resolved, TypeLookup};
use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::{Expr, ImplItem, Item, UseTree};

use super::modules::{Module, is_for_tests};

/// Constants that are made of constants that are made of constants: deeper is a circle.
const MAX_DEPTH: u32 = 32;

/// The items of one crate by path.
#[derive(Debug)]
pub struct CrateTypes<'a> {
    modules: BTreeMap<&'a [String], &'a Module>,
    /// Definitions that were asked for: path and tokens.
    used: RefCell<BTreeMap<String, TokenStream>>,
}

/// What names in modules were found to mean during one lookup; `None` also while that is being found out, so that
/// circles of imports end, and no module is searched twice.
type Known<'a> = BTreeMap<(Vec<String>, String), Option<Found<'a>>>;

/// What a path names.
#[derive(Clone)]
enum Found<'a> {
    Module(Vec<String>),
    Item(Vec<String>, &'a Item),
    External(String),
}

impl<'a> CrateTypes<'a> {
    /// The types of a crate with these modules.
    pub fn new(modules: &'a [Module]) -> Self {
        CrateTypes {
            modules: modules
                .iter()
                .map(|module| (module.path.as_slice(), module))
                .collect(),
            used: RefCell::default(),
        }
    }

    /// The definitions that lookups found since the last time, by path.
    pub fn take_used(&self) -> Vec<(String, TokenStream)> {
        std::mem::take(&mut *self.used.borrow_mut())
            .into_iter()
            .collect()
    }

    /// The module and item that `segments` name in `module`, or the full path of something elsewhere.
    fn find(&self, module: &[String], segments: &[String]) -> Option<Found<'a>> {
        self.walk(module, segments, &mut Known::new())
    }

    fn walk(
        &self,
        module: &[String],
        segments: &[String],
        known: &mut Known<'a>,
    ) -> Option<Found<'a>> {
        let (first, rest) = segments.split_first()?;
        let mut place = match first.as_str() {
            "crate" => Found::Module(Vec::new()),
            "self" => Found::Module(module.to_vec()),
            "super" => Found::Module(parent(module)?),
            name => match self.member(module, name, known) {
                Some(found) => found,
                None => Found::External(name.to_owned()),
            },
        };
        for name in rest {
            place = match place {
                Found::External(path) => Found::External(format!("{path}::{name}")),
                Found::Module(path) if name == "super" => Found::Module(parent(&path)?),
                Found::Module(path) => self.member(&path, name, known)?,
                // A variant or an associated item: none of a type's business.
                Found::Item(..) => return None,
            };
        }
        Some(place)
    }

    /// What `name` means in the module at `path`.
    fn member(&self, path: &[String], name: &str, known: &mut Known<'a>) -> Option<Found<'a>> {
        let key = (path.to_vec(), name.to_owned());
        if let Some(found) = known.get(&key) {
            return found.clone();
        }
        known.insert(key.clone(), None);
        let found = self.search(path, name, known);
        known.insert(key, found.clone());
        found
    }

    fn search(&self, path: &[String], name: &str, known: &mut Known<'a>) -> Option<Found<'a>> {
        let module = self.modules.get(path)?;
        let own = module
            .items
            .iter()
            .find(|item| name_of(item).as_deref() == Some(name));
        if let Some(item) = own {
            return Some(Found::Item(path.to_vec(), item));
        }
        let mut child = path.to_vec();
        child.push(name.to_owned());
        if self.modules.contains_key(child.as_slice()) {
            return Some(Found::Module(child));
        }
        let mut globs = Vec::new();
        for item in &module.items {
            let Item::Use(item) = item else { continue };
            for import in imports(&item.tree) {
                match import.name {
                    Some(imported) if imported == name => {
                        let target = self.walk(path, &import.path, known);
                        if target.is_some() {
                            return target;
                        }
                    }
                    Some(_) => {}
                    None => globs.push(import.path),
                }
            }
        }
        globs
            .iter()
            .find_map(|glob| match self.walk(path, glob, known)? {
                Found::Module(module) => self.member(&module, name, known),
                _ => None,
            })
    }

    fn remember(&self, module: &[String], name: &syn::Ident, item: impl ToTokens) {
        let mut path = module.to_vec();
        path.push(name.to_string());
        self.used
            .borrow_mut()
            .insert(path.join("::"), item.to_token_stream());
    }

    fn constant_at(&self, module: &[String], segments: &[String], depth: u32) -> Option<u64> {
        if depth > MAX_DEPTH {
            return None;
        }
        match self.find(module, segments) {
            Some(Found::Item(place, Item::Const(item))) => {
                self.remember(&place, &item.ident, item);
                self.value(&place, &item.expr, depth + 1)
            }
            Some(Found::Item(..) | Found::Module(_) | Found::External(_)) | None => {
                self.associated_constant(module, segments, depth)
            }
        }
    }

    /// `Type::NAME`.
    fn associated_constant(
        &self,
        module: &[String],
        segments: &[String],
        depth: u32,
    ) -> Option<u64> {
        let (name, of) = segments.split_last()?;
        let Some(Found::Item(place, item)) = self.find(module, of) else {
            return None;
        };
        let kind = name_of(item)?;
        self.modules.values().find_map(|module| {
            module.items.iter().find_map(|item| {
                let Item::Impl(item) = item else { return None };
                if item.trait_.is_some() || type_name(&item.self_ty)? != kind {
                    return None;
                }
                item.items.iter().find_map(|member| match member {
                    ImplItem::Const(member) if member.ident == name.as_str() => {
                        self.remember(&place, &member.ident, member);
                        self.value(&module.path, &member.expr, depth + 1)
                    }
                    _ => None,
                })
            })
        })
    }

    /// The value of an integer expression.
    fn value(&self, module: &[String], expr: &Expr, depth: u32) -> Option<u64> {
        match expr {
            Expr::Lit(syn::ExprLit {
                lit: syn::Lit::Int(int),
                ..
            }) => int.base10_parse().ok(),
            Expr::Paren(paren) => self.value(module, &paren.expr, depth),
            Expr::Group(group) => self.value(module, &group.expr, depth),
            Expr::Cast(cast) => self.value(module, &cast.expr, depth),
            Expr::Block(block) => match &block.block.stmts[..] {
                [syn::Stmt::Expr(expr, None)] => self.value(module, expr, depth),
                _ => None,
            },
            Expr::Path(path) if path.qself.is_none() => {
                let segments = path.path.segments.iter();
                let segments: Vec<String> = segments.map(|s| plain(&s.ident)).collect();
                self.constant_at(module, &segments, depth + 1)
            }
            Expr::Binary(binary) => {
                let a = self.value(module, &binary.left, depth + 1)?;
                let b = self.value(module, &binary.right, depth + 1)?;
                match binary.op {
                    syn::BinOp::Add(_) => a.checked_add(b),
                    syn::BinOp::Sub(_) => a.checked_sub(b),
                    syn::BinOp::Mul(_) => a.checked_mul(b),
                    syn::BinOp::Div(_) => a.checked_div(b),
                    syn::BinOp::Rem(_) => a.checked_rem(b),
                    syn::BinOp::Shl(_) => u64::checked_shl(a, u32::try_from(b).ok()?),
                    syn::BinOp::Shr(_) => u64::checked_shr(a, u32::try_from(b).ok()?),
                    _ => None,
                }
            }
            _ => None,
        }
    }
}

impl TypeLookup for CrateTypes<'_> {
    fn resolve(&self, module: &[String], segments: &[String]) -> Resolved<'_> {
        match self.find(module, segments) {
            Some(Found::Item(place, Item::Struct(item))) => {
                self.remember(&place, &item.ident, meaning_of_struct(item));
                Resolved::Struct(place, item)
            }
            Some(Found::Item(place, Item::Enum(item))) => {
                let mut bare = item.clone();
                bare.attrs.clear();
                for variant in &mut bare.variants {
                    variant.attrs.clear();
                }
                self.remember(&place, &item.ident, bare);
                Resolved::Enum(place, item)
            }
            Some(Found::Item(place, Item::Type(item))) => {
                let mut bare = item.clone();
                bare.attrs.clear();
                self.remember(&place, &item.ident, bare);
                Resolved::Alias(place, item)
            }
            Some(Found::External(path)) => Resolved::External(path),
            // A trait, a module, a union: no type that a kernel could take.
            Some(Found::Item(..) | Found::Module(_)) | None => {
                Resolved::External(segments.join("::"))
            }
        }
    }

    fn constant(&self, module: &[String], segments: &[String]) -> Option<u64> {
        self.constant_at(module, segments, 0)
    }
}

/// A struct without what changes nothing for kernels: documentation, derives.
fn meaning_of_struct(item: &syn::ItemStruct) -> syn::ItemStruct {
    let mut bare = item.clone();
    bare.attrs.retain(|attr| attr.path().is_ident("repr"));
    bare.fields.iter_mut().for_each(|field| field.attrs.clear());
    bare
}

/// An identifier without `r#`.
fn plain(ident: &syn::Ident) -> String {
    let text = ident.to_string();
    text.strip_prefix("r#").map(str::to_owned).unwrap_or(text)
}

fn parent(module: &[String]) -> Option<Vec<String>> {
    let (_, above) = module.split_last()?;
    Some(above.to_vec())
}

/// The name of an item that a type or constant path may mean.
fn name_of(item: &Item) -> Option<String> {
    let (ident, attrs) = match item {
        Item::Struct(item) => (&item.ident, &item.attrs),
        Item::Enum(item) => (&item.ident, &item.attrs),
        Item::Type(item) => (&item.ident, &item.attrs),
        Item::Const(item) => (&item.ident, &item.attrs),
        Item::Union(item) => (&item.ident, &item.attrs),
        Item::Trait(item) => (&item.ident, &item.attrs),
        _ => return None,
    };
    if is_for_tests(attrs) {
        return None;
    }
    Some(plain(ident))
}

/// The last segment of a type's path.
pub fn type_name(ty: &syn::Type) -> Option<String> {
    match ty {
        syn::Type::Path(path) if path.qself.is_none() => {
            path.path.segments.last().map(|last| plain(&last.ident))
        }
        syn::Type::Paren(paren) => type_name(&paren.elem),
        syn::Type::Group(group) => type_name(&group.elem),
        _ => None,
    }
}

/// One name that a `use` brings, or a glob.
struct Import {
    /// The name it has here; `None` for `*`.
    name: Option<String>,
    /// The path behind it.
    path: Vec<String>,
}

fn imports(tree: &UseTree) -> Vec<Import> {
    fn walk(tree: &UseTree, before: &mut Vec<String>, out: &mut Vec<Import>) {
        match tree {
            UseTree::Path(path) => {
                before.push(plain(&path.ident));
                walk(&path.tree, before, out);
                before.pop();
            }
            UseTree::Group(group) => group.items.iter().for_each(|tree| walk(tree, before, out)),
            UseTree::Glob(_) => out.push(Import {
                name: None,
                path: before.clone(),
            }),
            UseTree::Name(name) if name.ident == "self" => out.push(Import {
                name: before.last().cloned(),
                path: before.clone(),
            }),
            UseTree::Name(name) => {
                let name = plain(&name.ident);
                let mut path = before.clone();
                path.push(name.clone());
                out.push(Import {
                    name: Some(name),
                    path,
                });
            }
            UseTree::Rename(rename) => {
                let mut path = before.clone();
                if rename.ident != "self" {
                    path.push(plain(&rename.ident));
                }
                out.push(Import {
                    name: Some(plain(&rename.rename)),
                    path,
                });
            }
        }
    }
    let mut out = Vec::new();
    walk(tree, &mut Vec::new(), &mut out);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn modules(files: &[(&str, &str)]) -> Vec<Module> {
        files
            .iter()
            .map(|(path, text)| Module {
                path: path
                    .split("::")
                    .filter(|part| !part.is_empty())
                    .map(str::to_owned)
                    .collect(),
                file: "x.rs".into(),
                items: syn::parse_file(text).expect("valid source").items,
            })
            .collect()
    }

    fn resolve(modules: &[Module], module: &str, path: &str) -> String {
        let split = |text: &str| -> Vec<String> {
            text.split("::")
                .filter(|part| !part.is_empty())
                .map(str::to_owned)
                .collect()
        };
        let types = CrateTypes::new(modules);
        match types.resolve(&split(module), &split(path)) {
            Resolved::Struct(module, item) => {
                format!("struct {}::{}", module.join("::"), item.ident)
            }
            Resolved::Enum(module, item) => format!("enum {}::{}", module.join("::"), item.ident),
            Resolved::Alias(module, item) => format!("type {}::{}", module.join("::"), item.ident),
            Resolved::External(path) => format!("extern {path}"),
            Resolved::Unknown => "unknown".to_owned(),
        }
    }

    #[test]
    fn paths_lead_where_rustc_goes() {
        let crate_ = modules(&[
            (
                "",
                "pub mod a; mod b; pub struct Root; use a::inner::Deep as D; pub use b::*;",
            ),
            (
                "a",
                "pub mod inner; use super::Root; use half::f16; use ndarray::{self, Array2 as Mat, ArrayView1}; pub enum E { X }",
            ),
            (
                "a::inner",
                "pub struct Deep; use super::super::b::Alias; use super::E; use crate::a;",
            ),
            (
                "b",
                "pub type Alias = f32; #[cfg(test)] pub struct Tested; use crate::a::inner::*; pub use missing::Gone;",
            ),
        ]);
        for (module, path, expected) in [
            ("", "Root", "struct ::Root"),
            ("", "D", "struct a::inner::Deep"),
            ("", "Alias", "type b::Alias"),
            ("", "a::E", "enum a::E"),
            ("a", "Root", "struct ::Root"),
            ("a", "f16", "extern half::f16"),
            ("a", "Mat", "extern ndarray::Array2"),
            ("a", "ndarray::Array3", "extern ndarray::Array3"),
            ("a", "inner::Deep", "struct a::inner::Deep"),
            ("a", "self::inner::Deep", "struct a::inner::Deep"),
            ("a::inner", "Alias", "type b::Alias"),
            ("a::inner", "E", "enum a::E"),
            ("a::inner", "a::E", "enum a::E"),
            ("a::inner", "super::super::Root", "struct ::Root"),
            ("b", "Deep", "struct a::inner::Deep"),
            ("b", "Tested", "extern Tested"),
            ("b", "Gone", "extern missing::Gone"),
            ("b", "Vec", "extern Vec"),
            ("b", "std::vec::Vec", "extern std::vec::Vec"),
            ("b", "crate::a::E", "enum a::E"),
        ] {
            assert_eq!(resolve(&crate_, module, path), expected, "{module}: {path}");
        }
    }

    #[test]
    fn circles_end() {
        let crate_ = modules(&[
            ("", "pub mod a; pub mod b;"),
            ("a", "pub use super::b::X; pub use super::b::*;"),
            ("b", "pub use super::a::X; pub use super::a::*;"),
        ]);
        assert!(resolve(&crate_, "a", "X").starts_with("extern"));
        assert!(resolve(&crate_, "a", "Y").starts_with("extern"));
    }

    #[test]
    fn constants_have_values() {
        let crate_ = modules(&[
            (
                "",
                "pub mod m; use m::K; const N: usize = 2 * K + (1 << 3); struct S; impl S { const D: usize = N - 1; }",
            ),
            (
                "m",
                "pub const K: usize = 32 as usize; const BAD: usize = K - 33; const LOOP: usize = LOOP;",
            ),
        ]);
        let types = CrateTypes::new(&crate_);
        let constant = |module: &[&str], path: &[&str]| {
            let owned = |parts: &[&str]| -> Vec<String> {
                parts.iter().map(|part| (*part).to_owned()).collect()
            };
            types.constant(&owned(module), &owned(path))
        };
        assert_eq!(constant(&[], &["N"]), Some(72));
        assert_eq!(constant(&[], &["m", "K"]), Some(32));
        assert_eq!(constant(&[], &["S", "D"]), Some(71));
        assert_eq!(constant(&["m"], &["BAD"]), None);
        assert_eq!(constant(&["m"], &["LOOP"]), None);
        let used: Vec<String> = types
            .take_used()
            .into_iter()
            .map(|(path, _)| path)
            .collect();
        assert!(
            used.contains(&"N".to_owned()) && used.contains(&"m::K".to_owned()),
            "{used:?}"
        );
    }

    #[test]
    fn documentation_is_no_part_of_a_definition() {
        let text = |source: &str| {
            let crate_ = modules(&[("", source)]);
            let types = CrateTypes::new(&crate_);
            let _ = types.resolve(&[], &["S".to_owned()]);
            types.take_used()[0].1.to_string()
        };
        let plain = text("struct S { x: f32 }");
        assert_eq!(
            text("/// Doc.\n#[derive(Clone)] struct S { /** y */ x: f32 }"),
            plain
        );
        assert_ne!(text("#[repr(C)] struct S { x: f32 }"), plain);
    }
}
