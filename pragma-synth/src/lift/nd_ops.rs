//! Computing with whole `ndarray` arrays: arithmetic, maps, sums, products, and making new ones.

use proc_macro2::Span;
use syn::spanned::Spanned;

use super::error::Lift;
use super::fold;
use super::reader::{Literal, Reader, usize_num};
use super::types::{Class, Ty};
use super::value::{Callee, Elem, Iter, NdArray, Num, Own, Place, Value, View};
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
    fn nd_fit(&mut self, array: &NdArray, like: &NdArray, span: Span) -> Lift<NdArray> {
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

    /// A new array of this shape.
    pub(super) fn nd_new(
        &mut self,
        extents: Vec<Expr>,
        ty: Ty,
        fill: Option<Expr>,
        span: Span,
    ) -> Lift<NdArray> {
        let mut stable = Vec::with_capacity(extents.len());
        for extent in extents {
            stable.push(self.stable_index("len", extent));
        }
        let len = stable.iter().fold(Expr::index(1), |product, len| {
            fold::binary(BinaryOp::Mul, product, len.clone())
        });
        let len = self.simplify(len);
        let complete = fill.is_none();
        let buf = self.alloc("array", ty, len, fill, span)?;
        if complete {
            self.complete.insert(buf);
        }
        Ok(self.contiguous(buf, Expr::index(0), stable, Own::Vec))
    }

    /// A new array of the shape of `like` whose elements are computed from those of `arrays`.
    fn nd_map(
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

    fn nd_num(&mut self, place: &Place, span: Span) -> Lift<Num> {
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
        self.nd_zip(&[array.clone()], span, &mut |reader, places| {
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
                if name == "clone" && matches!(array.own, Own::Borrowed(_)) {
                    return Ok(Value::Nd(array.clone()));
                }
                let copy = self.nd_map(array, &[array.clone()], span, &mut |reader, places| {
                    reader.nd_num(&places[0], span)
                })?;
                match copy {
                    Value::Nd(copy) if name == "to_vec" => self.nd_vec(&copy),
                    copy => copy,
                }
            }
            ("into_raw_vec" | "into_raw_vec_and_offset", 0) => self.nd_vec(array),
            ("mapv" | "map" | "mapv_into", 1) => {
                let function = function(self, args)?;
                let by_ref = name == "map";
                self.nd_map(array, &[array.clone()], span, &mut |reader, places| {
                    let item = reader.nd_closure_arg(&places[0], by_ref, false, span)?;
                    let value = reader.apply(&function, vec![item], span)?;
                    reader.num(value, span)
                })?
            }
            ("mapv_inplace", 1) => {
                let function = function(self, args)?;
                self.nd_zip(&[array.clone()], span, &mut |reader, places| {
                    let item = reader.nd_closure_arg(&places[0], false, false, span)?;
                    let value = reader.apply(&function, vec![item], span)?;
                    reader.write(&places[0], value, span)
                })?;
                Value::Unit
            }
            ("map_inplace" | "for_each", 1) => {
                let function = function(self, args)?;
                let mutable = name == "map_inplace";
                self.nd_zip(&[array.clone()], span, &mut |reader, places| {
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
                self.nd_zip(&[array.clone()], span, &mut |reader, places| {
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
                self.nd_zip(&[array.clone()], span, &mut |reader, places| {
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
        let copy = self.nd_map(array, &[array.clone()], span, &mut |reader, places| {
            reader.nd_num(&places[0], span)
        })?;
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
        self.nd_zip(&[array.clone()], span, &mut |reader, places| {
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

    fn nd_dot(&mut self, a: &NdArray, b: &NdArray, span: Span) -> Lift<Value> {
        match (a.axes.len(), b.axes.len()) {
            (1, 1) => {
                let ty = self.elem_ty(a.buf);
                self.unify(ty, self.elem_ty(b.buf), span)?;
                let b = self.nd_fit(b, a, span)?;
                let zero = self.open_zero(ty);
                let start = Num {
                    expr: self.settle(zero),
                    ty,
                };
                let total = self.cell("sum", start);
                self.nd_zip(&[a.clone(), b], span, &mut |reader, places| {
                    let x = reader.nd_num(&places[0], span)?;
                    let y = reader.nd_num(&places[1], span)?;
                    let product = reader.arithmetic(BinaryOp::Mul, x, y, span)?;
                    let so_far = Num {
                        expr: Expr::Var(total),
                        ty,
                    };
                    let next = reader.arithmetic(BinaryOp::Add, so_far, product, span)?;
                    reader.emit(Stmt::Assign {
                        var: total,
                        value: next.expr,
                    });
                    Ok(())
                })?;
                Ok(Value::scalar(Expr::Var(total), ty))
            }
            (2, 1) => self.nd_rows(a, &[a.axes[0].clone()], span, &mut |reader, row| {
                reader.nd_dot(&row, b, span)
            }),
            (1, 2) => {
                let mut turned = b.clone();
                turned.axes.reverse();
                let outer = turned.axes[0].clone();
                self.nd_rows(&turned, &[outer], span, &mut |reader, column| {
                    reader.nd_dot(a, &column, span)
                })
            }
            (2, 2) => self.nd_matmul(a, b, span),
            _ => Err(self.unknown(span, "the product of these arrays")),
        }
    }

    /// A new array of one axis: a number computed from every part along the first axis.
    fn nd_rows(
        &mut self,
        array: &NdArray,
        outer: &[(Expr, Expr)],
        span: Span,
        compute: &mut dyn FnMut(&mut Reader<'a>, NdArray) -> Lift<Value>,
    ) -> Lift<Value> {
        let ty = self.types.open(Class::Any);
        let extents = outer.iter().map(|(len, _)| len.clone()).collect();
        let result = self.nd_new(extents, ty, None, span)?;
        let letter = self.letter();
        let (len, stride) = array.axes[0].clone();
        self.loops.push(super::reader::LoopFrame {
            ir_loops: 1,
            ..Default::default()
        });
        let buf = result.buf;
        let done = self.for_loop(&letter, (Expr::index(0), len, 1), &mut |reader, i| {
            let mut row = array.clone();
            row.axes.remove(0);
            let moved = fold::binary(BinaryOp::Mul, i.clone(), stride.clone());
            row.offset = fold::binary(BinaryOp::Add, row.offset, moved);
            let value = compute(reader, row)?;
            let num = reader.num(value, span)?;
            reader.store(buf, i, num, span)
        });
        self.loops.pop();
        done?;
        Ok(Value::Nd(result))
    }

    /// The matrix product, row by row: `c[i, :] += a[i, k] * b[k, :]`.
    fn nd_matmul(&mut self, a: &NdArray, b: &NdArray, span: Span) -> Lift<Value> {
        let ty = self.elem_ty(a.buf);
        self.unify(ty, self.elem_ty(b.buf), span)?;
        let (x, y) = (a.axes[1].0.clone(), b.axes[0].0.clone());
        if !self.equal(&x, &y) {
            self.learn_equal(&x, &y)?;
            let differ = self.decide(CompareOp::Ne, x, y);
            self.panic_if(differ);
        }
        let zero = self.open_zero(ty);
        let zero = self.settle(zero);
        let extents = vec![a.axes[0].0.clone(), b.axes[1].0.clone()];
        let result = self.nd_new(extents, ty, Some(zero), span)?;
        let (rows, inner) = (a.axes[0].clone(), a.axes[1].clone());
        let target = result.clone();
        self.nd_counted("i", rows.0, &mut |reader, i| {
            let moved = fold::binary(BinaryOp::Mul, i.clone(), rows.1.clone());
            let start = fold::binary(BinaryOp::Add, a.offset.clone(), moved);
            let Value::Nd(out) = reader.nd_item(&target, i, true) else {
                return Err(reader.unknown(span, "this product"));
            };
            reader.nd_counted("k", inner.0.clone(), &mut |reader, k| {
                let moved = fold::binary(BinaryOp::Mul, k.clone(), inner.1.clone());
                let at = fold::binary(BinaryOp::Add, start.clone(), moved);
                let left = reader.load(a.buf, at);
                let left = reader.stable("left", left);
                let Value::Nd(row) = reader.nd_item(b, k, false) else {
                    return Err(reader.unknown(span, "this product"));
                };
                reader.nd_zip(&[out.clone(), row], span, &mut |reader, places| {
                    let so_far = reader.nd_num(&places[0], span)?;
                    let right = reader.nd_num(&places[1], span)?;
                    let product = reader.arithmetic(BinaryOp::Mul, left.clone(), right, span)?;
                    let value = reader.arithmetic(BinaryOp::Add, so_far, product, span)?;
                    reader.write(&places[0], Value::Scalar(value), span)
                })
            })
        })?;
        Ok(Value::Nd(result))
    }

    fn nd_counted(
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

    /// `Array2::zeros((h, w))` and its like; `None` if it is none.
    pub(super) fn nd_constructor(
        &mut self,
        kind: &str,
        method: &str,
        path: &syn::ExprPath,
        args: &mut Vec<Value>,
        span: Span,
    ) -> Lift<Option<Value>> {
        let rank = kind.strip_prefix("Array").filter(|rest| {
            rest.is_empty() || (rest.len() == 1 && rest.chars().all(|c| c.is_ascii_digit()))
        });
        if rank.is_none() {
            return Ok(None);
        }
        let ty = self.nd_elem_type(path)?;
        Ok(Some(match (method, args.len()) {
            ("zeros" | "ones" | "default", 1) => {
                let extents = self.nd_shape_of(args.remove(0), span)?;
                let literal = if method == "ones" {
                    Literal::One
                } else {
                    Literal::Zero
                };
                let fill = self.literal(literal, span);
                self.unify(fill.ty, ty, span)?;
                let fill = self.settle(fill.expr);
                Value::Nd(self.nd_new(extents, ty, Some(fill), span)?)
            }
            ("from_elem", 2) => {
                let fill = self.held_num(args.remove(1), "fill", span)?;
                self.unify(fill.ty, ty, span)?;
                let extents = self.nd_shape_of(args.remove(0), span)?;
                Value::Nd(self.nd_new(extents, ty, Some(fill.expr), span)?)
            }
            ("from_shape_fn", 2) => {
                let Some(Value::Callee(function)) = args.pop() else {
                    return Err(self.unknown(span, "this closure"));
                };
                let extents = self.nd_shape_of(args.remove(0), span)?;
                Value::Nd(self.nd_from_fn(extents, ty, &function, span)?)
            }
            ("from_shape_vec", 2) => {
                let list = args.remove(1);
                let Some(view) = self.as_view(&list, span)? else {
                    return Err(self.wrong_kind(span, &list, "a `Vec`"));
                };
                let extents = self.nd_shape_of(args.remove(0), span)?;
                let array = self.contiguous(view.buf, view.offset.clone(), extents, view.own);
                let len = self.nd_len(&array);
                self.learn_equal(&len, &view.len)?;
                Value::Option {
                    some: self.decide(CompareOp::Eq, len, view.len),
                    value: Box::new(Value::Nd(array)),
                }
            }
            ("from_vec" | "from" | "from_iter", 1) => {
                let list = args.remove(0);
                let view = match self.as_view(&list, span)? {
                    Some(view) if view.elem == Elem::Scalar => view,
                    _ => return Err(self.unknown(span, "an array of this")),
                };
                let (buf, offset) = (view.buf, view.offset.clone());
                Value::Nd(self.contiguous(buf, offset, vec![view.len.clone()], view.own))
            }
            _ => return Ok(None),
        }))
    }

    fn nd_from_fn(
        &mut self,
        extents: Vec<Expr>,
        ty: Ty,
        function: &Callee,
        span: Span,
    ) -> Lift<NdArray> {
        let array = self.nd_new(extents, ty, None, span)?;
        self.nd_fill_axis(&array.clone(), &array, Vec::new(), function, span)?;
        Ok(array)
    }

    fn nd_fill_axis(
        &mut self,
        whole: &NdArray,
        rest: &NdArray,
        at: Vec<Expr>,
        function: &Callee,
        span: Span,
    ) -> Lift<()> {
        if rest.axes.is_empty() {
            let mut indices: Vec<Value> = at
                .into_iter()
                .map(|index| Value::Scalar(usize_num(index)))
                .collect();
            let arg = if indices.len() == 1 {
                indices.remove(0)
            } else {
                Value::Tuple(indices)
            };
            let value = self.apply(function, vec![arg], span)?;
            let num = self.num(value, span)?;
            return self.store(rest.buf, rest.offset.clone(), num, span);
        }
        let letter = ["i", "j", "k", "l"][at.len().min(3)];
        let len = rest.axes[0].0.clone();
        self.nd_counted(letter, len, &mut |reader, i| {
            let mut part = rest.clone();
            let (_, stride) = part.axes.remove(0);
            let moved = fold::binary(BinaryOp::Mul, i.clone(), stride);
            part.offset = fold::binary(BinaryOp::Add, part.offset, moved);
            let mut at = at.clone();
            at.push(i);
            reader.nd_fill_axis(whole, &part, at, function, span)
        })
    }

    /// The element type in `Array2::<f32>::zeros`.
    fn nd_elem_type(&mut self, path: &syn::ExprPath) -> Lift<Ty> {
        for segment in &path.path.segments {
            if let syn::PathArguments::AngleBracketed(args) = &segment.arguments
                && let Some(syn::GenericArgument::Type(ty)) = args.args.first()
                && let super::types::Written::Scalar(scalar) = self.written(ty)?
            {
                return Ok(Ty::Known(scalar));
            }
        }
        Ok(self.types.open(Class::Any))
    }

    /// `Zip::from(a).and(b)..`: the arrays, as a tuple of a struct of its own.
    pub(super) fn nd_zip_method(
        &mut self,
        parts: Vec<Value>,
        name: &str,
        args: &mut Vec<Value>,
        span: Span,
    ) -> Lift<Value> {
        match (name, args.len()) {
            ("and" | "and_broadcast", 1) => {
                let mut parts = parts;
                parts.push(args.remove(0));
                Ok(zip_value(parts))
            }
            ("for_each" | "par_for_each" | "apply" | "map_collect" | "apply_collect", 1) => {
                let Some(Value::Callee(function)) = args.pop() else {
                    return Err(self.unknown(span, "this closure"));
                };
                let mut arrays = Vec::with_capacity(parts.len());
                for part in &parts {
                    if let Some(array) = self.as_nd(part, span)? {
                        arrays.push(array);
                    } else if let Some(view) = self.as_view(part, span)? {
                        let (buf, offset) = (view.buf, view.offset.clone());
                        arrays.push(self.contiguous(buf, offset, vec![view.len], view.own));
                    } else if let Value::Iter(iter) = part
                        && let Iter::Axis { array, .. } = &**iter
                    {
                        return self.nd_zip_parts(&parts, array.clone(), &function, span);
                    } else {
                        return Err(self.unknown(span, "this part of a `Zip`"));
                    }
                }
                let collects = name.ends_with("collect");
                let mutable: Vec<bool> = arrays
                    .iter()
                    .map(|array| matches!(array.own, Own::Borrowed(true) | Own::Vec))
                    .collect();
                let args_of = |reader: &mut Reader<'a>, places: &[Place]| {
                    let mut items = Vec::with_capacity(places.len());
                    for (place, mutable) in places.iter().zip(&mutable) {
                        items.push(Value::Ref(Box::new(place.clone()), *mutable));
                    }
                    reader.apply(&function, items, span)
                };
                if collects {
                    let like = arrays[0].clone();
                    return self.nd_map(&like, &arrays, span, &mut |reader, places| {
                        let value = args_of(reader, places)?;
                        reader.num(value, span)
                    });
                }
                self.nd_zip(&arrays, span, &mut |reader, places| {
                    args_of(reader, places)?;
                    Ok(())
                })?;
                Ok(Value::Unit)
            }
            _ => Err(self.unknown(span, format!("`{name}` of a `Zip`"))),
        }
    }

    /// A `Zip` over rows and the like: one loop over all producers.
    fn nd_zip_parts(
        &mut self,
        parts: &[Value],
        _first: NdArray,
        function: &Callee,
        span: Span,
    ) -> Lift<Value> {
        let mut iters = Vec::with_capacity(parts.len());
        for part in parts {
            iters.push(match part {
                Value::Iter(iter) => (**iter).clone(),
                other => match self.as_nd(other, span)? {
                    Some(array) if array.axes.len() == 1 => {
                        let mutable = !matches!(array.own, Own::Borrowed(false));
                        Iter::Axis { array, mutable }
                    }
                    _ => return Err(self.unknown(span, "this part of a `Zip`")),
                },
            });
        }
        let Some(len) = self.length(&iters[0], span)? else {
            return Err(self.unknown(span, "this `Zip`"));
        };
        for iter in &iters[1..] {
            let Some(other) = self.length(iter, span)? else {
                return Err(self.unknown(span, "this `Zip`"));
            };
            if !self.equal(&len, &other) {
                self.learn_equal(&len, &other)?;
                let differ = self.decide(CompareOp::Ne, len.clone(), other);
                self.panic_if(differ);
            }
        }
        let letter = self.letter();
        self.nd_counted(&letter, len, &mut |reader, k| {
            let mut items = Vec::with_capacity(iters.len());
            for iter in &iters {
                items.push(reader.item(iter, k.clone(), span)?);
            }
            reader.apply(function, items, span)?;
            Ok(())
        })?;
        Ok(Value::Unit)
    }
}

/// A `Zip` of these.
pub(super) fn zip_value(parts: Vec<Value>) -> Value {
    let fields = parts
        .into_iter()
        .enumerate()
        .map(|(i, part)| (i.to_string(), part))
        .collect();
    Value::Struct("ndarray::Zip".to_owned(), fields)
}
