//! `macro_rules!` of the crate: lists of impls made by macros, and macros in expressions.
//!
//! Knows matchers with fragments, groups and repetitions. What a macro of another crate does is
//! not known.

use std::collections::BTreeMap;

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};
use quote::ToTokens;
use syn::parse::{Parse, ParseStream, Parser};

use super::{SourceCrate, SourceModule};

/// Macros inside macros, at most.
const MAX_DEPTH: usize = 8;

/// The crate with the macros that stand among its items replaced by what they make; `None` if
/// there are none that are known.
pub(super) fn expand(krate: &SourceCrate) -> Option<SourceCrate> {
    let known = |item: &syn::Item| {
        matches!(item, syn::Item::Macro(item)
            if item.ident.is_none() && definition(krate, &item.mac.path).is_some())
    };
    if !krate
        .modules
        .iter()
        .any(|module| module.items.iter().any(known))
    {
        return None;
    }
    let modules = krate
        .modules
        .iter()
        .map(|module| {
            let mut items = Vec::with_capacity(module.items.len());
            for item in &module.items {
                expand_item(krate, item, &mut items, 0);
            }
            SourceModule {
                items,
                ..module.clone()
            }
        })
        .collect();
    Some(SourceCrate { modules })
}

fn expand_item(krate: &SourceCrate, item: &syn::Item, into: &mut Vec<syn::Item>, depth: usize) {
    if let syn::Item::Macro(call) = item
        && call.ident.is_none()
        && depth < MAX_DEPTH
        && let Some(definition) = definition(krate, &call.mac.path)
        && let Some(tokens) = apply(definition, call.mac.tokens.clone())
        && let Ok(file) = syn::parse2::<syn::File>(tokens)
    {
        for item in &file.items {
            expand_item(krate, item, into, depth + 1);
        }
        return;
    }
    into.push(item.clone());
}

/// The `macro_rules!` of the crate that a path names, if there is just one.
pub(super) fn definition<'k>(
    krate: &'k SourceCrate,
    path: &syn::Path,
) -> Option<&'k syn::ItemMacro> {
    let name = &path.segments.last()?.ident;
    let mut found = krate.modules.iter().flat_map(|module| {
        module.items.iter().filter_map(|item| match item {
            syn::Item::Macro(item) if item.ident.as_ref() == Some(name) => Some(item),
            _ => None,
        })
    });
    let first = found.next()?;
    found.next().is_none().then_some(first)
}

/// What `definition` makes of `input`; `None` if no rule fits, or one is not understood.
pub(super) fn apply(definition: &syn::ItemMacro, input: TokenStream) -> Option<TokenStream> {
    let tokens: Vec<TokenTree> = definition.mac.tokens.clone().into_iter().collect();
    let input: Vec<TokenTree> = input.into_iter().collect();
    let mut at = 0;
    while at < tokens.len() {
        let TokenTree::Group(matcher) = &tokens[at] else {
            return None;
        };
        // `(..) => {..};`
        let body = tokens.get(at + 3);
        let Some(TokenTree::Group(body)) = body else {
            return None;
        };
        at += 4;
        if matches!(tokens.get(at), Some(TokenTree::Punct(punct)) if punct.as_char() == ';') {
            at += 1;
        }
        let parts = pattern(matcher.stream())?;
        let mut bound = Bindings::new();
        if matches(&parts, &input, &mut bound) == Some(input.len()) {
            return transcribe(body.stream(), &bound);
        }
    }
    None
}

/// Identifiers that a macro's body brings along, which are not the caller's.
pub(super) fn own_idents(definition: &syn::ItemMacro) -> Vec<String> {
    fn walk(tokens: TokenStream, into: &mut Vec<String>) {
        for token in tokens {
            match token {
                TokenTree::Ident(ident) => into.push(ident.to_string()),
                TokenTree::Group(group) => walk(group.stream(), into),
                _ => {}
            }
        }
    }
    let mut found = Vec::new();
    walk(definition.mac.tokens.clone(), &mut found);
    found
}

enum Part {
    Token(TokenTree),
    Group(Delimiter, Vec<Part>),
    Fragment(String, String),
    Repeat {
        parts: Vec<Part>,
        separator: Option<TokenTree>,
        op: char,
    },
}

#[derive(Clone)]
enum Bound {
    One(TokenStream),
    Many(Vec<Bindings>),
}

type Bindings = BTreeMap<String, Bound>;

fn pattern(tokens: TokenStream) -> Option<Vec<Part>> {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let mut parts = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        match &tokens[at] {
            TokenTree::Punct(dollar) if dollar.as_char() == '$' => match tokens.get(at + 1)? {
                TokenTree::Ident(name) => {
                    let TokenTree::Ident(kind) = tokens.get(at + 3)? else {
                        return None;
                    };
                    parts.push(Part::Fragment(name.to_string(), kind.to_string()));
                    at += 4;
                }
                TokenTree::Group(group) => {
                    let inner = pattern(group.stream())?;
                    let (separator, op, next) = repetition(&tokens, at + 2)?;
                    parts.push(Part::Repeat {
                        parts: inner,
                        separator,
                        op,
                    });
                    at = next;
                }
                _ => return None,
            },
            TokenTree::Group(group) => {
                parts.push(Part::Group(group.delimiter(), pattern(group.stream())?));
                at += 1;
            }
            token => {
                parts.push(Part::Token(token.clone()));
                at += 1;
            }
        }
    }
    Some(parts)
}

