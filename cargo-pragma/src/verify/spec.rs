//! What a bench knows of a kernel, and the arguments that follow from it.
//!
//! Owns turning a case into argument lists for reference, oracle and candidate. Choosing cases is `cases`' business.

use std::collections::BTreeMap;

use pragma_spec::form::{Leaf, ReturnedKind};
use pragma_spec::{
    Accuracy, DimExpr, Guard, GuardError, GuardParam, GuardStep, InputSpec, KernelAttribute,
    KernelSignature, ParamKind, Quantity, Scalar, Shape,
};

use super::cases::Case;
use crate::inputs::{Rng, Values};
use crate::worker::protocol::{Access, ArgSpec};

/// A kernel to verify and measure.
#[derive(Clone, Debug)]
pub struct KernelSpec {
    /// The function's signature.
    pub signature: KernelSignature,
    /// Its attribute.
    pub attribute: KernelAttribute,
    /// Every slice's shape, given or inferred, and that of a returned `Vec` under `return`.
    pub shapes: Vec<(String, Shape)>,
    /// How dimensions follow from arguments.
    pub guard: Guard,
    /// The reference's symbol in the harness library.
    pub reference_symbol: String,
    /// The complete source of the f64 oracle, where the function lifts.
    pub oracle: Option<String>,
    /// Whether kernels can decline.
    pub declines: bool,
    /// Pairs of leaves whose owners are exchanged after a kernel has run.
    pub swaps: Vec<(String, String)>,
    /// Integer buffers whose elements the function uses as indices, and one more than the largest that is allowed.
    pub indices: Vec<(String, DimExpr)>,
    /// What the parameters are in the source.
    pub leaves: Vec<Leaf>,
    /// What an expression of the crate made of parameters, by index.
    pub given: BTreeMap<usize, Vec<u8>>,
}

/// One result of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// The parameter's name, or `return`, `return.0` ..
    pub name: String,
    /// Element type.
    pub elem: Scalar,
    /// The mutable parameter it is, or `None` for a returned value.
    pub param: Option<usize>,
    /// Whether it is a returned `Vec`.
    pub is_vec: bool,
}

impl KernelSpec {
    /// A spec with its guard planned from `dims` and `shapes`.
    ///
    /// # Errors
    /// If the shapes do not determine the dimensions.
    pub fn new(
        signature: KernelSignature,
        attribute: KernelAttribute,
        dims: &[String],
        shapes: Vec<(String, Shape)>,
        reference_symbol: String,
        oracle: Option<String>,
    ) -> Result<Self, GuardError> {
        let guard = Guard::plan(dims, &GuardParam::all(&signature), &shapes)?;
        Ok(KernelSpec {
            leaves: signature.form.leaves(),
            indices: Vec::new(),
            swaps: Vec::new(),
            given: BTreeMap::new(),
            signature,
            attribute,
            shapes,
            guard,
            reference_symbol,
            oracle,
            declines: false,
        })
    }

    /// The kernel's results: mutable parameters in order, then returned values.
    pub fn outputs(&self) -> Vec<Output> {
        let mut outputs: Vec<Output> = self
            .signature
            .params
            .iter()
            .enumerate()
            .filter(|(i, param)| is_mutable(param.kind) && self.view_of(*i).is_none())
            .map(|(i, param)| Output {
                name: param.name.clone(),
                elem: param.kind.elem(),
                param: Some(i),
                is_vec: false,
            })
            .collect();
        outputs.extend(self.signature.returned().into_iter().map(|value| Output {
            name: value.name,
            elem: value.kind.elem(),
            param: None,
            is_vec: matches!(value.kind, ReturnedKind::Vec(_)),
        }));
        outputs
    }

    /// The parameters that an expression of the attribute makes, by index: all leaves of such a source parameter.
    pub fn made(&self) -> Vec<usize> {
        let root = |name: &str| name.split('.').next().unwrap_or(name).to_owned();
        let made: Vec<String> = self
            .attribute
            .inputs
            .iter()
            .filter(|(_, input)| matches!(input, InputSpec::Expr(_)))
            .map(|(name, _)| root(name))
            .collect();
        let params = self.signature.params.iter().enumerate();
        params
            .filter(|(_, param)| made.contains(&root(&param.name)))
            .map(|(i, _)| i)
            .collect()
    }

