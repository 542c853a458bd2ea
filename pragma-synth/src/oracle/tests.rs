//! The rules of magnitudes, one by one, and the refusals. That oracles compute the right thing is
//! the file tests' business.

use super::dual::Dual;
use super::*;
use crate::ir::text::parse;
use pragma_spec::{ParamKind, ParamSig, ReturnSig};

fn dual(v: f64, m: f64) -> Dual {
    Dual { v, m }
}

#[test]
fn operators() {
    let (a, b) = (dual(3.0, 5.0), dual(-2.0, 7.0));
    assert_eq!(((a + b).v, (a + b).m), (1.0, 12.0));
    assert_eq!(((a - b).v, (a - b).m), (5.0, 12.0));
    assert_eq!(((a * b).v, (a * b).m), (-6.0, 35.0));
    // m(a) / |b| * max(1, m(b) / |b|)
    assert_eq!(((a / b).v, (a / b).m), (-1.5, 5.0 / 2.0 * 3.5));
    let exact = dual(4.0, 4.0);
    assert_eq!(((a / exact).v, (a / exact).m), (0.75, 1.25));
    assert_eq!(((a % b).v, (a % b).m), (1.0, 12.0));
    assert_eq!(((-a).v, (-a).m), (-3.0, 5.0));
    let fused = a.mul_add(b, exact);
    assert_eq!((fused.v, fused.m), (-2.0, 39.0));
    assert_eq!(Dual::exact(-1.5).m, 1.5);
    assert_eq!(dual(2.0, 3.0).powi(3).m, 27.0);
    assert_eq!(dual(2.0, 2.0).powi(-3).m, 0.125);
    assert_eq!(dual(2.0, 3.0).powi(0).m, 1.0);
    assert_eq!(dual(3.0, 5.0).hypot(dual(4.0, 6.0)).m, 11.0);
    assert_eq!(dual(-3.0, 5.0).abs().m, 5.0);
}

#[test]
fn functions_follow_their_slope() {
    type Rule = (&'static str, fn(Dual) -> Dual, fn(f64) -> f64);
    let rules: [Rule; 22] = [
        ("sqrt", Dual::sqrt, f64::sqrt),
        ("cbrt", Dual::cbrt, f64::cbrt),
        ("exp", Dual::exp, f64::exp),
        ("exp2", Dual::exp2, f64::exp2),
        ("exp_m1", Dual::exp_m1, f64::exp_m1),
        ("ln", Dual::ln, f64::ln),
        ("log2", Dual::log2, f64::log2),
        ("log10", Dual::log10, f64::log10),
        ("ln_1p", Dual::ln_1p, f64::ln_1p),
        ("sin", Dual::sin, f64::sin),
        ("cos", Dual::cos, f64::cos),
        ("tan", Dual::tan, f64::tan),
        ("asin", Dual::asin, f64::asin),
        ("acos", Dual::acos, f64::acos),
        ("atan", Dual::atan, f64::atan),
        ("sinh", Dual::sinh, f64::sinh),
        ("cosh", Dual::cosh, f64::cosh),
        ("tanh", Dual::tanh, f64::tanh),
        ("powf 2.5", |x| x.powf(dual(2.5, 0.0)), |x| x.powf(2.5)),
        ("powf of 3", |x| dual(3.0, 0.0).powf(x), |x| 3f64.powf(x)),
        ("atan2", |x| x.atan2(dual(0.5, 0.0)), |x| x.atan2(0.5)),
        ("atan2 of", |x| dual(0.5, 0.0).atan2(x), |x| 0.5f64.atan2(x)),
    ];
    for (name, rule, function) in rules {
        for x in [0.1, 0.5, 0.75] {
            let h = 1e-6;
            let slope = ((function(x + h) - function(x - h)) / (2.0 * h)).abs();
            let found = rule(dual(x, 3.0));
            assert_eq!(found.v, function(x), "{name}");
            let wanted = found.v.abs() + slope * 3.0;
            assert!(
                (found.m - wanted).abs() < 1e-7 * wanted,
                "{name}({x}): {}, not {wanted}",
                found.m
            );
        }
    }
}

#[test]
fn magnitudes_stay_finite() {
    let inf = f64::INFINITY;
    let odd = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        2.0,
        1e-320,
        1e300,
        inf,
        -inf,
        f64::NAN,
    ];
    let unary: [fn(Dual) -> Dual; 21] = [
        Dual::sqrt,
        Dual::cbrt,
        Dual::recip,
        Dual::floor,
        Dual::exp,
        Dual::exp2,
        Dual::exp_m1,
        Dual::ln,
        Dual::log2,
        Dual::log10,
        Dual::ln_1p,
        Dual::sin,
        Dual::cos,
        Dual::tan,
        Dual::asin,
        Dual::acos,
        Dual::atan,
        Dual::sinh,
        Dual::cosh,
        Dual::tanh,
        Dual::signum,
    ];
    let binary: [fn(Dual, Dual) -> Dual; 14] = [
        |a, b| a + b,
        |a, b| a - b,
        |a, b| a * b,
        |a, b| a / b,
        |a, b| a % b,
        Dual::max,
        Dual::min,
        Dual::powf,
        Dual::atan2,
        Dual::hypot,
        Dual::rem_euclid,
        Dual::div_euclid,
        Dual::copysign,
        |a, b| a.powi(b.v as i32),
    ];
    let ok = |d: Dual| d.m >= 0.0 && d.m <= f64::MAX;
    for x in odd {
        let x = Dual::exact(x);
        assert!(ok(x));
        for function in unary {
            assert!(ok(function(x)), "{x:?} to {:?}", function(x));
        }
        for y in odd {
            let y = Dual::exact(y);
            for function in binary {
                assert!(ok(function(x, y)), "{x:?} {y:?} to {:?}", function(x, y));
            }
        }
    }
    // What is exactly zero stays so.
    assert_eq!(Dual::exact(0.0).sqrt().m, 0.0);
    assert_eq!((Dual::exact(0.0) * Dual::exact(inf)).m, 0.0);
}

