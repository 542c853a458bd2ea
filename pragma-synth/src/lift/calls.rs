//! Calls: methods by what they are called on, paths, and inlining of the crate's own functions.

use std::rc::Rc;

use pragma_spec::Scalar;
use proc_macro2::Span;
use syn::spanned::Spanned;

use super::error::Lift;
use super::fold;
use super::inline::Inline;
use super::items::Found;
use super::reader::{Exit, Reader, describe};
use super::types::{Class, Ty, Written};
use super::value::{Callee, Iter, Own, Place, SlotId, Value};
use crate::ir::{Expr, Func};

/// Helpers inside helpers, at most.
pub(super) const MAX_INLINE: usize = 24;

impl Reader<'_> {
    /// `receiver.method(args)`.
    pub(super) fn method_expr(&mut self, call: &syn::ExprMethodCall) -> Lift<Value> {
        let span = call.span();
        let failing = std::mem::take(&mut self.failing);
        let place = self.place(&call.receiver)?;
        let home = match &place {
            Place::Slot(slot, path) if path.is_empty() => Some(*slot),
            _ => None,
        };
        let mut receiver = self.peek(&place, call.receiver.span())?;
        // Through references, but a reference to a variable keeps its home.
        let mut home = home;
        let mut target = place.clone();
        for _ in 0..8 {
            let Value::Ref(inner, _) = &receiver else {
                break;
            };
            target = (**inner).clone();
            home = match &target {
                Place::Slot(slot, path) if path.is_empty() => Some(*slot),
                _ => None,
            };
            receiver = self.peek(&target, span)?;
        }
        if matches!(receiver, Value::Scalar(_) | Value::Cell(_))
            && call.args.iter().any(super::expr::may_change)
        {
            let held = self.read_value(receiver)?;
            receiver = self.hold(held, "held")?;
        }
        // What is said of an error is the reference's business.
        if let Value::Option { some, value } = &receiver
            && let "ok_or" | "ok_or_else" | "map_err" | "context" | "with_context" =
                call.method.to_string().as_str()
        {
            return Ok(Value::Option {
                some: some.clone(),
                value: Box::new(self.read_value((**value).clone())?),
            });
        }
        let mut args = Vec::with_capacity(call.args.len());
        for (i, arg) in call.args.iter().enumerate() {
            if matches!(arg, syn::Expr::Macro(inner) if inner.mac.path.is_ident("s")) {
                args.push(Value::Unit); // see `nd_slice`
                continue;
            }
            let mut value = self.eval(arg)?;
            if call.args.iter().skip(i + 1).any(super::expr::may_change) {
                value = self.hold(value, "arg")?;
            }
            args.push(value);
        }
        self.failing = failing && matches!(receiver, Value::Struct(..));
        let result = self.method(receiver, target, home, call, args);
        self.failing = false;
        result
    }

    fn method(
        &mut self,
        receiver: Value,
        target: Place,
        home: Option<SlotId>,
        call: &syn::ExprMethodCall,
        mut args: Vec<Value>,
    ) -> Lift<Value> {
        let span = call.span();
        let name = call.method.to_string();
        let unknown = |reader: &Self, what: &str| {
            Err(reader.refuse(
                call.method.span(),
                format!("the method `{name}` of {what} is not understood"),
                "the engine turns the function into plain loops, and knows no loops for this",
                "write it with loops, indexing, or another method",
            ))
        };
        match receiver {
            Value::Scalar(_) | Value::Cell(_) => {
                let num = self.num(receiver, span)?;
                self.scalar_method(num, &name, args, call.method.span())
            }
            Value::View(view) => {
                if let Some(value) = self.slice_method(&view, home, call, &mut args)? {
                    return Ok(value);
                }
                // `vec.map(..)` does not exist, but arrays and `&slice` iterate by themselves.
                unknown(self, describe(&Value::View(view)))
            }
            Value::Iter(iter) => self.iter_method(*iter, home, call, args),
            Value::Option { some, value } => self.option_method(some, *value, call, args),
            Value::Order(order) => self.order_method(order, call, args),
            Value::Struct(kind, fields) if kind == "ndarray::Zip" => {
                let parts = fields.into_iter().map(|(_, part)| part).collect();
                self.nd_zip_method(parts, &name, &mut args, span)
            }
            Value::Struct(kind, fields) => {
                if name == "clone" && args.is_empty() {
                    return self.read_value(Value::Struct(kind, fields));
                }
                self.struct_method(
                    &kind,
                    Value::Struct(kind.clone(), fields),
                    target,
                    call,
                    args,
                )
            }
            Value::Tuple(parts) if name == "clone" => self.read_value(Value::Tuple(parts)),
            // A shape: `x.shape().len()`.
            Value::Tuple(parts) if name == "len" => Ok(Value::Scalar(super::reader::usize_num(
                Expr::index(parts.len() as u64),
            ))),
            Value::Tuple(parts) if matches!(name.as_str(), "to_vec" | "into_pattern") => {
                Ok(Value::Tuple(parts))
            }
            Value::Nd(array) => {
                if let (Some(syn::Expr::Macro(inner)), "slice" | "slice_mut" | "slice_move") =
                    (call.args.first(), name.as_str())
                {
                    return self.nd_slice(&array, &inner.mac, name == "slice_mut");
                }
                self.nd_method(&array, call, &mut args)
            }
            Value::Variant(kind, index) if name == "clone" => Ok(Value::Variant(kind, index)),
            Value::Variant(kind, index) => self.struct_method(
                &kind.clone(),
                Value::Variant(kind, index),
                target,
                call,
                args,
            ),
            Value::Memory(buf, index) => {
                let num = self.load(buf, index);
                self.scalar_method(num, &name, args, call.method.span())
            }
            other => unknown(self, describe(&other)),
        }
    }

    fn iter_method(
        &mut self,
        iter: Iter,
        home: Option<SlotId>,
        call: &syn::ExprMethodCall,
        mut args: Vec<Value>,
    ) -> Lift<Value> {
        let span = call.span();
        let name = call.method.to_string();
        if matches!(name.as_str(), "remainder" | "into_remainder")
            && let Some(value) = self.chunk_remainder(&iter)?
        {
            return Ok(value);
        }
        if name == "contains"
            && args.len() == 1
            && let Iter::Range {
                lo,
                hi: Some(hi),
                inclusive,
            } = &iter
        {
            let at = args.remove(0);
            let below = self.compare_values(
                crate::ir::CompareOp::Le,
                Value::Scalar(lo.clone()),
                at.clone(),
                span,
            )?;
            let op = if *inclusive {
                crate::ir::CompareOp::Le
            } else {
                crate::ir::CompareOp::Lt
            };
            let above = self.compare_values(op, at, Value::Scalar(hi.clone()), span)?;
            let (below, above) = (self.boolean(below, span)?, self.boolean(above, span)?);
            let both = fold::binary(crate::ir::BinaryOp::And, below, above);
            return Ok(Value::Scalar(super::reader::bool_num(both)));
        }
        if name == "next" && args.is_empty() {
            let Some(slot) = home else {
                return Err(self.unknown(span, "`next` of an iterator without a name"));
            };
            let Some(len) = self.length(&iter, span)? else {
                let value = self.item(&iter, Expr::index(0), span)?;
                self.slots[slot.0] =
                    Value::Iter(Box::new(Iter::Skip(Box::new(iter), Expr::index(1))));
                return Ok(some(value));
            };
            if !self.positive(&len) {
                return Err(self.refuse(
                    span,
                    "it is not known that there is a next item",
                    "the loop nest must know how far the iterator has come",
                    "use an index",
                ));
            }
            let value = self.item(&iter, Expr::index(0), span)?;
            self.slots[slot.0] = Value::Iter(Box::new(Iter::Skip(Box::new(iter), Expr::index(1))));
            return Ok(some(value));
        }
        let advances = matches!(
            name.as_str(),
            "any" | "all" | "position" | "find" | "nth" | "by_ref"
        );
        if advances && home.is_some() {
            return Err(self.refuse(
                call.method.span(),
                format!("`{name}` leaves the iterator half way"),
                "how far it has come would have to be known afterwards",
                "call it on a new iterator: `x.iter().position(..)`",
            ));
        }
        if let Some(value) = self.consume(&iter, call, &mut args)? {
            return Ok(value);
        }
        match self.adapter(iter, call, &mut args)? {
            Ok(iter) => Ok(Value::Iter(Box::new(iter))),
            Err(_) => Err(self.refuse(
                call.method.span(),
                format!("the iterator method `{name}` is not understood"),
                "the engine turns iterator chains into loops, and knows no loop for this one",
                "write this part as a `for` loop",
            )),
        }
    }

    /// A function value applied to arguments.
    pub(super) fn apply(&mut self, function: &Callee, args: Vec<Value>, span: Span) -> Lift<Value> {
        match function {
            Callee::Closure(closure) => {
                let closure = Rc::clone(closure);
                if closure.syntax.inputs.len() != args.len() {
                    return Err(self.unknown(span, "a closure with other parameters"));
                }
                self.deeper(span, |reader| {
                    let mut frame = reader
                        .frames
                        .get(closure.frame)
                        .unwrap_or_else(|| reader.frame())
                        .clone();
                    frame.exit = Exit::Closure;
                    frame.fails_outright = false;
                    frame.loop_base = reader.loops.len();
                    reader.frames.push(frame);
                    let env = std::mem::replace(&mut reader.env, closure.env.clone());
                    let mut result = Ok(());
                    for (pat, arg) in closure.syntax.inputs.iter().zip(args) {
                        result = result.and_then(|()| reader.bind_pattern(pat, arg));
                    }
                    let result = result.and_then(|()| reader.eval(&closure.syntax.body));
                    reader.env = env;
                    reader.frames.pop();
                    result
                })
            }
            Callee::Path(path) => {
                let path = Rc::clone(path);
                self.call_path(&path, args, span)
            }
        }
    }

    /// `function(args)`.
    pub(super) fn call_expr(&mut self, call: &syn::ExprCall) -> Lift<Value> {
        let span = call.span();
        let failing = std::mem::take(&mut self.failing);
        // What the error says is the reference's business.
        if let syn::Expr::Path(path) = &*call.func
            && self.local(path).is_none()
            && matches!(path_text(&path.path).as_str(), "Err" | "Result::Err")
        {
            return Ok(super::returning::failed());
        }
        let mut args = Vec::with_capacity(call.args.len());
        for (i, arg) in call.args.iter().enumerate() {
            let mut value = self.eval(arg)?;
            if call.args.iter().skip(i + 1).any(super::expr::may_change) {
                value = self.hold(value, "arg")?;
            }
            args.push(value);
        }
        let mut function = &*call.func;
        while let syn::Expr::Paren(inner) = function {
            function = &inner.expr;
        }
        if let syn::Expr::Path(path) = function {
            if let Some(slot) = self.local(path) {
                let value = self.slots.get(slot.0).cloned().unwrap_or(Value::Unit);
                let value = self.target(value, span)?;
                return match value {
                    Value::Callee(function) => self.apply(&function, args, span),
                    other => Err(self.wrong_kind(span, &other, "a function")),
                };
            }
            self.failing = failing;
            let result = self.call_path(path, args, span);
            self.failing = false;
            return result;
        }
        match self.eval(function)? {
            Value::Callee(function) => self.apply(&function, args, span),
            other => Err(self.wrong_kind(span, &other, "a function")),
        }
    }

    pub(super) fn segments(path: &syn::Path) -> Vec<String> {
        path.segments
            .iter()
            .map(|segment| segment.ident.to_string())
            .collect()
    }

    /// An item that a block of the function being read declares.
    pub(super) fn local_item(&self, name: &str) -> Option<Rc<syn::Item>> {
        self.frame()
            .local_items
            .iter()
            .rev()
            .find(|item| super::items::item_name(item).is_some_and(|ident| ident == name))
            .cloned()
    }

    fn call_path(&mut self, path: &syn::ExprPath, args: Vec<Value>, span: Span) -> Lift<Value> {
        let segments = Self::segments(&path.path);
        let module = self.frame().module.clone();
        if path.qself.is_some() {
            return Err(self.unknown(span, "a call through a trait"));
        }
        if let [name] = &segments[..]
            && let Some(item) = self.local_item(name)
        {
            let (file, kind) = (self.frame().file.clone(), self.frame().self_type.clone());
            return match &*item {
                syn::Item::Fn(item) => self.inline(
                    &Inline {
                        module: &module,
                        file: &file,
                        sig: &item.sig,
                        block: &item.block,
                        self_type: kind,
                        generics: path,
                        is_local: true,
                    },
                    args,
                    span,
                ),
                _ => Err(self.unknown(span, "this call")),
            };
        }
        match self.items.resolve(&module, &segments) {
            Found::Item(source, syn::Item::Fn(item)) => {
                self.depend(&source.path, &item.sig.ident, item);
                self.inline(
                    &Inline {
                        module: &source.path,
                        file: &source.file,
                        sig: &item.sig,
                        block: &item.block,
                        self_type: None,
                        generics: path,
                        is_local: false,
                    },
                    args,
                    span,
                )
            }
            Found::Item(source, syn::Item::Struct(item))
                if matches!(item.fields, syn::Fields::Unnamed(_)) =>
            {
                self.depend(&source.path, &item.ident, item);
                let fields = args
                    .into_iter()
                    .enumerate()
                    .map(|(i, arg)| (i.to_string(), arg))
                    .collect();
                Ok(Value::Struct(item.ident.to_string(), fields))
            }
            Found::Item(..) => Err(self.unknown(span, "this call")),
            Found::External(name) => self.call_external(&name, path, args, span),
        }
    }

    fn call_external(
        &mut self,
        name: &str,
        path: &syn::ExprPath,
        mut args: Vec<Value>,
        span: Span,
    ) -> Lift<Value> {
        let segments: Vec<&str> = name
            .trim_start_matches("std::")
            .trim_start_matches("core::")
            .split("::")
            .collect();
        match (&segments[..], args.len()) {
            (
                ["Some" | "Ok"]
                | ["option", "Option", "Some"]
                | ["result", "Result", "Ok"]
                | ["Option", "Some"]
                | ["Result", "Ok"],
                1,
            ) => {
                return Ok(some(args.remove(0)));
            }
            (["Vec", "new"] | ["vec", "Vec", "new"], 0) => {
                let ty = self.types.open(Class::Any);
                return Ok(Value::View(self.empty_vec("list", ty, span)?));
            }
            (["Vec", "with_capacity"] | ["vec", "Vec", "with_capacity"], 1) => {
                let ty = self.types.open(Class::Any);
                return Ok(Value::View(self.empty_vec("list", ty, span)?));
            }
            (["mem", "swap"], 2) => {
                let b = args.remove(1);
                let a = args.remove(0);
                let (Some(p), Some(q)) = (self.referent(&a, path, 0), self.referent(&b, path, 1))
                else {
                    return Err(self.unknown(span, "this `swap`"));
                };
                self.swap(&p, &q, span)?;
                return Ok(Value::Unit);
            }
            (["cmp", "max" | "min"], 2) => {
                let (a, b) = (args.remove(0), args.remove(0));
                let num = self.num(a, span)?;
                let method = segments[1];
                return self.scalar_method(num, method, vec![b], span);
            }
            ([.., "Complex" | "Complex32" | "Complex64", "new"], 2) => {
                let (re, im) = (args.remove(0), args.remove(0));
                let (re, im) = (self.num(re, span)?, self.num(im, span)?);
                self.unify(re.ty, im.ty, span)?;
                return Ok(super::complex::complex(re, im));
            }
            ([.., "Axis"], 1) => {
                return Ok(Value::Struct(
                    "Axis".to_owned(),
                    vec![("0".to_owned(), args.remove(0))],
                ));
            }
            ([.., "Zip", "from"], 1) => return Ok(super::nd_ops::zip_value(args)),
            (["mem", "replace"], 2) => {
                let new = args.remove(1);
                let Some(place) = self.referent(&args.remove(0), path, 0) else {
                    return Err(self.unknown(span, "this `replace`"));
                };
                let old = self.read(&place, span)?;
                let old = self.hold(old, "old")?;
                self.write(&place, new, span)?;
                return Ok(old);
            }
            (["mem", "take"], 1) => {
                let Some(place) = self.referent(&args.remove(0), path, 0) else {
                    return Err(self.unknown(span, "this `take`"));
                };
                let old = self.read(&place, span)?;
                let old = self.hold(old, "old")?;
                let blank = self.blank(&old, span)?;
                self.write(&place, blank, span)?;
                return Ok(old);
            }
            (["iter", "repeat"], 1) => {
                return Ok(Value::Iter(Box::new(Iter::Repeat(Box::new(
                    args.remove(0),
                )))));
            }
            (["iter", "zip"], 2) => {
                let (a, b) = (args.remove(0), args.remove(0));
                let (a, b) = (self.iterator(a, span)?, self.iterator(b, span)?);
                return Ok(Value::Iter(Box::new(Iter::Zip(Box::new(a), Box::new(b)))));
            }
            _ => {}
        }
        if let [.., kind, method] = segments[..]
            && let Some(value) = self.nd_constructor(kind, method, path, &mut args, span)?
        {
            return Ok(value);
        }
        if let ["half", kind, method] | [kind, method] = segments[..]
            && let Some(half @ (Scalar::F16 | Scalar::Bf16)) = self.scalar_named(kind)
            && matches!(method, "from_f32" | "from_f64")
            && args.len() == 1
        {
            let num = self.num(args.remove(0), span)?;
            let from = if method == "from_f32" {
                Scalar::F32
            } else {
                Scalar::F64
            };
            self.unify(num.ty, Ty::Known(from), span)?;
            let expr = Expr::Cast(half, Box::new(self.settle(num.expr)));
            return Ok(Value::scalar(expr, Ty::Known(half)));
        }
        // The constants that number traits and `Default` give as functions.
        if let [kind, method @ ("zero" | "one" | "default")] = segments[..]
            && let Some(scalar) = self.scalar_named(kind)
            && args.is_empty()
        {
            let literal = if method == "one" {
                super::reader::Literal::One
            } else {
                super::reader::Literal::Zero
            };
            if let Some(value) = Self::constant(&literal, scalar) {
                return Ok(Value::scalar(Expr::Const(value), Ty::Known(scalar)));
            }
        }
        // `f32::max(a, b)`, `u32::from(b)`, `f32::from_bits(u)`, `T::from(..)`.
        if let [kind, method] = segments[..]
            && let Some(scalar) = self.scalar_named(kind)
            && !args.is_empty()
        {
            let first = args.remove(0);
            if matches!(method, "from_le_bytes" | "from_be_bytes" | "from_ne_bytes") {
                return self.number_of_bytes(scalar, &first, method == "from_be_bytes", span);
            }
            let num = self.num(first, span)?;
            return match method {
                "from" if args.is_empty() => self.cast(num, scalar, span).map(Value::Scalar),
                "from_bits" if scalar.is_float() => {
                    let bits = if scalar == Scalar::F32 {
                        Scalar::U32
                    } else {
                        Scalar::U64
                    };
                    self.unify(num.ty, Ty::Known(bits), span)?;
                    let expr = self.settle(num.expr);
                    Ok(Value::scalar(
                        Expr::Call(Func::FromBits, vec![expr]),
                        Ty::Known(scalar),
                    ))
                }
                _ => {
                    self.unify(num.ty, Ty::Known(scalar), span)?;
                    self.scalar_method(num, method, args, span)
                }
            };
        }
        if let [kind, method] = segments[..] {
            let kind = match (kind, &self.frame().self_type) {
                ("Self", Some(kind)) => kind.clone(),
                _ => kind.to_owned(),
            };
            if let Some((module, item, syn::ImplItem::Fn(member))) =
                self.items.associated(&kind, method)
            {
                let _ = item;
                self.depend(&module.path, &member.sig.ident, member);
                return self.inline(
                    &Inline {
                        module: &module.path,
                        file: &module.file,
                        sig: &member.sig,
                        block: &member.block,
                        self_type: Some(kind),
                        generics: path,
                        is_local: false,
                    },
                    args,
                    span,
                );
            }
        }
        Err(self.refuse(
            path.span(),
            format!("the function `{}` is not known", path_text(&path.path)),
            "it is not in this crate's sources, so the engine cannot see what it does",
            "write it out here, or as a function of this crate",
        ))
    }

    /// `u32::from_le_bytes(bytes)`.
    fn number_of_bytes(&mut self, to: Scalar, bytes: &Value, big: bool, span: Span) -> Lift<Value> {
        let Some(view) = self.as_view(bytes, span)? else {
            return Err(self.wrong_kind(span, bytes, "an array of bytes"));
        };
        self.unify(self.elem_ty(view.buf), Ty::Known(Scalar::U8), span)?;
        let size = to.bytes() as u64;
        if !to.is_integer() || fold::as_int(&view.len) != Some(i128::from(size)) {
            return Err(self.unknown(span, "this number from bytes"));
        }
        let unsigned = Func::AbsDiff.result(to);
        let mut word: Option<Expr> = None;
        for i in 0..size {
            let at = fold::binary(
                crate::ir::BinaryOp::Add,
                view.offset.clone(),
                Expr::index(i),
            );
            let byte = self.load(view.buf, at).expr;
            let byte = fold::cast(unsigned, Some(Scalar::U8), byte);
            let shift = 8 * if big { size - 1 - i } else { i };
            let shift = Expr::Const(crate::ir::Const::Int(Scalar::U32, i128::from(shift)));
            let part = fold::binary(crate::ir::BinaryOp::Shl, byte, shift);
            word = Some(match word {
                None => part,
                Some(word) => fold::binary(crate::ir::BinaryOp::Or, word, part),
            });
        }
        let word = word.unwrap_or(Expr::index(0));
        Ok(Value::scalar(
            fold::cast(to, Some(unsigned), word),
            Ty::Known(to),
        ))
    }

    /// The place that a `&mut` argument refers to.
    fn referent(&mut self, value: &Value, _path: &syn::ExprPath, _index: usize) -> Option<Place> {
        match value {
            Value::Ref(place, _) => Some((**place).clone()),
            Value::View(view) => {
                // Owned lists behind `&mut`: where they live is found by what they show.
                self.slots.iter().enumerate().find_map(|(slot, stored)| {
                    let mut path = Vec::new();
                    owner_of(stored, view, &mut path)
                        .then(|| Place::Slot(SlotId(slot), path.into_iter().rev().collect()))
                })
            }
            _ => None,
        }
    }

    pub(super) fn scalar_named(&self, name: &str) -> Option<Scalar> {
        if let Some(Written::Scalar(scalar)) = self.frame().generics.get(name) {
            return Some(*scalar);
        }
        name.parse().ok()
    }
}

/// Whether a list is what `view` shows, or is in what it is; the way there, innermost first.
fn owner_of(stored: &Value, view: &super::value::View, path: &mut Vec<usize>) -> bool {
    let inside = |parts: &mut dyn Iterator<Item = &Value>, path: &mut Vec<usize>| {
        for (i, part) in parts.enumerate() {
            if owner_of(part, view, path) {
                path.push(i);
                return true;
            }
        }
        false
    };
    match stored {
        Value::View(other) => {
            other.buf == view.buf
                && other.offset == view.offset
                && !matches!(other.own, Own::Borrowed(_))
        }
        Value::Struct(_, fields) => inside(&mut fields.iter().map(|(_, field)| field), path),
        Value::Tuple(parts) => inside(&mut parts.iter(), path),
        _ => false,
    }
}

pub(super) fn some(value: Value) -> Value {
    Value::Option {
        some: super::reader::bool_const(true),
        value: Box::new(value),
    }
}

pub(super) fn path_text(path: &syn::Path) -> String {
    let segments: Vec<String> = path
        .segments
        .iter()
        .map(|segment| segment.ident.to_string())
        .collect();
    segments.join("::")
}
