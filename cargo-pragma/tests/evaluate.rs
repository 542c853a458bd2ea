//! Good and bad candidates, end to end: harness build, workers, verdicts.
#![forbid(unsafe_code)]

mod support;

use std::sync::OnceLock;
use std::time::Instant;

use cargo_pragma::disasm;
use cargo_pragma::harness::{CandidateText, Harness};
use cargo_pragma::measure::{Effort, ceilings};
use cargo_pragma::verify::{Bench, Level, Verdict};
use pragma_spec::TuneSize;
use support::{Fixture, bench, export, spec, verdict};

/// `fn scale(x: &[f32], k: f32, out: &mut [f32])`, `fn total(x: &[f32]) -> f32`, `fn plus_one(x: &[i32]) -> Vec<i32>`
/// and `fn add(x: &[f32], y: &mut [f32])`, all private.
fn library() -> &'static (Fixture, Harness) {
    static LIBRARY: OnceLock<(Fixture, Harness)> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let source = [
            "fn scale(x: &[f32], k: f32, out: &mut [f32]) { for (o, x) in out.iter_mut().zip(x) { *o = x * k; } }\n".to_owned(),
            "fn total(x: &[f32]) -> f32 { x.iter().sum() }\n".to_owned(),
            "fn plus_one(x: &[i32]) -> Vec<i32> { x.iter().map(|x| x.wrapping_add(1)).collect() }\n".to_owned(),
            "fn add(x: &[f32], y: &mut [f32]) { for (y, x) in y.iter_mut().zip(x) { *y += x; } }\n".to_owned(),
            export("ref_scale", "scale(h::slice(args, 0), h::scalar(args, 1), h::slice_mut(args, 2))"),
            export("ref_total", "h::return_value(ret, 0, &total(h::slice(args, 0)))"),
            export("ref_plus_one", "h::return_slice(ret, 0, &plus_one(h::slice(args, 0)))"),
            export("ref_add", "add(h::slice(args, 0), h::slice_mut(args, 1))"),
        ];
        let fixture = Fixture::new("demo", "demo", "").file("src/lib.rs", &source.concat());
        let harness = fixture.build("demo").unwrap_or_else(|error| panic!("{error:?}"));
        (fixture, harness)
    })
}

fn scale_bench(harness: &Harness) -> Bench {
    let spec = spec(
        "fn scale(x: &[f32], k: f32, out: &mut [f32])",
        "shape(x = [n], out = [n]), tune(n = 100000), exact",
        "ref_scale",
        None,
    );
    bench(harness, spec).unwrap_or_else(|error| panic!("{error}"))
}

/// `body` inside the kernel of `scale`.
fn scale_kernel(body: &str) -> String {
    format!("pub fn k(n: usize, x: &[f32], k: f32, out: &mut [f32]) {{ {body} }}")
}

fn message(verdict: Verdict) -> String {
    match verdict {
        Verdict::Wrong(evidence) => evidence.sentence(),
        Verdict::Unproven(reason) => format!("unproven: {reason}"),
        Verdict::Verified(_) => "verified".into(),
    }
}

#[test]
fn a_right_kernel_is_verified() {
    let (_, harness) = library();
    let mut bench = scale_bench(harness);
    let start = Instant::now();
    let good = scale_kernel("for i in 0..n { out[i] = x[i] * k; }");
    match verdict(harness, &mut bench, &good, "k", Level::Full) {
        Verdict::Verified(verified) => {
            assert!(verified.cases() > 100);
            assert!(verified.tally().judged > 100_000);
            assert!(
                verified
                    .checked()
                    .iter()
                    .any(|line| line.contains("held-out"))
            );
        }
        other => panic!("{other:?}"),
    }
    println!("full verification in {:?}", start.elapsed());
}

