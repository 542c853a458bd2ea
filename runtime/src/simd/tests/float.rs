//! Arithmetic, comparisons, conversions and reductions of `F32` and `F64`.

use super::tier::*;
use crate::simd::tests::values::{Element, arrays};

/// Folds in the documented tree.
fn tree<E: Copy>(lanes: [E; LANES], fold: impl Fn(E, E) -> E) -> E {
    let mut lanes = lanes.to_vec();
    while lanes.len() > 1 {
        let half = lanes.len() / 2;
        lanes = (0..half).map(|i| fold(lanes[i], lanes[i + half])).collect();
    }
    lanes[0]
}

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

macro_rules! float_tests {
    ($T:ident, $e:ident, $B:ident, $select:ident, $module:ident) => {
        mod $module {
            use super::*;

            check! {
                fn arithmetic() {
                    for [a, b, c] in arrays::<$e, LANES>(2000) {
                        let (x, y, z) = ($T::from_array(a), $T::from_array(b), $T::from_array(c));
                        lanes!("add", x.add(y).to_array(), |i| a[i] + b[i]);
                        lanes!("sub", x.sub(y).to_array(), |i| a[i] - b[i]);
                        lanes!("mul", x.mul(y).to_array(), |i| a[i] * b[i]);
                        lanes!("div", x.div(y).to_array(), |i| a[i] / b[i]);
                        lanes!("neg", x.neg().to_array(), |i| -a[i]);
                        lanes!("abs", x.abs().to_array(), |i| a[i].abs());
                        lanes!("sqrt", x.sqrt().to_array(), |i| a[i].sqrt());
                        lanes!("recip", x.recip().to_array(), |i| 1.0 / a[i]);
                        lanes!("mul_add", x.mul_add(y, z).to_array(), |i| a[i].mul_add(b[i], c[i]));
                        lanes!("neg_mul_add", x.neg_mul_add(y, z).to_array(), |i| (-a[i]).mul_add(b[i], c[i]));
                        lanes!("copysign", x.copysign(y).to_array(), |i| a[i].copysign(b[i]));
                        lanes!("floor", x.floor().to_array(), |i| a[i].floor());
                        lanes!("ceil", x.ceil().to_array(), |i| a[i].ceil());
                        lanes!("trunc", x.trunc().to_array(), |i| a[i].trunc());
                        lanes!("round", x.round().to_array(), |i| a[i].round());
                        lanes!("ties", x.round_ties_even().to_array(), |i| a[i].round_ties_even());
                        lanes!("bits", $T::from_bits(x.to_bits()).to_array(), |i| a[i]);
                        lanes!("to_bits", x.to_bits().to_array(), |i| a[i].to_bits());
                    }
                }

                fn division_by_one_number() {
                    for [a, b, _] in arrays::<$e, LANES>(2000) {
                        let x = $T::from_array(a);
                        for d in b {
                            let got = x.div_uniform(d).to_array();
                            for (a, got) in a.into_iter().zip(got) {
                                let want = a / d;
                                // Neighbours of one sign differ by one as integers, infinity included.
                                let near = want.is_sign_negative() == got.is_sign_negative()
                                    && want.to_bits().abs_diff(got.to_bits()) <= 1
                                    && want.is_nan() == got.is_nan();
                                assert!(got.same(want) || near, "{a:e} / {d:e} = {got:e}, not {want:e}");
                            }
                        }
                    }
                }

                fn extremes() {
                    for [a, b, _] in arrays::<$e, LANES>(2000) {
                        let (x, y) = ($T::from_array(a), $T::from_array(b));
                        // The sign of the larger of two zeros is free, in Rust too.
                        let zeros = |i: usize, v: $e| a[i] == 0.0 && b[i] == 0.0 && v == 0.0;
                        let (max, min) = (x.max_num(y).to_array(), x.min_num(y).to_array());
                        lanes!("max_num", max, |i| if zeros(i, max[i]) { max[i] } else { a[i].max(b[i]) });
                        lanes!("min_num", min, |i| if zeros(i, min[i]) { min[i] } else { a[i].min(b[i]) });
                        lanes!("pick_gt", x.pick_gt(y).to_array(), |i| if a[i] > b[i] { a[i] } else { b[i] });
                        lanes!("pick_lt", x.pick_lt(y).to_array(), |i| if a[i] < b[i] { a[i] } else { b[i] });
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
                        masks!("nan", x.is_nan(), |i| a[i].is_nan());
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
                        }
                    }
                }

                fn reductions() {
                    for [a, b, c] in arrays::<$e, LANES>(2000) {
                        for a in [a, b, c] {
                            let x = $T::from_array(a);
                            assert!(x.reduce_add().same(tree(a, |p, q| p + q)), "{a:?}");
                            assert!(x.reduce_mul().same(tree(a, |p, q| p * q)), "{a:?}");
                            assert!(x.reduce_pick_gt().same(tree(a, |p, q| if p > q { p } else { q })), "{a:?}");
                            assert!(x.reduce_pick_lt().same(tree(a, |p, q| if p < q { p } else { q })), "{a:?}");
                            let (max, min) = (x.reduce_max_num(), x.reduce_min_num());
                            let (want_max, want_min) = (tree(a, $e::max), tree(a, $e::min));
                            assert!(max.same(want_max) || max == 0.0 && want_max == 0.0, "{a:?}");
                            assert!(min.same(want_min) || min == 0.0 && want_min == 0.0, "{a:?}");
                        }
                    }
                }

                fn construction() {
                    lanes!("splat", $T::splat(-2.5).to_array(), |_i| -2.5);
                    lanes!("zero", $T::zero().to_array(), |_i| 0.0);
                    lanes!("iota", $T::iota().to_array(), |i| i as $e);
                    for lane in 0..LANES {
                        assert_eq!($T::iota().extract(lane), lane as $e);
                    }
                    assert_eq!(format!("{:?}", $T::zero()), format!("{}({:?})", stringify!($T), [0.0; LANES]));
                }
            }
        }
    };
}

float_tests!(F32, f32, U32, select_f32, single);
float_tests!(F64, f64, U64, select_f64, double);

check! {
    fn widening_and_narrowing() {
        for [a, ..] in arrays::<f32, LANES>(2000) {
            lanes!("to_f64", F32::from_array(a).to_f64().to_array(), |i| f64::from(a[i]));
        }
        for [a, ..] in arrays::<f64, LANES>(2000) {
            lanes!("to_f32", F64::from_array(a).to_f32().to_array(), |i| a[i] as f32);
        }
    }

    fn masks() {
        for n in 0..LANES + 3 {
            let first = Mask::first(n);
            masks!("first", first, |i| i < n);
            assert_eq!(first.count() as usize, n.min(LANES));
            assert_eq!(first.any(), n > 0);
            assert_eq!(first.none(), n == 0);
            assert_eq!(first.all(), n >= LANES);
            masks!("not", first.not(), |i| i >= n);
        }
        assert!(Mask::first(usize::MAX).all());
        for bits in [0u32, 1, 0x5555_5555, 0xaaaa_aaaa, 0x1234_5678, u32::MAX] {
            let mask = Mask::from_bits(bits);
            masks!("from_bits", mask, |i| bits >> i & 1 == 1);
            let other = Mask::first(3);
            masks!("and", mask.and(other), |i| bits >> i & 1 == 1 && i < 3);
            masks!("or", mask.or(other), |i| bits >> i & 1 == 1 || i < 3);
            masks!("xor", mask.xor(other), |i| (bits >> i & 1 == 1) != (i < 3));
        }
        assert!(Mask::splat(true).all() && Mask::splat(false).none());
    }
}
