//! What users say of source parameters, in terms of leaves.

use pragma_spec::{Guard, GuardParam, KernelAttribute, KernelSignature, dims_of};

use super::support::Source;

const CRATE: &str = r#"
pub const QK: usize = 32;
pub struct Ray { pub origin: [f32; 3], pub dir: [f32; 3] }
pub struct Scene { pub boxes: Vec<Ray>, pub name: String }
impl Scene { pub fn hits(&self, rays: &[Ray], out: &mut [i32]) {} }
pub struct Quant { pub d: f32, pub qs: [i8; 32] }
pub enum Edge { Clamp, Zero }
pub struct Grid<const C: usize> { pub w: usize, pub h: usize, pub px: Vec<f32> }
impl<const C: usize> Grid<C> { pub fn half(&self, w: usize, h: usize) -> Grid<C> { unreachable!() } }
pub fn quant(w: &[Quant], x: &[Quant], out: &mut [f32]) {}
pub fn pool(hidden: ArrayView3<f32>, mask: ArrayView2<f32>) -> Array2<f32> { unreachable!() }
pub fn points(src: &[[f32; 3]], dst: &mut [[f32; 3]]) {}
pub fn blur(src: &Grid<1>, edge: Edge, k: Option<f32>, bias: Option<&[f32]>) -> (Vec<f32>, Vec<u32>) { unreachable!() }
pub fn consts(x: &[f32], y: &[f32]) {}
"#;

fn flat(function: &str, instance: &[(&str, &str)]) -> KernelSignature {
    let sig = Source::new(CRATE).flatten(&[], function, instance);
    sig.expect("is supported")
}

fn resolve(sig: &KernelSignature, text: &str) -> Result<KernelAttribute, String> {
    let attribute = KernelAttribute::parse(text.parse().expect("tokens")).expect("parses");
    let constant = |name: &str| (name == "QK").then_some(32);
    attribute
        .resolve(sig, &constant)
        .map_err(|error| match error.help {
            Some(help) => format!("{} | {help}", error.message),
            None => error.message,
        })
}

fn shapes(attribute: &KernelAttribute) -> Vec<String> {
    let shapes = attribute.shapes.iter();
    shapes
        .map(|(name, shape)| format!("{name} = {shape}"))
        .collect()
}

fn inputs(attribute: &KernelAttribute) -> Vec<String> {
    let inputs = attribute.inputs.iter();
    inputs
        .map(|(name, spec)| format!("{name}: {spec:?}"))
        .collect()
}

#[test]
fn shapes_get_the_extents_that_types_fix() {
    let points = flat("points", &[]);
    for text in [
        "shape(src = [n], dst = [n])",
        "shape(src = [n, 3], dst = [n, 3])",
    ] {
        let attribute = resolve(&points, text).expect("fits");
        assert_eq!(shapes(&attribute), ["src = [n, 3]", "dst = [n, 3]"]);
    }
    let quant = flat("quant", &[]);
    let attribute = resolve(&quant, "shape(w = [m, nb], x = [nb], out = [m])").expect("fits");
    assert_eq!(
        shapes(&attribute),
        [
            "w.f32 = [m, nb, 9]",
            "w.i8 = [m, nb, 36]",
            "x.f32 = [nb, 9]",
            "x.i8 = [nb, 36]",
            "out = [m]"
        ]
    );
    let hits = flat("Scene::hits", &[]);
    let attribute = resolve(&hits, "shape(self.boxes = [k], rays = [n], out = [n])");
    assert_eq!(
        shapes(&attribute.expect("fits")),
        ["self.boxes = [k, 6]", "rays = [n, 6]", "out = [n]"]
    );
    let consts = flat("consts", &[]);
    let attribute = resolve(&consts, "shape(x = [n, QK], y = [n * (QK / 8)])").expect("fits");
    assert_eq!(shapes(&attribute), ["x = [n, 32]", "y = [n * (32 / 8)]"]);
}

#[test]
fn extents_of_arrays_are_values_of_leaves() {
    let pool = flat("pool", &[]);
    let attribute = resolve(
        &pool,
        "shape(hidden = [b, t, d], mask = [b, t], return = [b, d])",
    );
    let attribute = attribute.expect("fits");
    assert_eq!(
        shapes(&attribute),
        [
            "hidden.shape.0 = [b]",
            "hidden.shape.1 = [t]",
            "hidden.shape.2 = [d]",
            "hidden = [b, t, d]",
            "mask.shape.0 = [b]",
            "mask.shape.1 = [t]",
            "mask = [b, t]",
            "return = [b, d]"
        ]
    );
    // One of each kind of step: solved from one, checked with another.
    let dims = dims_of(&attribute.shapes);
    let guard = Guard::plan(&dims, &GuardParam::all(&pool), &attribute.shapes).expect("determined");
    let eval = |mask_rows: i128| {
        let scalar = |name: &str| match name {
            "hidden.shape.0" => Some(2),
            "hidden.shape.1" => Some(3),
            "hidden.shape.2" => Some(4),
            "mask.shape.0" => Some(mask_rows),
            "mask.shape.1" => Some(3),
            _ => None,
        };
        guard.eval(&scalar, &|name| match name {
            "hidden" => Some(24),
            "mask" => Some(6),
            _ => None,
        })
    };
    assert_eq!(dims, ["b", "t", "d"]);
    assert_eq!(eval(2), Some(vec![2, 3, 4]));
    assert_eq!(eval(3), None);
    // Nothing written: the extents are the sizes.
    let attribute = resolve(&pool, "").expect("fits");
    assert_eq!(
        shapes(&attribute),
        [
            "hidden = [hidden.shape.0, hidden.shape.1, hidden.shape.2]",
            "mask = [mask.shape.0, mask.shape.1]"
        ]
    );
    assert_eq!(
        resolve(&pool, "shape(mask = [b])").map(drop),
        Err("`mask` has 2 axes, so its shape has 2 sizes".to_owned())
    );
}

