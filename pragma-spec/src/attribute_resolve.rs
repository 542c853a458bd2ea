//! From what a user wrote about source parameters to what it says about leaves.
//!
//! Owns the names: `shape(x = [n])` of `x: &[[f32; 3]]` is about a leaf of shape `[n, 3]`, `inputs(w.qs = 0..4)` about
//! some elements of the leaf `w.i8`. What comes out is about leaves only and is what everything else reads.

use proc_macro2::Span;

use crate::attribute::dims_of;
use crate::attribute::no_such_parameter;
use crate::attribute_inputs::{Condition, OffsetBase};
use crate::form::{ElementLayout, FieldPlace, Form, Instance, Leaf, Returned, ReturnedKind};
use crate::guard::is_result;
use crate::{
    DimExpr, InputSpec, KernelAttribute, KernelSignature, ParamKind, Shape, SpecError, TuneSize,
};

impl KernelAttribute {
    /// The instances that are asked for; one without parameters if none is.
    ///
    /// A name that stands several times between one pair of parentheses makes an instance of each:
    /// `instantiate(T = f32, T = f64)` are two.
    pub fn instances(&self) -> Vec<Instance> {
        let mut all: Vec<Instance> = Vec::new();
        for group in &self.instances {
            let mut made = vec![Instance::default()];
            for (at, (name, _)) in group.iter().enumerate() {
                if group[..at].iter().any(|(known, _)| known == name) {
                    continue;
                }
                let values: Vec<&String> = group
                    .iter()
                    .filter(|(known, _)| known == name)
                    .map(|(_, value)| value)
                    .collect();
                made = made
                    .iter()
                    .flat_map(|instance| {
                        values.iter().map(move |value| {
                            let mut pairs = instance.0.clone();
                            pairs.push((name.clone(), (*value).clone()));
                            Instance(pairs)
                        })
                    })
                    .collect();
            }
            for instance in made {
                if !all.contains(&instance) {
                    all.push(instance);
                }
            }
        }
        if all.is_empty() {
            all.push(Instance::default());
        }
        all
    }

    /// The attribute in terms of the leaves of `sig`, whose instance stands in its form. `constant` gives the values of
    /// the crate's integer constants; names that are neither parameters nor constants are sizes.
    ///
    /// # Errors
    /// As [`KernelAttribute::validate`].
    pub fn resolve(
        &self,
        sig: &KernelSignature,
        constant: &dyn Fn(&str) -> Option<u64>,
    ) -> Result<KernelAttribute, SpecError> {
        let leaves = sig.form.leaves();
        let is_leaf = |name: &str| leaves.iter().any(|leaf| leaf.name == name);
        let value = |name: &str| {
            let instance = &sig.form.instance;
            let known = instance.constant(name).or_else(|| {
                let path = instance.get(name)?;
                constant(path)
            });
            known.or_else(|| if is_leaf(name) { None } else { constant(name) })
        };
        let resolver = Resolver {
            attribute: self,
            sig,
            leaves: &leaves,
            value: &value,
        };
        let mut out = KernelAttribute {
            shapes: Vec::new(),
            inputs: Vec::new(),
            tunes: Vec::new(),
            instantiate: sig.form.instance.0.clone(),
            ..self.clone()
        };
        for (name, shape) in &self.shapes {
            let shape = Shape(shape.0.iter().map(|e| substitute(e, &value)).collect());
            resolver.shape(name, shape, &mut out.shapes)?;
        }
        for leaf in &leaves {
            // What other leaves say about a shape needs no writing.
            if let Some(shape) = &leaf.shape
                && !out.shapes.iter().any(|(name, _)| *name == leaf.name)
            {
                out.shapes.push((leaf.name.clone(), shape.clone()));
            }
        }
        for (name, spec) in &self.inputs {
            resolver.input(name, spec, &mut out.inputs)?;
        }
        for tune in &self.tunes {
            out.tunes.push(resolver.tune(tune)?);
        }
        out.conditions = self
            .conditions
            .iter()
            .map(|condition| Condition {
                left: substitute(&condition.left, &value),
                relation: condition.relation,
                right: substitute(&condition.right, &value),
            })
            .collect();
        out.validate_leaves(sig)?;
        Ok(out)
    }
}

struct Resolver<'a> {
    attribute: &'a KernelAttribute,
    sig: &'a KernelSignature,
    leaves: &'a [Leaf],
    value: &'a dyn Fn(&str) -> Option<u64>,
}

