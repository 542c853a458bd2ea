//! Harness builds of such functions: references get their arguments out of leaves, and their results come back as leaves.

// Library names and the loader's search path are those of Linux.
#![cfg(target_os = "linux")]

use pragma_spec::form::{HarnessForm, HarnessForms};
use pragma_spec::{fingerprint, harness_symbol};

use crate::source::Source;
use crate::support::{self, Crate};
use crate::{SOURCE, forms_crate, tuning::find_member};

/// A call: function, instance, arguments (each `type: values`), and what it is to print: the arguments after the call,
/// the returned values, the status.
struct Call {
    function: &'static str,
    instance: &'static [(&'static str, &'static str)],
    written: &'static [&'static str],
    made: &'static [(&'static str, &'static str)],
    args: &'static [&'static str],
    prints: &'static str,
}

const CALL: Call = Call {
    function: "",
    instance: &[],
    written: &[],
    made: &[],
    args: &[],
    prints: "",
};

fn calls() -> Vec<Call> {
    vec![
        Call {
            function: "Gain::apply",
            args: &["f32: 2", "f32: 3, 5", "f32: 2, 2"],
            prints: "[2.0] [3.0, 5.0] [7.0, 9.0] | 0",
            ..CALL
        },
        Call {
            function: "Gain::private",
            args: &["f32: 2", "f32: 3, 5"],
            prints: "[2.0] [3.0, 5.0] | f32[2.0] 0",
            ..CALL
        },
        Call {
            function: "Gain::apply",
            made: &[(
                "self",
                "Self { factor: 2.0, bias: vec![3.0, 5.0], name: String::new(), log: None }",
            )],
            args: &["f32: 0", "f32: 0, 0", "f32: 2, 2"],
            prints: "[0.0] [0.0, 0.0] [7.0, 9.0] | 0",
            ..CALL
        },
        Call {
            function: "Section::filter",
            instance: &[("T", "f32")],
            written: &["self.seen"],
            args: &["f32: 0.5", "f32: 0, 0", "usize: 3", "f32: 9, 9"],
            prints: "[0.5] [0.5, 0.0] [5] [0.5, 9.0] | 0",
            ..CALL
        },
        Call {
            function: "over",
            args: &[
                "usize: 2", "usize: 1", "u8: 0, 0", "usize: 2", "usize: 1", "u8: 1, 2",
            ],
            prints: "[2] [1] [1, 2] [2] [1] [1, 2] | 0",
            ..CALL
        },
        Call {
            function: "generic",
            instance: &[("T", "f64")],
            args: &["f64: 1, 2", "f64: 3"],
            prints: "[1.0, 2.0] [3.0] | f64[6.0] 0",
            ..CALL
        },
        Call {
            function: "Raster::scaled",
            instance: &[("C", "3")],
            args: &["usize: 1", "u8: 0", "f32: 1, 2, 3", "usize: 1"],
            prints: "[1] [0] [1.0, 2.0, 3.0] [1] | usize[1] u8[0] f32[1.0, 1.0, 1.0] 0",
            ..CALL
        },
        Call {
            function: "checked",
            args: &["f32: 1, 2", "usize: 1"],
            prints: "[1.0, 2.0] [1] | f32[2.0] 0",
            ..CALL
        },
        Call {
            function: "checked",
            args: &["f32: 1, 2", "usize: 2"],
            prints: "[1.0, 2.0] [2] | 4",
            ..CALL
        },
        Call {
            function: "optional",
            args: &[
                "f32: 1, 2",
                "bool: true",
                "f32: 1, 2",
                "usize: 2",
                "bool: true",
                "f32: 0.5",
            ],
            prints: "[1.0, 2.0] [true] [1.0, 2.0] [2] [true] [0.5] | usize[2] f32[3.5] 0",
            ..CALL
        },
        Call {
            function: "optional",
            args: &[
                "f32: 1, 2",
                "bool: false",
                "f32: 1, 2",
                "usize: 2",
                "bool: true",
                "f32: 0.5",
            ],
            prints: "[1.0, 2.0] [false] [1.0, 2.0] [2] [true] [0.5] | 4",
            ..CALL
        },
        Call {
            function: "pool",
            args: &[
                "f32: 1, 2, 3, 4",
                "usize: 2",
                "usize: 2",
                "f32: 0, 0, 0, 0",
                "usize: 2",
                "usize: 2",
            ],
            prints: "[1.0, 2.0, 3.0, 4.0] [2] [2] [1.0, 2.0, 3.0, 4.0] [2] [2] | f32[4.0, 6.0] usize[2] 0",
            ..CALL
        },
        Call {
            function: "pool",
            args: &[
                "f32: 1, 2, 3, 4",
                "usize: 2",
                "usize: 2",
                "f32: 0, 0, 0, 0",
                "usize: 2",
                "usize: 3",
            ],
            prints: "[1.0, 2.0, 3.0, 4.0] [2] [2] [0.0, 0.0, 0.0, 0.0] [2] [3] | 2",
            ..CALL
        },
        Call {
            function: "viewed",
            args: &["f64: 1, 7", "usize: 2"],
            prints: "[1.0, 2.0] [2] | 0",
            ..CALL
        },
        Call {
            function: "halves",
            args: &["u16: 0x3c00", "u16: 0x4000"],
            prints: "[16896] [16384] | u16[15360] 0",
            ..CALL
        },
        Call {
            function: "rays",
            args: &["f32: 1, 2, 3, 3, 4, 5, 7, 8, 9, 9, 10, 11", "f32: 0, 0"],
            prints: "[1.0, 2.0, 3.0, 3.0, 4.0, 5.0, 7.0, 8.0, 9.0, 9.0, 10.0, 11.0] [5.0, 11.0] | 0",
            ..CALL
        },
        Call {
            function: "spread",
            args: &["usize: 1"],
            prints: "[1] | f64[0.0, 0.0, 0.0] 0",
            ..CALL
        },
        Call {
            function: "taken",
            args: &["usize: 2", "usize: 2", "f32: 1, 2, 3, 4", "f32: 2"],
            prints: "[2] [2] [1.0, 2.0, 3.0, 4.0] [2.0] | f32[2.0, 4.0] u32[0, 1] 0",
            ..CALL
        },
        Call {
            function: "rows",
            args: &["f32: 1, 2, 3, 4", "usize: 2", "usize: 2"],
            prints: "[1.0, 2.0, 3.0, 4.0] [2] [2] | f32[2.0, 2.0] usize[2] usize[1] 0",
            ..CALL
        },
        Call {
            function: "edge",
            args: &["f32: 1", "u8: 2"],
            prints: "[1.0] [2] | u8[2] 0",
            ..CALL
        },
        Call {
            function: "edge",
            args: &["f32: 1", "u8: 3"],
            prints: "[1.0] [3] | 2",
            ..CALL
        },
        Call {
            function: "Grid::step",
            args: &["usize: 1", "f32: 1, 2", "f32: 0, 0"],
            prints: "[1] [2.0, 3.0] [1.0, 2.0] | 0",
            ..CALL
        },
        Call {
            function: "mat",
            args: &["f32: 1, 2, 3, 4", "f32: 0"],
            prints: "[1.0, 2.0, 3.0, 4.0] [1.0] | f32[3.0, 7.0] 0",
            ..CALL
        },
        Call {
            function: "waves",
            args: &["f32: 1, 2", "f32: 2", "f32: -1"],
            prints: "[1.0, 2.0] [2.0] [-1.0] | 0",
            ..CALL
        },
        Call {
            function: "Area::area",
            args: &["f32: 2"],
            prints: "[2.0] | f32[4.0] 0",
            ..CALL
        },
        Call {
            function: "rays",
            args: &["f32: 1, 2, 3, 3, 4", "f32: 0, 0"],
            prints: "[1.0, 2.0, 3.0, 3.0, 4.0] [0.0, 0.0] | 1",
            ..CALL
        },
    ]
}

