//! Reading a type: from `syn` and the definitions behind it to a form.

use std::collections::BTreeMap;

use quote::ToTokens;

use super::known::{self, Known};
use super::{Field, Form, NdarrayKind, Record, Resolved, TypeLookup};
use crate::signature::{name_of, strip, type_text};
use crate::{Scalar, SpecError};

/// Definitions nested deeper are circular, or nobody's hot loop.
const MAX_DEPTH: u32 = 16;

/// Where a type is read: whose names it uses.
#[derive(Clone)]
pub(super) struct Scope<'a> {
    /// The definitions.
    pub(super) lookup: &'a dyn TypeLookup,
    /// The module that the annotated function is in.
    pub(super) home: &'a [String],
    /// The module that the type is written in.
    pub(super) module: Vec<String>,
    /// What type parameters stand for.
    pub(super) types: BTreeMap<String, Form>,
    /// What const parameters stand for.
    pub(super) consts: BTreeMap<String, u64>,
    /// What `Self` is.
    pub(super) owner: Option<Form>,
    /// How many definitions it is inside of.
    pub(super) depth: u32,
}

impl Scope<'_> {
    /// Reads a type.
    pub(super) fn form(&self, ty: &syn::Type) -> Result<Form, SpecError> {
        match strip(ty) {
            syn::Type::Reference(reference) => {
                let mutable = reference.mutability.is_some();
                let mut inner = self.form(&reference.elem)?;
                if let Form::Scalar { written, .. } = &mut inner {
                    *written = mutable;
                }
                Ok(inner.behind(mutable))
            }
            syn::Type::Slice(slice) => Ok(Form::Slice(Box::new(self.form(&slice.elem)?))),
            syn::Type::Array(array) => {
                let elem = self.form(&array.elem)?;
                Ok(Form::Array(self.constant(&array.len)?, Box::new(elem)))
            }
            syn::Type::Tuple(tuple) if tuple.elems.is_empty() => Ok(Form::Unit),
            syn::Type::Tuple(tuple) => {
                let items = tuple.elems.iter().map(|item| self.form(item));
                items.collect::<Result<_, _>>().map(Form::Tuple)
            }
            syn::Type::Path(path) if path.qself.is_none() => self.path(ty, &path.path),
            other => Err(no_kernel(other)),
        }
    }

    fn path(&self, ty: &syn::Type, path: &syn::Path) -> Result<Form, SpecError> {
        if let Some(ident) = path.get_ident() {
            let name = name_of(ident);
            if let Some(form) = self.types.get(&name) {
                return Ok(form.clone());
            }
            if name == "Self" {
                return self.owner.clone().ok_or_else(|| no_kernel(ty));
            }
        }
        let segments: Vec<String> = path.segments.iter().map(|s| name_of(&s.ident)).collect();
        if self.depth > MAX_DEPTH {
            return Err(no_kernel(ty));
        }
        let arguments = path.segments.last().map(|last| &last.arguments);
        let arguments = match arguments {
            Some(syn::PathArguments::AngleBracketed(arguments)) => Some(arguments),
            _ => None,
        };
        match self.lookup.resolve(&self.module, &segments) {
            Resolved::Struct(module, item) => self.record(&module, item, arguments, ty),
            Resolved::Enum(module, item) => self.variants(&module, item, ty),
            Resolved::Alias(module, item) => {
                let (scope, _) = self.inside(&module, &item.generics, arguments, ty)?;
                scope.form(&item.ty)
            }
            Resolved::External(full) => {
                let absolute = if full.contains("::") {
                    format!("::{full}")
                } else {
                    full.clone()
                };
                self.external(known::known(&full, true), &absolute, arguments, ty)?
                    .ok_or_else(|| no_kernel(ty))
            }
            Resolved::Unknown => {
                let full = segments.join("::");
                if matches!(full.as_str(), "str" | "char" | "String" | "u128" | "i128") {
                    return Err(no_kernel(ty));
                }
                let lead = if path.leading_colon.is_some() {
                    "::"
                } else {
                    ""
                };
                let known = known::known(&full, false);
                self.external(known, &format!("{lead}{full}"), arguments, ty)?
                    .ok_or_else(|| SpecError {
                        needs_types: true,
                        ..no_kernel(ty)
                    })
            }
        }
    }

    /// A type of another crate, which emitted code calls `path`.
    fn external(
        &self,
        known: Option<Known>,
        path: &str,
        arguments: Option<&syn::AngleBracketedGenericArguments>,
        ty: &syn::Type,
    ) -> Result<Option<Form>, SpecError> {
        let Some(known) = known else {
            return Ok(None);
        };
        let mut types = arguments.into_iter().flat_map(|list| &list.args);
        let mut next = || {
            types.find_map(|argument| match argument {
                syn::GenericArgument::Type(ty) => Some(ty),
                _ => None,
            })
        };
        let mut inner = || -> Result<Box<Form>, SpecError> {
            let ty = next().ok_or_else(|| no_kernel(ty))?;
            self.form(ty).map(Box::new)
        };
        Ok(Some(match known {
            Known::Scalar(_) if arguments.is_some() => return Ok(None),
            Known::Scalar(scalar @ (Scalar::F16 | Scalar::Bf16)) => Form::Scalar {
                scalar,
                path: Some(path.to_owned()),
                written: false,
            },
            Known::Scalar(scalar) => Form::scalar(scalar),
            Known::Vec => Form::Vec(inner()?),
            Known::Box => match *inner()? {
                Form::Slice(elem) => Form::Boxed(elem),
                _ => return Ok(None),
            },
            Known::Option => Form::Option(inner()?),
            Known::Result => Form::Result(inner()?),
            Known::Complex(Some(part)) => known::complex(path.to_owned(), Form::scalar(part)),
            Known::Complex(None) => {
                let part = inner()?;
                let text = part.type_text().ok_or_else(|| no_kernel(ty))?;
                known::complex(format!("{path}::<{text}>"), *part)
            }
            Known::Ndarray(kind, rank) => {
                let elem = inner()?;
                let named = || {
                    let syn::Type::Path(path) = strip(next()?) else {
                        return None;
                    };
                    known::rank(&path.path.segments.last()?.ident.to_string())
                };
                let Some(rank) = rank.or_else(named) else {
                    return Err(no_kernel(ty).help(
                        "the number of axes must be known: write `Array2<f32>`, `ArrayView3<f32>`, ..",
                    ));
                };
                Form::Ndarray {
                    kind,
                    path: path.to_owned(),
                    rank,
                    elem,
                }
            }
        }))
    }

    fn record(
        &self,
        module: &[String],
        item: &syn::ItemStruct,
        arguments: Option<&syn::AngleBracketedGenericArguments>,
        ty: &syn::Type,
    ) -> Result<Form, SpecError> {
        let (scope, texts) = self.inside(module, &item.generics, arguments, ty)?;
        let mut fields = Vec::new();
        for (i, field) in item.fields.iter().enumerate() {
            let name = match &field.ident {
                Some(ident) => name_of(ident),
                None => i.to_string(),
            };
            if !visible(&field.vis, module, self.home) {
                return Err(SpecError::spanned(
                    ty,
                    format!(
                        "the field `{name}` of `{}` is private to its module",
                        item.ident
                    ),
                )
                .help("move the function next to the type, or make the field `pub(crate)`"));
            }
            let form = match scope.form(&field.ty) {
                Ok(form) if fits_field(&form) => form,
                Err(error) if error.needs_types => return Err(error),
                _ => Form::Untouched,
            };
            fields.push(Field { name, form });
        }
        let mut path = path_in_crate(module, &item.ident);
        if !texts.is_empty() {
            path = format!("{path}::<{}>", texts.join(", "));
        }
        Ok(Form::Record(Record {
            path,
            named: !matches!(item.fields, syn::Fields::Unnamed(_)),
            in_order: repr_in_order(&item.attrs),
            fields,
        }))
    }

    fn variants(
        &self,
        module: &[String],
        item: &syn::ItemEnum,
        ty: &syn::Type,
    ) -> Result<Form, SpecError> {
        let plain = item
            .variants
            .iter()
            .all(|variant| variant.fields.is_empty());
        if !plain || item.variants.is_empty() || item.variants.len() > 256 {
            return Err(no_kernel(ty).help(
                "an enum can be a kernel's parameter if its variants have no fields; match on others outside",
            ));
        }
        Ok(Form::Enum {
            path: path_in_crate(module, &item.ident),
            variants: item.variants.iter().map(|v| name_of(&v.ident)).collect(),
        })
    }

    /// The scope inside a definition, and its arguments as text.
    fn inside(
        &self,
        module: &[String],
        generics: &syn::Generics,
        arguments: Option<&syn::AngleBracketedGenericArguments>,
        ty: &syn::Type,
    ) -> Result<(Self, Vec<String>), SpecError> {
        let mut scope = Scope {
            module: module.to_vec(),
            types: BTreeMap::new(),
            consts: BTreeMap::new(),
            owner: None,
            depth: self.depth + 1,
            ..self.clone()
        };
        let given: Vec<&syn::GenericArgument> = arguments
            .into_iter()
            .flat_map(|list| &list.args)
            .filter(|argument| !matches!(argument, syn::GenericArgument::Lifetime(_)))
            .collect();
        let mut given = given.into_iter();
        let mut texts = Vec::new();
        for param in &generics.params {
            match param {
                syn::GenericParam::Lifetime(_) => {}
                syn::GenericParam::Type(param) => {
                    let form = match (given.next(), &param.default) {
                        (Some(syn::GenericArgument::Type(argument)), _) => self.form(argument)?,
                        (None, Some((_, default))) => scope.form(default)?,
                        _ => return Err(no_kernel(ty)),
                    };
                    texts.push(form.type_text().ok_or_else(|| no_kernel(ty))?);
                    scope.types.insert(name_of(&param.ident), form);
                }
                syn::GenericParam::Const(param) => {
                    let value = match given.next() {
                        Some(syn::GenericArgument::Const(expr)) => self.constant(expr)?,
                        // `Raster<C>` reads as a type.
                        Some(syn::GenericArgument::Type(syn::Type::Path(path))) => {
                            let expr = syn::Expr::Path(syn::ExprPath {
                                attrs: Vec::new(),
                                qself: None,
                                path: path.path.clone(),
                            });
                            self.constant(&expr)?
                        }
                        _ => return Err(no_kernel(ty)),
                    };
                    texts.push(value.to_string());
                    scope.consts.insert(name_of(&param.ident), value);
                }
            }
        }
        Ok((scope, texts))
    }

    /// The value of an array length.
    pub(super) fn constant(&self, expr: &syn::Expr) -> Result<u64, SpecError> {
        let unknown = || {
            SpecError::spanned(expr, "the length of a kernel's array must be a number")
                .help("write the number, or take a slice")
        };
        match expr {
            syn::Expr::Lit(syn::ExprLit {
                lit: syn::Lit::Int(int),
                ..
            }) => Ok(int.base10_parse()?),
            syn::Expr::Group(group) => self.constant(&group.expr),
            syn::Expr::Paren(paren) => self.constant(&paren.expr),
            syn::Expr::Block(block) => match &block.block.stmts[..] {
                [syn::Stmt::Expr(expr, None)] => self.constant(expr),
                _ => Err(unknown()),
            },
            syn::Expr::Cast(cast) => self.constant(&cast.expr),
            syn::Expr::Path(path) if path.qself.is_none() => {
                let segments = path.path.segments.iter();
                let segments: Vec<String> = segments.map(|s| name_of(&s.ident)).collect();
                if let [name] = &segments[..]
                    && let Some(value) = self.consts.get(name)
                {
                    return Ok(*value);
                }
                self.lookup
                    .constant(&self.module, &segments)
                    .ok_or_else(|| SpecError {
                        needs_types: true,
                        ..unknown()
                    })
            }
            syn::Expr::Binary(binary) => {
                let (a, b) = (self.constant(&binary.left)?, self.constant(&binary.right)?);
                let value = match binary.op {
                    syn::BinOp::Add(_) => a.checked_add(b),
                    syn::BinOp::Sub(_) => a.checked_sub(b),
                    syn::BinOp::Mul(_) => a.checked_mul(b),
                    syn::BinOp::Div(_) => a.checked_div(b),
                    syn::BinOp::Shl(_) => u32::try_from(b).ok().and_then(|b| a.checked_shl(b)),
                    _ => None,
                };
                value.ok_or_else(unknown)
            }
            _ => Err(unknown()),
        }
    }
}

