//! `ndarray::Zip`: corresponding elements, or rows, of several arrays.

use proc_macro2::Span;

use super::error::Lift;
use super::reader::Reader;
use super::value::{Callee, Iter, NdArray, Own, Place, Value};
use crate::ir::CompareOp;

impl<'a> Reader<'a> {
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
