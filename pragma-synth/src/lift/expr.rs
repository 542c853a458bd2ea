//! Expressions: literals, operators, casts, and what each kind of syntax leads to.

use pragma_spec::Scalar;
use proc_macro2::Span;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};

use super::error::Lift;
use super::reader::{Literal, Reader, bool_const, bool_num, describe};
use super::types::Ty;
use super::value::{Callee, Closure, Elem, Iter, Num, Own, Place, Value};
use crate::ir::{BufRole, Const, Expr};

impl Reader<'_> {
    /// The value of an expression.
    pub(super) fn eval(&mut self, expr: &syn::Expr) -> Lift<Value> {
        self.deeper(expr.span(), |reader| reader.eval_inner(expr))
    }

    /// The scalar that an expression is.
    pub(super) fn eval_num(&mut self, expr: &syn::Expr) -> Lift<Num> {
        let value = self.eval(expr)?;
        self.num(value, expr.span())
    }

    fn eval_inner(&mut self, expr: &syn::Expr) -> Lift<Value> {
        let span = expr.span();
        match expr {
            syn::Expr::Lit(lit) => self.lit(&lit.lit),
            syn::Expr::Paren(inner) => self.eval(&inner.expr),
            syn::Expr::Group(inner) => self.eval(&inner.expr),
            syn::Expr::Path(path) => match self.local(path) {
                Some(slot) => self.take(&Place::Slot(slot, Vec::new()), span),
                None => self.path_value(path),
            },
            syn::Expr::Field(_) | syn::Expr::Index(_) => {
                let place = self.place(expr)?;
                self.take(&place, span)
            }
            syn::Expr::Unary(unary) => self.unary(unary),
            syn::Expr::Binary(inner) => self.binary_expr(inner),
            syn::Expr::Cast(cast) => self.cast_expr(cast),
            syn::Expr::Assign(assign) => self.assign_expr(assign),
            syn::Expr::Reference(reference) => self.reference(reference),
            syn::Expr::Tuple(tuple) => {
                let mut parts = Vec::with_capacity(tuple.elems.len());
                for (i, elem) in tuple.elems.iter().enumerate() {
                    let mut value = self.eval(elem)?;
                    if tuple.elems.iter().skip(i + 1).any(may_change) {
                        value = self.hold(value, "part")?;
                    }
                    parts.push(value);
                }
                Ok(if parts.is_empty() {
                    Value::Unit
                } else {
                    Value::Tuple(parts)
                })
            }
            syn::Expr::Array(array) => self.array_expr(array),
            syn::Expr::Repeat(repeat) => {
                let len = self.eval(&repeat.len)?;
                let len = self.index(len, repeat.len.span())?;
                self.filled(&repeat.expr, len, Own::Array, span)
            }
            syn::Expr::Range(range) => self.range_expr(range),
            syn::Expr::Closure(closure) => {
                Ok(Value::Callee(Callee::Closure(std::rc::Rc::new(Closure {
                    syntax: std::rc::Rc::new(closure.clone()),
                    env: self.env.clone(),
                    frame: self.frames.len() - 1,
                }))))
            }
            syn::Expr::Block(block) => {
                if block.label.is_some() {
                    return Err(self.unknown(span, "a labelled block"));
                }
                self.scoped_block(&block.block)
            }
            syn::Expr::Unsafe(block) => self.scoped_block(&block.block),
            syn::Expr::If(inner) => self.if_expr(inner),
            syn::Expr::Match(inner) => self.match_expr(inner),
            syn::Expr::ForLoop(inner) => self.for_expr(inner),
            syn::Expr::While(inner) => self.while_expr(inner),
            syn::Expr::Loop(inner) => self.loop_expr(inner),
            syn::Expr::Break(inner) => self.break_expr(inner),
            syn::Expr::Continue(inner) => self.continue_expr(inner),
            syn::Expr::Return(inner) => {
                let value = match &inner.expr {
                    Some(value) => self.eval(value)?,
                    None => Value::Unit,
                };
                self.leave(value, span)
            }
            syn::Expr::Call(call) => self.call_expr(call),
            syn::Expr::MethodCall(call) => self.method_expr(call),
            syn::Expr::Macro(inner) => self.macro_expr(&inner.mac),
            syn::Expr::Struct(inner) => self.struct_expr(inner),
            syn::Expr::Let(_) => Err(self.unknown(span, "`let` in this condition")),
            syn::Expr::Try(inner) => self.try_expr(inner),
            syn::Expr::Async(_) | syn::Expr::Await(_) => Err(self.unknown(span, "async code")),
            _ => Err(self.unknown(span, "this expression")),
        }
    }

    /// The value at a place, as `let` would take it: arrays are copied if their elements may
    /// change later.
    pub(super) fn take(&mut self, place: &Place, span: Span) -> Lift<Value> {
        let value = self.read(place, span)?;
        self.detached(value, span)
    }

    fn detached(&mut self, value: Value, span: Span) -> Lift<Value> {
        Ok(match value {
            Value::View(view) if view.own == Own::Array => {
                let fixed = self.program.buf(view.buf).role == BufRole::Input
                    || self.tables.values().any(|table| table.buf == view.buf);
                if fixed {
                    Value::View(view)
                } else {
                    Value::View(self.copy_of(&view, "copy", span)?)
                }
            }
            Value::Tuple(parts) => {
                let mut copies = Vec::with_capacity(parts.len());
                for part in parts {
                    copies.push(self.detached(part, span)?);
                }
                Value::Tuple(copies)
            }
            Value::Struct(kind, fields) => {
                let mut copies = Vec::with_capacity(fields.len());
                for (name, part) in fields {
                    let copy = self.detached(part, span)?;
                    copies.push((name, copy));
                }
                Value::Struct(kind, copies)
            }
            other => other,
        })
    }

    /// `value`, unaffected by what happens later.
    pub(super) fn hold(&mut self, value: Value, name: &str) -> Lift<Value> {
        Ok(match value {
            Value::Scalar(num) => Value::Scalar(self.stable(name, num)),
            Value::Tuple(parts) => {
                let mut held = Vec::with_capacity(parts.len());
                for part in parts {
                    held.push(self.hold(part, name)?);
                }
                Value::Tuple(held)
            }
            Value::Struct(kind, fields) => {
                let mut held = Vec::with_capacity(fields.len());
                for (field, part) in fields {
                    let part = self.hold(part, name)?;
                    held.push((field, part));
                }
                Value::Struct(kind, held)
            }
            Value::Option { some, value } => Value::Option {
                some: self.stable(name, bool_num(some)).expr,
                value: Box::new(self.hold(*value, name)?),
            },
            Value::Variant(kind, index) => {
                let num = Num {
                    expr: index,
                    ty: Ty::Known(Scalar::U8),
                };
                Value::Variant(kind, self.stable(name, num).expr)
            }
            Value::Order(order) => Value::Order(super::value::Order {
                less: self.stable(name, bool_num(order.less)).expr,
                equal: self.stable(name, bool_num(order.equal)).expr,
            }),
            other => other,
        })
    }

    fn lit(&mut self, lit: &syn::Lit) -> Lift<Value> {
        let span = lit.span();
        Ok(match lit {
            syn::Lit::Int(int) => {
                let digits = int.base10_digits();
                let suffix = int.suffix();
                if matches!(suffix, "f32" | "f64") {
                    return self.typed_literal(Literal::Float(digits.to_owned()), suffix, span);
                }
                let Ok(value) = digits.parse::<i128>() else {
                    return Err(self.unknown(span, "this literal"));
                };
                if suffix.is_empty() {
                    Value::Scalar(self.literal(Literal::Int(value), span))
                } else {
                    return self.typed_literal(Literal::Int(value), suffix, span);
                }
            }
            syn::Lit::Float(float) => {
                let literal = Literal::Float(float.base10_digits().to_owned());
                if float.suffix().is_empty() {
                    Value::Scalar(self.literal(literal, span))
                } else {
                    return self.typed_literal(literal, float.suffix(), span);
                }
            }
            syn::Lit::Bool(value) => Value::Scalar(bool_num(bool_const(value.value))),
            syn::Lit::Byte(byte) => Value::scalar(
                Expr::Const(Const::Int(Scalar::U8, i128::from(byte.value()))),
                Ty::Known(Scalar::U8),
            ),
            syn::Lit::ByteStr(text) => {
                let bytes = text.value().into_iter().map(|byte| {
                    let byte = Const::Int(Scalar::U8, i128::from(byte));
                    Value::scalar(Expr::Const(byte), Ty::Known(Scalar::U8))
                });
                self.array_of(bytes.collect(), span)?
            }
            syn::Lit::Str(_) => Value::Text,
            _ => return Err(self.unknown(span, "this literal")),
        })
    }

    fn typed_literal(&mut self, literal: Literal, suffix: &str, span: Span) -> Lift<Value> {
        let scalar: Option<Scalar> = suffix.parse().ok();
        match scalar.and_then(|scalar| Self::constant(&literal, scalar).map(|c| (c, scalar))) {
            Some((value, scalar)) => Ok(Value::scalar(Expr::Const(value), Ty::Known(scalar))),
            None => Err(self.unknown(span, "this literal")),
        }
    }

    fn assign_expr(&mut self, assign: &syn::ExprAssign) -> Lift<Value> {
        let span = assign.span();
        if matches!(&*assign.left, syn::Expr::Infer(_)) {
            self.eval(&assign.right)?;
            return Ok(Value::Unit);
        }
        let value = self.eval(&assign.right)?;
        if let syn::Expr::Tuple(targets) = &*assign.left {
            let Value::Tuple(parts) = self.hold(value, "next")? else {
                return Err(self.unknown(span, "this assignment"));
            };
            if parts.len() != targets.elems.len() {
                return Err(self.unknown(span, "this assignment"));
            }
            for (target, part) in targets.elems.iter().zip(parts) {
                if matches!(target, syn::Expr::Infer(_)) {
                    continue;
                }
                let place = self.place(target)?;
                self.write(&place, part, span)?;
            }
            return Ok(Value::Unit);
        }
        let place = self.place(&assign.left)?;
        self.write(&place, value, span)?;
        Ok(Value::Unit)
    }

    fn reference(&mut self, reference: &syn::ExprReference) -> Lift<Value> {
        let span = reference.span();
        let mutable = reference.mutability.is_some();
        let place = self.place(&reference.expr)?;
        Ok(match place {
            Place::Sub(view) => Value::View(super::value::View {
                own: Own::Borrowed(mutable),
                ..view
            }),
            Place::Elem(buf, index) => {
                let index = self.stable_index("at", index);
                Value::Ref(Box::new(Place::Elem(buf, index)), mutable)
            }
            Place::Slot(..) => match self.peek(&place, span)? {
                Value::View(view) if !matches!(view.own, Own::Borrowed(_)) => {
                    Value::View(super::value::View {
                        own: Own::Borrowed(mutable),
                        ..view
                    })
                }
                Value::View(view) if !mutable => Value::View(view),
                Value::Scalar(num) if !mutable => Value::Scalar(num),
                Value::Memory(buf, index) => Value::Ref(Box::new(Place::Elem(buf, index)), mutable),
                Value::Nd(array) => Value::Nd(super::value::NdArray {
                    own: match array.own {
                        Own::Borrowed(false) => Own::Borrowed(false),
                        _ => Own::Borrowed(mutable),
                    },
                    ..array
                }),
                _ => Value::Ref(Box::new(place), mutable),
            },
            Place::Temp(value) => match *value {
                Value::Nd(array) => Value::Nd(super::value::NdArray {
                    own: match array.own {
                        Own::Borrowed(false) => Own::Borrowed(false),
                        _ => Own::Borrowed(mutable),
                    },
                    ..array
                }),
                Value::View(view) => Value::View(super::value::View {
                    own: Own::Borrowed(mutable),
                    ..view
                }),
                value => value,
            },
        })
    }

    fn range_expr(&mut self, range: &syn::ExprRange) -> Lift<Value> {
        let span = range.span();
        let inclusive = matches!(range.limits, syn::RangeLimits::Closed(_));
        let lo = match &range.start {
            Some(start) => Some(self.eval_num(start)?),
            None => None,
        };
        let hi = match &range.end {
            Some(end) => Some(self.eval_num(end)?),
            None => None,
        };
        let lo = match (lo, &hi) {
            (Some(lo), _) => lo,
            (None, None) => return Ok(Value::Unit), // `..`
            // `..hi`, an index only.
            (None, Some(_)) => super::reader::usize_num(Expr::index(0)),
        };
        if let Some(hi) = &hi {
            self.unify(lo.ty, hi.ty, span)?;
        }
        Ok(Value::Iter(Box::new(Iter::Range { lo, hi, inclusive })))
    }

    fn array_expr(&mut self, array: &syn::ExprArray) -> Lift<Value> {
        // An array of arrays, written out: one flat array.
        let mut leaves = Vec::new();
        if let Some(elem) = flatten(array, &mut leaves)
            && elem != Elem::Scalar
        {
            let leaves = syn::ExprArray {
                attrs: Vec::new(),
                bracket_token: array.bracket_token,
                elems: leaves.into_iter().cloned().collect(),
            };
            let len = array.elems.len() as u64;
            if let Value::View(flat) = self.array_expr(&leaves)?
                && flat.elem == Elem::Scalar
            {
                return Ok(Value::View(super::value::View {
                    len: Expr::index(len),
                    elem,
                    ..flat
                }));
            }
            return Err(self.unknown(array.span(), "this array"));
        }
        let mut values = Vec::with_capacity(array.elems.len());
        for (i, elem) in array.elems.iter().enumerate() {
            let mut value = self.eval(elem)?;
            if array.elems.iter().skip(i + 1).any(may_change) {
                value = self.hold(value, "element")?;
            }
            values.push(value);
        }
        self.array_of(values, array.span())
    }

    fn struct_expr(&mut self, expr: &syn::ExprStruct) -> Lift<Value> {
        let span = expr.span();
        if expr.rest.is_some() {
            return Err(self.unknown(span, "`..` in a struct"));
        }
        let Some(last) = expr.path.segments.last() else {
            return Err(self.unknown(span, "this struct"));
        };
        let mut name = last.ident.to_string();
        if name == "Self"
            && let Some(kind) = &self.frame().self_type
        {
            name.clone_from(kind);
        }
        let mut fields = Vec::new();
        for field in &expr.fields {
            let value = self.eval(&field.expr)?;
            let value = self.hold(value, "field")?;
            let member = match &field.member {
                syn::Member::Named(name) => name.to_string(),
                syn::Member::Unnamed(index) => index.index.to_string(),
            };
            fields.push((member, value));
        }
        // In declaration order, as everyone else has them.
        let module = self.frame().module.clone();
        if let super::items::Found::Item(_, syn::Item::Struct(item)) =
            self.items.resolve(&module, std::slice::from_ref(&name))
        {
            let order: Vec<String> = item
                .fields
                .iter()
                .filter_map(|field| field.ident.as_ref().map(ToString::to_string))
                .collect();
            fields.sort_by_key(|(name, _)| order.iter().position(|other| other == name));
        }
        Ok(Value::Struct(name, fields))
    }

    /// Refuses a value of the wrong kind.
    pub(super) fn wrong_kind(
        &self,
        span: Span,
        value: &Value,
        wanted: &str,
    ) -> super::error::Interrupt {
        self.refuse(
            span,
            format!("{} stands where {wanted} is needed", describe(value)),
            "the engine follows what every name stands for",
            "write it out with loops and indexing",
        )
    }
}

