//! Comparing what a candidate produced with what it should have.
//!
//! Owns the accuracy policies of DESIGN.md section 6. Pure: bytes in, a tally or the first mismatch out.

use pragma_spec::Scalar;

/// How far a float may be from the f64 result beyond the reference's own distance, in units of the type's machine
/// epsilon times the sum of absolute terms that the oracle reports. Blocked sums need 2 or 3; vector math at most 2.
pub const BUDGET_EPS: f64 = 8.0;
/// The same for results of type `f64`. Their oracle is no more precise than they are: its own sums of n terms are off by
/// about the square root of n in eps, so a better sum than the reference's must not fail for that. Still a hundred
/// thousand times stricter than a detour through `f32`.
pub const BUDGET_EPS_F64: f64 = 4096.0;

/// How float results are judged. Integers must always equal the reference's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Policy {
    /// Against the oracle, within the reference's error plus the budget.
    Oracle,
    /// The reference's bits; any NaN for any NaN.
    Exact,
    /// Against the reference.
    Tolerance {
        /// Relative part.
        rtol: f64,
        /// Absolute part.
        atol: f64,
    },
}

/// One output of one call, as bytes.
#[derive(Clone, Copy, Debug)]
pub struct Piece<'a> {
    /// Element type.
    pub elem: Scalar,
    /// What the reference produced.
    pub reference: &'a [u8],
    /// What the oracle produced: for floats pairs of f64, value and sum of absolute terms; for others nothing is read.
    pub oracle: Option<&'a [u8]>,
    /// What the candidate produced.
    pub got: &'a [u8],
}

/// What was compared.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tally {
    /// Elements compared.
    pub judged: u64,
    /// Elements where reference and oracle disagree about being finite, so that nothing can be demanded.
    pub skipped: u64,
    /// The largest error seen, as a fraction of what was allowed.
    pub worst: f64,
}

impl Tally {
    /// Adds another tally.
    pub fn add(&mut self, other: Tally) {
        self.judged += other.judged;
        self.skipped += other.skipped;
        self.worst = self.worst.max(other.worst);
    }
}

/// The first element that is wrong.
#[derive(Clone, Debug, PartialEq)]
pub struct Mismatch {
    /// Its index.
    pub index: usize,
    /// The exact result, where there is an oracle.
    pub exact: Option<f64>,
    /// The reference's result.
    pub reference: String,
    /// The candidate's result.
    pub got: String,
    /// The largest error that would have passed.
    pub allowed: f64,
}

/// Machine epsilon and smallest positive number of a float type.
fn precision(elem: Scalar) -> (f64, f64) {
    match elem {
        Scalar::F64 => (f64::EPSILON, 5e-324),
        Scalar::F16 => (2f64.powi(-10), 2f64.powi(-24)),
        Scalar::Bf16 => (2f64.powi(-7), 2f64.powi(-133)),
        _ => (f64::from(f32::EPSILON), 2f64.powi(-149)),
    }
}

/// A float of type `elem` as f64.
pub fn float(bytes: &[u8], elem: Scalar) -> f64 {
    match (elem, bytes) {
        (Scalar::F64, &[a, b, c, d, e, f, g, h]) => f64::from_ne_bytes([a, b, c, d, e, f, g, h]),
        (Scalar::F16, &[a, b]) => half::f16::from_ne_bytes([a, b]).to_f64(),
        (Scalar::Bf16, &[a, b]) => half::bf16::from_ne_bytes([a, b]).to_f64(),
        (_, &[a, b, c, d]) => f64::from(f32::from_ne_bytes([a, b, c, d])),
        _ => f64::NAN,
    }
}

/// `value` rounded to type `elem`.
fn round_to(value: f64, elem: Scalar) -> f64 {
    match elem {
        Scalar::F64 => value,
        Scalar::F16 => half::f16::from_f64(value).to_f64(),
        Scalar::Bf16 => half::bf16::from_f64(value).to_f64(),
        _ => f64::from(value as f32),
    }
}

/// An element for people to read.
pub fn show(bytes: &[u8], elem: Scalar) -> String {
    if elem.is_float() {
        return match elem {
            Scalar::F64 => format!("{:e}", float(bytes, elem)),
            _ => format!("{:e}", float(bytes, elem) as f32),
        };
    }
    let mut wide = [0; 8];
    wide[..bytes.len().min(8)].copy_from_slice(&bytes[..bytes.len().min(8)]);
    let unsigned = u64::from_le_bytes(wide);
    if elem.is_signed() {
        let shift = 64 - 8 * bytes.len().clamp(1, 8) as u32;
        (((unsigned << shift) as i64) >> shift).to_string()
    } else {
        unsigned.to_string()
    }
}

