//! Arrays of the `ndarray` crate: their shape, their parts, and walking through them.
//!
//! An array is a buffer, an offset and one extent and stride per axis; so rows, columns,
//! transposes and slices are arrays again. What computes with whole arrays stands in `nd_ops`.

use proc_macro2::Span;
use syn::spanned::Spanned;

use super::error::Lift;
use super::fold;
use super::reader::{Reader, bool_const, usize_num};
use super::value::{Elem, Iter, NdArray, Own, Place, Value, View};
use crate::ir::{BinaryOp, BufId, CompareOp, Expr};

impl NdArray {
    /// Whether its elements lie one after the other, in order.
    pub(super) fn is_contiguous(&self, reader: &mut Reader<'_>) -> bool {
        let mut stride = Expr::index(1);
        for (len, own) in self.axes.iter().rev() {
            if !reader.equal(own, &stride) {
                return false;
            }
            stride = fold::binary(BinaryOp::Mul, stride, len.clone());
        }
        true
    }

    /// The extents.
    pub(super) fn extents(&self) -> Vec<Expr> {
        self.axes.iter().map(|(len, _)| len.clone()).collect()
    }
}

impl Reader<'_> {
    /// An array in standard layout.
    pub(super) fn contiguous(
        &mut self,
        buf: BufId,
        offset: Expr,
        extents: Vec<Expr>,
        own: Own,
    ) -> NdArray {
        let mut axes = Vec::with_capacity(extents.len());
        let mut stride = Expr::index(1);
        for len in extents.into_iter().rev() {
            let next = fold::binary(BinaryOp::Mul, stride.clone(), len.clone());
            axes.push((len, stride));
            stride = self.simplify(next);
        }
        axes.reverse();
        NdArray {
            buf,
            offset,
            axes,
            own,
        }
    }

    /// The number of elements.
    pub(super) fn nd_len(&mut self, array: &NdArray) -> Expr {
        let len = array.axes.iter().fold(Expr::index(1), |product, (len, _)| {
            fold::binary(BinaryOp::Mul, product, len.clone())
        });
        self.simplify(len)
    }

    /// The array that `value` is or refers to.
    pub(super) fn as_nd(&mut self, value: &Value, span: Span) -> Lift<Option<NdArray>> {
        let mut value = value.clone();
        for _ in 0..8 {
            match value {
                Value::Nd(array) => return Ok(Some(array)),
                Value::Ref(place, _) => value = self.peek(&place, span)?,
                _ => return Ok(None),
            }
        }
        Ok(None)
    }

    /// An array of one axis, or one that lies in order, as a slice.
    pub(super) fn nd_view(&mut self, array: &NdArray) -> Option<View> {
        let flat = array.is_contiguous(self)
            || matches!(&array.axes[..], [(_, stride)] if *stride == Expr::index(1));
        if !flat {
            return None;
        }
        Some(View {
            buf: array.buf,
            offset: array.offset.clone(),
            len: self.nd_len(array),
            elem: Elem::Scalar,
            own: match array.own {
                Own::Borrowed(mutable) => Own::Borrowed(mutable),
                _ => Own::Borrowed(true),
            },
        })
    }

    /// Part `k` along the first axis.
    pub(super) fn nd_item(&mut self, array: &NdArray, k: Expr, mutable: bool) -> Value {
        let part = self.nd_part(array, 0, k, mutable);
        if part.axes.is_empty() {
            self.reach(part.buf, &part.offset.clone());
            return Value::Ref(Box::new(Place::Elem(part.buf, part.offset)), mutable);
        }
        Value::Nd(part)
    }

    fn nd_part(&mut self, array: &NdArray, axis: usize, k: Expr, mutable: bool) -> NdArray {
        let mut part = array.clone();
        let (_, stride) = part.axes.remove(axis);
        let moved = fold::binary(BinaryOp::Mul, k, stride);
        part.offset = fold::binary(BinaryOp::Add, part.offset, moved);
        part.own = Own::Borrowed(mutable);
        part
    }

    /// Panics unless `index` is below the extent of an axis.
    fn nd_check(&mut self, array: &NdArray, axis: usize, index: Expr) -> Lift<Expr> {
        let index = self.stable_index("at", index);
        if let Some((len, _)) = array.axes.get(axis)
            && !self.lt(&index, len)
        {
            self.learn_extent(&index, len)?;
            let out = self.decide(CompareOp::Ge, index.clone(), len.clone());
            self.panic_if(out);
        }
        Ok(index)
    }

    /// The element at these indices.
    pub(super) fn nd_element(&mut self, array: &NdArray, indices: Vec<Expr>) -> Lift<Place> {
        let mut at = array.offset.clone();
        for (axis, index) in indices.into_iter().enumerate() {
            let index = self.nd_check(array, axis, index)?;
            let (_, stride) = &array.axes[axis];
            let moved = fold::binary(BinaryOp::Mul, index, stride.clone());
            at = fold::binary(BinaryOp::Add, at, moved);
        }
        Ok(Place::Elem(array.buf, at))
    }

    /// `array[index]`, as written.
    pub(super) fn nd_place(&mut self, array: &NdArray, index: &syn::Expr) -> Lift<Place> {
        let span = index.span();
        let parts: Vec<&syn::Expr> = match index {
            syn::Expr::Array(list) => list.elems.iter().collect(),
            syn::Expr::Tuple(list) => list.elems.iter().collect(),
            other => vec![other],
        };
        if parts.len() == 1 && array.axes.len() > 1 {
            let value = self.eval(parts[0])?;
            return self.nd_indexed(array, value, span);
        }
        let mut indices = Vec::with_capacity(parts.len());
        for part in parts {
            let value = self.eval(part)?;
            indices.push(self.index(value, part.span())?);
        }
        if indices.len() != array.axes.len() {
            return Err(self.unknown(span, "an index of other axes"));
        }
        self.nd_element(array, indices)
    }

    /// `array[at]` of an index that was computed.
    pub(super) fn nd_indexed(&mut self, array: &NdArray, at: Value, span: Span) -> Lift<Place> {
        let indices = self.nd_shape_of(at, span)?;
        if indices.len() != array.axes.len() {
            return Err(self.unknown(span, "an index of other axes"));
        }
        self.nd_element(array, indices)
    }

    /// The numbers in a tuple, an array or a lone number: a shape or an index.
    pub(super) fn nd_shape_of(&mut self, value: Value, span: Span) -> Lift<Vec<Expr>> {
        let value = self.target(value, span)?;
        match value {
            Value::Tuple(parts) => {
                let mut extents = Vec::with_capacity(parts.len());
                for part in parts {
                    extents.push(self.index(part, span)?);
                }
                Ok(extents)
            }
            Value::View(view) => {
                let Some(len) = fold::as_int(&view.len).and_then(|n| u64::try_from(n).ok()) else {
                    return Err(self.unknown(span, "this index"));
                };
                let mut extents = Vec::new();
                for i in 0..len {
                    let place = self.element(&view, Expr::index(i))?;
                    let value = self.read(&place, span)?;
                    extents.push(self.index(value, span)?);
                }
                Ok(extents)
            }
            other => Ok(vec![self.index(other, span)?]),
        }
    }

    /// `Axis(k)`.
    pub(super) fn nd_axis(&mut self, array: &NdArray, value: &Value, span: Span) -> Lift<usize> {
        let axis = match value {
            Value::Struct(kind, fields) if kind == "Axis" => fields.first().map(|(_, v)| v.clone()),
            _ => None,
        };
        let Some(axis) = axis else {
            return Err(self.wrong_kind(span, value, "an `Axis`"));
        };
        let axis = self.index(axis, span)?;
        match fold::as_int(&axis).and_then(|axis| usize::try_from(axis).ok()) {
            Some(axis) if axis < array.axes.len() => Ok(axis),
            _ => Err(self.refuse(
                span,
                "the axis is not known",
                "the loop nest must know which axis a loop runs over",
                "write the number: `Axis(0)`",
            )),
        }
    }

    /// The parts along `axis`, as an iterator.
    pub(super) fn nd_axis_iter(&mut self, array: &NdArray, axis: usize, mutable: bool) -> Value {
        let mut turned = array.clone();
        let first = turned.axes.remove(axis);
        turned.axes.insert(0, first);
        Value::Iter(Box::new(Iter::Axis {
            array: turned,
            mutable,
        }))
    }

    /// All rows (or all lanes along `axis`) of an array, as an iterator.
    fn nd_lanes(&mut self, array: &NdArray, axis: usize, mutable: bool, span: Span) -> Lift<Value> {
        let mut turned = array.clone();
        let lane = turned.axes.remove(axis);
        turned.axes.push(lane);
        while turned.axes.len() > 2 {
            // The outer axes as one, where they lie so.
            let (outer, inner) = (turned.axes[0].clone(), turned.axes[1].clone());
            let spanned = fold::binary(BinaryOp::Mul, inner.0.clone(), inner.1.clone());
            if !self.equal(&outer.1, &spanned) {
                return Err(self.unknown(span, "the lanes of this array"));
            }
            let len = fold::binary(BinaryOp::Mul, outer.0, inner.0);
            turned.axes.splice(0..2, [(self.simplify(len), inner.1)]);
        }
        if turned.axes.len() == 1 {
            let view = Value::Nd(NdArray {
                own: Own::Borrowed(mutable),
                ..turned
            });
            return Ok(Value::Iter(Box::new(Iter::Take(
                Box::new(Iter::Repeat(Box::new(view))),
                Expr::index(1),
            ))));
        }
        Ok(Value::Iter(Box::new(Iter::Axis {
            array: turned,
            mutable,
        })))
    }

    /// The elements in order, as an iterator.
    pub(super) fn nd_iter(&mut self, array: &NdArray, mutable: bool, span: Span) -> Lift<Iter> {
        if array.axes.is_empty() {
            return Err(self.unknown(span, "the elements of this array"));
        }
        if let Some(view) = self.nd_view(array) {
            return Ok(Iter::Elems {
                view,
                by_ref: true,
                mutable,
            });
        }
        if array.axes.len() == 1 {
            return Ok(Iter::Axis {
                array: array.clone(),
                mutable,
            });
        }
        Err(self.refuse(
            span,
            "the elements of this part of an array do not lie in order",
            "one loop walks through memory with one stride",
            "loop over its rows: `for row in x.rows()`",
        ))
    }

    /// Methods that say the shape or give a part; `None` if `name` is none.
    pub(super) fn nd_part_method(
        &mut self,
        array: &NdArray,
        call: &syn::ExprMethodCall,
        args: &mut Vec<Value>,
    ) -> Lift<Option<Value>> {
        let span = call.span();
        let name = call.method.to_string();
        let size = |expr: Expr| Value::Scalar(usize_num(expr));
        let mutable = name.ends_with("_mut");
        let part = |own, array: &NdArray| {
            Value::Nd(NdArray {
                own,
                ..array.clone()
            })
        };
        Ok(Some(match (name.as_str(), args.len()) {
            ("dim" | "raw_dim", 0) if array.axes.len() == 1 => size(array.axes[0].0.clone()),
            ("dim" | "raw_dim" | "shape", 0) => {
                Value::Tuple(array.extents().into_iter().map(size).collect())
            }
            ("nrows", 0) if array.axes.len() == 2 => size(array.axes[0].0.clone()),
            ("ncols", 0) if array.axes.len() == 2 => size(array.axes[1].0.clone()),
            ("ndim", 0) => size(Expr::index(array.axes.len() as u64)),
            ("len", 0) => size(self.nd_len(array)),
            ("is_empty", 0) => {
                let len = self.nd_len(array);
                let empty = self.decide(CompareOp::Eq, len, Expr::index(0));
                Value::Scalar(super::reader::bool_num(empty))
            }
            ("len_of", 1) => {
                let axis = self.nd_axis(array, &args.remove(0), span)?;
                size(array.axes[axis].0.clone())
            }
            ("view", 0) => part(Own::Borrowed(false), array),
            ("view_mut", 0) => part(Own::Borrowed(true), array),
            ("t" | "reversed_axes", 0) => {
                let mut turned = array.clone();
                turned.axes.reverse();
                if name == "t" {
                    turned.own = Own::Borrowed(false);
                }
                Value::Nd(turned)
            }
            ("row" | "row_mut" | "column" | "column_mut", 1) if array.axes.len() == 2 => {
                let axis = usize::from(name.starts_with("column"));
                let at = self.index(args.remove(0), span)?;
                let at = self.nd_check(array, axis, at)?;
                Value::Nd(self.nd_part(array, axis, at, mutable))
            }
            ("index_axis" | "index_axis_mut" | "index_axis_move", 2) => {
                let at = self.index(args.remove(1), span)?;
                let axis = self.nd_axis(array, &args.remove(0), span)?;
                let at = self.nd_check(array, axis, at)?;
                let part = self.nd_part(array, axis, at, mutable);
                if part.axes.is_empty() {
                    Value::Ref(Box::new(Place::Elem(part.buf, part.offset)), mutable)
                } else {
                    Value::Nd(part)
                }
            }
            ("rows" | "rows_mut" | "genrows" | "genrows_mut", 0) => {
                self.nd_lanes(array, array.axes.len().saturating_sub(1), mutable, span)?
            }
            ("columns" | "columns_mut" | "gencolumns", 0) => {
                self.nd_lanes(array, 0, mutable, span)?
            }
            ("lanes" | "lanes_mut", 1) => {
                let axis = self.nd_axis(array, &args.remove(0), span)?;
                self.nd_lanes(array, axis, mutable, span)?
            }
            ("outer_iter" | "outer_iter_mut", 0) if !array.axes.is_empty() => {
                self.nd_axis_iter(array, 0, mutable)
            }
            ("axis_iter" | "axis_iter_mut", 1) => {
                let axis = self.nd_axis(array, &args.remove(0), span)?;
                self.nd_axis_iter(array, axis, mutable)
            }
            ("iter" | "iter_mut", 0) => Value::Iter(Box::new(self.nd_iter(array, mutable, span)?)),
            ("into_iter", 0) => {
                let mutable = matches!(array.own, Own::Borrowed(true));
                let iter = self.nd_iter(array, mutable, span)?;
                Value::Iter(Box::new(match array.own {
                    Own::Borrowed(_) => iter,
                    _ => Iter::Copied(Box::new(iter)),
                }))
            }
            ("as_slice" | "as_slice_mut" | "to_slice" | "as_slice_memory_order", 0) => {
                let Some(view) = self.nd_view(array) else {
                    return Err(self.unknown(span, "this part of an array as a slice"));
                };
                Value::Option {
                    some: bool_const(true),
                    value: Box::new(Value::View(View {
                        own: Own::Borrowed(name == "as_slice_mut"),
                        ..view
                    })),
                }
            }
            ("get" | "get_mut" | "uget" | "uget_mut", 1) => {
                let at = args.remove(0);
                if name.starts_with('u') {
                    let place = self.nd_indexed(array, at, span)?;
                    return Ok(Some(Value::Ref(Box::new(place), mutable)));
                }
                let indices = self.nd_shape_of(at, span)?;
                let mut some = bool_const(true);
                let mut offset = array.offset.clone();
                for (index, (len, stride)) in indices.into_iter().zip(array.axes.clone()) {
                    let index = self.stable_index("at", index);
                    let inside = self.decide(CompareOp::Lt, index.clone(), len);
                    some = fold::binary(BinaryOp::And, some, inside);
                    let moved = fold::binary(BinaryOp::Mul, index, stride);
                    offset = fold::binary(BinaryOp::Add, offset, moved);
                }
                let place = Place::Elem(array.buf, offset);
                Value::Option {
                    some,
                    value: Box::new(Value::Ref(Box::new(place), mutable)),
                }
            }
            ("slice" | "slice_mut" | "slice_move", 1) => return Ok(None),
            ("windows", 1) if array.axes.len() == 1 => {
                let size = self.index(args.remove(0), span)?;
                let size = self.stable_index("size", size);
                let (len, stride) = array.axes[0].clone();
                let more = fold::binary(BinaryOp::Add, len, Expr::index(1));
                if !self.le(&size, &more) {
                    let none = self.decide(CompareOp::Gt, size.clone(), more.clone());
                    self.emit_if(none.clone(), vec![crate::ir::Stmt::Decline], Vec::new());
                    self.assume(&fold::not(none));
                }
                let count = self.simplify(fold::binary(BinaryOp::Sub, more, size.clone()));
                Value::Iter(Box::new(Iter::Axis {
                    array: NdArray {
                        axes: vec![(count, stride.clone()), (size, stride)],
                        own: Own::Borrowed(false),
                        ..array.clone()
                    },
                    mutable: false,
                }))
            }
            ("insert_axis", 1) => {
                let Value::Struct(_, fields) = args.remove(0) else {
                    return Err(self.unknown(span, "this axis"));
                };
                let axis = fields
                    .into_iter()
                    .next()
                    .map(|(_, v)| v)
                    .unwrap_or(Value::Unit);
                let axis = self.index(axis, span)?;
                let Some(axis) = fold::as_int(&axis)
                    .and_then(|axis| usize::try_from(axis).ok())
                    .filter(|axis| *axis <= array.axes.len())
                else {
                    return Err(self.unknown(span, "this axis"));
                };
                let mut wider = array.clone();
                wider.axes.insert(axis, (Expr::index(1), Expr::index(0)));
                Value::Nd(wider)
            }
            _ => return Ok(None),
        }))
    }

    /// `array.slice(s![..])`.
    pub(super) fn nd_slice(
        &mut self,
        array: &NdArray,
        mac: &syn::Macro,
        mutable: bool,
    ) -> Lift<Value> {
        let span = mac.span();
        let parse = |input: syn::parse::ParseStream<'_>| -> syn::Result<Vec<(syn::Expr, Option<syn::Expr>)>> {
            let mut parts = Vec::new();
            while !input.is_empty() {
                let range: syn::Expr = input.parse()?;
                let step = if input.parse::<Option<syn::Token![;]>>()?.is_some() {
                    Some(input.parse()?)
                } else {
                    None
                };
                parts.push((range, step));
                input.parse::<Option<syn::Token![,]>>()?;
            }
            Ok(parts)
        };
        let Ok(parts) = syn::parse::Parser::parse2(parse, mac.tokens.clone()) else {
            return Err(self.unknown(span, "this `s![..]`"));
        };
        if parts.len() != array.axes.len() {
            return Err(self.unknown(span, "a `s![..]` of other axes"));
        }
        let mut result = NdArray {
            own: Own::Borrowed(mutable),
            axes: Vec::new(),
            ..array.clone()
        };
        for (axis, (range, step)) in parts.iter().enumerate() {
            let (len, stride) = array.axes[axis].clone();
            let at = self.eval(range)?;
            let (lo, hi) = match at {
                Value::Unit => (Expr::index(0), len.clone()),
                Value::Iter(iter) => match *iter {
                    Iter::Range { lo, hi, inclusive } => {
                        let lo = self.index(Value::Scalar(lo), span)?;
                        let hi = match hi {
                            Some(hi) => {
                                let hi = self.index(Value::Scalar(hi), span)?;
                                fold::binary(BinaryOp::Add, hi, Expr::index(u64::from(inclusive)))
                            }
                            None => len.clone(),
                        };
                        (lo, hi)
                    }
                    _ => return Err(self.unknown(span, "this `s![..]`")),
                },
                other => {
                    let at = self.index(other, span)?;
                    let at = self.nd_check(array, axis, at)?;
                    let moved = fold::binary(BinaryOp::Mul, at, stride);
                    result.offset = fold::binary(BinaryOp::Add, result.offset, moved);
                    continue;
                }
            };
            let lo = self.stable_index("start", lo);
            let hi = self.stable_index("end", hi);
            if !self.le(&lo, &hi) {
                let bad = self.decide(CompareOp::Gt, lo.clone(), hi.clone());
                self.panic_if(bad);
            }
            if !self.le(&hi, &len) {
                let bad = self.decide(CompareOp::Gt, hi.clone(), len);
                self.panic_if(bad);
            }
            let moved = fold::binary(BinaryOp::Mul, lo.clone(), stride.clone());
            result.offset = fold::binary(BinaryOp::Add, result.offset, moved);
            let mut count = self.simplify(fold::binary(BinaryOp::Sub, hi, lo));
            let mut stride = stride;
            if let Some(step) = step {
                let step = self.eval(step)?;
                let num = self.num(step, span)?;
                let step = match self.as_literal(&num.expr) {
                    Some((super::reader::Literal::Int(value), ..)) => Some(*value),
                    _ => fold::as_int(&num.expr),
                };
                let Some(step) = step.and_then(|s| u64::try_from(s).ok()).filter(|s| *s > 0) else {
                    return Err(self.unknown(span, "this step"));
                };
                let up = fold::binary(BinaryOp::Add, count, Expr::index(step - 1));
                count = self.quotient(up, Expr::index(step), false)?;
                stride = fold::binary(BinaryOp::Mul, stride, Expr::index(step));
            }
            result.axes.push((count, stride));
        }
        if result.axes.is_empty() {
            let place = Place::Elem(result.buf, result.offset);
            return Ok(Value::Ref(Box::new(place), mutable));
        }
        Ok(Value::Nd(result))
    }
}
