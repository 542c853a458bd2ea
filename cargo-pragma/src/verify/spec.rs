//! What a bench knows of a kernel, and the arguments that follow from it.
//!
//! Owns turning a case into argument lists for reference, oracle and candidate. Choosing cases is `cases`' business.

use pragma_spec::{
    Accuracy, Guard, GuardError, GuardParam, KernelAttribute, KernelSignature, ParamKind,
    ReturnSig, Scalar, Shape,
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
            .filter(|(_, param)| is_mutable(param.kind))
            .map(|(i, param)| Output {
                name: param.name.clone(),
                elem: param.kind.elem(),
                param: Some(i),
            })
            .collect();
        outputs.extend(self.signature.returned().into_iter().map(|value| Output {
            name: value.name,
            elem: value.kind.elem(),
            param: None,
        }));
        outputs
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

    /// The number of elements of a returned `Vec`.
    pub fn return_len(&self, dims: &[u64]) -> Option<u64> {
        self.shape_len("return", dims)
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
            total = total.checked_add(
                self.len(i, dims)?
                    .checked_mul(param.kind.elem().bytes() as u64)?,
            )?;
        }
        if let ReturnSig::Vec(elem) = self.signature.returns {
            total = total.checked_add(self.return_len(dims)?.checked_mul(elem.bytes() as u64)?)?;
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
        self.guard
            .eval(&|name| self.dim(name, dims).map(i128::from), &len)
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
            })
            .collect()
    }

    /// The buffer for a returned `Vec`, which candidates fill as an additional argument.
    pub fn return_arg(&self, case: &Case) -> Option<ArgSpec> {
        let ReturnSig::Vec(elem) = self.signature.returns else {
            return None;
        };
        Some(ArgSpec {
            elem,
            len: self.return_len(&case.dims)?,
            access: Access::Write,
            values: Values::plain(crate::inputs::Fill::Constant(0.0)),
            seed: 0,
        })
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
