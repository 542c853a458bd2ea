//! Integer and `bool` operators, on values held as `i128`.

use pragma_spec::Scalar;

use super::Trap;
use super::value::{int_bits, int_range, wrap};
use crate::ir::{BinaryOp, Func};

/// `a op b` on integers of type `scalar`; a shift count `b` may be of any type.
pub(super) fn binary(op: BinaryOp, scalar: Scalar, a: i128, b: i128) -> Result<i128, Trap> {
    let count = (b & i128::from(int_bits(scalar) - 1)) as u32;
    let exact = match op {
        BinaryOp::Add => a + b,
        BinaryOp::Sub => a - b,
        // The product of two `u64` may not fit, but its low bits do.
        BinaryOp::Mul => a.wrapping_mul(b),
        BinaryOp::Div => {
            divisible(scalar, a, b)?;
            a / b
        }
        BinaryOp::Rem => {
            divisible(scalar, a, b)?;
            a % b
        }
        BinaryOp::And => a & b,
        BinaryOp::Or => a | b,
        BinaryOp::Xor => a ^ b,
        BinaryOp::Shl => a.wrapping_shl(count),
        BinaryOp::Shr => a >> count,
    };
    Ok(wrap(scalar, exact))
}

fn divisible(scalar: Scalar, a: i128, b: i128) -> Result<(), Trap> {
    match b {
        0 => Err(Trap::DivideByZero),
        -1 if a == *int_range(scalar).start() => Err(Trap::DivideOverflow),
        _ => Ok(()),
    }
}

/// `func` applied to integers, the first of type `scalar`.
pub(super) fn call(func: Func, scalar: Scalar, args: &[i128]) -> Result<i128, Trap> {
    let x = args[0];
    let y = args.get(1).copied().unwrap_or(0);
    let bits = int_bits(scalar);
    let mask = u128::MAX >> (128 - bits);
    let pattern = x as u128 & mask;
    let rotate_left = |by: u32| {
        let by = by % bits;
        if by == 0 {
            pattern
        } else {
            pattern << by | pattern >> (bits - by)
        }
    };
    let exact = match func {
        Func::Neg => -x,
        Func::Not => !x,
        Func::Abs => x.abs(),
        Func::Signum => x.signum(),
        Func::CountOnes => return Ok(i128::from(pattern.count_ones())),
        Func::LeadingZeros => return Ok(i128::from(pattern.leading_zeros() - (128 - bits))),
        Func::TrailingZeros => return Ok(i128::from(pattern.trailing_zeros().min(bits))),
        Func::Max => x.max(y),
        Func::Min => x.min(y),
        Func::RemEuclid => {
            divisible(scalar, x, y)?;
            x.rem_euclid(y)
        }
        Func::DivEuclid => {
            divisible(scalar, x, y)?;
            x.div_euclid(y)
        }
        Func::AbsDiff => return Ok((x - y).abs()),
        Func::SaturatingAdd => (x + y).clamp(*int_range(scalar).start(), *int_range(scalar).end()),
        Func::SaturatingSub => (x - y).clamp(*int_range(scalar).start(), *int_range(scalar).end()),
        Func::RotateLeft => rotate_left((y % i128::from(bits)) as u32) as i128,
        Func::RotateRight => rotate_left(bits - (y % i128::from(bits)) as u32) as i128,
        other => {
            return Err(Trap::Malformed(format!("`{}` of an integer", other.name())));
        }
    };
    Ok(wrap(scalar, exact))
}