/// What a field may be, if the function is to read it.
fn fits_field(form: &Form) -> bool {
    match form {
        Form::Result(_) | Form::Unit => false,
        Form::Slice(_) => false,
        Form::Ref { inner, .. } => match &**inner {
            Form::Slice(elem) => super::leaves::Elements::of(elem).is_some(),
            inner => fits_field(inner),
        },
        Form::Vec(elem) | Form::Boxed(elem) | Form::Array(_, elem) => {
            super::leaves::Elements::of(elem).is_some()
        }
        Form::Ndarray { kind, .. } => *kind != NdarrayKind::ViewMut,
        Form::Option(inner) => super::flatten::fits_option(inner),
        Form::Tuple(items) => items.iter().all(fits_field),
        _ => true,
    }
}

/// A path that works everywhere in the crate where the type can be seen.
fn path_in_crate(module: &[String], ident: &syn::Ident) -> String {
    let mut path = String::from("crate::");
    for part in module {
        path.push_str(&raw(part));
        path.push_str("::");
    }
    path + &ident.to_string()
}

fn raw(name: &str) -> String {
    match syn::parse_str::<syn::Ident>(name) {
        Ok(_) => name.to_owned(),
        Err(_) => format!("r#{name}"),
    }
}

/// Whether code in module `from` can see a field of a type in `module`.
fn visible(vis: &syn::Visibility, module: &[String], from: &[String]) -> bool {
    let restricted = match vis {
        syn::Visibility::Public(_) => return true,
        syn::Visibility::Inherited => return from.starts_with(module),
        syn::Visibility::Restricted(restricted) => restricted,
    };
    let segments = restricted.path.segments.iter();
    let segments: Vec<String> = segments.map(|s| name_of(&s.ident)).collect();
    let mut root: Vec<String> = module.to_vec();
    for (i, segment) in segments.iter().enumerate() {
        match segment.as_str() {
            "crate" if i == 0 => root.clear(),
            "self" if i == 0 => {}
            "super" => {
                root.pop();
            }
            other => root.push(other.to_owned()),
        }
    }
    from.starts_with(&root)
}

/// Whether the attributes say that fields lie in declaration order.
fn repr_in_order(attrs: &[syn::Attribute]) -> bool {
    attrs.iter().any(|attr| {
        let syn::Meta::List(list) = &attr.meta else {
            return false;
        };
        let words = list.tokens.clone().into_iter();
        list.path.is_ident("repr")
            && words.into_iter().any(|word| {
                let word = word.to_string();
                word == "C" || word == "transparent"
            })
    })
}

/// The error about a type that kernels do not know.
pub(super) fn no_kernel(ty: &(impl ToTokens + ?Sized)) -> SpecError {
    let text = type_text(&ty.to_token_stream());
    SpecError::spanned(&ty.to_token_stream(), format!("no kernel takes a `{text}` yet")).help(
        "a kernel takes numbers, slices, `Vec`s and arrays of them, and structs, tuples and `Option`s of those",
    )
}
