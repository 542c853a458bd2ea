//! The grammar of `#[pragma_kernel( .. )]`.
//!
//! Owns parsing and nothing else; what the parts mean is in `attribute`.

use proc_macro2::{Span, TokenStream};
use quote::ToTokens;
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream, Parser};
use syn::{Token, parenthesized};

use crate::form::Instance;
use crate::signature::name_of;
use crate::{Accuracy, DimExpr, KernelAttribute, Shape, SpecError, TargetSet, TuneSize};

const KEYS: [&str; 10] = [
    "shape",
    "tune",
    "inputs",
    "tolerance",
    "exact",
    "assume",
    "targets",
    "instantiate",
    "threads",
    "crate",
];

pub(crate) fn parse(tokens: TokenStream) -> Result<KernelAttribute, SpecError> {
    // syn's errors carry one text; ours keep the suggestion apart, so ours leave by the side door.
    let mut failure = None;
    let parsed = (|input: ParseStream<'_>| {
        let mut out = KernelAttribute::default();
        let mut seen = Vec::new();
        while !input.is_empty() {
            if let Err(error) = key(input, &mut out, &mut seen) {
                let text = error.message.clone();
                let span = error.span;
                failure = Some(error);
                return Err(syn::Error::new(span, text));
            }
            if input.is_empty() {
                break;
            }
            input.parse::<Token![,]>()?;
        }
        Ok(out)
    })
    .parse2(tokens);
    match failure {
        Some(error) => Err(error),
        None => Ok(parsed?),
    }
}

fn key(
    input: ParseStream<'_>,
    out: &mut KernelAttribute,
    seen: &mut Vec<String>,
) -> Result<(), SpecError> {
    let key = input.call(syn::Ident::parse_any)?;
    let name = key.to_string();
    let once = !matches!(name.as_str(), "shape" | "tune" | "inputs" | "instantiate");
    if once && seen.contains(&name) {
        return Err(SpecError::new(
            key.span(),
            format!("`{name}` is given twice"),
        ));
    }
    match name.as_str() {
        "shape" => shape(input, out)?,
        "tune" => tune(input, key.span(), out)?,
        "inputs" => crate::attribute_inputs::parse(input, out)?,
        "tolerance" | "exact" => {
            if out.accuracy != Accuracy::Default {
                return Err(SpecError::new(
                    key.span(),
                    "`tolerance` and `exact` exclude each other",
                ));
            }
            out.accuracy = if name == "exact" {
                Accuracy::Exact
            } else {
                tolerance(input, key.span())?
            };
        }
        "assume" => {
            for word in words(input)? {
                match word.to_string().as_str() {
                    "finite" => out.assume_finite = true,
                    other => return Err(unknown(word.span(), "assumption", other, &["finite"])),
                }
            }
        }
        "targets" => out.targets = targets(input, key.span())?,
        "instantiate" => instantiate(input, out)?,
        "threads" => {
            let inner = parens(input, "threads", "threads(1)")?;
            let count: syn::LitInt = inner.parse()?;
            let value: u32 = count.base10_parse()?;
            end(&inner)?;
            if value == 0 {
                return Err(SpecError::new(
                    count.span(),
                    "a kernel needs at least one thread",
                ));
            }
            out.threads = Some(value);
        }
        "crate" => {
            input.parse::<Token![=]>()?;
            let path = input.call(syn::Path::parse_mod_style)?;
            out.crate_path = Some(path.to_token_stream().to_string().replace(' ', ""));
        }
        other => return Err(unknown(key.span(), "argument", other, &KEYS)),
    }
    seen.push(name);
    Ok(())
}

fn unknown(span: Span, what: &str, word: &str, known: &[&str]) -> SpecError {
    let error = SpecError::new(span, format!("unknown {what} `{word}`"));
    match crate::suggest::closest(word, known.iter().copied()) {
        Some(close) => error.help(format!("did you mean `{close}`?")),
        None => {
            let all: Vec<_> = known.iter().map(|word| format!("`{word}`")).collect();
            error.help(format!("known here: {}", all.join(", ")))
        }
    }
}

