//! From a function's signature, and the definitions behind it, to its form and leaves.

use std::collections::{BTreeMap, BTreeSet};

use quote::ToTokens;

use super::leaves::Elements;
use super::scope::{Scope, no_kernel};
use super::text::{fits, path_text};
use super::{Field, Form, Instance, Pattern, SignatureForm, SourceParam, TypeLookup};
use crate::signature::{check_qualifiers, name_of, type_text};
use crate::{KernelSignature, ReturnSig, SpecError};

/// Where a signature stands, and what is known there.
#[derive(Clone, Copy)]
pub struct FlattenPlace<'a> {
    /// The module of the function, from the crate root.
    pub module: &'a [String],
    /// The impl that the function is in.
    pub owner: Option<Owner<'a>>,
    /// What the type and const parameters of function and impl stand for.
    pub instance: &'a Instance,
    /// Definitions.
    pub lookup: &'a dyn TypeLookup,
    /// Scalars behind `&mut` that the function writes to, as leaves are called: `self.count`. Others are read only.
    pub written: &'a BTreeSet<String>,
    /// Fields that the function does not use, as leaves are called: they get no leaves.
    pub unread: &'a BTreeSet<String>,
}

/// An inherent impl.
#[derive(Clone, Copy)]
pub struct Owner<'a> {
    /// The type that it is of.
    pub ty: &'a syn::Type,
    /// Its parameters.
    pub generics: &'a syn::Generics,
}

impl KernelSignature {
    /// Reads a signature with all its types: methods, structs, generic functions at an instance.
    ///
    /// # Errors
    /// If the function cannot have kernels, a parameter's type is none that kernels know, or an instance lacks a
    /// parameter. The span is that of the offending part. [`SpecError::needs_types`] tells those apart that a lookup
    /// with more definitions might settle.
    pub fn flatten(
        sig: &syn::Signature,
        place: &FlattenPlace<'_>,
    ) -> Result<KernelSignature, SpecError> {
        check_qualifiers(sig)?;
        let mut scope = Scope {
            lookup: place.lookup,
            home: place.module,
            module: place.module.to_vec(),
            types: BTreeMap::new(),
            consts: BTreeMap::new(),
            owner: None,
            depth: 0,
        };
        let owner_generics = place.owner.map(|owner| owner.generics);
        let generics = owner_generics.into_iter().chain([&sig.generics]);
        bind(&mut scope, generics, place.instance, sig).map_err(|error| SpecError {
            // Of a method whose impl is not known here, neither are its parameters.
            needs_types: place.owner.is_none() && sig.receiver().is_some(),
            ..error
        })?;
        let mut owner = None;
        if let Some(impl_of) = place.owner {
            let form = scope.form(impl_of.ty)?;
            owner = form.type_text();
            scope.owner = Some(form);
        }
        let mut params = Vec::with_capacity(sig.inputs.len());
        for input in &sig.inputs {
            params.push(param(input, &scope)?);
        }
        for (i, param) in params.iter_mut().enumerate() {
            let name = match &param.pattern {
                Pattern::Name(name) => name.clone(),
                _ => format!("unnamed.{i}"),
            };
            mark(&name, &mut param.form, place);
        }
        check_names(&params, sig)?;
        let form = SignatureForm {
            owner,
            instance: place.instance.clone(),
            params,
            result: result(&sig.output, &scope)?,
        };
        KernelSignature::from_form(name_of(&sig.ident), form).map_err(|name| {
            SpecError::spanned(&sig.ident, format!("two parameters are called `{name}`"))
        })
    }

    /// The signature of a function with this form.
    ///
    /// # Errors
    /// With the name, if two leaves have the same one.
    pub fn from_form(name: String, form: SignatureForm) -> Result<KernelSignature, String> {
        let leaves = form.leaves();
        for (i, leaf) in leaves.iter().enumerate() {
            if leaves[..i].iter().any(|other| other.name == leaf.name) {
                return Err(leaf.name.clone());
            }
        }
        Ok(KernelSignature {
            name,
            params: leaves.iter().map(super::Leaf::sig).collect(),
            returns: ReturnSig::of(&form.returned()),
            form,
        })
    }
}

