//! Arrays and `Vec`s of the function itself: made, filled, grown.

use proc_macro2::Span;
use syn::spanned::Spanned;

use super::error::Lift;
use super::fold;
use super::reader::Reader;
use super::types::{Class, Ty};
use super::value::{Elem, Num, Own, Place, SlotId, Value, View};
use crate::ir::{BinaryOp, BufId, BufRole, Expr, Stmt};

impl Reader<'_> {
    /// Allocates a local buffer of `len` scalars, filled with `fill` or with zero.
    pub(super) fn alloc(
        &mut self,
        name: &str,
        ty: Ty,
        len: Expr,
        fill: Option<Expr>,
        _span: Span,
    ) -> Lift<BufId> {
        let len = self.stable_index("len", len);
        let fill = match fill {
            Some(fill) => fill,
            None => self.open_zero(ty),
        };
        let buf = self.local_buf(name, ty);
        self.local_lens.insert(buf, len.clone());
        self.emit(Stmt::Alloc { buf, len, fill });
        Ok(buf)
    }

    /// `[value; len]` or `vec![value; len]`.
    pub(super) fn filled(
        &mut self,
        value: &syn::Expr,
        len: Expr,
        own: Own,
        span: Span,
    ) -> Lift<Value> {
        let name = if own == Own::Vec { "list" } else { "array" };
        let item = self.eval(value)?;
        let item = self.target(item, span)?;
        match item {
            Value::View(inner) => {
                // An array of arrays: rows of one length.
                let inner_len = self.stable_index("len", inner.len.clone());
                let elem = Elem::Array(Box::new(inner.elem.clone()), inner_len);
                if !elem.is_flat() {
                    return Err(self.list_of_records(span));
                }
                let count = fold::binary(BinaryOp::Mul, len.clone(), elem.size());
                let count = self.simplify(count);
                let ty = self.elem_ty(inner.buf);
                let fill = self.uniform_fill(inner.buf);
                let buf = self.alloc(name, ty, count, fill.clone(), span)?;
                let view = View {
                    buf,
                    offset: Expr::index(0),
                    len: len.clone(),
                    elem,
                    own,
                };
                if fill.is_none() {
                    self.for_loop("i", (Expr::index(0), len, 1), &mut |reader, i| {
                        let Place::Sub(row) = reader.element(&view, i)? else {
                            return Err(reader.unknown(span, "this array"));
                        };
                        reader.copy_elements(&row, &inner, span)
                    })?;
                }
                Ok(Value::View(view))
            }
            item => {
                let num = self.num(item, span)?;
                let num = self.stable("fill", num);
                let len = self.simplify(len);
                let buf = self.alloc(name, num.ty, len.clone(), Some(num.expr), span)?;
                Ok(Value::View(Self::whole(buf, self.local_len(buf, len), own)))
            }
        }
    }

    /// Refuses a list of structs where only numbers are understood.
    pub(super) fn list_of_records(&self, span: Span) -> super::error::Interrupt {
        self.refuse(
            span,
            "a list of structs is not understood here",
            "the loop nest has flat arrays of numbers",
            "use one `Vec` per field",
        )
    }

    /// The length of a local buffer as it was allocated.
    fn local_len(&self, buf: BufId, len: Expr) -> Expr {
        self.local_lens.get(&buf).cloned().unwrap_or(len)
    }

    /// The value of every element of a buffer that was just filled and not written since.
    fn uniform_fill(&self, buf: BufId) -> Option<Expr> {
        match self.blocks.last().and_then(|block| block.last()) {
            Some(Stmt::Alloc { buf: b, fill, .. }) if *b == buf => Some(fill.clone()),
            _ => None,
        }
    }

    /// `[a, b, c]`.
    pub(super) fn array_of(&mut self, values: Vec<Value>, span: Span) -> Lift<Value> {
        let len = values.len() as u64;
        let Some(first) = values.first().cloned() else {
            return Err(self.unknown(span, "an empty array"));
        };
        let first = self.target(first, span)?;
        if let Value::View(inner) = &first {
            if matches!(inner.own, Own::Borrowed(_)) || !inner.elem.is_flat() {
                return Err(self.unknown(span, "an array of slices"));
            }
            let inner_len = self.stable_index("len", inner.len.clone());
            let elem = Elem::Array(Box::new(inner.elem.clone()), inner_len);
            let ty = self.elem_ty(inner.buf);
            let count = fold::binary(BinaryOp::Mul, Expr::index(len), elem.size());
            let buf = self.alloc("array", ty, count, None, span)?;
            let view = View {
                buf,
                offset: Expr::index(0),
                len: Expr::index(len),
                elem,
                own: Own::Array,
            };
            for (i, value) in values.into_iter().enumerate() {
                let Place::Sub(row) = self.element(&view, Expr::index(i as u64))? else {
                    return Err(self.unknown(span, "this array"));
                };
                let Some(from) = self.as_view(&value, span)? else {
                    return Err(self.unknown(span, "this array"));
                };
                self.copy_elements(&row, &from, span)?;
            }
            return Ok(Value::View(view));
        }
        let mut nums = Vec::with_capacity(values.len());
        for value in values {
            nums.push(self.num(value, span)?);
        }
        let ty = nums
            .first()
            .map_or(self.types.open(Class::Any), |num| num.ty);
        let buf = self.alloc("array", ty, Expr::index(len), None, span)?;
        for (i, num) in nums.into_iter().enumerate() {
            self.store(buf, Expr::index(i as u64), num, span)?;
        }
        Ok(Value::View(Self::whole(buf, Expr::index(len), Own::Array)))
    }

    /// `vec.push(item)`.
    pub(super) fn push(&mut self, slot: SlotId, item: Value, span: Span) -> Lift<()> {
        let Some(Value::View(view)) = self.slots.get(slot.0).cloned() else {
            return Err(self.unknown(span, "`push` here"));
        };
        if view.own != Own::Vec || self.program.buf(view.buf).role != BufRole::Local {
            return Err(self.unknown(span, "`push` on this"));
        }
        let at = view.len.clone();
        let item = self.target(item, span)?;
        // The first item says what the list is made of.
        if view.elem == Elem::Scalar
            && at == Expr::index(0)
            && let Some(elem) = self.elem_for(&view, &item)
        {
            let made = View {
                elem,
                ..view.clone()
            };
            self.made_of.insert(view.buf, made.elem.clone());
            self.slots[slot.0] = Value::View(made);
            return self.push(slot, item, span);
        }
        self.put(&view, at.clone(), item, span)?;
        let len = fold::binary(BinaryOp::Add, at, Expr::index(1));
        let len = self.simplify(len);
        self.grow(&view, &len);
        self.slots[slot.0] = Value::View(View { len, ..view });
        Ok(())
    }

    /// Writes element `at` of a list.
    pub(super) fn put(&mut self, view: &View, at: Expr, item: Value, span: Span) -> Lift<()> {
        match (&view.elem, item) {
            (Elem::Record(record), item @ (Value::Struct(..) | Value::Tuple(_))) => {
                let record = std::rc::Rc::clone(record);
                let place = self.record_item(&record, &at);
                let item = self.hold(item, "item")?;
                self.write_parts(&place, item, span)?;
            }
            (Elem::Scalar, item) => {
                let num = self.num(item, span)?;
                self.store(view.buf, at.clone(), num, span)?;
            }
            (elem @ Elem::Array(..), Value::View(row)) => {
                let scaled = fold::binary(BinaryOp::Mul, at.clone(), elem.size());
                let Elem::Array(inner, len) = elem.clone() else {
                    return Err(self.unknown(span, "`push` here"));
                };
                let to = View {
                    buf: view.buf,
                    offset: scaled,
                    len,
                    elem: *inner,
                    own: Own::Borrowed(true),
                };
                self.copy_elements(&to, &row, span)?;
            }
            _ => return Err(self.unknown(span, "`push` of this")),
        }
        Ok(())
    }

    /// What a list is made of whose first item is this, if that is no number.
    pub(super) fn elem_for(&mut self, view: &View, item: &Value) -> Option<Elem> {
        match item {
            Value::View(row) if row.own != Own::Vec || row.elem.is_flat() => {
                let ty = self.elem_ty(row.buf);
                self.types.unify(self.elem_ty(view.buf), ty);
                self.is_stable(&row.len)
                    .then(|| Elem::Array(Box::new(row.elem.clone()), row.len.clone()))
            }
            Value::Struct(..) | Value::Tuple(_) => {
                let (record, ty) = self.record_of(item, view.buf)?;
                self.types.unify(self.elem_ty(view.buf), ty);
                Some(Elem::Record(record))
            }
            _ => None,
        }
    }

    /// Makes the allocation of a `Vec` as long as it has become.
    pub(super) fn grow(&mut self, view: &View, len: &Expr) {
        let count = fold::binary(BinaryOp::Mul, len.clone(), self.elem_numbers(&view.elem));
        for block in self.blocks.iter_mut().rev() {
            for stmt in block.iter_mut().rev() {
                if let Stmt::Alloc { buf, len, .. } = stmt
                    && *buf == view.buf
                {
                    *len = count.clone();
                    self.local_lens.insert(view.buf, count);
                    return;
                }
            }
        }
    }

    /// Reads the arguments of `vec![..]`.
    pub(super) fn vec_macro(&mut self, mac: &syn::Macro) -> Lift<Value> {
        let span = mac.span();
        if let Ok(repeat) = mac.parse_body_with(
            |input: syn::parse::ParseStream<'_>| -> syn::Result<(syn::Expr, syn::Expr)> {
                let value = input.parse()?;
                input.parse::<syn::Token![;]>()?;
                Ok((value, input.parse()?))
            },
        ) {
            let len = self.eval(&repeat.1)?;
            let len = self.index(len, repeat.1.span())?;
            let len = self.stable_index("len", len);
            return self.filled(&repeat.0, len, Own::Vec, span);
        }
        let list = mac.parse_body_with(
            syn::punctuated::Punctuated::<syn::Expr, syn::Token![,]>::parse_terminated,
        );
        let Ok(list) = list else {
            return Err(self.unknown(span, "this `vec!`"));
        };
        if list.is_empty() {
            let ty = self.types.open(Class::Any);
            return Ok(Value::View(self.empty_vec("list", ty, span)?));
        }
        let mut values = Vec::with_capacity(list.len());
        for elem in &list {
            let value = self.eval(elem)?;
            values.push(self.hold(value, "element")?);
        }
        let value = self.array_of(values, span)?;
        Ok(match value {
            Value::View(view) => Value::View(View {
                own: Own::Vec,
                ..view
            }),
            other => other,
        })
    }

    /// A scalar held in place of `value`, if it is one.
    pub(super) fn held_num(&mut self, value: Value, name: &str, span: Span) -> Lift<Num> {
        let num = self.num(value, span)?;
        Ok(self.stable(name, num))
    }
}
