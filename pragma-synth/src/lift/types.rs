//! Types: scalars that are known or still open, and Rust types as far as the lifter needs them.
//!
//! syn gives no types, so literals start open and are settled by what they meet, as rustc does
//! it. Two different types that meet are an error, never a guess.

use pragma_spec::Scalar;

/// The type of a scalar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ty {
    /// Settled.
    Known(Scalar),
    /// To be settled; an entry of a [`TypeTable`].
    Open(u32),
}

/// What an open type may become.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// Any integer type; `i32` if nothing says otherwise.
    Int,
    /// Any float type; `f64` if nothing says otherwise.
    Float,
    /// Anything.
    Any,
}

#[derive(Clone, Debug)]
enum Entry {
    Same(Ty),
    Free(Class),
}

/// Open types and what is known of them.
#[derive(Clone, Debug, Default)]
pub(super) struct TypeTable {
    entries: Vec<Entry>,
}

impl TypeTable {
    /// A new open type.
    pub(super) fn open(&mut self, class: Class) -> Ty {
        self.entries.push(Entry::Free(class));
        Ty::Open(self.entries.len() as u32 - 1)
    }

    /// What `ty` is by now.
    pub(super) fn resolve(&self, mut ty: Ty) -> Ty {
        while let Ty::Open(id) = ty {
            match self.entries.get(id as usize) {
                Some(Entry::Same(next)) => ty = *next,
                _ => break,
            }
        }
        ty
    }

    /// The class of `ty` by now.
    pub(super) fn class(&self, ty: Ty) -> Class {
        match self.resolve(ty) {
            Ty::Known(scalar) if scalar.is_float() => Class::Float,
            Ty::Known(scalar) if scalar.is_integer() => Class::Int,
            Ty::Known(_) => Class::Any,
            Ty::Open(id) => match self.entries.get(id as usize) {
                Some(Entry::Free(class)) => *class,
                _ => Class::Any,
            },
        }
    }

    /// Makes two types one; false if they cannot be.
    pub(super) fn unify(&mut self, a: Ty, b: Ty) -> bool {
        let (a, b) = (self.resolve(a), self.resolve(b));
        match (a, b) {
            (Ty::Known(x), Ty::Known(y)) => x == y,
            (Ty::Open(x), Ty::Open(y)) if x == y => true,
            (Ty::Open(x), Ty::Open(y)) => {
                let class = match (self.class(a), self.class(b)) {
                    (Class::Any, other) | (other, Class::Any) => other,
                    (p, q) if p == q => p,
                    _ => return false,
                };
                self.entries[y as usize] = Entry::Free(class);
                self.entries[x as usize] = Entry::Same(b);
                true
            }
            (Ty::Open(x), Ty::Known(scalar)) | (Ty::Known(scalar), Ty::Open(x)) => {
                let fits = match self.class(Ty::Open(x)) {
                    Class::Int => scalar.is_integer(),
                    Class::Float => scalar.is_float(),
                    Class::Any => true,
                };
                if fits {
                    self.entries[x as usize] = Entry::Same(Ty::Known(scalar));
                }
                fits
            }
        }
    }

    /// The settled type: what was learnt, else Rust's default; `None` where rustc would ask for
    /// an annotation.
    pub(super) fn settled(&self, ty: Ty) -> Option<Scalar> {
        match self.resolve(ty) {
            Ty::Known(scalar) => Some(scalar),
            open => match self.class(open) {
                Class::Int => Some(Scalar::I32),
                Class::Float => Some(Scalar::F64),
                Class::Any => None,
            },
        }
    }
}

/// A Rust type as written, as far as it matters here. References are not kept: reading through
/// them changes nothing.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Written {
    /// `_`, or left out.
    Infer,
    /// A scalar.
    Scalar(Scalar),
    /// `[T]`, `Vec<T>`, `&[T]`.
    List(Box<Written>),
    /// `[T; N]`.
    Array(Box<Written>, u64),
    /// `(A, B)`; `()` is the empty one.
    Tuple(Vec<Written>),
    /// `Option<T>`.
    Option(Box<Written>),
    /// A struct or enum of the crate, or something foreign.
    Named(String),
}