impl Resolver<'_> {
    fn span(&self, key: &str, name: &str) -> Span {
        self.attribute.places.span(key, name)
    }

    fn leaf(&self, name: &str) -> Option<&Leaf> {
        self.leaves.iter().find(|leaf| leaf.name == name)
    }

    /// The leaves of the slice or array of records at `name`, which each cover all of it.
    fn views(&self, name: &str) -> Option<(ElementLayout, Vec<&Leaf>)> {
        let elem = match self.sig.form.at(name)?.peeled() {
            Form::Slice(elem) | Form::Vec(elem) | Form::Boxed(elem) | Form::Array(_, elem) => elem,
            _ => return None,
        };
        let layout = ElementLayout::of(elem)?;
        if layout.extents().is_some() {
            return None;
        }
        let views = layout.views();
        let leaves = views.iter().map(|view| match views.len() {
            1 => self.leaf(name),
            _ => self.leaf(&format!("{name}.{}", view.scalar)),
        });
        let leaves = leaves.collect::<Option<_>>()?;
        Some((layout, leaves))
    }

    fn shape(
        &self,
        name: &str,
        shape: Shape,
        out: &mut Vec<(String, Shape)>,
    ) -> Result<(), SpecError> {
        let span = self.span("shape", name);
        if is_result(name) {
            let value = self.returned(name, span)?;
            let shape = complete(shape, &value.inner);
            out.push((value.name, shape));
            return Ok(());
        }
        let Some(leaf) = self.leaf(name) else {
            let Some((_, leaves)) = self.views(name) else {
                return Err(self.unknown("shape", name));
            };
            for leaf in leaves {
                out.push((leaf.name.clone(), complete(shape.clone(), &leaf.inner)));
            }
            return Ok(());
        };
        match (&leaf.shape, leaf.kind) {
            (Some(own), _) => {
                let rank = own.0.len() - leaf.inner.len();
                let shape = complete(shape, &leaf.inner);
                if shape.0.len() != own.0.len() {
                    return Err(SpecError::new(
                        span,
                        format!("`{name}` has {rank} axes, so its shape has {rank} sizes"),
                    ));
                }
                for (extent, own) in shape.0.iter().zip(&own.0).take(rank) {
                    if let DimExpr::Dim(own) = own
                        && extent != &DimExpr::dim(own.as_str())
                    {
                        out.push((own.clone(), Shape(vec![extent.clone()])));
                    }
                }
                out.push((name.to_owned(), shape));
            }
            (None, ParamKind::Slice { .. }) => {
                out.push((name.to_owned(), complete(shape, &leaf.inner)));
            }
            (None, ParamKind::Array { .. } | ParamKind::Scalar(_)) => {
                out.push((name.to_owned(), shape));
            }
        }
        Ok(())
    }

    /// The returned `Vec` that a shape is for.
    fn returned(&self, name: &str, span: Span) -> Result<Returned, SpecError> {
        let paths = self.sig.form.returned().into_iter();
        let values: Vec<(String, Returned)> = paths
            .map(|value| value.name)
            .zip(self.sig.returned())
            .filter(|(_, value)| matches!(value.kind, ReturnedKind::Vec(_)))
            .collect();
        let only = values.len() == 1 && name == "return";
        let found = values
            .iter()
            .find(|(path, value)| path == name || value.name == name || only);
        match found {
            Some((_, value)) => Ok(value.clone()),
            None if values.is_empty() => Err(SpecError::new(
                span,
                "`return` has a shape only where the function returns a `Vec`",
            )),
            None => {
                let names: Vec<String> =
                    values.iter().map(|(path, _)| format!("`{path}`")).collect();
                Err(SpecError::new(
                    span,
                    format!("`{name}` is no `Vec` that the function returns"),
                )
                .help(format!("those are {}", names.join(", "))))
            }
        }
    }

    fn input(
        &self,
        name: &str,
        spec: &InputSpec,
        out: &mut Vec<(String, InputSpec)>,
    ) -> Result<(), SpecError> {
        let spec = &self.in_sizes(name, spec);
        // A symbol of the source's: a variant, or whether there is something.
        if let InputSpec::Expr(text) = spec
            && let Some(found) = self.symbol(name, text)
        {
            out.extend(found);
            return Ok(());
        }
        if self.leaf(name).is_some() {
            out.push((name.to_owned(), spec.clone()));
            return Ok(());
        }
        if let Some((_, leaves)) = self.views(name) {
            out.extend(leaves.iter().map(|leaf| (leaf.name.clone(), spec.clone())));
            return Ok(());
        }
        // A field of records: `rays.dir`, `bodies.at.x`.
        for (at, _) in name.match_indices('.') {
            let (slice, field) = (&name[..at], &name[at + 1..]);
            let Some((layout, leaves)) = self.views(slice) else {
                continue;
            };
            let below = |path: &str| {
                path.strip_prefix(field)
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
            };
            let fields: Vec<_> = layout.fields.iter().filter(|f| below(&f.path)).collect();
            if fields.is_empty() {
                break;
            }
            for field in fields {
                let view = layout
                    .views()
                    .iter()
                    .position(|view| view.scalar == field.scalar);
                let Some(leaf) = view.and_then(|view| leaves.get(view)) else {
                    continue;
                };
                let spec = match spec {
                    InputSpec::Offset {
                        base: OffsetBase::Input(base),
                        lo,
                        hi,
                        inclusive,
                    } => InputSpec::Offset {
                        base: self.column(name, slice, field, &layout, base)?,
                        lo: *lo,
                        hi: *hi,
                        inclusive: *inclusive,
                    },
                    other => other.clone(),
                };
                let part = (field.at(), field.count(), spec);
                let stride = layout.size / field.scalar.bytes() as u64;
                let known = out.iter_mut().find(|(known, _)| *known == leaf.name);
                match known {
                    Some((_, InputSpec::Columns { parts, .. })) => parts.push(part),
                    _ => out.push((
                        leaf.name.clone(),
                        InputSpec::Columns {
                            stride,
                            parts: vec![part],
                        },
                    )),
                }
            }
            return Ok(());
        }
        // A source parameter as a whole: an expression that makes it.
        let whole = self.sig.form.at(name).is_some();
        if whole && matches!(spec, InputSpec::Expr(_)) {
            out.push((name.to_owned(), spec.clone()));
            return Ok(());
        }
        Err(self.unknown("inputs", name))
    }

    /// The numbers that an offset inside records is added to: those of another field of the same type and extents.
    fn column(
        &self,
        name: &str,
        slice: &str,
        field: &FieldPlace,
        layout: &ElementLayout,
        base: &str,
    ) -> Result<OffsetBase, SpecError> {
        let inside = base.strip_prefix(slice).and_then(|b| b.strip_prefix('.'));
        let found = inside.and_then(|path| layout.field(path));
        match found {
            Some(base) if base.scalar == field.scalar && base.count() == field.count() => {
                Ok(OffsetBase::Column(base.at()))
            }
            _ => Err(SpecError::new(
                self.span("inputs", name),
                format!("`{base}` is no field of `{slice}` like `{name}`"),
            )
            .help("add to a field of the same records and of the same type")),
        }
    }

    /// A spec with the crate's constants as numbers. An expression that consists of sizes and integer parameters is the
    /// value that they have.
    fn in_sizes(&self, name: &str, spec: &InputSpec) -> InputSpec {
        let number = |expr: &DimExpr| substitute(expr, self.value);
        match spec {
            InputSpec::DimRange { lo, hi } => InputSpec::DimRange {
                lo: number(lo),
                hi: number(hi),
            },
            InputSpec::Sorted(inner) => InputSpec::Sorted(Box::new(self.in_sizes(name, inner))),
            InputSpec::Expr(text) => {
                let integer = |name: &str| {
                    let leaf = self.leaf(name);
                    leaf.is_some_and(
                        |leaf| matches!(leaf.kind, ParamKind::Scalar(s) if s.is_integer()),
                    )
                };
                let sizes = dims_of(&self.attribute.shapes);
                let Some(expr) = text.parse::<DimExpr>().ok().filter(|_| integer(name)) else {
                    return spec.clone();
                };
                let expr = number(&expr);
                let mut known = true;
                expr.for_each_dim(&mut |dim| {
                    known &= integer(dim) || sizes.iter().any(|size| size == dim);
                });
                if !known {
                    return spec.clone();
                }
                let above = DimExpr::Add(Box::new(expr.clone()), Box::new(DimExpr::Const(1)));
                InputSpec::DimRange {
                    lo: expr,
                    hi: above,
                }
            }
            other => other.clone(),
        }
    }

    /// What `text` says of the enum or option at `name`, as values of leaves.
    fn symbol(&self, name: &str, text: &str) -> Option<Vec<(String, InputSpec)>> {
        let set = |name: String, value: f64| (name, InputSpec::Set(vec![value]));
        let plain: String = text.chars().filter(|c| !c.is_whitespace()).collect();
        let last = plain.rsplit("::").next().unwrap_or(&plain);
        match self.sig.form.at(name)?.peeled() {
            Form::Enum { variants, .. } => {
                let index = variants.iter().position(|variant| variant == last)?;
                Some(vec![set(name.to_owned(), index as f64)])
            }
            Form::Option(inner) => {
                let is_some = format!("{name}.is_some");
                if last == "None" {
                    return Some(vec![set(is_some, 0.0)]);
                }
                let value = last.strip_prefix("Some(")?.strip_suffix(')')?;
                let mut out = vec![set(is_some, 1.0)];
                if let (Ok(value), Form::Scalar { .. }) = (value.parse::<f64>(), inner.peeled()) {
                    out.push(set(name.to_owned(), value));
                }
                Some(out)
            }
            _ => None,
        }
    }

    fn tune(&self, tune: &TuneSize) -> Result<TuneSize, SpecError> {
        let mut values = Vec::with_capacity(tune.values.len());
        for (name, value) in &tune.values {
            // The instance says it already.
            if let Some(known) = self.sig.form.instance.constant(name) {
                if known as f64 != *value {
                    return Err(SpecError::new(
                        self.span("tune", name),
                        format!("`{name}` is {known} in this instance"),
                    ));
                }
                continue;
            }
            values.push((name.clone(), *value));
        }
        for (name, text) in &tune.symbols {
            let Some(found) = self.symbol(name, text) else {
                return Err(SpecError::new(
                    self.span("tune", name),
                    format!("the size `{name}` must be a number"),
                ));
            };
            values.extend(found.into_iter().filter_map(|(name, spec)| match spec {
                InputSpec::Set(values) => Some((name, values[0])),
                _ => None,
            }));
        }
        Ok(TuneSize {
            values,
            symbols: Vec::new(),
        })
    }

    fn unknown(&self, key: &str, name: &str) -> SpecError {
        let span = self.span(key, name);
        match self.sig.form.at(name).map(Form::peeled) {
            Some(Form::Record(record)) => {
                let fields = record
                    .fields
                    .iter()
                    .map(|field| format!("`{name}.{}`", field.name));
                SpecError::new(span, format!("`{name}` is a struct")).help(format!(
                    "say it of its fields: {}",
                    fields.collect::<Vec<_>>().join(", ")
                ))
            }
            Some(Form::Untouched | Form::Unread(_)) => {
                SpecError::new(span, format!("kernels do not use `{name}`"))
            }
            _ => no_such_parameter(span, name, self.sig),
        }
    }
}