/// Gives every type and const parameter its value.
fn bind<'g>(
    scope: &mut Scope<'_>,
    generics: impl Iterator<Item = &'g syn::Generics>,
    instance: &Instance,
    sig: &syn::Signature,
) -> Result<(), SpecError> {
    let mut names = BTreeSet::new();
    for param in generics.flat_map(|generics| &generics.params) {
        let missing = |name: &str, example: &str| {
            SpecError::spanned(
                param,
                format!("`#[pragma_kernel]` needs to know what `{name}` stands for"),
            )
            .help(format!("say which: `instantiate({name} = {example})`"))
        };
        match param {
            syn::GenericParam::Lifetime(_) => {}
            syn::GenericParam::Type(param) => {
                let name = name_of(&param.ident);
                let value = instance.get(&name).ok_or_else(|| missing(&name, "f32"))?;
                let ty: syn::Type = syn::parse_str(value).map_err(|_| {
                    SpecError::spanned(param, format!("`{value}` is not a type for `{name}`"))
                })?;
                let form = scope.form(&ty).map_err(|error| SpecError {
                    message: format!("`{name} = {value}`: {}", error.message),
                    ..error
                })?;
                scope.types.insert(name.clone(), form);
                names.insert(name);
            }
            syn::GenericParam::Const(param) => {
                let name = name_of(&param.ident);
                let value = instance.get(&name).ok_or_else(|| missing(&name, "4"))?;
                let number = match instance.constant(&name) {
                    Some(number) => Some(number),
                    None => syn::parse_str(value)
                        .ok()
                        .and_then(|expr| scope.constant(&expr).ok()),
                };
                let number = number.ok_or_else(|| {
                    SpecError::spanned(
                        param,
                        format!("`{value}` is not a number that `{name}` can stand for"),
                    )
                })?;
                scope.consts.insert(name.clone(), number);
                names.insert(name);
            }
        }
    }
    match instance.0.iter().find(|(name, _)| !names.contains(name)) {
        None => Ok(()),
        Some((name, _)) => Err(SpecError::spanned(
            &sig.ident,
            format!("`{}` has no type or const parameter `{name}`", sig.ident),
        )),
    }
}

fn param(input: &syn::FnArg, scope: &Scope<'_>) -> Result<SourceParam, SpecError> {
    let typed = match input {
        syn::FnArg::Typed(typed) => typed,
        syn::FnArg::Receiver(receiver) => {
            let Some(owner) = &scope.owner else {
                return Err(SpecError {
                    needs_types: true,
                    ..SpecError::spanned(receiver, "a method belongs to a type")
                });
            };
            let form = match &receiver.kind {
                syn::ReceiverKind::Value => owner.clone(),
                syn::ReceiverKind::Reference(_, _, mutability) => {
                    owner.clone().behind(mutability.is_some())
                }
                syn::ReceiverKind::Typed(_, ty) => scope.form(ty)?,
                _ => return Err(no_kernel(receiver)),
            };
            usable(&form, receiver)?;
            return Ok(SourceParam {
                pattern: Pattern::Name("self".to_owned()),
                form,
            });
        }
    };
    let pattern = pattern(&typed.pat)?;
    let mut form = scope.form(&typed.ty)?;
    usable(&form, &typed.ty)?;
    if !fits(&pattern, &form) {
        return Err(
            SpecError::spanned(&typed.pat, "this pattern does not fit its type")
                .help("name the parameter and take it apart in the body"),
        );
    }
    forget_unnamed(&pattern, &mut form);
    Ok(SourceParam { pattern, form })
}

/// What has no name is not read.
fn forget_unnamed(pattern: &Pattern, form: &mut Form) {
    match (pattern, form) {
        (Pattern::Unnamed, form) => *form = Form::Unread(Box::new(std::mem::take(form))),
        (Pattern::Ref(pattern), Form::Ref { inner, .. }) => forget_unnamed(pattern, inner),
        (Pattern::Tuple(_), Form::Ref { inner, .. }) => forget_unnamed(pattern, inner),
        (Pattern::Tuple(patterns), Form::Tuple(items)) => {
            for (pattern, item) in patterns.iter().zip(items) {
                forget_unnamed(pattern, item);
            }
        }
        _ => {}
    }
}

fn pattern(pat: &syn::Pat) -> Result<Pattern, SpecError> {
    match pat {
        syn::Pat::Ident(pat) if pat.by_ref.is_none() && pat.subpat.is_none() => {
            Ok(Pattern::Name(name_of(&pat.ident)))
        }
        syn::Pat::Wild(_) => Ok(Pattern::Unnamed),
        syn::Pat::Paren(paren) => pattern(&paren.pat),
        syn::Pat::Reference(reference) => {
            pattern(&reference.pat).map(|inner| Pattern::Ref(Box::new(inner)))
        }
        syn::Pat::Tuple(tuple) => {
            let items = tuple.elems.iter().map(pattern);
            items.collect::<Result<_, _>>().map(Pattern::Tuple)
        }
        other => Err(bad_pattern(other)),
    }
}

fn bad_pattern(pat: &syn::Pat) -> SpecError {
    SpecError::spanned(
        pat,
        "a kernel parameter must be a plain name, or a tuple of names",
    )
    .help("name the parameter and take it apart in the body")
}

