//! Cutting text into tokens.

use super::ParseError;

/// A token. Borrowed from the text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Token<'a> {
    /// An identifier or keyword; raw identifiers keep their `r#`.
    Word(&'a str),
    /// A number without sign, with its type suffix if it has one.
    Number { digits: &'a str, suffix: &'a str },
    /// Punctuation, the longest that fits.
    Punct(&'static str),
    /// The end of the text.
    End,
}

/// A token and where it starts, both 1-based.
#[derive(Clone, Copy, Debug)]
pub(super) struct Placed<'a> {
    pub token: Token<'a>,
    pub line: u32,
    pub col: u32,
}

/// Longest first.
const PUNCTUATION: [&str; 32] = [
    "->", "..", "::", "<<", ">>", "<=", ">=", "==", "!=", "(", ")", "[", "]", "{", "}", ",", ":",
    ";", "=", "+", "-", "*", "/", "%", "&", "|", "^", "<", ">", "!", ".", "#",
];

pub(super) fn lex(text: &str) -> Result<Vec<Placed<'_>>, ParseError> {
    let mut tokens = Vec::new();
    let (mut line, mut col, mut at) = (1u32, 1u32, 0usize);
    while at < text.len() {
        let rest = &text[at..];
        let first = rest.chars().next().unwrap_or('\0');
        if first == '\n' {
            line += 1;
            col = 1;
            at += 1;
            continue;
        }
        if first.is_whitespace() {
            at += first.len_utf8();
            col += 1;
            continue;
        }
        if rest.starts_with("//") {
            at += rest.find('\n').unwrap_or(rest.len());
            continue;
        }
        let (token, len) = next(rest).ok_or_else(|| ParseError {
            line,
            col,
            message: format!("unexpected character `{first}`"),
        })?;
        tokens.push(Placed { token, line, col });
        col += rest[..len].chars().count() as u32;
        at += len;
    }
    tokens.push(Placed {
        token: Token::End,
        line,
        col,
    });
    Ok(tokens)
}

fn next(rest: &str) -> Option<(Token<'_>, usize)> {
    let word_len = |text: &str| {
        text.char_indices()
            .find(|(_, c)| !(c.is_alphanumeric() || *c == '_'))
            .map_or(text.len(), |(i, _)| i)
    };
    let first = rest.chars().next()?;
    if first.is_ascii_digit() {
        let digits = number_len(rest);
        let suffix = word_len(&rest[digits..]);
        let token = Token::Number {
            digits: &rest[..digits],
            suffix: &rest[digits..digits + suffix],
        };
        return Some((token, digits + suffix));
    }
    if first.is_alphabetic() || first == '_' {
        let mut len = match rest.strip_prefix("r#") {
            Some(raw) => 2 + word_len(raw),
            None => word_len(rest),
        };
        // The way to a field: `self.height`. A range has two dots.
        while let Some(field) = rest[len..].strip_prefix('.')
            && field.starts_with(|c: char| c.is_alphanumeric() || c == '_')
        {
            len += 1 + word_len(field);
        }
        return Some((Token::Word(&rest[..len]), len));
    }
    let punct = PUNCTUATION.into_iter().find(|p| rest.starts_with(p))?;
    Some((Token::Punct(punct), punct.len()))
}

/// Length of `123`, `1.5`, `1e-7` or `1.5e30`; a `.` counts only before a digit, so that `0..n`
/// starts with `0`.
fn number_len(text: &str) -> usize {
    let bytes = text.as_bytes();
    let digits = |mut at: usize| {
        while bytes.get(at).is_some_and(u8::is_ascii_digit) {
            at += 1;
        }
        at
    };
    let mut at = digits(0);
    if bytes.get(at) == Some(&b'.') && bytes.get(at + 1).is_some_and(u8::is_ascii_digit) {
        at = digits(at + 1);
    }
    if matches!(bytes.get(at), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(at + 1), Some(b'-' | b'+')));
        if bytes.get(at + 1 + sign).is_some_and(u8::is_ascii_digit) {
            at = digits(at + 1 + sign);
        }
    }
    at
}