#[test]
fn wrong_kernels_are_refused() {
    let (_, harness) = library();
    let mut bench = scale_bench(harness);
    let right = "for i in 0..n { out[i] = x[i] * k; }";
    let cases = [
        (
            "the tail is not written",
            "for i in 0..n / 8 * 8 { out[i] = x[i] * k; }".to_owned(),
            "not written",
        ),
        (
            "one tail element is wrong",
            format!("{right} if n % 16 == 15 {{ out[n - 1] *= 2.0; }}"),
            "wrong result",
        ),
        (
            "only large sizes are wrong",
            format!("{right} if n > 200_000 {{ out[7] = 0.0; }}"),
            "wrong result at `out`[7]: reference ",
        ),
        (
            "halved precision",
            "for i in 0..n { out[i] = f32::from_bits((x[i] * k).to_bits() & 0xffff_0000); }"
                .to_owned(),
            "no error is allowed",
        ),
        (
            "NaN is dropped",
            "for i in 0..n { let v = x[i] * k; out[i] = if v.is_nan() { 0.0 } else { v }; }"
                .to_owned(),
            "wrong result",
        ),
        (
            "denormals are flushed",
            "for i in 0..n { let v = x[i] * k; out[i] = if v.is_subnormal() { 0.0 } else { v }; }"
                .to_owned(),
            "wrong result",
        ),
        ("a panic", format!("assert!(n != 33); {right}"), "panics"),
    ];
    for (name, body, expected) in cases {
        let got = message(verdict(
            harness,
            &mut bench,
            &scale_kernel(&body),
            "k",
            Level::Search,
        ));
        assert!(got.contains(expected), "{name}: {got}");
    }
}

#[test]
fn misbehaving_kernels_kill_their_worker_only() {
    let (_, harness) = library();
    let mut bench = scale_bench(harness);
    let right = "for i in 0..n { out[i] = x[i] * k; }";
    let cases = [
        (
            "reads one past the end",
            format!(
                "{right} std::hint::black_box(unsafe {{ std::ptr::read_volatile(x.as_ptr().add(n)) }});"
            ),
            "SIGSEGV",
        ),
        (
            "writes one past the end",
            format!("{right} unsafe {{ std::ptr::write_volatile(out.as_mut_ptr().add(n), 0.0) }};"),
            "outside of `out`",
        ),
        (
            "writes before the start",
            format!("{right} unsafe {{ std::ptr::write_volatile(out.as_mut_ptr().sub(1), 0.0) }};"),
            "outside of `out`",
        ),
        (
            "writes to an input",
            format!("unsafe {{ std::ptr::write_volatile(x.as_ptr().cast_mut(), 1.0) }}; {right}"),
            "SIGSEGV",
        ),
        (
            "aborts",
            format!("if n == 9 {{ std::process::abort() }} {right}"),
            "SIGABRT",
        ),
        (
            "exits",
            format!("if n == 9 {{ std::process::exit(0) }} {right}"),
            "exited with 0",
        ),
        (
            "hangs",
            format!("if n == 9 {{ loop {{ std::hint::spin_loop() }} }} {right}"),
            "does not return",
        ),
        (
            "hoards memory",
            format!(
                "if n == 9 {{ let mut v: Vec<Vec<u8>> = Vec::new(); loop {{ v.push(vec![0; 1 << 28]); }} }} {right}"
            ),
            "SIGABRT",
        ),
    ];
    for (name, body, expected) in cases {
        let got = message(verdict(
            harness,
            &mut bench,
            &scale_kernel(&body),
            "k",
            Level::Search,
        ));
        assert!(got.contains(expected), "{name}: {got}");
    }
    // The bench is as good as before.
    assert_eq!(
        message(verdict(
            harness,
            &mut bench,
            &scale_kernel(right),
            "k",
            Level::Search
        )),
        "verified"
    );
}

#[test]
fn kernels_with_a_memory_are_refused() {
    let (_, harness) = library();
    let mut bench = scale_bench(harness);
    let right = "for i in 0..n { out[i] = x[i] * k; }";
    let cases = [
        (
            "differs from call to call",
            format!(
                "static C: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0); {right} if C.fetch_add(1, std::sync::atomic::Ordering::Relaxed) % 2 == 1 {{ out[0] = 3.0; }}"
            ),
            "",
        ),
        (
            "answers from a cache of addresses",
            format!(
                "static C: std::sync::Mutex<Option<(usize, usize, Vec<f32>)>> = std::sync::Mutex::new(None); let mut c = C.lock().unwrap(); if let Some((p, m, v)) = &*c && *p == x.as_ptr() as usize && *m == n {{ out.copy_from_slice(v); return; }} {right} *c = Some((x.as_ptr() as usize, n, out.to_vec()));"
            ),
            "wrong result",
        ),
    ];
    for (name, body, expected) in cases {
        let got = message(verdict(
            harness,
            &mut bench,
            &scale_kernel(&body),
            "k",
            Level::Search,
        ));
        assert!(got != "verified" && got.contains(expected), "{name}: {got}");
    }
}

