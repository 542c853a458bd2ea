//! Vector math against `f64` scalar math, within the error that each function states.

use super::tier::*;
use crate::simd::tests::values::{Element, Random, arguments, error};

/// What std has in nightly only.
mod c {
    unsafe extern "C" {
        // From the C math library that std links already.
        pub safe fn erf(x: f64) -> f64;
        pub safe fn erfc(x: f64) -> f64;
    }
}

macro_rules! unary_tests {
    ($($name:ident < $bound:literal, |$x:ident| $exact:expr;)*) => {
        check! { $(
            fn $name() {
                for x in arguments().chunks(LANES) {
                    // SAFETY: `x.len()` elements are readable.
                    let got = unsafe { F32::load_partial(x.as_ptr(), x.len()) }.$name().to_array();
                    for (&arg, got) in x.iter().zip(got) {
                        let $x = f64::from(arg);
                        let exact: f64 = $exact;
                        let error = error(exact, got);
                        assert!(error < $bound, "{}({arg:e}) = {got:e}, not {exact:e}: {error} ulp", stringify!($name));
                    }
                }
            }
        )* }
    };
}

unary_tests! {
    acos < 1.5, |x| x.acos();
    asin < 1.0, |x| x.asin();
    atan < 2.5, |x| x.atan();
    cbrt < 0.51, |x| x.cbrt();
    cos < 2.0, |x| x.cos();
    cosh < 1.5, |x| x.cosh();
    erf < 1.5, |x| c::erf(x);
    erfc < 0.6, |x| c::erfc(x);
    exp < 1.0, |x| x.exp();
    exp2 < 1.0, |x| x.exp2();
    exp_m1 < 2.0, |x| x.exp_m1();
    ln < 1.0, |x| x.ln();
    ln_1p < 1.0, |x| x.ln_1p();
    log10 < 2.0, |x| x.log10();
    log2 < 2.0, |x| x.log2();
    one_plus_tanh < 2.5, |x| if x < -64.0 * std::f64::consts::LN_2 { 0.0 } else { 2.0 / (1.0 + (-2.0 * x).exp()) };
    sigmoid < 2.0, |x| 1.0 / (1.0 + (-x).exp());
    sin < 2.0, |x| x.sin();
    sinh < 2.0, |x| x.sinh();
    tan < 2.5, |x| x.tan();
    tanh < 1.0, |x| x.tanh();
}

/// Pairs of special values, then of random ones of every magnitude, then of moderate ones.
fn pairs() -> Vec<[f32; 2]> {
    let mut all = Vec::new();
    for &a in f32::SPECIAL {
        for &b in f32::SPECIAL {
            all.push([a, b]);
        }
    }
    let mut random = Random::new();
    let count = if cfg!(debug_assertions) {
        20_000
    } else {
        500_000
    };
    for _ in 0..count {
        all.push([
            f32::from_bits(random.bits() as u32),
            f32::from_bits(random.bits() as u32),
        ]);
        let unit = |bits: u64| (bits >> 40) as f32 / 16777216.0;
        all.push([
            unit(random.bits()) * 4.0,
            unit(random.bits()) * 200.0 - 100.0,
        ]);
        all.push([
            -unit(random.bits()) * 2.0,
            (random.bits() % 41) as f32 - 20.0,
        ]);
    }
    all
}

macro_rules! binary_tests {
    ($($name:ident < $bound:literal, |$x:ident, $y:ident| $exact:expr;)*) => {
        check! { $(
            fn $name() {
                for pairs in pairs().chunks_exact(LANES) {
                    let x = F32::from_array(std::array::from_fn(|i| pairs[i][0]));
                    let y = F32::from_array(std::array::from_fn(|i| pairs[i][1]));
                    let got = x.$name(y).to_array();
                    for (&[a, b], got) in pairs.iter().zip(got) {
                        let ($x, $y) = (f64::from(a), f64::from(b));
                        let exact: f64 = $exact;
                        let error = error(exact, got);
                        assert!(error < $bound, "{}({a:e}, {b:e}) = {got:e}, not {exact:e}: {error} ulp", stringify!($name));
                    }
                }
            }
        )* }
    };
}

binary_tests! {
    atan2 < 2.0, |y, x| y.atan2(x);
    pow < 0.51, |x, y| x.powf(y);
}

