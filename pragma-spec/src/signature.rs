//! What a kernel function takes and returns, as flat leaves.
//!
//! Owns the types and reading signatures that consist of leaves already; others are flattened by `form`. How lengths
//! relate is a matter of shapes: see `attribute` and `guard`.

use std::fmt;

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use quote::ToTokens;

use crate::form::{Form, Pattern, Returned, ReturnedKind, SignatureForm, SourceParam};
use crate::{Scalar, SpecError};

/// The signature of a function that may have kernels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelSignature {
    /// The function's name.
    pub name: String,
    /// Its parameters, in order: the leaves of what the source has.
    pub params: Vec<ParamSig>,
    /// What it returns: the leaves of what the source has, on success.
    pub returns: ReturnSig,
    /// How the source's parameters and result are made of these.
    pub form: SignatureForm,
}

/// One parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParamSig {
    /// Its name, without `mut`; the way to it where it is a part of a source parameter: `self.gamma`.
    pub name: String,
    /// Its type.
    pub kind: ParamKind,
}

/// The type of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParamKind {
    /// A scalar by value.
    Scalar(Scalar),
    /// `&[T]` or `&mut [T]`.
    Slice {
        /// `T`.
        elem: Scalar,
        /// Whether it is `&mut`.
        mutable: bool,
    },
    /// `&[T; N]`, `&mut [T; N]` or `[T; N]`.
    Array {
        /// `T`.
        elem: Scalar,
        /// `N`.
        len: u64,
        /// Whether it is `&mut`.
        mutable: bool,
        /// Whether it is passed by value; never together with `mutable`.
        by_value: bool,
    },
}

/// What a function returns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReturnSig {
    /// `()`.
    Nothing,
    /// One scalar.
    Scalar(Scalar),
    /// A tuple of scalars, at least one.
    Tuple(Vec<Scalar>),
    /// `Vec<T>`.
    Vec(Scalar),
    /// Several values of which at least one is a `Vec`.
    Mixed(Vec<ReturnedKind>),
}

impl ReturnSig {
    /// What a function returns that returns these values. A single one stands for itself, also out of a tuple.
    pub fn of(values: &[Returned]) -> ReturnSig {
        let scalar = |value: &Returned| match value.kind {
            ReturnedKind::Scalar(scalar) => Some(scalar),
            ReturnedKind::Vec(_) => None,
        };
        match values {
            [] => ReturnSig::Nothing,
            [one] => match one.kind {
                ReturnedKind::Scalar(scalar) => ReturnSig::Scalar(scalar),
                ReturnedKind::Vec(scalar) => ReturnSig::Vec(scalar),
            },
            many => match many.iter().map(scalar).collect() {
                Some(scalars) => ReturnSig::Tuple(scalars),
                None => ReturnSig::Mixed(many.iter().map(|value| value.kind).collect()),
            },
        }
    }

    /// The values, in order.
    pub fn kinds(&self) -> Vec<ReturnedKind> {
        match self {
            ReturnSig::Nothing => Vec::new(),
            ReturnSig::Scalar(scalar) => vec![ReturnedKind::Scalar(*scalar)],
            ReturnSig::Vec(scalar) => vec![ReturnedKind::Vec(*scalar)],
            ReturnSig::Tuple(scalars) => {
                scalars.iter().copied().map(ReturnedKind::Scalar).collect()
            }
            ReturnSig::Mixed(kinds) => kinds.clone(),
        }
    }
}

impl KernelSignature {
    /// A function whose parameters and result are leaves as they are.
    pub fn plain(name: impl Into<String>, params: Vec<ParamSig>, returns: ReturnSig) -> Self {
        let scalar = |scalar: Scalar| Form::scalar(scalar);
        let form = |kind: ParamKind| match kind {
            ParamKind::Scalar(elem) => scalar(elem),
            ParamKind::Slice { elem, mutable } => {
                Form::Slice(Box::new(scalar(elem))).behind(mutable)
            }
            ParamKind::Array {
                elem,
                len,
                mutable,
                by_value,
            } => {
                let array = Form::Array(len, Box::new(scalar(elem)));
                if by_value {
                    array
                } else {
                    array.behind(mutable)
                }
            }
        };
        let returned = |kind: ReturnedKind| match kind {
            ReturnedKind::Scalar(elem) => scalar(elem),
            ReturnedKind::Vec(elem) => Form::Vec(Box::new(scalar(elem))),
        };
        let mut results: Vec<Form> = returns.kinds().into_iter().map(returned).collect();
        let result = match &returns {
            ReturnSig::Nothing => Form::Unit,
            ReturnSig::Tuple(_) | ReturnSig::Mixed(_) => Form::Tuple(results),
            ReturnSig::Scalar(_) | ReturnSig::Vec(_) => results.pop().unwrap_or_default(),
        };
        let source = |param: &ParamSig| SourceParam {
            pattern: Pattern::Name(param.name.clone()),
            form: form(param.kind),
        };
        KernelSignature {
            name: name.into(),
            form: SignatureForm {
                params: params.iter().map(source).collect(),
                result,
                ..SignatureForm::default()
            },
            params,
            returns,
        }
    }

