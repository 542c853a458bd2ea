//! What is expected of the compiler's layout is what the compiler that runs this test does.

use std::mem::{offset_of, size_of};

use pragma_spec::form::{ElementLayout, FlattenPlace, Form, Instance};
use pragma_spec::{KernelSignature, Scalar};

use super::support::Source;

macro_rules! layouts {
    ($( $(#[$attr:meta])* struct $name:ident { $($field:ident : $ty:ty),* $(,)? } )*) => {
        $( $(#[$attr])* #[allow(dead_code)] struct $name { $($field: $ty),* } )*
        const SOURCE: &str = concat!($( stringify!($(#[$attr])* pub struct $name { $(pub $field: $ty),* }) ),*);
        /// Name, size, and field offsets.
        fn actual() -> Vec<(&'static str, usize, Vec<(&'static str, usize)>)> {
            vec![$( (stringify!($name), size_of::<$name>(), vec![$( (stringify!($field), offset_of!($name, $field)) ),*]) ),*]
        }
    };
}

layouts! {
    struct Ray { origin: [f32; 3], dir: [f32; 3] }
    struct Block { d: f32, qs: [i8; 32] }
    struct Block4 { d: u16, qs: [u8; 16] }
    struct Odd { a: u8, b: u16, c: u8, d: u32 }
    struct Wide { id: u32, x: f64, flags: u32 }
    struct Thirds { a: [u8; 3], b: u8, c: [u16; 2] }
    struct Twelve { a: [f32; 4], b: f32, c: [f32; 3] }
    struct Bytes { r: u8, g: u8, b: u8 }
    #[repr(C)] struct InOrder { qs: [i8; 32], d: f32 }
    #[repr(C)] struct Doubles { a: f32, b: f32, c: f64 }
}

fn expected(name: &str) -> Option<ElementLayout> {
    let source = format!("{SOURCE} pub fn f(x: &[{name}], y: &{name}) {{}}");
    let source = Source::new(&source);
    let sig = source.flatten(&[], "f", &[]).ok()?;
    let Form::Ref { inner, .. } = &sig.form.params[1].form else {
        panic!("y is a reference");
    };
    ElementLayout::of(inner)
}

#[test]
fn fields_lie_where_the_compiler_puts_them() {
    for (name, size, fields) in actual() {
        let layout = expected(name).unwrap_or_else(|| panic!("{name} has no padding"));
        assert_eq!(layout.size, size as u64, "{name}");
        for (field, offset) in fields {
            let place = layout.field(field).expect("every field is there");
            assert_eq!(place.offset, offset as u64, "{name}.{field}");
        }
    }
}

#[test]
fn views_tile_the_element() {
    let views = |name: &str| -> Vec<(Scalar, u64)> {
        let views = expected(name).expect("has a layout").views();
        views
            .iter()
            .map(|view| (view.scalar, view.stride))
            .collect()
    };
    assert_eq!(views("Block"), [(Scalar::F32, 9), (Scalar::I8, 36)]);
    assert_eq!(views("Ray"), [(Scalar::F32, 6)]);
    assert_eq!(views("Wide"), [(Scalar::F64, 2), (Scalar::U32, 4)]);
    let block = expected("Block").expect("has a layout");
    let at = |path: &str| block.field(path).map(|field| (field.at(), field.count()));
    assert_eq!((at("d"), at("qs")), (Some((8, 1)), Some((0, 32))));
}

#[test]
fn padding_and_truth_values_are_no_numbers() {
    for body in [
        "a: u8, b: f32",
        "a: bool, b: u8",
        "a: [f32; 2], b: [bool; 4]",
        "a: f32, b: Vec<f32>",
    ] {
        let text = format!("pub struct S {{ {body} }} pub fn f(x: &[S]) {{}}");
        assert!(Source::new(&text).flatten(&[], "f", &[]).is_err(), "{body}");
    }
    // Without definitions nobody knows.
    let sig: syn::Signature = syn::parse_str("fn f(x: &[S])").expect("parses");
    let (module, set, instance) = (Vec::new(), Default::default(), Instance::default());
    let place = FlattenPlace {
        module: &module,
        owner: None,
        instance: &instance,
        lookup: &pragma_spec::form::NoTypes,
        written: &set,
        unread: &set,
    };
    let error = KernelSignature::flatten(&sig, &place).expect_err("S is unknown");
    assert!(error.needs_types);
}