#[test]
fn scalars_vectors_and_updates() {
    let (_, harness) = library();
    let total = spec(
        "fn total(x: &[f32]) -> f32",
        "shape(x = [n]), tolerance(rtol = 1e-3, atol = 1e9)",
        "ref_total",
        None,
    );
    // With a tolerance that admits anything, the judge itself fails its test.
    let error = bench(harness, total)
        .err()
        .map(|error| error.to_string())
        .unwrap_or_default();
    assert!(error.contains("wrong result"), "{error}");

    let plus = spec(
        "fn plus_one(x: &[i32]) -> Vec<i32>",
        "shape(x = [n], return = [n])",
        "ref_plus_one",
        None,
    );
    let mut plus = bench(harness, plus).unwrap_or_else(|error| panic!("{error}"));
    let kernel = |body: &str| {
        format!(
            "pub fn k(n: usize, x: &[i32], out: &mut [std::mem::MaybeUninit<i32>]) {{ {body} }}"
        )
    };
    let good = kernel("for i in 0..n { out[i].write(x[i].wrapping_add(1)); }");
    assert_eq!(
        message(verdict(harness, &mut plus, &good, "k", Level::Full)),
        "verified"
    );
    let short = kernel("for i in 0..n / 4 * 4 { out[i].write(x[i].wrapping_add(1)); }");
    assert!(
        message(verdict(harness, &mut plus, &short, "k", Level::Search)).contains("not written")
    );
    let saturating = kernel("for i in 0..n { out[i].write(x[i].saturating_add(1)); }");
    // Full-range integers hit the one value that tells the two apart only by luck; nothing is claimed about it.
    let _ = message(verdict(harness, &mut plus, &saturating, "k", Level::Search));

    let add = spec(
        "fn add(x: &[f32], y: &mut [f32])",
        "shape(x = [n], y = [n]), exact",
        "ref_add",
        None,
    );
    let mut add = bench(harness, add).unwrap_or_else(|error| panic!("{error}"));
    let kernel = |body: &str| format!("pub fn k(n: usize, x: &[f32], y: &mut [f32]) {{ {body} }}");
    assert_eq!(
        message(verdict(
            harness,
            &mut add,
            &kernel("for i in 0..n { y[i] += x[i]; }"),
            "k",
            Level::Full
        )),
        "verified"
    );
    assert!(
        message(verdict(
            harness,
            &mut add,
            &kernel("for i in 0..n / 8 * 8 { y[i] += x[i]; }"),
            "k",
            Level::Search
        ))
        .contains("wrong result")
    );
    assert!(
        message(verdict(
            harness,
            &mut add,
            &kernel("for i in 0..n { y[i] = x[i]; }"),
            "k",
            Level::Search
        ))
        .contains("wrong result")
    );
}

#[test]
fn a_faster_kernel_measures_faster() {
    let (_, harness) = library();
    let mut bench = scale_bench(harness);
    let tune = bench.spec().attribute.tunes[0].clone();
    let verified = |bench: &mut Bench, body: &str| match verdict(
        harness,
        bench,
        &scale_kernel(body),
        "k",
        Level::Search,
    ) {
        Verdict::Verified(verified) => verified,
        other => panic!("{other:?}"),
    };
    let fast = verified(&mut bench, "for i in 0..n { out[i] = x[i] * k; }");
    let slow = verified(
        &mut bench,
        "for i in 0..n { out[i] = std::hint::black_box(std::hint::black_box(x[i]) * std::hint::black_box(k)); }",
    );
    let measurement = bench
        .measure(&fast, Some(&slow), &tune, 1, Effort::Search)
        .expect("times");
    let (ratio, (lo, hi)) = measurement.against_best.expect("there was a best");
    assert!(ratio > 1.5 && lo > 1.0 && hi >= lo, "{measurement:?}");
    assert!(
        measurement.ci95.0 <= measurement.speedup && measurement.speedup <= measurement.ci95.1,
        "{measurement:?}"
    );
    assert!(
        measurement.rounds >= 5 && measurement.candidate_ns > 100.0,
        "{measurement:?}"
    );
    let reference = bench
        .measure_reference(&tune, 1, Effort::Search)
        .expect("times");
    assert!(reference > 100.0);
    // A size that the shapes do not have.
    let missing = TuneSize {
        values: vec![("rows".into(), 3.0)],
        ..TuneSize::default()
    };
    assert!(
        bench
            .measure(&fast, None, &missing, 1, Effort::Search)
            .is_err()
    );
}

