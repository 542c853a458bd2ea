//! Traps and limits; what programs compute is tested by the file tests.

use super::*;
use crate::ir::text::parse;

fn run_native(text: &str, dims: &[u64], params: Vec<Argument<f64>>) -> Result<Outcome<f64>, Trap> {
    let mut arguments = Arguments {
        dims: dims.to_vec(),
        params,
    };
    let limits = Limits {
        steps: 1000,
        elements: 100,
    };
    run::<Native>(&parse(text).unwrap(), &mut arguments, limits)
}

fn floats(values: &[f64]) -> Argument<f64> {
    Argument::Buffer(Buffer::floats::<Native>(
        Scalar::F32,
        values.iter().copied(),
    ))
}

fn int(value: i128) -> Argument<f64> {
    Argument::Scalar(Value::Int(value))
}

#[test]
fn runs_and_changes_mutable_buffers() {
    let text = "kernel scale(a: f32, x: mut [f32; n]) -> f32 dims(n) {
        let mut s: f32 = 0.0
        for i in 0..n { s = s + x[i] x[i] = x[i] * a }
        return (s) }";
    let mut arguments = Arguments {
        dims: vec![3],
        params: vec![
            Argument::Scalar(Value::Float(2.0)),
            floats(&[1.0, 2.0, 3.0]),
        ],
    };
    let program = parse(text).unwrap();
    let outcome = run::<Native>(&program, &mut arguments, Limits::default());
    assert_eq!(outcome, Ok(Outcome::Scalars(vec![Value::Float(6.0)])));
    assert_eq!(arguments.params[1], floats(&[2.0, 4.0, 6.0]));
}

#[test]
fn f32_arithmetic_rounds_each_step() {
    let text = "kernel k(a: f32) -> f32 dims() { return (a + 1.0 - a) }";
    let argument = || vec![Argument::Scalar(Value::Float(16_777_216.0))];
    assert_eq!(
        run_native(text, &[], argument()),
        Ok(Outcome::Scalars(vec![Value::Float(0.0)]))
    );
    let mut arguments = Arguments {
        dims: vec![],
        params: vec![Argument::Scalar(Value::Float(
            crate::oracle::dual::Dual::exact(16_777_216.0),
        ))],
    };
    let outcome = run::<Magnitude>(&parse(text).unwrap(), &mut arguments, Limits::default());
    let Ok(Outcome::Scalars(values)) = outcome else {
        panic!("{outcome:?}")
    };
    let Value::Float(result) = values[0] else {
        panic!("{values:?}")
    };
    assert_eq!((result.v, result.m), (1.0, 33_554_433.0));
}

#[test]
fn what_goes_wrong_is_a_trap() {
    let load = "kernel k(x: [f32; n], i: usize) -> f32 dims(n) { return (x[i]) }";
    assert_eq!(
        run_native(load, &[2], vec![floats(&[0.0, 1.0]), int(2)]),
        Err(Trap::OutOfBounds {
            buffer: "x".to_owned(),
            index: 2,
            len: 2
        })
    );
    assert!(matches!(
        run_native(load, &[3], vec![floats(&[0.0, 1.0]), int(0)]),
        Err(Trap::BadArguments(_))
    ));
    assert!(matches!(
        run_native(load, &[2], vec![floats(&[0.0, 1.0]), int(-1)]),
        Err(Trap::BadArguments(_))
    ));
    assert!(matches!(
        run_native(load, &[2], vec![floats(&[0.0, 1.0])]),
        Err(Trap::BadArguments(_))
    ));
    let divide = "kernel k(a: i32, b: i32) -> i32 dims() { return (a / b) }";
    assert_eq!(
        run_native(divide, &[], vec![int(1), int(0)]),
        Err(Trap::DivideByZero)
    );
    assert_eq!(
        run_native(divide, &[], vec![int(i128::from(i32::MIN)), int(-1)]),
        Err(Trap::DivideOverflow)
    );
    assert_eq!(
        run_native("kernel k() dims() { panic! }", &[], vec![]),
        Err(Trap::Panic)
    );
    assert_eq!(
        run_native("kernel k() dims() { while true { } }", &[], vec![]),
        Err(Trap::TooManySteps(1000))
    );
    assert_eq!(
        run_native(
            "kernel k() dims() { alloc t: local [u8;] len 101 fill 0u8 }",
            &[],
            vec![]
        ),
        Err(Trap::TooManyElements(100))
    );
    assert_eq!(
        run_native(
            "kernel k() -> r: ret [f32; n] dims(n) { r[0] = 1.0 }",
            &[2],
            vec![]
        ),
        Err(Trap::Unwritten {
            buffer: "r".to_owned(),
            index: 1
        })
    );
    assert!(matches!(
        run_native("kernel k() dims() { break }", &[], vec![]),
        Err(Trap::Unverified(_))
    ));
}

#[test]
fn a_loop_to_the_end_of_usize_ends() {
    let text = "kernel k() -> usize dims() {
        let mut n: usize = 0
        for i in 18446744073709551613..18446744073709551615 step 3 { n = n + 1 }
        return (n) }";
    assert_eq!(
        run_native(text, &[], vec![]),
        Ok(Outcome::Scalars(vec![Value::Int(1)]))
    );
}

#[test]
fn bits_of_halves() {
    for (value, bits) in [
        (1.0, 0x3c00),
        (-2.0, 0xc000),
        (65504.0, 0x7bff),
        (f64::INFINITY, 0x7c00),
        (2f64.powi(-24), 1),
        (2f64.powi(-14), 0x0400),
        (-0.0, 0x8000),
    ] {
        assert_eq!(float_bits(Scalar::F16, value), bits, "{value}");
    }
    assert_eq!(float_bits(Scalar::Bf16, 1.0), 0x3f80);
}
