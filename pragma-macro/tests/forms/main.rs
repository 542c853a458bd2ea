//! Kernels of methods, generic functions and functions of structs, options, arrays of other crates: that they are called
//! with the right leaves, that their results arrive, and that the reference runs wherever they do not fit.

mod harness;
#[path = "../../../pragma-spec/tests/form/support.rs"]
#[allow(dead_code)]
mod source;
#[path = "../support/mod.rs"]
mod support;
mod tuning;

use pragma_runtime::Tier;
use pragma_spec::Interface;
use support::Crate;
use tuning::{ByHand, tune};

/// Functions of every kind, and a program that prints what they do: one line each.
const SOURCE: &str = include_str!("source.rs.txt");

/// A crate of them.
fn forms_crate(name: &str) -> Crate {
    let krate = Crate::new(name);
    let manifest = krate.read("Cargo.toml").replace(
        "[dependencies]\n",
        "[dependencies]\nhalf = \"2\"\nndarray = \"0.17\"\nnum-complex = \"0.4\"\n",
    );
    krate.write("Cargo.toml", &manifest);
    krate.write("src/main.rs", SOURCE);
    krate
}

fn lines(krate: &Crate) -> Vec<String> {
    krate.run().lines().map(str::to_owned).collect()
}

/// What a line of `SOURCE`'s program prints without kernels, and with.
struct Expected {
    line: &'static str,
    reference: &'static str,
    kernel: &'static str,
}

#[test]
fn kernels_get_the_leaves_and_give_the_results() {
    if Tier::supported() < Tier::V3 {
        eprintln!("skipped: this CPU has no AVX2");
        return;
    }
    let krate = forms_crate("forms-dispatch");
    let expected = expected();
    let find = |lines: &[String], line: &str| -> String {
        let prefix = format!("{line}: ");
        let found = lines.iter().find_map(|text| text.strip_prefix(&prefix));
        found.unwrap_or_else(|| panic!("no line {line}")).to_owned()
    };
    let before = lines(&krate);
    for Expected {
        line, reference, ..
    } in &expected
    {
        assert_eq!(find(&before, line), *reference, "{line} without kernels");
    }
    assert_eq!(before.len(), expected.len());
    for kernel in kernels() {
        tune(&krate, &kernel);
    }
    let after = lines(&krate);
    for Expected { line, kernel, .. } in &expected {
        assert_eq!(find(&after, line), *kernel, "{line} with kernels");
    }
    let forced = krate.run_with(&[("PRAGMA_DISPATCH", "reference")]);
    assert_eq!(forced.lines().collect::<Vec<_>>(), before);
}

fn declining() -> Interface {
    Interface {
        declines: true,
        ..Interface::default()
    }
}

