//! How a function's own parameters and result are made of flat leaves.
//!
//! Everything behind a signature (shapes, guards, inputs, the IR, kernels) sees leaves: scalars, slices and arrays of
//! scalars. Owns the tree between the two, which mirrors the types of the source. `leaves` derives the leaves from it,
//! `flatten` makes it from a function, `text` writes it for manifests, `layout` knows where the fields of a record lie.

mod flatten;
mod harness_forms;
mod known;
mod layout;
mod leaves;
mod lookup;
mod scope;
mod text;

pub use flatten::{FlattenPlace, Owner};
pub use harness_forms::{HARNESS_FORMS, HarnessForm, HarnessForms};
pub use layout::{ElementLayout, FieldPlace, View};
pub(crate) use leaves::{Access, Elements};
pub use leaves::{Leaf, Returned, ReturnedKind};
pub use lookup::{Instance, NoTypes, Resolved, TypeLookup};
pub use text::InvalidForm;

use crate::Scalar;

/// The parameters and the result of a function as the source has them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SignatureForm {
    /// The type whose method this is, as an expression path: `crate::imaging::Raster::<3>`.
    pub owner: Option<String>,
    /// What type and const parameters stand for, those of the impl included.
    pub instance: Instance,
    /// The parameters in order, a receiver first.
    pub params: Vec<SourceParam>,
    /// What is returned.
    pub result: Form,
}

/// One parameter of the source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceParam {
    /// The names it binds; `self` for a receiver.
    pub pattern: Pattern,
    /// Its type.
    pub form: Form,
}

/// What stands to the left of a parameter's colon.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// A name, without `mut` or `r#`.
    Name(String),
    /// `(c, h, w)`.
    Tuple(Vec<Pattern>),
    /// `&k`.
    Ref(Box<Pattern>),
    /// `_`.
    Unnamed,
}

/// A type, as far as kernels care. Generic parameters are replaced by what they stand for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// `()`.
    #[default]
    Unit,
    /// A number or `bool`.
    Scalar {
        /// Which.
        scalar: Scalar,
        /// Its path where it is not a primitive type: `half::f16`.
        path: Option<String>,
        /// Whether the function writes to it, where the caller sees that.
        written: bool,
    },
    /// `[T]`; always behind a reference.
    Slice(Box<Form>),
    /// `Vec<T>`.
    Vec(Box<Form>),
    /// `Box<[T]>`.
    Boxed(Box<Form>),
    /// `[T; N]`.
    Array(u64, Box<Form>),
    /// A struct.
    Record(Record),
    /// A tuple.
    Tuple(Vec<Form>),
    /// `Option<T>`. As a result, a kernel makes the `Some` only.
    Option(Box<Form>),
    /// `Result<T, _>`; results only. A kernel makes the `Ok` only.
    Result(Box<Form>),
    /// An enum whose variants have no fields.
    Enum {
        /// Its path.
        path: String,
        /// The variants in order.
        variants: Vec<String>,
    },
    /// An array or view of the `ndarray` crate.
    Ndarray {
        /// Whether it owns its elements.
        kind: NdarrayKind,
        /// The type's path without arguments: `ndarray::Array2`.
        path: String,
        /// The number of axes, 1 to 6.
        rank: usize,
        /// The elements.
        elem: Box<Form>,
    },
    /// A reference.
    Ref {
        /// Whether it is `&mut`.
        mutable: bool,
        /// To what.
        inner: Box<Form>,
    },
    /// A field that the function does not read; it has no leaves, and a harness fills in any value.
    Unread(Box<Form>),
    /// A field of a type that kernels do not know, which the function must not read; a harness takes its default.
    Untouched,
}

/// A struct and its fields, in declaration order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// The path of a literal of it: `crate::geometry::Ray`, with generic arguments in turbofish.
    pub path: String,
    /// Whether its fields have names.
    pub named: bool,
    /// Whether it is `repr(C)` or `repr(transparent)`.
    pub in_order: bool,
    /// The fields; their names are numbers where the struct has none.
    pub fields: Vec<Field>,
}

/// A field of a [`Record`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Its name, without `r#`.
    pub name: String,
    /// Its type.
    pub form: Form,
}

/// Who owns the elements of an `ndarray` array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NdarrayKind {
    /// `Array`.
    Owned,
    /// `ArrayView`.
    View,
    /// `ArrayViewMut`.
    ViewMut,
}

impl Form {
    /// A scalar that is not written to.
    pub fn scalar(scalar: Scalar) -> Form {
        Form::Scalar {
            scalar,
            path: None,
            written: false,
        }
    }

    /// A shared or exclusive reference to `self`.
    pub fn behind(self, mutable: bool) -> Form {
        Form::Ref {
            mutable,
            inner: Box::new(self),
        }
    }

    /// The form without references around it.
    pub fn peeled(&self) -> &Form {
        match self {
            Form::Ref { inner, .. } => inner.peeled(),
            other => other,
        }
    }

    /// What a returned value is on success: the `T` of a `Result<T, _>` or `Option<T>`.
    pub fn success(&self) -> &Form {
        match self {
            Form::Option(inner) | Form::Result(inner) => inner,
            other => other,
        }
    }

    /// The type of an element of a flat buffer in emitted code: `f32`, `[[f32; 3]; 4]`, `crate::geometry::Ray`.
    ///
    /// `None` for what cannot be one.
    pub fn type_text(&self) -> Option<String> {
        match self {
            Form::Scalar { scalar, path, .. } => Some(match path {
                Some(path) => path.clone(),
                None => format!("::core::primitive::{scalar}"),
            }),
            Form::Array(len, elem) => Some(format!("[{}; {len}]", elem.type_text()?)),
            Form::Record(record) => Some(record.path.clone()),
            Form::Enum { path, .. } => Some(path.clone()),
            Form::Tuple(items) => {
                let items = items.iter().map(Form::type_text);
                let items: Vec<String> = items.collect::<Option<_>>()?;
                Some(format!("({},)", items.join(", ")))
            }
            _ => None,
        }
    }
}

impl Pattern {
    /// The names it binds, in order.
    pub fn names(&self) -> Vec<&str> {
        match self {
            Pattern::Name(name) => vec![name],
            Pattern::Tuple(items) => items.iter().flat_map(Pattern::names).collect(),
            Pattern::Ref(inner) => inner.names(),
            Pattern::Unnamed => Vec::new(),
        }
    }
}
