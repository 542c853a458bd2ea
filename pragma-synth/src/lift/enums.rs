//! Enums without fields: a variant is its number.

use pragma_spec::Scalar;
use proc_macro2::Span;

use super::error::Lift;
use super::fold;
use super::items::Found;
use super::reader::Reader;
use super::types::Ty;
use super::value::{Num, Value};
use crate::ir::{CompareOp, Const, Expr};

impl Reader<'_> {
    /// The variant that a path names: `Border::Clamp`, `Self::Clamp`, or `Clamp` through `use`.
    pub(super) fn variant(&mut self, segments: &[String], span: Span) -> Lift<Option<Value>> {
        let mut segments = segments.to_vec();
        if let (Some(first), Some(kind)) = (segments.first_mut(), &self.frame().self_type)
            && first == "Self"
        {
            first.clone_from(kind);
        }
        let module = self.frame().module.clone();
        if let [_] = &segments[..]
            && let Found::External(full) = self.items.resolve(&module, &segments)
            && full.contains("::")
        {
            segments = full.split("::").map(str::to_owned).collect();
        }
        let Some((name, owner)) = segments.split_last() else {
            return Ok(None);
        };
        if owner.is_empty() {
            return Ok(None);
        }
        let Found::Item(source, syn::Item::Enum(item)) = self.items.resolve(&module, owner) else {
            return Ok(None);
        };
        let Some(index) = item
            .variants
            .iter()
            .position(|variant| variant.ident == name)
        else {
            return Ok(None);
        };
        self.depend(&source.path, &item.ident, item);
        if item
            .variants
            .iter()
            .any(|variant| !variant.fields.is_empty())
        {
            return Err(self.refuse(
                span,
                format!("`{}` has variants with fields", item.ident),
                "the loop nest has numbers only; a variant without fields is one",
                "match on it before the loop, or use numbers and a flag",
            ));
        }
        let index = Expr::Const(Const::Int(Scalar::U8, index as i128));
        Ok(Some(Value::Variant(item.ident.to_string(), index)))
    }

    /// `variant as usize`: its discriminant.
    pub(super) fn discriminant(&mut self, kind: &str, index: Expr, span: Span) -> Lift<Num> {
        let Some(item) = self.items.enum_named(kind) else {
            return Err(self.unknown(span, format!("casting `{kind}`")));
        };
        let mut values = Vec::with_capacity(item.variants.len());
        let mut next = 0i128;
        for variant in &item.variants {
            if let Some((_, expr)) = &variant.discriminant {
                let num = self.eval_num(expr)?;
                let expr = self.settle(num.expr);
                let literal = match self.as_literal(&expr) {
                    Some((super::reader::Literal::Int(value), ..)) => Some(*value),
                    _ => fold::as_int(&expr),
                };
                let Some(value) = literal else {
                    return Err(self.unknown(span, format!("the numbers of `{kind}`")));
                };
                next = value;
            }
            values.push(next);
            next += 1;
        }
        let int = |value: i128| Expr::Const(Const::Int(Scalar::I64, value));
        let plain = values.iter().enumerate().all(|(i, v)| *v == i as i128);
        let expr = if plain {
            fold::cast(Scalar::I64, Some(Scalar::U8), index)
        } else {
            let mut expr = int(values.last().copied().unwrap_or(0));
            for (i, value) in values.iter().enumerate().rev().skip(1) {
                let at = Expr::Const(Const::Int(Scalar::U8, i as i128));
                let is = fold::compare(CompareOp::Eq, index.clone(), at);
                expr = fold::select(is, int(*value), expr);
            }
            expr
        };
        Ok(Num {
            expr,
            ty: Ty::Known(Scalar::I64),
        })
    }
}
