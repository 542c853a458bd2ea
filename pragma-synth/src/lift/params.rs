//! The parameters of the kernel function: from flat leaves back to what the source has.

use std::collections::BTreeMap;

use pragma_spec::form::{ElementLayout, Form, Leaf, NdarrayKind, Pattern};
use pragma_spec::{ParamKind, Scalar, Shape};
use proc_macro2::Span;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};

use super::error::Lift;
use super::reader::Reader;
use super::records::{elem_of, record_elem, short_name};
use super::types::Ty;
use super::value::{Elem, Own, Place, Value, View};
use crate::ir::{BufId, BufRole, Const, Expr, Param, VarId};

/// Variants and `Option`s are told apart outside of all loops if that makes at most this many
/// versions of the body.
const MAX_VERSIONS: usize = 8;

/// A leaf, declared.
#[derive(Clone, Copy, Debug)]
pub(super) enum Declared {
    Scalar(VarId, Scalar),
    Buffer(BufId, usize),
}

/// A parameter whose variants are told apart before the body.
#[derive(Clone, Debug)]
pub(super) struct Choice {
    /// The name it is bound to.
    pub(super) name: String,
    /// The way from there, by position.
    pub(super) path: Vec<usize>,
    /// The variable that says which.
    pub(super) var: VarId,
    /// How many there are; `None` for an `Option`.
    pub(super) variants: Option<usize>,
}

/// How something is reached.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Access {
    Owned,
    Borrowed(bool),
}

impl Access {
    fn behind(self, mutable: bool) -> Access {
        match self {
            Access::Borrowed(false) => self,
            _ => Access::Borrowed(mutable),
        }
    }

    fn own(self, owned: Own) -> Own {
        match self {
            Access::Owned => owned,
            Access::Borrowed(mutable) => Own::Borrowed(mutable),
        }
    }
}

