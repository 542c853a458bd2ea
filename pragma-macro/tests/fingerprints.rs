//! The compiler's tokens and a parsed file's tokens have the same fingerprint, whatever stands in a function.

mod support;

use pragma_spec::Target;
use support::{Crate, HandWritten, sum_kernel};

/// Bodies of `fn NAME(x: &[f32]) -> f32`, chosen for tokens that lexers treat differently.
const BODIES: [&str; 22] = [
    "x.iter().sum()",
    "let s = \"a\\n\\\"\\u{e9}\\\\ é\"; s.len() as f32 + x[0]",
    "let s = r#\"raw \"q\" \\n\"#; s.len() as f32 + x[0]",
    "let s = b\"bytes\\x00\\xff\"; s.len() as f32 + x[0]",
    "let s = c\"c string\"; s.count_bytes() as f32 + x[0]",
    "let c = ['a', '\\'', '\\n', '\\u{1F600}', 'é']; let b = b'\\''; c.len() as f32 + b as f32 + x[0]",
    "1e3 + 1_000.5e-3 + 2f32 + 3.0_f32 + 4. + 0x1F as f32 + 0b1_0 as f32 + 0o17u8 as f32 + x[0]",
    "let t = ((1.0f32, 2.0f32), 3.0f32); t.0.1 + t.0 .0 + t.1 + x[0]",
    "'outer: for i in 0..=2 { for _ in 0..i { continue 'outer; } } x[0]",
    "fn longest<'a>(a: &'a str, _: &'static str) -> &'a str { a } longest(\"a\", \"b\").len() as f32 + x[0]",
    "let v: Vec<Vec<f32>> = vec![vec![1.0; 2]; 3]; v.len() as f32 + x.iter().map(|&v| -v).sum::<f32>()",
    "let f = |a: f32, b| a + b; let g = || 1.0; let h = move || x[0]; f(g(), h())",
    "let n = x.len(); if n > 1 && !(n >= 3 || n << 1 >> 1 != n) { x[0] } else { x[n - 1] }",
    "let r#type = 1.0; let _ = r#type; let _unused = &&1; r#type + x[0]",
    "/// A doc comment.\n    let a = 1.0; // a comment\n    /* and /* nested */ one */ a + x[0]",
    "#[allow(unused_mut)] let mut a = 1.0; #[cfg(not(any()))] let b = 2.0; #[cfg(any())] let b = 3.0; a + b + x[0]",
    "#![allow(unused)] let a = 1; x[0]",
    "match x { [] => 0.0, [a] | [a, _] => *a, [a, .., b] if a < b => a - b, [a, rest @ ..] => a + rest.len() as f32 }",
    "unsafe { *x.get_unchecked(0) }",
    "let mut s = 0.0; s += 1.0; s -= 2.0; s *= 3.0; s /= 4.0; let mut i = 1u8; i <<= 1; i |= 1; i ^= 3; i &= 1; i %= 2; s + i as f32 + x[0]",
    "macro_rules! twice { ($e:expr) => { $e * 2.0 }; ($($t:tt)+) => { 0.0 } } twice!(x[0])",
    "let y = x.first().copied().unwrap_or_default(); let Some(z) = x.get(1) else { return y; }; y + <f32 as From<f32>>::from(*z)",
];

#[test]
fn compiler_and_file_agree() {
    let krate = Crate::new("fingerprints");
    let mut source = String::new();
    for (i, body) in BODIES.iter().enumerate() {
        source.push_str(&format!(
            "#[cfg(not(any()))]\n#[pragma_runtime::pragma_kernel(shape(x = [n]), tune(n = 4), assume(finite),)]\n\
             #[cfg(not(any()))]\n#[cfg_attr(not(any()), inline)]\n/// Doc.\nfn f{i}(x: &[f32]) -> f32 {{\n    {body}\n}}\n"
        ));
    }
    source.push_str("fn main() {\n    let x = [1.0, 2.0, 3.0, 4.0];\n");
    for i in 0..BODIES.len() {
        source.push_str(&format!(
            "    let _ = f{i}(&x);\n    assert!(f{i}::reference(&x) < 1e9);\n"
        ));
    }
    source.push_str("    println!(\"done\");\n}\n");
    krate.write("src/main.rs", &source);
    assert_eq!(krate.run(), "done");
    for i in 0..BODIES.len() {
        let text = sum_kernel(Target::X86_64V3, "entry", 0.0);
        let kernel = HandWritten {
            shapes: &[("x", "[n]")],
            files: &[(Target::X86_64V3, &text, &[("entry", None)])],
        };
        krate.tune("src/main.rs", "", &format!("f{i}"), &kernel);
    }
    let outcome = krate.cargo(&["build"]);
    assert!(outcome.ok, "{}", outcome.stderr);
    assert!(
        !outcome.stderr.contains("has changed since"),
        "{}",
        outcome.stderr
    );
    // And the check can fail: an edit is seen.
    krate.write("src/main.rs", &source.replace("1_000.5e-3", "1_000.5e-2"));
    let outcome = krate.cargo(&["build"]);
    assert_eq!(
        outcome.stderr.matches("has changed since").count(),
        1,
        "{}",
        outcome.stderr
    );
    assert!(outcome.stderr.contains("`f6`"), "{}", outcome.stderr);
}
