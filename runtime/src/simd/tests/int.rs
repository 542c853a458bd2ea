//! Arithmetic, comparisons, conversions and reductions of the integer vectors.

use super::tier::*;
use crate::simd::tests::values::{Element, arrays};

/// Checks that `got` is `want` of each lane.
macro_rules! lanes {
    ($what:literal, $got:expr, |$i:ident| $want:expr) => {{
        let got = $got;
        for $i in 0..LANES {
            let want = $want;
            assert!(
                got[$i].same(want),
                "{} lane {}: {:?}, not {:?}",
                $what,
                $i,
                got[$i],
                want
            );
        }
    }};
}

/// Checks a mask.
macro_rules! masks {
    ($what:literal, $got:expr, |$i:ident| $want:expr) => {{
        let got = $got.to_bits();
        let want = (0..LANES).fold(0u32, |bits, $i| bits | u32::from($want) << $i);
        assert_eq!(got, want, $what);
    }};
}

macro_rules! int_tests {
    ($T:ident, $e:ident, $select:ident, $module:ident) => {
        mod $module {
            use super::*;

            check! {
                fn arithmetic() {
                    for [a, b, _] in arrays::<$e, LANES>(2000) {
                        let (x, y) = ($T::from_array(a), $T::from_array(b));
                        lanes!("add", x.add(y).to_array(), |i| a[i].wrapping_add(b[i]));
                        lanes!("sub", x.sub(y).to_array(), |i| a[i].wrapping_sub(b[i]));
                        lanes!("mul", x.mul(y).to_array(), |i| a[i].wrapping_mul(b[i]));
                        lanes!("neg", x.neg().to_array(), |i| a[i].wrapping_neg());
                        lanes!("and", x.and(y).to_array(), |i| a[i] & b[i]);
                        lanes!("or", x.or(y).to_array(), |i| a[i] | b[i]);
                        lanes!("xor", x.xor(y).to_array(), |i| a[i] ^ b[i]);
                        lanes!("not", x.not().to_array(), |i| !a[i]);
                        lanes!("min", x.min(y).to_array(), |i| a[i].min(b[i]));
                        lanes!("max", x.max(y).to_array(), |i| a[i].max(b[i]));
                        lanes!("popcount", x.popcount().to_array(), |i| a[i].count_ones() as $e);
                        lanes!("shl_lanes", x.shl_lanes(y).to_array(), |i| a[i].wrapping_shl(b[i] as u32));
                        lanes!("shr_lanes", x.shr_lanes(y).to_array(), |i| a[i].wrapping_shr(b[i] as u32));
                        for n in [0, 1, 7, 31, 32, 63, 64, 100, u32::MAX, b[0] as u32] {
                            lanes!("shl", x.shl(n).to_array(), |i| a[i].wrapping_shl(n));
                            lanes!("shr", x.shr(n).to_array(), |i| a[i].wrapping_shr(n));
                            lanes!("rotate_left", x.rotate_left(n).to_array(), |i| a[i].rotate_left(n));
                            lanes!("rotate_right", x.rotate_right(n).to_array(), |i| a[i].rotate_right(n));
                        }
                    }
                }

                fn comparisons() {
                    for [a, b, c] in arrays::<$e, LANES>(2000) {
                        let (x, y, z) = ($T::from_array(a), $T::from_array(b), $T::from_array(c));
                        masks!("lt", x.lt(y), |i| a[i] < b[i]);
                        masks!("le", x.le(y), |i| a[i] <= b[i]);
                        masks!("gt", x.gt(y), |i| a[i] > b[i]);
                        masks!("ge", x.ge(y), |i| a[i] >= b[i]);
                        masks!("eq", x.eq(y), |i| a[i] == b[i]);
                        masks!("ne", x.ne(y), |i| a[i] != b[i]);
                        lanes!("select", x.lt(y).$select(y, z).to_array(), |i| if a[i] < b[i] { b[i] } else { c[i] });
                    }
                }

                fn conversions() {
                    for [a, b, c] in arrays::<$e, LANES>(2000) {
                        for a in [a, b, c] {
                            let x = $T::from_array(a);
                            lanes!("to_i32", x.to_i32().to_array(), |i| a[i] as i32);
                            lanes!("to_u32", x.to_u32().to_array(), |i| a[i] as u32);
                            lanes!("to_i64", x.to_i64().to_array(), |i| a[i] as i64);
                            lanes!("to_u64", x.to_u64().to_array(), |i| a[i] as u64);
                            lanes!("to_f32", x.to_f32().to_array(), |i| a[i] as f32);
                            lanes!("to_f64", x.to_f64().to_array(), |i| a[i] as f64);
                        }
                    }
                }

                fn reductions() {
                    for [a, b, c] in arrays::<$e, LANES>(2000) {
                        for a in [a, b, c] {
                            let x = $T::from_array(a);
                            assert_eq!(x.reduce_add(), a.iter().fold(0, |p: $e, q| p.wrapping_add(*q)));
                            assert_eq!(x.reduce_min(), a.iter().copied().fold($e::MAX, $e::min));
                            assert_eq!(x.reduce_max(), a.iter().copied().fold($e::MIN, $e::max));
                            assert_eq!(x.reduce_and(), a.iter().fold(!0, |p, q| p & q));
                            assert_eq!(x.reduce_or(), a.iter().fold(0, |p, q| p | q));
                            assert_eq!(x.reduce_xor(), a.iter().fold(0, |p, q| p ^ q));
                        }
                    }
                }

                fn construction() {
                    lanes!("splat", $T::splat(77).to_array(), |_i| 77);
                    lanes!("zero", $T::zero().to_array(), |_i| 0);
                    lanes!("iota", $T::iota().to_array(), |i| i as $e);
                    for lane in 0..LANES {
                        assert_eq!($T::iota().extract(lane), lane as $e);
                    }
                    assert_eq!(format!("{:?}", $T::zero()), format!("{}({:?})", stringify!($T), [0; LANES]));
                }
            }
        }
    };
}

int_tests!(I32, i32, select_i32, i32_tests);
int_tests!(U32, u32, select_u32, u32_tests);
int_tests!(I64, i64, select_i64, i64_tests);
int_tests!(U64, u64, select_u64, u64_tests);

check! {
    fn magnitudes() {
        for [a, ..] in arrays::<i32, LANES>(2000) {
            lanes!("abs", I32::from_array(a).abs().to_array(), |i| a[i].wrapping_abs());
        }
        for [a, ..] in arrays::<i64, LANES>(2000) {
            lanes!("abs", I64::from_array(a).abs().to_array(), |i| a[i].wrapping_abs());
        }
    }
}
