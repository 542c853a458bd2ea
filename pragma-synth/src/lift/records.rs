//! Structs and tuples in memory: elements of lists of them, and fields that the caller owns.

use std::rc::Rc;

use pragma_spec::form::{ElementLayout, Field, Form, Record};
use proc_macro2::Span;

use super::error::Lift;
use super::fold;
use super::reader::Reader;
use super::types::Ty;
use super::value::{Elem, Own, RecordElem, RecordField, Value, View};
use crate::ir::{BinaryOp, BufId, Expr};

impl Reader<'_> {
    /// Element `at` of a list of records, as a place: its fields are where they lie.
    pub(super) fn record_item(&mut self, record: &Rc<RecordElem>, at: &Expr) -> Value {
        let mut parts = Vec::with_capacity(record.fields.len());
        for (name, field) in &record.fields {
            let value = match field {
                RecordField::Record(inner) => self.record_item(inner, at),
                RecordField::Numbers {
                    buf,
                    stride,
                    at: first,
                    extents,
                } => {
                    let start = fold::binary(BinaryOp::Mul, at.clone(), Expr::index(*stride));
                    let start = fold::binary(BinaryOp::Add, start, Expr::index(*first));
                    match extents.split_first() {
                        None => {
                            self.reach(*buf, &start);
                            Value::Memory(*buf, start)
                        }
                        Some((len, inner)) => Value::View(View {
                            buf: *buf,
                            offset: start,
                            len: Expr::index(*len),
                            elem: elem_of(inner),
                            own: Own::Array,
                        }),
                    }
                }
            };
            parts.push((name.clone(), value));
        }
        match &record.kind {
            Some(kind) => Value::Struct(kind.clone(), parts),
            None => Value::Tuple(parts.into_iter().map(|(_, value)| value).collect()),
        }
    }

    /// Writes a struct or tuple to where its parts live.
    pub(super) fn write_parts(&mut self, stored: &Value, value: Value, span: Span) -> Lift<()> {
        match (stored, value) {
            (Value::Memory(buf, index), value) => {
                let num = self.num(value, span)?;
                self.store(*buf, index.clone(), num, span)
            }
            (Value::Cell(_), value) => self.assign(stored, value, span),
            (Value::View(to), value) => {
                let Some(from) = self.as_view(&value, span)? else {
                    return Err(self.wrong_kind(span, &value, "an array"));
                };
                if to == &from {
                    return Ok(());
                }
                self.copy_elements(to, &from, span)
            }
            (Value::Struct(kind, fields), Value::Struct(other, parts))
                if *kind == other && fields.len() == parts.len() =>
            {
                for ((_, field), (_, part)) in fields.iter().zip(parts) {
                    self.write_parts(field, part, span)?;
                }
                Ok(())
            }
            (Value::Tuple(fields), Value::Tuple(parts)) if fields.len() == parts.len() => {
                for (field, part) in fields.iter().zip(parts) {
                    self.write_parts(field, part, span)?;
                }
                Ok(())
            }
            (_, value) => Err(self.wrong_kind(span, &value, "a value of the same type")),
        }
    }

    /// Copies a list of records into another one of the same length.
    pub(super) fn copy_records(
        &mut self,
        (to, a): (&View, &Rc<RecordElem>),
        (from, b): (&View, &Rc<RecordElem>),
        span: Span,
    ) -> Lift<()> {
        if !self.equal(&to.len, &from.len) {
            self.learn_equal(&to.len, &from.len)?;
            let differ = self.decide(crate::ir::CompareOp::Ne, to.len.clone(), from.len.clone());
            self.panic_if(differ);
        }
        let range = (Expr::index(0), to.len.clone(), 1);
        self.for_loop("i", range, &mut |reader, i| {
            let at = fold::binary(BinaryOp::Add, from.offset.clone(), i.clone());
            let item = reader.record_item(b, &at);
            let item = reader.read_value(item)?;
            let at = fold::binary(BinaryOp::Add, to.offset.clone(), i);
            let place = reader.record_item(a, &at);
            reader.write_parts(&place, item, span)
        })
    }

    /// Whether elements of this length are rows of their own rather than fixed arrays.
    pub(super) fn is_row_length(&self, len: &Expr) -> bool {
        fold::as_int(len).is_none()
    }

    /// Numbers per element, as a flat buffer of the element type has them.
    pub(super) fn elem_numbers(&self, elem: &Elem) -> Expr {
        match elem {
            Elem::Record(record) => {
                Expr::index(record.bufs.first().map_or(1, |(_, stride)| *stride))
            }
            Elem::Scalar => Expr::index(1),
            Elem::Array(inner, len) => {
                fold::binary(BinaryOp::Mul, self.elem_numbers(inner), len.clone())
            }
        }
    }

    /// How a struct or tuple of numbers of one type lies in a list, in `buf`; `None` if it does
    /// not consist of such.
    pub(super) fn record_of(&self, value: &Value, buf: BufId) -> Option<(Rc<RecordElem>, Ty)> {
        let mut ty = None;
        let form = self.form_of(value, &mut ty)?;
        let layout = ElementLayout::of(&form)?;
        if layout.views().len() != 1 {
            return None;
        }
        let elem = record_elem(&form, &layout, &|_| Some(buf))?;
        Some((elem, ty?))
    }

    /// The type of a value, as far as layouts need it; `ty` is that of all its numbers.
    fn form_of(&self, value: &Value, ty: &mut Option<Ty>) -> Option<Form> {
        match value {
            Value::Scalar(num) => {
                let Ty::Known(scalar) = self.types.resolve(num.ty) else {
                    return None;
                };
                ty.get_or_insert(num.ty);
                Some(Form::scalar(scalar))
            }
            Value::Cell(var) => {
                let num = super::value::Num {
                    expr: Expr::Var(*var),
                    ty: self.type_of_var(*var),
                };
                self.form_of(&Value::Scalar(num), ty)
            }
            Value::Memory(buf, _) => {
                let num = super::value::Num {
                    expr: Expr::index(0),
                    ty: self.elem_ty(*buf),
                };
                self.form_of(&Value::Scalar(num), ty)
            }
            Value::View(view) if view.own == Own::Array => {
                let mut extents = vec![u64::try_from(fold::as_int(&view.len)?).ok()?];
                let mut elem = &view.elem;
                while let Elem::Array(inner, len) = elem {
                    extents.push(u64::try_from(fold::as_int(len)?).ok()?);
                    elem = inner;
                }
                let num = super::value::Num {
                    expr: Expr::index(0),
                    ty: self.elem_ty(view.buf),
                };
                let mut form = self.form_of(&Value::Scalar(num), ty)?;
                for len in extents.into_iter().rev() {
                    form = Form::Array(len, Box::new(form));
                }
                Some(form)
            }
            Value::Tuple(parts) => {
                let items = parts.iter().map(|part| self.form_of(part, ty));
                items.collect::<Option<_>>().map(Form::Tuple)
            }
            Value::Struct(kind, parts) => {
                let mut fields = Vec::with_capacity(parts.len());
                for (name, part) in parts {
                    fields.push(Field {
                        name: name.clone(),
                        form: self.form_of(part, ty)?,
                    });
                }
                Some(Form::Record(Record {
                    path: kind.clone(),
                    named: true,
                    in_order: self.items.is_in_order(kind),
                    fields,
                }))
            }
            _ => None,
        }
    }
}