    /// The flat returned values by name. One alone is `return`, wherever it stands in the result.
    pub fn returned(&self) -> Vec<Returned> {
        let mut values = self.form.returned();
        if let [only] = &mut values[..] {
            only.name = "return".to_owned();
        }
        values
    }

    /// Reads the signature of a free function of leaves.
    ///
    /// # Errors
    /// If the function is a method, is `const`, `async`, `unsafe`, `extern` or variadic, has type or
    /// const parameters, or takes or returns a type that no kernel can handle. The span is that of the offending part.
    pub fn from_syn(sig: &syn::Signature) -> Result<Self, SpecError> {
        check_plain(sig)?;
        check_qualifiers(sig)?;
        let mut params: Vec<ParamSig> = Vec::with_capacity(sig.inputs.len());
        for input in &sig.inputs {
            params.push(param(input)?);
        }
        for (i, a) in params.iter().enumerate() {
            if params[..i].iter().any(|b| b.name == a.name) {
                return Err(SpecError::spanned(
                    &sig.inputs[i],
                    format!("two parameters are called `{}`", a.name),
                ));
            }
        }
        let returns = returns(&sig.output)?;
        Ok(KernelSignature::plain(name_of(&sig.ident), params, returns))
    }

    /// The parameter called `name`.
    pub fn param(&self, name: &str) -> Option<&ParamSig> {
        self.params.iter().find(|param| param.name == name)
    }
}

impl ParamKind {
    /// The element type of a slice or array, or the scalar itself.
    pub const fn elem(self) -> Scalar {
        match self {
            ParamKind::Scalar(elem)
            | ParamKind::Slice { elem, .. }
            | ParamKind::Array { elem, .. } => elem,
        }
    }

    /// Whether this is a slice or an array.
    pub const fn is_buffer(self) -> bool {
        !matches!(self, ParamKind::Scalar(_))
    }

    /// Whether the function may write to the caller's data through it.
    pub const fn is_mutable(self) -> bool {
        matches!(
            self,
            ParamKind::Slice { mutable: true, .. } | ParamKind::Array { mutable: true, .. }
        )
    }
}

impl fmt::Display for ParamKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let amp = |mutable: bool| if mutable { "&mut " } else { "&" };
        match *self {
            ParamKind::Scalar(scalar) => write!(f, "{scalar}"),
            ParamKind::Slice { elem, mutable } => write!(f, "{}[{elem}]", amp(mutable)),
            ParamKind::Array {
                elem,
                len,
                by_value: true,
                ..
            } => write!(f, "[{elem}; {len}]"),
            ParamKind::Array {
                elem, len, mutable, ..
            } => write!(f, "{}[{elem}; {len}]", amp(mutable)),
        }
    }
}

impl fmt::Display for KernelSignature {
    /// As Rust writes it: `fn dot(x: &[f32], y: &[f32]) -> f32`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "fn {}(", self.name)?;
        for (i, param) in self.params.iter().enumerate() {
            if i > 0 {
                f.write_str(", ")?;
            }
            write!(f, "{}: {}", param.name, param.kind)?;
        }
        f.write_str(")")?;
        match &self.returns {
            ReturnSig::Nothing => Ok(()),
            ReturnSig::Scalar(scalar) => write!(f, " -> {scalar}"),
            ReturnSig::Vec(scalar) => write!(f, " -> Vec<{scalar}>"),
            ReturnSig::Mixed(kinds) => {
                let name = |kind: &ReturnedKind| match kind {
                    ReturnedKind::Scalar(scalar) => scalar.to_string(),
                    ReturnedKind::Vec(scalar) => format!("Vec<{scalar}>"),
                };
                let names: Vec<String> = kinds.iter().map(name).collect();
                write!(f, " -> ({})", names.join(", "))
            }
            ReturnSig::Tuple(scalars) => {
                let names: Vec<_> = scalars.iter().map(|scalar| scalar.name()).collect();
                let comma = if names.len() == 1 { "," } else { "" };
                write!(f, " -> ({}{comma})", names.join(", "))
            }
        }
    }
}