#[test]
fn the_machine_is_measured_once() {
    let (_, harness) = library();
    let dir = tempfile::tempdir().expect("a temporary directory");
    let limits = support::limits();
    let start = Instant::now();
    let first = ceilings(harness, &limits, dir.path()).unwrap_or_else(|error| panic!("{error}"));
    println!("{first:#?} in {:?}", start.elapsed());
    for entry in &first.by_threads {
        let memory = entry.memory().expect("main memory is a level");
        assert!(memory.copy_gbs > 0.1 && memory.copy_gbs < 10_000.0);
        assert!(
            entry
                .fma_gflops
                .iter()
                .all(|(_, gflops)| *gflops > 0.5 && *gflops < 1e6)
        );
    }
    assert_eq!(ceilings(harness, &limits, dir.path()).expect("kept"), first);
}

#[test]
fn machine_code_is_read() {
    let (_, harness) = library();
    let spec = spec(
        "fn scale(x: &[f32], k: f32, out: &mut [f32])",
        "shape(x = [n], out = [n])",
        "ref_scale",
        None,
    );
    let source = "#[target_feature(enable = \"avx2,fma\")]\npub fn k(n: usize, x: &[f32], k: f32, out: &mut [f32]) {\n    use std::arch::x86_64::*;\n    let k = _mm256_set1_ps(k);\n    let mut i = 0;\n    while i + 8 <= n {\n        unsafe { _mm256_storeu_ps(out.as_mut_ptr().add(i), _mm256_fmadd_ps(_mm256_loadu_ps(x.as_ptr().add(i)), k, k)) };\n        i += 8;\n    }\n}";
    let text = CandidateText {
        source,
        entry: "k",
        signature: &spec.signature,
        guard: &spec.guard,
        shapes: &spec.shapes,
        declines: false,
    };
    let dir = tempfile::tempdir().expect("a temporary directory");
    let built = harness
        .build_candidate(&text, dir.path())
        .unwrap_or_else(|error| panic!("{error:?}"));
    let profile = disasm::read(&built.path).unwrap_or_else(|error| panic!("{error}"));
    let hot = profile.hot();
    assert!(
        hot.fma >= 1 && hot.stores >= 1 && hot.ymm >= 2 && hot.zmm == 0,
        "{profile:#?}"
    );
    assert_eq!(hot.widest_share(8), 1.0);
    assert_eq!(hot.calls + hot.vector_spills, 0, "{profile:#?}");
}

