//! What the annotation costs: nanoseconds per call, seconds per clean build. Prints the table in `docs/dispatch.md`.
//!
//! Run on a quiet machine: `cargo bench -p pragma-macro --bench cost`.

#[path = "../../pragma-spec/tests/form/support.rs"]
#[allow(dead_code)]
mod source;
#[path = "../tests/support/mod.rs"]
mod support;
#[path = "../tests/forms/tuning.rs"]
mod tuning;

use std::time::Instant;

use pragma_spec::Target;
use support::{Crate, HandWritten};
use tuning::ByHand;

fn main() {
    calls();
    if std::env::args().all(|arg| arg != "--calls") {
        builds();
    }
}

/// A body that does next to nothing, so that what is around it shows.
const CALLS: &str = r#"
use std::hint::black_box;
use std::time::Instant;

#[pragma_runtime::pragma_kernel(shape(x = [n]))]
#[inline(never)]
fn vector(x: &[f32]) -> f32 {
    x.len() as f32
}

#[pragma_runtime::pragma_kernel(shape(x = [rows, d], w = [d], out = [rows, d]))]
#[inline(never)]
fn rows(x: &[f32], w: &[f32], out: &mut [f32]) {
    out[0] = x[0] + w[0];
}

pub struct Layer {
    pub weight: Vec<f32>,
    pub bias: Vec<f32>,
    pub eps: f32,
}

impl Layer {
    #[pragma_runtime::pragma_kernel(shape(self.weight = [n], self.bias = [n], x = [n]))]
    #[inline(never)]
    pub fn apply(&self, x: &mut [f32]) {
        x[0] = self.weight[0] + self.bias[0] + self.eps;
    }

    #[inline(never)]
    pub fn plain(&self, x: &mut [f32]) {
        x[0] = self.weight[0] + self.bias[0] + self.eps;
    }
}

#[pragma_runtime::pragma_kernel(shape(x = [n]), instantiate(T = f32))]
#[inline(never)]
fn generic<T: Copy>(x: &[T]) -> T {
    x[0]
}

#[inline(never)]
fn plain_generic<T: Copy>(x: &[T]) -> T {
    x[0]
}

#[inline(never)]
fn plain_vector(x: &[f32]) -> f32 {
    x.len() as f32
}

#[inline(never)]
fn plain_rows(x: &[f32], w: &[f32], out: &mut [f32]) {
    out[0] = x[0] + w[0];
}

/// The least time per call over several runs, in nanoseconds.
fn time(mut f: impl FnMut()) -> f64 {
    const CALLS: u32 = 300_000;
    (0..100)
        .map(|_| {
            let start = Instant::now();
            for _ in 0..CALLS {
                f();
            }
            start.elapsed().as_secs_f64() * 1e9 / f64::from(CALLS)
        })
        .fold(f64::INFINITY, f64::min)
}

fn main() {
    let (x, w, mut out) = ([1.0f32; 256], [1.0f32; 16], [0.0f32; 256]);
    println!("vector plain {:.2}", time(|| { black_box(plain_vector(black_box(&x))); }));
    println!("vector kernel {:.2}", time(|| { black_box(vector(black_box(&x))); }));
    println!("rows plain {:.2}", time(|| plain_rows(black_box(&x), black_box(&w), black_box(&mut out))));
    println!("rows kernel {:.2}", time(|| rows(black_box(&x), black_box(&w), black_box(&mut out))));
    let layer = Layer { weight: vec![1.0; 256], bias: vec![1.0; 256], eps: 1.0 };
    println!("method plain {:.2}", time(|| black_box(&layer).plain(black_box(&mut out))));
    println!("method kernel {:.2}", time(|| black_box(&layer).apply(black_box(&mut out))));
    println!("generic plain {:.2}", time(|| { black_box(plain_generic(black_box(&x[..]))); }));
    println!("generic kernel {:.2}", time(|| { black_box(generic(black_box(&x[..]))); }));
}
"#;

