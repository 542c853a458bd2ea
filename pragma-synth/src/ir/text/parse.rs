//! Reading a program from text: its head and declarations.

use std::collections::HashMap;

use pragma_spec::{Scalar, Shape};

use super::lex::{Placed, Token, lex};
use super::results::Part;
use crate::ir::{BufDecl, BufId, BufRole, Param, Program, Returned, Returns, VarDecl, VarId};

/// Why a text is not a program.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{line}:{col}: {message}")]
pub struct ParseError {
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub col: u32,
    /// What is wrong.
    pub message: String,
}

/// Reads one program.
///
/// # Errors
/// If the text is not in the form described in the module documentation, names something that
/// it has not declared, or declares a name twice. Types are `verify`'s business.
pub fn parse(text: &str) -> Result<Program, ParseError> {
    let mut parser = Parser {
        tokens: lex(text)?,
        at: 0,
        depth: 0,
        program: Program::default(),
        names: HashMap::new(),
        var_table: false,
        buf_table: false,
    };
    parser.kernel()?;
    Ok(parser.program)
}

/// Blocks and parentheses may nest this deep; more could exhaust the stack.
const MAX_DEPTH: u32 = 200;

#[derive(Clone, Copy)]
pub(super) enum Name {
    Var(VarId),
    Buf(BufId),
    Dim(usize),
}

pub(super) struct Parser<'a> {
    tokens: Vec<Placed<'a>>,
    at: usize,
    depth: u32,
    program: Program,
    pub(super) names: HashMap<&'a str, Name>,
    /// A table has declared every variable (buffer) already.
    var_table: bool,
    buf_table: bool,
}

pub(super) type Parsed<T> = Result<T, ParseError>;

