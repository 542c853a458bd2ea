//! What a user may write inside `#[pragma_kernel( .. )]`.
//!
//! Owns the parsed form and the checks against a signature; the grammar itself is in
//! `attribute_grammar`. Whether a shape fits what the body does is the lifter's business.

use std::fmt;

use proc_macro2::{Span, TokenStream};

use crate::attribute_inputs::{Condition, OffsetBase};
use crate::guard::{Guard, GuardParam, is_result};
use crate::{DimExpr, KernelSignature, ParamKind, Scalar, Shape, SpecError};

/// The arguments of one `#[pragma_kernel]`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KernelAttribute {
    /// `shape(x = [rows, d], return = [rows])`, in source order. The name is a parameter, `self.field` or `return`.
    pub shapes: Vec<(String, Shape)>,
    /// `tune(rows = 2048, d = 4096)`, in source order: what to optimise for.
    pub tunes: Vec<TuneSize>,
    /// `inputs(x = -4.0..4.0)`, in source order: what test data looks like.
    pub inputs: Vec<(String, InputSpec)>,
    /// `inputs(n >= k)`, in source order: how the sizes of test data relate.
    pub conditions: Vec<Condition>,
    /// `tolerance(..)` or `exact`.
    pub accuracy: Accuracy,
    /// `assume(finite)`: NaN and infinities need not be handled as the reference does.
    pub assume_finite: bool,
    /// `targets(cpu, cuda)`.
    pub targets: TargetSet,
    /// `threads(n)`: the most threads a kernel may use; `None` is no limit.
    pub threads: Option<u32>,
    /// `instantiate(T = f32, N = 4)`, in source order: parameter and what it stands for. After
    /// [`KernelAttribute::resolve`] those of one instance; see [`KernelAttribute::instances`] for all of them.
    pub instantiate: Vec<(String, String)>,
    /// The same by pairs of parentheses.
    pub(crate) instances: Vec<Vec<(String, String)>>,
    /// `crate = path`: how this crate calls `pragma_runtime`.
    pub crate_path: Option<String>,
    /// Where names were written.
    pub(crate) places: Places,
}

/// Source positions of names, for errors found later. Two attributes that differ only here are equal.
#[derive(Clone, Debug, Default)]
pub(crate) struct Places(pub(crate) Vec<(&'static str, String, Span)>);

impl PartialEq for Places {
    fn eq(&self, _: &Places) -> bool {
        true
    }
}

impl Places {
    pub(crate) fn span(&self, key: &str, name: &str) -> Span {
        let at = |name: &str| self.0.iter().find(|(k, n, _)| *k == key && n == name);
        // Of an extent, that of its array.
        let whole = || at(name.split(".shape.").next().unwrap_or(name));
        let found = at(name).or_else(whole);
        found.map_or_else(Span::call_site, |(_, _, span)| *span)
    }
}

/// One problem size: a value for every dimension and scalar that matters.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TuneSize {
    /// Names of dimensions or scalar parameters and their values, in source order.
    pub values: Vec<(String, f64)>,
    /// Names of parameters that are given as a word of the source's: `border = Border::Clamp`, `bias = None`. They are
    /// values after [`KernelAttribute::resolve`].
    pub symbols: Vec<(String, String)>,
}

impl TuneSize {
    /// The value given for `name`.
    pub fn get(&self, name: &str) -> Option<f64> {
        let found = self.values.iter().find(|(n, _)| n == name);
        found.map(|(_, value)| *value)
    }
}

impl fmt::Display for TuneSize {
    /// `rows = 2048, d = 4096`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, (name, value)) in self.values.iter().enumerate() {
            if i > 0 {
                f.write_str(", ")?;
            }
            if value.fract() == 0.0 && value.abs() < 1e15 {
                write!(f, "{name} = {value:.0}")?;
            } else {
                write!(f, "{name} = {value:?}")?;
            }
        }
        Ok(())
    }
}

