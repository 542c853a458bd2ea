//! Types of other crates that kernels know.
//!
//! Owns which path is what. A path is judged by its last segment where nobody can say what the others are.

use super::{Field, Form, NdarrayKind, Record};
use crate::Scalar;

/// A known type constructor.
pub(super) enum Known {
    /// A number, at this path where it is not a primitive type.
    Scalar(Scalar),
    /// `Vec<T>`.
    Vec,
    /// `Box<[T]>`.
    Box,
    /// `Option<T>`.
    Option,
    /// `Result<T, E>`.
    Result,
    /// `ndarray`, with the number of axes where the name says it.
    Ndarray(NdarrayKind, Option<usize>),
    /// `Complex<T>`, with `T` where the name says it.
    Complex(Option<Scalar>),
}

/// What the type at `path`, seen from outside of the crate, is. `certain` says that the path is known to be whole.
pub(super) fn known(path: &str, certain: bool) -> Option<Known> {
    let (krate, last) = match path.rsplit_once("::") {
        Some((before, last)) => (before.split("::").next().unwrap_or(before), last),
        None => ("", path),
    };
    let of = |names: &[&str]| !certain || krate.is_empty() || names.contains(&krate);
    let std = of(&["std", "core", "alloc"]);
    if let Ok(scalar) = last.parse::<Scalar>() {
        let fits = match scalar {
            Scalar::F16 | Scalar::Bf16 => of(&["half"]),
            _ => std,
        };
        return fits.then_some(Known::Scalar(scalar));
    }
    match last {
        "Vec" if std => Some(Known::Vec),
        "Box" if std => Some(Known::Box),
        "Option" if std => Some(Known::Option),
        // Every crate has a `Result` of its own, with the error filled in.
        "Result" => Some(Known::Result),
        "Complex" if of(&["num_complex", "num"]) => Some(Known::Complex(None)),
        "Complex32" if of(&["num_complex", "num"]) => Some(Known::Complex(Some(Scalar::F32))),
        "Complex64" if of(&["num_complex", "num"]) => Some(Known::Complex(Some(Scalar::F64))),
        _ if of(&["ndarray"]) => ndarray(last),
        _ => None,
    }
}

fn ndarray(name: &str) -> Option<Known> {
    let kinds = [
        ("ArrayViewMut", NdarrayKind::ViewMut),
        ("ArrayView", NdarrayKind::View),
        ("Array", NdarrayKind::Owned),
    ];
    let (rest, kind) = kinds
        .into_iter()
        .find_map(|(prefix, kind)| Some((name.strip_prefix(prefix)?, kind)))?;
    if rest.is_empty() {
        return Some(Known::Ndarray(kind, None));
    }
    rank(rest).map(|rank| Known::Ndarray(kind, Some(rank)))
}

/// The number of axes that `1` to `6` or `Ix1` to `Ix6` means.
pub(super) fn rank(text: &str) -> Option<usize> {
    let digits = text.strip_prefix("Ix").unwrap_or(text);
    match digits.parse() {
        Ok(rank @ 1..=6) if digits.len() == 1 => Some(rank),
        _ => None,
    }
}

/// `Complex<T>` at `path`.
pub(super) fn complex(path: String, part: Form) -> Form {
    let field = |name: &str| Field {
        name: name.to_owned(),
        form: part.clone(),
    };
    Form::Record(Record {
        path,
        named: true,
        in_order: true,
        fields: vec![field("re"), field("im")],
    })
}
