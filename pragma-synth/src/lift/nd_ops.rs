//! Computing with whole `ndarray` arrays: arithmetic, maps, sums, products.

use proc_macro2::Span;
use syn::spanned::Spanned;

use super::error::Lift;
use super::fold;
use super::reader::{Literal, Reader, usize_num};
use super::types::Class;
use super::value::{Elem, NdArray, Num, Own, Place, Value, View};
use crate::ir::{BinaryOp, CompareOp, Expr, Stmt};

/// What is done with the places of corresponding elements.
type Visit<'v, 'a> = &'v mut dyn FnMut(&mut Reader<'a>, &[Place]) -> Lift<()>;

impl<'a> Reader<'a> {
    /// Visits corresponding elements of arrays of the same shape. Those after the first may be
    /// broadcast to it.
    pub(super) fn nd_zip(
        &mut self,
        arrays: &[NdArray],
        span: Span,
        visit: Visit<'_, 'a>,
    ) -> Lift<()> {
        let Some(first) = arrays.first().cloned() else {
            return Ok(());
        };
        let mut fitted = vec![first.clone()];
        for other in &arrays[1..] {
            fitted.push(self.nd_fit(other, &first, span)?);
        }
        // One loop where all lie in order.
        let mut flat = true;
        for array in &fitted {
            flat &= array.is_contiguous(self);
        }
        if flat {
            let len = self.nd_len(&first);
            for array in &mut fitted {
                array.axes = vec![(len.clone(), Expr::index(1))];
            }
        }
        self.nd_nest(&fitted, visit)
    }

    fn nd_nest(&mut self, arrays: &[NdArray], visit: Visit<'_, 'a>) -> Lift<()> {
        let Some((len, _)) = arrays.first().and_then(|array| array.axes.first()).cloned() else {
            let places: Vec<Place> = arrays
                .iter()
                .map(|array| Place::Elem(array.buf, array.offset.clone()))
                .collect();
            return visit(self, &places);
        };
        let letter = self.letter();
        self.loops.push(super::reader::LoopFrame {
            ir_loops: 1,
            ..Default::default()
        });
        let result = self.for_loop(&letter, (Expr::index(0), len, 1), &mut |reader, i| {
            let parts: Vec<NdArray> = arrays
                .iter()
                .map(|array| {
                    let mut part = array.clone();
                    let (_, stride) = part.axes.remove(0);
                    let moved = fold::binary(BinaryOp::Mul, i.clone(), stride);
                    part.offset = fold::binary(BinaryOp::Add, part.offset, moved);
                    part
                })
                .collect();
            reader.nd_nest(&parts, visit)
        });
        self.loops.pop();
        result
    }

    /// `array` as one of the shape of `like`: equal extents, or fewer axes, which repeat.
    pub(super) fn nd_fit(&mut self, array: &NdArray, like: &NdArray, span: Span) -> Lift<NdArray> {
        let missing = match like.axes.len().checked_sub(array.axes.len()) {
            Some(missing) => missing,
            None => return Err(self.unknown(span, "arrays of these shapes")),
        };
        let mut fitted = array.clone();
        for axis in (0..missing).rev() {
            fitted
                .axes
                .insert(0, (like.axes[axis].0.clone(), Expr::index(0)));
        }
        for (own, wanted) in fitted.axes.iter_mut().zip(&like.axes) {
            if self.equal(&own.0, &wanted.0) {
                continue;
            }
            if own.0 == Expr::index(1) {
                *own = (wanted.0.clone(), Expr::index(0));
                continue;
            }
            let (a, b) = (own.0.clone(), wanted.0.clone());
            self.learn_equal(&a, &b)?;
            let differ = self.decide(CompareOp::Ne, a, b);
            self.panic_if(differ);
            own.0 = wanted.0.clone();
        }
        Ok(fitted)
    }