/// An identifier as messages and manifests write it, without `r#`.
pub(crate) fn name_of(ident: &syn::Ident) -> String {
    let text = ident.to_string();
    text.strip_prefix("r#").map(str::to_owned).unwrap_or(text)
}

/// Refuses what only flattening can handle.
fn check_plain(sig: &syn::Signature) -> Result<(), SpecError> {
    if let Some(receiver) = sig.receiver() {
        return refuse(
            receiver,
            "methods yet",
            "move the loop into a free function that takes slices and call it from the method",
        );
    }
    if let Some(param) = sig
        .generics
        .params
        .iter()
        .find(|param| !matches!(param, syn::GenericParam::Lifetime(_)))
    {
        return refuse(
            param,
            "type or const parameters without an instantiation",
            "say which: `instantiate(T = f32)`",
        );
    }
    Ok(())
}

fn refuse<T>(tokens: &dyn ToTokens, what: &str, help: &str) -> Result<T, SpecError> {
    let text = format!("`#[pragma_kernel]` cannot be used on {what}");
    Err(SpecError::spanned(&tokens, text).help(help))
}

/// Refuses functions whose call is more than a call.
pub(crate) fn check_qualifiers(sig: &syn::Signature) -> Result<(), SpecError> {
    if let Some(token) = &sig.constness {
        return refuse(
            token,
            "a `const fn`",
            "kernels are chosen at run time: remove `const`",
        );
    }
    if let Some(token) = &sig.asyncness {
        return refuse(
            token,
            "an `async fn`",
            "annotate the function that computes, and call it from the async one",
        );
    }
    if let syn::Safety::Unsafe(token) = &sig.safety {
        return refuse(
            token,
            "an `unsafe fn`",
            "take slices instead of raw pointers, so that the function can be safe",
        );
    }
    if let Some(abi) = &sig.abi {
        return refuse(
            abi,
            "an `extern` function",
            "annotate a plain Rust function and call it from this one",
        );
    }
    if let Some(variadic) = &sig.variadic {
        return refuse(variadic, "a variadic function", "take a slice");
    }
    Ok(())
}

fn param(input: &syn::FnArg) -> Result<ParamSig, SpecError> {
    let typed = match input {
        syn::FnArg::Typed(typed) => typed,
        other => {
            return Err(SpecError::spanned(other, "methods are not supported yet"));
        }
    };
    let name = match &*typed.pat {
        syn::Pat::Ident(pat) if pat.by_ref.is_none() && pat.subpat.is_none() => name_of(&pat.ident),
        other => {
            return Err(
                SpecError::spanned(other, "a kernel parameter must be a plain name")
                    .help("name the parameter and take it apart in the body"),
            );
        }
    };
    Ok(ParamSig {
        name,
        kind: param_kind(&typed.ty)?,
    })
}

fn param_kind(ty: &syn::Type) -> Result<ParamKind, SpecError> {
    match strip(ty) {
        syn::Type::Reference(reference) => {
            let mutable = reference.mutability.is_some();
            match strip(&reference.elem) {
                syn::Type::Slice(slice) => Ok(ParamKind::Slice {
                    elem: scalar(&slice.elem)?,
                    mutable,
                }),
                syn::Type::Array(array) => Ok(ParamKind::Array {
                    elem: scalar(&array.elem)?,
                    len: array_len(&array.len)?,
                    mutable,
                    by_value: false,
                }),
                inner => Err(unknown_reference(reference, inner)),
            }
        }
        syn::Type::Array(array) => Ok(ParamKind::Array {
            elem: scalar(&array.elem)?,
            len: array_len(&array.len)?,
            mutable: false,
            by_value: true,
        }),
        other => scalar(other).map(ParamKind::Scalar),
    }
}

fn unknown_reference(reference: &syn::TypeReference, inner: &syn::Type) -> SpecError {
    let mutability = if reference.mutability.is_some() {
        "mut "
    } else {
        ""
    };
    if let Some(elem) = vec_elem(inner) {
        let elem = scalar(elem).map_or("T", Scalar::name);
        return SpecError::spanned(reference, "a kernel takes slices, not vectors")
            .help(format!("write `&{mutability}[{elem}]`"));
    }
    match scalar(inner) {
        Ok(elem) if mutability.is_empty() => {
            SpecError::spanned(reference, "a kernel takes scalars by value")
                .help(format!("write `{elem}`"))
        }
        Ok(elem) => SpecError::spanned(reference, "a kernel cannot write to a single scalar yet")
            .help(format!("return it, or write `&mut [{elem}; 1]`")),
        Err(error) => error,
    }
}

