//! Macros of the standard library that hot functions use: assertions, `vec!`, panics.

use proc_macro2::Span;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;

use super::error::Lift;
use super::fold;
use super::reader::Reader;
use super::types::Ty;
use super::value::Value;
use crate::ir::{CompareOp, Expr, Stmt};
use pragma_spec::Scalar;

fn note_idents(tokens: proc_macro2::TokenStream, into: &mut Vec<String>) {
    for token in tokens {
        match token {
            proc_macro2::TokenTree::Ident(ident) => into.push(ident.to_string()),
            proc_macro2::TokenTree::Group(group) => note_idents(group.stream(), into),
            _ => {}
        }
    }
}

/// Whether a macro returns an error from the function.
pub(super) fn fails(mac: &syn::Macro) -> bool {
    mac.path
        .segments
        .last()
        .is_some_and(|last| last.ident == "bail" || last.ident == "ensure")
}

struct Args(Punctuated<syn::Expr, syn::Token![,]>);

impl Parse for Args {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        Punctuated::parse_terminated(input).map(Args)
    }
}

impl Reader<'_> {
    /// `name!(..)`.
    pub(super) fn macro_expr(&mut self, mac: &syn::Macro) -> Lift<Value> {
        let span = mac.span();
        let Some(name) = mac.path.segments.last().map(|last| last.ident.to_string()) else {
            return Err(self.unknown(span, "this macro"));
        };
        if name == "vec" {
            return self.vec_macro(mac);
        }

        if name == "bail" {
            return self.leave(super::returning::failed(), span);
        }
        if name == "ensure" {
            let Ok(args) = mac.parse_body::<Args>() else {
                return Err(self.unknown(span, "this `ensure!`"));
            };
            let Some(cond) = args.0.first() else {
                return Err(self.unknown(span, "this `ensure!`"));
            };
            let cond = self.eval(cond)?;
            let cond = self.boolean(cond, span)?;
            if fold::as_bool(&cond) == Some(true) {
                return Ok(Value::Unit);
            }
            return self.two_ways(
                fold::not(cond),
                span,
                &mut |reader| reader.leave(super::returning::failed(), span),
                &mut |_| Ok(Value::Unit),
            );
        }
        if matches!(
            name.as_str(),
            "panic" | "unreachable" | "todo" | "unimplemented"
        ) {
            self.emit(Stmt::Panic);
            return Ok(Value::Never);
        }
        let known = matches!(
            name.as_str(),
            "assert"
                | "assert_eq"
                | "assert_ne"
                | "debug_assert"
                | "debug_assert_eq"
                | "debug_assert_ne"
                | "matches"
        );
        if !known && let Some(definition) = super::expand::definition(self.request.krate, &mac.path)
        {
            return self.own_macro(definition, mac);
        }
        if !known {
            return Err(self.refuse(
                span,
                format!("the macro `{name}!` is not understood"),
                "it is not one of this crate, so the engine cannot see what it does",
                "write out what it does",
            ));
        }
        if name == "matches" {
            return self.matches_macro(mac);
        }
        let Ok(args) = mac.parse_body::<Args>() else {
            return Err(self.unknown(span, format!("this `{name}!`")));
        };
        let debug = name.starts_with("debug_");
        let args: Vec<&syn::Expr> = args.0.iter().collect();
        match (name.trim_start_matches("debug_"), &args[..]) {
            ("assert", [cond, ..]) => {
                if self.learn_from(cond, debug)? {
                    return Ok(Value::Unit);
                }
                if debug {
                    return Ok(Value::Unit);
                }
                let cond = self.eval(cond)?;
                let cond = self.boolean(cond, span)?;
                self.panic_if(fold::not(cond));
                Ok(Value::Unit)
            }
            ("assert_eq", [a, b, ..]) => self.assert_equal(a, b, debug, span),
            ("assert_ne", [a, b, ..]) if !debug => {
                let (a, b) = (self.eval(a)?, self.eval(b)?);
                let equal = self.compare_values(CompareOp::Eq, a, b, span)?;
                let equal = self.boolean(equal, span)?;
                self.panic_if(equal);
                Ok(Value::Unit)
            }
            ("assert_ne", [..]) => Ok(Value::Unit),
            _ => Err(self.unknown(span, format!("this `{name}!`"))),
        }
    }

    /// A macro of the crate, as an expression or a block.
    fn own_macro(&mut self, definition: &syn::ItemMacro, mac: &syn::Macro) -> Lift<Value> {
        let span = mac.span();
        // Names of the macro's own are not those of the caller; a caller's variable of the same
        // name, handed to the macro, would be taken for one of them.
        let own = super::expand::own_idents(definition);
        let mut given = Vec::new();
        note_idents(mac.tokens.clone(), &mut given);
        if let Some(name) = given
            .iter()
            .find(|name| own.contains(name) && self.env.find(name).is_some())
        {
            return Err(self.refuse(
                span,
                format!("`{name}` here may be another one than in the macro"),
                "the engine reads macros as text",
                "give the variable another name",
            ));
        }
        let expanded = super::expand::apply(definition, mac.tokens.clone());
        let Some(tokens) = expanded else {
            return Err(self.unknown(span, "this use of a macro"));
        };
        if let Some(name) = &definition.ident {
            let module = self.frame().module.clone();
            self.depend(&module, name, definition);
        }
        let block = syn::parse2::<syn::Expr>(tokens.clone()).map_or_else(
            |_| {
                let parse = syn::Block::parse_within;
                syn::parse::Parser::parse2(parse, tokens).map(Err)
            },
            |expr| Ok(Ok(expr)),
        );
        self.deeper(span, |reader| match &block {
            Ok(Ok(expr)) => reader.eval(expr),
            Ok(Err(stmts)) => reader.scoped_block(&syn::Block {
                brace_token: Default::default(),
                stmts: stmts.clone(),
            }),
            Err(_) => Err(reader.unknown(span, "this macro")),
        })
    }

    /// `assert!(a.len() == b.len())` and its like teach a shape, after which it always holds.
    fn learn_from(&mut self, cond: &syn::Expr, debug: bool) -> Lift<bool> {
        match cond {
            syn::Expr::Binary(binary) if matches!(binary.op, syn::BinOp::Eq(_)) => {
                self.assert_equal(&binary.left, &binary.right, debug, cond.span())?;
                Ok(true)
            }
            syn::Expr::Binary(binary) if matches!(binary.op, syn::BinOp::And(_)) => {
                let both = self.teaches(&binary.left) || self.teaches(&binary.right);
                if both && !debug {
                    for side in [&binary.left, &binary.right] {
                        if !self.learn_from(side, debug)? {
                            let cond = self.eval(side)?;
                            let cond = self.boolean(cond, side.span())?;
                            self.panic_if(fold::not(cond));
                        }
                    }
                }
                Ok(both && !debug)
            }
            syn::Expr::Paren(inner) => self.learn_from(&inner.expr, debug),
            _ => Ok(false),
        }
    }

    /// `if a.len() != b.len() { return Err(..) }` teaches a shape as an assertion does.
    pub(super) fn learn_from_guard(&mut self, inner: &syn::ExprIf) -> Lift<()> {
        let outright = self.fails_outright() && self.loops.is_empty();
        if outright && inner.else_branch.is_none() && super::exits::only_fails(&inner.then_branch) {
            self.learn_opposite(&inner.cond)?;
        }
        Ok(())
    }

    /// Learns from a condition that does not hold where the function goes on.
    fn learn_opposite(&mut self, cond: &syn::Expr) -> Lift<()> {
        match cond {
            syn::Expr::Paren(inner) => self.learn_opposite(&inner.expr),
            syn::Expr::Binary(binary) if matches!(binary.op, syn::BinOp::Or(_)) => {
                self.learn_opposite(&binary.left)?;
                self.learn_opposite(&binary.right)
            }
            syn::Expr::Binary(binary)
                if matches!(binary.op, syn::BinOp::Ne(_))
                    && !super::expr::may_change(&binary.left)
                    && !super::expr::may_change(&binary.right) =>
            {
                self.assert_equal(&binary.left, &binary.right, true, cond.span())?;
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn teaches(&self, cond: &syn::Expr) -> bool {
        matches!(cond, syn::Expr::Binary(binary) if matches!(binary.op, syn::BinOp::Eq(_)))
    }

    fn assert_equal(
        &mut self,
        a: &syn::Expr,
        b: &syn::Expr,
        debug: bool,
        span: Span,
    ) -> Lift<Value> {
        // `n % 4 == 0` of a length: it is a multiple.
        if let Some((len, divisor)) = remainder_is_zero(a, b) {
            let (len, divisor) = (self.eval(len)?, self.eval(divisor)?);
            let (len, divisor) = (self.num(len, span)?, self.num(divisor, span)?);
            self.unify(len.ty, divisor.ty, span)?;
            if self.types.resolve(len.ty) == Ty::Known(Scalar::Usize) {
                let (len, divisor) = (self.settle(len.expr), self.settle(divisor.expr));
                if self.is_stable(&len) && self.is_stable(&divisor) && self.positive(&divisor) {
                    self.quotient(len.clone(), divisor.clone(), true)?;
                }
                if !debug {
                    if !self.positive(&divisor) {
                        let zero = self.decide(CompareOp::Eq, divisor.clone(), Expr::index(0));
                        self.panic_if(zero);
                    }
                    let rest = self.remainder(len, divisor);
                    let bad = self.decide(CompareOp::Ne, rest, Expr::index(0));
                    self.panic_if(bad);
                }
                return Ok(Value::Unit);
            }
        }
        let left = self.eval(a)?;
        let left = self.hold(left, "left")?;
        let right = self.eval(b)?;
        self.equal_values(left, right, debug, span)?;
        Ok(Value::Unit)
    }

    fn equal_values(&mut self, a: Value, b: Value, debug: bool, span: Span) -> Lift<()> {
        let (a, b) = (self.target(a, span)?, self.target(b, span)?);
        if let (Value::Tuple(xs), Value::Tuple(ys)) = (&a, &b)
            && xs.len() == ys.len()
        {
            for (x, y) in xs.iter().zip(ys) {
                self.equal_values(x.clone(), y.clone(), debug, span)?;
            }
            return Ok(());
        }
        if let (Value::View(_), Value::View(_)) = (&a, &b) {
            if debug {
                return Ok(());
            }
            return Err(self.unknown(span, "comparing slices"));
        }
        let (x, y) = (self.num(a, span)?, self.num(b, span)?);
        self.unify(x.ty, y.ty, span)?;
        let (p, q) = (self.settle(x.expr), self.settle(y.expr));
        if self.types.resolve(x.ty) == Ty::Known(Scalar::Usize)
            && self.is_stable(&p)
            && self.is_stable(&q)
            && !self.equal(&p, &q)
        {
            self.learn_equal(&p, &q)?;
        }
        if debug {
            return Ok(());
        }
        let differ = self.compare_values(
            CompareOp::Ne,
            Value::scalar(p, x.ty),
            Value::scalar(q, y.ty),
            span,
        )?;
        let differ = self.boolean(differ, span)?;
        self.panic_if(differ);
        Ok(())
    }

    fn matches_macro(&mut self, mac: &syn::Macro) -> Lift<Value> {
        let span = mac.span();
        let parsed = mac.parse_body_with(
            |input: ParseStream<'_>| -> syn::Result<(syn::Expr, syn::Pat)> {
                let value = input.parse()?;
                input.parse::<syn::Token![,]>()?;
                let pat = syn::Pat::parse_multi_with_leading_vert(input)?;
                input.parse::<Option<syn::Token![,]>>()?;
                Ok((value, pat))
            },
        );
        let Ok((value, pat)) = parsed else {
            return Err(self.unknown(span, "this `matches!`"));
        };
        let value = self.eval(&value)?;
        let value = self.hold(value, "value")?;
        let cond = self.pattern_holds(&pat, &value)?;
        Ok(Value::Scalar(super::reader::bool_num(cond)))
    }
}

/// `(x, d)` of `x % d == 0`, or of `x.is_multiple_of(d)` compared with `true`.
fn remainder_is_zero<'e>(
    a: &'e syn::Expr,
    b: &'e syn::Expr,
) -> Option<(&'e syn::Expr, &'e syn::Expr)> {
    let zero = |expr: &syn::Expr| {
        matches!(expr, syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Int(int), .. })
            if int.base10_digits() == "0")
    };
    let rest = match (a, b) {
        (rest, other) if zero(other) => rest,
        (other, rest) if zero(other) => rest,
        _ => return None,
    };
    match rest {
        syn::Expr::Binary(binary) if matches!(binary.op, syn::BinOp::Rem(_)) => {
            Some((&binary.left, &binary.right))
        }
        syn::Expr::Paren(inner) => remainder_is_zero(&inner.expr, b),
        _ => None,
    }
}