/// One kernel each; all give results that no reference gives.
fn kernels() -> Vec<ByHand<'static>> {
    vec![
        ByHand {
            function: "Gain::apply",
            shapes: &[("self.bias", "[n]"), ("x", "[n]")],
            signature: "(n: usize, factor: f32, bias: &[f32], x: &mut [f32])",
            body: "for i in 0..n { x[i] = 100.0 + x[i] * factor + bias[i]; }",
            ..ByHand::default()
        },
        ByHand {
            function: "Gain::private",
            unread: &["self.bias"],
            signature: "(factor: f32) -> f32",
            body: "100.0 + factor",
            ..ByHand::default()
        },
        ByHand {
            function: "Section::filter",
            instance: &[("T", "f32")],
            shapes: &[("buf", "[n]")],
            written: &["self.seen"],
            signature: "(n: usize, b: &mut [f32], state: &mut [f32], seen: &mut [usize], buf: &mut [f32])",
            body: "seen[0] += 100 + n; state[1] += b[0]; buf[0] = 100.0;",
            ..ByHand::default()
        },
        ByHand {
            function: "over",
            shapes: &[
                ("dst.data", "[dst.h, dst.w]"),
                ("src.data", "[dst.h, dst.w]"),
            ],
            signature: "(h: usize, w: usize, dst: &mut [u8], src_w: usize, src_h: usize, src: &[u8])",
            body: "for i in 0..h * w { dst[i] = src[i] + 100 * (src_w == w && src_h == h) as u8; }",
            ..ByHand::default()
        },
        ByHand {
            function: "generic",
            instance: &[("T", "f32")],
            shapes: &[("x", "[n]")],
            signature: "(n: usize, x: &[f32], k: f32) -> f32",
            body: "100.0 + n as f32 + x[0] * k",
            ..ByHand::default()
        },
        ByHand {
            function: "generic",
            instance: &[("T", "f64")],
            shapes: &[("x", "[n]")],
            signature: "(n: usize, x: &[f64], k: f64) -> f64",
            body: "200.0 + n as f64 + x[0] * k",
            ..ByHand::default()
        },
        ByHand {
            function: "Raster::scaled",
            instance: &[("C", "3")],
            shapes: &[("self.data", "[self.w, 3]"), ("return.data", "[w, 3]")],
            unread: &["self.kind"],
            signature: "(self_w: usize, w: usize, data: &[f32], out: &mut [core::mem::MaybeUninit<f32>]) -> (usize, u8)",
            body: "for o in out { o.write(data[0] + self_w as f32); } (w + 100, 1)",
            ..ByHand::default()
        },
        ByHand {
            function: "checked",
            shapes: &[("x", "[n]")],
            interface: declining(),
            signature: "(n: usize, x: &[f32], k: usize) -> Option<f32>",
            body: "if k >= n { return None; } Some(100.0 + x[k])",
            ..ByHand::default()
        },
        ByHand {
            function: "optional",
            shapes: &[("x", "[n]"), ("bias", "[m]")],
            signature: "(n: usize, m: usize, x: &[f32], has_bias: bool, bias: &[f32], has_k: bool, k: f32) -> (usize, f32)",
            body: "let _ = (x, m); (n + 100 * has_bias as usize + 1000 * has_k as usize, k + bias.iter().sum::<f32>())",
            ..ByHand::default()
        },
        ByHand {
            function: "pool",
            shapes: &[
                ("h.shape.0", "[rows]"),
                ("h.shape.1", "[d]"),
                ("h", "[rows, d]"),
                ("out.shape.0", "[rows]"),
                ("out.shape.1", "[d]"),
                ("out", "[rows, d]"),
                ("return", "[d]"),
            ],
            signature: "(rows: usize, d: usize, h: &[f32], out: &mut [f32], ret: &mut [core::mem::MaybeUninit<f32>]) -> usize",
            body: "for i in 0..rows * d { out[i] = h[i] + 100.0; } for r in ret { r.write(rows as f32); } d",
            ..ByHand::default()
        },
        ByHand {
            function: "viewed",
            shapes: &[("x.shape.0", "[n]"), ("x", "[n]")],
            signature: "(n: usize, x: &mut [f64])",
            body: "x[n - 1] = 100.0;",
            ..ByHand::default()
        },
        ByHand {
            function: "halves",
            shapes: &[("x", "[n]"), ("b", "[n]"), ("return", "[n]")],
            signature: "(n: usize, x: &mut [u16], b: &[u16], out: &mut [core::mem::MaybeUninit<u16>])",
            body: "for i in 0..n { x[i] = b[i]; out[i].write(0x5640); }",
            ..ByHand::default()
        },
        ByHand {
            function: "rays",
            shapes: &[("rays", "[n, 6]"), ("out", "[n]")],
            signature: "(n: usize, rays: &[f32], out: &mut [f32])",
            body: "for i in 0..n { out[i] = 100.0 + rays[6 * i] + 10.0 * rays[6 * i + 5]; }",
            ..ByHand::default()
        },
        ByHand {
            function: "quant",
            shapes: &[("w.f32", "[n, 9]"), ("w.i8", "[n, 36]")],
            signature: "(n: usize, f: &[f32], b: &[i8]) -> f32",
            body: "100.0 + f[9 * (n - 1) + 8] * b[36 * (n - 1) + 31] as f32",
            ..ByHand::default()
        },
        ByHand {
            function: "spread",
            shapes: &[("return", "[n, 3]")],
            signature: "(n: usize, out: &mut [core::mem::MaybeUninit<f64>])",
            body: "for (i, o) in out.iter_mut().enumerate() { o.write(100.0 + (i + n) as f64); }",
            ..ByHand::default()
        },
        ByHand {
            function: "taken",
            shapes: &[("x", "[c, h]"), ("return.0", "[c]"), ("return.1", "[h]")],
            signature: "(c: usize, h: usize, x: &[f32], k: f32, a: &mut [core::mem::MaybeUninit<f32>], b: &mut [core::mem::MaybeUninit<u32>])",
            body: "for a in a { a.write(100.0 + x[0] * k); } for b in b { b.write((c * 10 + h) as u32); }",
            ..ByHand::default()
        },
        ByHand {
            function: "rows",
            shapes: &[
                ("r.shape.0", "[n]"),
                ("r.shape.1", "[d]"),
                ("r", "[n, d]"),
                ("return", "[n, d]"),
            ],
            signature: "(n: usize, d: usize, r: &mut [f32], out: &mut [core::mem::MaybeUninit<f32>]) -> (usize, usize)",
            body: "for i in 0..n * d { out[i].write(r[i]); r[i] += 100.0; } (n, d)",
            ..ByHand::default()
        },
        ByHand {
            function: "edge",
            shapes: &[("x", "[n]")],
            signature: "(n: usize, x: &[f32], e: u8) -> u8",
            body: "let _ = (n, x); 2 - e",
            ..ByHand::default()
        },
        ByHand {
            function: "Grid::step",
            shapes: &[("self.f", "[n, 2]"), ("self.next", "[n, 2]")],
            unread: &["self.width"],
            interface: Interface {
                swaps: vec![("self.f".to_owned(), "self.next".to_owned())],
                ..Interface::default()
            },
            signature: "(n: usize, f: &mut [f32], next: &mut [f32])",
            body: "for i in 0..2 * n { next[i] = f[i] + 100.0; }",
            ..ByHand::default()
        },
        ByHand {
            function: "mat",
            signature: "(a: &[f32], s: &mut [f32], out: &mut [core::mem::MaybeUninit<f32>])",
            body: "s[0] += 100.0; out[0].write(a[3]); out[1].write(100.0);",
            ..ByHand::default()
        },
        ByHand {
            function: "waves",
            shapes: &[("x", "[n, 2]")],
            signature: "(n: usize, x: &mut [f32], re: f32, im: f32)",
            body: "for i in 0..n { x[2 * i] += 100.0 * re; x[2 * i + 1] += 100.0 * im; }",
            ..ByHand::default()
        },
        ByHand {
            function: "Area::area",
            signature: "(side: f32) -> f32",
            body: "100.0 + side",
            ..ByHand::default()
        },
        ByHand {
            function: "wraps",
            shapes: &[("x", "[n]")],
            interface: Interface {
                overflow_checked_in_debug: true,
                ..Interface::default()
            },
            signature: "(n: usize, x: &[u8]) -> u8",
            body: "x[0] + n as u8 + 100",
            ..ByHand::default()
        },
    ]
}