#[test]
fn arrays_tuples_and_integer_sizes() {
    let source = [
        "fn blur(x: &[f32], w: [f32; 3], out: &mut [f32]) { for (o, x) in out.iter_mut().zip(x.windows(3)) { *o = x[0] * w[0] + x[1] * w[1] + x[2] * w[2]; } }\n".to_owned(),
        "fn extent(x: &[i16]) -> (i16, i16) { (x.iter().copied().min().unwrap(), x.iter().copied().max().unwrap()) }\n".to_owned(),
        "fn rows(d: usize, x: &[u8], out: &mut [u32]) { for (o, r) in out.iter_mut().zip(x.chunks_exact(d)) { *o = r.iter().map(|&v| u32::from(v)).sum(); } }\n".to_owned(),
        "fn pick(x: &[f32], at: &[u32], out: &mut [f32]) { for (o, &i) in out.iter_mut().zip(at) { *o = x[i as usize]; } }\n".to_owned(),
        export("ref_blur", "blur(h::slice(args, 0), *h::array(args, 1), h::slice_mut(args, 2))"),
        export("ref_extent", "let v = extent(h::slice(args, 0)); h::return_value(ret, 0, &v.0); h::return_value(ret, 1, &v.1)"),
        export("ref_rows", "rows(h::scalar(args, 0), h::slice(args, 1), h::slice_mut(args, 2))"),
        export("ref_pick", "pick(h::slice(args, 0), h::slice(args, 1), h::slice_mut(args, 2))"),
    ];
    let fixture = Fixture::new("kinds", "kinds", "").file("src/lib.rs", &source.concat());
    let harness = fixture
        .build("kinds")
        .unwrap_or_else(|error| panic!("{error:?}"));
    let run = |signature: &str, attribute: &str, symbol: &str, source: &str| {
        let mut bench = bench(&harness, spec(signature, attribute, symbol, None))
            .unwrap_or_else(|error| panic!("{symbol}: {error}"));
        message(verdict(&harness, &mut bench, source, "k", Level::Search))
    };
    let (signature, shapes) = (
        "fn blur(x: &[f32], w: [f32; 3], out: &mut [f32])",
        "shape(x = [n + 2], out = [n])",
    );
    let good = "pub fn k(n: usize, x: &[f32], w: &[f32], out: &mut [f32]) { for i in 0..n { out[i] = x[i] * w[0] + x[i + 1] * w[1] + x[i + 2] * w[2]; } }";
    assert_eq!(run(signature, shapes, "ref_blur", good), "verified");
    assert!(
        run(
            signature,
            shapes,
            "ref_blur",
            &good.replace("x[i + 2]", "x[i + 1]")
        )
        .contains("wrong result")
    );

    let (signature, shapes) = ("fn extent(x: &[i16]) -> (i16, i16)", "shape(x = [n])");
    let good = "pub fn k(n: usize, x: &[i16]) -> (i16, i16) { let (mut a, mut b) = (x[0], x[0]); for i in 0..n { a = a.min(x[i]); b = b.max(x[i]); } (a, b) }";
    assert_eq!(run(signature, shapes, "ref_extent", good), "verified");
    assert!(
        run(
            signature,
            shapes,
            "ref_extent",
            &good.replace("0..n", "0..n - n % 8")
        )
        .contains("wrong result")
    );

    let (signature, shapes) = (
        "fn rows(d: usize, x: &[u8], out: &mut [u32])",
        "shape(x = [n, d], out = [n])",
    );
    let good = "pub fn k(n: usize, d: usize, x: &[u8], out: &mut [u32]) { for r in 0..n { let mut s = 0; for j in 0..d { s += u32::from(x[r * d + j]); } out[r] = s; } }";
    assert_eq!(run(signature, shapes, "ref_rows", good), "verified");
    // Sums of bytes in sixteen bits overflow in long rows only.
    assert!(
        run(
            signature,
            shapes,
            "ref_rows",
            &good
                .replace("let mut s = 0", "let mut s = 0u16")
                .replace("u32::from(x", "u16::from(x")
                .replace("s += ", "s = s.wrapping_add(")
                .replace("]); }", "])); }")
                .replace("out[r] = s", "out[r] = u32::from(s)")
        )
        .contains("wrong result")
    );

    // Indices out of range: the reference panics, and so must a kernel.
    let (signature, free) = (
        "fn pick(x: &[f32], at: &[u32], out: &mut [f32])",
        "shape(x = [m], at = [n], out = [n])",
    );
    let kernel = "pub fn k(m: usize, n: usize, x: &[f32], at: &[u32], out: &mut [f32]) { for i in 0..n { out[i] = x[at[i] as usize]; } }";
    let ranged = format!("{free}, inputs(at = 0..m)");
    assert_eq!(run(signature, &ranged, "ref_pick", kernel), "verified");
    assert_eq!(run(signature, free, "ref_pick", kernel), "verified");
    let clamped = kernel.replace("at[i] as usize", "(at[i] as usize).min(m - 1)");
    assert!(run(signature, free, "ref_pick", &clamped).contains("panics"));
    assert_eq!(run(signature, &ranged, "ref_pick", &clamped), "verified");
}
