//! Values in and out of variables: what they are as scalars, and how they are kept and changed.

use pragma_spec::Scalar;
use proc_macro2::Span;

use super::error::Lift;
use super::reader::{Reader, bool_const, bool_num, describe, zero};
use super::types::{Ty, Written};
use super::value::{Num, Place, Value};
use crate::ir::{Expr, Stmt, VarId};

impl Reader<'_> {
    /// The scalar that `value` is or refers to.
    pub(super) fn num(&mut self, value: Value, span: Span) -> Lift<Num> {
        match value {
            Value::Scalar(num) => Ok(num),
            Value::Cell(var) => Ok(Num {
                expr: Expr::Var(var),
                ty: self.type_of_var(var),
            }),
            Value::Ref(place, _) => {
                let value = self.read(&place, span)?;
                self.num(value, span)
            }
            Value::Memory(buf, index) => Ok(self.load(buf, index)),
            Value::Absent(name) => Err(self.refuse(
                span,
                format!("`{name}` is of a type that kernels do not know"),
                "a kernel is given numbers, slices, `Vec`s and arrays only",
                "leave it to the caller, or pass what is needed of it as a parameter",
            )),
            // An array without axes is its element.
            Value::Nd(array) if array.axes.is_empty() => Ok(self.load(array.buf, array.offset)),
            Value::Never => Err(self.refuse(
                span,
                "this never yields a value",
                "code after it is not reached",
                "remove the code after it",
            )),
            other => Err(self.refuse(
                span,
                format!("a number is needed, this is {}", describe(&other)),
                "the loop nest computes with scalars",
                "take an element or a field of it",
            )),
        }
    }

    /// The `usize` that `value` is.
    pub(super) fn index(&mut self, value: Value, span: Span) -> Lift<Expr> {
        let num = self.num(value, span)?;
        self.unify(num.ty, Ty::Known(Scalar::Usize), span)?;
        Ok(self.settle(num.expr))
    }

    /// The `bool` that `value` is.
    pub(super) fn boolean(&mut self, value: Value, span: Span) -> Lift<Expr> {
        let num = self.num(value, span)?;
        self.unify(num.ty, Ty::Known(Scalar::Bool), span)?;
        Ok(num.expr)
    }

    /// Turns the scalars of `value` into mutable variables called after `name`.
    pub(super) fn storage(&mut self, name: &str, value: Value, span: Span) -> Lift<Value> {
        Ok(match value {
            Value::Scalar(num) => Value::Cell(self.cell(name, num)),
            Value::Memory(buf, index) => {
                let num = self.load(buf, index);
                Value::Cell(self.cell(name, num))
            }
            Value::Variant(kind, index) => {
                let num = Num {
                    expr: index,
                    ty: Ty::Known(Scalar::U8),
                };
                Value::Variant(kind, Expr::Var(self.cell(name, num)))
            }
            Value::Ref(place, false) if matches!(*place, Place::Elem(..)) => {
                // What a shared reference shows cannot change while it lives.
                let value = self.read(&place, span)?;
                self.storage(name, value, span)?
            }
            Value::Tuple(parts) => {
                let mut cells = Vec::with_capacity(parts.len());
                for (i, part) in parts.into_iter().enumerate() {
                    cells.push(self.storage(&format!("{name}_{i}"), part, span)?);
                }
                Value::Tuple(cells)
            }
            Value::Struct(kind, fields) => {
                let mut cells = Vec::with_capacity(fields.len());
                for (field, part) in fields {
                    let cell = self.storage(&format!("{name}_{field}"), part, span)?;
                    cells.push((field, cell));
                }
                Value::Struct(kind, cells)
            }
            Value::Option { some, value } => {
                self.certain(super::fold::as_bool(&some) == Some(true), &value, span)?;
                let known = bool_num(some);
                let flag = self.cell(&format!("{name}_some"), known);
                let value = Box::new(self.storage(name, *value, span)?);
                Value::Option {
                    some: Expr::Var(flag),
                    value,
                }
            }
            Value::Order(order) => {
                let less = self.cell(&format!("{name}_less"), bool_num(order.less));
                let equal = self.cell(&format!("{name}_equal"), bool_num(order.equal));
                Value::Order(super::value::Order {
                    less: Expr::Var(less),
                    equal: Expr::Var(equal),
                })
            }
            other => other,
        })
    }

    /// Gives storage made by [`Reader::storage`] a new value.
    pub(super) fn assign(&mut self, storage: &Value, value: Value, span: Span) -> Lift<()> {
        let mut writes = Vec::new();
        self.plan_assign(storage, value, span, &mut writes)?;
        // All values are those from before: the ones that a former write would change are held.
        let targets: Vec<VarId> = writes.iter().map(|(var, _)| *var).collect();
        for i in 1..writes.len() {
            let hazard = targets[..i].iter().any(|var| writes[i].1.mentions(*var));
            if hazard {
                let ty = self.type_of_var(targets[i]);
                let expr = writes[i].1.clone();
                writes[i].1 = self.let_temp("next", Num { expr, ty }).expr;
            }
        }
        for (var, value) in writes {
            if value != Expr::Var(var) {
                self.emit(Stmt::Assign { var, value });
            }
        }
        Ok(())
    }

    pub(super) fn plan_assign(
        &mut self,
        storage: &Value,
        value: Value,
        span: Span,
        writes: &mut Vec<(VarId, Expr)>,
    ) -> Lift<()> {
        match (storage, value) {
            (_, Value::Never) => Ok(()),
            (Value::Unit, Value::Unit) => Ok(()),
            (Value::Cell(var), value) => {
                let num = self.num(value, span)?;
                self.unify(self.type_of_var(*var), num.ty, span)?;
                writes.push((*var, num.expr));
                Ok(())
            }
            (Value::Tuple(cells), Value::Tuple(parts)) if cells.len() == parts.len() => {
                for (cell, part) in cells.iter().zip(parts) {
                    self.plan_assign(cell, part, span, writes)?;
                }
                Ok(())
            }
            (Value::Struct(_, cells), Value::Struct(_, parts)) if cells.len() == parts.len() => {
                for ((_, cell), (_, part)) in cells.iter().zip(parts) {
                    self.plan_assign(cell, part, span, writes)?;
                }
                Ok(())
            }
            (Value::Option { some, value }, Value::Option { some: s, value: v }) => {
                if let Expr::Var(flag) = some {
                    writes.push((*flag, s.clone()));
                }
                if *v == Value::Unit {
                    return Ok(()); // `None`: what it would hold is never read
                }
                self.certain(super::fold::as_bool(&s) == Some(true), &v, span)?;
                if matches!(*v, Value::View(_)) && **value != *v {
                    return Err(self.unknown(span, "a slice that depends on data"));
                }
                self.plan_assign(value, *v, span, writes)
            }
            (Value::Variant(_, cell), Value::Variant(_, index)) => {
                if let Expr::Var(var) = cell {
                    writes.push((*var, index));
                }
                Ok(())
            }
            (Value::Order(cells), Value::Order(order)) => {
                for (cell, value) in [(&cells.less, order.less), (&cells.equal, order.equal)] {
                    if let Expr::Var(var) = cell {
                        writes.push((*var, value));
                    }
                }
                Ok(())
            }
            (storage, Value::Ref(place, _)) => {
                let value = self.read(&place, span)?;
                if matches!(value, Value::Ref(..)) {
                    return Err(self.unknown(span, "a reference to a reference"));
                }
                self.plan_assign(storage, value, span, writes)
            }
            (storage, value) if *storage == value => Ok(()),
            (_, value) => Err(self.refuse(
                span,
                format!("{} is assigned where its kind may change", describe(&value)),
                "the loop nest has scalar variables only; slices and tuples are names for them",
                "bind it to a new variable with `let`, or use an index instead",
            )),
        }
    }

    /// A zero of every scalar in a type: first value of storage that is always written before
    /// it is read.
    pub(super) fn zero_of(&mut self, written: &Written, span: Span) -> Lift<Value> {
        Ok(match written {
            Written::Scalar(scalar) => Value::Scalar(zero(*scalar)),
            Written::Tuple(parts) if parts.is_empty() => Value::Unit,
            Written::Tuple(parts) => {
                let mut values = Vec::with_capacity(parts.len());
                for part in parts {
                    values.push(self.zero_of(part, span)?);
                }
                Value::Tuple(values)
            }
            Written::Option(inner) => Value::Option {
                some: bool_const(false),
                value: Box::new(self.zero_of(inner, span)?),
            },
            _ => {
                return Err(self.refuse(
                    span,
                    "a helper that returns early must return scalars",
                    "its result is held in variables of the loop nest",
                    "return from one place only, or return a scalar",
                ));
            }
        })
    }
}