impl<'a> Parser<'a> {
    pub(super) fn peek(&self) -> Token<'a> {
        self.tokens[self.at].token
    }

    pub(super) fn peek_second(&self) -> Token<'a> {
        self.tokens[(self.at + 1).min(self.tokens.len() - 1)].token
    }

    pub(super) fn advance(&mut self) -> Token<'a> {
        let token = self.peek();
        if self.at + 1 < self.tokens.len() {
            self.at += 1;
        }
        token
    }

    pub(super) fn error<T>(&self, message: impl Into<String>) -> Parsed<T> {
        let Placed { line, col, .. } = self.tokens[self.at];
        Err(ParseError {
            line,
            col,
            message: message.into(),
        })
    }

    pub(super) fn expected<T>(&self, what: &str) -> Parsed<T> {
        let found = match self.peek() {
            Token::Word(word) => format!("`{word}`"),
            Token::Number { digits, suffix } => format!("`{digits}{suffix}`"),
            Token::Punct(punct) => format!("`{punct}`"),
            Token::End => "the end".to_owned(),
        };
        self.error(format!("expected {what}, found {found}"))
    }

    pub(super) fn eat(&mut self, punct: &'static str) -> bool {
        let found = self.peek() == Token::Punct(punct);
        if found {
            self.advance();
        }
        found
    }

    pub(super) fn eat_word(&mut self, word: &str) -> bool {
        let found = self.peek() == Token::Word(word);
        if found {
            self.advance();
        }
        found
    }

    pub(super) fn need(&mut self, punct: &'static str) -> Parsed<()> {
        if self.eat(punct) {
            return Ok(());
        }
        self.expected(&format!("`{punct}`"))
    }

    pub(super) fn need_word(&mut self, word: &str) -> Parsed<()> {
        if self.eat_word(word) {
            return Ok(());
        }
        self.expected(&format!("`{word}`"))
    }

    pub(super) fn word(&mut self, what: &str) -> Parsed<&'a str> {
        match self.peek() {
            Token::Word(word) => {
                self.advance();
                Ok(word)
            }
            _ => self.expected(what),
        }
    }

    pub(super) fn natural<T: std::str::FromStr>(&mut self) -> Parsed<T> {
        match self.peek() {
            Token::Number { digits, suffix: "" } => match digits.parse() {
                Ok(value) => {
                    self.advance();
                    Ok(value)
                }
                Err(_) => self.error(format!("`{digits}` is not a number that fits here")),
            },
            _ => self.expected("a number"),
        }
    }

    pub(super) fn scalar(&mut self) -> Parsed<Scalar> {
        match self.peek() {
            Token::Word(word) => match word.parse() {
                Ok(scalar) => {
                    self.advance();
                    Ok(scalar)
                }
                Err(_) => self.expected("a scalar type"),
            },
            _ => self.expected("a scalar type"),
        }
    }

    /// `open`, items separated by commas, `close`.
    pub(super) fn list<T>(
        &mut self,
        open: &'static str,
        close: &'static str,
        item: impl Fn(&mut Self) -> Parsed<T>,
    ) -> Parsed<Vec<T>> {
        self.need(open)?;
        let mut items = Vec::new();
        while !self.eat(close) {
            if !items.is_empty() {
                self.need(",")?;
            }
            items.push(item(self)?);
        }
        Ok(items)
    }

    pub(super) fn nested<T>(&mut self, inner: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth == MAX_DEPTH {
            return self.error(format!("nested deeper than {MAX_DEPTH}"));
        }
        self.depth += 1;
        let result = inner(self);
        self.depth -= 1;
        result
    }

    fn kernel(&mut self) -> Parsed<()> {
        self.need_word("kernel")?;
        self.program.name = self.word("the kernel's name")?.to_owned();
        // Dimensions are declared after the parameters that mention them, and tables after
        // both, so declarations are read first and resolved once everything is known.
        let params = self.list("(", ")", Self::decl)?;
        let mut returned = Vec::new();
        let mut mixed = false;
        if self.eat("->") {
            if self.peek() == Token::Punct("(") {
                let parts = self.list("(", ")", Self::returned)?;
                mixed = parts.iter().any(|part| matches!(part, Part::Decl(_)));
                let scalar = |part: &Part<'a>| match part {
                    Part::Scalar(scalar) => Some(*scalar),
                    Part::Decl(_) => None,
                };
                self.program.returns = Returns::Scalars(parts.iter().filter_map(scalar).collect());
                returned = parts;
            } else if self.peek_second() == Token::Punct(":") {
                returned.push(Part::Decl(self.decl()?));
            } else {
                self.program.returns = Returns::Scalars(vec![self.scalar()?]);
            }
        }
        self.need_word("dims")?;
        for dim in self.list("(", ")", |p| p.word("a dimension"))? {
            let index = self.program.dims.len();
            self.bind(dim, Name::Dim(index))?;
            self.program.dims.push(dim.to_owned());
        }
        if self.eat_word("vars") {
            for decl in self.list("(", ")", Self::decl)? {
                match decl {
                    Decl::Var(name, decl) => self.new_var(name, decl)?,
                    _ => return self.error("`vars(..)` lists scalar variables"),
                };
            }
            self.var_table = true;
        }
        if self.eat_word("bufs") {
            for decl in self.list("(", ")", Self::decl)? {
                match decl {
                    Decl::Buf(name, decl) => self.new_buf(name, decl)?,
                    _ => return self.error("`bufs(..)` lists buffers"),
                };
            }
            self.buf_table = true;
        }
        for decl in params {
            let param = match decl {
                Decl::Var(name, decl) => Param::Scalar(self.var(name, decl)?),
                Decl::Buf(name, decl) => Param::Buffer(self.buf(name, decl)?),
                Decl::Dim(name) => match self.names.get(name) {
                    Some(Name::Dim(index)) => Param::Dim(*index),
                    _ => return self.error(format!("`{name}` is missing in `dims(..)`")),
                },
            };
            self.program.params.push(param);
        }
        let mut parts = Vec::with_capacity(returned.len());
        for part in returned {
            parts.push(match part {
                Part::Scalar(scalar) => Returned::Scalar(scalar),
                Part::Decl(Decl::Buf(name, decl)) => Returned::Buffer(self.buf(name, decl)?),
                Part::Decl(_) => return self.error("only a buffer is returned under a name"),
            });
        }
        match parts[..] {
            [Returned::Buffer(buf)] if !mixed => self.program.returns = Returns::Buffer(buf),
            _ if mixed => self.program.returns = Returns::Mixed(parts),
            _ => {}
        }
        self.program.body = self.block()?;
        if self.peek() != Token::End {
            return self.expected("the end");
        }
        Ok(())
    }

    fn bind(&mut self, name: &'a str, meaning: Name) -> Parsed<()> {
        match self.names.insert(name, meaning) {
            None => Ok(()),
            Some(_) => self.error(format!("`{name}` is declared twice")),
        }
    }

    fn new_var(&mut self, name: &'a str, decl: VarDecl) -> Parsed<VarId> {
        let var = VarId(self.program.vars.len() as u32);
        self.bind(name, Name::Var(var))?;
        self.program.vars.push(decl);
        Ok(var)
    }

    fn new_buf(&mut self, name: &'a str, decl: BufDecl) -> Parsed<BufId> {
        let buf = BufId(self.program.bufs.len() as u32);
        self.bind(name, Name::Buf(buf))?;
        self.program.bufs.push(decl);
        Ok(buf)
    }

    /// A declaration met in place: new, or the same as in the table.
    pub(super) fn var(&mut self, name: &'a str, decl: VarDecl) -> Parsed<VarId> {
        if !self.var_table {
            return self.new_var(name, decl);
        }
        match self.names.get(name) {
            Some(Name::Var(var)) if *self.program.var(*var) == decl => Ok(*var),
            _ => self.error(format!("`{name}` is not declared like this in `vars(..)`")),
        }
    }

    pub(super) fn buf(&mut self, name: &'a str, decl: BufDecl) -> Parsed<BufId> {
        if !self.buf_table {
            return self.new_buf(name, decl);
        }
        match self.names.get(name) {
            Some(Name::Buf(buf)) if *self.program.buf(*buf) == decl => Ok(*buf),
            _ => self.error(format!("`{name}` is not declared like this in `bufs(..)`")),
        }
    }

    /// `[mut] name: scalar`, `name: [mut|ret|local] [elem; shape]` or `name: dim`.
    pub(super) fn decl(&mut self) -> Parsed<Decl<'a>> {
        let mutable = self.eat_word("mut");
        let name = self.word("a name")?;
        self.need(":")?;
        if !mutable {
            if self.eat_word("dim") {
                return Ok(Decl::Dim(name));
            }
            let role = match self.peek() {
                Token::Punct("[") => Some(BufRole::Input),
                Token::Word("mut") => Some(BufRole::Mutable),
                Token::Word("ret") => Some(BufRole::Return),
                Token::Word("local") => Some(BufRole::Local),
                _ => None,
            };
            if let Some(role) = role {
                if role != BufRole::Input {
                    self.advance();
                }
                self.need("[")?;
                let elem = self.scalar()?;
                self.need(";")?;
                let mut shape = Vec::new();
                while !self.eat("]") {
                    if !shape.is_empty() {
                        self.need(",")?;
                    }
                    shape.push(self.extent(0)?);
                }
                let decl = BufDecl {
                    name: name.to_owned(),
                    elem,
                    role,
                    shape: Shape(shape),
                };
                return Ok(Decl::Buf(name, decl));
            }
        }
        let decl = VarDecl {
            name: name.to_owned(),
            scalar: self.scalar()?,
            mutable,
        };
        Ok(Decl::Var(name, decl))
    }
}

pub(super) enum Decl<'a> {
    Var(&'a str, VarDecl),
    Buf(&'a str, BufDecl),
    Dim(&'a str),
}
