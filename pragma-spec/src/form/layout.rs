//! Where the numbers of a record lie in memory, for slices of records.
//!
//! A kernel reads such a slice as flat slices of numbers. Which number is where is the compiler's choice, so what is
//! written here is an expectation: emitted code compares it with the compiler's at compile time and leaves the kernel
//! unused where they differ. `repr(C)` settles it.

use super::{Form, Record};
use crate::Scalar;

/// How the elements of a slice are made of numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ElementLayout {
    /// Bytes of one element.
    pub size: u64,
    /// The alignment.
    pub align: u64,
    /// Its numbers and arrays of numbers, in declaration order.
    pub fields: Vec<FieldPlace>,
}

/// One number, or array of numbers, of an element.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldPlace {
    /// The way to it: `origin`, `pos.x`; empty where the element itself is it.
    pub path: String,
    /// What it is made of.
    pub scalar: Scalar,
    /// Bytes from the start of the element.
    pub offset: u64,
    /// The extents, outermost first; none for a single number.
    pub extents: Vec<u64>,
}

/// An element seen as numbers of one type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct View {
    /// The type.
    pub scalar: Scalar,
    /// How many of them one element covers.
    pub stride: u64,
}

impl ElementLayout {
    /// The layout of `form` as an element; `None` if it has anything but numbers, has padding, or is not expected to
    /// be laid out in a way that numbers of its types tile.
    pub fn of(form: &Form) -> Option<ElementLayout> {
        let layout = layout(form)?;
        let used: u64 = layout.fields.iter().map(FieldPlace::bytes).sum();
        let fits = |field: &FieldPlace| {
            let bytes = field.scalar.bytes() as u64;
            layout.size.is_multiple_of(bytes) && field.offset.is_multiple_of(bytes)
        };
        (used == layout.size && used > 0 && layout.fields.iter().all(fits)).then_some(layout)
    }

    /// One view per type of number, in the order in which the types first appear, the strictest alignment first.
    pub fn views(&self) -> Vec<View> {
        let mut scalars: Vec<Scalar> = Vec::new();
        for field in &self.fields {
            if !scalars.contains(&field.scalar) {
                scalars.push(field.scalar);
            }
        }
        scalars.sort_by_key(|scalar| std::cmp::Reverse(scalar.bytes()));
        let view = |scalar: Scalar| View {
            scalar,
            stride: self.size / scalar.bytes() as u64,
        };
        scalars.into_iter().map(view).collect()
    }

    /// The field at `path`.
    pub fn field(&self, path: &str) -> Option<&FieldPlace> {
        self.fields.iter().find(|field| field.path == path)
    }

    /// If the elements are numbers, or arrays of numbers of one type in order: their extents.
    pub fn extents(&self) -> Option<&[u64]> {
        match &self.fields[..] {
            [field] if field.path.is_empty() => Some(&field.extents),
            _ => None,
        }
    }
}

impl FieldPlace {
    /// Bytes of the field.
    pub fn bytes(&self) -> u64 {
        self.count() * self.scalar.bytes() as u64
    }

    /// Numbers in the field.
    pub fn count(&self) -> u64 {
        self.extents.iter().product()
    }

    /// Where it begins, in numbers of its own type.
    pub fn at(&self) -> u64 {
        self.offset / self.scalar.bytes() as u64
    }
}

/// The layout including what makes it unfit for kernels; `None` where nothing is known.
fn layout(form: &Form) -> Option<ElementLayout> {
    match form {
        // Not every byte is a `bool`.
        Form::Scalar { scalar, .. } => Some(ElementLayout {
            size: scalar.bytes() as u64,
            align: scalar.bytes() as u64,
            fields: vec![FieldPlace {
                path: String::new(),
                scalar: *scalar,
                offset: 0,
                extents: Vec::new(),
            }],
        }),
        Form::Array(len, elem) => {
            let elem = layout(elem)?;
            let extents = elem.extents()?;
            let extents = std::iter::once(*len).chain(extents.iter().copied());
            Some(ElementLayout {
                size: len.checked_mul(elem.size)?,
                align: elem.align,
                fields: vec![FieldPlace {
                    extents: extents.collect(),
                    ..elem.fields[0].clone()
                }],
            })
        }
        Form::Record(record) => {
            let names = record.fields.iter().map(|field| field.name.clone());
            let forms = record.fields.iter().map(|field| &field.form);
            compound(names.zip(forms), record.in_order)
        }
        Form::Tuple(items) => {
            let names = (0..).map(|i: usize| i.to_string());
            compound(names.zip(items), false)
        }
        _ => None,
    }
}

/// Fields in the order in which the compiler is expected to put them.
fn compound<'a>(
    fields: impl Iterator<Item = (String, &'a Form)>,
    in_order: bool,
) -> Option<ElementLayout> {
    let fields = fields.map(|(name, form)| Some((name, layout(form)?)));
    let fields: Vec<(String, ElementLayout)> = fields.collect::<Option<_>>()?;
    if fields.iter().any(|(_, field)| {
        let holds_bool = |place: &FieldPlace| place.scalar == Scalar::Bool;
        field.size == 0 || field.fields.iter().any(holds_bool)
    }) {
        return None;
    }
    let mut order: Vec<usize> = (0..fields.len()).collect();
    if !in_order {
        // The compiler groups fields by the largest power of two that divides their size, or their alignment.
        order.sort_by_key(|&i| {
            let field = &fields[i].1;
            std::cmp::Reverse(field.align.max(field.size).trailing_zeros())
        });
    }
    let mut offsets = vec![0; fields.len()];
    let (mut end, mut align) = (0u64, 1u64);
    for i in order {
        let field = &fields[i].1;
        offsets[i] = end.checked_next_multiple_of(field.align)?;
        end = offsets[i].checked_add(field.size)?;
        align = align.max(field.align);
    }
    let mut places = Vec::new();
    for ((name, field), offset) in fields.into_iter().zip(offsets) {
        places.extend(field.fields.into_iter().map(|inner| FieldPlace {
            path: match inner.path.as_str() {
                "" => name.clone(),
                path => format!("{name}.{path}"),
            },
            offset: offset + inner.offset,
            ..inner
        }));
    }
    Some(ElementLayout {
        size: end.checked_next_multiple_of(align)?,
        align,
        fields: places,
    })
}

impl Record {
    /// The field called `name`.
    pub fn field(&self, name: &str) -> Option<&Form> {
        let found = self.fields.iter().find(|field| field.name == name);
        found.map(|field| &field.form)
    }
}
