//! What a path names that is no local variable: constants, tables, functions as values.

use std::rc::Rc;

use pragma_spec::Scalar;
use proc_macro2::Span;
use syn::spanned::Spanned;

use super::calls::{MAX_INLINE, path_text};
use super::error::Lift;
use super::items::Found;
use super::reader::{Exit, Reader, usize_num};
use super::types::Ty;
use super::value::{Callee, Own, Value, View};
use crate::ir::{Const, Expr};

impl Reader<'_> {
    /// What a path names that is no local variable: a constant or a function.
    pub(super) fn path_value(&mut self, path: &syn::ExprPath) -> Lift<Value> {
        let span = path.span();
        let segments = Self::segments(&path.path);
        let module = self.frame().module.clone();
        if let [name] = &segments[..] {
            if let Some(value) = self.frame().consts.get(name) {
                return Ok(Value::Scalar(usize_num(Expr::Const(Const::Int(
                    Scalar::Usize,
                    *value,
                )))));
            }
            if name == "None" {
                return Ok(Value::Option {
                    some: super::reader::bool_const(false),
                    value: Box::new(Value::Unit),
                });
            }
            if let Some(item) = self.local_item(name) {
                return match &*item {
                    syn::Item::Const(item) => {
                        let (file, key) = (
                            self.frame().file.clone(),
                            format!("{}::{name}", self.frame().function),
                        );
                        self.constant_item(&module, &file, &key, &item.ty, &item.expr, span)
                    }
                    syn::Item::Static(item)
                        if matches!(item.mutability, syn::StaticMutability::None) =>
                    {
                        let (file, key) = (
                            self.frame().file.clone(),
                            format!("{}::{name}", self.frame().function),
                        );
                        self.constant_item(&module, &file, &key, &item.ty, &item.expr, span)
                    }
                    _ => Ok(Value::Callee(Callee::Path(Rc::new(path.clone())))),
                };
            }
        }
        match self.items.resolve(&module, &segments) {
            Found::Item(source, syn::Item::Const(item)) => {
                self.depend(&source.path, &item.ident, item);
                let key = format!("{}::{}", source.path.join("::"), item.ident);
                self.constant_item(&source.path, &source.file, &key, &item.ty, &item.expr, span)
            }
            Found::Item(source, syn::Item::Static(item))
                if matches!(item.mutability, syn::StaticMutability::None) =>
            {
                self.depend(&source.path, &item.ident, item);
                let key = format!("{}::{}", source.path.join("::"), item.ident);
                self.constant_item(&source.path, &source.file, &key, &item.ty, &item.expr, span)
            }
            Found::Item(_, syn::Item::Fn(_)) => {
                Ok(Value::Callee(Callee::Path(Rc::new(path.clone()))))
            }
            Found::Item(..) => Err(self.unknown(span, "this name")),
            Found::External(name) => match self.variant(&segments, span)? {
                Some(variant) => Ok(variant),
                None => self.external_value(&name, path, span),
            },
        }
    }

    pub(super) fn external_value(
        &mut self,
        name: &str,
        path: &syn::ExprPath,
        span: Span,
    ) -> Lift<Value> {
        let segments: Vec<&str> = name
            .trim_start_matches("std::")
            .trim_start_matches("core::")
            .split("::")
            .collect();
        let order = |less, equal| {
            Ok(Value::Order(super::value::Order {
                less: super::reader::bool_const(less),
                equal: super::reader::bool_const(equal),
            }))
        };
        match segments[..] {
            [.., "Ordering", "Less"] => return order(true, false),
            [.., "Ordering", "Equal"] => return order(false, true),
            [.., "Ordering", "Greater"] => return order(false, false),
            [kind, constant] | [kind, "consts", constant] => {
                if let Some(scalar) = self.scalar_named(kind) {
                    let math = segments.len() == 3;
                    let own = self.items.provides(scalar.name(), constant);
                    if constant == "BITS" && scalar.is_integer() {
                        let bits = Const::Int(Scalar::U32, 8 * scalar.bytes() as i128);
                        return Ok(Value::scalar(Expr::Const(bits), Ty::Known(Scalar::U32)));
                    }
                    if let Some(value) =
                        known_constant(scalar, constant, math).filter(|_| math || !own)
                    {
                        return Ok(Value::scalar(Expr::Const(value), Ty::Known(scalar)));
                    }
                    // A method as a function: `f32::max`.
                    if !math && !own && constant.chars().next().is_some_and(char::is_lowercase) {
                        return Ok(Value::Callee(Callee::Path(Rc::new(path.clone()))));
                    }
                }
                let owner = match (kind, &self.frame().self_type) {
                    ("Self", Some(owner)) => owner.clone(),
                    _ => self
                        .scalar_named(kind)
                        .map_or_else(|| kind.to_owned(), |scalar| scalar.name().to_owned()),
                };
                match self.items.associated(&owner, constant) {
                    Some((module, _, syn::ImplItem::Const(item))) => {
                        self.depend(&module.path, &item.ident, item);
                        let key = format!("{owner}::{constant}");
                        let old = self
                            .frames
                            .last_mut()
                            .and_then(|frame| frame.self_type.replace(owner));
                        let value = self.constant_item(
                            &module.path,
                            &module.file,
                            &key,
                            &item.ty,
                            &item.expr,
                            span,
                        );
                        if let Some(frame) = self.frames.last_mut() {
                            frame.self_type = old;
                        }
                        return value;
                    }
                    Some((_, _, syn::ImplItem::Fn(_))) => {
                        return Ok(Value::Callee(Callee::Path(Rc::new(path.clone()))));
                    }
                    _ => {}
                }
            }
            _ => {}
        }
        if segments.first().is_some_and(|first| *first == "cmp") {
            return Ok(Value::Callee(Callee::Path(Rc::new(path.clone()))));
        }
        Err(self.refuse(
            span,
            format!("`{}` is not known", path_text(&path.path)),
            "it is not in this crate's sources, so the engine cannot see what it is",
            "pass it as a parameter, or write its value here",
        ))
    }

    /// The value of a constant; arrays become tables, made once at the start of the kernel.
    pub(super) fn constant_item(
        &mut self,
        module: &[String],
        file: &str,
        key: &str,
        ty: &syn::Type,
        expr: &syn::Expr,
        span: Span,
    ) -> Lift<Value> {
        if let Some(table) = self.tables.get(key) {
            return Ok(Value::View(table.clone()));
        }
        if self.frames.len() > MAX_INLINE {
            return Err(self.unknown(span, "a constant that needs itself"));
        }
        let mut frame = self.frame().clone();
        frame.module = module.to_vec();
        frame.file = file.to_owned();
        frame.exit = Exit::Closure;
        frame.loop_base = self.loops.len();
        self.frames.push(frame);
        let env = std::mem::take(&mut self.env);
        // Read on its own, so that the table can go to the start.
        let result = self.block(|reader| {
            let written = reader.written(ty)?;
            let value = reader.eval(expr)?;
            reader.annotate(&value, &written, span)?;
            Ok(match value {
                Value::Scalar(num) => Value::scalar(reader.settle(num.expr), num.ty),
                other => other,
            })
        });
        self.env = env;
        self.frames.pop();
        let (block, value) = result?;
        match &value {
            Value::View(view) => {
                let table = View {
                    own: Own::Array,
                    ..view.clone()
                };
                let name = key.rsplit("::").next().unwrap_or(key).to_lowercase();
                self.rename_buf(&table, &name);
                self.tables.insert(key.to_owned(), table.clone());
                if let Some(first) = self.blocks.first_mut() {
                    first.splice(0..0, block);
                }
                Ok(Value::View(table))
            }
            _ if block.is_empty() => Ok(value),
            _ => {
                for stmt in block {
                    self.emit(stmt);
                }
                Ok(value)
            }
        }
    }
}