fn calls() {
    let krate = Crate::new("cost-calls");
    krate.write("src/main.rs", CALLS);
    let kernel = |target: Target, signature: &str, body: &str| {
        let features = target.features();
        format!("#[target_feature(enable = \"{features}\")]\npub fn {signature} {{ {body} }}\n")
    };
    let tune = |function: &str, shapes: &[(&str, &str)], signature: &str, body: &str| {
        let texts = Target::ALL.map(|target| kernel(target, signature, body));
        // Two size buckets, as a tuned function may have.
        let buckets = [("entry", Some(64)), ("entry", None)];
        let files = [
            (Target::ALL[0], texts[0].as_str(), buckets.as_slice()),
            (Target::ALL[1], texts[1].as_str(), buckets.as_slice()),
        ];
        let kernel = HandWritten {
            shapes,
            files: &files,
        };
        krate.tune("src/main.rs", "", function, &kernel);
    };
    tune(
        "vector",
        &[("x", "[n]")],
        "entry(n: usize, x: &[f32]) -> f32",
        "let _ = n; x.len() as f32 + 1.0",
    );
    tune(
        "rows",
        &[("x", "[rows, d]"), ("w", "[d]"), ("out", "[rows, d]")],
        "entry(rows: usize, d: usize, x: &[f32], w: &[f32], out: &mut [f32])",
        "let _ = (rows, d); out[0] = x[0] - w[0];",
    );
    tuning::tune(
        &krate,
        &ByHand {
            function: "Layer::apply",
            shapes: &[("self.weight", "[n]"), ("self.bias", "[n]"), ("x", "[n]")],
            signature: "(n: usize, w: &[f32], b: &[f32], eps: f32, x: &mut [f32])",
            body: "let _ = n; x[0] = w[0] - b[0] - eps;",
            ..ByHand::default()
        },
    );
    tuning::tune(
        &krate,
        &ByHand {
            function: "generic",
            instance: &[("T", "f32")],
            shapes: &[("x", "[n]")],
            signature: "(n: usize, x: &[f32]) -> f32",
            body: "let _ = n; x[0] + 1.0",
            ..ByHand::default()
        },
    );
    let outcome = krate.cargo(&["run", "--release", "--quiet"]);
    assert!(outcome.ok, "{}", outcome.stderr);
    println!(
        "nanoseconds per call, least of 100 runs of 300,000:\n{}",
        outcome.stdout
    );
}

fn builds() {
    const FUNCTIONS: usize = 50;
    let source = |annotation: &str| {
        let mut source = String::new();
        for i in 0..FUNCTIONS {
            source.push_str(&format!(
                "/// Number {i}.\n{annotation}pub fn f{i}(x: &[f32], w: &[f32], eps: f32, out: &mut [f32]) {{\n    \
                 let d = w.len();\n    \
                 for (row, o) in x.chunks_exact(d).zip(out.chunks_exact_mut(d)) {{\n        \
                 let ms = row.iter().map(|v| v * v).sum::<f32>() / d as f32 + {i}.0;\n        \
                 let scale = 1.0 / (ms + eps).sqrt();\n        \
                 for ((o, v), w) in o.iter_mut().zip(row).zip(w) {{ *o = v * scale * w; }}\n    }}\n}}\n"
            ));
        }
        source
    };
    let shapes = [("x", "[rows, d]"), ("w", "[d]"), ("out", "[rows, d]")];
    let annotation =
        "#[pragma_runtime::pragma_kernel(shape(x = [rows, d], w = [d], out = [rows, d]))]\n";
    println!("seconds for `cargo build` of {FUNCTIONS} functions (debug), least of 5:");
    let report = |name: &str, krate: &Crate| {
        let build = || {
            let start = Instant::now();
            let outcome = krate.cargo(&["build", "--quiet"]);
            assert!(outcome.ok, "{}", outcome.stderr);
            start.elapsed().as_secs_f64()
        };
        build();
        let alone = (0..5)
            .map(|_| {
                let clean = krate.cargo(&["clean", "--quiet", "--package", name]);
                assert!(clean.ok, "{}", clean.stderr);
                build()
            })
            .fold(f64::INFINITY, f64::min);
        println!("{name} {alone:.2}");
    };
    let plain = Crate::new("cost-plain");
    plain.write("src/lib.rs", &source(""));
    report("cost-plain", &plain);
    let untuned = Crate::new("cost-untuned");
    untuned.write("src/lib.rs", &source(annotation));
    report("cost-untuned", &untuned);
    let tuned = Crate::new("cost-tuned");
    tuned.write("src/lib.rs", &source(annotation));
    let texts = Target::ALL.map(|target| {
        format!(
            "#[target_feature(enable = \"{}\")]\npub fn entry(rows: usize, d: usize, x: &[f32], w: &[f32], eps: f32, out: &mut [f32]) {{\n    \
             for i in 0..rows {{\n        for j in 0..d {{\n            out[i * d + j] = x[i * d + j] * w[j] + eps;\n        }}\n    }}\n}}\n",
            target.features()
        )
    });
    for i in 0..FUNCTIONS {
        let entry: [support::Bucket<'_>; 1] = [("entry", None)];
        let kernel = HandWritten {
            shapes: &shapes,
            files: &[
                (Target::ALL[0], &texts[0], &entry),
                (Target::ALL[1], &texts[1], &entry),
            ],
        };
        tuned.tune("src/lib.rs", "", &format!("f{i}"), &kernel);
    }
    report("cost-tuned", &tuned);
}