pub(crate) fn parens<'a>(
    input: ParseStream<'a>,
    key: &str,
    example: &str,
) -> Result<syn::parse::ParseBuffer<'a>, SpecError> {
    if !input.peek(syn::token::Paren) {
        return Err(
            SpecError::new(input.span(), format!("`{key}` takes parentheses"))
                .help(format!("write `{example}`")),
        );
    }
    Ok(group(input)?)
}

/// The content of a parenthesised group.
fn group<'a>(input: ParseStream<'a>) -> syn::Result<syn::parse::ParseBuffer<'a>> {
    let inner;
    parenthesized!(inner in input);
    Ok(inner)
}

/// Refuses what is left in a finished group.
fn end(input: ParseStream<'_>) -> Result<(), SpecError> {
    if input.is_empty() {
        return Ok(());
    }
    Err(SpecError::new(
        input.span(),
        "nothing more is expected here",
    ))
}

/// `name = value, name = value`, with `value` read by `each`.
fn pairs(
    input: ParseStream<'_>,
    mut each: impl FnMut(String, Span, ParseStream<'_>) -> Result<(), SpecError>,
) -> Result<(), SpecError> {
    while !input.is_empty() {
        let first = input.call(syn::Ident::parse_any)?;
        let mut name = name_of(&first);
        while input.peek(Token![.]) {
            input.parse::<Token![.]>()?;
            name = format!("{name}.{}", path_part(input)?);
        }
        input.parse::<Token![=]>()?;
        each(name, first.span(), input)?;
        if !input.is_empty() {
            input.parse::<Token![,]>()?;
        }
    }
    Ok(())
}

/// What may follow a dot in a path: a name, or a number; `0.1` comes as one token.
pub(crate) fn path_part(input: ParseStream<'_>) -> syn::Result<String> {
    if input.peek(syn::LitInt) {
        return Ok(input.parse::<syn::LitInt>()?.base10_digits().to_owned());
    }
    if input.peek(syn::LitFloat) {
        return Ok(input.parse::<syn::LitFloat>()?.base10_digits().to_owned());
    }
    Ok(name_of(&input.call(syn::Ident::parse_any)?))
}

fn shape(input: ParseStream<'_>, out: &mut KernelAttribute) -> Result<(), SpecError> {
    let inner = parens(input, "shape", "shape(x = [rows, d])")?;
    pairs(&inner, |name, span, input| {
        let shape = parse_shape(input)?;
        if out.shape(&name).is_some() {
            return Err(SpecError::new(
                span,
                format!("`{name}` is given two shapes"),
            ));
        }
        out.places.0.push(("shape", name.clone(), span));
        out.shapes.push((name, shape));
        Ok(())
    })
}

fn tune(input: ParseStream<'_>, key: Span, out: &mut KernelAttribute) -> Result<(), SpecError> {
    let inner = parens(input, "tune", "tune(rows = 2048, d = 1024)")?;
    let mut size = TuneSize::default();
    pairs(&inner, |name, span, input| {
        let expr: syn::Expr = input.parse()?;
        let twice = size.symbols.iter().any(|(known, _)| *known == name);
        if twice || size.get(&name).is_some() {
            return Err(SpecError::new(span, format!("`{name}` is given twice")));
        }
        out.places.0.push(("tune", name.clone(), span));
        match (number(&expr), &expr) {
            (Some(value), _) => size.values.push((name, value)),
            // `Border::Clamp`, `None`, `Some(0.5)`.
            (None, symbol) if is_symbol(symbol) => {
                let text = symbol.to_token_stream().to_string();
                size.symbols.push((name, text));
            }
            _ => {
                return Err(SpecError::spanned(
                    &expr,
                    format!("the size `{name}` must be a number"),
                ));
            }
        }
        Ok(())
    })?;
    if size.values.is_empty() && size.symbols.is_empty() {
        return Err(SpecError::new(key, "`tune` needs at least one size")
            .help("write `tune(rows = 2048, d = 1024)`"));
    }
    out.tunes.push(size);
    Ok(())
}

/// Whether it names a variant: of an enum, or `None`, or `Some(..)`.
fn is_symbol(expr: &syn::Expr) -> bool {
    match expr {
        syn::Expr::Path(path) => path.path.segments.last().is_some_and(|last| {
            let name = last.ident.to_string();
            name.starts_with(|c: char| c.is_uppercase())
        }),
        syn::Expr::Call(call) => is_symbol(&call.func),
        _ => false,
    }
}

fn tolerance(input: ParseStream<'_>, key: Span) -> Result<Accuracy, SpecError> {
    let inner = parens(input, "tolerance", "tolerance(rtol = 1e-5, atol = 1e-8)")?;
    let (mut rtol, mut atol) = (None, None);
    pairs(&inner, |name, span, input| {
        let slot = match name.as_str() {
            "rtol" => &mut rtol,
            "atol" => &mut atol,
            other => return Err(unknown(span, "tolerance", other, &["rtol", "atol"])),
        };
        let expr: syn::Expr = input.parse()?;
        match number(&expr) {
            Some(value) if value >= 0.0 && value.is_finite() => {
                if slot.replace(value).is_some() {
                    return Err(SpecError::new(span, format!("`{name}` is given twice")));
                }
                Ok(())
            }
            _ => Err(SpecError::spanned(
                &expr,
                format!("`{name}` must be a number that is not negative"),
            )),
        }
    })?;
    if rtol.is_none() && atol.is_none() {
        return Err(
            SpecError::new(key, "`tolerance` needs `rtol`, `atol` or both")
                .help("write `tolerance(rtol = 1e-5, atol = 1e-8)`"),
        );
    }
    Ok(Accuracy::Tolerance {
        rtol: rtol.unwrap_or(0.0),
        atol: atol.unwrap_or(0.0),
    })
}

fn words(input: ParseStream<'_>) -> Result<Vec<syn::Ident>, SpecError> {
    let inner = group(input)?;
    let words = inner.parse_terminated(syn::Ident::parse_any, Token![,])?;
    if words.is_empty() {
        return Err(SpecError::new(
            inner.span(),
            "at least one word is needed here",
        ));
    }
    Ok(words.into_iter().collect())
}

fn targets(input: ParseStream<'_>, key: Span) -> Result<TargetSet, SpecError> {
    if !input.peek(syn::token::Paren) {
        return Err(SpecError::new(key, "`targets` takes parentheses").help("write `targets(cpu)`"));
    }
    let mut set = TargetSet {
        cpu: false,
        cuda: false,
    };
    for word in words(input)? {
        match word.to_string().as_str() {
            "cpu" => set.cpu = true,
            "cuda" => set.cuda = true,
            // Closer in meaning than `cpu` is in letters.
            other @ "gpu" => {
                return Err(
                    SpecError::new(word.span(), format!("unknown target `{other}`"))
                        .help("did you mean `cuda`?"),
                );
            }
            other => return Err(unknown(word.span(), "target", other, &["cpu", "cuda"])),
        }
    }
    Ok(set)
}

fn instantiate(input: ParseStream<'_>, out: &mut KernelAttribute) -> Result<(), SpecError> {
    let inner = parens(input, "instantiate", "instantiate(T = f32)")?;
    let before = out.instantiate.len();
    pairs(&inner, |name, span, input| {
        out.places.0.push(("instantiate", name.clone(), span));
        let value = if input.peek(syn::Lit) {
            input.parse::<syn::Lit>()?.to_token_stream()
        } else {
            input.parse::<syn::Type>()?.to_token_stream()
        };
        out.instantiate.push((name, Instance::value_text(&value)));
        Ok(())
    })?;
    out.instances.push(out.instantiate[before..].to_vec());
    Ok(())
}

/// The value of a literal, with any number of signs.
pub(crate) fn number(expr: &syn::Expr) -> Option<f64> {
    match expr {
        syn::Expr::Lit(lit) => match &lit.lit {
            syn::Lit::Int(int) => int.base10_digits().parse().ok(),
            syn::Lit::Float(float) => float.base10_digits().parse().ok(),
            syn::Lit::Bool(truth) => Some(f64::from(u8::from(truth.value))),
            _ => None,
        },
        syn::Expr::Unary(unary) if matches!(unary.op, syn::UnOp::Neg(_)) => {
            number(&unary.expr).map(|value| -value)
        }
        syn::Expr::Paren(paren) => number(&paren.expr),
        syn::Expr::Group(group) => number(&group.expr),
        _ => None,
    }
}

pub(crate) fn parse_shape(input: ParseStream<'_>) -> Result<Shape, SpecError> {
    let expr: syn::Expr = input.parse()?;
    let syn::Expr::Array(array) = &expr else {
        return Err(SpecError::spanned(&expr, "a shape is a list of sizes")
            .help("write `[rows, d]`, or `[n]` for a single size"));
    };
    if array.elems.is_empty() {
        return Err(SpecError::spanned(&expr, "a shape needs at least one size"));
    }
    let extents = array.elems.iter().map(dim_expr).collect::<Result<_, _>>()?;
    Ok(Shape(extents))
}

/// A size: `rows`, `2 * d`, `n - k + 1`.
pub(crate) fn dim_expr(expr: &syn::Expr) -> Result<DimExpr, SpecError> {
    match expr {
        syn::Expr::Lit(syn::ExprLit {
            lit: syn::Lit::Int(int),
            ..
        }) => Ok(DimExpr::Const(int.base10_parse()?)),
        syn::Expr::Path(path) if path.qself.is_none() => match path.path.get_ident() {
            Some(ident) => Ok(DimExpr::Dim(name_of(ident))),
            None => Err(not_a_size(expr)),
        },
        syn::Expr::Field(field) => match dim_expr(&field.base)? {
            DimExpr::Dim(base) => {
                let member = match &field.member {
                    syn::Member::Named(ident) => name_of(ident),
                    syn::Member::Unnamed(index) => index.index.to_string(),
                };
                Ok(DimExpr::Dim(format!("{base}.{member}")))
            }
            _ => Err(not_a_size(expr)),
        },
        syn::Expr::Paren(paren) => dim_expr(&paren.expr),
        syn::Expr::Group(group) => dim_expr(&group.expr),
        syn::Expr::Binary(binary) => {
            let (a, b) = (&binary.left, &binary.right);
            let build: fn(Box<DimExpr>, Box<DimExpr>) -> DimExpr = match binary.op {
                syn::BinOp::Add(_) => DimExpr::Add,
                syn::BinOp::Sub(_) => DimExpr::Sub,
                syn::BinOp::Mul(_) => DimExpr::Mul,
                syn::BinOp::Div(_) => DimExpr::Div,
                _ => return Err(not_a_size(expr)),
            };
            Ok(build(Box::new(dim_expr(a)?), Box::new(dim_expr(b)?)))
        }
        _ => Err(not_a_size(expr)),
    }
}

fn not_a_size(expr: &syn::Expr) -> SpecError {
    SpecError::spanned(expr, "this is not a size")
        .help("a size is a name, a number, or `+ - * /` of those")
}

/// A shape as [`Shape`]'s `Display` writes it.
pub(crate) struct ShapeText(pub(crate) Shape);

impl Parse for ShapeText {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        Ok(ShapeText(parse_shape(input).map_err(syn::Error::from)?))
    }
}
