//! The text of forms: read back as written, and nothing else breaks the reader.

use pragma_spec::Scalar;
use pragma_spec::form::{
    Field, Form, Instance, NdarrayKind, Pattern, Record, SignatureForm, SourceParam,
};
use proptest::prelude::*;

fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z][a-z0-9_]{0,6}",
        Just("type".to_owned()),
        Just("tuple".to_owned()),
        Just("vec".to_owned()),
        Just("unit".to_owned()),
        Just("written".to_owned()),
    ]
}

fn path() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("crate::geometry::Ray".to_owned()),
        Just("crate::r#type::Raster::<3>".to_owned()),
        Just("crate::audio::Biquad::<::core::primitive::f32, 4>".to_owned()),
        Just("::num_complex::Complex::<::core::primitive::f64>".to_owned()),
        Just("tuple".to_owned()),
    ]
}

fn scalar() -> impl Strategy<Value = Form> {
    let kind = prop::sample::select(Scalar::ALL.to_vec());
    (kind, any_path(), any::<bool>()).prop_map(|(scalar, path, written)| Form::Scalar {
        scalar,
        path,
        written,
    })
}

fn any_path() -> impl Strategy<Value = Option<String>> {
    prop::option::of(path())
}

fn form() -> impl Strategy<Value = Form> {
    let kinds = [NdarrayKind::Owned, NdarrayKind::View, NdarrayKind::ViewMut];
    let leaf = prop_oneof![
        4 => scalar(),
        1 => Just(Form::Unit),
        1 => Just(Form::Untouched),
        1 => (path(), prop::collection::vec(name(), 1..4))
            .prop_map(|(path, variants)| Form::Enum { path, variants }),
    ];
    leaf.prop_recursive(4, 24, 4, move |inner| {
        let boxed = inner.clone().prop_map(Box::new);
        let field = (name(), inner.clone()).prop_map(|(name, form)| Field { name, form });
        let named = prop::collection::vec(field, 0..4);
        let numbered = prop::collection::vec(inner.clone(), 0..4).prop_map(|forms| {
            let fields = forms.into_iter().enumerate();
            fields
                .map(|(i, form)| Field {
                    name: i.to_string(),
                    form,
                })
                .collect::<Vec<_>>()
        });
        let record = prop_oneof![
            named.prop_map(|fields| (true, fields)),
            numbered.prop_map(|fields| (false, fields)),
        ];
        prop_oneof![
            boxed.clone().prop_map(Form::Slice),
            boxed.clone().prop_map(Form::Vec),
            boxed.clone().prop_map(Form::Boxed),
            boxed.clone().prop_map(Form::Option),
            boxed.clone().prop_map(Form::Result),
            boxed.clone().prop_map(Form::Unread),
            (any::<u64>(), boxed.clone()).prop_map(|(len, elem)| Form::Array(len, elem)),
            (any::<bool>(), boxed.clone())
                .prop_map(|(mutable, inner)| Form::Ref { mutable, inner }),
            prop::collection::vec(inner, 0..4).prop_map(Form::Tuple),
            (path(), any::<bool>(), record).prop_map(|(path, in_order, (named, fields))| {
                Form::Record(Record {
                    path,
                    named,
                    in_order,
                    fields,
                })
            }),
            (
                prop::sample::select(kinds.to_vec()),
                path(),
                1usize..7,
                boxed
            )
                .prop_map(|(kind, path, rank, elem)| Form::Ndarray {
                    kind,
                    path,
                    rank,
                    elem,
                }),
        ]
    })
}

fn signature() -> impl Strategy<Value = SignatureForm> {
    let param = (name(), form()).prop_map(|(name, form)| {
        let pattern = match &form {
            Form::Tuple(items) => Pattern::Tuple(
                items
                    .iter()
                    .enumerate()
                    .map(|(i, _)| match i {
                        0 => Pattern::Unnamed,
                        _ => Pattern::Name(format!("{name}{i}")),
                    })
                    .collect(),
            ),
            Form::Ref { .. } if name.len() > 3 => Pattern::Ref(Box::new(Pattern::Name(name))),
            _ => Pattern::Name(name),
        };
        SourceParam { pattern, form }
    });
    let instance = prop::collection::vec((name(), path()), 0..3);
    (
        any_path(),
        instance,
        prop::collection::vec(param, 0..4),
        form(),
    )
        .prop_map(|(owner, instance, params, result)| SignatureForm {
            owner,
            instance: Instance(instance),
            params,
            result,
        })
}

proptest! {
    #[test]
    fn what_is_written_is_read(form in signature()) {
        let lines = form.to_lines();
        let read = SignatureForm::parse_lines(&lines);
        prop_assert_eq!(read.as_ref(), Ok(&form), "{}", form);
        // Whatever the tree, its leaves can be asked for.
        let _ = (form.leaves(), form.returned());
    }

    #[test]
    fn any_text_is_an_error_or_a_form(text in "[a-z&(){}:,<> 0-9_]{0,40}") {
        for word in ["param x: ", "return ", "impl ", "where ", ""] {
            let _ = SignatureForm::parse_lines(&[format!("{word}{text}")]);
        }
    }
}

#[test]
fn damaged_text_is_refused() {
    let read = |line: &str| SignatureForm::parse_lines(&[line]);
    for line in [
        "",
        "param",
        "param x",
        "param x:",
        "param x: f31",
        "param x: vec",
        "param (a, b): (f32,)",
        "param (a): f32",
        "param x: ndarray owned A 7 f32",
        "param x: ndarray held A 2 f32",
        "param x: array f32",
        "param x: struct A { a f32 }",
        "param x: f32 f32",
        "return f32, f32",
        "result f32",
        "impl 3",
        "where T",
    ] {
        assert!(read(line).is_err(), "{line}");
    }
    let deep = format!("return {}f32", "&".repeat(100_000));
    assert!(read(&deep).is_err());
    let deep = format!("return {}", "(".repeat(3_000));
    assert!(read(&deep).is_err());
    assert!(SignatureForm::parse_lines(&["return f32", "return f32"]).is_err());
}