    /// These sizes with the dimensions that given parameters determine.
    pub fn pinned(&self, mut dims: Vec<u64>) -> Vec<u64> {
        if self.given.is_empty() {
            return dims;
        }
        let params = &self.signature.params;
        let given = |name: &str, of: Quantity| {
            let at = params.iter().position(|param| param.name == name)?;
            let bytes = self.given.get(&at)?;
            let elem = params[at].kind.elem();
            Some(match of {
                Quantity::Length => (bytes.len() / elem.bytes()) as u64,
                Quantity::Value => crate::inputs::first(bytes, elem) as u64,
            })
        };
        for step in &self.guard.steps {
            let lookup = |name: &str| self.dim(name, &dims);
            let known = match step {
                GuardStep::BindScalar { dim, param } => {
                    given(param, Quantity::Value).map(|value| (dim, value))
                }
                GuardStep::Solve {
                    dim,
                    param,
                    of,
                    divisor,
                    add,
                    subtract,
                } => given(param, *of).and_then(|quantity| {
                    let sum = quantity.checked_add(add.eval(&lookup)?)?;
                    let multiple = sum.checked_sub(subtract.eval(&lookup)?)?;
                    Some((dim, multiple.checked_div(divisor.eval(&lookup)?)?))
                }),
                GuardStep::Check { .. } | GuardStep::Fits { .. } => None,
            };
            if let Some((dim, value)) = known
                && let Some(at) = self.guard.dims.iter().position(|known| known == dim)
                && let Some(slot) = dims.get_mut(at)
            {
                *slot = value;
            }
        }
        dims
    }

    /// Whether given parameters have the lengths that these dimensions mean.
    pub fn fits_given(&self, dims: &[u64]) -> bool {
        self.given.iter().all(|(&at, bytes)| {
            let kind = self.signature.params[at].kind;
            let len = (bytes.len() / kind.elem().bytes()) as u64;
            !kind.is_buffer() || self.len(at, dims) == Some(len)
        })
    }

    /// The parameter whose memory parameter `i` is, as numbers of another type.
    pub fn view_of(&self, i: usize) -> Option<usize> {
        let of = self.leaves.get(i)?.view_of.as_ref()?;
        self.leaves.iter().position(|leaf| leaf.name == *of)
    }

    /// The number of elements of parameter `i` for these dimensions, if they fit its shape.
    pub fn len(&self, i: usize, dims: &[u64]) -> Option<u64> {
        let param = self.signature.params.get(i)?;
        match param.kind {
            ParamKind::Scalar(_) => Some(1),
            ParamKind::Array { len, .. } => Some(len),
            ParamKind::Slice { .. } => self.shape_len(&param.name, dims),
        }
    }

    /// Type and number of elements of every returned `Vec`, in order; no number where the shape does not fit.
    pub fn returned_vecs(&self, dims: &[u64]) -> Vec<(Scalar, Option<u64>)> {
        let vec = |value: &pragma_spec::form::Returned| {
            let ReturnedKind::Vec(elem) = value.kind else {
                return None;
            };
            let by_shape = || self.shape_len(&value.name, dims);
            // Of an array the type says it.
            let by_type = || (!value.inner.is_empty()).then(|| value.inner.iter().product());
            Some((elem, by_shape().or_else(by_type)))
        };
        self.signature.returned().iter().filter_map(vec).collect()
    }

    fn shape_len(&self, name: &str, dims: &[u64]) -> Option<u64> {
        let (_, shape) = self.shapes.iter().find(|(n, _)| n == name)?;
        shape.len().eval(&|dim| self.dim(dim, dims))
    }

    /// The value of a dimension by name.
    pub fn dim(&self, name: &str, dims: &[u64]) -> Option<u64> {
        let at = self.guard.dims.iter().position(|dim| dim == name)?;
        dims.get(at).copied()
    }

    /// Bytes of all buffers for these dimensions, or `None` where a shape does not fit them.
    pub fn bytes(&self, dims: &[u64]) -> Option<u64> {
        let mut total = 0u64;
        for (i, param) in self.signature.params.iter().enumerate() {
            if self.view_of(i).is_some() {
                continue;
            }
            total = total.checked_add(
                self.len(i, dims)?
                    .checked_mul(param.kind.elem().bytes() as u64)?,
            )?;
        }
        for (elem, len) in self.returned_vecs(dims) {
            total = total.checked_add(len?.checked_mul(elem.bytes() as u64)?)?;
        }
        Some(total)
    }

    /// Whether the guard accepts these dimensions: every shape fits and solving the lengths gives them back.
    pub fn accepts(&self, dims: &[u64]) -> bool {
        let lens: Option<Vec<u64>> = (0..self.signature.params.len())
            .map(|i| self.len(i, dims))
            .collect();
        lens.is_some_and(|lens| self.guard_on(dims, &lens).as_deref() == Some(dims))
    }

    /// What the guard makes of arguments with these lengths, where integer parameters that are dimensions have the
    /// values in `dims`.
    pub fn guard_on(&self, dims: &[u64], lens: &[u64]) -> Option<Vec<u64>> {
        let len = |name: &str| {
            let at = self
                .signature
                .params
                .iter()
                .position(|param| param.name == name)?;
            lens.get(at).copied()
        };
        let scalar = |name: &str| {
            let value = self.dim(name, dims).or_else(|| self.shape_len(name, dims));
            value.map(i128::from)
        };
        self.guard.eval(&scalar, &len)
    }

