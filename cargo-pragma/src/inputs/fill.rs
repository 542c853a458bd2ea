//! Filling a buffer of some scalar type from a description and a seed.
//!
//! Owns the value distributions and the ways in which values of one buffer depend on each other or on another buffer.
//! Which of them a case uses is decided in `verify::values`.

use pragma_spec::Scalar;
use serde::{Deserialize, Serialize};

use super::Rng;

/// How the ordinary values of a buffer are distributed. Bounds are converted to the element type with `as`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Fill {
    /// Uniform in `lo..hi`, or `lo..=hi`.
    Uniform {
        /// Lower bound, included.
        lo: f64,
        /// Upper bound.
        hi: f64,
        /// Whether `hi` may occur.
        inclusive: bool,
    },
    /// Bell-shaped around 0 within `-4 * scale .. 4 * scale`; integers are rounded.
    Bell {
        /// Multiplies every value.
        scale: f64,
    },
    /// One value everywhere.
    Constant(f64),
    /// A random choice from a list (an empty one gives zeros).
    Pick(Vec<f64>),
    /// Floats below the smallest normal number, of both signs, zeros of both signs among them. Integers: 0 and 1.
    Subnormal,
    /// Any bit pattern of an integer type; for floats any finite value whose exponent is near 1.
    Bits,
    /// Such values in ascending order.
    Sorted(Box<Fill>),
    /// Every index below the number of elements once.
    Permutation,
    /// Something between `lo` and `hi` above the values of another buffer, element by element.
    Above {
        /// The other buffer; one of a single element counts for all.
        base: Box<Base>,
        /// The least difference.
        lo: f64,
        /// The upper end of the difference.
        hi: f64,
        /// Whether `hi` may occur.
        inclusive: bool,
    },
    /// These bytes, as far as they go: what an expression of the crate made.
    Given(Vec<u8>),
    /// Records of `stride` elements each.
    Columns {
        /// Elements of a record.
        stride: u64,
        /// What is known of some of them.
        parts: Vec<Column>,
        /// All others; `None` leaves them as they are, for they are elements of another type.
        rest: Option<Box<Fill>>,
    },
}

/// A buffer that another one depends on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Base {
    /// Its values.
    pub values: Values,
    /// Their seed.
    pub seed: u64,
    /// The number of elements.
    pub len: u64,
}

/// Some elements of every record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Column {
    /// The first one.
    pub at: u64,
    /// How many.
    pub count: u64,
    /// Their values.
    pub fill: Fill,
    /// The first of as many elements of the same record that these are added to.
    pub above: Option<u64>,
}

/// Which values outside the ordinary are strewn in. Only float buffers get them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Specials {
    /// None.
    None,
    /// One NaN or infinity at a random place.
    One,
    /// NaN, infinities, zeros of both signs and huge values, about one in eight.
    Many,
}

/// The values of one argument.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Values {
    /// The ordinary values.
    pub fill: Fill,
    /// The extraordinary ones.
    pub specials: Specials,
    /// Whether every value changes its sign (floats and signed integers).
    pub negate: bool,
}

impl Values {
    /// Ordinary values only.
    pub fn plain(fill: Fill) -> Self {
        Values {
            fill,
            specials: Specials::None,
            negate: false,
        }
    }
}

