//! Testing the judge before any candidate: outputs that are wrong on purpose must be refused.
//!
//! Owns the mutants. They are made from the reference's outputs, so no code has to be compiled for them.

use pragma_spec::Scalar;

use super::judge::float;

/// A way of being wrong that real kernels have shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mutant {
    /// Every element zero.
    Zeros,
    /// An input copied to the output.
    Identity,
    /// The first element everywhere; for single results the value of another case.
    Constant,
    /// The last element not written.
    LastSkipped,
    /// The last sixteenth of the elements not written, at least two.
    TailSkipped,
    /// Everything moved by one element.
    OffByOne,
    /// Computed in half precision (bfloat16 mantissa).
    HalfPrecision,
    /// The opposite sign.
    Negated,
    /// One element in the middle off by a thousandth, or by one.
    OneWrong,
}

impl Mutant {
    /// All of them.
    pub const ALL: [Mutant; 9] = [
        Mutant::Zeros,
        Mutant::Identity,
        Mutant::Constant,
        Mutant::LastSkipped,
        Mutant::TailSkipped,
        Mutant::OffByOne,
        Mutant::HalfPrecision,
        Mutant::Negated,
        Mutant::OneWrong,
    ];

    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Mutant::Zeros => "all zeros",
            Mutant::Identity => "copy of an input",
            Mutant::Constant => "constant",
            Mutant::LastSkipped => "last element skipped",
            Mutant::TailSkipped => "tail skipped",
            Mutant::OffByOne => "off by one",
            Mutant::HalfPrecision => "half precision",
            Mutant::Negated => "negated",
            Mutant::OneWrong => "one element wrong",
        }
    }
}

/// What mutants are made from.
#[derive(Clone, Copy, Debug)]
pub struct Material<'a> {
    /// Element type.
    pub elem: Scalar,
    /// The reference's output.
    pub reference: &'a [u8],
    /// What the buffer held before: for skipped elements.
    pub before: &'a [u8],
    /// Inputs of the same type and length.
    pub inputs: &'a [Vec<u8>],
    /// The output of another case, for constants of single results.
    pub other: &'a [u8],
}

/// The mutated outputs; none where the mutant makes no sense or equals the reference here.
pub fn mutate(mutant: Mutant, material: Material<'_>) -> Vec<Vec<u8>> {
    let Material {
        elem,
        reference,
        before,
        inputs,
        other,
    } = material;
    let size = elem.bytes();
    let count = reference.len() / size;
    let mut results = match mutant {
        Mutant::Zeros => vec![vec![0; reference.len()]],
        Mutant::Identity => inputs.to_vec(),
        Mutant::Constant if count == 1 => vec![other.to_vec()],
        Mutant::Constant => vec![reference.get(..size).unwrap_or_default().repeat(count)],
        Mutant::LastSkipped => vec![skipped(reference, before, size)],
        Mutant::TailSkipped => vec![skipped(
            reference,
            before,
            size * (count / 16).max(2).min(count),
        )],
        Mutant::OffByOne => {
            let mut moved = reference.to_vec();
            moved.rotate_left(size.min(reference.len()));
            vec![moved]
        }
        Mutant::HalfPrecision if elem.is_float() => vec![map_floats(reference, elem, &|v| {
            half::bf16::from_f64(v).to_f64()
        })],
        Mutant::HalfPrecision => Vec::new(),
        Mutant::Negated if elem.is_float() => vec![map_floats(reference, elem, &|v| -v)],
        Mutant::Negated => vec![reference.iter().map(|byte| !byte).collect()],
        Mutant::OneWrong => vec![one_wrong(reference, elem)],
    };
    results.retain(|bytes| bytes != reference && bytes.len() == reference.len());
    results
}

/// The reference with its last bytes as they were before the call.
fn skipped(reference: &[u8], before: &[u8], bytes: usize) -> Vec<u8> {
    let mut mutated = reference.to_vec();
    let from = reference.len().saturating_sub(bytes);
    if before.len() == reference.len() {
        mutated[from..].copy_from_slice(&before[from..]);
    }
    mutated
}

fn put(slot: &mut [u8], elem: Scalar, value: f64) {
    match elem {
        Scalar::F64 => slot.copy_from_slice(&value.to_ne_bytes()),
        Scalar::F16 => slot.copy_from_slice(&half::f16::from_f64(value).to_ne_bytes()),
        Scalar::Bf16 => slot.copy_from_slice(&half::bf16::from_f64(value).to_ne_bytes()),
        _ => slot.copy_from_slice(&(value as f32).to_ne_bytes()),
    }
}

fn map_floats(reference: &[u8], elem: Scalar, f: &dyn Fn(f64) -> f64) -> Vec<u8> {
    let mut mutated = reference.to_vec();
    for slot in mutated.chunks_exact_mut(elem.bytes()) {
        let value = f(float(slot, elem));
        put(slot, elem, value);
    }
    mutated
}

fn one_wrong(reference: &[u8], elem: Scalar) -> Vec<u8> {
    let mut mutated = reference.to_vec();
    let middle = reference.len() / elem.bytes() / 2;
    if let Some(slot) = mutated.chunks_exact_mut(elem.bytes()).nth(middle) {
        if elem.is_float() {
            let value = float(slot, elem);
            // Several units in the last place of every type.
            let factor = match elem {
                Scalar::F16 => 1.02,
                Scalar::Bf16 => 1.1,
                _ => 1.001,
            };
            put(slot, elem, value * factor + f64::MIN_POSITIVE);
        } else {
            slot[0] ^= 1;
        }
    }
    mutated
}

/// What the oracle's own test gave.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SelfTest {
    /// Mutants that were refused: output, mutant, the first case that refused it.
    pub refused: Vec<(String, Mutant, String)>,
    /// Mutants that never differed from the reference.
    pub equivalent: Vec<(String, Mutant)>,
    /// Mutants that differed and that the attribute's own tolerance admits.
    pub tolerated: Vec<(String, Mutant)>,
    /// How often inputs had to be strengthened.
    pub strengthened: usize,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mutants_differ_from_the_reference() {
        let reference: Vec<u8> = (0..40)
            .flat_map(|i| (1.234f32 + i as f32).to_ne_bytes())
            .collect();
        let before = vec![0xff; reference.len()];
        let inputs = [vec![1; reference.len()]];
        let material = Material {
            elem: Scalar::F32,
            reference: &reference,
            before: &before,
            inputs: &inputs,
            other: &reference,
        };
        for mutant in Mutant::ALL {
            let mutated = mutate(mutant, material);
            assert_eq!(mutated.len(), 1, "{mutant:?}");
            assert_eq!(mutated[0].len(), reference.len());
            assert_ne!(mutated[0], reference, "{mutant:?}");
        }
    }

    #[test]
    fn a_mutant_that_is_the_reference_is_none() {
        let reference = vec![0; 16];
        let material = Material {
            elem: Scalar::I32,
            reference: &reference,
            before: &reference,
            inputs: &[],
            other: &reference,
        };
        assert!(mutate(Mutant::Zeros, material).is_empty());
        assert!(mutate(Mutant::Constant, material).is_empty());
        assert!(mutate(Mutant::HalfPrecision, material).is_empty());
        assert_eq!(mutate(Mutant::OneWrong, material).len(), 1);
    }
}