/// How test values of one parameter are drawn.
#[derive(Clone, Debug, PartialEq)]
pub enum InputSpec {
    /// `-4.0..4.0` or `0..=9`.
    Range {
        /// The least value.
        lo: f64,
        /// The upper end.
        hi: f64,
        /// Whether `hi` itself may occur.
        inclusive: bool,
    },
    /// `0..rows`: integers below an end that depends on the problem size. `hi` never occurs.
    DimRange {
        /// The least value.
        lo: DimExpr,
        /// One more than the greatest value.
        hi: DimExpr,
    },
    /// `[0.0, 1.0]`: one of these.
    Set(Vec<f64>),
    /// `self.min + (0.5..1.0)`: something above the values of another input.
    Offset {
        /// What is added to.
        base: OffsetBase,
        /// The least difference.
        lo: f64,
        /// The upper end of the difference.
        hi: f64,
        /// Whether `hi` itself may occur.
        inclusive: bool,
    },
    /// `sorted(0..n)`: such values in ascending order.
    Sorted(Box<InputSpec>),
    /// `permutation`: every index below the length once.
    Permutation,
    /// Records: what stands at which numbers of an element. What no part covers is as without a spec.
    Columns {
        /// Numbers of an element.
        stride: u64,
        /// The first number, how many, and what they are.
        parts: Vec<(u64, u64, InputSpec)>,
    },
    /// Any other expression, as tokens, to be evaluated in the user's crate.
    Expr(String),
}

/// How close a kernel's floating-point results must be.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Accuracy {
    /// As close to the exact result as the reference is, within a small budget.
    #[default]
    Default,
    /// The same bits as the reference.
    Exact,
    /// `|kernel - reference| <= atol + rtol * |reference|`.
    Tolerance {
        /// Relative part.
        rtol: f64,
        /// Absolute part.
        atol: f64,
    },
}

/// Which kinds of hardware kernels are wanted for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TargetSet {
    /// CPU tiers.
    pub cpu: bool,
    /// NVIDIA GPUs.
    pub cuda: bool,
}

impl Default for TargetSet {
    /// Everything Pragma can do without being asked for more: CPU.
    fn default() -> Self {
        TargetSet {
            cpu: true,
            cuda: false,
        }
    }
}

impl KernelAttribute {
    /// Parses what stands between the parentheses (nothing for a bare `#[pragma_kernel]`).
    ///
    /// # Errors
    /// If a key is unknown, given twice or malformed; the span is that of the offending part.
    pub fn parse(tokens: TokenStream) -> Result<Self, SpecError> {
        crate::attribute_grammar::parse(tokens)
    }

    /// The shape given for `name`.
    pub fn shape(&self, name: &str) -> Option<&Shape> {
        let found = self.shapes.iter().find(|(n, _)| n == name);
        found.map(|(_, shape)| shape)
    }

    /// Checks every name and shape against the signature.
    ///
    /// # Errors
    /// If a name is neither a parameter nor a dimension where one is needed, a shape is given for
    /// something without a length, or the dimensions cannot be computed from the arguments.
    pub fn validate(&self, sig: &KernelSignature) -> Result<(), SpecError> {
        if let (Some((name, _)), true) = (self.instantiate.first(), sig.form.instance.is_empty()) {
            return Err(SpecError::new(
                self.places.span("instantiate", name),
                format!(
                    "`{}` has no type or const parameters to instantiate",
                    sig.name
                ),
            ));
        }
        self.resolve(sig, &|_| None).map(drop)
    }

    /// The same for an attribute that is about leaves.
    pub(crate) fn validate_leaves(&self, sig: &KernelSignature) -> Result<(), SpecError> {
        for (name, shape) in &self.shapes {
            self.validate_shape(name, shape, sig)?;
        }
        for (name, spec) in &self.inputs {
            self.validate_input(name, spec, sig)?;
        }
        let dims = self.dims();
        for (name, value) in self.tunes.iter().flat_map(|tune| &tune.values) {
            self.validate_tune(name, *value, sig, &dims)?;
        }
        let complete = sig.params.iter().all(|param| {
            !matches!(param.kind, ParamKind::Slice { .. }) || self.shape(&param.name).is_some()
        });
        // Shapes that are not written are inferred later and may bring more dimensions.
        if complete && !self.shapes.is_empty() {
            self.validate_dims(sig)?;
        }
        Ok(())
    }

