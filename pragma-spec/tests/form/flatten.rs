//! Signatures of every kind that hot functions have, and their leaves.

use super::support::{Source, show};

const CRATE: &str = r#"
pub const TAPS: usize = 32;
type Sample = f32;
pub struct Gate { pub threshold: f32, pub hold: [f32; 2], pub open: bool }
impl Gate { pub fn run(&mut self, buf: &mut [f32]) {} pub fn level(&self) -> f32 { 0.0 } }
pub struct Section<T> { pub b: [T; 3], pub state: [T; 2], pub seen: usize }
impl<T: Real> Section<T> { pub fn filter(&mut self, buf: &mut [T]) {} }
pub struct Bank { pub rows: Vec<Vec<f32>>, pub names: Vec<String>, pub log: Box<dyn Fn()> }
impl Bank { pub fn energies(&self, power: &[f32], bins: usize) -> Vec<f32> { vec![] } }
pub mod shapes {
    #[derive(Clone, Copy)] pub struct P3 { pub x: f64, pub y: f64, pub z: f64 }
    pub struct Mass { pub at: P3, pub kg: f64 }
    pub struct Line { pub from: [f32; 3], pub to: [f32; 3] }
    pub struct Soup { pub lines: Vec<Line>, pub(crate) scale: f32 }
    impl Soup { pub fn hits(&self, lines: &[Line], out: &mut [i32]) {} }
    pub struct Sealed { secret: f32 }
    #[derive(Clone, Copy)] pub enum Edge { Clamp, Zero, Wrap }
    pub enum Kind { Flat, Steep(f32) }
}
pub struct Quant { pub d: f32, pub qs: [i8; 32] }
pub struct Mixed { pub tag: u8, pub v: f32 }
pub struct Grid<const C: usize> { pub w: usize, pub h: usize, pub px: Vec<f32> }
impl<const C: usize> Grid<C> { pub fn half(&self, w: usize) -> Grid<C> { unreachable!() } }
pub struct Codes<const M: usize> { pub dim: usize, pub table: Vec<f32>, pub codes: Vec<[u8; M]> }
impl<const M: usize> Codes<M> { pub fn scan(&self, q: &[f32], out: &mut [f32]) {} }
pub struct Window<'a> { pub data: &'a [f32], pub step: usize }
pub fn plain(x: &[f32], n: usize, out: &mut [f32]) -> f32 { 0.0 }
pub fn generic<T: Real>(x: &[T], k: T, out: &mut [T]) {}
pub fn sized<const N: usize, T>(x: &[[T; N]], taps: &[T; TAPS]) -> [T; N] { unreachable!() }
pub fn points(src: &[[f32; 3]], rot: &[[f32; 3]; 3], dst: &mut [[f32; 3]]) -> Result<(), &'static str> { Ok(()) }
pub fn optional(x: &[f32], bias: Option<&[f32]>, k: Option<f64>) -> Option<(usize, f32)> { None }
pub fn taken((c, h): (usize, usize), _: f32, &k: &f32) -> (Vec<f32>, Vec<u32>) { unreachable!() }
pub fn gravity(bodies: &[shapes::Mass], eps: f64) -> Vec<shapes::P3> { vec![] }
pub fn blur(src: &Grid<1>, edge: shapes::Edge) -> Vec<f32> { vec![] }
pub fn quant(w: &[Quant], x: &[Quant], out: &mut [f32]) {}
pub fn dense(u: &Array2<f64>, v: &mut Array<f32, Ix3>, w: ArrayView1<f32>) -> Array2<f64> { unreachable!() }
pub fn halves(x: &mut [f16], b: &[half::bf16]) {}
pub fn waves(x: &mut [Complex<f32>], w: Complex64) {}
pub fn window(w: Window<'_>, n: &mut u32) -> u32 { 0 }
pub fn alias(x: &[Sample]) -> Sample { 0.0 }
pub fn owned(x: Vec<f32>, rows: &[&[f64]], b: Box<[u8]>, y: &Vec<f32>) -> Vec<Vec<f32>> { vec![] }
pub fn sealed(s: &shapes::Sealed) {}
pub fn steep(k: shapes::Kind) {}
pub fn padded(x: &[Mixed]) {}
pub fn text(x: &str) {}
pub fn endless(x: impl Fn()) {}
pub fn dynamic(x: &ArrayD<f32>) {}
pub fn missing<T>(x: &[T]) {}
"#;

#[track_caller]
fn check(module: &[&str], function: &str, instance: &[(&str, &str)], expected: &[&str]) {
    let sig = Source::new(CRATE).flatten(module, function, instance);
    let sig = sig.unwrap_or_else(|error| panic!("{function}: {error}"));
    assert_eq!(show(&sig), expected, "{function}: {}", sig.form);
    let lines = sig.form.to_lines();
    let read = pragma_spec::form::SignatureForm::parse_lines(&lines);
    assert_eq!(read.as_ref(), Ok(&sig.form), "{function}");
}

#[test]
fn plain_functions_are_their_own_leaves() {
    let expected = ["x: &[f32]", "n: usize", "out: &mut [f32]", "-> return: f32"];
    check(&[], "plain", &[], &expected);
    let item: syn::Signature =
        syn::parse_str("fn plain(x: &[f32], n: usize, out: &mut [f32]) -> f32").expect("parses");
    let plain = pragma_spec::KernelSignature::from_syn(&item).expect("is supported");
    let flat = Source::new(CRATE).flatten(&[], "plain", &[]);
    assert_eq!(flat.expect("is supported"), plain);
    assert!(plain.form.is_plain());
}

#[test]
fn methods_have_their_fields() {
    check(
        &[],
        "Gate::run",
        &[],
        &[
            "self.threshold: f32",
            "self.hold: &mut [f32; 2] by [2]",
            "self.open: bool",
            "buf: &mut [f32]",
        ],
    );
    check(
        &[],
        "Gate::level",
        &[],
        &[
            "self.threshold: f32",
            "self.hold: &[f32; 2] by [2]",
            "self.open: bool",
            "-> return: f32",
        ],
    );
    check(
        &[],
        "Section::filter",
        &[("T", "f64")],
        &[
            "self.b: &mut [f64; 3] by [3]",
            "self.state: &mut [f64; 2] by [2]",
            "self.seen: usize",
            "buf: &mut [f64]",
        ],
    );
}

#[test]
fn written_scalars_are_buffers_and_unread_fields_are_nothing() {
    let source = Source::new(CRATE);
    let sig = source
        .flatten_with(
            &[],
            "Gate::run",
            &[],
            &["self.threshold"],
            &["self.open", "self.hold"],
        )
        .expect("is supported");
    assert_eq!(
        show(&sig),
        ["self.threshold: &mut [f32; 1]", "buf: &mut [f32]"]
    );
    assert_eq!(
        sig.form.to_lines()[1],
        "param self: &mut struct crate::Gate { threshold: written f32, hold: unread array 2 f32, open: unread bool }"
    );
    // Behind a shared reference nothing is written, whatever the caller believes.
    let sig = source.flatten_with(&[], "Gate::level", &[], &["self.threshold"], &[]);
    assert_eq!(show(&sig.expect("is supported"))[0], "self.threshold: f32");
}

#[test]
fn rows_and_what_kernels_do_not_know() {
    check(
        &[],
        "Bank::energies",
        &[],
        &[
            "self.rows: &[f32] = [self.rows.shape.0, self.rows.shape.1]",
            "self.rows.shape.0: usize",
            "self.rows.shape.1: usize",
            "power: &[f32]",
            "bins: usize",
            "-> return: Vec<f32>",
        ],
    );
    check(
        &[],
        "owned",
        &[],
        &[
            "x: &[f32]",
            "rows: &[f64] = [rows.shape.0, rows.shape.1]",
            "rows.shape.0: usize",
            "rows.shape.1: usize",
            "b: &[u8]",
            "y: &[f32]",
            "-> return: Vec<f32>",
            "-> return.shape.0: usize",
            "-> return.shape.1: usize",
        ],
    );
}

#[test]
fn generic_functions_at_an_instance() {
    check(
        &[],
        "generic",
        &[("T", "f32")],
        &["x: &[f32]", "k: f32", "out: &mut [f32]"],
    );
    check(
        &[],
        "generic",
        &[("T", "f64")],
        &["x: &[f64]", "k: f64", "out: &mut [f64]"],
    );
    check(
        &[],
        "sized",
        &[("N", "4"), ("T", "i16")],
        &[
            "x: &[i16] by [4]",
            "taps: &[i16; 32] by [32]",
            "-> return: Vec<i16> by [4]",
        ],
    );
    check(
        &[],
        "Grid::half",
        &[("C", "3")],
        &[
            "self.w: usize",
            "self.h: usize",
            "self.px: &[f32]",
            "w: usize",
            "-> return.w: usize",
            "-> return.h: usize",
            "-> return.px: Vec<f32>",
        ],
    );
    check(
        &[],
        "Codes::scan",
        &[("M", "16")],
        &[
            "self.dim: usize",
            "self.table: &[f32]",
            "self.codes: &[u8] by [16]",
            "q: &[f32]",
            "out: &mut [f32]",
        ],
    );
}

#[test]
fn options_results_tuples_enums() {
    check(
        &[],
        "points",
        &[],
        &[
            "src: &[f32] by [3]",
            "rot: &[f32; 9] by [3, 3]",
            "dst: &mut [f32] by [3]",
        ],
    );
    check(
        &[],
        "optional",
        &[],
        &[
            "x: &[f32]",
            "bias.is_some: bool",
            "bias: &[f32]",
            "k.is_some: bool",
            "k: f64",
            "-> return.0: usize",
            "-> return.1: f32",
        ],
    );
    check(
        &[],
        "taken",
        &[],
        &[
            "c: usize",
            "h: usize",
            "k: f32",
            "-> return.0: Vec<f32>",
            "-> return.1: Vec<u32>",
        ],
    );
    check(
        &[],
        "blur",
        &[],
        &[
            "src.w: usize",
            "src.h: usize",
            "src.px: &[f32]",
            "edge: u8",
            "-> return: Vec<f32>",
        ],
    );
}

#[test]
fn slices_of_records_are_slices_of_numbers() {
    check(
        &[],
        "gravity",
        &[],
        &[
            "bodies: &[f64] by [4]",
            "eps: f64",
            "-> return: Vec<f64> by [3]",
        ],
    );
    check(
        &["shapes"],
        "Soup::hits",
        &[],
        &[
            "self.lines: &[f32] by [6]",
            "self.scale: f32",
            "lines: &[f32] by [6]",
            "out: &mut [i32]",
        ],
    );
    check(
        &[],
        "quant",
        &[],
        &[
            "w.f32: &[f32] by [9]",
            "w.i8: &[i8] by [36] of w.f32",
            "x.f32: &[f32] by [9]",
            "x.i8: &[i8] by [36] of x.f32",
            "out: &mut [f32]",
        ],
    );
}

#[test]
fn arrays_of_other_crates() {
    check(
        &[],
        "dense",
        &[],
        &[
            "u: &[f64] = [u.shape.0, u.shape.1]",
            "u.shape.0: usize",
            "u.shape.1: usize",
            "v: &mut [f32] = [v.shape.0, v.shape.1, v.shape.2]",
            "v.shape.0: usize",
            "v.shape.1: usize",
            "v.shape.2: usize",
            "w: &[f32] = [w.shape.0]",
            "w.shape.0: usize",
            "-> return: Vec<f64>",
            "-> return.shape.0: usize",
            "-> return.shape.1: usize",
        ],
    );
    check(&[], "halves", &[], &["x: &mut [f16]", "b: &[bf16]"]);
    check(
        &[],
        "waves",
        &[],
        &["x: &mut [f32] by [2]", "w.re: f64", "w.im: f64"],
    );
    check(&[], "alias", &[], &["x: &[f32]", "-> return: f32"]);
    check(
        &[],
        "window",
        &[],
        &[
            "w.data: &[f32]",
            "w.step: usize",
            "n: &mut [u32; 1]",
            "-> return: u32",
        ],
    );
}

#[test]
fn what_has_no_leaves_says_why() {
    let source = Source::new(CRATE);
    for (function, expected) in [
        (
            "sealed",
            "the field `secret` of `Sealed` is private to its module | \
             move the function next to the type, or make the field `pub(crate)`",
        ),
        (
            "steep",
            "no kernel takes a `shapes::Kind` yet | \
             an enum can be a kernel's parameter if its variants have no fields; match on others outside",
        ),
        (
            "padded",
            "no kernel takes a `&[Mixed]` yet | every field of `Mixed` must be a number or an array of numbers, \
             without padding between them",
        ),
        (
            "text",
            "no kernel takes a `str` yet | a kernel takes numbers, slices, `Vec`s and arrays of them, and structs, \
             tuples and `Option`s of those",
        ),
        (
            "endless",
            "no kernel takes a `impl Fn()` yet | a kernel takes numbers, slices, `Vec`s and arrays of them, and \
             structs, tuples and `Option`s of those",
        ),
        (
            "missing",
            "`#[pragma_kernel]` needs to know what `T` stands for | say which: `instantiate(T = f32)`",
        ),
    ] {
        let error = source.flatten(&[], function, &[]).expect_err(function);
        let text = format!("{} | {}", error.message, error.help.unwrap_or_default());
        assert_eq!(text, expected, "{function}");
        assert!(!error.needs_types, "{function}");
    }
    let error = source
        .flatten(&[], "plain", &[("T", "f32")])
        .expect_err("no parameter");
    assert_eq!(error.message, "`plain` has no type or const parameter `T`");
    assert!(source.flatten(&[], "dynamic", &[]).is_err());
}