/// What follows `$(..)`: a separator, if any, and `*`, `+` or `?`; and where that ends.
fn repetition(tokens: &[TokenTree], at: usize) -> Option<(Option<TokenTree>, char, usize)> {
    let op = |token: &TokenTree| match token {
        TokenTree::Punct(punct) if matches!(punct.as_char(), '*' | '+' | '?') => {
            Some(punct.as_char())
        }
        _ => None,
    };
    let first = tokens.get(at)?;
    match op(first) {
        Some(op) => Some((None, op, at + 1)),
        None => {
            let op = op(tokens.get(at + 1)?)?;
            Some((Some(first.clone()), op, at + 2))
        }
    }
}

fn same(a: &TokenTree, b: &TokenTree) -> bool {
    match (a, b) {
        (TokenTree::Ident(a), TokenTree::Ident(b)) => a == b,
        (TokenTree::Punct(a), TokenTree::Punct(b)) => a.as_char() == b.as_char(),
        (TokenTree::Literal(a), TokenTree::Literal(b)) => a.to_string() == b.to_string(),
        _ => false,
    }
}

/// How many tokens of `input` the parts take; `None` if they do not fit.
fn matches(parts: &[Part], input: &[TokenTree], bound: &mut Bindings) -> Option<usize> {
    let mut at = 0;
    for part in parts {
        match part {
            Part::Token(token) => {
                if !same(token, input.get(at)?) {
                    return None;
                }
                at += 1;
            }
            Part::Group(delimiter, inner) => {
                let TokenTree::Group(group) = input.get(at)? else {
                    return None;
                };
                let tokens: Vec<TokenTree> = group.stream().into_iter().collect();
                if group.delimiter() != *delimiter
                    || matches(inner, &tokens, bound)? != tokens.len()
                {
                    return None;
                }
                at += 1;
            }
            Part::Fragment(name, kind) => {
                let (tokens, count) = fragment(kind, &input[at..])?;
                bound.insert(name.clone(), Bound::One(tokens));
                at += count;
            }
            Part::Repeat {
                parts,
                separator,
                op,
            } => {
                let mut rounds = Vec::new();
                loop {
                    if *op == '?' && rounds.len() == 1 {
                        break;
                    }
                    let mut start = at;
                    if let (Some(separator), false) = (separator, rounds.is_empty()) {
                        match input.get(at) {
                            Some(token) if same(separator, token) => start += 1,
                            _ => break,
                        }
                    }
                    let mut round = Bindings::new();
                    if start > input.len() {
                        break;
                    }
                    match matches(parts, &input[start..], &mut round) {
                        Some(count) if count > 0 => {
                            at = start + count;
                            rounds.push(round);
                        }
                        _ => break,
                    }
                }
                if *op == '+' && rounds.is_empty() {
                    return None;
                }
                for name in names(parts) {
                    bound.insert(name, Bound::Many(rounds.clone()));
                }
            }
        }
    }
    Some(at)
}

fn names(parts: &[Part]) -> Vec<String> {
    parts
        .iter()
        .flat_map(|part| match part {
            Part::Fragment(name, _) => vec![name.clone()],
            Part::Group(_, parts) | Part::Repeat { parts, .. } => names(parts),
            Part::Token(_) => Vec::new(),
        })
        .collect()
}

/// The tokens of one fragment, and how many of the input they are.
fn fragment(kind: &str, input: &[TokenTree]) -> Option<(TokenStream, usize)> {
    let first = input.first()?;
    match kind {
        "tt" => return Some((first.clone().into(), 1)),
        "ident" => {
            return matches!(first, TokenTree::Ident(_)).then(|| (first.clone().into(), 1));
        }
        "literal" => {
            let minus = matches!(first, TokenTree::Punct(punct) if punct.as_char() == '-');
            let count = if minus { 2 } else { 1 };
            let is_bool =
                matches!(first, TokenTree::Ident(ident) if ident == "true" || ident == "false");
            let literal = matches!(input.get(count - 1), Some(TokenTree::Literal(_))) || is_bool;
            return literal.then(|| (input[..count].iter().cloned().collect(), count));
        }
        _ => {}
    }
    let stream: TokenStream = input.iter().cloned().collect();
    let (tokens, rest) = match kind {
        "ty" => prefix::<syn::Type>(stream)?,
        "path" => prefix::<syn::Path>(stream)?,
        "expr" => {
            let (tokens, rest) = prefix::<syn::Expr>(stream)?;
            // One operand, whatever stands around it.
            let group = Group::new(Delimiter::None, tokens);
            (TokenTree::Group(group).into(), rest)
        }
        "block" => prefix::<syn::Block>(stream)?,
        "item" => prefix::<syn::Item>(stream)?,
        "vis" => prefix::<syn::Visibility>(stream)?,
        _ => return None,
    };
    Some((tokens, input.len() - rest))
}

