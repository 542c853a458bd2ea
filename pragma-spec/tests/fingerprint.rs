//! Fingerprints: what changes them and what does not.

use pragma_spec::{
    Fingerprint, canonical_text, canonical_tokens, dependency_hash, fingerprint, harness_symbol,
};
use proc_macro2::{Delimiter, Group, Ident, Punct, Spacing, Span, TokenStream, TokenTree};
use proptest::prelude::*;

fn item(text: &str) -> syn::ItemFn {
    syn::parse_str(text).expect("a function")
}

fn tokens(text: &str) -> TokenStream {
    text.parse().expect("tokens")
}

fn print(attribute: &str, function: &str) -> Fingerprint {
    fingerprint(&tokens(attribute), &item(function))
}

const FUNCTION: &str =
    "fn sum(x: &[f32], n: usize) -> f32 { let mut s = 0.0; for i in 0..n { s += x[i]; } s }";

#[test]
fn what_does_not_change_the_meaning_does_not_count() {
    let base = print("shape(x = [n])", FUNCTION);
    for same in [
        "/// Docs.\n#[inline]\n#[must_use]\n#[cfg(unix)]\n#[allow(clippy::all)]\npub fn sum(x: &[f32], n: usize) -> f32 \
         { let mut s = 0.0; for i in 0..n { s += x[i]; } s }",
        "pub(crate) fn sum ( x : & [ f32 ] , n : usize ) -> f32 {\n\n // comment\n let mut s /* s */ = 0.0 ;\n\
         #[allow(unused)] #[expect(clippy::needless_range_loop, reason = \"clearer\")] for i in 0 .. n { s+=x[i]; } s }",
        "fn sum(#[allow(unused)] x: &[f32], n: usize) -> f32 { #![allow(unused)] let mut s = 0.0; /// doc\n\
         for i in 0..n { s += x[i]; } s }",
    ] {
        assert_eq!(print("shape(x = [n])", same), base, "{same}");
    }
    for same in [
        "shape(x = [n]), tune(n = 4), tune(n = 5)",
        "inputs(x = 0..1), shape ( x = [ n ] ) , targets(cuda)",
    ] {
        assert_eq!(print(same, FUNCTION), base, "{same}");
    }
    let (a, b) = ("exact, threads(1)", "threads(1), tune(n = 3), exact");
    assert_eq!(print(a, FUNCTION), print(b, FUNCTION));
}

#[test]
fn what_changes_the_meaning_counts() {
    let mut all = vec![print("shape(x = [n])", FUNCTION)];
    for other in [
        "",
        "shape(x = [m])",
        "shape(x = [n]), exact",
        "shape(x = [n]), threads(1)",
        "shape(x = [n]), assume(finite)",
    ] {
        all.push(print(other, FUNCTION));
    }
    for (from, to) in [
        ("sum", "sum2"),
        ("f32]", "f64]"),
        ("-> f32", "-> f64"),
        ("0.0", "0.00"),
        ("0..n", "0..=n"),
        ("s += x", "s -= x"),
        ("for i", "#[cfg(unix)] for i"),
        ("n: usize", "mut n: usize"),
    ] {
        all.push(print("shape(x = [n])", &FUNCTION.replacen(from, to, 1)));
    }
    let count = all.len();
    all.sort();
    all.dedup();
    assert_eq!(all.len(), count);
}

#[test]
fn the_text_is_readable_and_versioned() {
    let text = canonical_text(
        &tokens("tune(n = 1), exact, shape(x = [n])"),
        &item("pub fn f(x: &[u8]) { g(x) }"),
    );
    assert_eq!(
        text,
        "pragma-fingerprint-1\nexact\nshape ( x = [ n ] )\nfn f ( x : & [ u8 ] )\n{ g ( x ) }\n"
    );
    // A version of Pragma that computes another value makes every committed kernel stale: change VERSION with it.
    assert_eq!(
        print("exact", FUNCTION).as_str(),
        "sha256:58a278de0d7e445de51cc80975504290611cbe7f1ebb1fb562dbc3f5a7a1e3b8"
    );
    let printed = print("exact", FUNCTION);
    assert_eq!(printed.as_str().parse(), Ok(printed.clone()));
    assert_eq!(printed.short().len(), 12);
    assert!("sha256:00".parse::<Fingerprint>().is_err());
    assert!(
        printed
            .as_str()
            .to_uppercase()
            .parse::<Fingerprint>()
            .is_err()
    );
}