/// Elements that are arrays of these extents.
pub(super) fn elem_of(extents: &[u64]) -> Elem {
    extents.iter().rev().fold(Elem::Scalar, |elem, len| {
        Elem::Array(Box::new(elem), Expr::index(*len))
    })
}

/// Whether any part of a value lives in memory, so that writing it is storing.
pub(super) fn in_memory(value: &Value) -> bool {
    match value {
        Value::Memory(..) | Value::View(_) => true,
        Value::Tuple(parts) => parts.iter().any(in_memory),
        Value::Struct(_, fields) => fields.iter().any(|(_, field)| in_memory(field)),
        _ => false,
    }
}

/// Whether every number in a value lives in memory that someone else owns.
pub(super) fn only_in_memory(value: &Value) -> bool {
    match value {
        Value::Memory(..) => true,
        Value::View(view) => view.own == Own::Array,
        Value::Tuple(parts) => !parts.is_empty() && parts.iter().all(only_in_memory),
        Value::Struct(_, fields) => {
            fields.iter().all(|(_, field)| only_in_memory(field))
                && fields
                    .iter()
                    .any(|(_, field)| matches!(field, Value::Memory(..)))
        }
        _ => false,
    }
}

/// The name of a struct or enum, out of its path.
pub(super) fn short_name(path: &str) -> String {
    let head = path.split('<').next().unwrap_or(path);
    let head = head.trim_end_matches("::");
    head.rsplit("::").next().unwrap_or(head).to_owned()
}

/// An element of this form and layout, where `buf` says which buffer holds the numbers of a type.
pub(super) fn record_elem(
    form: &Form,
    layout: &ElementLayout,
    buf: &dyn Fn(pragma_spec::Scalar) -> Option<BufId>,
) -> Option<Rc<RecordElem>> {
    below(form, "", layout, buf)
}

fn below(
    form: &Form,
    path: &str,
    layout: &ElementLayout,
    buf: &dyn Fn(pragma_spec::Scalar) -> Option<BufId>,
) -> Option<Rc<RecordElem>> {
    let (kind, parts): (Option<String>, Vec<(String, &Form)>) = match form {
        Form::Record(record) => (
            Some(short_name(&record.path)),
            record
                .fields
                .iter()
                .map(|field| (field.name.clone(), &field.form))
                .collect(),
        ),
        Form::Tuple(items) => (
            None,
            items
                .iter()
                .enumerate()
                .map(|(i, item)| (i.to_string(), item))
                .collect(),
        ),
        _ => return None,
    };
    let views = layout.views();
    let mut fields = Vec::with_capacity(parts.len());
    for (name, part) in parts {
        let path = if path.is_empty() {
            name.clone()
        } else {
            format!("{path}.{name}")
        };
        let field = match layout.field(&path) {
            Some(place) => {
                let view = views.iter().find(|view| view.scalar == place.scalar)?;
                RecordField::Numbers {
                    buf: buf(place.scalar)?,
                    stride: view.stride,
                    at: place.at(),
                    extents: place.extents.clone(),
                }
            }
            None => RecordField::Record(below(part, &path, layout, buf)?),
        };
        fields.push((name, field));
    }
    let mut bufs = Vec::with_capacity(views.len());
    for view in views {
        bufs.push((buf(view.scalar)?, view.stride));
    }
    Some(Rc::new(RecordElem { kind, fields, bufs }))
}