fn returns(output: &syn::ReturnType) -> Result<ReturnSig, SpecError> {
    let syn::ReturnType::Type(_, ty) = output else {
        return Ok(ReturnSig::Nothing);
    };
    let ty = strip(ty);
    match ty {
        syn::Type::Tuple(tuple) if tuple.elems.is_empty() => Ok(ReturnSig::Nothing),
        syn::Type::Tuple(tuple) => {
            let scalars = tuple.elems.iter().map(scalar).collect::<Result<_, _>>()?;
            Ok(ReturnSig::Tuple(scalars))
        }
        _ => match vec_elem(ty) {
            Some(elem) => scalar(elem).map(ReturnSig::Vec),
            None => scalar(ty).map(ReturnSig::Scalar).map_err(|error| SpecError {
                message: error.message.replacen("takes", "returns", 1),
                help: Some("a kernel returns nothing, a scalar, a tuple of scalars or a `Vec` of scalars".to_owned()),
                ..error
            }),
        },
    }
}

/// `ty` without parentheses and invisible groups.
pub(crate) fn strip(ty: &syn::Type) -> &syn::Type {
    match ty {
        syn::Type::Paren(paren) => strip(&paren.elem),
        syn::Type::Group(group) => strip(&group.elem),
        other => other,
    }
}

/// `T` of `Vec<T>`.
fn vec_elem(ty: &syn::Type) -> Option<&syn::Type> {
    let syn::Type::Path(path) = strip(ty) else {
        return None;
    };
    let last = path.path.segments.last()?;
    let syn::PathArguments::AngleBracketed(args) = &last.arguments else {
        return None;
    };
    match args.args.first()? {
        syn::GenericArgument::Type(elem) if last.ident == "Vec" && args.args.len() == 1 => {
            Some(elem)
        }
        _ => None,
    }
}

fn scalar(ty: &syn::Type) -> Result<Scalar, SpecError> {
    let ty = strip(ty);
    if let syn::Type::Path(path) = ty
        && path.qself.is_none()
        && let Some(last) = path.path.segments.last()
        && last.arguments.is_none()
        && let Ok(scalar) = last.ident.to_string().parse()
    {
        return Ok(scalar);
    }
    Err(
        SpecError::spanned(ty, format!("no kernel takes a `{}` yet", type_text(ty)))
            .help("a kernel takes scalars (`f32`, `usize`, ..), slices of them and arrays of them"),
    )
}

/// A type as people write it, unlike `to_string`, which puts spaces everywhere.
pub(crate) fn type_text(ty: &impl ToTokens) -> String {
    fn write(tokens: TokenStream, out: &mut String) {
        for token in tokens {
            let word = matches!(token, TokenTree::Ident(_) | TokenTree::Literal(_));
            let last = out.chars().last();
            let after_word = last.is_some_and(|c| c.is_alphanumeric() || c == '_');
            if matches!(last, Some(',' | ';' | '=' | '+')) || (word && after_word) {
                out.push(' ');
            }
            match token {
                TokenTree::Group(group) => {
                    let (open, close) = match group.delimiter() {
                        Delimiter::Parenthesis => ("(", ")"),
                        Delimiter::Brace => ("{", "}"),
                        Delimiter::Bracket => ("[", "]"),
                        Delimiter::None => ("", ""),
                    };
                    out.push_str(open);
                    write(group.stream(), out);
                    out.push_str(close);
                }
                TokenTree::Punct(punct) if matches!(punct.as_char(), '=' | '+' | '-') => {
                    out.push(' ');
                    out.push(punct.as_char());
                }
                TokenTree::Punct(punct) if punct.as_char() == '>' && out.ends_with('-') => {
                    out.push_str("> ");
                }
                other => out.push_str(&other.to_string()),
            }
        }
    }
    let mut out = String::new();
    write(ty.to_token_stream(), &mut out);
    out
}

fn array_len(len: &syn::Expr) -> Result<u64, SpecError> {
    match len {
        syn::Expr::Lit(syn::ExprLit {
            lit: syn::Lit::Int(int),
            ..
        }) => Ok(int.base10_parse()?),
        syn::Expr::Group(group) => array_len(&group.expr),
        other => Err(
            SpecError::spanned(other, "the length of a kernel's array must be a number")
                .help("write the number, or take a slice"),
        ),
    }
}
