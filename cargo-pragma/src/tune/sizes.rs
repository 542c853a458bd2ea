//! The problem sizes that a search optimises for.
//!
//! Owns reading them from `tune(..)`, and a choice where the attribute names none: one that fits the caches, one that
//! does not.

use pragma_spec::{DimExpr, KernelAttribute, KernelSignature, ParamKind, Shape, TuneSize};
use pragma_synth::analyze::traffic;
use pragma_synth::ir::Program;

/// One size.
#[derive(Clone, Debug, PartialEq)]
pub struct Size {
    /// As in the attribute.
    pub tune: TuneSize,
    /// The dimensions, in the program's order.
    pub dims: Vec<u64>,
    /// Elements of all slice parameters together: what dispatch looks at.
    pub elements: u64,
}

/// The attribute gives no usable size.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadSize {
    /// A dimension is missing.
    #[error("`tune({tune})` gives no value for `{dim}`")]
    Missing {
        /// The size.
        tune: String,
        /// The dimension.
        dim: String,
    },
    /// A value cannot be a dimension.
    #[error("`tune({tune})`: `{dim}` must be a whole number of at least 1")]
    Value {
        /// The size.
        tune: String,
        /// The dimension.
        dim: String,
    },
    /// The shapes have no meaning at these values.
    #[error("`tune({tune})` gives a slice a length that is not possible")]
    Shape {
        /// The size.
        tune: String,
    },
    /// A name is neither a dimension nor a scalar parameter.
    #[error("`tune({tune})`: `{name}` is neither a dimension ({known}) nor a scalar parameter")]
    Unknown {
        /// The size.
        tune: String,
        /// The name.
        name: String,
        /// The dimensions.
        known: String,
    },
}

/// Elements that a size in cache has: 32 KiB of `f32`.
const SMALL: u64 = 8 << 10;
/// Elements that a size out of cache has: 32 MiB of `f32`.
const LARGE: u64 = 8 << 20;
/// The most operations that a chosen size may take: a reference of this cost still runs many times a second.
const MOST_WORK: f64 = 1e8;

/// The sizes of a function, in the attribute's order, or chosen ones.
///
/// # Errors
/// If a `tune(..)` does not fit the function.
pub fn sizes(
    attribute: &KernelAttribute,
    signature: &KernelSignature,
    program: &Program,
    shapes: &[(String, Shape)],
) -> Result<Vec<Size>, BadSize> {
    if attribute.tunes.is_empty() {
        return Ok(chosen(signature, program, shapes));
    }
    attribute
        .tunes
        .iter()
        .map(|tune| read(tune, signature, program, shapes))
        .collect()
}

fn read(
    tune: &TuneSize,
    signature: &KernelSignature,
    program: &Program,
    shapes: &[(String, Shape)],
) -> Result<Size, BadSize> {
    for (name, _) in &tune.values {
        let scalar = signature
            .param(name)
            .is_some_and(|param| matches!(param.kind, ParamKind::Scalar(_)));
        if !scalar && !program.dims.contains(name) {
            let known = if program.dims.is_empty() {
                "none".to_owned()
            } else {
                program.dims.join(", ")
            };
            return Err(BadSize::Unknown {
                tune: tune.to_string(),
                name: name.clone(),
                known,
            });
        }
    }
    let mut dims = Vec::with_capacity(program.dims.len());
    for dim in &program.dims {
        let value = tune.get(dim).ok_or_else(|| BadSize::Missing {
            tune: tune.to_string(),
            dim: dim.clone(),
        })?;
        if value < 1.0 || value.fract() != 0.0 || value > 1e15 {
            return Err(BadSize::Value {
                tune: tune.to_string(),
                dim: dim.clone(),
            });
        }
        dims.push(value as u64);
    }
    let elements =
        elements(signature, &program.dims, &dims, shapes).ok_or_else(|| BadSize::Shape {
            tune: tune.to_string(),
        })?;
    Ok(Size {
        tune: tune.clone(),
        dims,
        elements,
    })
}

/// Grows all dimensions together until a target is reached or the work gets too much.
fn chosen(signature: &KernelSignature, program: &Program, shapes: &[(String, Shape)]) -> Vec<Size> {
    let grown = |most: u64| {
        let mut found: Option<Size> = None;
        // Every dimension a power of two, the last one (the row length, mostly) ahead of the others.
        for step in 0..(40 * program.dims.len().max(1)) {
            let count = program.dims.len().max(1);
            let dims: Vec<u64> = (0..program.dims.len())
                .map(|i| 1u64 << ((step + i) / count + 3).min(40))
                .collect();
            let Some(elements) = elements(signature, &program.dims, &dims, shapes) else {
                continue;
            };
            let work = traffic::traffic(program, &dims);
            if elements > most || work.flops + work.integer_ops > MOST_WORK {
                break;
            }
            let values = program
                .dims
                .iter()
                .cloned()
                .zip(dims.iter().map(|d| *d as f64))
                .collect();
            found = Some(Size {
                tune: TuneSize {
                    values,
                    symbols: Vec::new(),
                },
                dims,
                elements,
            });
        }
        found
    };
    let mut sizes: Vec<Size> = [grown(SMALL), grown(LARGE)].into_iter().flatten().collect();
    sizes.dedup();
    sizes
}

/// Elements of all slice parameters; `None` if a shape has no meaning at `dims` or has a zero extent.
fn elements(
    signature: &KernelSignature,
    names: &[String],
    dims: &[u64],
    shapes: &[(String, Shape)],
) -> Option<u64> {
    let lookup = |name: &str| {
        names
            .iter()
            .position(|known| known == name)
            .and_then(|i| dims.get(i).copied())
    };
    let mut total = 0u64;
    for param in &signature.params {
        if !matches!(param.kind, ParamKind::Slice { .. }) {
            continue;
        }
        let (_, shape) = shapes.iter().find(|(name, _)| *name == param.name)?;
        let len = DimExpr::product(&shape.0).eval(&lookup)?;
        if len == 0 {
            return None;
        }
        total = total.checked_add(len)?;
    }
    Some(total)
}