impl Reader<'_> {
    /// Declares all leaves and binds what the source calls them.
    pub(super) fn parameters(&mut self) -> Lift<()> {
        let request = self.request;
        let leaves = request.signature.form.leaves();
        let mut declared = BTreeMap::new();
        let mut buffers = 0;
        for param in &request.signature.params {
            let name = param.name.replace('.', "_");
            let leaf = match param.kind {
                ParamKind::Scalar(scalar) => {
                    let var = self.var(&name, Ty::Known(scalar), false);
                    self.program.params.push(Param::Scalar(var));
                    self.scalar_leaves.insert(var, param.name.clone());
                    Declared::Scalar(var, scalar)
                }
                ParamKind::Slice { elem, mutable } | ParamKind::Array { elem, mutable, .. } => {
                    let buf = self.buffer(&name, elem, mutable, buffers);
                    buffers += 1;
                    Declared::Buffer(buf, buffers - 1)
                }
            };
            declared.insert(param.name.clone(), leaf);
        }
        let sig = &request.function.sig;
        let mut names = Names::default();
        names.visit_signature(sig);
        for (i, param) in request.signature.form.params.iter().enumerate() {
            let span = sig
                .inputs
                .iter()
                .nth(i)
                .map_or_else(Span::call_site, Spanned::span);
            let binder = Binder {
                leaves: &leaves,
                declared: &declared,
                names: &names,
                span,
            };
            self.bind_source(&binder, &param.pattern, &param.form, Access::Owned)?;
        }
        Ok(())
    }

    fn bind_source(
        &mut self,
        binder: &Binder<'_>,
        pattern: &Pattern,
        form: &Form,
        access: Access,
    ) -> Lift<()> {
        match (pattern, form) {
            (Pattern::Unnamed, _) => Ok(()),
            (Pattern::Tuple(_), Form::Ref { mutable, inner }) => {
                self.bind_source(binder, pattern, inner, access.behind(*mutable))
            }
            (Pattern::Ref(pattern), Form::Ref { mutable, inner }) => {
                self.bind_source(binder, pattern, inner, access.behind(*mutable))
            }
            (Pattern::Tuple(patterns), Form::Tuple(items)) => {
                for (pattern, item) in patterns.iter().zip(items) {
                    self.bind_source(binder, pattern, item, access)?;
                }
                Ok(())
            }
            (Pattern::Tuple(_) | Pattern::Ref(_), _) => {
                Err(self.unknown(binder.span, "this pattern"))
            }
            (Pattern::Name(name), form) => {
                let mut choices = Vec::new();
                let value = self.value_of(binder, name, form, access, &mut choices)?;
                let raw = format!("r#{name}");
                let bound = if binder.names.raw.contains(&raw) {
                    raw
                } else {
                    name.clone()
                };
                // `mut` on a name that is the function's own.
                let value = if binder.names.mutable.contains(&bound) {
                    self.own_copy(name, value, binder.span)?
                } else {
                    value
                };
                self.bind(&bound, value);
                for (path, var, variants) in choices {
                    self.choices.push(Choice {
                        name: bound.clone(),
                        path,
                        var,
                        variants,
                    });
                }
                Ok(())
            }
        }
    }

    /// A parameter that the function changes for itself.
    fn own_copy(&mut self, name: &str, value: Value, span: Span) -> Lift<Value> {
        Ok(match value {
            Value::View(view) if view.own == Own::Array => {
                Value::View(self.copy_of(&view, name, span)?)
            }
            Value::View(view) if view.own == Own::Vec && view.elem.is_flat() => {
                let copy = self.copy_of(&view, name, span)?;
                Value::View(View {
                    own: Own::Vec,
                    ..copy
                })
            }
            Value::Nd(array) if !matches!(array.own, Own::Borrowed(_)) => {
                Value::Nd(self.nd_copy(&array, span)?)
            }
            Value::Scalar(_) | Value::Variant(..) => self.storage(name, value, span)?,
            Value::Struct(kind, fields) => {
                let mut own = Vec::with_capacity(fields.len());
                for (field, part) in fields {
                    let part = self.own_copy(&format!("{name}_{field}"), part, span)?;
                    own.push((field, part));
                }
                Value::Struct(kind, own)
            }
            Value::Tuple(parts) => {
                let mut own = Vec::with_capacity(parts.len());
                for (i, part) in parts.into_iter().enumerate() {
                    own.push(self.own_copy(&format!("{name}_{i}"), part, span)?);
                }
                Value::Tuple(own)
            }
            other => other,
        })
    }

    fn value_of(
        &mut self,
        binder: &Binder<'_>,
        name: &str,
        form: &Form,
        access: Access,
        choices: &mut Vec<(Vec<usize>, VarId, Option<usize>)>,
    ) -> Lift<Value> {
        Ok(match form {
            Form::Unit => Value::Unit,
            Form::Ref { mutable, inner } => {
                let value = self.value_of(binder, name, inner, access.behind(*mutable), choices)?;
                match value {
                    Value::Memory(buf, index) => {
                        Value::Ref(Box::new(Place::Elem(buf, index)), *mutable)
                    }
                    value => value,
                }
            }
            Form::Scalar { .. } => match binder.leaf(name) {
                Some(Declared::Scalar(var, scalar)) => self.scalar_param(name, var, scalar),
                Some(Declared::Buffer(buf, _)) => Value::Memory(buf, Expr::index(0)),
                None => Value::Absent(name.to_owned()),
            },
            Form::Enum { path, variants } => match binder.leaf(name) {
                Some(Declared::Scalar(var, _)) => {
                    choices.push((Vec::new(), var, Some(variants.len())));
                    Value::Variant(short_name(path), Expr::Var(var))
                }
                _ => Value::Absent(name.to_owned()),
            },
            Form::Slice(elem) | Form::Vec(elem) | Form::Boxed(elem) => {
                let own = access.own(Own::Vec);
                self.list(binder, name, elem, own)
            }
            Form::Array(len, elem) => {
                let own = access.own(Own::Array);
                match self.list(binder, name, elem, own) {
                    Value::View(view) => Value::View(View {
                        len: Expr::index(*len),
                        ..view
                    }),
                    other => other,
                }
            }
            Form::Record(record) => {
                let mut fields = Vec::with_capacity(record.fields.len());
                for (i, field) in record.fields.iter().enumerate() {
                    let before = choices.len();
                    let path = format!("{name}.{}", field.name);
                    let value = self.value_of(binder, &path, &field.form, access, choices)?;
                    for choice in &mut choices[before..] {
                        choice.0.insert(0, i);
                    }
                    // The owner of a `Vec` may do more with it than who borrows a slice.
                    fields.push((field.name.clone(), owned_field(&field.form, value)));
                }
                Value::Struct(short_name(&record.path), fields)
            }
            Form::Tuple(items) => {
                let mut parts = Vec::with_capacity(items.len());
                for (i, item) in items.iter().enumerate() {
                    let before = choices.len();
                    let path = format!("{name}.{i}");
                    parts.push(self.value_of(binder, &path, item, access, choices)?);
                    for choice in &mut choices[before..] {
                        choice.0.insert(0, i);
                    }
                }
                Value::Tuple(parts)
            }
            Form::Option(inner) => match binder.leaf(&format!("{name}.is_some")) {
                Some(Declared::Scalar(var, _)) => {
                    choices.push((Vec::new(), var, None));
                    let value = self.value_of(binder, name, inner, access, &mut Vec::new())?;
                    Value::Option {
                        some: Expr::Var(var),
                        value: Box::new(value),
                    }
                }
                _ => Value::Absent(name.to_owned()),
            },
            Form::Ndarray { kind, rank, .. } => match binder.leaf(name) {
                Some(Declared::Buffer(buf, _)) => {
                    let own = match (kind, access) {
                        (NdarrayKind::View, _) => Own::Borrowed(false),
                        (NdarrayKind::ViewMut, Access::Borrowed(false)) => Own::Borrowed(false),
                        (NdarrayKind::ViewMut, _) => Own::Borrowed(true),
                        (NdarrayKind::Owned, access) => access.own(Own::Vec),
                    };
                    let mut extents = Vec::with_capacity(*rank);
                    for axis in 0..*rank {
                        extents.push(self.size_leaf(&format!("{name}.shape.{axis}")));
                    }
                    Value::Nd(self.contiguous(buf, Expr::index(0), extents, own))
                }
                _ => Value::Absent(name.to_owned()),
            },
            Form::Result(_) | Form::Unread(_) | Form::Untouched => Value::Absent(name.to_owned()),
        })
    }

    /// A `usize` leaf as the dimension of its name.
    fn size_leaf(&mut self, name: &str) -> Expr {
        let dim = self.table.named(name);
        self.dim(dim)
    }

    fn scalar_param(&mut self, name: &str, var: VarId, scalar: Scalar) -> Value {
        let expr = match self.table.find(name) {
            Some(dim) if scalar == Scalar::Usize => self.dim(dim),
            Some(dim) => Expr::Cast(scalar, Box::new(self.dim(dim))),
            None => Expr::Var(var),
        };
        Value::scalar(expr, Ty::Known(scalar))
    }

    /// A slice, `Vec` or array whose elements have this form.
    fn list(&mut self, binder: &Binder<'_>, name: &str, elem: &Form, own: Own) -> Value {
        let absent = Value::Absent(name.to_owned());
        if let Form::Vec(inner) | Form::Boxed(inner) | Form::Slice(inner) = elem.peeled() {
            // Rows of one length each, in one buffer.
            let Some(Declared::Buffer(buf, _)) = binder.leaf(name) else {
                return absent;
            };
            let extents = ElementLayout::of(inner)
                .and_then(|layout| layout.extents().map(<[u64]>::to_vec))
                .unwrap_or_default();
            let rows = self.size_leaf(&format!("{name}.shape.0"));
            let cols = self.size_leaf(&format!("{name}.shape.1"));
            return Value::View(View {
                buf,
                offset: Expr::index(0),
                len: rows,
                elem: Elem::Array(Box::new(elem_of(&extents)), cols),
                own,
            });
        }
        let Some(layout) = ElementLayout::of(elem) else {
            return absent;
        };
        if let Some(extents) = layout.extents() {
            let Some(Declared::Buffer(buf, index)) = binder.leaf(name) else {
                return absent;
            };
            let len = self.table.len(index);
            let inner: u64 = extents.iter().product();
            let count = len
                .div_exact(&super::poly::Poly::constant(i128::from(inner)))
                .map_or_else(
                    || {
                        let len = self.table.interner.expr(&len);
                        Expr::binary(crate::ir::BinaryOp::Div, len, Expr::index(inner))
                    },
                    |count| self.table.interner.expr(&count),
                );
            return Value::View(View {
                buf,
                offset: Expr::index(0),
                len: count,
                elem: elem_of(extents),
                own,
            });
        }
        let views = layout.views();
        let leaf_of = |scalar: Scalar| match views.len() {
            1 => binder.leaf(name),
            _ => binder.leaf(&format!("{name}.{scalar}")),
        };
        let buf_of = |scalar: Scalar| match leaf_of(scalar) {
            Some(Declared::Buffer(buf, _)) => Some(buf),
            _ => None,
        };
        let Some(record) = record_elem(elem, &layout, &buf_of) else {
            return absent;
        };
        let Some(Declared::Buffer(buf, index)) = leaf_of(views[0].scalar) else {
            return absent;
        };
        let stride = i128::from(views[0].stride);
        let len = self.table.len(index);
        let Some(count) = len.div_exact(&super::poly::Poly::constant(stride)) else {
            return absent;
        };
        Value::View(View {
            buf,
            offset: Expr::index(0),
            len: self.table.interner.expr(&count),
            elem: Elem::Record(record),
            own,
        })
    }

    fn buffer(&mut self, name: &str, elem: Scalar, mutable: bool, index: usize) -> BufId {
        let role = if mutable {
            BufRole::Mutable
        } else {
            BufRole::Input
        };
        self.buf_ty.push(Ty::Known(elem));
        let buf = self.program.add_buf(name, elem, role, Shape::default());
        self.program.params.push(Param::Buffer(buf));
        self.buf_params.insert(buf, index);
        buf
    }

    /// Reads the body once for every combination of the variants that its loops ask for.
    pub(super) fn versions(&mut self) -> Lift<()> {
        let block = &self.request.function.block;
        let mut chosen: Vec<Choice> = Vec::new();
        let mut versions = 1;
        for choice in std::mem::take(&mut self.choices) {
            let ways = choice.variants.unwrap_or(2);
            if asked_in_loops(block, &choice) && versions * ways <= MAX_VERSIONS {
                versions *= ways;
                chosen.push(choice);
            }
        }
        self.version(&chosen)
    }

    fn version(&mut self, choices: &[Choice]) -> Lift<()> {
        let Some((choice, rest)) = choices.split_first() else {
            return self.read_body();
        };
        let ways = choice.variants.unwrap_or(2);
        self.ways(choice, rest, ways, 0)
    }

    fn ways(&mut self, choice: &Choice, rest: &[Choice], ways: usize, at: usize) -> Lift<()> {
        let span = self.request.function.sig.ident.span();
        let Some(slot) = self.env.find(&choice.name) else {
            return Err(self.unknown(span, "this parameter"));
        };
        let known = |value: &mut Value| {
            let mut value = value;
            for step in &choice.path {
                let next = match value {
                    Value::Struct(_, fields) => fields.get_mut(*step).map(|(_, field)| field),
                    Value::Tuple(parts) => parts.get_mut(*step),
                    _ => None,
                };
                match next {
                    Some(next) => value = next,
                    None => return,
                }
            }
            match value {
                Value::Option { some, .. } => {
                    *some = super::reader::bool_const(at == 0);
                }
                Value::Variant(_, index) => {
                    *index = Expr::Const(Const::Int(Scalar::U8, at as i128));
                }
                _ => {}
            }
        };
        let mut read = |reader: &mut Self| {
            known(&mut reader.slots[slot.0]);
            reader.version(rest)
        };
        if at + 1 == ways {
            return read(self);
        }
        let cond = match choice.variants {
            None => Expr::Var(choice.var),
            Some(_) => Expr::compare(
                crate::ir::CompareOp::Eq,
                Expr::Var(choice.var),
                Expr::Const(Const::Int(Scalar::U8, at as i128)),
            ),
        };
        let (then, ()) = self.version_block(&cond, &mut read)?;
        let unless = super::fold::not(cond.clone());
        let (otherwise, ()) = self.version_block(&unless, &mut |reader| {
            reader.ways(choice, rest, ways, at + 1)
        })?;
        self.emit(crate::ir::Stmt::If {
            cond,
            then,
            otherwise,
        });
        Ok(())
    }

    /// One version of the body, which leaves nothing behind for the others.
    fn version_block(
        &mut self,
        cond: &Expr,
        read: &mut dyn FnMut(&mut Self) -> Lift<()>,
    ) -> Lift<(Vec<crate::ir::Stmt>, ())> {
        let slots = self.slots.clone();
        let conditional = self.conditional;
        let result = self.block(|reader| {
            reader.assume(cond);
            read(reader)
        });
        self.conditional = conditional;
        let made = self.slots.split_off(slots.len());
        self.slots = slots;
        self.slots.extend(made);
        result
    }
}

