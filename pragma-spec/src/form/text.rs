//! Forms as text, one line per parameter, for manifests and for the tool to tell the macro.
//!
//! ```text
//! impl crate::imaging::Raster::<3>
//! where C = 3
//! param self: &struct crate::imaging::Raster::<3> { width: usize, height: usize, data: vec f32 }
//! param (c, h): (usize, usize)
//! param bias: option &slice f32
//! return result vec f32
//! ```

use std::fmt;

use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream};
use syn::{Token, braced, bracketed, parenthesized};

use super::{Field, Form, NdarrayKind, Pattern, Record, SignatureForm, SourceParam};
use crate::Scalar;
use crate::signature::{name_of, type_text};

/// The text is not that of a form.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a parameter or result: {1}")]
pub struct InvalidForm(pub String, pub String);

/// Deeper trees are nobody's types.
const MAX_DEPTH: u32 = 64;

impl SignatureForm {
    /// The lines of the text.
    pub fn to_lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        if let Some(owner) = &self.owner {
            lines.push(format!("impl {owner}"));
        }
        for (name, value) in &self.instance.0 {
            lines.push(format!("where {name} = {value}"));
        }
        for param in &self.params {
            lines.push(format!("param {}: {}", param.pattern, param.form));
        }
        lines.push(format!("return {}", self.result));
        lines
    }

    /// Reads what [`SignatureForm::to_lines`] gives.
    ///
    /// # Errors
    /// If a line is none of those.
    pub fn parse_lines<S: AsRef<str>>(lines: &[S]) -> Result<SignatureForm, InvalidForm> {
        let mut form = SignatureForm::default();
        let mut returns = false;
        for line in lines {
            let line = line.as_ref();
            let bad = |what: &str| InvalidForm(line.to_owned(), what.to_owned());
            let (word, rest) = line
                .split_once(' ')
                .ok_or_else(|| bad("a word and what it says are expected"))?;
            match word {
                "impl" if form.owner.is_none() => {
                    let path: syn::Path =
                        syn::parse_str(rest).map_err(|error| bad(&error.to_string()))?;
                    form.owner = Some(path_text(&path));
                }
                "where" => {
                    let (name, value) = rest
                        .split_once(" = ")
                        .ok_or_else(|| bad("`NAME = VALUE` is expected"))?;
                    form.instance.0.push((name.to_owned(), value.to_owned()));
                }
                "param" => {
                    let Parsed(param) =
                        syn::parse_str(rest).map_err(|error| bad(&error.to_string()))?;
                    form.params.push(param);
                }
                "return" if !returns => {
                    let Parsed(result) =
                        syn::parse_str(rest).map_err(|error| bad(&error.to_string()))?;
                    form.result = result;
                    returns = true;
                }
                _ => return Err(bad("unknown or given twice")),
            }
        }
        Ok(form)
    }
}

impl fmt::Display for SignatureForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_lines().join("\n"))
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // A name that is a keyword could not be read again.
            Pattern::Name(name) => write_name(f, name),
            Pattern::Unnamed => f.write_str("_"),
            Pattern::Tuple(items) => write_tuple(f, items),
            Pattern::Ref(inner) => write!(f, "&{inner}"),
        }
    }
}

/// A name, raw where it would not be one otherwise.
fn write_name(f: &mut fmt::Formatter<'_>, name: &str) -> fmt::Result {
    let plain = name == "self"
        || name.starts_with(|c: char| c.is_ascii_digit())
        || syn::parse_str::<syn::Ident>(name).is_ok();
    write!(f, "{}{name}", if plain { "" } else { "r#" })
}

fn write_tuple<T: fmt::Display>(f: &mut fmt::Formatter<'_>, items: &[T]) -> fmt::Result {
    f.write_str("(")?;
    for (i, item) in items.iter().enumerate() {
        write!(f, "{}{item}", if i > 0 { ", " } else { "" })?;
    }
    f.write_str(if items.len() == 1 { ",)" } else { ")" })
}

impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Form::Unit => f.write_str("unit"),
            Form::Scalar {
                scalar,
                path,
                written,
            } => {
                write!(f, "{}{scalar}", if *written { "written " } else { "" })?;
                match path {
                    Some(path) => write!(f, "({path})"),
                    None => Ok(()),
                }
            }
            Form::Slice(elem) => write!(f, "slice {elem}"),
            Form::Vec(elem) => write!(f, "vec {elem}"),
            Form::Boxed(elem) => write!(f, "boxed {elem}"),
            Form::Array(len, elem) => write!(f, "array {len} {elem}"),
            Form::Record(record) => record.fmt(f),
            Form::Tuple(items) => write_tuple(f, items),
            Form::Option(inner) => write!(f, "option {inner}"),
            Form::Result(inner) => write!(f, "result {inner}"),
            Form::Enum { path, variants } => {
                write!(f, "variants {path} {{ ")?;
                for (i, variant) in variants.iter().enumerate() {
                    f.write_str(if i > 0 { ", " } else { "" })?;
                    write_name(f, variant)?;
                }
                f.write_str(" }")
            }
            Form::Ndarray {
                kind,
                path,
                rank,
                elem,
            } => write!(f, "ndarray {} {path} {rank} {elem}", kind.name()),
            Form::Ref { mutable, inner } => {
                write!(f, "&{}{inner}", if *mutable { "mut " } else { "" })
            }
            Form::Unread(inner) => write!(f, "unread {inner}"),
            Form::Untouched => f.write_str("untouched"),
        }
    }
}

impl fmt::Display for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = if self.in_order { "ordered" } else { "struct" };
        let (open, close) = if self.named { ('{', '}') } else { ('[', ']') };
        write!(f, "{word} {} {open}", self.path)?;
        for (i, field) in self.fields.iter().enumerate() {
            f.write_str(if i > 0 { ", " } else { " " })?;
            if self.named {
                write_name(f, &field.name)?;
                f.write_str(": ")?;
            }
            write!(f, "{}", field.form)?;
        }
        write!(
            f,
            "{}{close}",
            if self.fields.is_empty() { "" } else { " " }
        )
    }
}

impl NdarrayKind {
    const fn name(self) -> &'static str {
        match self {
            NdarrayKind::Owned => "owned",
            NdarrayKind::View => "view",
            NdarrayKind::ViewMut => "mutview",
        }
    }
}

/// What is read by one of the functions below.
struct Parsed<T>(T);

impl Parse for Parsed<SourceParam> {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let pattern = pattern(input, 0)?;
        input.parse::<Token![:]>()?;
        let form = form(input, 0)?;
        if !fits(&pattern, &form) {
            return Err(input.error("the pattern does not fit the type"));
        }
        Ok(Parsed(SourceParam { pattern, form }))
    }
}

impl Parse for Parsed<Form> {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        form(input, 0).map(Parsed)
    }
}

/// Whether a pattern can take apart such a value.
pub(super) fn fits(pattern: &Pattern, form: &Form) -> bool {
    match (pattern, form) {
        (Pattern::Name(_) | Pattern::Unnamed, _) => true,
        (Pattern::Tuple(_), Form::Ref { inner, .. }) => fits(pattern, inner),
        (Pattern::Ref(pattern), Form::Ref { inner, .. }) => fits(pattern, inner),
        (Pattern::Tuple(patterns), Form::Tuple(items)) => {
            patterns.len() == items.len()
                && patterns
                    .iter()
                    .zip(items)
                    .all(|(pattern, item)| fits(pattern, item))
        }
        (Pattern::Tuple(patterns), Form::Unit) => patterns.is_empty(),
        (Pattern::Tuple(_) | Pattern::Ref(_), _) => false,
    }
}

fn depth_of(input: ParseStream<'_>, depth: u32) -> syn::Result<u32> {
    if depth >= MAX_DEPTH {
        return Err(input.error("nested too deep"));
    }
    Ok(depth + 1)
}

fn pattern(input: ParseStream<'_>, depth: u32) -> syn::Result<Pattern> {
    let depth = depth_of(input, depth)?;
    if input.peek(syn::token::Paren) {
        let inner;
        parenthesized!(inner in input);
        return Ok(Pattern::Tuple(list(&inner, |input| pattern(input, depth))?));
    }
    if input.peek(Token![&]) {
        input.parse::<Token![&]>()?;
        return Ok(Pattern::Ref(Box::new(pattern(input, depth)?)));
    }
    if input.peek(Token![_]) {
        input.parse::<Token![_]>()?;
        return Ok(Pattern::Unnamed);
    }
    let name = input.call(syn::Ident::parse_any)?;
    Ok(Pattern::Name(name_of(&name)))
}

