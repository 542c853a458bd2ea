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
    atan < 2.0, |x| x.atan();
    cbrt < 0.51, |x| x.cbrt();
    cos < 2.0, |x| x.cos();
    cosh < 1.5, |x| x.cosh();
    erf < 1.5, |x| c::erf(x);
    erfc < 0.6, |x| c::erfc(x);
    exp < 1.0, |x| x.exp();
    exp2 < 1.0, |x| x.exp2();
    exp_m1 < 1.5, |x| x.exp_m1();
    ln < 1.0, |x| x.ln();
    ln_1p < 1.0, |x| x.ln_1p();
    log10 < 2.0, |x| x.log10();
    log2 < 2.0, |x| x.log2();
    sigmoid < 2.0, |x| 1.0 / (1.0 + (-x).exp());
    sin < 2.0, |x| x.sin();
    sinh < 2.0, |x| x.sinh();
    tan < 3.0, |x| x.tan();
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