#[test]
fn instances_and_their_constants() {
    let half = flat("Grid::half", &[("C", "3")]);
    let text = "shape(self.px = [self.h, self.w, C], return.px = [h, w, C]), tune(C = 3, self.h = 4, self.w = 8, h = 2, w = 4)";
    let attribute = resolve(&half, text).expect("fits");
    assert_eq!(
        shapes(&attribute),
        ["self.px = [self.h, self.w, 3]", "return.px = [h, w, 3]"]
    );
    assert_eq!(
        attribute.tunes[0].to_string(),
        "self.h = 4, self.w = 8, h = 2, w = 4"
    );
    assert_eq!(
        resolve(&half, "tune(C = 4, w = 1)").map(drop),
        Err("`C` is 3 in this instance".to_owned())
    );
    let dims = dims_of(&attribute.shapes);
    assert_eq!(dims, ["self.h", "self.w", "h", "w"]);
    assert!(Guard::plan(&dims, &GuardParam::all(&half), &attribute.shapes).is_ok());
    let instances = |text: &str| -> Vec<String> {
        let attribute = KernelAttribute::parse(text.parse().expect("tokens")).expect("parses");
        let instances = attribute.instances();
        instances
            .iter()
            .map(|i| format!("{i} as {}", i.suffix()))
            .collect()
    };
    assert_eq!(
        instances("instantiate(T = f32, N = 4), instantiate(T = half::f16, N = 8)"),
        [
            "T = f32, N = 4 as T_f32.N_4",
            "T = half::f16, N = 8 as T_f16.N_8"
        ]
    );
    assert_eq!(
        instances("instantiate(T = f32, T = f64)"),
        ["T = f32 as T_f32", "T = f64 as T_f64"]
    );
    assert_eq!(instances(""), [" as "]);
}

#[test]
fn inputs_of_fields_variants_and_options() {
    let quant = flat("quant", &[]);
    let attribute = resolve(
        &quant,
        "inputs(w.qs = -127..=127, w.d = 0.0..0.02, x.qs = [1, 2])",
    );
    assert_eq!(
        inputs(&attribute.expect("fits")),
        [
            "w.i8: Columns { stride: 36, parts: [(0, 32, Range { lo: -127.0, hi: 127.0, inclusive: true })] }",
            "w.f32: Columns { stride: 9, parts: [(8, 1, Range { lo: 0.0, hi: 0.02, inclusive: false })] }",
            "x.i8: Columns { stride: 36, parts: [(0, 32, Set([1.0, 2.0]))] }",
        ]
    );
    let blur = flat("blur", &[]);
    let attribute = resolve(
        &blur,
        "inputs(edge = Edge::Zero, k = Some(0.5), bias = None), tune(edge = Edge::Zero, k = None, src.w = 4)",
    );
    let attribute = attribute.expect("fits");
    assert_eq!(
        inputs(&attribute),
        [
            "edge: Set([1.0])",
            "k.is_some: Set([1.0])",
            "k: Set([0.5])",
            "bias.is_some: Set([0.0])"
        ]
    );
    assert_eq!(
        attribute.tunes[0].to_string(),
        "src.w = 4, edge = 1, k.is_some = 0"
    );
    let hits = flat("Scene::hits", &[]);
    let attribute = resolve(
        &hits,
        "inputs(rays.dir = -1..1, rays = 0..1, self = make())",
    );
    assert!(inputs(&attribute.expect("fits"))[2].starts_with("self: Expr("));
}

#[test]
fn names_that_are_nothing_are_refused() {
    let blur = flat("blur", &[]);
    for (text, expected) in [
        (
            "shape(src = [n])",
            "`src` is a struct | say it of its fields: `src.w`, `src.h`, `src.px`",
        ),
        (
            "shape(src.py = [n])",
            "`blur` has no parameter `src.py` | did you mean `src.px`?",
        ),
        (
            "shape(return = [n])",
            "`return` is no `Vec` that the function returns | those are `return.0`, `return.1`",
        ),
        (
            "shape(src.w = [n])",
            "`src.w` is a scalar (`usize`) and has no shape",
        ),
        ("inputs(edge = Edge::Mirror)", ""),
        (
            "tune(edge = Edge::Mirror)",
            "the size `edge` must be a number",
        ),
    ] {
        match resolve(&blur, text) {
            Err(error) => assert_eq!(error, expected, "{text}"),
            // An expression: it is evaluated in the user's crate, which knows better.
            Ok(_) => assert_eq!("", expected, "{text}"),
        }
    }
    let hits = flat("Scene::hits", &[]);
    let error = resolve(&hits, "shape(self.name = [n])").map(drop);
    assert_eq!(error, Err("kernels do not use `self.name`".to_owned()));
}