/// A piece of syntax at the start of `stream`, and how many tokens come after it.
fn prefix<T: Parse + ToTokens>(stream: TokenStream) -> Option<(TokenStream, usize)> {
    let parse = |input: ParseStream<'_>| -> syn::Result<(TokenStream, usize)> {
        let found: T = input.parse()?;
        let rest: TokenStream = input.parse()?;
        Ok((found.into_token_stream(), rest.into_iter().count()))
    };
    parse.parse2(stream).ok()
}

fn transcribe(body: TokenStream, bound: &Bindings) -> Option<TokenStream> {
    let tokens: Vec<TokenTree> = body.into_iter().collect();
    let mut out = TokenStream::new();
    let mut at = 0;
    while at < tokens.len() {
        match (&tokens[at], tokens.get(at + 1)) {
            (TokenTree::Punct(dollar), Some(TokenTree::Ident(name))) if dollar.as_char() == '$' => {
                if name == "crate" {
                    out.extend([TokenTree::Ident(name.clone())]);
                } else {
                    match bound.get(&name.to_string())? {
                        Bound::One(tokens) => out.extend(tokens.clone()),
                        Bound::Many(_) => return None,
                    }
                }
                at += 2;
            }
            (TokenTree::Punct(dollar), Some(TokenTree::Group(group)))
                if dollar.as_char() == '$' =>
            {
                let (separator, _, next) = repetition(&tokens, at + 2)?;
                let used = variables(group.stream());
                let rounds = used.iter().find_map(|name| match bound.get(name) {
                    Some(Bound::Many(rounds)) => Some(rounds.clone()),
                    _ => None,
                })?;
                for (i, round) in rounds.iter().enumerate() {
                    if let (Some(separator), true) = (&separator, i > 0) {
                        out.extend([separator.clone()]);
                    }
                    let mut inner = bound.clone();
                    // Other repetitions of the same depth go along.
                    for name in &used {
                        if let Some(Bound::Many(rounds)) = bound.get(name)
                            && let Some(value) = rounds.get(i).and_then(|round| round.get(name))
                        {
                            inner.insert(name.clone(), value.clone());
                        }
                    }
                    inner.extend(round.clone());
                    out.extend(transcribe(group.stream(), &inner)?);
                }
                at = next;
            }
            (TokenTree::Group(group), _) => {
                let inner = transcribe(group.stream(), bound)?;
                let mut copy = Group::new(group.delimiter(), inner);
                copy.set_span(group.span());
                out.extend([TokenTree::Group(copy)]);
                at += 1;
            }
            (token, _) => {
                out.extend([token.clone()]);
                at += 1;
            }
        }
    }
    Some(out)
}

/// The names after `$` in a body.
fn variables(body: TokenStream) -> Vec<String> {
    let tokens: Vec<TokenTree> = body.into_iter().collect();
    let mut found = Vec::new();
    for (i, token) in tokens.iter().enumerate() {
        match token {
            TokenTree::Group(group) => found.extend(variables(group.stream())),
            TokenTree::Ident(name) => {
                let after = i
                    .checked_sub(1)
                    .and_then(|before| tokens.get(before))
                    .is_some_and(
                        |token| matches!(token, TokenTree::Punct(punct) if punct.as_char() == '$'),
                    );
                if after {
                    found.push(name.to_string());
                }
            }
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(definition: &str, input: &str) -> Option<String> {
        let item: syn::ItemMacro = syn::parse_str(definition).unwrap();
        apply(&item, input.parse().unwrap()).map(|tokens| tokens.to_string())
    }

    #[test]
    fn lists_of_impls() {
        let text = "macro_rules! all { ($($t:ty),* $(,)?) => {$( impl Real for $t {} )*}; }";
        assert_eq!(
            made(text, "f32, f64,").unwrap(),
            "impl Real for f32 { } impl Real for f64 { }"
        );
        assert_eq!(made(text, "").unwrap(), "");
        assert_eq!(made(text, "f32 f64"), None);
    }

    #[test]
    fn rules_in_order_pairs_and_nesting() {
        let text = "macro_rules! m {
            (zero) => { 0 };
            ($a:expr, $b:expr) => { $a * $b };
            ($($k:ident = [$($v:literal)+]);+) => { [$(($($v),+)),+] };
        }";
        assert_eq!(made(text, "zero").unwrap(), "0");
        // What is handed in is one operand.
        let item: syn::ItemMacro = syn::parse_str(text).unwrap();
        let product = apply(&item, "x + 1, y".parse().unwrap()).unwrap();
        let product: syn::Expr = syn::parse2(product).unwrap();
        assert!(
            matches!(product, syn::Expr::Binary(binary) if matches!(binary.op, syn::BinOp::Mul(_)))
        );
        assert_eq!(
            made(text, "a = [1 -2]; b = [3]").unwrap().replace(' ', ""),
            "[(1,-2),(3)]"
        );
        assert_eq!(made(text, "a = []"), None);
    }
}
