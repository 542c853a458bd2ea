//! Kernels that are there run, for the functions, machines and arguments they are made for.

mod support;

use pragma_runtime::Tier;
use pragma_spec::Target;
use support::{Crate, HandWritten, sum_kernel};

const V3: Target = Target::X86_64V3;
const V4: Target = Target::X86_64V4;

/// Whether this machine can run what the tests write; says so if not.
fn has_v3() -> bool {
    let has = Tier::supported() >= Tier::V3;
    if !has {
        eprintln!("skipped: this CPU has no AVX2");
    }
    has
}

/// A function of the v3 tier, which every machine with a kernel can run.
fn v3_function(signature: &str, body: &str) -> String {
    format!(
        "#[target_feature(enable = \"{}\")]\npub fn {signature} {{ {body} }}\n",
        V3.features()
    )
}

const SUM: &str = r#"
use pragma_runtime::pragma_kernel;

/// Sums.
#[pragma_kernel(shape(x = [n]))]
pub fn sum(x: &[f32]) -> f32 {
    x.iter().fold(0.0, |a, b| a + b)
}

fn main() {
    println!("{} {} {}", sum(&[1.0, 2.0]), sum(&[]), sum::reference(&[1.0, 2.0]));
}
"#;

#[test]
fn a_fresh_kernel_runs_and_the_environment_overrides_it() {
    if !has_v3() {
        return;
    }
    let krate = Crate::new("dispatch-fresh");
    krate.write("src/main.rs", SUM);
    assert_eq!(krate.run(), "3 0 3");
    let v3 = sum_kernel(V3, "sum", 300.0);
    let v4 = sum_kernel(V4, "sum", 400.0);
    krate.tune(
        "src/main.rs",
        "",
        "sum",
        &HandWritten {
            shapes: &[("x", "[n]")],
            files: &[(V3, &v3, &[("sum", None)]), (V4, &v4, &[("sum", None)])],
        },
    );
    // No source was touched: cargo notices the index. An empty slice is the reference's business.
    let best = match Tier::supported() {
        Tier::V4 => "403 0 3",
        _ => "303 0 3",
    };
    assert_eq!(krate.run(), best);
    let dispatch = |value| krate.run_with(&[("PRAGMA_DISPATCH", value)]);
    assert_eq!(dispatch("reference"), "3 0 3");
    assert_eq!(dispatch("x86-64-v3"), "303 0 3");
}

#[test]
fn a_machine_above_the_only_kernel_uses_it() {
    if !has_v3() {
        return;
    }
    let krate = Crate::new("dispatch-v3-only");
    krate.write("src/main.rs", SUM);
    let v3 = sum_kernel(V3, "sum", 300.0);
    let kernel = HandWritten {
        shapes: &[("x", "[n]")],
        files: &[(V3, &v3, &[("sum", None)])],
    };
    krate.tune("src/main.rs", "", "sum", &kernel);
    assert_eq!(krate.run(), "303 0 3");
}

#[test]
fn only_a_v4_kernel_is_nothing_for_a_v3_machine() {
    let krate = Crate::new("dispatch-v4-only");
    krate.write("src/main.rs", SUM);
    let v4 = sum_kernel(V4, "sum", 400.0);
    let kernel = HandWritten {
        shapes: &[("x", "[n]")],
        files: &[(V4, &v4, &[("sum", None)])],
    };
    krate.tune("src/main.rs", "", "sum", &kernel);
    assert_eq!(krate.run_with(&[("PRAGMA_DISPATCH", "x86-64-v3")]), "3 0 3");
}

