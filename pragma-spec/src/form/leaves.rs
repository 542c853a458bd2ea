//! The leaves of a form: the flat parameters and returned values that stand for it.

use super::{ElementLayout, Form, NdarrayKind, Pattern, SignatureForm, SourceParam};
use crate::{DimExpr, ParamKind, ParamSig, Scalar, Shape};

/// A flat parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leaf {
    /// The way to it from the source parameter: `x`, `self.gamma`, `db.shape.0`, `bias.is_some`.
    pub name: String,
    /// Its type.
    pub kind: ParamKind,
    /// The extents that its type fixes, innermost last: `[3]` for `&[[f32; 3]]`. A shape ends in them.
    pub inner: Vec<u64>,
    /// Its whole shape, where other leaves give it: `[x.shape.0, x.shape.1]` for an `ndarray` array.
    pub shape: Option<Shape>,
    /// The leaf that is the same memory as numbers of another type, for slices of records of several types.
    pub view_of: Option<String>,
}

/// A flat returned value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Returned {
    /// The way to it: `return`, `return.0`, `return.data`.
    pub name: String,
    /// Its type.
    pub kind: ReturnedKind,
    /// The extents that its type fixes, innermost last.
    pub inner: Vec<u64>,
    /// Whether `inner` are all of its extents: it is an array.
    pub fixed: bool,
}

/// The type of a flat returned value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReturnedKind {
    /// One number.
    Scalar(Scalar),
    /// Numbers of a length that a shape gives; the kernel fills a buffer.
    Vec(Scalar),
}

impl ReturnedKind {
    /// The number, or the type of the elements.
    pub const fn elem(self) -> Scalar {
        match self {
            ReturnedKind::Scalar(elem) | ReturnedKind::Vec(elem) => elem,
        }
    }
}

/// What the function may do to something through the way to it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// It is the function's own.
    Owned,
    /// It may read it.
    Shared,
    /// It may write to it, and the caller sees that.
    Mutable,
}

impl Access {
    /// What it may do behind a reference.
    pub(crate) fn behind(self, mutable: bool) -> Access {
        match (mutable, self) {
            (false, _) | (true, Access::Shared) => Access::Shared,
            (true, _) => Access::Mutable,
        }
    }
}

/// What the elements of a slice, `Vec`, array or `ndarray` array are to kernels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Elements {
    /// Numbers, or arrays of numbers of these extents.
    Numbers(Scalar, Vec<u64>),
    /// Records or tuples of numbers.
    Records(ElementLayout),
    /// Rows of such, each in memory of its own: a `Vec<Vec<T>>`.
    Rows(Scalar, Vec<u64>),
}

impl Elements {
    /// What `elem` is; `None` if it is nothing that a kernel can read.
    pub(crate) fn of(elem: &Form) -> Option<Elements> {
        if let Form::Vec(inner) | Form::Boxed(inner) | Form::Slice(inner) = elem.peeled() {
            return match Elements::of(inner)? {
                Elements::Numbers(scalar, extents) => Some(Elements::Rows(scalar, extents)),
                Elements::Records(_) | Elements::Rows(..) => None,
            };
        }
        let layout = ElementLayout::of(elem)?;
        Some(match layout.extents() {
            Some(extents) => Elements::Numbers(layout.fields[0].scalar, extents.to_vec()),
            None => Elements::Records(layout),
        })
    }
}

impl SignatureForm {
    /// All flat parameters, in order.
    pub fn leaves(&self) -> Vec<Leaf> {
        let mut out = Vec::new();
        for (i, param) in self.params.iter().enumerate() {
            param.walk(i, &mut |name, form, access| {
                leaves_of(name, form, access, &mut out)
            });
        }
        out
    }

    /// All flat returned values, in order.
    pub fn returned(&self) -> Vec<Returned> {
        let mut out = Vec::new();
        returned_of("return", self.result.success(), &mut out);
        out
    }

    /// Whether the function may say that it has no result, which no kernel does: it returns a `Result` or an `Option`.
    pub fn is_fallible(&self) -> bool {
        matches!(self.result, Form::Option(_) | Form::Result(_))
    }

    /// Whether every parameter and the result is what kernels take as it is, so that nobody needs the form's text.
    pub fn is_plain(&self) -> bool {
        let plain = |form: &Form| {
            let elem = |elem: &Form| matches!(elem, Form::Scalar { .. });
            match form {
                Form::Scalar { written, .. } => !written,
                Form::Array(_, inner) => elem(inner),
                Form::Ref { inner, .. } => match &**inner {
                    Form::Slice(inner) | Form::Array(_, inner) => elem(inner),
                    _ => false,
                },
                _ => false,
            }
        };
        let result = match &self.result {
            Form::Unit | Form::Scalar { .. } => true,
            Form::Vec(elem) => matches!(**elem, Form::Scalar { .. }),
            Form::Tuple(items) => items.iter().all(|item| matches!(item, Form::Scalar { .. })),
            _ => false,
        };
        self.owner.is_none()
            && self.instance.is_empty()
            && result
            && self
                .params
                .iter()
                .all(|param| matches!(param.pattern, Pattern::Name(_)) && plain(&param.form))
    }