/// Fills `bytes`, a whole number of elements of type `elem` in native byte order.
///
/// What records leave open ([`Fill::Columns`] without a rest) keeps the content that it has.
pub fn fill(bytes: &mut [u8], elem: Scalar, values: &Values, seed: u64) {
    let mut rng = Rng::new(seed);
    let size = elem.bytes();
    let like = |fill: &Fill| Values {
        fill: fill.clone(),
        ..values.clone()
    };
    match &values.fill {
        Fill::Columns {
            stride,
            parts,
            rest,
        } => {
            if let Some(rest) = rest {
                fill(bytes, elem, &like(rest), seed);
            }
            let record = usize::try_from(*stride).unwrap_or(usize::MAX).max(1);
            for (i, part) in parts.iter().enumerate() {
                let seed = Rng::derive(seed, 1 + i as u64);
                scatter(bytes, elem, record, part, &like(&part.fill), seed);
            }
            return;
        }
        Fill::Given(given) => {
            let both = bytes.len().min(given.len());
            bytes[..both].copy_from_slice(&given[..both]);
            return;
        }
        Fill::Sorted(inner) => {
            let plain = Values {
                specials: Specials::None,
                ..like(inner)
            };
            fill(bytes, elem, &plain, seed);
            let mut all: Vec<Drawn> = bytes.chunks_exact(size).map(|b| read(b, elem)).collect();
            all.sort_by(Drawn::order);
            for (slot, value) in bytes.chunks_exact_mut(size).zip(all) {
                write(slot, elem, value);
            }
        }
        Fill::Permutation => {
            let mut all: Vec<usize> = (0..bytes.len() / size).collect();
            rng.shuffle(&mut all);
            for (slot, index) in bytes.chunks_exact_mut(size).zip(all) {
                write(slot, elem, Drawn::Int(index as i128));
            }
        }
        Fill::Above {
            base,
            lo,
            hi,
            inclusive,
        } => {
            let mut below = vec![0; base.len as usize * size];
            fill(&mut below, elem, &base.values, base.seed);
            let difference = Fill::Uniform {
                lo: *lo,
                hi: *hi,
                inclusive: *inclusive,
            };
            let below: Vec<&[u8]> = below.chunks_exact(size).collect();
            let only = below.len() == 1;
            for (i, slot) in bytes.chunks_exact_mut(size).enumerate() {
                let base = below.get(if only { 0 } else { i });
                let base = base.map_or(Drawn::Int(0), |bytes| read(bytes, elem));
                write(slot, elem, base.plus(draw(&difference, elem, &mut rng)));
            }
        }
        // The large common cases get loops of their own: a tuning size has tens of millions of elements.
        Fill::Bell { scale } if elem == Scalar::F32 => {
            let scale = if values.negate { -scale } else { *scale } as f32;
            for pair in bytes.chunks_mut(8) {
                let bits = rng.next_u64();
                for (half, bits) in pair
                    .chunks_exact_mut(4)
                    .zip([bits as u32, (bits >> 32) as u32])
                {
                    half.copy_from_slice(&(bell(bits) * scale).to_ne_bytes());
                }
            }
        }
        Fill::Constant(_) if bytes.len() > size => {
            fill(
                &mut bytes[..size],
                elem,
                &Values {
                    specials: Specials::None,
                    ..values.clone()
                },
                seed,
            );
            let mut done = size;
            while done < bytes.len() {
                let more = done.min(bytes.len() - done);
                bytes.copy_within(..more, done);
                done += more;
            }
        }
        other => {
            for slot in bytes.chunks_exact_mut(size) {
                let value = draw(other, elem, &mut rng);
                write(
                    slot,
                    elem,
                    if values.negate {
                        value.negated()
                    } else {
                        value
                    },
                );
            }
        }
    }
    if elem.is_float() {
        strew(bytes, elem, values.specials, &mut rng);
    }
}

/// Fills some elements of every record of `record` elements.
fn scatter(
    bytes: &mut [u8],
    elem: Scalar,
    record: usize,
    part: &Column,
    values: &Values,
    seed: u64,
) {
    let size = elem.bytes();
    let (at, count) = (part.at as usize, part.count as usize);
    let records = bytes.len() / (record * size);
    let mut drawn = vec![0; records * count * size];
    fill(&mut drawn, elem, values, seed);
    let each = drawn.chunks_exact((count * size).max(1));
    for (record, drawn) in bytes.chunks_exact_mut(record * size).zip(each) {
        for i in 0..count {
            let value = &drawn[i * size..(i + 1) * size];
            let place = |first: usize| (first + i) * size..(first + i + 1) * size;
            let sum = part
                .above
                .and_then(|above| record.get(place(above as usize)))
                .map(|base| read(base, elem).plus(read(value, elem)));
            let Some(slot) = record.get_mut(place(at)) else {
                continue;
            };
            match sum {
                Some(sum) => write(slot, elem, sum),
                None => slot.copy_from_slice(value),
            }
        }
    }
}

/// A bell-shaped value in `-4.0..=4.0` from 32 random bits: the sum of four uniform bytes.
fn bell(bits: u32) -> f32 {
    let pairs = (bits & 0x00ff_00ff) + ((bits >> 8) & 0x00ff_00ff);
    let sum = (pairs & 0xffff) + (pairs >> 16);
    // The low bits of the draw break ties, so that values are not multiples of one step.
    let fine = (bits.wrapping_mul(0x9e37_79b9) >> 8) as f32 * (1.0 / (1u32 << 24) as f32);
    (sum as f32 + fine - 510.5) * (4.0 / 510.5)
}

/// A value on its way into a buffer.
#[derive(Clone, Copy)]
enum Drawn {
    Float(f64),
    Int(i128),
}

impl Drawn {
    fn negated(self) -> Self {
        match self {
            Drawn::Float(value) => Drawn::Float(-value),
            Drawn::Int(value) => Drawn::Int(-value),
        }
    }