#[test]
fn the_number_of_elements_chooses_the_variant() {
    if !has_v3() {
        return;
    }
    let krate = Crate::new("dispatch-buckets");
    krate.write(
        "src/main.rs",
        r#"
use pragma_runtime::pragma_kernel;

#[pragma_kernel(shape(x = [n], y = [n]))]
fn which(x: &[f32], y: &[f32]) -> u32 {
    let _ = (x, y);
    0
}

fn main() {
    let x = [0.0; 9];
    for n in [1, 2, 3, 4, 5, 9] {
        print!("{}", which(&x[..n], &x[..n]));
    }
    println!(" {}", which(&x[..2], &x[..3]));
}
"#,
    );
    let text = [1, 3].map(|i| {
        v3_function(
            &format!("bucket_{i}(n: usize, x: &[f32], y: &[f32]) -> u32"),
            &format!("let _ = (n, x, y); {i}"),
        )
    });
    let kernel = HandWritten {
        shapes: &[("x", "[n]"), ("y", "[n]")],
        files: &[(
            V3,
            &text.concat(),
            &[
                ("bucket_1", Some(4)),
                ("reference", Some(8)),
                ("bucket_3", None),
            ],
        )],
    };
    krate.tune("src/main.rs", "", "which", &kernel);
    // Elements are counted over both slices. Lengths that differ do not fit the shapes.
    assert_eq!(krate.run(), "110033 0");
}

#[test]
fn every_kind_of_parameter_and_result() {
    if !has_v3() {
        return;
    }
    let krate = Crate::new("dispatch-kinds");
    krate.write(
        "src/main.rs",
        r#"
use pragma_runtime::pragma_kernel;

/// Integer parameter as a size, in place, `mut` parameter.
#[pragma_kernel(shape(x = [rows, d]))]
fn scale(x: &mut [f32], d: u32, mut by: f32) {
    by += d as f32;
    for v in x { *v *= by; }
}

/// Arrays by reference, by value and in place; a tuple.
#[pragma_kernel]
fn arrays(a: &[f32; 2], b: [i32; 3], c: &mut [u8; 1]) -> (f32, i32) {
    c[0] += 1;
    (a[0], b[0])
}

/// A vector of another length.
#[pragma_kernel(shape(x = [n], return = [n - k + 1]), tune(n = 8, k = 3))]
fn windows<'a>(x: &'a [f64], k: usize) -> Vec<f64> {
    if k == 0 { return Vec::new(); }
    x.windows(k).map(|w| w[0]).collect()
}

#[pragma_kernel(shape(r#in = [n], r#type = [2 * n]))]
fn r#match(r#in: &[u8], r#type: &[u8]) -> bool {
    r#in.len() > r#type.len()
}

fn main() {
    let mut x = [1.0, 2.0, 3.0, 4.0];
    scale(&mut x, 2, 1.0);
    println!("{x:?}");
    scale(&mut x, 3, 0.0);
    println!("{x:?}");
    let mut c = [7];
    println!("{:?} {c:?}", arrays(&[1.0, 2.0], [3, 4, 5], &mut c));
    println!("{:?} {c:?}", arrays::reference(&[1.0, 2.0], [3, 4, 5], &mut c));
    println!("{:?}", windows(&[1.0, 2.0, 3.0], 2));
    println!("{:?}", windows(&[1.0, 2.0, 3.0], 4));
    println!("{:?}", windows(&[1.0, 2.0, 3.0], 0));
    println!("{} {}", r#match(&[1], &[2, 3]), r#match::reference(&[1], &[2, 3]));
}
"#,
    );
    let reference = "[3.0, 6.0, 9.0, 12.0]\n[9.0, 18.0, 27.0, 36.0]\n(1.0, 3) [8]\n(1.0, 3) [9]\n\
                     [1.0, 2.0]\n[]\n[]\nfalse false";
    assert_eq!(krate.run(), reference);
    let kernel = |function: &str, shapes: &[(&str, &str)], signature: &str, body: &str| {
        let text = v3_function(signature, body);
        let kernel = HandWritten {
            shapes,
            files: &[(V3, &text, &[("entry", None)])],
        };
        krate.tune("src/main.rs", "", function, &kernel);
    };
    kernel(
        "scale",
        &[("x", "[rows, d]")],
        "entry(rows: usize, d: usize, x: &mut [f32], by: f32)",
        "x.fill((100 * rows + 10 * d) as f32 + by)",
    );
    kernel(
        "arrays",
        &[("a", "[2]"), ("b", "[3]"), ("c", "[1]")],
        "entry(a: &[f32], b: &[i32], c: &mut [u8]) -> (f32, i32)",
        "c[0] += 100; (a[1], b[2])",
    );
    kernel(
        "windows",
        &[("x", "[n]"), ("return", "[n - k + 1]")],
        "entry(n: usize, k: usize, x: &[f64], ret: &mut [core::mem::MaybeUninit<f64>])",
        "for (i, r) in ret.iter_mut().enumerate() { r.write((100 * n + 10 * k + i) as f64 + x[0]); }",
    );
    let expected = "[221.0, 221.0, 221.0, 221.0]\n[663.0, 663.0, 663.0, 663.0]\n(2.0, 5) [107]\n(1.0, 3) [108]\n\
                    [321.0, 322.0]\n[]\n[]\nfalse false";
    assert_eq!(krate.run(), expected);
    krate.tune(
        "src/main.rs",
        "",
        "match",
        &HandWritten {
            shapes: &[("in", "[n]"), ("type", "[2 * n]")],
            files: &[(
                V3,
                &v3_function(
                    "entry(n: usize, r#in: &[u8], r#type: &[u8]) -> bool",
                    "let _ = (r#in, r#type); n == 1",
                ),
                &[("entry", None)],
            )],
        },
    );
    assert_eq!(krate.run(), expected.replace("false false", "true false"));
}