/// A field that the owner of the struct owns, too.
fn owned_field(form: &Form, value: Value) -> Value {
    match (form, value) {
        (Form::Vec(_) | Form::Boxed(_), Value::View(view)) => Value::View(View {
            own: Own::Vec,
            ..view
        }),
        (Form::Array(..), Value::View(view)) => Value::View(View {
            own: Own::Array,
            ..view
        }),
        (_, value) => value,
    }
}

/// What binding a parameter needs to know.
struct Binder<'b> {
    #[expect(dead_code, reason = "shapes come from `function::table`")]
    leaves: &'b [Leaf],
    declared: &'b BTreeMap<String, Declared>,
    names: &'b Names,
    span: Span,
}

impl Binder<'_> {
    fn leaf(&self, name: &str) -> Option<Declared> {
        self.declared.get(name).copied()
    }
}

/// Names that the parameters bind with `mut`, and raw ones.
#[derive(Default)]
struct Names {
    mutable: Vec<String>,
    raw: Vec<String>,
}

impl<'ast> Visit<'ast> for Names {
    fn visit_pat_ident(&mut self, pat: &'ast syn::PatIdent) {
        let name = pat.ident.to_string();
        if pat.mutability.is_some() {
            self.mutable.push(name.clone());
        }
        if name.starts_with("r#") {
            self.raw.push(name);
        }
    }
    fn visit_receiver(&mut self, receiver: &'ast syn::Receiver) {
        if receiver.mutability.is_some() && matches!(receiver.kind, syn::ReceiverKind::Value) {
            self.mutable.push("self".to_owned());
        }
    }
}

/// Whether a parameter is named inside of two loops or closures, or handed to a function in one.
fn asked_in_loops(block: &syn::Block, choice: &Choice) -> bool {
    struct Finder<'f> {
        name: &'f str,
        depth: usize,
        found: bool,
    }
    impl<'ast> Visit<'ast> for Finder<'_> {
        fn visit_expr(&mut self, expr: &'ast syn::Expr) {
            let looping = matches!(
                expr,
                syn::Expr::ForLoop(_)
                    | syn::Expr::While(_)
                    | syn::Expr::Loop(_)
                    | syn::Expr::Closure(_)
            );
            self.depth += usize::from(looping);
            if let syn::Expr::Path(path) = expr {
                self.found |= self.depth >= 2 && path.path.is_ident(self.name);
            }
            visit::visit_expr(self, expr);
            self.depth -= usize::from(looping);
        }
    }
    let mut finder = Finder {
        name: &choice.name,
        depth: 0,
        found: false,
    };
    // A field of `self` is named by a method's body as `self`, like all other fields.
    finder.visit_block(block);
    finder.found
}