/// Items between commas, up to the end.
fn list<T>(
    input: ParseStream<'_>,
    mut item: impl FnMut(ParseStream<'_>) -> syn::Result<T>,
) -> syn::Result<Vec<T>> {
    let mut items = Vec::new();
    while !input.is_empty() {
        items.push(item(input)?);
        if !input.is_empty() {
            input.parse::<Token![,]>()?;
        }
    }
    Ok(items)
}

fn form(input: ParseStream<'_>, depth: u32) -> syn::Result<Form> {
    let depth = depth_of(input, depth)?;
    if input.peek(Token![&]) {
        input.parse::<Token![&]>()?;
        let mutable = input.parse::<Option<Token![mut]>>()?.is_some();
        return Ok(form(input, depth)?.behind(mutable));
    }
    if input.peek(syn::token::Paren) {
        let inner;
        parenthesized!(inner in input);
        return Ok(Form::Tuple(list(&inner, |input| form(input, depth))?));
    }
    let word = input.call(syn::Ident::parse_any)?;
    let text = word.to_string();
    let next = |input| form(input, depth).map(Box::new);
    Ok(match text.as_str() {
        "unit" => Form::Unit,
        "untouched" => Form::Untouched,
        "unread" => Form::Unread(next(input)?),
        "slice" => Form::Slice(next(input)?),
        "vec" => Form::Vec(next(input)?),
        "boxed" => Form::Boxed(next(input)?),
        "option" => Form::Option(next(input)?),
        "result" => Form::Result(next(input)?),
        "array" => {
            let len: syn::LitInt = input.parse()?;
            Form::Array(len.base10_parse()?, next(input)?)
        }
        "struct" | "ordered" => record(input, text == "ordered", depth)?,
        "variants" => {
            let path = path(input)?;
            let inner;
            braced!(inner in input);
            let variants = list(&inner, |input| {
                Ok(name_of(&input.call(syn::Ident::parse_any)?))
            })?;
            Form::Enum { path, variants }
        }
        "ndarray" => {
            let word: syn::Ident = input.parse()?;
            let kinds = [NdarrayKind::Owned, NdarrayKind::View, NdarrayKind::ViewMut];
            let kind = kinds.into_iter().find(|kind| word == kind.name());
            let kind = kind.ok_or_else(|| syn::Error::new(word.span(), "unknown kind of array"))?;
            let path = path(input)?;
            let rank: syn::LitInt = input.parse()?;
            let rank: usize = rank.base10_parse()?;
            if !(1..=6).contains(&rank) {
                return Err(input.error("an array has 1 to 6 axes"));
            }
            Form::Ndarray {
                kind,
                path,
                rank,
                elem: next(input)?,
            }
        }
        "written" => {
            let word = input.call(syn::Ident::parse_any)?;
            scalar(input, &word, true)?
        }
        _ => scalar(input, &word, false)?,
    })
}

fn scalar(input: ParseStream<'_>, word: &syn::Ident, written: bool) -> syn::Result<Form> {
    let scalar: Scalar = word
        .to_string()
        .parse()
        .map_err(|error: crate::UnknownScalar| syn::Error::new(word.span(), error.to_string()))?;
    let path = if input.peek(syn::token::Paren) {
        let inner;
        parenthesized!(inner in input);
        Some(path(&inner)?)
    } else {
        None
    };
    Ok(Form::Scalar {
        scalar,
        path,
        written,
    })
}

fn record(input: ParseStream<'_>, in_order: bool, depth: u32) -> syn::Result<Form> {
    let path = path(input)?;
    let named = !input.peek(syn::token::Bracket);
    let fields = if named {
        let inner;
        braced!(inner in input);
        list(&inner, |input| {
            let name = name_of(&input.call(syn::Ident::parse_any)?);
            input.parse::<Token![:]>()?;
            let form = form(input, depth)?;
            Ok(Field { name, form })
        })?
    } else {
        let inner;
        bracketed!(inner in input);
        let forms = list(&inner, |input| form(input, depth))?;
        let numbered = forms.into_iter().enumerate();
        let field = |(i, form): (usize, Form)| Field {
            name: i.to_string(),
            form,
        };
        numbered.map(field).collect()
    };
    Ok(Form::Record(Record {
        path,
        named,
        in_order,
        fields,
    }))
}

fn path(input: ParseStream<'_>) -> syn::Result<String> {
    Ok(path_text(&input.parse::<syn::Path>()?))
}

/// A path as forms write it.
pub(super) fn path_text(path: &syn::Path) -> String {
    type_text(path)
}
