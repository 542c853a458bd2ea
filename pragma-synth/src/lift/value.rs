//! What an expression of the function stands for while it is read.

use std::rc::Rc;

use super::types::Ty;
use crate::ir::{BufId, Expr, VarId};

/// A scalar expression and its type.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Num {
    pub(super) expr: Expr,
    pub(super) ty: Ty,
}

/// A local variable's storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct SlotId(pub(super) usize);

/// What a view holds per element.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Elem {
    /// Scalars.
    Scalar,
    /// Arrays, or rows, of this many elements.
    Array(Box<Elem>, Expr),
    /// Structs or tuples of numbers, which lie in one or several buffers. Offsets count them.
    Record(Rc<RecordElem>),
}

impl Elem {
    /// By how much the offset moves per element.
    pub(super) fn size(&self) -> Expr {
        match self {
            Elem::Scalar | Elem::Record(_) => Expr::index(1),
            Elem::Array(inner, len) => {
                super::fold::binary(crate::ir::BinaryOp::Mul, inner.size(), len.clone())
            }
        }
    }

    /// Whether all elements are scalars of one buffer, one after the other.
    pub(super) fn is_flat(&self) -> bool {
        match self {
            Elem::Scalar => true,
            Elem::Array(inner, _) => inner.is_flat(),
            Elem::Record(_) => false,
        }
    }
}

/// How an element of a list of structs or tuples is made of numbers.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct RecordElem {
    /// The struct's name; `None` for a tuple.
    pub(super) kind: Option<String>,
    /// Its fields, in declaration order.
    pub(super) fields: Vec<(String, RecordField)>,
    /// The buffers, with how many of their numbers an element covers.
    pub(super) bufs: Vec<(BufId, u64)>,
}

/// A field of a [`RecordElem`].
#[derive(Clone, Debug, PartialEq)]
pub(super) enum RecordField {
    /// Numbers of these extents, of which the first is at `at` in element 0 of `buf`.
    Numbers {
        buf: BufId,
        stride: u64,
        at: u64,
        extents: Vec<u64>,
    },
    /// A struct or tuple.
    Record(Rc<RecordElem>),
}

/// Who owns what a view shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Own {
    /// A reference; `true` if through `&mut`.
    Borrowed(bool),
    /// An array, by value.
    Array,
    /// A `Vec`, by value.
    Vec,
}

/// A stretch of a buffer. `offset` counts scalars, `len` counts elements; both are stable: they
/// mention no mutable variable and no memory.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct View {
    pub(super) buf: BufId,
    pub(super) offset: Expr,
    pub(super) len: Expr,
    pub(super) elem: Elem,
    pub(super) own: Own,
}

/// An array of any number of axes. Element `i, j` is scalar `offset + i * s0 + j * s1`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct NdArray {
    pub(super) buf: BufId,
    pub(super) offset: Expr,
    /// Extents and strides, outermost first.
    pub(super) axes: Vec<(Expr, Expr)>,
    pub(super) own: Own,
}

/// A closure and what it sees.
#[derive(Clone, Debug)]
pub(super) struct Closure {
    pub(super) syntax: Rc<syn::ExprClosure>,
    pub(super) env: Env,
    pub(super) frame: usize,
}

/// A function that a value may be.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Callee {
    /// A closure.
    Closure(Rc<Closure>),
    /// A path such as `f32::max`, as written.
    Path(Rc<syn::ExprPath>),
}

impl PartialEq for Closure {
    fn eq(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.syntax, &other.syntax)
    }
}

/// The names in scope: a list that shares its tail.
#[derive(Clone, Debug, Default)]
pub(super) struct Env(Option<Rc<EnvNode>>);

#[derive(Debug)]
struct EnvNode {
    name: String,
    slot: SlotId,
    rest: Env,
}

impl Env {
    pub(super) fn bind(&self, name: &str, slot: SlotId) -> Env {
        Env(Some(Rc::new(EnvNode {
            name: name.to_owned(),
            slot,
            rest: self.clone(),
        })))
    }

    /// The name that a slot was bound to last.
    pub(super) fn name_of(&self, slot: SlotId) -> Option<String> {
        let mut at = &self.0;
        while let Some(node) = at {
            if node.slot == slot {
                return Some(node.name.clone());
            }
            at = &node.rest.0;
        }
        None
    }

