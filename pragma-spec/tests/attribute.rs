//! The grammar of the attribute: what is read and what is refused, with which words.

use pragma_spec::{Accuracy, DimExpr, InputSpec, KernelAttribute, KernelSignature, TargetSet};

fn parse(text: &str) -> Result<KernelAttribute, String> {
    let tokens = text.parse().expect("these tests lex");
    KernelAttribute::parse(tokens).map_err(message)
}

fn message(error: pragma_spec::SpecError) -> String {
    match error.help {
        Some(help) => format!("{} | {help}", error.message),
        None => error.message,
    }
}

fn signature(text: &str) -> KernelSignature {
    let sig: syn::Signature = syn::parse_str(text).expect("a signature");
    KernelSignature::from_syn(&sig).expect("a kernel signature")
}

fn validate(attribute: &str, sig: &str) -> Result<(), String> {
    let attribute = parse(attribute).expect("a good attribute");
    attribute.validate(&signature(sig)).map_err(message)
}

#[test]
fn nothing_is_the_default() {
    let attribute = parse("").expect("nothing is fine");
    assert_eq!(attribute, KernelAttribute::default());
    assert_eq!(
        attribute.targets,
        TargetSet {
            cpu: true,
            cuda: false
        }
    );
    assert_eq!(attribute.threads, None);
}

#[test]
fn every_key_is_read() {
    let attribute = parse(
        "shape(x = [rows, d], r#in = [2 * d - 1], return = [(rows + 1) / 2]), shape(y = [3]),
         tune(rows = 2048, d = 1_024), tune(rows = 1u32, eps = 1e-5, t = -2.5),
         inputs(x = -4.0..4.0, k = 0..=9, idx = 0..rows, j = 1..=rows - 1, s = [0, 1.5], e = make(3)),
         tolerance(rtol = 1e-5), assume(finite), targets(cpu, cuda), threads(2),
         instantiate(T = f32, T = half::f16, N = 4), crate = ::my::runtime,",
    )
    .expect("all of it is fine");
    let shapes: Vec<String> = attribute
        .shapes
        .iter()
        .map(|(name, shape)| format!("{name} = {shape}"))
        .collect();
    assert_eq!(
        shapes,
        [
            "x = [rows, d]",
            "in = [2 * d - 1]",
            "return = [(rows + 1) / 2]",
            "y = [3]"
        ]
    );
    let tunes: Vec<String> = attribute.tunes.iter().map(ToString::to_string).collect();
    assert_eq!(
        tunes,
        ["rows = 2048, d = 1024", "rows = 1, eps = 1e-5, t = -2.5"]
    );
    assert_eq!(attribute.tunes[1].get("eps"), Some(1e-5));
    let rows = || DimExpr::dim("rows");
    let one = || Box::new(DimExpr::Const(1));
    let expected = [
        (
            "x",
            InputSpec::Range {
                lo: -4.0,
                hi: 4.0,
                inclusive: false,
            },
        ),
        (
            "k",
            InputSpec::Range {
                lo: 0.0,
                hi: 9.0,
                inclusive: true,
            },
        ),
        (
            "idx",
            InputSpec::DimRange {
                lo: DimExpr::Const(0),
                hi: rows(),
            },
        ),
        (
            "j",
            InputSpec::DimRange {
                lo: DimExpr::Const(1),
                hi: DimExpr::Add(Box::new(DimExpr::Sub(Box::new(rows()), one())), one()),
            },
        ),
        ("s", InputSpec::Set(vec![0.0, 1.5])),
        ("e", InputSpec::Expr("make (3)".to_owned())),
    ];
    for ((name, spec), (expected_name, expected)) in attribute.inputs.iter().zip(&expected) {
        assert_eq!((name.as_str(), spec), (*expected_name, expected));
    }
    assert_eq!(attribute.inputs.len(), expected.len());
    assert_eq!(
        attribute.accuracy,
        Accuracy::Tolerance {
            rtol: 1e-5,
            atol: 0.0
        }
    );
    assert!(attribute.assume_finite && attribute.targets.cpu && attribute.targets.cuda);
    assert_eq!(attribute.threads, Some(2));
    let pairs = [("T", "f32"), ("T", "half::f16"), ("N", "4")];
    let pairs = pairs.map(|(a, b)| (a.to_owned(), b.to_owned()));
    assert_eq!(attribute.instantiate, pairs);
    assert_eq!(attribute.crate_path.as_deref(), Some("::my::runtime"));
    assert_eq!(attribute.dims(), ["rows", "d"]);
    assert_eq!(parse("exact").map(|a| a.accuracy), Ok(Accuracy::Exact));
}

