//! What identifies the meaning of a function, for telling fresh kernels from stale ones.
//!
//! Owns the hash and what goes into it. The text form of tokens is in `canonical`.

use std::fmt;
use std::str::FromStr;

use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;

use crate::canonical::canonical_tokens;
use crate::sha256::sha256;
use crate::signature::name_of;

/// First line of everything that is hashed; changes whenever the canonical form does.
const VERSION: &str = "pragma-fingerprint-1";

/// The attribute arguments that change what a kernel must compute or may do.
const RELEVANT_KEYS: [&str; 6] = [
    "shape",
    "tolerance",
    "exact",
    "assume",
    "threads",
    "instantiate",
];

/// A SHA-256 over canonical tokens, written `sha256:` and 64 hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Fingerprint(String);

/// The text is not a fingerprint.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a fingerprint: `sha256:` and 64 lower-case hexadecimal digits are expected")]
pub struct InvalidFingerprint(pub String);

impl Fingerprint {
    /// The fingerprint of a text.
    pub fn of_text(text: &str) -> Self {
        Fingerprint(format!("sha256:{}", hex_sha256(text.as_bytes())))
    }

    /// `sha256:` and 64 digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The digits without the `sha256:`.
    pub fn hex(&self) -> &str {
        self.0.strip_prefix("sha256:").unwrap_or(&self.0)
    }

    /// The first 12 digits, for symbol names and messages.
    pub fn short(&self) -> &str {
        self.hex().get(..12).unwrap_or(self.hex())
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for Fingerprint {
    type Err = InvalidFingerprint;

    fn from_str(text: &str) -> Result<Self, InvalidFingerprint> {
        let digit = |c: u8| c.is_ascii_digit() || (b'a'..=b'f').contains(&c);
        match text.strip_prefix("sha256:") {
            Some(hex) if hex.len() == 64 && hex.bytes().all(digit) => {
                Ok(Fingerprint(text.to_owned()))
            }
            _ => Err(InvalidFingerprint(text.to_owned())),
        }
    }
}

/// The fingerprint of an annotated function.
///
/// `attribute` is what stands between the parentheses of `#[pragma_kernel( .. )]`, empty for a bare one.
/// It need not be valid.
pub fn fingerprint(attribute: &TokenStream, item: &syn::ItemFn) -> Fingerprint {
    Fingerprint::of_text(&canonical_text(attribute, item))
}

/// The readable text that [`fingerprint`] hashes: format version, attribute parts that change the meaning (sorted), function.
///
/// All attributes on the function itself stay out: the compiler has evaluated and removed some of them (`cfg`) by
/// the time the macro runs, and none changes what the function computes. Visibility stays out too.
pub fn canonical_text(attribute: &TokenStream, item: &syn::ItemFn) -> String {
    let mut parts: Vec<String> = split_at_commas(attribute.clone())
        .into_iter()
        .filter(|part| RELEVANT_KEYS.contains(&part.0.as_str()))
        .map(|part| canonical_tokens(part.1))
        .collect();
    parts.sort();
    let mut text = format!("{VERSION}\n");
    for part in parts {
        text.push_str(&part);
        text.push('\n');
    }
    text.push_str(&canonical_tokens(item.sig.to_token_stream()));
    text.push('\n');
    text.push_str(&canonical_tokens(item.block.to_token_stream()));
    text.push('\n');
    text
}

/// The hash over helpers and constants that a function uses: path and tokens of each, in any order.
pub fn dependency_hash(items: &[(String, TokenStream)]) -> Fingerprint {
    let mut lines: Vec<String> = items
        .iter()
        .map(|(path, tokens)| format!("{path}: {}", canonical_tokens(tokens.clone())))
        .collect();
    lines.sort();
    lines.dedup();
    lines.insert(0, VERSION.to_owned());
    Fingerprint::of_text(&lines.join("\n"))
}

/// The name of the symbol that a harness build exports for a function's reference.
///
/// `file_name` is the last component of the source path; `line` counts from 1 and `column` from 0, in
/// characters, and both are those of the function's name. They keep equal functions of one crate apart.
pub fn harness_symbol(
    function: &syn::Ident,
    fingerprint: &Fingerprint,
    file_name: &str,
    line: usize,
    column: usize,
) -> String {
    let place = hex_sha256(format!("{file_name}:{line}:{column}").as_bytes());
    let mut name = String::new();
    for c in name_of(function).chars() {
        // Linkers and object formats differ in what else they allow.
        if c.is_ascii_alphanumeric() || c == '_' {
            name.push(c);
        } else {
            name.push_str(&format!("u{:x}", u32::from(c)));
        }
    }
    format!(
        "pragma_reference_{name}_{}_{}",
        fingerprint.short(),
        &place[..8]
    )
}

/// SHA-256 of a text with CRLF read as LF, as 64 hexadecimal digits, so that a checkout which
/// converts line ends changes nothing.
pub fn text_sha256(text: &str) -> String {
    if text.contains("\r\n") {
        hex_sha256(text.replace("\r\n", "\n").as_bytes())
    } else {
        hex_sha256(text.as_bytes())
    }
}

fn hex_sha256(bytes: &[u8]) -> String {
    let mut hex = String::with_capacity(64);
    for byte in sha256(bytes) {
        hex.push_str(&format!("{byte:02x}"));
    }
    hex
}

/// The comma-separated parts of an attribute, each with its first word.
fn split_at_commas(tokens: TokenStream) -> Vec<(String, TokenStream)> {
    let mut parts: Vec<(String, TokenStream)> = Vec::new();
    let mut open = false;
    for token in tokens {
        if let TokenTree::Punct(punct) = &token
            && punct.as_char() == ','
        {
            open = false;
            continue;
        }
        if !open {
            parts.push((token.to_string(), TokenStream::new()));
            open = true;
        }
        if let Some((_, part)) = parts.last_mut() {
            part.extend([token]);
        }
    }
    parts
}