    fn plus(self, other: Self) -> Self {
        match (self, other) {
            (Drawn::Int(a), Drawn::Int(b)) => Drawn::Int(a + b),
            (a, b) => Drawn::Float(a.float() + b.float()),
        }
    }

    fn float(self) -> f64 {
        match self {
            Drawn::Float(value) => value,
            Drawn::Int(value) => value as f64,
        }
    }

    fn order(&self, other: &Self) -> std::cmp::Ordering {
        match (self, other) {
            (Drawn::Int(a), Drawn::Int(b)) => a.cmp(b),
            (a, b) => a.float().total_cmp(&b.float()),
        }
    }
}

fn draw(fill: &Fill, elem: Scalar, rng: &mut Rng) -> Drawn {
    let whole = !elem.is_float();
    match fill {
        Fill::Uniform { lo, hi, inclusive } if whole => {
            let (lo, hi) = (
                lo.ceil() as i128,
                hi.ceil() as i128 + i128::from(*inclusive && hi.fract() == 0.0),
            );
            let width = u64::try_from((hi - lo).max(1)).unwrap_or(u64::MAX);
            Drawn::Int(lo + i128::from(rng.below(width)))
        }
        Fill::Uniform { lo, hi, .. } => {
            let value = lo + (hi - lo) * rng.unit();
            // Rounding to the element type must not reach an excluded upper bound.
            Drawn::Float(if elem == Scalar::F64 || (value as f32) < (*hi as f32) {
                value
            } else {
                *lo
            })
        }
        Fill::Bell { scale } => {
            let value = f64::from(bell(rng.next_u64() as u32)) * scale;
            if whole {
                Drawn::Int(value.round() as i128)
            } else {
                Drawn::Float(value)
            }
        }
        Fill::Constant(value) if whole => Drawn::Int(*value as i128),
        Fill::Constant(value) => Drawn::Float(*value),
        Fill::Pick(list) => {
            let value = list
                .get(rng.below(list.len() as u64) as usize)
                .copied()
                .unwrap_or(0.0);
            if whole {
                Drawn::Int(value as i128)
            } else {
                Drawn::Float(value)
            }
        }
        Fill::Subnormal if whole => Drawn::Int(i128::from(rng.next_u64() & 1)),
        Fill::Subnormal => {
            let bits = rng.next_u64();
            let magnitude = match elem {
                Scalar::F64 => f64::from_bits(bits >> 12),
                Scalar::F16 => f64::from(bits as u32 % 1024) * 2f64.powi(-24),
                Scalar::Bf16 => f64::from(f32::from_bits((bits as u32 % 128) << 16)),
                _ => f64::from(f32::from_bits(bits as u32 >> 9)),
            };
            let magnitude = if bits & 0b1110 == 0 { 0.0 } else { magnitude };
            Drawn::Float(if bits & 1 == 0 { magnitude } else { -magnitude })
        }
        // These are no single values; `fill` takes them apart.
        Fill::Sorted(_)
        | Fill::Permutation
        | Fill::Above { .. }
        | Fill::Given(_)
        | Fill::Columns { .. } => Drawn::Int(0),
        Fill::Bits if whole => Drawn::Int(i128::from(rng.next_u64() as i64)),
        Fill::Bits => {
            let bits = rng.next_u64();
            let exponent = (bits & 31) as i32 - 16;
            Drawn::Float(
                f64::from_bits((bits >> 12) | 0x3ff0_0000_0000_0000)
                    * 2f64.powi(exponent)
                    * if bits & 32 == 0 { 1.0 } else { -1.0 },
            )
        }
    }
}

/// The first element of `bytes`; 0 where there is none.
pub fn first(bytes: &[u8], elem: Scalar) -> f64 {
    bytes
        .get(..elem.bytes())
        .map_or(0.0, |slot| read(slot, elem).float())
}

/// The one value of a scalar that has these values, unless it is too large to be exact.
pub fn draw_one(elem: Scalar, values: &Values, seed: u64) -> Option<f64> {
    let mut bytes = [0; 8];
    let slot = bytes.get_mut(..elem.bytes())?;
    fill(slot, elem, values, seed);
    let value = read(slot, elem).float();
    (value.abs() < 9e15).then_some(value)
}

/// An `elem` as a number.
fn read(slot: &[u8], elem: Scalar) -> Drawn {
    if elem.is_float() {
        return Drawn::Float(crate::verify::float(slot, elem));
    }
    let mut wide = [0; 8];
    wide[..slot.len()].copy_from_slice(slot);
    let bits = u64::from_le_bytes(wide);
    let unused = 64 - 8 * slot.len() as u32;
    Drawn::Int(if elem.is_signed() {
        i128::from(((bits << unused) as i64) >> unused)
    } else {
        i128::from(bits)
    })
}