#[test]
fn what_is_wrong_is_said() {
    let known = "`shape`, `tune`, `inputs`, `tolerance`, `exact`, `assume`, `targets`, `instantiate`, `threads`, `crate`";
    for (text, expected) in [
        ("shapes(x = [n])", "unknown argument `shapes` | did you mean `shape`?".to_owned()),
        ("banana", format!("unknown argument `banana` | known here: {known}")),
        ("shape", "`shape` takes parentheses | write `shape(x = [rows, d])`".to_owned()),
        ("shape(x = n)", "a shape is a list of sizes | write `[rows, d]`, or `[n]` for a single size".to_owned()),
        ("shape(x = [])", "a shape needs at least one size".to_owned()),
        (
            "shape(x = [n % 2])",
            "this is not a size | a size is a name, a number, or `+ - * /` of those".to_owned(),
        ),
        ("shape(x = [n], x = [m])", "`x` is given two shapes".to_owned()),
        ("tune(n = m)", "the size `n` must be a number".to_owned()),
        ("tune(n = 1, n = 2)", "`n` is given twice".to_owned()),
        (
            "tune()",
            "`tune` needs at least one size | write `tune(rows = 2048, d = 1024)`".to_owned(),
        ),
        ("inputs(x = 1..)", "an input range needs both ends".to_owned()),
        ("inputs(x = 1..1)", "this range is empty".to_owned()),
        ("inputs(x = [])", "a set of inputs needs at least one value".to_owned()),
        ("inputs(x = 0..1, x = 0..2)", "`x` is given two kinds of input".to_owned()),
        (
            "tolerance()",
            "`tolerance` needs `rtol`, `atol` or both | write `tolerance(rtol = 1e-5, atol = 1e-8)`".to_owned(),
        ),
        ("tolerance(rtol = -1)", "`rtol` must be a number that is not negative".to_owned()),
        ("tolerance(rtl = 1)", "unknown tolerance `rtl` | did you mean `rtol`?".to_owned()),
        ("tolerance(rtol = 1, rtol = 1)", "`rtol` is given twice".to_owned()),
        ("exact, tolerance(rtol = 1)", "`tolerance` and `exact` exclude each other".to_owned()),
        ("exact, exact", "`exact` is given twice".to_owned()),
        ("assume(finit)", "unknown assumption `finit` | did you mean `finite`?".to_owned()),
        ("targets(gpu)", "unknown target `gpu` | did you mean `cuda`?".to_owned()),
        ("targets", "`targets` takes parentheses | write `targets(cpu)`".to_owned()),
        ("targets()", "at least one word is needed here".to_owned()),
        ("threads(0)", "a kernel needs at least one thread".to_owned()),
        ("threads(1, 2)", "nothing more is expected here".to_owned()),
        ("threads(1), threads(2)", "`threads` is given twice".to_owned()),
        ("exact exact", "expected `,`".to_owned()),
    ] {
        assert_eq!(parse(text), Err(expected), "{text}");
    }
}