    /// A new array of the shape of `like` whose elements are computed from those of `arrays`.
    pub(super) fn nd_map(
        &mut self,
        like: &NdArray,
        arrays: &[NdArray],
        span: Span,
        compute: &mut dyn FnMut(&mut Reader<'a>, &[Place]) -> Lift<Num>,
    ) -> Lift<Value> {
        let ty = self.types.open(Class::Any);
        let result = self.nd_new(like.extents(), ty, None, span)?;
        let mut all = vec![result.clone()];
        all.extend(arrays.iter().cloned());
        self.nd_zip(&all, span, &mut |reader, places| {
            let num = compute(reader, &places[1..])?;
            let Place::Elem(buf, at) = &places[0] else {
                return Ok(());
            };
            reader.store(*buf, at.clone(), num, span)
        })?;
        Ok(Value::Nd(result))
    }

    pub(super) fn nd_num(&mut self, place: &Place, span: Span) -> Lift<Num> {
        let value = self.read(place, span)?;
        self.num(value, span)
    }

    /// `a op b` where at least one is an array.
    pub(super) fn nd_binary(
        &mut self,
        op: BinaryOp,
        a: Value,
        b: Value,
        span: Span,
    ) -> Lift<Value> {
        let (x, y) = (self.as_nd(&a, span)?, self.as_nd(&b, span)?);
        match (x, y) {
            (Some(x), Some(y)) => {
                let like = if x.axes.len() >= y.axes.len() {
                    x.clone()
                } else {
                    y.clone()
                };
                self.nd_map(&like, &[x, y], span, &mut |reader, places| {
                    let a = reader.nd_num(&places[0], span)?;
                    let b = reader.nd_num(&places[1], span)?;
                    reader.arithmetic(op, a, b, span)
                })
            }
            (Some(x), None) => {
                let scalar = self.num(b, span)?;
                let scalar = self.stable("scalar", scalar);
                self.nd_map(&x.clone(), &[x], span, &mut |reader, places| {
                    let a = reader.nd_num(&places[0], span)?;
                    reader.arithmetic(op, a, scalar.clone(), span)
                })
            }
            (None, Some(y)) => {
                let scalar = self.num(a, span)?;
                let scalar = self.stable("scalar", scalar);
                self.nd_map(&y.clone(), &[y], span, &mut |reader, places| {
                    let b = reader.nd_num(&places[0], span)?;
                    reader.arithmetic(op, scalar.clone(), b, span)
                })
            }
            (None, None) => Err(self.unknown(span, "this operator")),
        }
    }

    /// `a op= b` of an array.
    pub(super) fn nd_assign(
        &mut self,
        op: BinaryOp,
        array: &NdArray,
        b: Value,
        span: Span,
    ) -> Lift<()> {
        if let Some(other) = self.as_nd(&b, span)? {
            return self.nd_zip(&[array.clone(), other], span, &mut |reader, places| {
                let a = reader.nd_num(&places[0], span)?;
                let b = reader.nd_num(&places[1], span)?;
                let value = reader.arithmetic(op, a, b, span)?;
                reader.write(&places[0], Value::Scalar(value), span)
            });
        }
        let scalar = self.num(b, span)?;
        let scalar = self.stable("scalar", scalar);
        self.nd_zip(std::slice::from_ref(array), span, &mut |reader, places| {
            let a = reader.nd_num(&places[0], span)?;
            let value = reader.arithmetic(op, a, scalar.clone(), span)?;
            reader.write(&places[0], Value::Scalar(value), span)
        })
    }

    /// A method of an array.
    pub(super) fn nd_method(
        &mut self,
        array: &NdArray,
        call: &syn::ExprMethodCall,
        args: &mut Vec<Value>,
    ) -> Lift<Value> {
        let span = call.span();
        let name = call.method.to_string();
        if let Some(value) = self.nd_part_method(array, call, args)? {
            return Ok(value);
        }
        let function = |reader: &Self, args: &mut Vec<Value>| match args.pop() {
            Some(Value::Callee(function)) => Ok(function),
            _ => Err(reader.unknown(span, "this closure")),
        };
        Ok(match (name.as_str(), args.len()) {
            ("to_owned" | "clone" | "to_vec" | "into_owned", 0) => {
                let copy = self.nd_map(
                    array,
                    std::slice::from_ref(array),
                    span,
                    &mut |reader, places| reader.nd_num(&places[0], span),
                )?;
                match copy {
                    Value::Nd(copy) if name == "to_vec" => self.nd_vec(&copy),
                    copy => copy,
                }
            }
            ("into_raw_vec" | "into_raw_vec_and_offset", 0) => self.nd_vec(array),
            ("mapv" | "map" | "mapv_into", 1) => {
                let function = function(self, args)?;
                let by_ref = name == "map";
                self.nd_map(
                    array,
                    std::slice::from_ref(array),
                    span,
                    &mut |reader, places| {
                        let item = reader.nd_closure_arg(&places[0], by_ref, false, span)?;
                        let value = reader.apply(&function, vec![item], span)?;
                        reader.num(value, span)
                    },
                )?
            }
            ("mapv_inplace", 1) => {
                let function = function(self, args)?;
                self.nd_zip(std::slice::from_ref(array), span, &mut |reader, places| {
                    let item = reader.nd_closure_arg(&places[0], false, false, span)?;
                    let value = reader.apply(&function, vec![item], span)?;
                    reader.write(&places[0], value, span)
                })?;
                Value::Unit
            }
            ("map_inplace" | "for_each", 1) => {
                let function = function(self, args)?;
                let mutable = name == "map_inplace";
                self.nd_zip(std::slice::from_ref(array), span, &mut |reader, places| {
                    let item = reader.nd_closure_arg(&places[0], true, mutable, span)?;
                    reader.apply(&function, vec![item], span)?;
                    Ok(())
                })?;
                Value::Unit
            }
            ("zip_mut_with", 2) => {
                let function = function(self, args)?;
                let other = args.remove(0);
                let Some(other) = self.as_nd(&other, span)? else {
                    return Err(self.wrong_kind(span, &other, "an array"));
                };
                self.nd_zip(&[array.clone(), other], span, &mut |reader, places| {
                    let a = reader.nd_closure_arg(&places[0], true, true, span)?;
                    let b = reader.nd_closure_arg(&places[1], true, false, span)?;
                    reader.apply(&function, vec![a, b], span)?;
                    Ok(())
                })?;
                Value::Unit
            }
            ("fill", 1) => {
                let num = self.held_num(args.remove(0), "fill", span)?;
                self.nd_zip(std::slice::from_ref(array), span, &mut |reader, places| {
                    reader.write(&places[0], Value::Scalar(num.clone()), span)
                })?;
                Value::Unit
            }
            ("assign", 1) => {
                let other = args.remove(0);
                let Some(other) = self.as_nd(&other, span)? else {
                    return Err(self.wrong_kind(span, &other, "an array"));
                };
                self.nd_zip(&[array.clone(), other], span, &mut |reader, places| {
                    let value = reader.nd_num(&places[1], span)?;
                    reader.write(&places[0], Value::Scalar(value), span)
                })?;
                Value::Unit
            }
            ("scaled_add", 2) => {
                let other = args.remove(1);
                let scale = self.held_num(args.remove(0), "scale", span)?;
                let Some(other) = self.as_nd(&other, span)? else {
                    return Err(self.wrong_kind(span, &other, "an array"));
                };
                // `*y = *y + alpha * *x`
                self.nd_zip(&[array.clone(), other], span, &mut |reader, places| {
                    let y = reader.nd_num(&places[0], span)?;
                    let x = reader.nd_num(&places[1], span)?;
                    let product = reader.arithmetic(BinaryOp::Mul, scale.clone(), x, span)?;
                    let value = reader.arithmetic(BinaryOp::Add, y, product, span)?;
                    reader.write(&places[0], Value::Scalar(value), span)
                })?;
                Value::Unit
            }
            ("sum" | "product", 0) => {
                let literal = if name == "sum" {
                    Literal::Zero
                } else {
                    Literal::One
                };
                let op = if name == "sum" {
                    BinaryOp::Add
                } else {
                    BinaryOp::Mul
                };
                Value::Scalar(self.nd_total(array, op, literal, span)?)
            }
            ("mean", 0) => {
                let total = self.nd_total(array, BinaryOp::Add, Literal::Zero, span)?;
                let len = self.nd_len(array);
                let count = self.nd_count(&total, len.clone(), span)?;
                let mean = self.arithmetic(BinaryOp::Div, total, count, span)?;
                Value::Option {
                    some: self.decide(CompareOp::Gt, len, Expr::index(0)),
                    value: Box::new(Value::Scalar(mean)),
                }
            }
            ("fold", 2) => {
                let function = function(self, args)?;
                let storage = self.storage("acc", args.remove(0), span)?;
                self.nd_zip(std::slice::from_ref(array), span, &mut |reader, places| {
                    let so_far = reader.read_value(storage.clone())?;
                    let item = reader.nd_closure_arg(&places[0], true, false, span)?;
                    let next = reader.apply(&function, vec![so_far, item], span)?;
                    reader.assign(&storage, next, span)
                })?;
                self.read_value(storage)?
            }
            ("sum_axis" | "mean_axis", 1) => {
                let axis = self.nd_axis(array, &args.remove(0), span)?;
                let sum = self.nd_sum_axis(array, axis, span)?;
                if name == "sum_axis" {
                    return Ok(Value::Nd(sum));
                }
                let (len, _) = array.axes[axis].clone();
                let some = self.decide(CompareOp::Gt, len.clone(), Expr::index(0));
                let probe = Num {
                    expr: Expr::index(0),
                    ty: self.elem_ty(array.buf),
                };
                let count = self.nd_count(&probe, len, span)?;
                self.nd_assign(BinaryOp::Div, &sum, Value::Scalar(count), span)?;
                Value::Option {
                    some,
                    value: Box::new(Value::Nd(sum)),
                }
            }
            ("dot", 1) => {
                let other = args.remove(0);
                let Some(other) = self.as_nd(&other, span)? else {
                    return Err(self.wrong_kind(span, &other, "an array"));
                };
                self.nd_dot(array, &other, span)?
            }
            ("into_shape" | "into_shape_with_order" | "to_shape", 1) => {
                let Some(view) = self.nd_view(array) else {
                    return Err(self.unknown(span, "another shape for this part of an array"));
                };
                let extents = self.nd_shape_of(args.remove(0), span)?;
                let result = self.contiguous(view.buf, view.offset.clone(), extents, array.own);
                let len = self.nd_len(&result);
                self.learn_equal(&len, &view.len)?;
                Value::Option {
                    some: self.decide(CompareOp::Eq, len, view.len),
                    value: Box::new(Value::Nd(result)),
                }
            }
            _ => {
                return Err(self.refuse(
                    call.method.span(),
                    format!("the method `{name}` of an `ndarray` array is not understood"),
                    "the engine turns array operations into loops, and knows no loops for this one",
                    "write it with indices (`x[[i, j]]`), rows (`x.row(i)`) or `mapv`",
                ));
            }
        })
    }

    /// The argument of a closure for an element: itself, or a reference.
    fn nd_closure_arg(
        &mut self,
        place: &Place,
        by_ref: bool,
        mutable: bool,
        span: Span,
    ) -> Lift<Value> {
        if by_ref {
            return Ok(Value::Ref(Box::new(place.clone()), mutable));
        }
        let value = self.read(place, span)?;
        self.hold(value, "item")
    }

    /// A new array with the same elements.
    pub(super) fn nd_copy(&mut self, array: &NdArray, span: Span) -> Lift<NdArray> {
        let copy = self.nd_map(
            array,
            std::slice::from_ref(array),
            span,
            &mut |reader, places| reader.nd_num(&places[0], span),
        )?;
        match copy {
            Value::Nd(copy) => Ok(copy),
            other => Err(self.wrong_kind(span, &other, "an array")),
        }
    }

    /// An owned array as the `Vec` in it.
    fn nd_vec(&mut self, array: &NdArray) -> Value {
        let len = self.nd_len(array);
        Value::View(View {
            buf: array.buf,
            offset: array.offset.clone(),
            len,
            elem: Elem::Scalar,
            own: Own::Vec,
        })
    }

    /// The sum or product of all elements, in order. (`ndarray` itself adds in eight lanes.)
    fn nd_total(&mut self, array: &NdArray, op: BinaryOp, start: Literal, span: Span) -> Lift<Num> {
        let ty = self.elem_ty(array.buf);
        let start = self.literal(start, span);
        self.unify(start.ty, ty, span)?;
        let name = if op == BinaryOp::Add {
            "sum"
        } else {
            "product"
        };
        let start = Num {
            expr: self.settle(start.expr),
            ty,
        };
        let total = self.cell(name, start);
        self.nd_zip(std::slice::from_ref(array), span, &mut |reader, places| {
            let item = reader.nd_num(&places[0], span)?;
            let so_far = Num {
                expr: Expr::Var(total),
                ty,
            };
            let next = reader.arithmetic(op, so_far, item, span)?;
            reader.emit(Stmt::Assign {
                var: total,
                value: next.expr,
            });
            Ok(())
        })?;
        Ok(Num {
            expr: Expr::Var(total),
            ty,
        })
    }

    /// A size as a number of the type of `like`.
    fn nd_count(&mut self, like: &Num, len: Expr, span: Span) -> Lift<Num> {
        match self.types.settled(like.ty) {
            Some(scalar) => self.cast(usize_num(len), scalar, span),
            None => Err(self.unknown(span, "the mean of this type")),
        }
    }

    fn nd_sum_axis(&mut self, array: &NdArray, axis: usize, span: Span) -> Lift<NdArray> {
        let mut rest = array.clone();
        let (len, stride) = rest.axes.remove(axis);
        let ty = self.elem_ty(array.buf);
        let zero = self.open_zero(ty);
        let zero = self.settle(zero);
        let sum = self.nd_new(rest.extents(), ty, Some(zero), span)?;
        let letter = self.letter();
        self.loops.push(super::reader::LoopFrame {
            ir_loops: 1,
            ..Default::default()
        });
        let target = sum.clone();
        let result = self.for_loop(&letter, (Expr::index(0), len, 1), &mut |reader, k| {
            let mut slab = rest.clone();
            let moved = fold::binary(BinaryOp::Mul, k, stride.clone());
            slab.offset = fold::binary(BinaryOp::Add, slab.offset, moved);
            reader.nd_assign(BinaryOp::Add, &target, Value::Nd(slab), span)
        });
        self.loops.pop();
        result?;
        Ok(sum)
    }

    pub(super) fn nd_counted(
        &mut self,
        name: &str,
        len: Expr,
        body: &mut dyn FnMut(&mut Reader<'a>, Expr) -> Lift<()>,
    ) -> Lift<()> {
        self.loops.push(super::reader::LoopFrame {
            ir_loops: 1,
            ..Default::default()
        });
        let result = self.for_loop(name, (Expr::index(0), len, 1), body);
        self.loops.pop();
        result
    }
}
