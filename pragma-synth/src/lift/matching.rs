//! `match`, `if let`, `let else`, and the methods of `Option`.

use proc_macro2::Span;
use syn::spanned::Spanned;

use super::error::Lift;
use super::fold;
use super::reader::{Reader, bool_const, bool_num};
use super::value::{Callee, Order, Value};
use crate::ir::{BinaryOp, CompareOp, Expr, Stmt};

impl Reader<'_> {
    /// `match`.
    pub(super) fn match_expr(&mut self, inner: &syn::ExprMatch) -> Lift<Value> {
        let value = self.eval(&inner.expr)?;
        if value == Value::Never {
            return Ok(Value::Never);
        }
        let value = self.target(value, inner.expr.span())?;
        let value = match value {
            Value::Scalar(num) => Value::Scalar(self.shared("matched", num)),
            value => self.hold(value, "matched")?,
        };
        self.arms(&inner.arms, &value, inner.span())
    }

    fn arms(&mut self, arms: &[syn::Arm], value: &Value, span: Span) -> Lift<Value> {
        let Some((arm, rest)) = arms.split_first() else {
            // rustc has checked that some arm matches.
            self.emit(Stmt::Panic);
            return Ok(Value::Never);
        };
        let (pat, guard) = match &arm.pat {
            syn::Pat::Guard(inner) => (&*inner.pat, Some(&*inner.guard)),
            pat => (pat, None),
        };
        let mut cond = self.pattern_holds(pat, value)?;
        if let Some(guard) = guard {
            let env = self.env.clone();
            let (block, guard_cond) = self.branch(&cond.clone(), |reader| {
                reader.bind_matched(pat, value)?;
                let guard_value = reader.eval(guard)?;
                let guard_cond = reader.boolean(guard_value, guard.span())?;
                let safe = reader.is_safe(&guard_cond);
                if !safe {
                    return Err(reader.unknown(guard.span(), "this guard"));
                }
                Ok(guard_cond)
            })?;
            self.env = env;
            if block.iter().any(|stmt| !matches!(stmt, Stmt::Let { .. })) {
                return Err(self.unknown(guard.span(), "this guard"));
            }
            for stmt in block {
                self.emit(stmt);
            }
            cond = fold::binary(BinaryOp::And, cond, guard_cond);
        }
        let body = |reader: &mut Self| {
            let env = reader.env.clone();
            reader.bind_matched(pat, value)?;
            let result = reader.eval(&arm.body);
            reader.env = env;
            result
        };
        // The last arm needs no test.
        if rest.is_empty() && guard.is_none() {
            return body(self);
        }
        match fold::as_bool(&cond) {
            Some(true) => return body(self),
            Some(false) => return self.arms(rest, value, span),
            None => {}
        }
        self.two_ways(cond, span, &mut |reader| body(reader), &mut |reader| {
            reader.arms(rest, value, span)
        })
    }

    /// Whether `value` matches `pat`, as a `bool` expression.
    pub(super) fn pattern_holds(&mut self, pat: &syn::Pat, value: &Value) -> Lift<Expr> {
        let span = pat.span();
        match pat {
            syn::Pat::Wild(_) => Ok(bool_const(true)),
            syn::Pat::Paren(inner) => self.pattern_holds(&inner.pat, value),
            syn::Pat::Reference(inner) => {
                let value = self.target(value.clone(), span)?;
                self.pattern_holds(&inner.pat, &value)
            }
            syn::Pat::Ident(ident) => {
                if let Some((_, inner)) = &ident.subpat {
                    return self.pattern_holds(inner, value);
                }
                let name = ident.ident.to_string();
                if name == "None" {
                    return self.is_variant(value, false, span);
                }
                if name.chars().next().is_some_and(char::is_uppercase) {
                    let Ok(path) = syn::parse_str::<syn::ExprPath>(&name) else {
                        return Err(self.unknown(span, "this pattern"));
                    };
                    let constant = self.path_value(&path)?;
                    return self.equals(value, constant, span);
                }
                Ok(bool_const(true))
            }
            syn::Pat::Lit(lit) => {
                let expr = syn::Expr::Lit(lit.clone());
                let constant = self.eval(&expr)?;
                self.equals(value, constant, span)
            }
            syn::Pat::Range(range) => {
                let mut cond = bool_const(true);
                if let Some(start) = &range.start {
                    let start = self.eval(start)?;
                    let low = self.compare_values(CompareOp::Ge, value.clone(), start, span)?;
                    let low = self.boolean(low, span)?;
                    cond = fold::binary(BinaryOp::And, cond, low);
                }
                if let Some(end) = &range.end {
                    let end = self.eval(end)?;
                    let op = if matches!(range.limits, syn::RangeLimits::Closed(_)) {
                        CompareOp::Le
                    } else {
                        CompareOp::Lt
                    };
                    let high = self.compare_values(op, value.clone(), end, span)?;
                    let high = self.boolean(high, span)?;
                    cond = fold::binary(BinaryOp::And, cond, high);
                }
                Ok(cond)
            }
            syn::Pat::Or(cases) => {
                let mut any = bool_const(false);
                for case in &cases.cases {
                    let holds = self.pattern_holds(case, value)?;
                    any = fold::binary(BinaryOp::Or, any, holds);
                }
                Ok(any)
            }
            syn::Pat::Tuple(tuple) => {
                let Value::Tuple(parts) = value else {
                    return Err(self.wrong_kind(span, value, "a tuple"));
                };
                if parts.len() != tuple.elems.len() {
                    return Err(self.unknown(span, "this pattern"));
                }
                let mut all = bool_const(true);
                for (elem, part) in tuple.elems.iter().zip(parts) {
                    let holds = self.pattern_holds(elem, part)?;
                    all = fold::binary(BinaryOp::And, all, holds);
                }
                Ok(all)
            }
            syn::Pat::TupleStruct(inner) if inner.path.is_ident("Err") => {
                self.is_variant(value, false, span)
            }
            syn::Pat::TupleStruct(inner) if is_success(&inner.path) => {
                let holds = self.is_variant(value, true, span)?;
                let (Value::Option { value, .. }, Some(elem)) = (value, inner.elems.first()) else {
                    return Ok(holds);
                };
                if **value == Value::Unit {
                    return Ok(holds);
                }
                let within = self.pattern_holds(elem, value)?;
                Ok(fold::binary(BinaryOp::And, holds, within))
            }
            syn::Pat::Path(path) => {
                if path.path.is_ident("None") {
                    return self.is_variant(value, false, span);
                }
                let constant = self.path_value(path)?;
                self.equals(value, constant, span)
            }
            _ => Err(self.unknown(span, "this pattern")),
        }
    }

    fn equals(&mut self, value: &Value, constant: Value, span: Span) -> Lift<Expr> {
        if let (Value::Order(a), Value::Order(b)) = (value, &constant) {
            // One side is constant: each order is one of three.
            return Ok(match (fold::as_bool(&b.less), fold::as_bool(&b.equal)) {
                (Some(true), _) => a.less.clone(),
                (_, Some(true)) => a.equal.clone(),
                _ => fold::not(fold::binary(BinaryOp::Or, a.less.clone(), a.equal.clone())),
            });
        }
        let equal = self.compare_values(CompareOp::Eq, value.clone(), constant, span)?;
        self.boolean(equal, span)
    }

    fn is_variant(&mut self, value: &Value, wanted: bool, span: Span) -> Lift<Expr> {
        match value {
            Value::Option { some, .. } => Ok(if wanted {
                some.clone()
            } else {
                fold::not(some.clone())
            }),
            other => Err(self.wrong_kind(span, other, "an `Option`")),
        }
    }

    /// Binds the names in a pattern that is known to match.
    fn bind_matched(&mut self, pat: &syn::Pat, value: &Value) -> Lift<()> {
        let span = pat.span();
        match pat {
            syn::Pat::Lit(_) | syn::Pat::Range(_) | syn::Pat::Path(_) | syn::Pat::Or(_) => Ok(()),
            syn::Pat::Paren(inner) => self.bind_matched(&inner.pat, value),
            syn::Pat::Ident(ident) => {
                let name = ident.ident.to_string();
                if name.chars().next().is_some_and(char::is_uppercase) {
                    return Ok(());
                }
                if let Some((_, inner)) = &ident.subpat {
                    self.bind_matched(inner, value)?;
                }
                self.bind_name(&name, ident.mutability.is_some(), value.clone(), span)
            }
            syn::Pat::Tuple(tuple) => {
                let Value::Tuple(parts) = value else {
                    return Err(self.wrong_kind(span, value, "a tuple"));
                };
                for (elem, part) in tuple.elems.iter().zip(parts) {
                    self.bind_matched(elem, part)?;
                }
                Ok(())
            }
            syn::Pat::TupleStruct(inner)
                if inner.path.is_ident("Err")
                    && inner.elems.iter().all(|elem| {
                        matches!(elem, syn::Pat::Wild(_) | syn::Pat::Rest(_))
                    }) =>
            {
                Ok(())
            }
            syn::Pat::TupleStruct(inner) if inner.path.is_ident("Err") => Err(self.refuse(
                span,
                "the error of a `Result` is looked at",
                "a kernel knows only that something failed: what failed is the reference's business",
                "write `Err(_)`, or return the error with `?`",
            )),
            syn::Pat::TupleStruct(inner) if is_success(&inner.path) => {
                match (value, inner.elems.first()) {
                    (Value::Option { value, .. }, Some(elem)) => self.bind_matched(elem, value),
                    _ => Err(self.wrong_kind(span, value, "an `Option`")),
                }
            }
            _ => self.bind_pattern(pat, value.clone()),
        }
    }

    /// `if let pat = value { .. } else { .. }`.
    pub(super) fn if_let(&mut self, inner: &syn::ExprIf, cond: &syn::ExprLet) -> Lift<Value> {
        let span = inner.span();
        let value = self.eval(&cond.expr)?;
        let value = self.target(value, span)?;
        let value = self.hold(value, "matched")?;
        let holds = self.pattern_holds(&cond.pat, &value)?;
        let mut then = |reader: &mut Self| {
            let env = reader.env.clone();
            reader.bind_matched(&cond.pat, &value)?;
            let result = reader.scoped_block(&inner.then_branch);
            reader.env = env;
            result
        };
        let mut otherwise = |reader: &mut Self| match &inner.else_branch {
            Some((_, other)) => reader.eval(other),
            None => Ok(Value::Unit),
        };
        match fold::as_bool(&holds) {
            Some(true) => then(self),
            Some(false) => otherwise(self),
            None => self.two_ways(holds, span, &mut then, &mut otherwise),
        }
    }

    /// `let pat = value else { .. };`.
    pub(super) fn let_else(
        &mut self,
        pat: &syn::Pat,
        value: &syn::Expr,
        diverge: &syn::Expr,
        span: Span,
    ) -> Lift<Value> {
        let value = self.eval(value)?;
        let value = self.target(value, span)?;
        let value = self.hold(value, "matched")?;
        let holds = self.pattern_holds(pat, &value)?;
        if fold::as_bool(&holds) == Some(false) {
            return self.eval(diverge);
        }
        if holds != bool_const(true) {
            let outcome = self.two_ways(
                fold::not(holds),
                span,
                &mut |reader| reader.eval(diverge),
                &mut |_| Ok(Value::Unit),
            )?;
            if outcome == Value::Never {
                return Ok(Value::Never);
            }
        }
        self.bind_matched(pat, &value)?;
        Ok(Value::Unit)
    }

    /// `option.name(args)`.
    pub(super) fn option_method(
        &mut self,
        some: Expr,
        value: Value,
        call: &syn::ExprMethodCall,
        mut args: Vec<Value>,
    ) -> Lift<Value> {
        let span = call.span();
        let name = call.method.to_string();
        let value = self.read_value(value)?;
        let always = fold::as_bool(&some) == Some(true);
        let never = fold::as_bool(&some) == Some(false);
        match (name.as_str(), args.len()) {
            ("unwrap", 0) | ("expect", 1) => {
                self.panic_if(fold::not(some));
                Ok(value)
            }
            ("unwrap_unchecked", 0) => Ok(value),
            ("is_some" | "is_ok", 0) => Ok(Value::Scalar(bool_num(some))),
            ("is_none" | "is_err", 0) => Ok(Value::Scalar(bool_num(fold::not(some)))),
            // Read where it is known to exist.
            ("copied" | "cloned", 0) if !always && self.is_fixed_element(&value) => {
                Ok(Value::Option {
                    some,
                    value: Box::new(value),
                })
            }
            ("copied" | "cloned", 0) => {
                self.certain(always, &value, span)?;
                let value = self.by_value(value, span)?;
                Ok(Value::Option {
                    some,
                    value: Box::new(value),
                })
            }
            (
                "as_ref" | "as_deref" | "as_mut" | "clone" | "ok" | "to_owned" | "as_deref_mut",
                0,
            ) => Ok(Value::Option {
                some,
                value: Box::new(value),
            }),
            ("unwrap_or", 1) => {
                let other = args.remove(0);
                if always {
                    return Ok(value);
                }
                if never {
                    return Ok(other);
                }
                if let (Value::Order(a), Value::Order(b)) = (&value, &other) {
                    let pick =
                        |x: &Expr, y: &Expr| fold::select(some.clone(), x.clone(), y.clone());
                    return Ok(Value::Order(Order {
                        less: pick(&a.less, &b.less),
                        equal: pick(&a.equal, &b.equal),
                    }));
                }
                self.two_ways(some, span, &mut |_| Ok(value.clone()), &mut |_| {
                    Ok(other.clone())
                })
            }
            ("unwrap_or_default", 0) if always => Ok(value),
            ("unwrap_or_else", 1) => {
                let function = self.function_arg(args.pop(), span)?;
                if always {
                    return Ok(value);
                }
                self.two_ways(some, span, &mut |_| Ok(value.clone()), &mut |reader| {
                    reader.apply(&function, Vec::new(), span)
                })
            }
            ("map", 1) => {
                let function = self.function_arg(args.pop(), span)?;
                if never {
                    return Ok(Value::Option {
                        some,
                        value: Box::new(Value::Unit),
                    });
                }
                if always {
                    let value = self.apply(&function, vec![value], span)?;
                    return Ok(Value::Option {
                        some,
                        value: Box::new(value),
                    });
                }
                self.two_ways(
                    some,
                    span,
                    &mut |reader| {
                        let value = reader.apply(&function, vec![value.clone()], span)?;
                        Ok(Value::Option {
                            some: bool_const(true),
                            value: Box::new(value),
                        })
                    },
                    &mut |_| {
                        Ok(Value::Option {
                            some: bool_const(false),
                            value: Box::new(Value::Unit),
                        })
                    },
                )
            }
            ("map_or_else", 2) => {
                let function = self.function_arg(args.pop(), span)?;
                let other = self.function_arg(args.pop(), span)?;
                if always {
                    return self.apply(&function, vec![value], span);
                }
                if never {
                    return self.apply(&other, Vec::new(), span);
                }
                self.two_ways(
                    some,
                    span,
                    &mut |reader| reader.apply(&function, vec![value.clone()], span),
                    &mut |reader| reader.apply(&other, Vec::new(), span),
                )
            }
            ("is_some_and" | "is_none_or", 1) => {
                let function = self.function_arg(args.pop(), span)?;
                let absent = Value::Scalar(bool_num(bool_const(name == "is_none_or")));
                if always {
                    return self.apply(&function, vec![value], span);
                }
                if never {
                    return Ok(absent);
                }
                self.two_ways(
                    some,
                    span,
                    &mut |reader| reader.apply(&function, vec![value.clone()], span),
                    &mut |_| Ok(absent.clone()),
                )
            }
            ("filter", 1) => {
                let function = self.function_arg(args.pop(), span)?;
                if never {
                    return Ok(super::returning::failed());
                }
                let kept = self.two_ways(
                    some,
                    span,
                    &mut |reader| reader.apply(&function, vec![value.clone()], span),
                    &mut |_| Ok(Value::Scalar(bool_num(bool_const(false)))),
                )?;
                Ok(Value::Option {
                    some: self.boolean(kept, span)?,
                    value: Box::new(value),
                })
            }
            ("and_then", 1) => {
                let function = self.function_arg(args.pop(), span)?;
                if never {
                    return Ok(super::returning::failed());
                }
                if always {
                    return self.apply(&function, vec![value], span);
                }
                self.two_ways(
                    some,
                    span,
                    &mut |reader| reader.apply(&function, vec![value.clone()], span),
                    &mut |_| Ok(super::returning::failed()),
                )
            }
            ("or" | "or_else", 1) => {
                if always {
                    return Ok(Value::Option {
                        some,
                        value: Box::new(value),
                    });
                }
                let other = args.remove(0);
                let mut absent = |reader: &mut Self| match &other {
                    Value::Callee(function) => reader.apply(function, Vec::new(), span),
                    other => Ok(other.clone()),
                };
                if never {
                    return absent(self);
                }
                self.two_ways(
                    some,
                    span,
                    &mut |_| {
                        Ok(Value::Option {
                            some: bool_const(true),
                            value: Box::new(value.clone()),
                        })
                    },
                    &mut absent,
                )
            }
            ("map_or", 2) => {
                let function = self.function_arg(args.pop(), span)?;
                let other = args.remove(0);
                if always {
                    return self.apply(&function, vec![value], span);
                }
                if never {
                    return Ok(other);
                }
                self.two_ways(
                    some,
                    span,
                    &mut |reader| reader.apply(&function, vec![value.clone()], span),
                    &mut |_| Ok(other.clone()),
                )
            }
            _ => Err(self.unknown(
                call.method.span(),
                format!("the method `{name}` of an `Option`"),
            )),
        }
    }

    /// Whether a value refers to an element that nothing changes.
    fn is_fixed_element(&self, value: &Value) -> bool {
        matches!(value, Value::Ref(place, _) if matches!(**place, super::value::Place::Elem(buf, _)
            if self.program.buf(buf).role == crate::ir::BufRole::Input))
    }

    /// Refuses to read an element that may not exist.
    pub(super) fn certain(&self, always: bool, value: &Value, span: Span) -> Lift<()> {
        let element = matches!(value, Value::Ref(place, _)
            if matches!(**place, super::value::Place::Elem(..)));
        if always || !element {
            return Ok(());
        }
        Err(self.refuse(
            span,
            "it is not known that this element exists",
            "its value would be read before that is checked",
            "test the length with `if`, then index",
        ))
    }

    fn function_arg(&mut self, arg: Option<Value>, span: Span) -> Lift<Callee> {
        match arg {
            Some(Value::Callee(function)) => Ok(function),
            _ => Err(self.unknown(span, "this closure")),
        }
    }
}

/// Whether a pattern names `Some` or `Ok`.
fn is_success(path: &syn::Path) -> bool {
    path.is_ident("Some") || path.is_ident("Ok")
}