/// Writes `value` as an `elem`; integers wrap, floats round to nearest even.
fn write(slot: &mut [u8], elem: Scalar, value: Drawn) {
    let int = match value {
        Drawn::Int(value) => value,
        Drawn::Float(value) => value as i128,
    };
    let float = match value {
        Drawn::Int(value) => value as f64,
        Drawn::Float(value) => value,
    };
    match elem {
        Scalar::Bool => slot.copy_from_slice(&[(int & 1) as u8]),
        Scalar::I8 | Scalar::U8 => slot.copy_from_slice(&[int as u8]),
        Scalar::I16 | Scalar::U16 => slot.copy_from_slice(&(int as u16).to_ne_bytes()),
        Scalar::I32 | Scalar::U32 => slot.copy_from_slice(&(int as u32).to_ne_bytes()),
        Scalar::I64 | Scalar::U64 | Scalar::Isize | Scalar::Usize => {
            slot.copy_from_slice(&(int as u64).to_ne_bytes())
        }
        Scalar::F16 => slot.copy_from_slice(&half::f16::from_f64(float).to_bits().to_ne_bytes()),
        Scalar::Bf16 => slot.copy_from_slice(&half::bf16::from_f64(float).to_bits().to_ne_bytes()),
        Scalar::F32 => slot.copy_from_slice(&(float as f32).to_ne_bytes()),
        Scalar::F64 => slot.copy_from_slice(&float.to_ne_bytes()),
    }
}

