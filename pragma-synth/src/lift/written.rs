//! Types as written in the source, looked up in the crate.

use pragma_spec::Scalar;
use syn::spanned::Spanned;

use super::error::Lift;
use super::fold;
use super::items::Found;
use super::reader::Reader;
use super::types::{Ty, Written};
use super::value::{Elem, Value};
use crate::ir::Expr;

impl Reader<'_> {
    /// What a type in the source means here.
    pub(super) fn written(&mut self, ty: &syn::Type) -> Lift<Written> {
        let span = ty.span();
        Ok(match ty {
            syn::Type::Infer(_) => Written::Infer,
            syn::Type::Paren(inner) => self.written(&inner.elem)?,
            syn::Type::Group(inner) => self.written(&inner.elem)?,
            syn::Type::Reference(inner) => self.written(&inner.elem)?,
            syn::Type::Slice(inner) => Written::List(Box::new(self.written(&inner.elem)?)),
            syn::Type::Array(inner) => {
                let elem = self.written(&inner.elem)?;
                let len = self.eval(&inner.len)?;
                let len = self.index(len, span)?;
                let Some(len) = fold::as_int(&len).and_then(|len| u64::try_from(len).ok()) else {
                    return Err(self.unknown(span, "the length of this array"));
                };
                Written::Array(Box::new(elem), len)
            }
            syn::Type::Tuple(inner) => {
                let mut parts = Vec::with_capacity(inner.elems.len());
                for elem in &inner.elems {
                    parts.push(self.written(elem)?);
                }
                Written::Tuple(parts)
            }
            syn::Type::Path(path) => self.written_path(path)?,
            _ => Written::Named("?".to_owned()),
        })
    }

    fn written_path(&mut self, path: &syn::TypePath) -> Lift<Written> {
        let Some(last) = path.path.segments.last() else {
            return Ok(Written::Infer);
        };
        let name = last.ident.to_string();
        let argument = |reader: &mut Self| match &last.arguments {
            syn::PathArguments::AngleBracketed(args) => match args.args.first() {
                Some(syn::GenericArgument::Type(ty)) => reader.written(ty),
                _ => Ok(Written::Infer),
            },
            _ => Ok(Written::Infer),
        };
        if path.path.segments.len() == 1 {
            if let Some(written) = self.frame().generics.get(&name) {
                return Ok(written.clone());
            }
            if let Ok(scalar) = name.parse::<Scalar>() {
                return Ok(Written::Scalar(scalar));
            }
            match name.as_str() {
                "Vec" | "Box" => {
                    let inner = argument(self)?;
                    return Ok(if name == "Box" {
                        inner
                    } else {
                        Written::List(Box::new(inner))
                    });
                }
                "Option" | "Result" => return Ok(Written::Option(Box::new(argument(self)?))),
                "Self" => {
                    let kind = self.frame().self_type.clone().unwrap_or_default();
                    return Ok(match kind.parse::<Scalar>() {
                        Ok(scalar) => Written::Scalar(scalar),
                        Err(_) => Written::Named(kind),
                    });
                }
                _ => {}
            }
        }
        let segments: Vec<String> = path
            .path
            .segments
            .iter()
            .map(|segment| segment.ident.to_string())
            .collect();
        let module = self.frame().module.clone();
        if let Found::Item(source, syn::Item::Type(alias)) = self.items.resolve(&module, &segments)
            && alias.generics.params.is_empty()
        {
            self.depend(&source.path, &alias.ident, alias);
            let ty = (*alias.ty).clone();
            return self.deeper(path.span(), |reader| reader.written(&ty));
        }
        Ok(Written::Named(name))
    }

    /// Makes `value` be of the type written.
    pub(super) fn annotate(
        &mut self,
        value: &Value,
        written: &Written,
        span: proc_macro2::Span,
    ) -> Lift<()> {
        match (value, written) {
            (_, Written::Infer) => Ok(()),
            (Value::Scalar(num), Written::Scalar(scalar)) => {
                self.unify(num.ty, Ty::Known(*scalar), span)
            }
            (Value::Cell(var), Written::Scalar(scalar)) => {
                self.unify(self.type_of_var(*var), Ty::Known(*scalar), span)
            }
            (Value::Ref(place, _), written) => {
                let value = self.peek(place, span)?;
                self.annotate(&value, written, span)
            }
            (Value::Tuple(parts), Written::Tuple(kinds)) if parts.len() == kinds.len() => {
                for (part, kind) in parts.iter().zip(kinds) {
                    self.annotate(part, kind, span)?;
                }
                Ok(())
            }
            (Value::Option { value, .. }, Written::Option(kind)) => match &**value {
                Value::Unit => Ok(()),
                value => self.annotate(value, kind, span),
            },
            (Value::View(view), Written::List(kind) | Written::Array(kind, _)) => {
                if let Written::Array(_, len) = written
                    && fold::as_int(&view.len) != Some(i128::from(*len))
                {
                    let differ = self.decide(
                        crate::ir::CompareOp::Ne,
                        view.len.clone(),
                        Expr::index(*len),
                    );
                    if differ != super::reader::bool_const(false) {
                        return Err(self.unknown(span, "an array of this length"));
                    }
                }
                let (mut elem, mut kind) = (&view.elem, &**kind);
                while let (Elem::Array(inner, _), Written::Array(k, _) | Written::List(k)) =
                    (elem, kind)
                {
                    (elem, kind) = (inner, k);
                }
                match (elem, kind) {
                    (Elem::Scalar, Written::Scalar(scalar)) => {
                        self.unify(self.elem_ty(view.buf), Ty::Known(*scalar), span)
                    }
                    (_, Written::Infer) => Ok(()),
                    (Elem::Record(record), Written::Named(name))
                        if record.kind.as_ref() == Some(name) =>
                    {
                        Ok(())
                    }
                    (Elem::Record(record), Written::Tuple(_)) if record.kind.is_none() => Ok(()),
                    _ => Err(self.unknown(span, "this element type")),
                }
            }
            (Value::Unit, Written::Tuple(parts)) if parts.is_empty() => Ok(()),
            (Value::Never | Value::Callee(_) | Value::Iter(_) | Value::Text, _) => Ok(()),
            (Value::Struct(kind, _) | Value::Variant(kind, _), Written::Named(name))
                if kind == name =>
            {
                Ok(())
            }
            (Value::Nd(_) | Value::Memory(..), _) => Ok(()),
            (value, _) => Err(self.wrong_kind(span, value, "a value of the type written here")),
        }
    }
}
