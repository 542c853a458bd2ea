//! What types and constants of a crate are, for those who flatten signatures.

use pragma_spec::form::{Resolved, TypeLookup};

use super::SourceCrate;
use super::items::{Found, Items};

impl TypeLookup for SourceCrate {
    fn resolve(&self, module: &[String], segments: &[String]) -> Resolved<'_> {
        match Items::new(self).resolve(module, segments) {
            Found::Item(source, syn::Item::Struct(item)) => {
                Resolved::Struct(source.path.clone(), item)
            }
            Found::Item(source, syn::Item::Enum(item)) => Resolved::Enum(source.path.clone(), item),
            Found::Item(source, syn::Item::Type(item)) => {
                Resolved::Alias(source.path.clone(), item)
            }
            Found::Item(..) => Resolved::Unknown,
            Found::External(name) => Resolved::External(name),
        }
    }

    fn constant(&self, module: &[String], segments: &[String]) -> Option<u64> {
        constant(self, module, segments, 0)
    }
}

fn constant(
    krate: &SourceCrate,
    module: &[String],
    segments: &[String],
    depth: u32,
) -> Option<u64> {
    if depth > 16 {
        return None;
    }
    let items = Items::new(krate);
    if let Found::Item(source, syn::Item::Const(item)) = items.resolve(module, segments) {
        return value(krate, &source.path, &item.expr, depth);
    }
    // An associated constant: `Grid::WIDTH`.
    let (name, owner) = segments.split_last()?;
    match items.associated(owner.last()?, name)? {
        (source, _, syn::ImplItem::Const(item)) => value(krate, &source.path, &item.expr, depth),
        _ => None,
    }
}

fn value(krate: &SourceCrate, module: &[String], expr: &syn::Expr, depth: u32) -> Option<u64> {
    match expr {
        syn::Expr::Lit(syn::ExprLit {
            lit: syn::Lit::Int(int),
            ..
        }) => int.base10_parse().ok(),
        syn::Expr::Paren(inner) => value(krate, module, &inner.expr, depth),
        syn::Expr::Group(inner) => value(krate, module, &inner.expr, depth),
        syn::Expr::Cast(inner) => value(krate, module, &inner.expr, depth),
        syn::Expr::Path(path) if path.qself.is_none() => {
            let segments: Vec<String> = path
                .path
                .segments
                .iter()
                .map(|segment| segment.ident.to_string())
                .collect();
            constant(krate, module, &segments, depth + 1)
        }
        syn::Expr::Binary(binary) => {
            let a = value(krate, module, &binary.left, depth)?;
            let b = value(krate, module, &binary.right, depth)?;
            match binary.op {
                syn::BinOp::Add(_) => a.checked_add(b),
                syn::BinOp::Sub(_) => a.checked_sub(b),
                syn::BinOp::Mul(_) => a.checked_mul(b),
                syn::BinOp::Div(_) => a.checked_div(b),
                syn::BinOp::Shl(_) => u32::try_from(b).ok().and_then(|b| a.checked_shl(b)),
                _ => None,
            }
        }
        _ => None,
    }
}
