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
use super::types::Written;
use super::value::{Callee, Iter, Place, SlotId, Value};
use crate::ir::Expr;

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
                if let Some(value) = self.ascii_method(&num, &name, &target, span)? {
                    return Ok(value);
                }
                let inherent = super::numeric::is_scalar_method(&name);
                let generic = !self.frame().generics.is_empty();
                if (!inherent || generic)
                    && let Some(scalar) = self.types.settled(num.ty)
                {
                    let mut all = vec![Value::Scalar(num.clone())];
                    all.extend(args.iter().cloned());
                    if let Some(value) = self.crate_method(scalar.name(), &name, &all, span)? {
                        return Ok(value);
                    }
                }
                if name == "into"
                    && let Some(to) = self.target_of_into()
                {
                    return self.cast(num, to, span).map(Value::Scalar);
                }
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

    pub(super) fn scalar_named(&self, name: &str) -> Option<Scalar> {
        if let Some(Written::Scalar(scalar)) = self.frame().generics.get(name) {
            return Some(*scalar);
        }
        if name == "Self"
            && let Some(kind) = &self.frame().self_type
        {
            return kind.parse().ok();
        }
        name.parse().ok()
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