/// The record of a function and its symbol.
fn record(call: &Call, i: usize) -> HarnessForm {
    let file = syn::parse_file(SOURCE).expect("it parses");
    let (attribute, item) = find_member(&file.items, call.function).expect("it is there");
    let name = call.function.rsplit("::").next().expect("a name");
    let needle = format!("fn {name}");
    let at = SOURCE.match_indices(&needle).find(|(at, _)| {
        let marked = SOURCE[..*at].rfind("#[pragma_kernel").is_some_and(|mark| {
            !SOURCE[mark..*at].contains("fn ") && !SOURCE[mark..*at].contains('}')
        });
        marked
            && !SOURCE[at + needle.len()..].starts_with(|c: char| c.is_alphanumeric() || c == '_')
    });
    let (at, _) = at.expect("a marked function");
    let place = at + "fn ".len();
    let line = SOURCE[..place].matches('\n').count() + 1;
    let column = SOURCE[..place]
        .lines()
        .last()
        .map_or(0, |line| line.chars().count());
    let ident: syn::Ident = syn::parse_str(name).expect("an identifier");
    let base = harness_symbol(
        &ident,
        &fingerprint(&attribute, &item),
        "main.rs",
        line,
        column,
    );
    let sig = Source::new(SOURCE)
        .flatten_with(&[], call.function, call.instance, call.written, &[])
        .expect("it has leaves");
    let made = call.made.iter();
    HarnessForm {
        symbol: format!("{base}_{i}"),
        function: base,
        form: sig.form,
        made: made
            .map(|(name, expr)| ((*name).to_owned(), (*expr).to_owned()))
            .collect(),
    }
}