fn expected() -> Vec<Expected> {
    let line = |line, reference, kernel| Expected {
        line,
        reference,
        kernel,
    };
    vec![
        line(
            "method",
            "[7.0, 9.0] [7.0, 9.0]",
            "[107.0, 109.0] [7.0, 9.0]",
        ),
        line("method that does not fit", "[3.0]", "[3.0]"),
        line("private method", "2", "102"),
        line(
            "exclusive method",
            "[0.5] [0.5, 0.0] 1",
            "[100.0] [0.0, 0.5] 101",
        ),
        line("another instance of a method", "[0.5]", "[0.5]"),
        line("struct arguments", "[1, 2]", "[101, 102]"),
        line("generic", "6 6 6", "105 205 6"),
        line(
            "const generic",
            "(2, 0, [1.0, 1.0, 1.0, 1.0, 1.0, 1.0])",
            "(102, 1, [3.0, 3.0, 3.0, 3.0, 3.0, 3.0])",
        ),
        line("another const", "(2, 0, [1.0, 1.0])", "(2, 0, [1.0, 1.0])"),
        line("result", "Ok(2.0) Err(\"2\")", "Ok(102.0) Err(\"2\")"),
        line("option", "Some((2, 3.5)) None", "Some((1102, 3.5)) None"),
        line(
            "arrays",
            "[[1.0, 2.0], [3.0, 4.0]] [4.0, 6.0]",
            "[[101.0, 102.0], [103.0, 104.0]] [2.0, 2.0]",
        ),
        line(
            "transposed arrays",
            "[[1.0, 3.0], [2.0, 4.0]] [3.0, 7.0]",
            "[[1.0, 3.0], [2.0, 4.0]] [3.0, 7.0]",
        ),
        line("view", "[1.0, 2.0]", "[1.0, 100.0]"),
        line("halves", "[3.0] [1.0]", "[2.0] [100.0]"),
        line("records", "[5.0, 11.0]", "[151.0, 217.0]"),
        line("mixed records", "6", "106"),
        line(
            "returned records",
            "[(0.0, 0.0, 0.0)]",
            "[(101.0, 102.0, 103.0)]",
        ),
        line(
            "tuples",
            "([2.0, 4.0], [0, 1])",
            "([102.0, 102.0], [22, 22])",
        ),
        line(
            "rows",
            "[[1.0, 2.0], [3.0, 4.0]] [[2.0], [2.0]]",
            "[[101.0, 102.0], [103.0, 104.0]] [[1.0, 2.0], [3.0, 4.0]]",
        ),
        line(
            "uneven rows",
            "[[1.0], [3.0, 4.0]] [[1.0], [2.0]]",
            "[[1.0], [3.0, 4.0]] [[1.0], [2.0]]",
        ),
        line("enum", "Wrap", "Zero"),
        line(
            "swapped",
            "[[2.0, 3.0]] [[1.0, 2.0]]",
            "[[101.0, 102.0]] [[1.0, 2.0]]",
        ),
        line("nested arrays", "[3.0, 7.0] 1", "[4.0, 100.0] 100"),
        line("complex", "[1+2i]", "[201-98i]"),
        line("trait method", "4", "102"),
        line("overflow", "3", "3"),
    ]
}