/// A float as an integer: towards zero, saturating, NaN to 0.
pub(super) fn from_float(to: Scalar, value: f64) -> i128 {
    let range = int_range(to);
    (value as i128).clamp(*range.start(), *range.end())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against the compiler's own arithmetic on every pair of interesting values.
    macro_rules! check_type {
        ($int:ident, $scalar:expr, $values:expr) => {
            let ints: Vec<$int> = $values;
            for &a in &ints {
                for &b in &ints {
                    let (x, y) = (i128::from(a), i128::from(b));
                    let op = |op| binary(op, $scalar, x, y);
                    let func = |func| call(func, $scalar, &[x, y]).unwrap();
                    assert_eq!(op(BinaryOp::Add), Ok(i128::from(a.wrapping_add(b))));
                    assert_eq!(op(BinaryOp::Sub), Ok(i128::from(a.wrapping_sub(b))));
                    assert_eq!(op(BinaryOp::Mul), Ok(i128::from(a.wrapping_mul(b))));
                    assert_eq!(op(BinaryOp::Div).ok(), a.checked_div(b).map(i128::from));
                    assert_eq!(op(BinaryOp::Rem).ok(), a.checked_rem(b).map(i128::from));
                    assert_eq!(op(BinaryOp::Xor), Ok(i128::from(a ^ b)));
                    assert_eq!(op(BinaryOp::Shl), Ok(i128::from(a.wrapping_shl(b as u32))));
                    assert_eq!(op(BinaryOp::Shr), Ok(i128::from(a.wrapping_shr(b as u32))));
                    assert_eq!(func(Func::AbsDiff), i128::from(a.abs_diff(b)));
                    assert_eq!(func(Func::SaturatingAdd), i128::from(a.saturating_add(b)));
                    assert_eq!(func(Func::SaturatingSub), i128::from(a.saturating_sub(b)));
                    assert_eq!(
                        call(Func::RemEuclid, $scalar, &[x, y]).ok(),
                        a.checked_rem_euclid(b).map(i128::from)
                    );
                    assert_eq!(
                        call(Func::DivEuclid, $scalar, &[x, y]).ok(),
                        a.checked_div_euclid(b).map(i128::from)
                    );
                }
                for by in [0u32, 1, 7, 8, 9, 31, 32, 63, 64, 1000, u32::MAX] {
                    let args = [i128::from(a), i128::from(by)];
                    assert_eq!(
                        call(Func::RotateLeft, $scalar, &args),
                        Ok(i128::from(a.rotate_left(by)))
                    );
                    assert_eq!(
                        call(Func::RotateRight, $scalar, &args),
                        Ok(i128::from(a.rotate_right(by)))
                    );
                }
                let one = |func| call(func, $scalar, &[i128::from(a)]).unwrap();
                assert_eq!(one(Func::Not), i128::from(!a));
                assert_eq!(one(Func::Neg), i128::from(a.wrapping_neg()));
                assert_eq!(one(Func::CountOnes), i128::from(a.count_ones()));
                assert_eq!(one(Func::LeadingZeros), i128::from(a.leading_zeros()));
                assert_eq!(one(Func::TrailingZeros), i128::from(a.trailing_zeros()));
            }
        };
    }

    #[test]
    fn integers_are_rusts() {
        check_type!(i8, Scalar::I8, (i8::MIN..=i8::MAX).collect());
        check_type!(u8, Scalar::U8, (0..=u8::MAX).collect());
        check_type!(
            i32,
            Scalar::I32,
            vec![i32::MIN, i32::MIN + 1, -33, -1, 0, 1, 2, 31, i32::MAX]
        );
        check_type!(
            u64,
            Scalar::U64,
            vec![0, 1, 3, 63, 64, 1 << 32, u64::MAX - 1, u64::MAX]
        );
        check_type!(i64, Scalar::I64, vec![i64::MIN, -1, 0, 1, 64, i64::MAX]);
    }

    #[test]
    fn floats_saturate() {
        for value in [
            0.0,
            -0.9,
            1.9,
            127.5,
            128.0,
            -1e30,
            1e30,
            f64::NAN,
            f64::INFINITY,
        ] {
            assert_eq!(from_float(Scalar::I8, value), i128::from(value as i8));
            assert_eq!(from_float(Scalar::U64, value), i128::from(value as u64));
            assert_eq!(from_float(Scalar::I64, value), i128::from(value as i64));
        }
    }
}
