//! Patterns: what `let`, `for` and closure parameters bring into scope.

use pragma_spec::Scalar;
use proc_macro2::Span;
use syn::spanned::Spanned;

use super::error::Lift;
use super::fold;
use super::poly::{Atom, Poly};
use super::reader::Reader;
use super::types::Ty;
use super::value::{Num, Own, Place, Value, View};
use crate::ir::{BinaryOp, Expr};

impl Reader<'_> {
    /// Binds an irrefutable pattern.
    pub(super) fn bind_pattern(&mut self, pat: &syn::Pat, value: Value) -> Lift<()> {
        let span = pat.span();
        match pat {
            syn::Pat::Wild(_) => Ok(()),
            syn::Pat::Ident(ident) if ident.subpat.is_none() => {
                let name = ident.ident.to_string();
                let mutable = ident.mutability.is_some() && ident.by_ref.is_none();
                self.bind_name(&name, mutable, value, span)
            }
            syn::Pat::Paren(inner) => self.bind_pattern(&inner.pat, value),
            syn::Pat::Type(typed) => {
                let written = self.written(&typed.ty)?;
                self.annotate(&value, &written, span)?;
                self.bind_pattern(&typed.pat, value)
            }
            syn::Pat::Reference(inner) => {
                let value = match value {
                    Value::Ref(place, _) => self.read(&place, span)?,
                    other => other,
                };
                self.bind_pattern(&inner.pat, value)
            }
            syn::Pat::Tuple(tuple) => {
                let value = self.open_ref(value, span)?;
                let Value::Tuple(parts) = value else {
                    return Err(self.wrong_kind(span, &value, "a tuple"));
                };
                let rest = tuple
                    .elems
                    .iter()
                    .position(|elem| matches!(elem, syn::Pat::Rest(_)));
                let count = tuple.elems.len();
                if rest.is_none() && parts.len() != count {
                    return Err(self.unknown(span, "this pattern"));
                }
                for (i, elem) in tuple.elems.iter().enumerate() {
                    let at = match rest {
                        Some(rest) if i == rest => continue,
                        Some(rest) if i > rest => (i + parts.len()).checked_sub(count),
                        _ => Some(i),
                    };
                    let Some(part) = at.and_then(|at| parts.get(at)).cloned() else {
                        return Err(self.unknown(span, "this pattern"));
                    };
                    self.bind_pattern(elem, part)?;
                }
                Ok(())
            }
            syn::Pat::Struct(inner) => {
                let value = self.open_ref(value, span)?;
                let Value::Struct(_, fields) = value else {
                    return Err(self.wrong_kind(span, &value, "a struct"));
                };
                for field in &inner.fields {
                    let name = match &field.member {
                        syn::Member::Named(name) => name.to_string(),
                        syn::Member::Unnamed(index) => index.index.to_string(),
                    };
                    let Some((_, part)) = fields.iter().find(|(field, _)| *field == name) else {
                        return Err(self.unknown(span, "this pattern"));
                    };
                    self.bind_pattern(&field.pat, part.clone())?;
                }
                Ok(())
            }
            syn::Pat::Slice(slice) => {
                // A shape: `let [h, w] = *x.shape()`.
                if let Value::Tuple(parts) = &value
                    && parts.len() == slice.elems.len()
                {
                    for (elem, part) in slice.elems.iter().zip(parts.clone()) {
                        self.bind_pattern(elem, part)?;
                    }
                    return Ok(());
                }
                let Some(view) = self.as_view(&value, span)? else {
                    return Err(self.wrong_kind(span, &value, "a slice"));
                };
                if fold::as_int(&view.len) != Some(slice.elems.len() as i128) {
                    return Err(self.unknown(span, "a slice pattern of another length"));
                }
                for (i, elem) in slice.elems.iter().enumerate() {
                    let place = self.element(&view, Expr::index(i as u64))?;
                    let mutable = matches!(view.own, Own::Borrowed(true));
                    let item = match (place, view.own) {
                        (place, Own::Borrowed(_)) => Value::Ref(Box::new(place), mutable),
                        (place, _) => self.read(&place, span)?,
                    };
                    self.bind_pattern(elem, item)?;
                }
                Ok(())
            }
            _ => Err(self.unknown(span, "this pattern")),
        }
    }

    /// What a reference to a tuple or struct refers to.
    fn open_ref(&mut self, value: Value, span: Span) -> Lift<Value> {
        match value {
            Value::Ref(place, _) if matches!(*place, Place::Slot(..) | Place::Temp(_)) => {
                self.read(&place, span)
            }
            other => Ok(other),
        }
    }

    /// Binds one name.
    pub(super) fn bind_name(
        &mut self,
        name: &str,
        mutable: bool,
        value: Value,
        span: Span,
    ) -> Lift<()> {
        let value = if mutable {
            match value {
                // `mut b` of a struct that lives elsewhere.
                Value::Struct(..) | Value::Tuple(_) if super::records::only_in_memory(&value) => {
                    value
                }
                Value::View(view) if view.own == Own::Array => {
                    // `let mut a = b` of an array changes `a` only.
                    let fresh = self.is_fresh(&view);
                    let view = if fresh {
                        view
                    } else {
                        self.copy_of(&view, name, span)?
                    };
                    self.rename_buf(&view, name);
                    Value::View(view)
                }
                Value::View(view) => {
                    if view.own == Own::Vec {
                        self.rename_buf(&view, name);
                    }
                    Value::View(view)
                }
                Value::Option { .. }
                | Value::Scalar(_)
                | Value::Variant(..)
                | Value::Tuple(_)
                | Value::Struct(..) => {
                    let held = self.by_value_deep(value, span)?;
                    self.storage(name, held, span)?
                }
                other => other,
            }
        } else {
            self.bound(name, value, span)?
        };
        self.hint_name(name, &value);
        self.bind(name, value);
        Ok(())
    }

    /// References to scalars inside tuples as values, for storage.
    fn by_value_deep(&mut self, value: Value, span: Span) -> Lift<Value> {
        Ok(match value {
            Value::Tuple(parts) => {
                let mut values = Vec::with_capacity(parts.len());
                for part in parts {
                    values.push(self.by_value_deep(part, span)?);
                }
                Value::Tuple(values)
            }
            Value::Ref(place, false) if matches!(*place, Place::Elem(..)) => {
                self.read(&place, span)?
            }
            other => other,
        })
    }

    /// `value` under an immutable name.
    fn bound(&mut self, name: &str, value: Value, span: Span) -> Lift<Value> {
        Ok(match value {
            Value::Scalar(num) => {
                let num = Num {
                    expr: self.settle(num.expr),
                    ty: num.ty,
                };
                if self.is_plain(&num) {
                    Value::Scalar(num)
                } else if self.is_stable(&num.expr)
                    && self.types.resolve(num.ty) == Ty::Known(Scalar::Usize)
                    && (is_affine(&num.expr) || self.is_size_expr(&num.expr))
                {
                    // Index arithmetic stays visible to whoever looks at the access.
                    Value::Scalar(num)
                } else {
                    Value::Scalar(self.let_named(name, num))
                }
            }
            // What a shared reference shows cannot change while it lives: read it once.
            Value::Ref(place, false) if matches!(*place, Place::Elem(..)) => {
                let value = self.read(&place, span)?;
                let num = self.num(value, span)?;
                let num = self.let_named(name, num);
                if let Expr::Var(var) = num.expr {
                    self.temporaries.push(var);
                }
                Value::Scalar(num)
            }
            Value::Tuple(parts) => {
                let mut values = Vec::with_capacity(parts.len());
                for (i, part) in parts.into_iter().enumerate() {
                    values.push(self.bound(&format!("{name}_{i}"), part, span)?);
                }
                Value::Tuple(values)
            }
            Value::Struct(kind, fields) => {
                let mut values = Vec::with_capacity(fields.len());
                for (field, part) in fields {
                    let part = self.bound(&format!("{name}_{field}"), part, span)?;
                    values.push((field, part));
                }
                Value::Struct(kind, values)
            }
            Value::Memory(..) => value,
            Value::View(view) => {
                if view.own != Own::Array {
                    if view.own == Own::Vec {
                        self.rename_buf(&view, name);
                    }
                    Value::View(view)
                } else {
                    self.rename_buf(&view, name);
                    Value::View(view)
                }
            }
            other => self.hold(other, name)?,
        })
    }

    /// Whether a name for it costs nothing.
    fn is_plain(&self, num: &Num) -> bool {
        matches!(num.expr, Expr::Const(_) | Expr::Dim(_))
            || (matches!(num.expr, Expr::Var(_)) && self.is_stable(&num.expr))
            || matches!(&num.expr, Expr::Cast(to, inner)
                if matches!(**inner, Expr::Dim(_))
                    || (to.is_integer()
                        && matches!(**inner, Expr::Var(_))
                        && self.is_stable(inner)))
    }

    /// Whether it is arithmetic on dimensions alone, which shapes may turn into a dimension.
    fn is_size_expr(&mut self, expr: &Expr) -> bool {
        let poly = self.poly(expr);
        self.table.is_size(&poly)
    }

    /// Whether nothing else names the array that `view` shows.
    fn is_fresh(&self, view: &View) -> bool {
        let local = self.local_lens.contains_key(&view.buf)
            && !self.tables.values().any(|table| table.buf == view.buf);
        let named = self
            .slots
            .iter()
            .any(|value| matches!(value, Value::View(other) if other.buf == view.buf));
        local && !named
    }

    /// A buffer of the function's own takes the first name that the source gives it.
    pub(super) fn rename_buf(&mut self, view: &View, name: &str) {
        let made_up = ["array", "list", "copy", "collected"];
        let old = self.program.buf(view.buf).name.clone();
        let stem = old.trim_end_matches(|c: char| c.is_ascii_digit() || c == '_');
        if !made_up.contains(&stem) || !self.local_lens.contains_key(&view.buf) {
            return;
        }
        let name = &plain_name(name)[..];
        let taken = self.program.vars.iter().any(|var| var.name == name)
            || self.program.bufs.iter().any(|buf| buf.name == name)
            || self.program.dims.iter().any(|dim| dim == name)
            || self.table.find(name).is_some();
        if !taken && let Some(decl) = self.program.bufs.get_mut(view.buf.0 as usize) {
            decl.name = name.to_owned();
        }
    }

    /// `let n = x.len()` says what the length is called.
    fn hint_name(&mut self, name: &str, value: &Value) {
        if let Value::Scalar(num) = value
            && let Expr::Dim(dim) = num.expr
        {
            self.table.hint(dim, name);
        } else if let Value::Scalar(num) = value
            && self.types.resolve(num.ty) == Ty::Known(Scalar::Usize)
        {
            let poly = self.poly(&num.expr.clone());
            if let [Atom::Dim(dim)] = poly.atoms()[..]
                && poly == Poly::atom(Atom::Dim(dim))
            {
                self.table.hint(dim, name);
            }
        }
    }
}

/// Whether an index expression is sums and products of variables only.
fn is_affine(expr: &Expr) -> bool {
    match expr {
        Expr::Const(_) | Expr::Dim(_) | Expr::Var(_) => true,
        Expr::Binary(BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul, a, b) => {
            is_affine(a) && is_affine(b)
        }
        _ => false,
    }
}

/// A name without `r#`: `r#type` becomes `type_`.
pub(super) fn plain_name(name: &str) -> String {
    name.strip_prefix("r#")
        .map_or_else(|| name.to_owned(), |stem| format!("{stem}_"))
}