    /// The value of a scalar parameter that a dimension or a shape fixes.
    pub fn fixed(&self, name: &str, dims: &[u64]) -> Option<u64> {
        self.dim(name, dims).or_else(|| self.shape_len(name, dims))
    }

    /// The arguments of a case. `write_only` says of every parameter whether the reference ignores its old content.
    pub fn args(&self, case: &Case, write_only: &[bool]) -> Vec<ArgSpec> {
        self.signature
            .params
            .iter()
            .enumerate()
            .map(|(i, param)| ArgSpec {
                elem: param.kind.elem(),
                len: case.lens.get(i).copied().unwrap_or(0),
                access: match (is_mutable(param.kind), write_only.get(i)) {
                    (false, _) => Access::Read,
                    (true, Some(true)) => Access::Write,
                    (true, _) => Access::ReadWrite,
                },
                values: case
                    .values
                    .get(i)
                    .cloned()
                    .unwrap_or(Values::plain(crate::inputs::Fill::Constant(0.0))),
                seed: Rng::derive(case.seed, i as u64),
                view_of: self.view_of(i),
            })
            .collect()
    }

    /// The buffers for returned `Vec`s, which candidates fill as additional arguments.
    pub fn return_args(&self, case: &Case) -> Vec<ArgSpec> {
        let arg = |(elem, len): (Scalar, Option<u64>)| ArgSpec {
            elem,
            len: len.unwrap_or(0),
            access: Access::Write,
            values: Values::plain(crate::inputs::Fill::Constant(0.0)),
            seed: 0,
            view_of: None,
        };
        self.returned_vecs(&case.dims)
            .into_iter()
            .map(arg)
            .collect()
    }

    /// Exchanges what belongs to owners that are exchanged after the kernel has run: it does not do that itself.
    pub fn exchange(&self, outputs: &mut [Vec<u8>]) {
        let all = self.outputs();
        let at = |name: &str| all.iter().position(|output| output.name == name);
        for (a, b) in &self.swaps {
            if let (Some(a), Some(b)) = (at(a), at(b))
                && a.max(b) < outputs.len()
            {
                outputs.swap(a, b);
            }
        }
    }

    /// Puts what a candidate produced into the order of [`KernelSpec::outputs`]: buffers of returned `Vec`s come before
    /// returned numbers, wherever those stand in the result.
    pub fn in_order(&self, mut outputs: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
        let expected = self.outputs();
        let first = expected
            .iter()
            .filter(|output| output.param.is_some())
            .count();
        if outputs.len() != expected.len() {
            return outputs;
        }
        let mut returned = outputs.split_off(first);
        let vecs = expected.iter().filter(|output| output.is_vec).count();
        let mut numbers = returned.split_off(vecs).into_iter();
        let mut vecs = returned.into_iter();
        outputs.extend(
            expected[first..]
                .iter()
                .filter_map(|output| match output.is_vec {
                    true => vecs.next(),
                    false => numbers.next(),
                }),
        );
        outputs
    }

    /// Whether a parameter or result is of type `f64`.
    fn has_f64(&self) -> bool {
        let param = |kind: &ParamKind| match kind {
            ParamKind::Scalar(scalar) => *scalar == Scalar::F64,
            ParamKind::Slice { elem, .. } | ParamKind::Array { elem, .. } => *elem == Scalar::F64,
        };
        self.signature.params.iter().any(|one| param(&one.kind))
            || self
                .signature
                .returns
                .kinds()
                .iter()
                .any(|kind| kind.elem() == Scalar::F64)
    }

    /// The policy in words, for the manifest.
    pub fn accuracy(&self) -> String {
        match self.attribute.accuracy {
            Accuracy::Exact => "exact: the bits of the reference".into(),
            Accuracy::Tolerance { rtol, atol } => {
                format!("tolerance: rtol {rtol:e}, atol {atol:e}, against the reference")
            }
            Accuracy::Default if self.oracle.is_some() => {
                let factor = if self.has_f64() {
                    super::judge::BUDGET_EPS_F64
                } else {
                    super::judge::BUDGET_EPS
                };
                format!(
                    "f64 oracle: the error of the reference plus {factor} eps of the sum of absolute terms; integers exact"
                )
            }
            Accuracy::Default => {
                "no f64 oracle: conservative tolerance against the reference; integers exact".into()
            }
        }
    }
}

/// Whether the function may write to such a parameter.
pub fn is_mutable(kind: ParamKind) -> bool {
    matches!(
        kind,
        ParamKind::Slice { mutable: true, .. } | ParamKind::Array { mutable: true, .. }
    )
}