/// Arguments for a function of one `f64`: special values and the neighbours of turning points, then random bits, then
/// moderate numbers.
fn arguments_f64() -> Vec<f64> {
    let mut all = f64::SPECIAL.to_vec();
    let points = [
        0.0,
        f64::MIN_POSITIVE,
        f64::EPSILON / 4.0,
        0.5,
        0.6,
        0.75,
        1.0,
        1.5,
        2.0,
        22.0,
        38.0,
        44.0,
        708.3964185322641,
        709.782712893384,
        710.0,
        745.1332191019412,
        746.0,
        1022.0,
        1024.0,
        1074.0,
        1075.0,
        std::f64::consts::FRAC_PI_2,
        std::f64::consts::PI,
        std::f64::consts::LN_2,
        65536.0,
        1e300,
        f64::MAX,
        f64::INFINITY,
    ];
    for point in points {
        for offset in -20i64..=20 {
            let near = f64::from_bits(point.to_bits().wrapping_add_signed(offset));
            all.extend([near, -near]);
        }
    }
    let mut random = Random::new();
    let count = if cfg!(debug_assertions) {
        10_000
    } else {
        300_000
    };
    for _ in 0..count {
        let unit = (random.bits() >> 11) as f64 / 9007199254740992.0 - 0.5;
        all.extend([
            f64::from_bits(random.bits()),
            unit * 4.0,
            unit * 100.0,
            unit * 1600.0,
            1.0 + unit,
            unit * 100000.0,
        ]);
    }
    all
}

/// Pairs as for `f32`.
fn pairs_f64() -> Vec<[f64; 2]> {
    let mut all = Vec::new();
    for &a in f64::SPECIAL {
        for &b in f64::SPECIAL {
            all.push([a, b]);
        }
    }
    let mut random = Random::new();
    let count = if cfg!(debug_assertions) {
        20_000
    } else {
        500_000
    };
    for _ in 0..count {
        let unit = |bits: u64| (bits >> 11) as f64 / 9007199254740992.0;
        all.push([f64::from_bits(random.bits()), f64::from_bits(random.bits())]);
        all.push([
            f64::from_bits(random.bits()).abs(),
            unit(random.bits()) * 4.0 - 2.0,
        ]);
        all.push([
            unit(random.bits()) * 4.0,
            unit(random.bits()) * 2000.0 - 1000.0,
        ]);
        all.push([
            -unit(random.bits()) * 2.0,
            (random.bits() % 401) as f64 - 200.0,
        ]);
        all.push([
            1.0 + unit(random.bits()) / 1048576.0,
            unit(random.bits()) * 1e9 - 5e8,
        ]);
    }
    all
}

/// How many `f64` lie between two results; infinite if only one is a NaN or zeros differ in sign.
fn distance(want: f64, got: f64) -> f64 {
    if want.same(got) {
        return 0.0;
    }
    if want.is_nan() || got.is_nan() || want == 0.0 && got == 0.0 {
        return f64::INFINITY;
    }
    let place = |v: f64| {
        if v < 0.0 {
            -((v.to_bits() << 1 >> 1) as i64)
        } else {
            v.to_bits() as i64
        }
    };
    place(want).abs_diff(place(got)) as f64
}

/// The scalar functions are off by up to one themselves, so this allows one more than the stated error.
macro_rules! unary_f64_tests {
    ($($name:ident <= $bound:literal, |$x:ident| $want:expr;)*) => {
        mod double {
            use super::*;

            check! { $(
                fn $name() {
                    for x in arguments_f64().chunks(LANES) {
                        // SAFETY: `x.len()` elements are readable.
                        let got = unsafe { F64::load_partial(x.as_ptr(), x.len()) }.$name().to_array();
                        for (&$x, got) in x.iter().zip(got) {
                            let want: f64 = $want;
                            let off = distance(want, got);
                            assert!(off <= $bound, "{}({:e}) = {got:e}, not {want:e}: {off} off", stringify!($name), $x);
                        }
                    }
                }
            )* }
        }
    };
}

unary_f64_tests! {
    cos <= 2.0, |x| x.cos();
    exp <= 1.0, |x| x.exp();
    exp2 <= 1.0, |x| x.exp2();
    exp_m1 <= 2.0, |x| x.exp_m1();
    ln <= 1.0, |x| x.ln();
    ln_1p <= 1.0, |x| x.ln_1p();
    log10 <= 2.0, |x| x.log10();
    log2 <= 2.0, |x| x.log2();
    one_plus_tanh <= 3.0, |x| if x < -512.0 * std::f64::consts::LN_2 { 0.0 } else { 2.0 / (1.0 + (-2.0 * x).exp()) };
    sigmoid <= 3.0, |x| if x < 0.0 { x.exp() / (1.0 + x.exp()) } else { 1.0 / (1.0 + (-x).exp()) };
    sin <= 2.0, |x| x.sin();
    tanh <= 2.0, |x| x.tanh();
}

check! {
    fn pow_f64() {
        for pairs in pairs_f64().chunks_exact(LANES) {
            let x = F64::from_array(std::array::from_fn(|i| pairs[i][0]));
            let y = F64::from_array(std::array::from_fn(|i| pairs[i][1]));
            for (&[x, y], got) in pairs.iter().zip(x.pow(y).to_array()) {
                let want = x.powf(y);
                let off = distance(want, got);
                assert!(off <= 1.0, "pow({x:e}, {y:e}) = {got:e}, not {want:e}: {off} off");
            }
        }
    }
}