#[test]
fn invisible_groups_and_spacing_do_not_count() {
    let plain = canonical_tokens(tokens("a + b && c"));
    let inner: TokenStream = [
        TokenTree::Ident(Ident::new("a", Span::call_site())),
        TokenTree::Punct(Punct::new('+', Spacing::Joint)),
    ]
    .into_iter()
    .collect();
    let mut grouped: TokenStream = TokenTree::Group(Group::new(Delimiter::None, inner)).into();
    grouped.extend(tokens("b & & c"));
    assert_eq!(canonical_tokens(grouped), plain);
}

#[test]
fn dependencies_are_sorted() {
    let (a, b) = (
        ("a::f".to_owned(), tokens("fn f() {}")),
        ("b::F".to_owned(), tokens("const F: u8 = 1;")),
    );
    let both = dependency_hash(&[a.clone(), b.clone()]);
    assert_eq!(dependency_hash(&[b.clone(), a.clone(), b.clone()]), both);
    let commented = ("a::f".to_owned(), tokens("/// Doc.\n#[inline] fn f() { }"));
    assert_eq!(dependency_hash(&[commented, b.clone()]), both);
    let changed = ("b::F".to_owned(), tokens("const F: u8 = 2;"));
    assert_ne!(dependency_hash(&[a.clone(), changed]), both);
    assert_ne!(dependency_hash(&[a]), both);
}

#[test]
fn symbols_are_c_identifiers_and_distinct() {
    let printed = print("", FUNCTION);
    let symbol = |name: &str, file: &str, line| {
        let ident: Ident = syn::parse_str(name).expect("an identifier");
        harness_symbol(&ident, &printed, file, line, 4)
    };
    let one = symbol("sum", "lib.rs", 3);
    assert!(
        one.starts_with(&format!("pragma_reference_sum_{}_", printed.short())),
        "{one}"
    );
    assert_eq!(one.len(), "pragma_reference_sum_".len() + 12 + 1 + 8);
    assert_ne!(symbol("sum", "lib.rs", 4), one);
    assert_ne!(symbol("sum", "a.rs", 3), one);
    for name in ["r#match", "größe"] {
        let symbol = symbol(name, "lib.rs", 3);
        assert!(
            symbol
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || c == '_'),
            "{symbol}"
        );
    }
}

/// A token that can stand anywhere among others.
fn any_token() -> impl Strategy<Value = String> {
    prop_oneof![
        prop::sample::select(vec![
            "a", "b1", "r#type", "_", "fn", "1", "2.5f32", "0x1F", "1e-3", "\"s\"", "r#\"q\"#",
            "b\"b\"", "c\"c\"", "'c'", "b'x'", "'static", "+", "&&", "..=", "::", "->", "=>",
            ">>=", "|", "?", ";", ",", "(a, b)", "[1; 2]", "{ x }", "()",
        ])
        .prop_map(str::to_owned)
    ]
}

fn blank() -> impl Strategy<Value = String> {
    prop::sample::select(vec![
        " ",
        "\n\t",
        " /* c */ ",
        " // c\n",
        "\r\n",
        " #[doc = \"d\"] ",
        " #[allow(unused)] ",
        " /// d\n ",
    ])
    .prop_map(str::to_owned)
}

proptest! {
    #[test]
    fn blanks_never_count_and_tokens_always_do(
        list in prop::collection::vec((any_token(), blank()), 1..20),
        at in any::<prop::sample::Index>(),
        other in any_token(),
    ) {
        let join = |list: &[(String, String)]| -> String {
            list.iter().map(|(token, blank)| format!("{token}{blank}")).collect()
        };
        let plain: Vec<String> = list.iter().map(|(token, _)| token.clone()).collect();
        let base = canonical_tokens(tokens(&plain.join(" ")));
        prop_assert_eq!(&canonical_tokens(tokens(&join(&list))), &base);
        let i = at.index(list.len());
        let mut changed = plain.clone();
        if changed[i] != other {
            changed[i] = other;
            prop_assert_ne!(&canonical_tokens(tokens(&changed.join(" "))), &base);
        }
        let mut shorter = plain;
        shorter.remove(i);
        prop_assert_ne!(canonical_tokens(tokens(&shorter.join(" "))), base);
    }
}
