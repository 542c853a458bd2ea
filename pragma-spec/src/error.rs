//! The error of everything that reads a user's source tokens.

use proc_macro2::Span;

/// Something in an attribute or a signature that Pragma cannot use.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{message}")]
pub struct SpecError {
    /// What is wrong, as a lower-case fragment.
    pub message: String,
    /// The tokens it is about.
    pub span: Span,
    /// What to write instead, if there is one good answer.
    pub help: Option<String>,
}

impl SpecError {
    /// An error at `span` without a suggestion.
    pub fn new(span: Span, message: impl Into<String>) -> Self {
        SpecError {
            message: message.into(),
            span,
            help: None,
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
        syn::Error::new(error.span, text)
    }
}

impl From<syn::Error> for SpecError {
    fn from(error: syn::Error) -> Self {
        SpecError::new(error.span(), error.to_string())
    }
}