#[test]
fn a_tie_takes_the_larger_magnitude() {
    // A sum that cancelled: a kernel may well find it slightly above zero.
    let cancelled = dual(-1e-9, 100.0);
    assert_eq!(
        (
            cancelled.max(Dual::exact(0.0)).v,
            cancelled.max(Dual::exact(0.0)).m
        ),
        (0.0, 100.0)
    );
    assert_eq!(dual(-1.0, 100.0).max(Dual::exact(0.0)).m, 0.0);
    assert_eq!(Dual::exact(2.0).min(dual(2.0001, 3.0)).m, 3.0);
    let zero = Dual::exact(0.0);
    assert_eq!(Dual::choose_gt(cancelled, zero, cancelled, zero).m, 100.0);
    assert_eq!(
        Dual::choose_gt(dual(-1.0, 100.0), zero, cancelled, zero).m,
        0.0
    );
    // A NaN is ignored.
    assert_eq!(Dual::exact(f64::NAN).max(Dual::exact(1.0)).v, 1.0);
    assert_eq!(Dual::exact(1.0).min(Dual::exact(f64::NAN)).v, 1.0);
}

fn oracle(text: &str, params: &[(&str, ParamKind)]) -> Result<String, OracleError> {
    let params = params.iter().map(|(name, kind)| ParamSig {
        name: (*name).to_owned(),
        kind: *kind,
    });
    let signature = KernelSignature::plain("k", params.collect(), ReturnSig::Nothing);
    oracle_source(&parse(text).unwrap(), &signature)
}

#[test]
fn refusals() {
    let slice = |elem| ParamKind::Slice {
        elem,
        mutable: elem == Scalar::F16,
    };
    assert_eq!(
        oracle(
            "kernel k(x: mut [f16; n]) dims(n) { }",
            &[("x", slice(Scalar::F16))]
        ),
        Err(OracleError::Unsupported(Scalar::F16))
    );
    assert_eq!(
        oracle(
            "kernel k(x: f32) dims() { let y: f32 = x as bf16 as f32 }",
            &[("x", ParamKind::Scalar(Scalar::F32))]
        ),
        Err(OracleError::Unsupported(Scalar::Bf16))
    );
    assert!(matches!(
        oracle(
            "kernel k(x: [f32; n, m]) dims(n, m) { }",
            &[("x", slice(Scalar::F32))]
        ),
        Err(OracleError::Guard(_))
    ));
    assert!(matches!(
        oracle("kernel k() dims() { break }", &[]),
        Err(OracleError::Unverified(_))
    ));
    assert_eq!(
        oracle("kernel k(x: f32) dims() { }", &[]),
        Err(OracleError::OtherSignature {
            program: 1,
            signature: 0
        })
    );
    assert!(
        oracle(
            "kernel k(x: [f32; n]) dims(n) { }",
            &[("y", slice(Scalar::F32))]
        )
        .is_ok()
    );
}
