//! The error of everything that reads a user's source tokens.

use proc_macro2::{Ident, Span, TokenStream};
use quote::ToTokens;
use syn::spanned::Spanned;

/// Something in an attribute or a signature that Pragma cannot use.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{message}")]
pub struct SpecError {
    /// What is wrong, as a lower-case fragment.
    pub message: String,
    /// The tokens it is about; inside the compiler, which joins no spans on stable Rust, only the first of them.
    pub span: Span,
    /// The last of those tokens.
    pub end: Span,
    /// What to write instead, if there is one good answer.
    pub help: Option<String>,
    /// Whether the cause is that a definition is not known here, which may be fine elsewhere.
    pub needs_types: bool,
}

impl SpecError {
    /// An error at `span` without a suggestion.
    pub fn new(span: Span, message: impl Into<String>) -> Self {
        SpecError {
            message: message.into(),
            span,
            end: span,
            help: None,
            needs_types: false,
        }
    }

    /// An error about all of `tokens`, without a suggestion.
    pub fn spanned(tokens: &impl ToTokens, message: impl Into<String>) -> Self {
        let span = tokens.span();
        let last = tokens.to_token_stream().into_iter().last();
        SpecError {
            end: last.map_or(span, |token| token.span()),
            ..SpecError::new(span, message)
        }
    }

    /// The same error with a suggestion.
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

impl From<SpecError> for syn::Error {
    /// Message and suggestion in one text, for `compile_error!`.
    fn from(error: SpecError) -> Self {
        let text = match &error.help {
            Some(help) => format!("{}\n  = help: {help}", error.message),
            None => error.message.clone(),
        };
        // Any two tokens do: `syn` takes their spans.
        let ends = [error.span, error.end].map(|span| Ident::new("tokens", span));
        let mut tokens = TokenStream::new();
        tokens.extend(ends.map(|ident| ident.to_token_stream()));
        syn::Error::new_spanned(tokens, text)
    }
}

impl From<syn::Error> for SpecError {
    fn from(error: syn::Error) -> Self {
        SpecError::new(error.span(), error.to_string())
    }
}
