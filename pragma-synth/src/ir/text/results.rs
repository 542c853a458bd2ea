//! Reading what a program returns, where that is several values.

use pragma_spec::Scalar;

use super::lex::Token;
use super::parse::{Decl, Parsed, Parser};

/// One of several returned values.
pub(super) enum Part<'a> {
    Scalar(Scalar),
    Decl(Decl<'a>),
}

impl<'a> Parser<'a> {
    /// One of several returned values.
    pub(super) fn returned(&mut self) -> Parsed<Part<'a>> {
        if self.peek_second() == Token::Punct(":") {
            return Ok(Part::Decl(self.decl()?));
        }
        Ok(Part::Scalar(self.scalar()?))
    }
}
