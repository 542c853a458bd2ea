//! What the kernel returns: the values of its result, flat, and the buffers that hold its `Vec`s.
//!
//! A kernel makes the `Ok` or `Some` case of its result only, and a `Vec` only at its end: on any
//! other path it declines, and the reference does the work.

use pragma_spec::form::ReturnedKind;
use pragma_spec::{KernelSignature, Scalar};
use proc_macro2::Span;

use super::error::Lift;
use super::fold;
use super::poly::Poly;
use super::reader::{Reader, bool_const, describe};
use super::types::Ty;
use super::value::{Elem, Own, Value};
use crate::ir::{BufId, BufRole, Expr, Returned, Returns, Stmt};

/// One value of a flat result.
#[derive(Clone, Debug)]
pub(super) struct Leaf {
    /// What shapes call it: `return`, `return.0`.
    pub(super) name: String,
    pub(super) scalar: Scalar,
    /// Whether it is a `Vec` or an array.
    pub(super) many: bool,
}

/// The values that a kernel of this signature gives, in order.
pub(super) fn leaves(signature: &KernelSignature) -> Vec<Leaf> {
    let values = signature.returned().into_iter();
    values
        .map(|value| Leaf {
            name: value.name,
            scalar: value.kind.elem(),
            many: matches!(value.kind, ReturnedKind::Vec(_)),
        })
        .collect()
}

/// A returned `Vec`.
#[derive(Clone, Debug)]
pub(super) struct ReturnedVec {
    pub(super) buf: BufId,
    pub(super) name: String,
    pub(super) len: Poly,
}

