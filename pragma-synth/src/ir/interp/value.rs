//! What a program computes with: scalars, buffers, and the ranges of their types.

use std::ops::RangeInclusive;

use pragma_spec::Scalar;

use super::Domain;

/// A scalar; its type is that of the variable, element or expression it belongs to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<F> {
    /// A `bool`.
    Bool(bool),
    /// An integer of any type, in range of that type.
    Int(i128),
    /// A float of any type.
    Float(F),
}

/// A flat array.
#[derive(Clone, Debug, PartialEq)]
pub struct Buffer<F> {
    /// The element type.
    pub elem: Scalar,
    /// The elements; `None` where nothing has been written yet.
    pub values: Vec<Option<Value<F>>>,
}

impl<F: Copy> Buffer<F> {
    /// Elements of a float type, each exactly representable in it.
    pub fn floats<D: Domain<Float = F>>(
        elem: Scalar,
        values: impl IntoIterator<Item = f64>,
    ) -> Self {
        let element = |value| Some(Value::Float(D::constant(elem, value)));
        Buffer {
            elem,
            values: values.into_iter().map(element).collect(),
        }
    }

    /// Elements of an integer type, each in its range.
    pub fn ints(elem: Scalar, values: impl IntoIterator<Item = i128>) -> Self {
        let element = |value| Some(Value::Int(value));
        Buffer {
            elem,
            values: values.into_iter().map(element).collect(),
        }
    }

    /// Elements of type `bool`.
    pub fn bools(values: impl IntoIterator<Item = bool>) -> Self {
        let element = |value| Some(Value::Bool(value));
        Buffer {
            elem: Scalar::Bool,
            values: values.into_iter().map(element).collect(),
        }
    }

    /// Elements that nobody has written, as a `Return` buffer starts.
    pub fn unwritten(elem: Scalar, len: usize) -> Self {
        Buffer {
            elem,
            values: vec![None; len],
        }
    }

    /// The float elements, where all are written floats.
    pub fn as_floats(&self) -> Option<Vec<F>> {
        let float = |value: &Option<Value<F>>| match value {
            Some(Value::Float(value)) => Some(*value),
            _ => None,
        };
        self.values.iter().map(float).collect()
    }

    /// The integer elements (`bool` as 0 and 1), where all are written integers.
    pub fn as_ints(&self) -> Option<Vec<i128>> {
        let int = |value: &Option<Value<F>>| match value {
            Some(Value::Int(value)) => Some(*value),
            Some(Value::Bool(value)) => Some(i128::from(*value)),
            _ => None,
        };
        self.values.iter().map(int).collect()
    }
}

/// The width of an integer type in bits.
pub fn int_bits(scalar: Scalar) -> u32 {
    scalar.bytes() as u32 * 8
}

/// The values of an integer type; empty for other types.
pub fn int_range(scalar: Scalar) -> RangeInclusive<i128> {
    let bits = int_bits(scalar);
    if !scalar.is_integer() {
        // Empty on purpose.
        #[allow(clippy::reversed_empty_ranges, reason = "no value is in range")]
        return 1..=0;
    }
    if scalar.is_signed() {
        -(1 << (bits - 1))..=(1 << (bits - 1)) - 1
    } else {
        0..=(1 << bits) - 1
    }
}

/// The value of type `scalar` with the low bits of `value`.
pub fn wrap(scalar: Scalar, value: i128) -> i128 {
    let unused = 128 - int_bits(scalar);
    if scalar.is_signed() {
        (value << unused) >> unused
    } else {
        (((value as u128) << unused) >> unused) as i128
    }
}

/// The nearest value of a float type, ties to even.
pub fn round_to(scalar: Scalar, value: f64) -> f64 {
    match scalar {
        Scalar::F32 => f64::from(value as f32),
        // Explicit mantissa bits, and the exponent of the smallest normal number.
        Scalar::F16 => round_binary(value, 10, -14, 65504.0),
        Scalar::Bf16 => round_binary(value, 7, -126, 3.389_531_389_251_535_5e38),
        _ => value,
    }
}

