//! Round trips of chosen texts, and refusals; random programs are in `tests/text_round_trip.rs`.

use super::*;
use crate::ir::verify::verify;

const RMS_NORM: &str = "\
kernel rms_norm(x: [f32; rows, d], weight: [f32; d], eps: f32, out: mut [f32; rows, d]) dims(rows, d) {
  for r in 0..rows parallel(grain = 65536, serial_below = 65536) {
    let mut ms: f32 = 0.0
    for j in 0..d vector(unroll = 4) {
      ms = ms + x[r * d + j] * x[r * d + j]
    }
    let scale: f32 = 1.0 / sqrt(ms / d as f32 + eps)
    for i in 0..d vector(unroll = 1) {
      stream out[r * d + i] = x[r * d + i] * scale * weight[i]
    }
  }
}
";

/// Prints every construct whose text is delicate.
const CORNERS: &str = "\
kernel corners(mut a: f32, n: dim, r#type: i8, stream: bool, alloc: mut [f64; (n + 1) * 2 - (n - 1), n / (2 * n)]) -> (f32, bool) dims(n) {
  let mut f: f32 = -1.5 - -(1.5) + -a - -(-1.5)
  let b: bool = !(a < f) & (f == a) | (1e-7 >= 3.4028235e38)
  let i: i8 = r#type << 1i8 >> -128i8 ^ (r#type & 3i8 | 4i8)
  let u: usize = (n + 1) * 2 % 3 - (4 - (5 - 6))
  let h: f16 = f16::NEG_INFINITY
  let g: f64 = (a as f64 + 0.1f64) as f32 as f64
  let s: f32 = select(b, mul_add(a, f, 1e16), (a + f) * -(a * f))
  alloc tmp: local [f32;] len n fill f32::INFINITY
  alloc[0] = g
  stream alloc[n] = 1e300f64
  for k in n - 1..n * 2 step 3 {
    if stream {
      f = tmp[k]
      if b {
        continue
      } else {
        if stream {
          break
        }
      }
    } else {
      panic!
    }
  }
  for z in 0..n unroll(factor = 2) {
  }
  for q in 0..n parallel(grain = 1, serial_below = 2) vector(unroll = 3) {
  }
  while f < a {
    f = f + 1.0
  }
  return (f, true)
}
";

#[test]
fn prints_what_it_reads() {
    for text in [RMS_NORM, CORNERS, "kernel k() dims() {\n}\n"] {
        let program = parse(text).unwrap();
        assert_eq!(program.to_string(), text);
        assert_eq!(verify(&program), Ok(()));
    }
}

#[test]
fn other_numbering_is_kept() {
    let mut program = parse("kernel k(a: f32) dims() { let b: f32 = a }").unwrap();
    program.add_var("unused", pragma_spec::Scalar::I8, true);
    program.vars.swap(0, 1);
    program.params[0] = crate::ir::Param::Scalar(crate::ir::VarId(1));
    program.body = vec![crate::ir::Stmt::Let {
        var: crate::ir::VarId(0),
        value: crate::ir::Expr::Var(crate::ir::VarId(1)),
    }];
    let text = program.to_string();
    assert!(
        text.contains("vars(b: f32, a: f32, mut unused: i8)"),
        "{text}"
    );
    assert_eq!(parse(&text).unwrap(), program);
}

#[test]
fn comments_and_layout_mean_nothing() {
    let loose = RMS_NORM
        .replace("  ", "\t")
        .replace(") {", ")//x\n{ // y\n");
    assert_eq!(parse(&loose), parse(RMS_NORM));
}

#[test]
fn refusals_say_where() {
    let at = |text: &str| {
        let error = parse(text).unwrap_err();
        (error.line, error.col, error.message)
    };
    assert_eq!(
        at("kernel k() dims() {\n  let a: f32 = b\n}"),
        (
            2,
            16,
            "expected a variable or dimension declared before, found `b`".to_owned()
        )
    );
    for (text, about) in [
        (
            "kernel k() dims() { let a: f32 = 1.0 let a: f32 = 2.0 }",
            "twice",
        ),
        ("kernel k(n: dim) dims() { }", "dims"),
        ("kernel k() dims() { x[0] = 1 }", "buffer"),
        (
            "kernel k() dims() { let a: f32 = 1.0 < 2.0 < 3.0 }",
            "statement",
        ),
        ("kernel k() dims() { let a: f32 = sine(1.0) }", "function"),
        ("kernel k() dims() { let a: u8 = 1.5u8 }", "literal"),
        ("kernel k() dims() { let a: u8 = 1x }", "number type"),
        ("kernel k() dims() { let a: f32 = $ }", "character"),
        (
            "kernel k() dims() { for i in 0..1 vector(unroll = 4294967296) { } }",
            "large",
        ),
        ("kernel k() dims() { ", "the end"),
        ("kernel k() dims() { } extra", "expected the end"),
    ] {
        let message = parse(text).unwrap_err().message;
        assert!(message.contains(about), "{text}: {message}");
    }
}

#[test]
fn deep_nesting_is_refused_not_overflowed() {
    let deep = format!(
        "kernel k() dims() {{ let a: f32 = {}1.0{} }}",
        "(".repeat(100_000),
        ")".repeat(100_000)
    );
    assert!(parse(&deep).unwrap_err().message.contains("nested"));
    let minus = format!(
        "kernel k(b: f32) dims() {{ let a: f32 = {}b }}",
        "-".repeat(100_000)
    );
    assert!(parse(&minus).unwrap_err().message.contains("nested"));
}