/// Whether two results are of the same kind: both NaN, the same infinity, or both finite.
fn same_kind(a: f64, b: f64) -> bool {
    if a.is_finite() && b.is_finite() {
        return true;
    }
    (a.is_nan() && b.is_nan()) || a == b
}

/// Compares one output.
///
/// # Errors
/// The first mismatch. An output of another length than the reference's mismatches at the shorter one's end.
pub fn judge(piece: Piece<'_>, policy: Policy) -> Result<Tally, Mismatch> {
    let size = piece.elem.bytes();
    if piece.got.len() != piece.reference.len() {
        return Err(Mismatch {
            index: piece.got.len().min(piece.reference.len()) / size,
            exact: None,
            reference: format!("{} elements", piece.reference.len() / size),
            got: format!("{} elements", piece.got.len() / size),
            allowed: 0.0,
        });
    }
    let mut tally = Tally {
        judged: (piece.got.len() / size) as u64,
        ..Tally::default()
    };
    // Most of most outputs are equal, bit for bit; blocks of them are passed over at the speed of memory.
    const BLOCK: usize = 256;
    let blocks = piece
        .got
        .chunks(BLOCK * size)
        .zip(piece.reference.chunks(BLOCK * size));
    for (block, (got, reference)) in blocks.enumerate() {
        if got == reference {
            continue;
        }
        for (i, (got, reference)) in got
            .chunks_exact(size)
            .zip(reference.chunks_exact(size))
            .enumerate()
        {
            if got != reference {
                judge_element(piece, policy, block * BLOCK + i, got, reference, &mut tally)?;
            }
        }
    }
    Ok(tally)
}

fn judge_element(
    piece: Piece<'_>,
    policy: Policy,
    index: usize,
    got: &[u8],
    reference: &[u8],
    tally: &mut Tally,
) -> Result<(), Mismatch> {
    let verdict = if piece.elem.is_float() {
        judge_float(
            float(got, piece.elem),
            float(reference, piece.elem),
            oracle_at(piece.oracle, index),
            piece.elem,
            policy,
        )
    } else {
        Err((None, 0.0))
    };
    match verdict {
        Ok(Some(fraction)) => tally.worst = tally.worst.max(fraction),
        Ok(None) => {
            tally.judged -= 1;
            tally.skipped += 1;
        }
        Err((exact, allowed)) => {
            return Err(Mismatch {
                index,
                exact,
                reference: show(reference, piece.elem),
                got: show(got, piece.elem),
                allowed,
            });
        }
    }
    Ok(())
}

/// Value and sum of absolute terms of element `index`.
fn oracle_at(oracle: Option<&[u8]>, index: usize) -> Option<(f64, f64)> {
    let pair = oracle?.get(index * 16..index * 16 + 16)?;
    Some((
        float(&pair[..8], Scalar::F64),
        float(&pair[8..], Scalar::F64),
    ))
}