#[test]
fn names_are_checked_against_the_signature() {
    let sig = "fn f(x: &[f32], n: usize, eps: f32, a: &[f32; 4], idx: &[u32], out: &mut [f32])";
    for (attribute, expected) in [
        ("shape(x = [n])", None),
        (
            "shape(x = [rows, d], a = [4], a = [2 * 2])",
            Some("`a` is given two shapes"),
        ),
        ("shape(a = [2 * 2])", None),
        (
            "shape(y = [n])",
            Some("`f` has no parameter `y` | did you mean `x`?"),
        ),
        (
            "shape(output = [n])",
            Some(
                "`f` has no parameter `output` | its parameters are `x`, `n`, `eps`, `a`, `idx`, `out`",
            ),
        ),
        (
            "shape(eps = [n])",
            Some("`eps` is a scalar (`f32`) and has no shape"),
        ),
        (
            "shape(x = [eps])",
            Some(
                "`eps` cannot be a size: it is a parameter of type `f32` | name sizes differently from the slices, or after an integer parameter",
            ),
        ),
        (
            "shape(x = [out])",
            Some(
                "`out` cannot be a size: it is a parameter of type `&mut [f32]` | name sizes differently from the slices, or after an integer parameter",
            ),
        ),
        (
            "shape(a = [5])",
            Some("`a` has 4 elements, but the shape [5] has another number"),
        ),
        (
            "shape(return = [n])",
            Some("`return` has a shape only where the function returns a `Vec`"),
        ),
        (
            "shape(self.w = [n])",
            Some(
                "`f` has no parameter `self.w` | its parameters are `x`, `n`, `eps`, `a`, `idx`, `out`",
            ),
        ),
        (
            "inputs(y = 0..1)",
            Some("`f` has no parameter `y` | did you mean `x`?"),
        ),
        ("inputs(idx = 0..n)", None),
        (
            "inputs(x = 0..n)",
            Some("a range up to a size needs integers, and `x` holds `f32`"),
        ),
        (
            "instantiate(T = f32)",
            Some("`f` has no type or const parameters to instantiate"),
        ),
        ("shape(x = [rows, d], idx = [rows], out = [d])", None),
        (
            "shape(x = [rows, d], idx = [rows * d], out = [rows, d])",
            Some(
                "the size `rows` cannot be computed from the lengths of the arguments; give some argument a shape \
                  in which it is the only unknown size, or name it after an integer parameter",
            ),
        ),
        (
            "shape(x = [m], idx = [m], out = [m]), tune(q = 4)",
            Some("`q` is neither a size in `shape(..)` nor a parameter | sizes here are `m`"),
        ),
        (
            "shape(x = [m], idx = [m], out = [m]), tune(m = 4, n = 2, eps = 0.1)",
            None,
        ),
        ("tune(whatever = 4)", None),
        (
            "tune(x = 4)",
            Some("`x` is a parameter of type `&[f32]`; `tune` takes sizes and numbers"),
        ),
        (
            "shape(x = [m]), tune(m = 0)",
            Some("the size `m` is a whole number, at least 1"),
        ),
        (
            "shape(x = [m]), tune(m = 1.5)",
            Some("the size `m` is a whole number, at least 1"),
        ),
        ("tune(n = 1.5)", Some("`n` is a whole number")),
        (
            "inputs(idx = 0.5..2.0)",
            Some("`idx` holds `u32`, so the ends of its range are whole numbers"),
        ),
        (
            "inputs(idx = -1..2)",
            Some("`idx` holds `u32`, which is never negative"),
        ),
        ("inputs(x = -0.5..2.0, n = 1..=4)", None),
    ] {
        let result = match parse(attribute) {
            Ok(attribute) => attribute.validate(&signature(sig)).map_err(message),
            Err(error) => Err(error),
        };
        assert_eq!(
            result,
            expected.map_or(Ok(()), |text| Err(text.to_owned())),
            "{attribute}"
        );
    }
    assert_eq!(
        validate(
            "shape(x = [n], return = [2 * n])",
            "fn f(x: &[f32]) -> Vec<f32>"
        ),
        Ok(())
    );
    assert_eq!(
        validate("inputs(flag = 0..1)", "fn f(x: &[f32], flag: bool)"),
        Err("`flag` holds `bool`, which has no range".to_owned())
    );
}