/// `shape` with the extents that the type fixes, which may have been written already.
fn complete(mut shape: Shape, inner: &[u64]) -> Shape {
    let fixed: Vec<DimExpr> = inner.iter().copied().map(DimExpr::Const).collect();
    if !shape.0.ends_with(&fixed) {
        shape.0.extend(fixed);
    }
    shape
}

/// `expr` with the values of constants.
fn substitute(expr: &DimExpr, value: &dyn Fn(&str) -> Option<u64>) -> DimExpr {
    let pair = |a: &DimExpr, b: &DimExpr| {
        (
            Box::new(substitute(a, value)),
            Box::new(substitute(b, value)),
        )
    };
    match expr {
        DimExpr::Const(_) => expr.clone(),
        DimExpr::Dim(name) => value(name).map_or_else(|| expr.clone(), DimExpr::Const),
        DimExpr::Add(a, b) => {
            let (a, b) = pair(a, b);
            DimExpr::Add(a, b)
        }
        DimExpr::Sub(a, b) => {
            let (a, b) = pair(a, b);
            DimExpr::Sub(a, b)
        }
        DimExpr::Mul(a, b) => {
            let (a, b) = pair(a, b);
            DimExpr::Mul(a, b)
        }
        DimExpr::Div(a, b) => {
            let (a, b) = pair(a, b);
            DimExpr::Div(a, b)
        }
    }
}