/// Parameters called what the generated code could call its own things, and like the function itself.
#[test]
fn no_name_of_the_users_is_taken() {
    if !has_v3() {
        return;
    }
    let krate = Crate::new("dispatch-names");
    krate.write(
        "src/main.rs",
        r#"
use pragma_runtime::pragma_kernel;

#[pragma_kernel(shape(args = [x_len, tier], r#type = [r#in * x_len]))]
fn count(args: &[f32], x_len: usize, ret: [f32; 3], tier: u8, r#type: &[f32], count: f32, mut entry: [f32; 1]) -> Vec<f32> {
    entry[0] += ret.len() as f32;
    vec![args.len() as f32, x_len as f32, ret[0], f32::from(tier), r#type.len() as f32, count, entry[0]]
}

fn main() {
    let x = [0.5; 6];
    println!("{:?}", count(&x, 3, [7.0, 8.0, 9.0], 2, &x, 1.5, [4.0]));
    println!("{:?}", count::reference(&x, 3, [7.0, 8.0, 9.0], 2, &x, 1.5, [4.0]));
}
"#,
    );
    let reference = "[6.0, 3.0, 7.0, 2.0, 6.0, 1.5, 7.0]";
    assert_eq!(krate.run(), format!("{reference}\n{reference}"));
    // A build for tuning exports the reference beside it.
    let harness = krate.cargo_with(&["check", "--quiet"], &[("PRAGMA_HARNESS", "1")]);
    assert!(harness.ok, "{}", harness.stderr);
    let text = v3_function(
        "r#match(x_len: usize, tier: usize, r#in: usize, args: &[f32], ret: &[f32], r#type: &[f32], count: f32, \
         entry: &[f32], out: &mut [core::mem::MaybeUninit<f32>])",
        "let _ = (args, r#type); let all = [x_len as f32, tier as f32, r#in as f32, ret[2], count, entry[0]]; \
         for (o, v) in out.iter_mut().zip(all) { o.write(v); }",
    );
    let kernel = HandWritten {
        shapes: &[
            ("args", "[x_len, tier]"),
            ("type", "[r#in * x_len]"),
            ("return", "[6]"),
        ],
        files: &[(V3, &text, &[("r#match", None)])],
    };
    krate.tune("src/main.rs", "", "count", &kernel);
    assert_eq!(
        krate.run(),
        format!("[3.0, 2.0, 2.0, 9.0, 1.5, 4.0]\n{reference}")
    );
}

#[test]
fn equal_functions_of_other_modules_keep_their_own_kernels() {
    if !has_v3() {
        return;
    }
    let krate = Crate::new("dispatch-modules");
    let sum =
        "#[pragma_kernel]\n    pub fn sum(x: &[f32]) -> f32 { x.iter().fold(ZERO, |a, b| a + b) }";
    krate.write(
        "src/main.rs",
        &format!(
            "mod a {{\n    use pragma_runtime::pragma_kernel;\n    const ZERO: f32 = 1.0;\n    {sum}\n    pub mod b {{\n    \
             use pragma_runtime::pragma_kernel;\n    const ZERO: f32 = 2.0;\n    {sum}\n    }}\n}}\n\
             mod c;\n\
             fn main() {{ let x = [1.0]; println!(\"{{}} {{}} {{}}\", a::sum(&x), a::b::sum(&x), c::sum(&x)); }}\n"
        ),
    );
    krate.write(
        "src/c.rs",
        &format!("use pragma_runtime::pragma_kernel;\nconst ZERO: f32 = 3.0;\n{sum}\n"),
    );
    assert_eq!(krate.run(), "2 3 4");
    let tune = |source, module, value| {
        let text = sum_kernel(V3, "sum", value);
        let kernel = HandWritten {
            shapes: &[("x", "[n]")],
            files: &[(V3, &text, &[("sum", None)])],
        };
        krate.tune(source, module, "sum", &kernel);
    };
    tune("src/main.rs", "a::b", 20.0);
    assert_eq!(krate.run(), "2 22 4");
    tune("src/c.rs", "c", 30.0);
    assert_eq!(krate.run(), "2 22 32");
    tune("src/main.rs", "a", 10.0);
    assert_eq!(krate.run(), "12 22 32");
}

#[test]
fn the_runtime_may_have_another_name() {
    if !has_v3() {
        return;
    }
    let krate = Crate::new("dispatch-renamed");
    let manifest = krate.read("Cargo.toml").replace(
        "pragma-runtime = {",
        "fast = { package = \"pragma-runtime\",",
    );
    krate.write("Cargo.toml", &manifest);
    krate.write(
        "src/main.rs",
        "#[fast::pragma_kernel(shape(x = [n]), crate = ::fast)]\nfn sum(x: &[f32]) -> f32 { x.iter().sum() }\n\
         fn main() { println!(\"{}\", sum(&[1.0])); }\n",
    );
    assert_eq!(krate.run(), "1");
    let text = format!(
        "use pragma_runtime::Tier;\n{}",
        sum_kernel(V3, "sum", 5.0).replace("x[0]", "x[0] + Tier::V3 as u8 as f32")
    );
    let kernel = HandWritten {
        shapes: &[("x", "[n]")],
        files: &[(V3, &text, &[("sum", None)])],
    };
    krate.tune("src/main.rs", "", "sum", &kernel);
    assert_eq!(krate.run(), "9");
}

/// Lints at their strictest, on an untuned and on a tuned crate: nothing that is generated may show.
#[test]
fn strict_lints_have_nothing_to_say_and_every_visibility_works() {
    let krate = Crate::new("dispatch-strict");
    krate.write(
        "src/lib.rs",
        r#"//! Every visibility, strict lints.
#![deny(
    warnings, missing_docs, unused, unreachable_pub, unsafe_code, nonstandard_style, unused_qualifications,
    missing_debug_implementations, trivial_casts, unused_results, rust_2018_idioms, future_incompatible,
    clippy::all, clippy::pedantic, clippy::nursery, clippy::undocumented_unsafe_blocks, clippy::unwrap_used,
    clippy::missing_docs_in_private_items
)]
/// Types with the names of the standard library's.
pub mod outer {
    /// Inner.
    pub mod inner {
        use pragma_runtime::pragma_kernel;

        /// Not the standard one.
        #[derive(Debug)]
        pub struct Option;
        /// Not the standard one.
        #[derive(Debug)]
        pub struct Vec;

        /// Public.
        #[pragma_kernel(shape(x = [n]))]
        #[must_use]
        #[inline]
        pub fn public(x: &[f32]) -> f32 {
            x.iter().fold(0.0, |a, b| a + b)
        }

        /// Of the crate.
        #[pragma_kernel(shape(x = [n]))]
        pub(crate) fn of_crate(x: &[f32]) -> f32 {
            x.iter().fold(0.0, |a, b| a + b)
        }

        /// Of the parent.
        #[pragma_kernel(shape(x = [n]))]
        pub(super) fn of_super(x: &[f32]) -> f32 {
            x.iter().fold(0.0, |a, b| a + b)
        }

        /// Of an ancestor.
        #[pragma_kernel(shape(x = [n]))]
        pub(in crate::outer) fn of_path(x: &[f32]) -> f32 {
            x.iter().fold(0.0, |a, b| a + b)
        }

        /// Private.
        #[pragma_kernel(shape(x = [n]))]
        #[expect(clippy::manual_memcpy)]
        fn private(x: &[f32], out: &mut [f32]) {
            for i in 0..x.len() {
                out[i] = x[i];
            }
        }

        /// Not there at all.
        #[pragma_kernel]
        #[cfg(any())]
        pub fn absent(x: &[Nonsense]) -> Nonsense {
            x
        }

        /// Not there at all, either.
        #[cfg(any())]
        #[pragma_kernel]
        pub fn absent(x: &[Nonsense]) -> Nonsense {
            x
        }

        /// Uses them all.
        #[must_use]
        pub fn all(x: &[f32]) -> f32 {
            let mut out = [0.0; 4];
            private(x, &mut out);
            private::reference(x, &mut out);
            public(x) + public::reference(x) + of_crate(x) + of_crate::reference(x) + out[0]
        }
    }

    /// Uses the parent's.
    #[must_use]
    pub fn all(x: &[f32]) -> f32 {
        inner::of_super(x) + inner::of_super::reference(x) + inner::of_path(x) + inner::of_path::reference(x)
    }
}

/// Uses the crate's.
#[must_use]
pub fn all(x: &[f32]) -> f32 {
    outer::inner::of_crate(x) + outer::inner::of_crate::reference(x)
}
"#,
    );
    krate.write(
        "tests/public.rs",
        "//! From outside.\n#[test]\nfn public() {\n    use strict::outer::inner::public;\n    \
         assert!((public(&[1.0]) - public::reference(&[1.0])).abs() < 1e9);\n}\n",
    );
    let manifest = krate.read("Cargo.toml") + "\n[lib]\nname = \"strict\"\n";
    krate.write("Cargo.toml", &manifest);
    let strict = |what: &str| {
        let clippy = krate.cargo(&["clippy", "--quiet", "--all-targets"]);
        assert!(
            clippy.ok && clippy.stderr.is_empty(),
            "{what}: {}",
            clippy.stderr
        );
        let test = krate.cargo(&["test", "--quiet"]);
        assert!(test.ok, "{what}: {}", test.stderr);
        let doc = krate.cargo(&["doc", "--quiet", "--no-deps"]);
        assert!(doc.ok && doc.stderr.is_empty(), "{what}: {}", doc.stderr);
    };
    strict("untuned");
    let sum = sum_kernel(V3, "entry", 5.0);
    for function in ["public", "of_crate", "of_super", "of_path"] {
        let kernel = HandWritten {
            shapes: &[("x", "[n]")],
            files: &[(V3, &sum, &[("entry", None)])],
        };
        krate.tune("src/lib.rs", "outer::inner", function, &kernel);
    }
    let copy = v3_function(
        "entry(n: usize, x: &[f32], out: &mut [f32])",
        "let UNUSED = n; unsafe { *out.get_unchecked_mut(0) = x[0]; }",
    );
    let kernel = HandWritten {
        shapes: &[("x", "[n]"), ("out", "[n]")],
        files: &[(V3, &copy, &[("entry", None)])],
    };
    krate.tune("src/lib.rs", "outer::inner", "private", &kernel);
    strict("tuned");
}

#[test]
fn a_file_may_have_the_name_of_its_function() {
    let krate = Crate::new("dispatch-own-file");
    let function = |name: &str| {
        format!(
            "#[pragma_runtime::pragma_kernel]\npub fn {name}(x: &[f32]) -> f32 {{ x.iter().sum() }}\n\
             pub fn both(x: &[f32]) -> f32 {{ {name}(x) + {name}::reference(x) }}\n"
        )
    };
    krate.write("src/sum.rs", &function("sum"));
    krate.write("src/dot/mod.rs", &function("dot"));
    krate.write(
        "src/main.rs",
        "mod sum;\npub use sum::sum;\npub mod dot;\nuse dot::dot;\n\
         fn main() { println!(\"{} {}\", sum(&[1.0]) + sum::both(&[1.0]), dot(&[2.0]) + dot::both(&[2.0])); }\n",
    );
    assert_eq!(krate.run(), "3 6");
}
