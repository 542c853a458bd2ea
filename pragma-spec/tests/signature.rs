//! Which signatures kernels may have.

use pragma_spec::{KernelSignature, ParamKind, ReturnSig, Scalar};

fn read(text: &str) -> Result<KernelSignature, String> {
    let sig: syn::Signature = syn::parse_str(text).expect("a signature");
    KernelSignature::from_syn(&sig).map_err(|error| match error.help {
        Some(help) => format!("{} | {help}", error.message),
        None => error.message,
    })
}

#[test]
fn signatures_print_as_they_were_written() {
    for text in [
        "fn f()",
        "fn dot(x: &[f32], y: &[f64]) -> f32",
        "fn f(a: &mut [i8], b: &[u16; 3], c: &mut [bool; 4], d: [usize; 2]) -> (f32, i64)",
        "fn f(x: f32, n: usize) -> Vec<u8>",
        "fn f(x: bf16) -> (f32,)",
    ] {
        assert_eq!(read(text).map(|sig| sig.to_string()).as_deref(), Ok(text));
    }
}

#[test]
fn spelling_does_not_matter() {
    let sig = read("fn r#match<'a>(mut acc: core::primitive::f32, r#in: &'a mut [(f32)], h: half::f16) -> std::vec::Vec<f32>")
        .expect("fine");
    assert_eq!(sig.name, "match");
    assert_eq!(sig.returns, ReturnSig::Vec(Scalar::F32));
    let names: Vec<&str> = sig.params.iter().map(|param| param.name.as_str()).collect();
    assert_eq!(names, ["acc", "in", "h"]);
    assert_eq!(sig.params[0].kind, ParamKind::Scalar(Scalar::F32));
    assert_eq!(
        sig.params[1].kind,
        ParamKind::Slice {
            elem: Scalar::F32,
            mutable: true
        }
    );
    assert_eq!(
        read("fn f() -> ()").map(|sig| sig.returns),
        Ok(ReturnSig::Nothing)
    );
}

#[test]
fn what_no_kernel_takes_is_refused() {
    let types = "a kernel takes scalars (`f32`, `usize`, ..), slices of them and arrays of them";
    let no_kernel = |ty: &str| format!("no kernel takes a `{ty}` yet | {types}");
    let on = |what: &str| format!("`#[pragma_kernel]` cannot be used on {what}");
    for (text, expected) in [
        (
            "fn f(&self, x: &[f32])",
            on("methods yet | move the loop into a free function that takes slices and call it from the method"),
        ),
        ("const fn f()", on("a `const fn` | kernels are chosen at run time: remove `const`")),
        (
            "async fn f()",
            on("an `async fn` | annotate the function that computes, and call it from the async one"),
        ),
        (
            "unsafe fn f()",
            on("an `unsafe fn` | take slices instead of raw pointers, so that the function can be safe"),
        ),
        (
            "extern \"C\" fn f()",
            on("an `extern` function | annotate a plain Rust function and call it from this one"),
        ),
        (
            "fn f<T>(x: &[T])",
            on("type or const parameters without an instantiation | say which: `instantiate(T = f32)`"),
        ),
        (
            "fn f<const N: usize>(x: &[f32; N])",
            on("type or const parameters without an instantiation | say which: `instantiate(T = f32)`"),
        ),
        (
            "fn f((a, b): (f32, f32))",
            "a kernel parameter must be a plain name | name the parameter and take it apart in the body".to_owned(),
        ),
        (
            "fn f(_: f32)",
            "a kernel parameter must be a plain name | name the parameter and take it apart in the body".to_owned(),
        ),
        (
            "fn f(ref x: f32)",
            "a kernel parameter must be a plain name | name the parameter and take it apart in the body".to_owned(),
        ),
        ("fn f(x: f32, x: f32)", "two parameters are called `x`".to_owned()),
        ("fn f(x: &Vec<f32>)", "a kernel takes slices, not vectors | write `&[f32]`".to_owned()),
        ("fn f(x: &mut Vec<f32>)", "a kernel takes slices, not vectors | write `&mut [f32]`".to_owned()),
        ("fn f(x: &f32)", "a kernel takes scalars by value | write `f32`".to_owned()),
        (
            "fn f(x: &mut f32)",
            "a kernel cannot write to a single scalar yet | return it, or write `&mut [f32; 1]`".to_owned(),
        ),
        (
            "fn f(x: &[f32; N])",
            "the length of a kernel's array must be a number | write the number, or take a slice".to_owned(),
        ),
        ("fn f(x: Vec<f32>)", no_kernel("Vec<f32>")),
        ("fn f(x: &str)", no_kernel("str")),
        ("fn f(x: &[&[f32]])", no_kernel("&[f32]")),
        ("fn f(x: Option<&[f32]>)", no_kernel("Option<&[f32]>")),
        ("fn f(x: impl Fn(f32) -> f32)", no_kernel("impl Fn(f32) -> f32")),
    ] {
        assert_eq!(read(text), Err(expected), "{text}");
    }
    let returns = "a kernel returns nothing, a scalar, a tuple of scalars or a `Vec` of scalars";
    for (text, ty) in [
        ("fn f() -> Option<f32>", "Option<f32>"),
        ("fn f() -> [f32; 2]", "[f32; 2]"),
        (
            "fn f() -> impl Iterator<Item = f32> + 'static",
            "impl Iterator<Item = f32> + 'static",
        ),
    ] {
        assert_eq!(
            read(text),
            Err(format!("no kernel returns a `{ty}` yet | {returns}")),
            "{text}"
        );
    }
}
