//! What passes the screen and what does not.

use super::*;

/// A kernel with `body` inside, and imports that kernels have.
fn kernel(body: &str) -> String {
    format!(
        "use core::arch::x86_64::*;\nuse pragma_runtime::parallel::{{self, Shared}};\npub unsafe fn k(n: usize, x: &[f32], out: &mut [f32]) {{\n{body}\n}}\n"
    )
}

#[test]
fn hostile_text_is_refused() {
    let bodies = [
        ("std::fs::read(\"/etc/passwd\");", "`std::fs::read`"),
        ("let t = std::time::Instant::now();", "std::time"),
        ("std::env::var(\"HOME\");", "std::env"),
        ("std::thread::spawn(|| ());", "std::thread"),
        ("core::arch::asm!(\"nop\");", "the macro"),
        ("let t = _rdtsc();", "`_rdtsc`"),
        ("let _rdtsc = 1; let t = _rdtsc;", "`_rdtsc`"),
        ("let t = core::arch::x86_64::_rdtsc();", "_rdtsc"),
        ("_mm_setcsr(0x8040);", "`_mm_setcsr`"),
        ("static mut CALLS: u32 = 0;", "a mutable static"),
        (
            "static CALLS: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);",
            "a static of a type",
        ),
        ("thread_local!(static A: u32 = 0);", "the macro"),
        ("include!(\"/etc/passwd\");", "the macro `include!`"),
        ("let s = include_str!(\"x\");", "the macro `include_str!`"),
        (
            "assert!(include_bytes!(\"x\").len() > 3);",
            "the macro `include_bytes!`",
        ),
        ("let v = vec![env!(\"HOME\"); 2];", "the macro `env!`"),
        ("println!(\"{n}\");", "the macro `println!`"),
        ("macro_rules! m { () => {} }", "macro"),
        ("extern \"C\" { fn open(); }", "foreign functions"),
        ("unsafe extern \"C\" { fn open(); }", "foreign functions"),
        ("extern crate std as harmless;", "`extern crate`"),
        ("mod inner { pub fn f() {} }", "a module"),
        ("#[path = \"/etc/x.rs\"] mod inner;", "a module"),
        (
            "super::pragma_set_threads(1);",
            "`super::pragma_set_threads`",
        ),
        ("crate::pragma_candidate;", "`crate::pragma_candidate`"),
        ("parallel::threads();", "parallel::threads"),
        ("pragma_runtime::harness::set_thread_limit(1);", "harness"),
        (
            "use pragma_runtime as core; core::tier();",
            "the import of `pragma_runtime`",
        ),
        ("use std as s; s::process::abort();", "the import of `std`"),
        ("use std::{mem, fs};", "the import of `std::fs`"),
        ("use std::mem as m; m::forget(1);", "std::mem::forget"),
        ("let f: fn() = a;", "a function pointer"),
        (
            "let f = 0usize as *const (); let g: extern \"C\" fn() = core::mem::transmute(f);",
            "a function pointer",
        ),
        (
            "let g = core::mem::transmute::<usize, _>(0);",
            "`transmute` without",
        ),
        (
            "let g: u32 = std::mem::transmute(1f32);",
            "`transmute` without",
        ),
        (
            "use std::mem::transmute as t; let g: u32 = t(1f32);",
            "`transmute` without",
        ),
        (
            "fn a() {} fn b() {} let fs = [a, b]; fs[0]();",
            "as a value",
        ),
        ("let fs = [|| 1, || 2];", "a closure that is neither"),
        ("let fs = [f32::sqrt, f32::abs];", "as a value"),
        ("let g = if n > 3 { Some } else { Some };", "as a value"),
        ("let d: &dyn Fn() = &|| ();", "a trait object"),
        ("union U { a: u32, b: f32 }", "a union"),
        (
            "let y = unsafe { (x.as_ptr() as *const [fn(); 2]).read() };",
            "a function pointer",
        ),
        ("async { 1 };", "suspended"),
        ("let b = k as usize;", "the function `k` as a value"),
        ("is_x86_feature_detected!(\"avx2\");", "the macro"),
    ];
    for (body, expected) in bodies {
        match screen(&kernel(body)) {
            Err(refusal) => assert!(refusal.to_string().contains(expected), "{body}: {refusal}"),
            Ok(()) => panic!("passes: {body}"),
        }
    }
    let items = [
        ("#![feature(x)]\nfn k() {}", "the attribute `feature`"),
        (
            "#[no_mangle] pub fn memcpy() {}",
            "the attribute `no_mangle`",
        ),
        ("#[unsafe(no_mangle)] pub fn memcpy() {}", "the attribute"),
        (
            "#[link_section = \".init_array\"] static A: u32 = 0;",
            "the attribute `link_section`",
        ),
        ("#[doc = include_str!(\"x\")] fn k() {}", "a computed value"),
        ("#[cfg(debug_assertions)] fn k() {}", "the attribute `cfg`"),
        (
            "#[derive(Clone, serde::Serialize)] struct A;",
            "the derived trait",
        ),
        ("pub extern \"C\" fn k() {}", "a foreign ABI"),
        ("fn k() {} } mod evil {", "not Rust"),
        ("trait T { fn f(); }", "a trait"),
        ("fn k(f: fn(u32)) {}", "a function pointer"),
        ("use std::io::*;", "the import of everything in `std::io`"),
    ];
    for (source, expected) in items {
        match screen(source) {
            Err(refusal) => assert!(
                refusal.to_string().contains(expected),
                "{source}: {refusal}"
            ),
            Ok(()) => panic!("passes: {source}"),
        }
    }
}

