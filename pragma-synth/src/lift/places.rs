//! Places: what can be read, written, indexed and borrowed.

use pragma_spec::Scalar;
use proc_macro2::Span;
use syn::spanned::Spanned;

use super::error::Lift;
use super::fold;
use super::reader::{Reader, describe, usize_num};
use super::records::in_memory;
use super::types::Ty;
use super::value::{Elem, Iter, Num, Own, Place, SlotId, Value, View};
use crate::ir::{BinaryOp, BufRole, CompareOp, Expr, Func};

impl Reader<'_> {
    /// The place that an expression denotes; a temporary if it denotes none.
    pub(super) fn place(&mut self, expr: &syn::Expr) -> Lift<Place> {
        self.deeper(expr.span(), |reader| reader.place_inner(expr))
    }

    fn place_inner(&mut self, expr: &syn::Expr) -> Lift<Place> {
        let span = expr.span();
        match expr {
            syn::Expr::Paren(inner) => self.place(&inner.expr),
            syn::Expr::Group(inner) => self.place(&inner.expr),
            syn::Expr::Path(path) => match self.local(path) {
                Some(slot) => Ok(Place::Slot(slot, Vec::new())),
                None => Ok(Place::Temp(Box::new(self.eval(expr)?))),
            },
            syn::Expr::Unary(unary) if matches!(unary.op, syn::UnOp::Deref(_)) => {
                let inner = self.place(&unary.expr)?;
                self.follow(inner, span)
            }
            syn::Expr::Field(field) => {
                let base = self.place(&field.base)?;
                let base = self.follow(base, span)?;
                self.field(base, &field.member, span)
            }
            syn::Expr::Index(index) => {
                let base = self.place(&index.expr)?;
                let value = self.peek(&base, span)?;
                if let Some(array) = self.as_nd(&value, span)? {
                    return self.nd_place(&array, &index.index);
                }
                self.expect_size(&index.index);
                let at = self.eval(&index.index)?;
                self.indexed(base, at, index.index.span())
            }
            syn::Expr::MethodCall(call)
                if call.method == "get_unchecked" || call.method == "get_unchecked_mut" =>
            {
                let base = self.place(&call.receiver)?;
                let Some(arg) = call.args.first() else {
                    return Err(self.unknown(span, "`get_unchecked` without an index"));
                };
                let at = self.eval(arg)?;
                self.indexed(base, at, arg.span())
            }
            _ => Ok(Place::Temp(Box::new(self.eval(expr)?))),
        }
    }

    /// What an index is computed from is of type `usize`, as far as operators go.
    fn expect_size(&mut self, expr: &syn::Expr) {
        match expr {
            syn::Expr::Paren(inner) => self.expect_size(&inner.expr),
            syn::Expr::Binary(binary)
                if matches!(
                    binary.op,
                    syn::BinOp::Add(_)
                        | syn::BinOp::Sub(_)
                        | syn::BinOp::Mul(_)
                        | syn::BinOp::Div(_)
                        | syn::BinOp::Rem(_)
                        | syn::BinOp::BitAnd(_)
                        | syn::BinOp::BitOr(_)
                        | syn::BinOp::BitXor(_)
                ) =>
            {
                self.expect_size(&binary.left);
                self.expect_size(&binary.right);
            }
            syn::Expr::Path(path) => {
                let slot = self.local(path);
                let ty = match slot.and_then(|slot| self.slots.get(slot.0)) {
                    Some(Value::Scalar(num)) => num.ty,
                    Some(Value::Cell(var)) => self.type_of_var(*var),
                    _ => return,
                };
                // Where it is of another type, the index itself will say so.
                if matches!(self.types.resolve(ty), Ty::Open(_)) {
                    self.types.unify(ty, Ty::Known(Scalar::Usize));
                }
            }
            _ => {}
        }
    }

    /// The local variable that a path names.
    pub(super) fn local(&self, path: &syn::ExprPath) -> Option<SlotId> {
        if path.qself.is_some() {
            return None;
        }
        self.env.find(&path.path.get_ident()?.to_string())
    }

    /// What a place holds, as it is stored.
    pub(super) fn peek(&mut self, place: &Place, span: Span) -> Lift<Value> {
        match place {
            Place::Slot(slot, path) => {
                let mut value = self.slots.get(slot.0).cloned().unwrap_or(Value::Unit);
                for step in path {
                    value = match value {
                        Value::Tuple(mut parts) if *step < parts.len() => parts.swap_remove(*step),
                        Value::Struct(_, mut fields) if *step < fields.len() => {
                            fields.swap_remove(*step).1
                        }
                        other => {
                            return Err(
                                self.unknown(span, format!("a field of {}", describe(&other)))
                            );
                        }
                    };
                }
                Ok(value)
            }
            Place::Elem(buf, index) => Ok(Value::Scalar(self.load(*buf, index.clone()))),
            Place::Sub(view) => Ok(Value::View(view.clone())),
            Place::Temp(value) => Ok((**value).clone()),
        }
    }

    /// The value at a place.
    pub(super) fn read(&mut self, place: &Place, span: Span) -> Lift<Value> {
        let value = self.peek(place, span)?;
        self.read_value(value)
    }

    /// `value` with the variables in it replaced by their present values.
    pub(super) fn read_value(&mut self, value: Value) -> Lift<Value> {
        Ok(match value {
            Value::Cell(var) => Value::Scalar(Num {
                expr: Expr::Var(var),
                ty: self.type_of_var(var),
            }),
            Value::Memory(buf, index) => Value::Scalar(self.load(buf, index)),
            Value::Tuple(parts) => {
                let mut values = Vec::with_capacity(parts.len());
                for part in parts {
                    values.push(self.read_value(part)?);
                }
                Value::Tuple(values)
            }
            Value::Struct(kind, fields) => {
                let mut values = Vec::with_capacity(fields.len());
                for (name, part) in fields {
                    let value = self.read_value(part)?;
                    values.push((name, value));
                }
                Value::Struct(kind, values)
            }
            Value::Option { some, value } => Value::Option {
                some,
                value: Box::new(self.read_value(*value)?),
            },
            other => other,
        })
    }

    /// The place that a reference at `place` refers to; `place` itself if it holds none.
    pub(super) fn follow(&mut self, place: Place, span: Span) -> Lift<Place> {
        let mut place = place;
        for _ in 0..8 {
            if matches!(place, Place::Elem(..) | Place::Sub(_)) {
                return Ok(place);
            }
            match self.peek(&place, span)? {
                Value::Ref(inner, _) => place = *inner,
                Value::View(view) if matches!(view.own, Own::Borrowed(_)) => {
                    return Ok(Place::Sub(view));
                }
                Value::Memory(buf, index) => return Ok(Place::Elem(buf, index)),
                _ => return Ok(place),
            }
        }
        Ok(place)
    }

    /// The view that `value` is or refers to.
    pub(super) fn as_view(&mut self, value: &Value, span: Span) -> Lift<Option<View>> {
        let mut value = value.clone();
        for _ in 0..8 {
            match value {
                Value::View(view) => return Ok(Some(view)),
                Value::Ref(place, _) => value = self.peek(&place, span)?,
                _ => return Ok(None),
            }
        }
        Ok(None)
    }

    fn field(&mut self, base: Place, member: &syn::Member, span: Span) -> Lift<Place> {
        let value = self.peek(&base, span)?;
        let position = match (&value, member) {
            (Value::Tuple(parts), syn::Member::Unnamed(index)) => {
                Some(index.index as usize).filter(|index| *index < parts.len())
            }
            (Value::Struct(_, fields), syn::Member::Named(name)) => {
                fields.iter().position(|(field, _)| name == field)
            }
            (Value::Struct(_, fields), syn::Member::Unnamed(index)) => {
                let name = index.index.to_string();
                fields.iter().position(|(field, _)| *field == name)
            }
            _ => None,
        };
        let Some(position) = position else {
            return Err(self.refuse(
                span,
                format!("this field of {} is not known", describe(&value)),
                "the engine must know the type to read a field of it",
                "pass the field to the function as a parameter of its own",
            ));
        };
        match base {
            Place::Slot(slot, mut path) => {
                path.push(position);
                Ok(Place::Slot(slot, path))
            }
            _ => {
                let part = match value {
                    Value::Tuple(mut parts) => parts.swap_remove(position),
                    Value::Struct(_, mut fields) => fields.swap_remove(position).1,
                    other => other,
                };
                Ok(match part {
                    Value::Memory(buf, index) => Place::Elem(buf, index),
                    Value::View(view) if view.own == Own::Array => Place::Sub(view),
                    part => Place::Temp(Box::new(part)),
                })
            }
        }
    }

    /// `base[at]`.
    pub(super) fn indexed(&mut self, base: Place, at: Value, span: Span) -> Lift<Place> {
        let value = self.peek(&base, span)?;
        // A shape: `x.shape()[0]`.
        if let Value::Tuple(parts) = &value {
            let at = self.index(at, span)?;
            let part = fold::as_int(&at)
                .and_then(|at| parts.get(usize::try_from(at).ok()?))
                .cloned();
            return match part {
                Some(part) => Ok(Place::Temp(Box::new(part))),
                None => Err(self.unknown(span, "this index")),
            };
        }
        if let Some(array) = self.as_nd(&value, span)? {
            return self.nd_indexed(&array, at, span);
        }
        let Some(view) = self.as_view(&value, span)? else {
            return Err(self.unknown(span, format!("indexing {}", describe(&value))));
        };
        match at {
            Value::Iter(range) => match *range {
                Iter::Range { lo, hi, inclusive } => {
                    let sub = self.slice(&view, Some(lo), hi, inclusive, span)?;
                    Ok(Place::Sub(sub))
                }
                _ => Err(self.unknown(span, "this index")),
            },
            Value::Unit => Ok(Place::Sub(view)), // `..`
            at => {
                let index = self.index(at, span)?;
                self.element(&view, index)
            }
        }
    }

    /// Element `index` of a view.
    pub(super) fn element(&mut self, view: &View, index: Expr) -> Lift<Place> {
        // A buffer is checked against its own length by whoever runs the program; a stretch of
        // it must be checked against its own.
        let surely = match (self.most(&index), fold::as_int(&view.len)) {
            (Some(most), Some(len)) => most < len,
            _ => false,
        };
        if surely {
            // Such as a byte, into a table of 256.
        } else if !self.is_whole(view) && self.is_stable(&index) {
            if !self.lt(&index, &view.len) {
                let out = self.decide(CompareOp::Ge, index.clone(), view.len.clone());
                self.panic_if(out);
            }
        } else if !self.is_whole(view) {
            let index = self.stable_index("at", index);
            return self.element(view, index);
        }
        let scaled = fold::binary(BinaryOp::Mul, index, view.elem.size());
        let offset = fold::binary(BinaryOp::Add, view.offset.clone(), scaled);
        Ok(match &view.elem {
            Elem::Scalar => Place::Elem(view.buf, offset),
            Elem::Record(record) => {
                let offset = self.stable_index("at", offset);
                Place::Temp(Box::new(self.record_item(record, &offset)))
            }
            Elem::Array(inner, len) => Place::Sub(View {
                buf: view.buf,
                offset: self.stable_index("row", offset),
                len: len.clone(),
                elem: (**inner).clone(),
                own: Own::Array,
            }),
        })
    }

    /// Whether `view` shows all of its buffer, element by element.
    fn is_whole(&mut self, view: &View) -> bool {
        if view.offset != Expr::index(0) || view.elem != Elem::Scalar {
            return false;
        }
        match self.buf_params.get(&view.buf) {
            Some(param) => {
                let len = self.table.len(*param);
                self.poly(&view.len) == len
            }
            None => self.local_lens.get(&view.buf) == Some(&view.len),
        }
    }

    /// `&view[lo..hi]`.
    pub(super) fn slice(
        &mut self,
        view: &View,
        lo: Option<Num>,
        hi: Option<Num>,
        inclusive: bool,
        span: Span,
    ) -> Lift<View> {
        let lo = match lo {
            Some(num) => self.index(Value::Scalar(num), span)?,
            None => Expr::index(0),
        };
        let lo = self.stable_index("start", lo);
        let hi = match hi {
            Some(num) => {
                let hi = self.index(Value::Scalar(num), span)?;
                if inclusive {
                    fold::binary(BinaryOp::Add, hi, Expr::index(1))
                } else {
                    hi
                }
            }
            None => view.len.clone(),
        };
        let hi = self.stable_index("end", hi);
        self.note_end(view, &hi);
        if !self.le(&lo, &hi) {
            let bad = self.decide(CompareOp::Gt, lo.clone(), hi.clone());
            self.panic_if(bad);
        }
        if !self.le(&hi, &view.len) {
            let bad = self.decide(CompareOp::Gt, hi.clone(), view.len.clone());
            self.panic_if(bad);
        }
        let size = view.elem.size();
        let skipped = fold::binary(BinaryOp::Mul, lo.clone(), size);
        let len = self.simplify(fold::binary(BinaryOp::Sub, hi, lo));
        Ok(View {
            buf: view.buf,
            offset: fold::binary(BinaryOp::Add, view.offset.clone(), skipped),
            len,
            elem: view.elem.clone(),
            own: Own::Borrowed(self.is_writable(view)),
        })
    }

    /// Whether `view` may be written through.
    pub(super) fn is_writable(&self, view: &View) -> bool {
        match view.own {
            Own::Borrowed(mutable) => mutable,
            Own::Array | Own::Vec => self.program.buf(view.buf).role != BufRole::Input,
        }
    }

    /// Notes that the buffer of `view` must reach to element `end` of the view.
    fn note_end(&mut self, view: &View, end: &Expr) {
        let Some(&param) = self.buf_params.get(&view.buf) else {
            return;
        };
        let size = view.elem.size();
        let scaled = fold::binary(BinaryOp::Mul, end.clone(), size);
        let last = fold::binary(BinaryOp::Add, view.offset.clone(), scaled);
        let last = self.poly(&last);
        self.note_strides(param, &last);
        self.reach_len(param, last);
    }

    /// A comparison of two `usize`, decided if it can be.
    pub(super) fn decide(&mut self, op: CompareOp, a: Expr, b: Expr) -> Expr {
        let (x, y) = match op {
            CompareOp::Lt | CompareOp::Ge => (&a, &b),
            CompareOp::Gt | CompareOp::Le => (&b, &a),
            CompareOp::Eq | CompareOp::Ne => {
                let differ = self.lt(&a, &b) || self.lt(&b, &a);
                if differ || self.equal(&a, &b) {
                    return super::reader::bool_const(differ == (op == CompareOp::Ne));
                }
                return fold::compare(op, a, b);
            }
        };
        let positive = matches!(op, CompareOp::Lt | CompareOp::Gt);
        if self.lt(x, y) {
            return super::reader::bool_const(positive);
        }
        if self.le(y, x) {
            return super::reader::bool_const(!positive);
        }
        fold::compare(op, a, b)
    }

    /// Writes `value` to `place`.
    pub(super) fn write(&mut self, place: &Place, value: Value, span: Span) -> Lift<()> {
        if value == Value::Never {
            return Ok(());
        }
        match place {
            Place::Elem(buf, index) => {
                let num = self.num(value, span)?;
                self.store(*buf, index.clone(), num, span)
            }
            Place::Sub(view) => {
                let Some(from) = self.as_view(&value, span)? else {
                    return Err(self.unknown(span, "assigning this to an array"));
                };
                self.copy_elements(view, &from, span)
            }
            Place::Slot(slot, path) => {
                let stored = self.peek(place, span)?;
                match (&stored, &value) {
                    (Value::Memory(buf, index), _) => {
                        let num = self.num(value, span)?;
                        self.store(*buf, index.clone(), num, span)
                    }
                    (Value::Struct(..) | Value::Tuple(_), _) if in_memory(&stored) => {
                        let value = self.target(value, span)?;
                        let value = self.hold(value, "next")?;
                        self.write_parts(&stored, value, span)
                    }
                    (Value::View(to), Value::View(from))
                        if matches!(to.own, Own::Array) && to != from =>
                    {
                        let (to, from) = (to.clone(), from.clone());
                        self.copy_elements(&to, &from, span)
                    }
                    (Value::Nd(to), Value::Nd(_)) if path.is_empty() => {
                        let _ = to;
                        if let Some(target) = self.slots.get_mut(slot.0) {
                            *target = value;
                        }
                        Ok(())
                    }
                    (Value::View(_) | Value::Iter(_) | Value::Ref(..) | Value::Callee(_), _) => {
                        let target = self.slots.get_mut(slot.0);
                        if let (Some(target), true) = (target, path.is_empty()) {
                            *target = value;
                            return Ok(());
                        }
                        Err(self.unknown(span, "assigning this field"))
                    }
                    // A variable that is followed symbolically: see `loop_with_cursors`.
                    (Value::Scalar(_), _) if path.is_empty() => {
                        let num = self.num(value, span)?;
                        self.unify(num.ty, Ty::Known(Scalar::Usize), span)?;
                        if !self.is_stable(&num.expr) {
                            return Err(self.unknown(span, "this assignment"));
                        }
                        self.slots[slot.0] = Value::Scalar(num);
                        Ok(())
                    }
                    _ => self.assign(&stored, value, span),
                }
            }
            Place::Temp(stored) if in_memory(stored) => {
                let value = self.target(value, span)?;
                let value = self.hold(value, "next")?;
                self.write_parts(stored, value, span)
            }
            Place::Temp(_) => Err(self.unknown(span, "assigning to a temporary")),
        }
    }

    /// Copies all elements of `from` into `to`, which must have the same number.
    pub(super) fn copy_elements(&mut self, to: &View, from: &View, span: Span) -> Lift<()> {
        let ty = self.elem_ty(from.buf);
        self.unify(self.elem_ty(to.buf), ty, span)?;
        if let (Elem::Record(a), Elem::Record(b)) = (&to.elem, &from.elem) {
            let (a, b) = (std::rc::Rc::clone(a), std::rc::Rc::clone(b));
            return self.copy_records((to, &a), (from, &b), span);
        }
        let sizes = (to.elem.size(), from.elem.size());
        if !to.elem.is_flat() || !from.elem.is_flat() || !self.equal(&sizes.0, &sizes.1) {
            return Err(self.unknown(span, "copying between different element types"));
        }
        if !self.equal(&to.len, &from.len) {
            self.learn_equal(&to.len, &from.len)?;
            let differ = self.decide(CompareOp::Ne, to.len.clone(), from.len.clone());
            self.panic_if(differ);
        }
        let size = to.elem.size();
        let count = self.simplify(fold::binary(BinaryOp::Mul, to.len.clone(), size));
        self.for_loop("i", (Expr::index(0), count, 1), &mut |reader, i| {
            let source = fold::binary(BinaryOp::Add, from.offset.clone(), i.clone());
            let target = fold::binary(BinaryOp::Add, to.offset.clone(), i);
            let num = reader.load(from.buf, source);
            reader.store(to.buf, target, num, span)
        })
    }

    /// A new local array or `Vec` with the elements of `view`.
    pub(super) fn copy_of(&mut self, view: &View, name: &str, span: Span) -> Lift<View> {
        let ty = self.elem_ty(view.buf);
        let size = view.elem.size();
        if !view.elem.is_flat() {
            return Err(self.list_of_records(span));
        }
        let count = self.simplify(fold::binary(BinaryOp::Mul, view.len.clone(), size));
        let buf = self.alloc(name, ty, count, None, span)?;
        let copy = View {
            buf,
            offset: Expr::index(0),
            len: view.len.clone(),
            elem: view.elem.clone(),
            own: Own::Array,
        };
        self.copy_elements(&copy, view, span)?;
        Ok(copy)
    }

    /// The two `usize` values' difference, or 0.
    pub(super) fn saturating_sub(&mut self, a: Expr, b: Expr) -> Expr {
        if b == Expr::index(0) {
            return a;
        }
        if self.le(&b, &a) {
            return self.simplify(fold::binary(BinaryOp::Sub, a, b));
        }
        if let (Some(x), Some(y)) = (fold::as_int(&a), fold::as_int(&b)) {
            return Expr::index(u64::try_from(x - y).unwrap_or(0));
        }
        usize_num(Expr::Call(Func::SaturatingSub, vec![a, b])).expr
    }
}