#[test]
fn references_take_leaves_and_give_leaves() {
    let calls = calls();
    let records: Vec<HarnessForm> = calls
        .iter()
        .enumerate()
        .map(|(i, call)| record(call, i))
        .collect();
    let krate = forms_crate("forms-harness");
    let manifest =
        krate.read("Cargo.toml") + "\n[lib]\ncrate-type = [\"cdylib\"]\npath = \"src/main.rs\"\n";
    krate.write("Cargo.toml", &manifest);
    let forms = HarnessForms {
        records: records.clone(),
    };
    krate.write("forms.txt", &forms.to_text());
    let path = krate.dir.join("forms.txt").display().to_string();
    let outcome = krate.cargo_with(
        &["build", "--quiet", "--lib"],
        &[("PRAGMA_HARNESS", "1"), ("PRAGMA_HARNESS_FORMS", &path)],
    );
    assert!(outcome.ok, "{}", outcome.stderr);
    let library = krate.dir.join("libforms.so");
    let built = support::target_dir().join("debug/libforms_harness.so");
    std::fs::copy(built, &library).expect("it was built");

    let caller = Crate::new("forms-caller");
    caller.write("src/main.rs", &program(&calls, &records));
    caller.write(
        "build.rs",
        &format!(
            "fn main() {{ println!(\"cargo::rustc-link-arg={}\"); println!(\"cargo::rerun-if-changed=build.rs\"); }}\n",
            library.display()
        ),
    );
    let directory = krate.dir.display().to_string();
    let printed = caller.run_with(&[("LD_LIBRARY_PATH", &directory)]);
    for ((line, call), i) in printed.lines().zip(&calls).zip(0..) {
        assert_eq!(line, call.prints, "{i}: {}", call.function);
    }
    // The leaves of what an expression made: argument numbers and values.
    assert_eq!(
        printed.lines().nth(calls.len()),
        Some("0:4 bytes 1:8 bytes 0")
    );
}

