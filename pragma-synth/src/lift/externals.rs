//! Functions that are not the crate's own, by name: `std`, `half`, `num_complex`, `ndarray`; and
//! what traits of the crate give numbers.

use pragma_spec::Scalar;
use proc_macro2::Span;
use syn::spanned::Spanned;

use super::calls::{path_text, some};
use super::error::Lift;
use super::fold;
use super::inline::Inline;
use super::reader::Reader;
use super::types::{Class, Ty};
use super::value::{Iter, Own, Place, SlotId, Value};
use crate::ir::{Expr, Func};

impl Reader<'_> {
    pub(super) fn call_external(
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
            ([.., "Zip", "from"], 1) => return Ok(super::nd_zip::zip_value(args)),
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
        // What a trait of the crate gives a number.
        if let [kind, method] = segments[..]
            && let Some(scalar) = self.scalar_named(kind)
            && let Some(value) = self.crate_method(scalar.name(), method, &args, span)?
        {
            return Ok(value);
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
                    let home = Place::Temp(Box::new(Value::Scalar(num.clone())));
                    if let Some(value) = self.ascii_method(&num, method, &home, span)? {
                        return Ok(value);
                    }
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

    /// A method that a trait of the crate gives a type; `None` if there is none.
    pub(super) fn crate_method(
        &mut self,
        kind: &str,
        method: &str,
        args: &[Value],
        span: Span,
    ) -> Lift<Option<Value>> {
        // Inside of it, the method of the same name is another one: `fn sqrt(self) { self.sqrt() }`.
        let inside = self
            .frames
            .iter()
            .any(|frame| frame.function == method && frame.self_type.as_deref() == Some(kind));
        if inside {
            return Ok(None);
        }
        let Ok(generics) = syn::parse_str::<syn::ExprPath>("method") else {
            return Ok(None);
        };
        let (module, sig, block) = match self.fitting(kind, method, args) {
            Some((module, _, syn::ImplItem::Fn(member))) => (module, &member.sig, &member.block),
            _ => match self.items.default_method(kind, method) {
                Some((module, member)) => match &member.default {
                    Some(block) => (module, &member.sig, block),
                    None => return Ok(None),
                },
                None => return Ok(None),
            },
        };
        self.depend(&module.path, &sig.ident, sig);
        let callee = Inline {
            module: &module.path,
            file: &module.file,
            sig,
            block,
            self_type: Some(kind.to_owned()),
            generics: &generics,
            is_local: false,
        };
        self.inline(&callee, args.to_vec(), span).map(Some)
    }

    /// The only type that the kernel's bounds say something goes `Into`.
    pub(super) fn target_of_into(&self) -> Option<Scalar> {
        struct Finder(Vec<Scalar>);
        impl<'ast> syn::visit::Visit<'ast> for Finder {
            fn visit_path_segment(&mut self, segment: &'ast syn::PathSegment) {
                if segment.ident == "Into"
                    && let syn::PathArguments::AngleBracketed(args) = &segment.arguments
                    && let Some(syn::GenericArgument::Type(syn::Type::Path(path))) =
                        args.args.first()
                    && let Some(name) = path.path.get_ident()
                    && let Ok(scalar) = name.to_string().parse()
                {
                    self.0.push(scalar);
                }
                syn::visit::visit_path_segment(self, segment);
            }
        }
        let mut finder = Finder(Vec::new());
        syn::visit::Visit::visit_generics(&mut finder, &self.request.function.sig.generics);
        finder.0.dedup();
        match finder.0[..] {
            [one] => Some(one),
            _ => None,
        }
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
