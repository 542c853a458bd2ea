//! Reading expressions and sizes.

use pragma_spec::{DimExpr, Scalar};

use super::lex::Token;
use super::parse::{Name, Parsed, Parser};
use crate::ir::{BinaryOp, CompareOp, Const, Expr, Func};

type DimOp = fn(Box<DimExpr>, Box<DimExpr>) -> DimExpr;

impl<'a> Parser<'a> {
    /// A size expression whose operators bind at least as tightly as `min` (0: `+`, 1: `*`).
    pub(super) fn extent(&mut self, min: u8) -> Parsed<DimExpr> {
        let mut left = match self.peek() {
            Token::Number { .. } => DimExpr::Const(self.natural()?),
            Token::Word(name) => {
                self.advance();
                DimExpr::dim(name)
            }
            Token::Punct("(") => {
                self.advance();
                let inner = self.nested(|p| p.extent(0))?;
                self.need(")")?;
                inner
            }
            _ => return self.expected("a size"),
        };
        loop {
            let (level, make): (u8, DimOp) = match self.peek() {
                Token::Punct("+") => (0, DimExpr::Add),
                Token::Punct("-") => (0, DimExpr::Sub),
                Token::Punct("*") => (1, DimExpr::Mul),
                Token::Punct("/") => (1, DimExpr::Div),
                _ => return Ok(left),
            };
            if level < min {
                return Ok(left);
            }
            self.advance();
            let right = self.extent(level + 1)?;
            left = make(Box::new(left), Box::new(right));
        }
    }

    /// An expression whose operators bind at least as tightly as `min` (0: comparisons).
    pub(super) fn expr(&mut self, min: u8) -> Parsed<Expr> {
        self.nested(|p| p.expr_inner(min))
    }

    fn expr_inner(&mut self, min: u8) -> Parsed<Expr> {
        let mut left = self.unary()?;
        while self.eat_word("as") {
            left = Expr::Cast(self.scalar()?, Box::new(left));
        }
        // Comparisons do not chain: after one, nothing that binds less tightly may follow.
        loop {
            let Token::Punct(punct) = self.peek() else {
                return Ok(left);
            };
            if let Some(op) = BinaryOp::ALL.into_iter().find(|op| op.symbol() == punct) {
                if op.precedence() < min {
                    return Ok(left);
                }
                self.advance();
                let right = self.expr(op.precedence() + 1)?;
                left = Expr::binary(op, left, right);
                continue;
            }
            let Some(op) = CompareOp::ALL.into_iter().find(|op| op.symbol() == punct) else {
                return Ok(left);
            };
            if min > 0 {
                return Ok(left);
            }
            self.advance();
            let right = self.expr(1)?;
            return Ok(Expr::compare(op, left, right));
        }
    }

    fn unary(&mut self) -> Parsed<Expr> {
        let func = match self.peek() {
            Token::Punct("-") => {
                if let Token::Number { digits, suffix } = self.peek_second() {
                    self.advance();
                    return self.number(true, digits, suffix);
                }
                Func::Neg
            }
            Token::Punct("!") => Func::Not,
            _ => return self.atom(),
        };
        self.advance();
        let value = self.nested(Self::unary)?;
        Ok(Expr::Call(func, vec![value]))
    }

    fn atom(&mut self) -> Parsed<Expr> {
        match self.peek() {
            Token::Number { digits, suffix } => self.number(false, digits, suffix),
            Token::Punct("(") => {
                self.advance();
                let inner = self.expr(0)?;
                self.need(")")?;
                Ok(inner)
            }
            Token::Word(word) => match (word, self.peek_second()) {
                ("true" | "false", _) => {
                    self.advance();
                    Ok(Expr::Const(Const::Bool(word == "true")))
                }
                (_, Token::Punct("::")) => self.float_constant(),
                (_, Token::Punct("(")) => self.call(word),
                (_, Token::Punct("[")) => {
                    let buf = self.buffer_name()?;
                    self.need("[")?;
                    let index = self.expr(0)?;
                    self.need("]")?;
                    Ok(Expr::load(buf, index))
                }
                _ => match self.names.get(word).copied() {
                    Some(Name::Var(var)) => {
                        self.advance();
                        Ok(Expr::Var(var))
                    }
                    Some(Name::Dim(dim)) => {
                        self.advance();
                        Ok(Expr::Dim(dim))
                    }
                    _ => self.expected("a variable or dimension declared before"),
                },
            },
            _ => self.expected("an expression"),
        }
    }

    fn call(&mut self, name: &str) -> Parsed<Expr> {
        let func = Func::from_name(name);
        if func.is_none() && name != "select" {
            return self.expected("a function");
        }
        self.advance();
        let mut args = self.list("(", ")", |p| p.expr(0))?;
        if let Some(func) = func {
            return Ok(Expr::Call(func, args));
        }
        match (args.pop(), args.pop(), args.pop(), args.is_empty()) {
            (Some(otherwise), Some(then), Some(cond), true) => Ok(Expr::Select {
                cond: Box::new(cond),
                then: Box::new(then),
                otherwise: Box::new(otherwise),
            }),
            _ => self.error("`select` takes a condition and two values"),
        }
    }

    fn float_constant(&mut self) -> Parsed<Expr> {
        let scalar = self.scalar()?;
        self.need("::")?;
        let value = match self.word("NAN, INFINITY or NEG_INFINITY")? {
            "NAN" => f64::NAN,
            "INFINITY" => f64::INFINITY,
            "NEG_INFINITY" => f64::NEG_INFINITY,
            other => return self.error(format!("`{other}` is not a float constant")),
        };
        if !scalar.is_float() {
            return self.error(format!("`{scalar}` is not a float type"));
        }
        Ok(Expr::Const(Const::Float(scalar, value)))
    }

    /// The number under the cursor, after a minus sign if `negative`.
    fn number(&mut self, negative: bool, digits: &str, suffix: &str) -> Parsed<Expr> {
        let fractional = digits.contains(['.', 'e', 'E']);
        let scalar = match suffix {
            "" if fractional => Scalar::F32,
            "" => Scalar::Usize,
            name => match name.parse() {
                Ok(scalar) if scalar != Scalar::Bool => scalar,
                _ => return self.error(format!("`{name}` is not a number type")),
            },
        };
        let text = if negative {
            format!("-{digits}")
        } else {
            digits.to_owned()
        };
        let value = match scalar {
            Scalar::F32 => text.parse::<f32>().ok().map(f64::from),
            _ if scalar.is_float() => text.parse().ok(),
            _ => None,
        };
        let value = match value {
            Some(value) => Const::Float(scalar, value),
            None => match text.parse::<i128>() {
                Ok(value) if scalar.is_integer() => Const::Int(scalar, value),
                _ => return self.error(format!("`{text}` is not a literal of type {scalar}")),
            },
        };
        self.advance();
        Ok(Expr::Const(value))
    }
}