/// `f32::EPSILON`, `i32::MAX`, `f32::consts::PI`.
fn known_constant(scalar: Scalar, name: &str, math: bool) -> Option<Const> {
    use std::f64::consts as c;
    if math {
        // The `f32` constants are the `f64` ones rounded.
        let value = match name {
            "PI" => c::PI,
            "TAU" => c::TAU,
            "E" => c::E,
            "LN_2" => c::LN_2,
            "LN_10" => c::LN_10,
            "LOG2_E" => c::LOG2_E,
            "LOG10_E" => c::LOG10_E,
            "LOG2_10" => c::LOG2_10,
            "LOG10_2" => c::LOG10_2,
            "SQRT_2" => c::SQRT_2,
            "FRAC_1_SQRT_2" => c::FRAC_1_SQRT_2,
            "FRAC_2_SQRT_PI" => c::FRAC_2_SQRT_PI,
            "FRAC_1_PI" => c::FRAC_1_PI,
            "FRAC_2_PI" => c::FRAC_2_PI,
            "FRAC_PI_2" => c::FRAC_PI_2,
            "FRAC_PI_3" => c::FRAC_PI_3,
            "FRAC_PI_4" => c::FRAC_PI_4,
            "FRAC_PI_6" => c::FRAC_PI_6,
            "FRAC_PI_8" => c::FRAC_PI_8,
            _ => return None,
        };
        return match scalar {
            Scalar::F32 => Some(Const::Float(scalar, f64::from(value as f32))),
            Scalar::F64 => Some(Const::Float(scalar, value)),
            _ => None,
        };
    }
    let bits = 8 * scalar.bytes() as u32;
    if scalar.is_integer() {
        let (least, most) = if scalar.is_signed() {
            (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1)
        } else {
            (0, (1i128 << bits) - 1)
        };
        return match name {
            "MAX" => Some(Const::Int(scalar, most)),
            "MIN" => Some(Const::Int(scalar, least)),
            _ => None,
        };
    }
    let value = match (scalar, name) {
        (Scalar::F32, "MAX") => f64::from(f32::MAX),
        (Scalar::F32, "MIN") => f64::from(f32::MIN),
        (Scalar::F32, "EPSILON") => f64::from(f32::EPSILON),
        (Scalar::F32, "MIN_POSITIVE") => f64::from(f32::MIN_POSITIVE),
        (Scalar::F64, "MAX") => f64::MAX,
        (Scalar::F64, "MIN") => f64::MIN,
        (Scalar::F64, "EPSILON") => f64::EPSILON,
        (Scalar::F64, "MIN_POSITIVE") => f64::MIN_POSITIVE,
        (Scalar::F32 | Scalar::F64, "INFINITY") => f64::INFINITY,
        (Scalar::F32 | Scalar::F64, "NEG_INFINITY") => f64::NEG_INFINITY,
        (Scalar::F32 | Scalar::F64, "NAN") => f64::NAN,
        _ => return None,
    };
    Some(Const::Float(scalar, value))
}
