//! Token streams as text that does not depend on who lexed them.
//!
//! Owns the canonical form that fingerprints are computed over. The same function gives the same text
//! whether its tokens come from the compiler, inside the macro, or from a parsed file, in the tool.

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// Attributes that say nothing about what code computes.
const IGNORED_ATTRIBUTES: [&str; 9] = [
    "allow", "warn", "deny", "forbid", "expect", "must_use", "inline", "cold", "doc",
];

/// `tokens` as one line: every token separated by one space.
///
/// Leaves out whitespace, comments, doc comments, the joint or alone state of punctuation,
/// invisible groups (their content stays), and lint, inline and doc attributes.
pub fn canonical_tokens(tokens: TokenStream) -> String {
    let mut out = String::new();
    write(tokens, &mut out);
    out.truncate(out.trim_end().len());
    out
}

fn write(tokens: TokenStream, out: &mut String) {
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        match token {
            TokenTree::Group(group) => {
                let (open, close) = match group.delimiter() {
                    Delimiter::Parenthesis => ("(", ")"),
                    Delimiter::Brace => ("{", "}"),
                    Delimiter::Bracket => ("[", "]"),
                    Delimiter::None => ("", ""),
                };
                if open.is_empty() {
                    write(group.stream(), out);
                    continue;
                }
                push(open, out);
                write(group.stream(), out);
                push(close, out);
            }
            TokenTree::Punct(punct) if punct.as_char() == '#' => {
                let inner =
                    matches!(tokens.peek(), Some(TokenTree::Punct(p)) if p.as_char() == '!');
                let bang = if inner { tokens.next() } else { None };
                match tokens.peek() {
                    Some(TokenTree::Group(group))
                        if group.delimiter() == Delimiter::Bracket && ignored(group) =>
                    {
                        tokens.next();
                    }
                    _ => {
                        push("#", out);
                        if bang.is_some() {
                            push("!", out);
                        }
                    }
                }
            }
            TokenTree::Punct(punct) => {
                push(punct.as_char().encode_utf8(&mut [0; 4]), out);
            }
            TokenTree::Ident(ident) => push(&ident.to_string(), out),
            TokenTree::Literal(literal) => push(&literal.to_string(), out),
        }
    }
}

fn ignored(attribute: &proc_macro2::Group) -> bool {
    match attribute.stream().into_iter().next() {
        Some(TokenTree::Ident(name)) => IGNORED_ATTRIBUTES.iter().any(|known| name == *known),
        _ => false,
    }
}

fn push(token: &str, out: &mut String) {
    out.push_str(token);
    out.push(' ');
}