/// Overwrites some floats with extraordinary ones.
fn strew(bytes: &mut [u8], elem: Scalar, specials: Specials, rng: &mut Rng) {
    let size = elem.bytes();
    let count = bytes.len() / size;
    if count == 0 {
        return;
    }
    let mut put = |index: usize, value: f64| {
        write(
            &mut bytes[index * size..(index + 1) * size],
            elem,
            Drawn::Float(value),
        );
    };
    match specials {
        Specials::None => {}
        Specials::One => {
            let value = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY][rng.below(3) as usize];
            // The last element is the one that tails get wrong, so it is chosen half of the time.
            let index = if rng.below(2) == 0 {
                count - 1
            } else {
                rng.below(count as u64) as usize
            };
            put(index, value);
        }
        Specials::Many => {
            let huge = match elem {
                Scalar::F64 => 1e140,
                Scalar::F16 => 6e4,
                // Its square fits, and so does the sum of a few million of them: sums must not overflow in one order only.
                _ => 1e16,
            };
            let values = [
                f64::NAN,
                f64::INFINITY,
                f64::NEG_INFINITY,
                0.0,
                -0.0,
                huge,
                -huge,
            ];
            for index in 0..count {
                if rng.below(8) == 0 {
                    put(index, values[rng.below(values.len() as u64) as usize]);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn floats(fill_: Fill, specials: Specials, n: usize) -> Vec<f32> {
        let mut bytes = vec![0; n * 4];
        let values = Values {
            fill: fill_,
            specials,
            negate: false,
        };
        fill(&mut bytes, Scalar::F32, &values, 9);
        bytes
            .chunks_exact(4)
            .map(|b| f32::from_ne_bytes([b[0], b[1], b[2], b[3]]))
            .collect()
    }

    #[test]
    fn bell_has_both_signs_and_stays_inside() {
        let v = floats(Fill::Bell { scale: 1.0 }, Specials::None, 10_001);
        assert!(v.iter().all(|x| x.abs() <= 4.0));
        let mean: f32 = v.iter().sum::<f32>() / v.len() as f32;
        assert!(mean.abs() < 0.1, "{mean}");
        assert!(v.iter().any(|x| *x > 2.0) && v.iter().any(|x| *x < -2.0));
    }

    #[test]
    fn uniform_integers_cover_the_range_and_nothing_else() {
        let mut bytes = vec![0; 1000 * 8];
        let values = Values::plain(Fill::Uniform {
            lo: 0.0,
            hi: 7.0,
            inclusive: false,
        });
        fill(&mut bytes, Scalar::Usize, &values, 5);
        let mut seen = [0; 7];
        for b in bytes.chunks_exact(8) {
            seen[u64::from_ne_bytes(b.try_into().expect("eight bytes")) as usize] += 1;
        }
        assert!(seen.iter().all(|&n| n > 0));
    }

    #[test]
    fn subnormals_are_subnormal() {
        let v = floats(Fill::Subnormal, Specials::None, 1000);
        assert!(v.iter().all(|x| x.abs() < f32::MIN_POSITIVE));
        assert!(v.iter().any(|x| *x != 0.0));
    }

    #[test]
    fn sorted_values_ascend_and_permutations_hit_everything() {
        let uniform = Fill::Uniform {
            lo: -3.0,
            hi: 9.0,
            inclusive: false,
        };
        let v = floats(Fill::Sorted(Box::new(uniform)), Specials::None, 500);
        assert!(v.is_sorted() && v[0] < -2.0 && v[499] > 8.0);
        let mut bytes = vec![0; 100 * 4];
        fill(
            &mut bytes,
            Scalar::U32,
            &Values::plain(Fill::Permutation),
            3,
        );
        let mut seen = [false; 100];
        for b in bytes.chunks_exact(4) {
            seen[u32::from_ne_bytes([b[0], b[1], b[2], b[3]]) as usize] = true;
        }
        assert!(seen.iter().all(|seen| *seen));
        assert_ne!(
            &bytes[..4],
            &[0; 4],
            "in some other order than the plain one"
        );
    }

    #[test]
    fn columns_keep_their_place_and_their_distance() {
        let uniform = |lo: f64, hi: f64| Fill::Uniform {
            lo,
            hi,
            inclusive: false,
        };
        let part = |at: u64, fill: Fill, above: Option<u64>| Column {
            at,
            count: 2,
            fill,
            above,
        };
        let fill_ = Fill::Columns {
            stride: 5,
            parts: vec![
                part(0, uniform(10.0, 20.0), None),
                part(2, uniform(0.5, 1.0), Some(0)),
            ],
            rest: Some(Box::new(Fill::Constant(7.0))),
        };
        let v = floats(fill_, Specials::None, 50);
        for record in v.chunks_exact(5) {
            for axis in 0..2 {
                let (lo, hi) = (record[axis], record[2 + axis]);
                assert!((10.0..20.0).contains(&lo) && hi >= lo + 0.49 && hi <= lo + 1.01);
            }
            assert_eq!(record[4], 7.0);
        }
    }

    #[test]
    fn values_above_another_buffer() {
        let base = Base {
            values: Values::plain(Fill::Bell { scale: 1.0 }),
            seed: 4,
            len: 30,
        };
        let mut below = vec![0; 30 * 4];
        fill(&mut below, Scalar::F32, &base.values, base.seed);
        let above = Fill::Above {
            base: Box::new(base),
            lo: 1.0,
            hi: 2.0,
            inclusive: false,
        };
        let v = floats(above, Specials::None, 30);
        for (b, v) in below.chunks_exact(4).zip(v) {
            let b = f32::from_ne_bytes([b[0], b[1], b[2], b[3]]);
            assert!(v - b > 0.99 && v - b < 2.01);
        }
    }

    #[test]
    fn one_value_is_drawn_as_the_buffer_would_have_it() {
        let values = Values::plain(Fill::Uniform {
            lo: -9.0,
            hi: -3.0,
            inclusive: false,
        });
        let value = draw_one(Scalar::I16, &values, 8).expect("a small number");
        let mut bytes = [0; 2];
        fill(&mut bytes, Scalar::I16, &values, 8);
        assert_eq!(f64::from(i16::from_ne_bytes(bytes)), value);
        let wide = Values::plain(Fill::Constant(1e18));
        assert_eq!(draw_one(Scalar::U64, &wide, 1), None);
    }

    #[test]
    fn specials_appear() {
        let one = floats(Fill::Bell { scale: 1.0 }, Specials::One, 100);
        assert_eq!(one.iter().filter(|x| !x.is_finite()).count(), 1);
        let many = floats(Fill::Bell { scale: 1.0 }, Specials::Many, 1000);
        assert!(many.iter().any(|x| x.is_nan()) && many.iter().any(|x| x.is_infinite()));
    }

    #[test]
    fn every_type_fills() {
        for elem in Scalar::ALL {
            for fill_ in [
                Fill::Bits,
                Fill::Bell { scale: 3.0 },
                Fill::Constant(1.0),
                Fill::Subnormal,
                Fill::Pick(vec![1.0, 2.0]),
            ] {
                let mut bytes = vec![0xee; 16 * elem.bytes()];
                fill(&mut bytes, elem, &Values::plain(fill_), 1);
                if elem == Scalar::Bool {
                    assert!(bytes.iter().all(|b| *b <= 1));
                }
            }
        }
    }
}