fn round_binary(value: f64, mantissa: i32, min_exponent: i32, max: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    let exponent = (value.to_bits() >> 52 & 0x7ff) as i32 - 1023;
    let ulp = 2f64.powi(exponent.max(min_exponent) - mantissa);
    // Both operations are exact: `ulp` is a power of two and the quotient is small.
    let rounded = (value / ulp).round_ties_even() * ulp;
    if rounded.abs() > max {
        f64::INFINITY.copysign(value)
    } else {
        rounded
    }
}

/// Whether `value` is a value of this float type. NaN is one of every float type.
pub fn representable(scalar: Scalar, value: f64) -> bool {
    value.is_nan() || round_to(scalar, value) == value
}

/// The bits of the value of type `scalar` nearest to `value`.
pub fn float_bits(scalar: Scalar, value: f64) -> i128 {
    match scalar {
        Scalar::F64 => i128::from(value.to_bits()),
        Scalar::F32 => i128::from((value as f32).to_bits()),
        Scalar::Bf16 => i128::from((round_to(scalar, value) as f32).to_bits() >> 16),
        _ => {
            let value = round_to(Scalar::F16, value);
            let sign = if value.is_sign_negative() { 0x8000 } else { 0 };
            let size = value.abs();
            let bits = if size.is_nan() {
                0x7e00
            } else if size.is_infinite() {
                0x7c00
            } else if size < 2f64.powi(-14) {
                (size * 2f64.powi(24)) as i128
            } else {
                // Re-bias the exponent; the mantissa's low bits are zero after rounding.
                i128::from(size.to_bits() >> 42) - ((1023 - 15) << 10)
            };
            bits | sign
        }
    }
}

/// Whether a value is one of this type.
pub(super) fn has_type<F>(scalar: Scalar, value: &Value<F>) -> bool {
    match value {
        Value::Bool(_) => scalar == Scalar::Bool,
        Value::Int(value) => int_range(scalar).contains(value),
        Value::Float(_) => scalar.is_float(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrapping_is_rusts() {
        for value in [
            -1i128,
            0,
            127,
            128,
            255,
            256,
            -129,
            i128::from(u64::MAX),
            1 << 70,
        ] {
            assert_eq!(wrap(Scalar::I8, value), i128::from(value as i8));
            assert_eq!(wrap(Scalar::U16, value), i128::from(value as u16));
            assert_eq!(wrap(Scalar::I64, value), i128::from(value as i64));
            assert_eq!(wrap(Scalar::Usize, value), i128::from(value as u64));
        }
        assert_eq!(int_range(Scalar::I8), -128..=127);
        assert_eq!(int_range(Scalar::U64), 0..=i128::from(u64::MAX));
        assert!(int_range(Scalar::F32).is_empty());
    }

    #[test]
    fn halves_round_to_even() {
        let f16 = |value| round_to(Scalar::F16, value);
        assert_eq!(f16(2049.0), 2048.0);
        assert_eq!(f16(2051.0), 2052.0);
        assert_eq!(f16(65519.0), 65504.0);
        assert_eq!(f16(65520.0), f64::INFINITY);
        assert_eq!(f16(2f64.powi(-25)), 0.0);
        assert_eq!(f16(1.5 * 2f64.powi(-25)), 2f64.powi(-24));
        let bf16 = |value| round_to(Scalar::Bf16, value);
        assert_eq!(bf16(257.0), 256.0);
        assert_eq!(bf16(259.0), 260.0);
        assert_eq!(bf16(f64::from(f32::MAX)), f64::INFINITY);
        assert_eq!(
            bf16(f64::from(f32::from_bits(0x7f7f_0000))),
            f64::from(f32::from_bits(0x7f7f_0000))
        );
        assert!(representable(Scalar::F32, 0.5) && !representable(Scalar::F32, 0.1));
    }
}