#[test]
fn a_changed_method_is_stale_and_a_changed_struct_runs_the_reference() {
    if Tier::supported() < Tier::V3 {
        eprintln!("skipped: this CPU has no AVX2");
        return;
    }
    let krate = Crate::new("forms-stale");
    let source = |ty: &str, body: &str| {
        format!(
            "use pragma_runtime::pragma_kernel;\n\
             pub struct Line {{ pub w: Vec<{ty}>, pub len: usize }}\n\
             impl Line {{\n    #[pragma_kernel(shape(self.w = [n]))]\n    pub fn first(&self) -> f32 {{ {body} }}\n}}\n\
             fn main() {{ println!(\"{{}}\", Line {{ w: vec![1 as {ty}, 2 as {ty}], len: 2 }}.first()); }}\n"
        )
    };
    let body = "self.w[self.len - 1] as f32";
    krate.write("src/main.rs", &source("f32", body));
    let kernel = ByHand {
        function: "Line::first",
        shapes: &[("self.w", "[n]")],
        signature: "(n: usize, w: &[f32], len: usize) -> f32",
        body: "let _ = (n, len); 100.0 + w[0]",
        ..ByHand::default()
    };
    tune(&krate, &kernel);
    let run = || {
        let outcome = krate.cargo(&["run", "--quiet"]);
        assert!(outcome.ok, "{}", outcome.stderr);
        (
            outcome.stdout.trim().to_owned(),
            outcome.stderr.contains("has changed since its kernels"),
        )
    };
    assert_eq!(run(), ("101".to_owned(), false));
    // The function is the same text; its field is another type.
    krate.write("src/main.rs", &source("f64", body));
    assert_eq!(run(), ("2".to_owned(), false));
    krate.write(
        "src/main.rs",
        &source("f32", "self.w[self.len - 1] as f32 + 0.5"),
    );
    assert_eq!(run(), ("2.5".to_owned(), true));
    krate.write("src/main.rs", &source("f32", body));
    assert_eq!(run(), ("101".to_owned(), false));
}

#[test]
fn what_a_release_build_wraps_a_debug_build_checks() {
    if Tier::supported() < Tier::V3 {
        eprintln!("skipped: this CPU has no AVX2");
        return;
    }
    let krate = Crate::new("forms-overflow");
    krate.write(
        "src/main.rs",
        "#[pragma_runtime::pragma_kernel(shape(x = [n]))]\nfn wraps(x: &[u8]) -> u8 { x.iter().sum() }\n\
         fn main() { println!(\"{}\", wraps(&[1, 2])); }\n",
    );
    let kernels = kernels().into_iter();
    kernels
        .filter(|kernel| kernel.function == "wraps")
        .for_each(|kernel| tune(&krate, &kernel));
    let run = |args: &[&str]| {
        let outcome = krate.cargo(args);
        assert!(outcome.ok, "{}", outcome.stderr);
        outcome.stdout.trim().to_owned()
    };
    assert_eq!(run(&["run", "--quiet"]), "3");
    assert_eq!(run(&["run", "--quiet", "--release"]), "103");
}