    /// The dimensions that the shapes mention, in order of appearance.
    pub fn dims(&self) -> Vec<String> {
        dims_of(&self.shapes)
    }

    fn validate_shape(
        &self,
        name: &str,
        shape: &Shape,
        sig: &KernelSignature,
    ) -> Result<(), SpecError> {
        let span = self.places.span("shape", name);
        if is_result(name) {
            return Ok(());
        }
        let Some(param) = sig.param(name) else {
            return Err(no_such_parameter(span, name, sig));
        };
        match param.kind {
            // An extent of an array; users do not write these.
            ParamKind::Scalar(Scalar::Usize) if name.contains(".shape.") => {}
            ParamKind::Scalar(scalar) => {
                return Err(SpecError::new(
                    span,
                    format!("`{name}` is a scalar (`{scalar}`) and has no shape"),
                ));
            }
            ParamKind::Array { len, .. } => {
                let literal = shape.len().eval(&|_| None);
                if literal.is_some_and(|literal| literal != len) {
                    return Err(SpecError::new(
                        span,
                        format!(
                            "`{name}` has {len} elements, but the shape {shape} has another number"
                        ),
                    ));
                }
            }
            ParamKind::Slice { .. } => {}
        }
        let mut bad = None;
        for extent in &shape.0 {
            extent.for_each_dim(&mut |dim| {
                if let Some(param) = sig.param(dim)
                    && !matches!(param.kind, ParamKind::Scalar(s) if s.is_integer())
                {
                    bad.get_or_insert((dim.to_owned(), param.kind));
                }
            });
        }
        match bad {
            None => Ok(()),
            Some((dim, kind)) => Err(SpecError::new(
                span,
                format!("`{dim}` cannot be a size: it is a parameter of type `{kind}`"),
            )
            .help("name sizes differently from the slices, or after an integer parameter")),
        }
    }