    /// The form at `path` (as leaves are called, fields included) and the way in which the function has it.
    pub fn at(&self, path: &str) -> Option<&Form> {
        let mut found = None;
        for (i, param) in self.params.iter().enumerate() {
            param.walk(i, &mut |name, form, _| {
                let rest = match path.strip_prefix(name) {
                    Some("") => "",
                    Some(rest) => match rest.strip_prefix('.') {
                        Some(rest) => rest,
                        None => return,
                    },
                    None => return,
                };
                found = found.or_else(|| form.at(rest));
            });
        }
        found
    }
}

impl SourceParam {
    /// Calls `visit` for every name that the pattern binds, with its form; `index` names what has no name.
    pub(crate) fn walk<'a>(&'a self, index: usize, visit: &mut dyn FnMut(&str, &'a Form, Access)) {
        walk_pattern(
            &self.pattern,
            &format!("unnamed.{index}"),
            &self.form,
            Access::Owned,
            visit,
        );
    }
}

fn walk_pattern<'a>(
    pattern: &Pattern,
    unnamed: &str,
    form: &'a Form,
    access: Access,
    visit: &mut dyn FnMut(&str, &'a Form, Access),
) {
    match (pattern, form) {
        (Pattern::Tuple(_), Form::Ref { mutable, inner }) => {
            walk_pattern(pattern, unnamed, inner, access.behind(*mutable), visit);
        }
        (Pattern::Ref(pattern), Form::Ref { mutable, inner }) => {
            walk_pattern(pattern, unnamed, inner, access.behind(*mutable), visit);
        }
        (Pattern::Tuple(patterns), Form::Tuple(items)) => {
            for (i, (pattern, item)) in patterns.iter().zip(items).enumerate() {
                walk_pattern(pattern, &format!("{unnamed}.{i}"), item, access, visit);
            }
        }
        (Pattern::Name(name), form) => visit(name, form, access),
        (_, form) => visit(unnamed, form, access),
    }
}

impl Form {
    /// The form at `path` below this one; the empty path is itself. References are looked through.
    pub fn at(&self, path: &str) -> Option<&Form> {
        if path.is_empty() {
            return Some(self);
        }
        let (first, rest) = path.split_once('.').unwrap_or((path, ""));
        match self {
            Form::Ref { inner, .. } => inner.at(path),
            Form::Record(record) => record.field(first)?.at(rest),
            Form::Tuple(items) => items.get(first.parse::<usize>().ok()?)?.at(rest),
            Form::Option(inner) | Form::Result(inner) | Form::Unread(inner) => inner.at(path),
            _ => None,
        }
    }
}

/// The leaves of `form` under `name`.
pub(crate) fn leaves_of(name: &str, form: &Form, access: Access, out: &mut Vec<Leaf>) {
    let mutable = access == Access::Mutable;
    let below = |part: &str| format!("{name}.{part}");
    let mut leaf = |name: String, kind: ParamKind| {
        out.push(Leaf {
            name,
            kind,
            inner: Vec::new(),
            shape: None,
            view_of: None,
        });
    };
    match form {
        Form::Unit | Form::Untouched | Form::Unread(_) | Form::Result(_) => {}
        Form::Scalar {
            scalar,
            written: true,
            ..
        } if mutable => leaf(
            name.to_owned(),
            ParamKind::Array {
                elem: *scalar,
                len: 1,
                mutable,
                by_value: false,
            },
        ),
        Form::Scalar { scalar, .. } => leaf(name.to_owned(), ParamKind::Scalar(*scalar)),
        Form::Enum { .. } => leaf(name.to_owned(), ParamKind::Scalar(Scalar::U8)),
        Form::Slice(elem) | Form::Vec(elem) | Form::Boxed(elem) => match Elements::of(elem) {
            None => {}
            Some(Elements::Numbers(elem, inner)) => out.push(Leaf {
                name: name.to_owned(),
                kind: ParamKind::Slice { elem, mutable },
                inner,
                shape: None,
                view_of: None,
            }),
            Some(Elements::Rows(elem, inner)) => {
                let kind = ParamKind::Slice { elem, mutable };
                out.extend(with_shape(name, kind, 2, &inner));
            }
            Some(Elements::Records(layout)) => {
                let views = layout.views();
                let name_of = |scalar: Scalar| match views.len() {
                    1 => name.to_owned(),
                    _ => below(scalar.name()),
                };
                let first = name_of(views[0].scalar);
                for (i, view) in views.iter().enumerate() {
                    out.push(Leaf {
                        name: name_of(view.scalar),
                        kind: ParamKind::Slice {
                            elem: view.scalar,
                            // Two exclusive views of one memory cannot be.
                            mutable: mutable && views.len() == 1,
                        },
                        inner: vec![view.stride],
                        shape: None,
                        view_of: (i > 0).then(|| first.clone()),
                    });
                }
            }
        },
        Form::Array(len, elem) => match Elements::of(elem) {
            Some(Elements::Numbers(elem, inner)) => {
                let count = inner.iter().product::<u64>();
                out.push(Leaf {
                    name: name.to_owned(),
                    kind: ParamKind::Array {
                        elem,
                        len: len.saturating_mul(count),
                        mutable,
                        by_value: access == Access::Owned,
                    },
                    inner: std::iter::once(*len).chain(inner).collect(),
                    shape: None,
                    view_of: None,
                });
            }
            Some(Elements::Records(layout)) if layout.views().len() == 1 => {
                let view = layout.views()[0];
                out.push(Leaf {
                    name: name.to_owned(),
                    kind: ParamKind::Array {
                        elem: view.scalar,
                        len: len.saturating_mul(view.stride),
                        mutable,
                        by_value: access == Access::Owned,
                    },
                    inner: vec![*len, view.stride],
                    shape: None,
                    view_of: None,
                });
            }
            _ => {}
        },
        Form::Record(record) => {
            for field in &record.fields {
                leaves_of(&below(&field.name), &field.form, access, out);
            }
        }
        Form::Tuple(items) => {
            for (i, item) in items.iter().enumerate() {
                leaves_of(&below(&i.to_string()), item, access, out);
            }
        }
        Form::Option(inner) => {
            leaf(below("is_some"), ParamKind::Scalar(Scalar::Bool));
            leaves_of(name, inner, access, out);
        }
        Form::Ndarray {
            kind, rank, elem, ..
        } => {
            if let Some(Elements::Numbers(elem, inner)) = Elements::of(elem) {
                let mutable = match kind {
                    NdarrayKind::Owned => mutable,
                    NdarrayKind::View => false,
                    NdarrayKind::ViewMut => access != Access::Shared,
                };
                let kind = ParamKind::Slice { elem, mutable };
                out.extend(with_shape(name, kind, *rank, &inner));
            }
        }
        Form::Ref { mutable, inner } => leaves_of(name, inner, access.behind(*mutable), out),
    }
}