/// The innermost expressions of nested array literals of equal lengths, and what the elements
/// of the outermost are.
fn flatten<'e>(array: &'e syn::ExprArray, leaves: &mut Vec<&'e syn::Expr>) -> Option<Elem> {
    let mut elem = None;
    for expr in &array.elems {
        let kind = match expr {
            syn::Expr::Array(inner) => {
                let kind = flatten(inner, leaves)?;
                Elem::Array(Box::new(kind), Expr::index(inner.elems.len() as u64))
            }
            leaf => {
                leaves.push(leaf);
                Elem::Scalar
            }
        };
        if *elem.get_or_insert_with(|| kind.clone()) != kind {
            return None;
        }
    }
    elem
}

/// Whether evaluating the expression could change a variable or memory: what was read before
/// must then be held.
pub(super) fn may_change(expr: &syn::Expr) -> bool {
    struct Finder(bool);
    impl<'ast> Visit<'ast> for Finder {
        fn visit_expr(&mut self, expr: &'ast syn::Expr) {
            match expr {
                syn::Expr::Call(_)
                | syn::Expr::Assign(_)
                | syn::Expr::Block(_)
                | syn::Expr::Unsafe(_)
                | syn::Expr::If(_)
                | syn::Expr::Match(_)
                | syn::Expr::Closure(_)
                | syn::Expr::Macro(_)
                | syn::Expr::ForLoop(_)
                | syn::Expr::While(_)
                | syn::Expr::Loop(_) => self.0 = true,
                syn::Expr::Reference(reference) if reference.mutability.is_some() => {
                    self.0 = true;
                }
                syn::Expr::MethodCall(call) => {
                    let name = call.method.to_string();
                    let harmless = super::numeric::is_scalar_method(&name)
                        || matches!(name.as_str(), "len" | "is_empty" | "get_unchecked");
                    self.0 |= !harmless;
                }
                _ => {}
            }
            if !self.0 {
                visit::visit_expr(self, expr);
            }
        }
    }
    let mut finder = Finder(false);
    finder.visit_expr(expr);
    finder.0
}