    fn validate_input(
        &self,
        name: &str,
        spec: &InputSpec,
        sig: &KernelSignature,
    ) -> Result<(), SpecError> {
        let span = self.places.span("inputs", name);
        let Some(param) = sig.param(name) else {
            // An expression for a whole struct.
            return Ok(());
        };
        if let InputSpec::Columns { parts, .. } = spec {
            let mut parts = parts.iter();
            return parts.try_for_each(|(_, _, spec)| self.validate_input(name, spec, sig));
        }
        let elem = param.kind.elem();
        match spec {
            InputSpec::Sorted(inner) => self.validate_input(name, inner, sig),
            InputSpec::Permutation if !elem.is_integer() => Err(SpecError::new(
                span,
                format!("a permutation is of integers, and `{name}` holds `{elem}`"),
            )),
            InputSpec::Offset {
                base: OffsetBase::Input(base),
                ..
            } => match sig.param(base) {
                Some(base) if base.kind.elem() == elem => Ok(()),
                Some(other) => Err(SpecError::new(
                    span,
                    format!(
                        "`{name}` holds `{elem}`, and `{base}` holds `{}`",
                        other.kind.elem()
                    ),
                )),
                None => Err(no_such_parameter(span, base, sig)),
            },
            InputSpec::DimRange { .. } if !elem.is_integer() => Err(SpecError::new(
                span,
                format!("a range up to a size needs integers, and `{name}` holds `{elem}`"),
            )),
            InputSpec::Range { .. } if elem == Scalar::Bool => Err(SpecError::new(
                span,
                format!("`{name}` holds `bool`, which has no range"),
            )),
            InputSpec::Range { lo, hi, .. } if elem.is_integer() => {
                if lo.fract() != 0.0 || hi.fract() != 0.0 {
                    return Err(SpecError::new(
                        span,
                        format!(
                            "`{name}` holds `{elem}`, so the ends of its range are whole numbers"
                        ),
                    ));
                }
                if *lo < 0.0 && !elem.is_signed() {
                    return Err(SpecError::new(
                        span,
                        format!("`{name}` holds `{elem}`, which is never negative"),
                    ));
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn validate_tune(
        &self,
        name: &str,
        value: f64,
        sig: &KernelSignature,
        dims: &[String],
    ) -> Result<(), SpecError> {
        let error = |message: String| Err(SpecError::new(self.places.span("tune", name), message));
        let kind = sig.param(name).map(|param| param.kind);
        if let Some(kind) = kind
            && !matches!(kind, ParamKind::Scalar(_))
        {
            return error(format!(
                "`{name}` is a parameter of type `{kind}`; `tune` takes sizes and numbers"
            ));
        }
        let is_dim = dims.iter().any(|dim| dim == name);
        if is_dim && !(value >= 1.0 && value.fract() == 0.0) {
            return error(format!("the size `{name}` is a whole number, at least 1"));
        }
        if kind.is_some_and(|kind| kind.elem() == Scalar::Bool) && value != 0.0 && value != 1.0 {
            return error(format!("`{name}` is true or false"));
        }
        let integer = kind.is_some_and(|kind| kind.elem().is_integer());
        if integer && value.fract() != 0.0 {
            return error(format!("`{name}` is a whole number"));
        }
        Ok(())
    }

    fn validate_dims(&self, sig: &KernelSignature) -> Result<(), SpecError> {
        let dims = self.dims();
        Guard::plan(&dims, &GuardParam::all(sig), &self.shapes).map_err(|error| {
            let first = self
                .shapes
                .first()
                .map_or("return", |(name, _)| name.as_str());
            SpecError::new(self.places.span("shape", first), error.to_string())
        })?;
        for tune in &self.tunes {
            for (name, _) in &tune.values {
                if !dims.contains(name) && sig.param(name).is_none() {
                    return Err(SpecError::new(
                        self.places.span("tune", name),
                        format!("`{name}` is neither a size in `shape(..)` nor a parameter"),
                    )
                    .help(format!(
                        "sizes here are {}",
                        quoted(dims.iter().map(String::as_str))
                    )));
                }
            }
        }
        for name in self.conditions.iter().flat_map(Condition::names) {
            if !dims.iter().any(|dim| dim == name) && sig.param(name).is_none() {
                return Err(SpecError::new(
                    self.places.span("inputs", ""),
                    format!(
                        "`{name}` in `inputs(..)` is neither a size in `shape(..)` nor a parameter"
                    ),
                ));
            }
        }
        Ok(())
    }
}

/// The dimensions that `shapes` mention, in order of appearance.
pub fn dims_of(shapes: &[(String, Shape)]) -> Vec<String> {
    let mut dims: Vec<String> = Vec::new();
    for (_, shape) in shapes {
        for extent in &shape.0 {
            extent.for_each_dim(&mut |dim| {
                if !dims.iter().any(|known| known == dim) {
                    dims.push(dim.to_owned());
                }
            });
        }
    }
    dims
}

pub(crate) fn no_such_parameter(span: Span, name: &str, sig: &KernelSignature) -> SpecError {
    let error = SpecError::new(span, format!("`{}` has no parameter `{name}`", sig.name));
    let names = sig.params.iter().map(|param| param.name.as_str());
    match crate::suggest::closest(name, names.clone()) {
        Some(close) => error.help(format!("did you mean `{close}`?")),
        None if sig.params.is_empty() => error,
        None => error.help(format!("its parameters are {}", quoted(names))),
    }
}

fn quoted<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<_> = names.map(|name| format!("`{name}`")).collect();
    names.join(", ")
}
