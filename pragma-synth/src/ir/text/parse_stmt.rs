//! Reading statements and loops with their marks.

use pragma_spec::Scalar;

use super::lex::Token;
use super::parse::{Decl, Name, Parsed, Parser};
use crate::ir::{BufId, Loop, Mark, Stmt, StoreHint, VarDecl};

impl Parser<'_> {
    pub(super) fn block(&mut self) -> Parsed<Vec<Stmt>> {
        self.nested(|p| {
            p.need("{")?;
            let mut body = Vec::new();
            while !p.eat("}") {
                body.push(p.stmt()?);
            }
            Ok(body)
        })
    }

    fn stmt(&mut self) -> Parsed<Stmt> {
        let first = match self.peek() {
            Token::Word(word) => word,
            _ => return self.expected("a statement"),
        };
        match (first, self.peek_second()) {
            ("let", _) => {
                self.advance();
                let Decl::Var(name, decl) = self.decl()? else {
                    return self.error("`let` declares a scalar; `alloc` makes a buffer");
                };
                self.need("=")?;
                // The value is read first: the variable is not yet in scope there.
                let value = self.expr(0)?;
                let var = self.var(name, decl)?;
                Ok(Stmt::Let { var, value })
            }
            ("for", _) => {
                self.advance();
                Ok(Stmt::For(self.for_loop()?))
            }
            ("while", _) => {
                self.advance();
                let cond = self.expr(0)?;
                let body = self.block()?;
                Ok(Stmt::While { cond, body })
            }
            ("if", _) => {
                self.advance();
                let cond = self.expr(0)?;
                let then = self.block()?;
                let otherwise = if self.eat_word("else") {
                    self.block()?
                } else {
                    Vec::new()
                };
                Ok(Stmt::If {
                    cond,
                    then,
                    otherwise,
                })
            }
            ("break", _) => {
                self.advance();
                Ok(Stmt::Break)
            }
            ("continue", _) => {
                self.advance();
                Ok(Stmt::Continue)
            }
            ("return", _) => {
                self.advance();
                Ok(Stmt::Return(self.list("(", ")", |p| p.expr(0))?))
            }
            // Assigned or stored to, it is a name like any other.
            ("decline", next) if !matches!(next, Token::Punct("[" | "=")) => {
                self.advance();
                Ok(Stmt::Decline)
            }
            ("panic", Token::Punct("!")) => {
                self.advance();
                self.advance();
                Ok(Stmt::Panic)
            }
            ("alloc", Token::Word(_)) => {
                self.advance();
                self.alloc()
            }
            ("stream", Token::Word(_)) => {
                self.advance();
                self.store(StoreHint::Stream)
            }
            ("prefetch", Token::Word(_)) => {
                self.advance();
                let buf = self.buffer_name()?;
                self.need("[")?;
                let index = self.expr(0)?;
                self.need("]")?;
                Ok(Stmt::Prefetch { buf, index })
            }
            (_, Token::Punct("[")) => self.store(StoreHint::Cached),
            (name, Token::Punct("=")) => {
                let Some(Name::Var(var)) = self.names.get(name).copied() else {
                    return self.error(format!("`{name}` is not a variable"));
                };
                self.advance();
                self.advance();
                let value = self.expr(0)?;
                Ok(Stmt::Assign { var, value })
            }
            _ => self.expected("a statement"),
        }
    }

    fn alloc(&mut self) -> Parsed<Stmt> {
        let declared = if self.peek_second() == Token::Punct(":") {
            Some(self.decl()?)
        } else {
            None
        };
        let buf = match declared {
            Some(Decl::Buf(name, decl)) => self.buf(name, decl)?,
            Some(_) => return self.error("`alloc` makes a buffer"),
            None => self.buffer_name()?,
        };
        self.need_word("len")?;
        let len = self.expr(0)?;
        self.need_word("fill")?;
        let fill = self.expr(0)?;
        Ok(Stmt::Alloc { buf, len, fill })
    }

    pub(super) fn buffer_name(&mut self) -> Parsed<BufId> {
        if let Token::Word(name) = self.peek()
            && let Some(Name::Buf(buf)) = self.names.get(name).copied()
        {
            self.advance();
            return Ok(buf);
        }
        self.expected("the name of a buffer")
    }

    fn store(&mut self, hint: StoreHint) -> Parsed<Stmt> {
        let buf = self.buffer_name()?;
        self.need("[")?;
        let index = self.expr(0)?;
        self.need("]")?;
        self.need("=")?;
        let value = self.expr(0)?;
        Ok(Stmt::Store {
            buf,
            index,
            value,
            hint,
        })
    }

    fn for_loop(&mut self) -> Parsed<Loop> {
        let name = self.word("a loop variable")?;
        self.need_word("in")?;
        let lo = self.expr(1)?;
        self.need("..")?;
        let hi = self.expr(1)?;
        let step = if self.eat_word("step") {
            self.natural()?
        } else {
            1
        };
        let mark = match self.peek() {
            Token::Word("vector") => {
                self.advance();
                let [unroll] = self.settings(["unroll"])?;
                Mark::Vector {
                    unroll: self.narrow(unroll)?,
                }
            }
            Token::Word("parallel") => {
                self.advance();
                let [grain, serial_below] = self.settings(["grain", "serial_below"])?;
                if self.eat_word("vector") {
                    let [unroll] = self.settings(["unroll"])?;
                    Mark::ParallelVector {
                        grain,
                        serial_below,
                        unroll: self.narrow(unroll)?,
                    }
                } else {
                    Mark::Parallel {
                        grain,
                        serial_below,
                    }
                }
            }
            Token::Word("unroll") => {
                self.advance();
                let [factor] = self.settings(["factor"])?;
                Mark::Unroll {
                    factor: self.narrow(factor)?,
                }
            }
            _ => Mark::Serial,
        };
        let decl = VarDecl {
            name: name.to_owned(),
            scalar: Scalar::Usize,
            mutable: false,
        };
        let var = self.var(name, decl)?;
        let body = self.block()?;
        Ok(Loop {
            var,
            lo,
            hi,
            step,
            mark,
            body,
        })
    }

    /// `(name = 1, other = 2)`, all of `names` in this order.
    fn settings<const N: usize>(&mut self, names: [&str; N]) -> Parsed<[u64; N]> {
        let mut values = [0; N];
        self.need("(")?;
        for (i, (name, value)) in names.iter().zip(&mut values).enumerate() {
            if i > 0 {
                self.need(",")?;
            }
            self.need_word(name)?;
            self.need("=")?;
            *value = self.natural()?;
        }
        self.need(")")?;
        Ok(values)
    }

    fn narrow(&self, value: u64) -> Parsed<u32> {
        match u32::try_from(value) {
            Ok(value) => Ok(value),
            Err(_) => self.error(format!("{value} is too large")),
        }
    }
}