/// The error as a fraction of the allowed one; `None` where nothing can be demanded; otherwise the exact value and the
/// allowed error.
fn judge_float(
    got: f64,
    reference: f64,
    oracle: Option<(f64, f64)>,
    elem: Scalar,
    policy: Policy,
) -> Result<Option<f64>, (Option<f64>, f64)> {
    let (eps, tiny) = precision(elem);
    let (target, exact, allowed) = match policy {
        Policy::Exact => (reference, None, 0.0),
        Policy::Tolerance { rtol, atol } => (reference, None, atol + rtol * reference.abs()),
        Policy::Oracle => {
            let Some((value, magnitude)) = oracle else {
                return Err((None, 0.0));
            };
            if !same_kind(round_to(value, elem), reference) {
                return Ok(None);
            }
            let factor = if elem == Scalar::F64 {
                BUDGET_EPS_F64
            } else {
                BUDGET_EPS
            };
            let budget = factor * (eps * magnitude.abs().max(value.abs()) + tiny);
            (value, Some(value), (reference - value).abs() + budget)
        }
    };
    if !same_kind(got, reference) {
        return Err((exact, allowed));
    }
    if !reference.is_finite() {
        return Ok(Some(0.0));
    }
    if policy == Policy::Exact {
        return Err((exact, allowed));
    }
    let error = (got - target).abs();
    if error <= allowed {
        Ok(Some(if allowed > 0.0 { error / allowed } else { 0.0 }))
    } else {
        Err((exact, allowed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_better_f64_sum_passes_and_a_detour_through_f32_does_not() {
        // A sum of 2049 terms of size 1: the naive one, which oracle and reference share, is 14 eps off.
        let (naive, better) = (2049.0 * (1.0 + 14.0 * f64::EPSILON), 2049.0);
        let oracle = Some((naive, 2049.0));
        let judge = |got| judge_float(got, naive, oracle, Scalar::F64, Policy::Oracle);
        assert!(judge(better).is_ok());
        assert!(judge(f64::from(better as f32 * (1.0 + f32::EPSILON))).is_err());
    }

    fn f32s(values: &[f32]) -> Vec<u8> {
        values.iter().flat_map(|v| v.to_ne_bytes()).collect()
    }

    fn pairs(values: &[(f64, f64)]) -> Vec<u8> {
        values
            .iter()
            .flat_map(|(v, m)| [v.to_ne_bytes(), m.to_ne_bytes()])
            .flatten()
            .collect()
    }

    fn run(
        got: f32,
        reference: f32,
        oracle: (f64, f64),
        policy: Policy,
    ) -> Result<Tally, Mismatch> {
        let (got, reference, oracle) = (f32s(&[got]), f32s(&[reference]), pairs(&[oracle]));
        judge(
            Piece {
                elem: Scalar::F32,
                reference: &reference,
                oracle: Some(&oracle),
                got: &got,
            },
            policy,
        )
    }

    #[test]
    fn reordered_sums_pass_and_half_precision_does_not() {
        // A sum of 1000 terms around 1 with cancellation down to 3.
        assert!(run(3.00001, 3.0, (3.000_000_1, 1000.0), Policy::Oracle).is_ok());
        assert!(run(3.02, 3.0, (3.000_000_1, 1000.0), Policy::Oracle).is_err());
        let bf16 = half::bf16::from_f32(1.2345).to_f32();
        assert!(run(bf16, 1.2345, (1.2345, 1.2345), Policy::Oracle).is_err());
        // A bad reference licenses as much error and no more.
        assert!(run(1.1, 0.9, (1.0, 1.0), Policy::Oracle).is_ok());
        assert!(run(1.2, 0.9, (1.0, 1.0), Policy::Oracle).is_err());
    }

    #[test]
    fn special_values_must_agree() {
        let inf = f32::INFINITY;
        for policy in [
            Policy::Oracle,
            Policy::Exact,
            Policy::Tolerance {
                rtol: 0.1,
                atol: 0.1,
            },
        ] {
            assert!(run(f32::NAN, f32::NAN, (f64::NAN, 1.0), policy).is_ok());
            assert!(run(1.0, f32::NAN, (f64::NAN, 1.0), policy).is_err());
            assert!(run(-f32::INFINITY, inf, (f64::INFINITY, 1.0), policy).is_err());
            assert!(run(inf, 1.0, (1.0, 1.0), policy).is_err());
        }
        // Overflow that f64 does not share: nothing to demand.
        let tally = run(5.0, inf, (1e10, 1e10), Policy::Oracle).expect("skipped");
        assert_eq!((tally.judged, tally.skipped), (0, 1));
        // Overflow of the result itself is an infinity for both.
        assert!(run(1.0, inf, (1e300, 1e300), Policy::Oracle).is_err());
    }

    #[test]
    fn exact_means_bits_but_for_nan() {
        assert!(run(0.0, -0.0, (0.0, 0.0), Policy::Exact).is_err());
        assert!(
            run(
                f32::from_bits(0x7fc0_0001),
                f32::NAN,
                (0.0, 0.0),
                Policy::Exact
            )
            .is_ok()
        );
    }

    #[test]
    fn integers_are_exact_and_shown_with_sign() {
        let (got, reference) = ((-3i32).to_ne_bytes(), 5i32.to_ne_bytes());
        let piece = Piece {
            elem: Scalar::I32,
            reference: &reference,
            oracle: None,
            got: &got,
        };
        let mismatch = judge(piece, Policy::Oracle).expect_err("differs");
        assert_eq!(
            (mismatch.got.as_str(), mismatch.reference.as_str()),
            ("-3", "5")
        );
        let short = judge(Piece { got: &[], ..piece }, Policy::Oracle).expect_err("too short");
        assert_eq!(short.index, 0);
    }
}