/// Refuses parameters that no kernel could take, with the reason.
fn usable(form: &Form, ty: &impl ToTokens) -> Result<(), SpecError> {
    match form {
        Form::Ref { inner, .. } => usable(inner, ty),
        Form::Slice(elem) | Form::Vec(elem) | Form::Boxed(elem) | Form::Array(_, elem) => {
            let known = match (Elements::of(elem), form) {
                (Some(Elements::Rows(..)), Form::Array(..)) | (None, _) => false,
                (Some(Elements::Records(layout)), Form::Array(..)) => layout.views().len() == 1,
                (Some(_), _) => true,
            };
            if known {
                return Ok(());
            }
            let error = no_kernel(ty);
            Err(match elem.peeled() {
                Form::Record(record) => error.help(format!(
                    "every field of `{}` must be a number or an array of numbers, without padding between them",
                    short(&record.path)
                )),
                _ => error,
            })
        }
        Form::Tuple(items) => items.iter().try_for_each(|item| usable(item, ty)),
        Form::Option(inner) if fits_option(inner) => usable(inner, ty),
        Form::Ndarray { elem, .. } if matches!(Elements::of(elem), Some(Elements::Numbers(..))) => {
            Ok(())
        }
        Form::Scalar { .. } | Form::Record(_) | Form::Enum { .. } => Ok(()),
        Form::Unit
        | Form::Option(_)
        | Form::Ndarray { .. }
        | Form::Result(_)
        | Form::Unread(_)
        | Form::Untouched => Err(no_kernel(ty)),
    }
}

/// What may be in an `Option`: something with an empty value that a kernel can be given.
pub(super) fn fits_option(inner: &Form) -> bool {
    match inner.peeled() {
        Form::Scalar { .. } | Form::Enum { .. } => {
            !matches!(inner, Form::Ref { mutable: true, .. })
        }
        Form::Slice(elem) | Form::Vec(elem) | Form::Boxed(elem) => {
            matches!(Elements::of(elem), Some(Elements::Numbers(..)))
        }
        Form::Array(_, elem) => matches!(Elements::of(elem), Some(Elements::Numbers(..))),
        _ => false,
    }
}

/// A path for messages: its last segment.
fn short(path: &str) -> &str {
    let head = path
        .split('<')
        .next()
        .unwrap_or(path)
        .trim_end_matches("::");
    head.rsplit("::").next().unwrap_or(head)
}

/// Notes which scalars are written and which fields nobody reads.
fn mark(name: &str, form: &mut Form, place: &FlattenPlace<'_>) {
    match form {
        Form::Ref { inner, .. } => mark(name, inner, place),
        Form::Scalar { written, .. } => *written |= place.written.contains(name),
        Form::Record(record) => {
            for Field { name: field, form } in &mut record.fields {
                let name = format!("{name}.{field}");
                if place.unread.contains(&name) && *form != Form::Untouched {
                    *form = Form::Unread(Box::new(std::mem::take(form)));
                } else {
                    mark(&name, form, place);
                }
            }
        }
        Form::Tuple(items) => {
            for (i, item) in items.iter_mut().enumerate() {
                mark(&format!("{name}.{i}"), item, place);
            }
        }
        _ => {}
    }
}

fn check_names(params: &[SourceParam], sig: &syn::Signature) -> Result<(), SpecError> {
    let mut seen: Vec<&str> = Vec::new();
    for (param, input) in params.iter().zip(&sig.inputs) {
        for name in param.pattern.names() {
            if seen.contains(&name) {
                return Err(SpecError::spanned(
                    input,
                    format!("two parameters are called `{name}`"),
                ));
            }
            seen.push(name);
        }
    }
    Ok(())
}

fn result(output: &syn::ReturnType, scope: &Scope<'_>) -> Result<Form, SpecError> {
    let syn::ReturnType::Type(_, ty) = output else {
        return Ok(Form::Unit);
    };
    let refused = |error: SpecError| {
        SpecError {
        message: error.message.replacen("takes", "returns", 1),
        help: Some(
            "a kernel returns numbers, `Vec`s and arrays of them, and structs, tuples, `Option`s and `Result`s of those"
                .to_owned(),
        ),
        ..error
    }
    };
    let form = scope.form(ty).map_err(refused)?;
    if returnable(form.success()) || *form.success() == Form::Unit {
        Ok(form)
    } else {
        Err(refused(no_kernel(ty)))
    }
}

/// Whether a kernel's flat values can be made into such a result.
fn returnable(form: &Form) -> bool {
    match form {
        Form::Scalar { .. } | Form::Enum { .. } => true,
        Form::Vec(elem) | Form::Boxed(elem) | Form::Array(_, elem) => match Elements::of(elem) {
            Some(Elements::Numbers(..)) => true,
            Some(Elements::Records(layout)) => layout.views().len() == 1,
            Some(Elements::Rows(..)) => {
                matches!(form, Form::Vec(_)) && matches!(**elem, Form::Vec(_))
            }
            None => false,
        },
        Form::Ndarray { kind, elem, .. } => {
            *kind == super::NdarrayKind::Owned
                && matches!(Elements::of(elem), Some(Elements::Numbers(..)))
        }
        Form::Record(record) => record.fields.iter().all(|field| returnable(&field.form)),
        Form::Tuple(items) => items.iter().all(returnable),
        _ => false,
    }
}

impl Instance {
    /// What `value` written in an attribute is called in an instance: as people write types.
    pub fn value_text(value: &impl ToTokens) -> String {
        match syn::parse2::<syn::Path>(value.to_token_stream()) {
            Ok(path) => path_text(&path),
            Err(_) => type_text(value),
        }
    }
}