/// A program that makes the calls and prints a line for each.
fn program(calls: &[Call], records: &[HarnessForm]) -> String {
    let mut out = String::from(
        "#![allow(warnings)]\nuse pragma_runtime::harness::{RawArg, RawReturn};\n\
         unsafe extern \"C\" fn sink(to: *mut u8, index: usize, data: *const u8, bytes: usize) { unsafe {\n\
         (*to.cast::<Vec<(usize, Vec<u8>)>>()).push((index, std::slice::from_raw_parts(data, bytes).to_vec()));\n\
         } }\n\
         fn arg<T>(values: &mut [T]) -> RawArg { RawArg { ptr: values.as_mut_ptr().cast(), len: values.len() } }\n\
         fn show<T: std::fmt::Debug + Copy>(ty: &str, bytes: &[u8]) { unsafe {\n\
         let n = bytes.len() / size_of::<T>();\n\
         let all: Vec<T> = (0..n).map(|i| bytes.as_ptr().cast::<T>().add(i).read_unaligned()).collect();\n\
         print!(\"{ty}{all:?} \");\n} }\n\
         unsafe extern \"C\" {\n",
    );
    let entry = "(args: *const RawArg, count: usize, ret: *const RawReturn) -> u32;\n";
    for (i, record) in records.iter().enumerate() {
        out += &format!("#[link_name = \"{}\"] fn f{i}{entry}", record.symbol);
    }
    let made = calls
        .iter()
        .position(|call| !call.made.is_empty())
        .expect("one");
    out += &format!(
        "#[link_name = \"{}_made\"] fn made{entry}}}\nfn main() {{\n",
        records[made].symbol
    );
    for (i, (call, record)) in calls.iter().zip(records).enumerate() {
        out += "{\n";
        for (j, arg) in call.args.iter().enumerate() {
            let (ty, values) = arg.split_once(": ").expect("a type and values");
            let float = |value: &str| match ty {
                "f32" | "f64" if !value.contains('.') => format!("{value}.0"),
                _ => value.to_owned(),
            };
            let values: Vec<String> = values.split(", ").map(float).collect();
            out += &format!("let mut a{j}: Vec<{ty}> = vec![{}];\n", values.join(", "));
        }
        let args: Vec<String> = (0..call.args.len())
            .map(|j| format!("arg(&mut a{j})"))
            .collect();
        let shown: Vec<String> = (0..call.args.len())
            .map(|j| format!("print!(\"{{a{j}:?}} \");"))
            .collect();
        let sig = pragma_spec::KernelSignature::from_form(String::new(), record.form.clone())
            .expect("distinct names");
        let mut arms = String::new();
        for (k, value) in sig.returned().iter().enumerate() {
            let ty = match value.kind.elem() {
                pragma_spec::Scalar::F16 => "u16".to_owned(),
                other => other.to_string(),
            };
            arms += &format!("{k} => show::<{ty}>(\"{ty}\", &bytes),");
        }
        out += &format!(
            "let args = [{}];\nlet mut values: Vec<(usize, Vec<u8>)> = Vec::new();\n\
             let ret = RawReturn {{ context: (&raw mut values).cast(), sink }};\n\
             let status = unsafe {{ f{i}(args.as_ptr(), args.len(), &ret) }};\n{}\nprint!(\"| \");\n\
             values.sort_by_key(|(index, _)| *index);\n\
             for (index, bytes) in values {{ match index {{ {arms} _ => panic!(\"one more\") }} }}\n\
             println!(\"{{status}}\");\n}}\n",
            args.join(", "),
            shown.join(" "),
        );
    }
    out + "let mut values: Vec<(usize, Vec<u8>)> = Vec::new();\n\
           let ret = RawReturn { context: (&raw mut values).cast(), sink };\n\
           let status = unsafe { made(std::ptr::null(), 0, &ret) };\n\
           for (index, bytes) in values { print!(\"{index}:{} bytes \", bytes.len()); }\n\
           println!(\"{status}\");\n}\n"
}
