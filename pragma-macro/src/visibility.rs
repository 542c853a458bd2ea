//! The visibility of a re-export one module further in.

use proc_macro2::TokenStream;
use quote::quote;
use syn::Visibility;

/// What an item of visibility `vis` in module `m` must be declared as in `m::inner` to be visible in
/// the same places.
pub fn one_module_in(vis: &Visibility) -> TokenStream {
    let restricted = match vis {
        Visibility::Public(_) => return quote!(pub),
        Visibility::Inherited => return quote!(pub(super)),
        Visibility::Restricted(restricted) => restricted,
    };
    let path = &restricted.path;
    match path.segments.first().map(|first| first.ident.to_string()) {
        Some(first) if first == "self" => {
            // `pub(self)`, or `pub(in self::a)` which no module can write.
            quote!(pub(super))
        }
        Some(first) if first == "super" => quote!(pub(in super::#path)),
        _ => quote!(pub(in #path)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_visibility_moves_in() {
        for (outer, inner) in [
            ("", "pub (super)"),
            ("pub", "pub"),
            ("pub(crate)", "pub (in crate)"),
            ("pub(self)", "pub (super)"),
            ("pub(super)", "pub (in super :: super)"),
            ("pub(in super::super)", "pub (in super :: super :: super)"),
            ("pub(in crate::a)", "pub (in crate :: a)"),
        ] {
            let vis: Visibility = syn::parse_str(outer).expect("a visibility");
            assert_eq!(one_module_in(&vis).to_string(), inner, "{outer}");
        }
    }
}
