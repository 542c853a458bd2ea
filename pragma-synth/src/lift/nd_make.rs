//! New `ndarray` arrays.

use proc_macro2::Span;

use super::error::Lift;
use super::fold;
use super::reader::{Literal, Reader, usize_num};
use super::types::{Class, Ty};
use super::value::{Callee, Elem, NdArray, Own, Value};
use crate::ir::{BinaryOp, CompareOp, Expr};

impl Reader<'_> {
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
                let list = match args.remove(0) {
                    Value::Iter(iter) => self.collect_items(&iter, span)?,
                    list => list,
                };
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
        self.nd_fill_axis(&array, Vec::new(), function, span)?;
        Ok(array)
    }

    fn nd_fill_axis(
        &mut self,
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
            reader.nd_fill_axis(&part, at, function, span)
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
}