/// A slice and one leaf for each of its extents.
fn with_shape(
    name: &str,
    kind: ParamKind,
    rank: usize,
    inner: &[u64],
) -> impl Iterator<Item = Leaf> {
    let extent = |axis: usize| format!("{name}.shape.{axis}");
    let outer = (0..rank).map(|axis| DimExpr::dim(extent(axis)));
    let shape = outer.chain(inner.iter().copied().map(DimExpr::Const));
    let slice = Leaf {
        name: name.to_owned(),
        kind,
        inner: inner.to_vec(),
        shape: Some(Shape(shape.collect())),
        view_of: None,
    };
    let extents: Vec<Leaf> = (0..rank)
        .map(|axis| Leaf {
            name: extent(axis),
            kind: ParamKind::Scalar(Scalar::Usize),
            inner: Vec::new(),
            shape: None,
            view_of: None,
        })
        .collect();
    std::iter::once(slice).chain(extents)
}

/// The returned values of `form` under `name`.
fn returned_of(name: &str, form: &Form, out: &mut Vec<Returned>) {
    let below = |part: &str| format!("{name}.{part}");
    let scalar = |name: String, scalar: Scalar| Returned {
        name,
        kind: ReturnedKind::Scalar(scalar),
        inner: Vec::new(),
        fixed: false,
    };
    match form {
        Form::Scalar { scalar: kind, .. } => out.push(scalar(name.to_owned(), *kind)),
        Form::Enum { .. } => out.push(scalar(name.to_owned(), Scalar::U8)),
        Form::Vec(elem) | Form::Boxed(elem) | Form::Ndarray { elem, .. } | Form::Array(_, elem) => {
            let (elem, mut inner, rows) = match Elements::of(elem) {
                Some(Elements::Numbers(elem, inner)) => (elem, inner, 0),
                Some(Elements::Rows(elem, inner)) => (elem, inner, 2),
                Some(Elements::Records(layout)) => match layout.views()[..] {
                    [view] => (view.scalar, vec![view.stride], 0),
                    _ => return,
                },
                None => return,
            };
            let mut rank = rows;
            match form {
                Form::Array(len, _) => inner.insert(0, *len),
                Form::Ndarray { rank: axes, .. } => rank = *axes,
                _ => {}
            }
            out.push(Returned {
                name: name.to_owned(),
                kind: ReturnedKind::Vec(elem),
                inner,
                fixed: matches!(form, Form::Array(..)),
            });
            for axis in 0..rank {
                out.push(scalar(below(&format!("shape.{axis}")), Scalar::Usize));
            }
        }
        Form::Record(record) => {
            for field in &record.fields {
                returned_of(&below(&field.name), &field.form, out);
            }
        }
        Form::Tuple(items) => {
            for (i, item) in items.iter().enumerate() {
                returned_of(&below(&i.to_string()), item, out);
            }
        }
        Form::Unit
        | Form::Slice(_)
        | Form::Option(_)
        | Form::Result(_)
        | Form::Ref { .. }
        | Form::Unread(_)
        | Form::Untouched => {}
    }
}

impl Leaf {
    /// The parameter that it is.
    pub fn sig(&self) -> ParamSig {
        ParamSig {
            name: self.name.clone(),
            kind: self.kind,
        }
    }
}