    pub(super) fn find(&self, name: &str) -> Option<SlotId> {
        let mut at = &self.0;
        while let Some(node) = at {
            if node.name == name {
                return Some(node.slot);
            }
            at = &node.rest.0;
        }
        None
    }
}

/// Something that can be read and perhaps written.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Place {
    /// A local variable, or a part of one.
    Slot(SlotId, Vec<usize>),
    /// A scalar of a buffer; flat index.
    Elem(BufId, Expr),
    /// A stretch of a buffer.
    Sub(View),
    /// A value without a home.
    Temp(Box<Value>),
}

/// The outcome of a comparison. `less` and `equal` are `bool` expressions.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Order {
    pub(super) less: Expr,
    pub(super) equal: Expr,
}

/// What an expression stands for.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    /// `()`.
    Unit,
    /// Control does not come back.
    Never,
    /// A scalar.
    Scalar(Num),
    /// A mutable scalar variable (in slots only).
    Cell(VarId),
    /// A scalar that lives in a buffer: a field of a struct that someone else owns.
    Memory(BufId, Expr),
    /// A variant of an enum without fields: the enum's name and a `u8`.
    Variant(String, Expr),
    /// Something that kernels cannot read; what it is called.
    Absent(String),
    /// An array of the `ndarray` crate.
    Nd(NdArray),
    /// A reference to a scalar, or to a whole variable; `true` if `&mut`.
    Ref(Box<Place>, bool),
    /// A slice, array or `Vec`.
    View(View),
    /// A tuple or the fields of a struct.
    Tuple(Vec<Value>),
    /// A struct with named fields.
    Struct(String, Vec<(String, Value)>),
    /// An iterator, or a range.
    Iter(Box<Iter>),
    /// A function.
    Callee(Callee),
    /// `Some(value)` where `some` holds; elsewhere `value` means nothing.
    Option { some: Expr, value: Box<Value> },
    /// An `Ordering`.
    Order(Order),
    /// A string literal, for messages.
    Text,
}

impl Value {
    pub(super) fn scalar(expr: Expr, ty: Ty) -> Value {
        Value::Scalar(Num { expr, ty })
    }
}

/// An iterator, as a tree of adapters.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Iter {
    /// Elements of a view; `by_ref` gives references, which are `&mut` if `mutable`.
    Elems {
        view: View,
        by_ref: bool,
        mutable: bool,
    },
    /// `lo..hi`; `hi` is `None` for `lo..`. `inclusive` for `lo..=hi`.
    Range {
        lo: Num,
        hi: Option<Num>,
        inclusive: bool,
    },
    /// Consecutive stretches of `size` elements, `count` of them.
    Chunks {
        view: View,
        size: Expr,
        count: Expr,
        mutable: bool,
        /// Whether the last one may be shorter.
        ragged: bool,
    },
    /// The parts of an array along its first axis.
    Axis { array: NdArray, mutable: bool },
    /// Overlapping stretches.
    Windows { view: View, size: Expr, count: Expr },
    /// Pairs.
    Zip(Box<Iter>, Box<Iter>),
    /// `(index, item)`.
    Enumerate(Box<Iter>),
    /// Items through a function.
    Map(Box<Iter>, Callee),
    /// Items by value.
    Copied(Box<Iter>),
    /// Backwards.
    Rev(Box<Iter>),
    /// Without the first.
    Skip(Box<Iter>, Expr),
    /// Only the first.
    Take(Box<Iter>, Expr),
    /// Every n-th.
    StepBy(Box<Iter>, Expr),
    /// Over and over.
    Cycle(Box<Iter>),
    /// One after the other.
    Chain(Box<Iter>, Box<Iter>),
    /// Only those that a predicate likes.
    Filter(Box<Iter>, Callee),
    /// Those that a function gives `Some` for.
    FilterMap(Box<Iter>, Callee),
    /// While a predicate holds.
    TakeWhile(Box<Iter>, Callee),
    /// Items through a function that also changes a state, which lives in a slot; it ends at
    /// the first `None`.
    Scan(Box<Iter>, SlotId, Callee),
    /// An iterator per item.
    FlatMap(Box<Iter>, Callee),
    /// The same value, for ever.
    Repeat(Box<Value>),
}