impl Reader<'_> {
    /// Declares the scalar results; those with `Vec`s are known at the end only.
    pub(super) fn begin_returns(&mut self) {
        let leaves = leaves(self.request.signature);
        self.program.returns = if leaves.is_empty() || leaves.iter().any(|leaf| leaf.many) {
            Returns::Nothing
        } else {
            Returns::Scalars(leaves.iter().map(|leaf| leaf.scalar).collect())
        };
    }

    /// Leaves the kernel with `value`: `return value`, or the end of its body.
    pub(super) fn leave_kernel(&mut self, value: Value, span: Span, at_end: bool) -> Lift<()> {
        let value = self.target(value, span)?;
        let value = match value {
            Value::Option { some, value } => {
                match fold::as_bool(&some) {
                    Some(true) => {}
                    Some(false) => {
                        self.emit(Stmt::Decline);
                        return Ok(());
                    }
                    None => {
                        let none = fold::not(some);
                        self.emit_if(none.clone(), vec![Stmt::Decline], Vec::new());
                        self.assume(&fold::not(none));
                    }
                }
                *value
            }
            value => value,
        };
        let leaves = leaves(self.request.signature);
        let mut values = Vec::new();
        self.flat(value, span, &mut values)?;
        if values.len() != leaves.len() {
            return Err(self.unknown(span, "what the function returns"));
        }
        if leaves.is_empty() {
            if !at_end {
                self.emit(Stmt::Return(Vec::new()));
            }
            return Ok(());
        }
        if leaves.iter().any(|leaf| leaf.many) && !at_end {
            // Its length may be another one there.
            let line = span.start().line;
            self.notes.push(format!(
                "line {line}: a call that returns here, before the end, runs the reference"
            ));
            self.emit(Stmt::Decline);
            return Ok(());
        }
        let mut scalars = Vec::new();
        let mut parts = Vec::new();
        for (value, leaf) in values.into_iter().zip(&leaves) {
            if leaf.many {
                let buf = self.return_vec(value, leaf, span)?;
                parts.push(Returned::Buffer(buf));
            } else {
                let num = self.num(value, span)?;
                self.unify(num.ty, Ty::Known(leaf.scalar), span)?;
                scalars.push(num.expr);
                parts.push(Returned::Scalar(leaf.scalar));
            }
        }
        self.program.returns = match parts[..] {
            [Returned::Buffer(buf)] => Returns::Buffer(buf),
            _ if leaves.iter().any(|leaf| leaf.many) => Returns::Mixed(parts),
            _ => Returns::Scalars(leaves.iter().map(|leaf| leaf.scalar).collect()),
        };
        if !scalars.is_empty() {
            self.emit(Stmt::Return(scalars));
        }
        Ok(())
    }

    /// The scalars, arrays and `Vec`s in a value, in order.
    fn flat(&mut self, value: Value, span: Span, into: &mut Vec<Value>) -> Lift<()> {
        let value = self.target(value, span)?;
        match value {
            Value::Unit => {}
            Value::Tuple(parts) => {
                for part in parts {
                    self.flat(part, span, into)?;
                }
            }
            Value::Struct(_, fields) => {
                for (_, field) in fields {
                    self.flat(field, span, into)?;
                }
            }
            Value::Nd(array) => {
                let extents = array.extents();
                let array = match array.is_contiguous(self) && array.own == Own::Vec {
                    true => array,
                    false => self.nd_copy(&array, span)?,
                };
                let Some(view) = self.nd_view(&array) else {
                    return Err(self.unknown(span, "returning this array"));
                };
                into.push(Value::View(super::value::View {
                    own: Own::Vec,
                    ..view
                }));
                let size = |len| Value::Scalar(super::reader::usize_num(len));
                into.extend(extents.into_iter().map(size));
            }
            Value::Variant(_, index) => into.push(Value::scalar(index, Ty::Known(Scalar::U8))),
            Value::View(view) => {
                // Rows of a `Vec<Vec<_>>`: their number and length, too.
                let rows = match &view.elem {
                    Elem::Array(_, cols) if self.is_row_length(cols) => {
                        Some([view.len.clone(), cols.clone()])
                    }
                    _ => None,
                };
                into.push(Value::View(view));
                let size = |len| Value::Scalar(super::reader::usize_num(len));
                into.extend(rows.into_iter().flatten().map(size));
            }
            Value::Option { .. } => {
                return Err(self.refuse(
                    span,
                    "an `Option` or `Result` inside the result is not understood",
                    "a kernel returns numbers and `Vec`s; only the whole result may be absent",
                    "return a number that stands for `None`, such as NaN or -1",
                ));
            }
            value => into.push(value),
        }
        Ok(())
    }

    fn return_vec(&mut self, value: Value, leaf: &Leaf, span: Span) -> Lift<BufId> {
        let Value::View(view) = value else {
            return Err(self.refuse(
                span,
                format!("{} is returned where a `Vec` is expected", describe(&value)),
                "a kernel writes its result into memory that is allocated before it runs",
                "fill a `vec![..]` of the right length and return that, or use `.collect()`",
            ));
        };
        self.unify(self.elem_ty(view.buf), Ty::Known(leaf.scalar), span)?;
        let size = self.elem_numbers(&view.elem);
        let len = fold::binary(crate::ir::BinaryOp::Mul, view.len.clone(), size);
        let len = self.simplify(len);
        let poly = self.poly(&len);
        if !self.table.is_size(&poly) {
            return Err(self.refuse(
                span,
                "the length of the returned `Vec` depends on data",
                "a kernel writes its result into memory that is allocated before it runs",
                "take `out: &mut [_]`, or return a `Vec` whose length follows from the arguments",
            ));
        }
        self.check_given(leaf, &poly, &len, span)?;
        let role = self.program.buf(view.buf).role;
        let table = self.tables.values().any(|table| table.buf == view.buf);
        let taken = self.returned.iter().any(|other| other.buf == view.buf);
        let all = self.local_lens.get(&view.buf).cloned();
        let whole = view.offset == Expr::index(0) && all.is_none_or(|all| self.equal(&all, &len));
        let view = if role == BufRole::Local && whole && !table && !taken {
            view
        } else {
            // What belongs to someone else, or is a part of something, is copied.
            self.copy_of(&view, "returned", span)?
        };
        // Another version of the body has made this result already.
        if let Some(other) = self
            .returned
            .iter()
            .find(|other| other.name == leaf.name)
            .cloned()
        {
            if other.len != poly {
                self.learn_equal(&len, &self.table.interner.expr(&other.len))?;
                let differ = self.decide(
                    crate::ir::CompareOp::Ne,
                    len.clone(),
                    self.table.interner.expr(&other.len),
                );
                self.emit_if(differ, vec![Stmt::Decline], Vec::new());
            }
            self.same_result.push((view.buf, other.buf));
            return Ok(other.buf);
        }
        // The result is allocated by the caller; what fills all of it needs no first filling.
        self.program.bufs[view.buf.0 as usize].role = BufRole::Return;
        self.returned.push(ReturnedVec {
            buf: view.buf,
            name: leaf.name.clone(),
            len: poly,
        });
        Ok(view.buf)
    }

    /// Refuses a `shape(return = ..)` that does not say the length of what is returned.
    fn check_given(&mut self, leaf: &Leaf, poly: &Poly, len: &Expr, span: Span) -> Lift<()> {
        let Some(given) = self.request.attribute.shape(&leaf.name).cloned() else {
            return Ok(());
        };
        let mut product = Poly::constant(1);
        for extent in &given.0 {
            let expr = self.table.expr_of(extent);
            product = product.mul(&self.poly(&expr));
        }
        if product == *poly {
            return Ok(());
        }
        self.learn_equal(len, &self.table.interner.expr(&product))?;
        let params: Vec<String> = self
            .request
            .signature
            .params
            .iter()
            .map(|param| param.name.clone())
            .collect();
        let mut table = self.table.clone();
        table.name_all(&params);
        let found = table
            .dim_expr(poly)
            .map_or_else(|| "?".to_owned(), |len| len.to_string());
        let name = &leaf.name;
        Err(self.refuse(
            span,
            format!("`shape({name} = {given})` does not say the length of this `Vec`"),
            format!("the function returns `{found}` elements"),
            format!("write `shape({name} = [{found}])`"),
        ))
    }

    /// The value of a call or expression that may fail, where it did not; leaves the function
    /// where it did.
    pub(super) fn try_expr(&mut self, inner: &syn::ExprTry) -> Lift<Value> {
        let span = inner.question_token.span;
        let direct = matches!(&*inner.expr, syn::Expr::Call(_) | syn::Expr::MethodCall(_));
        self.failing = direct && self.fails_outright();
        let value = self.eval(&inner.expr);
        self.failing = false;
        let value = self.target(value?, span)?;
        let value = match value {
            Value::Never => return Ok(Value::Never),
            value @ Value::Option { .. } => self.hold(value, "tried")?,
            other => return Err(self.wrong_kind(span, &other, "a `Result` or an `Option`")),
        };
        let Value::Option { some, value } = value else {
            return Ok(Value::Never);
        };
        match fold::as_bool(&some) {
            Some(true) => return Ok(*value),
            Some(false) => return self.leave(failed(), span),
            None => {}
        }
        self.two_ways(
            fold::not(some),
            span,
            &mut |reader| reader.leave(failed(), span),
            &mut |_| Ok(Value::Unit),
        )?;
        Ok(*value)
    }

    /// Whether `return Err(..)` of the function being read ends the kernel at once.
    pub(super) fn fails_outright(&self) -> bool {
        matches!(self.frame().exit, super::reader::Exit::Kernel) || self.frame().fails_outright
    }
}

/// `None`, or `Err(..)` of which the error does not matter.
pub(super) fn failed() -> Value {
    Value::Option {
        some: bool_const(false),
        value: Box::new(Value::Unit),
    }
}