#[test]
fn ordinary_kernels_pass() {
    let bodies = [
        "for i in 0..n { out[i] = x[i] * 2.0; }",
        "let k = _mm256_set1_ps(2.0); let mut i = 0; while i + 8 <= n { _mm256_storeu_ps(out.as_mut_ptr().add(i), _mm256_mul_ps(k, _mm256_loadu_ps(x.as_ptr().add(i)))); i += 8; }",
        "let y = Shared::new(out.as_mut_ptr()); parallel::for_blocks(n, 1024, |a, b| { for i in a..b { unsafe { *y.get().add(i) = x[i]; } } });",
        "let f = |v: f32| v.mul_add(2.0, 1.0); for (o, x) in out.iter_mut().zip(x) { *o = f(*x); }",
        "out.iter_mut().zip(x.iter().copied().map(f32::sqrt)).for_each(|(o, v)| *o = v);",
        "static TABLE: [f32; 2] = [1.0, 2.0]; const SCALE: f32 = core::f32::consts::PI; out[0] = TABLE[n % 2] * SCALE;",
        "assert!(n <= x.len(), \"{} elements\", x.len()); let s: Option<f32> = x.iter().copied().reduce(f32::max); if let Some(v) = s { out[0] = v; }",
        "let mut acc = [std::mem::MaybeUninit::<f32>::uninit(); 4]; acc[0].write(1.0);",
        "let bits = core::mem::transmute::<__m256, __m256i>(_mm256_setzero_ps()); let _ = bits;",
        "#[derive(Clone, Copy)] struct Pair(f32, f32); impl Pair { fn sum(self) -> f32 { self.0 + self.1 } } let p = Pair(1.0, 2.0); out[0] = p.sum() + Self_::ZERO; enum Self_ {} impl Self_ { const ZERO: f32 = 0.0; }",
        "let mut v = vec![0f32; n]; v.sort_by(|a, b| a.total_cmp(b)); out.copy_from_slice(&v); let w: Vec<f32> = Vec::with_capacity(3); drop(w);",
        "let (_unused, _spare) = (1, 2); let z = _unused + _spare; let _ = z;",
        "#[inline(always)] fn go<F: Fn(f32) -> f32>(f: F, x: f32) -> f32 { f(x) } out[0] = go(|v| v + 1.0, x[0]);",
        "std::ptr::copy_nonoverlapping(x.as_ptr(), out.as_mut_ptr(), n);",
    ];
    for body in bodies {
        if let Err(refusal) = screen(&kernel(body)) {
            panic!("refused: {body}: {refusal}");
        }
    }
}

