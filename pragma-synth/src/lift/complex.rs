//! `num_complex::Complex`: a struct `{ re, im }` whose operators are known.

use proc_macro2::Span;

use super::error::Lift;
use super::reader::{Reader, call1};
use super::value::{Num, Value};
use crate::ir::{BinaryOp, Func};

impl Reader<'_> {
    fn complex_parts(&mut self, value: &Value, span: Span) -> Lift<Option<(Num, Num)>> {
        let value = self.target(value.clone(), span)?;
        match value {
            Value::Struct(kind, fields) if kind.starts_with("Complex") && fields.len() == 2 => {
                let re = self.num(fields[0].1.clone(), span)?;
                let im = self.num(fields[1].1.clone(), span)?;
                Ok(Some((self.shared("re", re), self.shared("im", im))))
            }
            _ => Ok(None),
        }
    }

    /// An operator of complex numbers, as `num_complex` writes it; `None` if it is none.
    pub(super) fn complex_operator(
        &mut self,
        name: &str,
        args: &[Value],
        span: Span,
    ) -> Lift<Option<Value>> {
        let [a, b] = args else {
            if let ([a], "neg") = (args, name)
                && let Some((re, im)) = self.complex_parts(a, span)?
            {
                let (ty, other) = (re.ty, im.ty);
                return Ok(Some(complex(
                    call1(Func::Neg, re, ty),
                    call1(Func::Neg, im, other),
                )));
            }
            return Ok(None);
        };
        let (x, y) = (self.complex_parts(a, span)?, self.complex_parts(b, span)?);
        let op = match name {
            "add" => Add,
            "sub" => Sub,
            "mul" => Mul,
            "div" => Div,
            _ => return Ok(None),
        };
        let on = |reader: &mut Self, op, a: &Num, b: &Num| {
            reader.arithmetic(op, a.clone(), b.clone(), span)
        };
        use BinaryOp::{Add, Div, Mul, Sub};
        Ok(Some(match (x, y, op) {
            (Some((a, b)), Some((c, d)), Add | Sub) => {
                complex(on(self, op, &a, &c)?, on(self, op, &b, &d)?)
            }
            (Some((a, b)), Some((c, d)), Mul) => {
                let (ac, bd) = (on(self, Mul, &a, &c)?, on(self, Mul, &b, &d)?);
                let (ad, bc) = (on(self, Mul, &a, &d)?, on(self, Mul, &b, &c)?);
                complex(on(self, Sub, &ac, &bd)?, on(self, Add, &ad, &bc)?)
            }
            (Some((a, b)), Some((c, d)), Div) => {
                // `(a * conj(b)) / |b|^2`
                let (cc, dd) = (on(self, Mul, &c, &c)?, on(self, Mul, &d, &d)?);
                let norm = on(self, Add, &cc, &dd)?;
                let norm = self.shared("norm", norm);
                let (ac, bd) = (on(self, Mul, &a, &c)?, on(self, Mul, &b, &d)?);
                let (bc, ad) = (on(self, Mul, &b, &c)?, on(self, Mul, &a, &d)?);
                let (re, im) = (on(self, Add, &ac, &bd)?, on(self, Sub, &bc, &ad)?);
                complex(on(self, Div, &re, &norm)?, on(self, Div, &im, &norm)?)
            }
            (Some((a, b)), None, Mul | Div) => {
                let k = self.num(args[1].clone(), span)?;
                complex(on(self, op, &a, &k)?, on(self, op, &b, &k)?)
            }
            (Some((a, b)), None, Add | Sub) => {
                let k = self.num(args[1].clone(), span)?;
                complex(on(self, op, &a, &k)?, b)
            }
            (None, Some((c, d)), Mul) => {
                let k = self.num(args[0].clone(), span)?;
                complex(on(self, Mul, &k, &c)?, on(self, Mul, &k, &d)?)
            }
            _ => return Ok(None),
        }))
    }

    /// A method of complex numbers; `None` if it is none.
    pub(super) fn complex_method(
        &mut self,
        value: &Value,
        name: &str,
        args: &[Value],
        span: Span,
    ) -> Lift<Option<Value>> {
        let Some((re, im)) = self.complex_parts(value, span)? else {
            return Ok(None);
        };
        let on = |reader: &mut Self, op, a: &Num, b: &Num| {
            reader.arithmetic(op, a.clone(), b.clone(), span)
        };
        let ty = re.ty;
        Ok(Some(match (name, args) {
            ("norm_sqr", []) => {
                let a = on(self, BinaryOp::Mul, &re, &re)?;
                let b = on(self, BinaryOp::Mul, &im, &im)?;
                Value::Scalar(on(self, BinaryOp::Add, &a, &b)?)
            }
            ("norm" | "abs", []) => Value::scalar(
                crate::ir::Expr::Call(Func::Hypot, vec![re.expr, im.expr]),
                ty,
            ),
            ("arg", []) => Value::scalar(
                crate::ir::Expr::Call(Func::Atan2, vec![im.expr, re.expr]),
                ty,
            ),
            ("conj", []) => {
                let im = call1(Func::Neg, im, ty);
                complex(re, im)
            }
            ("scale", [k]) => {
                let k = self.num(k.clone(), span)?;
                complex(
                    on(self, BinaryOp::Mul, &re, &k)?,
                    on(self, BinaryOp::Mul, &im, &k)?,
                )
            }
            ("unscale", [k]) => {
                let k = self.num(k.clone(), span)?;
                complex(
                    on(self, BinaryOp::Div, &re, &k)?,
                    on(self, BinaryOp::Div, &im, &k)?,
                )
            }
            _ => return Ok(None),
        }))
    }
}

/// `re + im i`.
pub(super) fn complex(re: Num, im: Num) -> Value {
    Value::Struct(
        "Complex".to_owned(),
        vec![
            ("re".to_owned(), Value::Scalar(re)),
            ("im".to_owned(), Value::Scalar(im)),
        ],
    )
}
