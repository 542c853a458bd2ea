//! Products of `ndarray` arrays: of vectors, of a matrix and a vector, of matrices.

use proc_macro2::Span;

use super::error::Lift;
use super::fold;
use super::reader::Reader;
use super::types::Class;
use super::value::{NdArray, Num, Value};
use crate::ir::{BinaryOp, CompareOp, Expr, Stmt};

impl<'a> Reader<'a> {
    pub(super) fn nd_dot(&mut self, a: &NdArray, b: &NdArray, span: Span) -> Lift<Value> {
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
}