#[test]
fn a_refusal_says_where() {
    let refused = screen("fn k() {\n    std::fs::read(\"x\");\n}\n").expect_err("is refused");
    assert_eq!(refused.to_string(), "line 2, column 5: `std::fs::read`");
}

#[test]
fn no_text_panics() {
    for text in [
        "",
        "}",
        "fn",
        "#!/bin/sh\nfn k() {}",
        "\u{feff}fn k() {}",
        "fn k() { matches!(1) }",
        "fn k() { vec![;] }",
    ] {
        let _ = screen(text);
    }
}

/// The committed kernels of the examples.
#[test]
fn committed_kernels_pass() {
    let examples = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples");
    let mut seen = 0;
    let mut dirs = vec![examples];
    while let Some(dir) = dirs.pop() {
        for entry in std::fs::read_dir(dir).expect("is readable") {
            let path = entry.expect("is readable").path();
            if path.is_dir() {
                dirs.push(path);
            } else if path.extension().is_some_and(|ext| ext == "rs")
                && path
                    .parent()
                    .and_then(|dir| dir.parent())
                    .is_some_and(|dir| dir.ends_with("pragma"))
            {
                let source = std::fs::read_to_string(&path).expect("is text");
                screen(&source).unwrap_or_else(|refusal| panic!("{}: {refusal}", path.display()));
                seen += 1;
            }
        }
    }
    assert!(seen >= 18, "{seen}");
}

/// Everything that the engine writes for the programs of its own tests, vectorised and parallel loops among them.
#[test]
fn the_engine_writes_what_passes() {
    use pragma_spec::Target;
    use pragma_synth::{emit, ir};
    let tests = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../pragma-synth/tests");
    let mut seen = 0;
    for dir in ["filetests", "schedules"] {
        for entry in std::fs::read_dir(tests.join(dir)).expect("is readable") {
            let path = entry.expect("is readable").path();
            if path.extension().is_none_or(|ext| ext != "pir") {
                continue;
            }
            let text = std::fs::read_to_string(&path).expect("is text");
            let program = ir::text::parse(&text)
                .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            for target in [Target::X86_64V3, Target::X86_64V4] {
                for contract in [false, true] {
                    let options = emit::EmitOptions { contract };
                    let Ok(source) = emit::emit(&program, target, "kernel_entry", options) else {
                        continue;
                    };
                    screen(&source).unwrap_or_else(|refusal| {
                        panic!("{}: {refusal}\n{source}", path.display())
                    });
                    seen += 1;
                }
            }
        }
    }
    assert!(seen > 200, "{seen}");
}

#[test]
fn texts_in_modules_are_screened_each_by_itself() {
    let good = "pub use k_by_model::k;\nmod k_by_model { fn helper() {} pub unsafe fn k() { helper(); } }\n";
    assert_eq!(screen(good), Ok(()));
    for (bad, what) in [
        (
            "mod m { pub fn k() { std::process::abort(); } }",
            "`std::process::abort`",
        ),
        ("mod m { static mut X: u32 = 0; }", "a mutable static"),
        ("mod m { mod n { pub fn f() {} } }", "a module"),
        (
            "mod m { pub fn k() { super::f(); } } fn f() {}",
            "`super::f`",
        ),
        ("mod m { pub use super::f; }", "the import"),
        ("#[path = \"/etc/x.rs\"] mod m;", "a module"),
        ("mod m;", "a module"),
        ("#[cfg(unix)] mod m {}", "a module"),
        ("mod m {} pub use m::*;", "the import"),
        ("mod m {} pub use std::fs;", "the import"),
        // What one text imports is not in reach of another.
        (
            "mod m { use core::arch::x86_64::*; } fn f() { _mm_setcsr(1); }",
            "`_mm_setcsr`",
        ),
    ] {
        let refusal = screen(bad).expect_err(bad);
        assert!(refusal.what.contains(what), "{bad}: {}", refusal.what);
    }
}
