//! Harness builds: references exported under the name that the tool computes, whatever state the kernels are in.

// Library names and the loader's search path are those of Linux.
#![cfg(target_os = "linux")]

mod support;

use std::path::PathBuf;

use pragma_spec::{Fingerprint, Target, harness_symbol};
use support::{Crate, HandWritten, sum_kernel};

/// Private functions, modules, a bin-only crate, an equal function twice.
const SOURCE: &str = "\
#![forbid(unsafe_code)]
mod a {
    #[pragma_runtime::pragma_kernel(shape(x = [n], out = [n]))]
    fn scale(x: &[f32], mut by: f32, out: &mut [f32]) -> (f32, u8) {
        by *= 2.0;
        for (o, v) in out.iter_mut().zip(x) { *o = v * by; }
        (by, 7)
    }
    pub fn use_it() { scale(&[], 1.0, &mut []); }
}
/* ä */ #[pragma_runtime::pragma_kernel] fn tail(x: &[u16]) -> Vec<u16> { x[1..].to_vec() }
mod b {
    #[pragma_runtime::pragma_kernel] pub fn tail(x: &[u16]) -> Vec<u16> { x[1..].to_vec() }
}
#[pragma_runtime::pragma_kernel]
fn arrays(args: &[i32; 2], arrays: [i32; 2], ret: &mut [i32; 2]) -> i32 { ret[0] = args[0]; arrays[1] }
fn main() {
    a::use_it();
    tail(&[1]);
    b::tail(&[1]);
    println!(\"{}\", arrays(&[1, 2], [3, 4], &mut [5, 6]));
}
";

/// The symbols of the functions called `name` in `SOURCE`, from its text.
fn symbols(name: &str) -> Vec<String> {
    fn collect(items: &[syn::Item], name: &str, found: &mut Vec<Fingerprint>) {
        for item in items {
            match item {
                syn::Item::Fn(item) if item.sig.ident == name => {
                    let tokens = match item.attrs.first().map(|attr| &attr.meta) {
                        Some(syn::Meta::List(list)) => list.tokens.clone(),
                        _ => proc_macro2::TokenStream::new(),
                    };
                    found.push(pragma_spec::fingerprint(&tokens, item));
                }
                syn::Item::Mod(module) => {
                    if let Some((_, items)) = &module.content {
                        collect(items, name, found);
                    }
                }
                _ => {}
            }
        }
    }
    let mut found = Vec::new();
    collect(
        &syn::parse_file(SOURCE).expect("it parses").items,
        name,
        &mut found,
    );
    let needle = format!("fn {name}(");
    let places = SOURCE.lines().enumerate().filter_map(|(line, text)| {
        let at = text.find(&needle)? + "fn ".len();
        Some((line + 1, text[..at].chars().count()))
    });
    let ident: syn::Ident = syn::parse_str(name).expect("an identifier");
    found
        .iter()
        .zip(places)
        .map(|(print, (line, column))| harness_symbol(&ident, print, "main.rs", line, column))
        .collect()
}

/// Builds the crate's cdylib with the switch set to `value`.
fn cdylib(krate: &Crate, value: &str) -> PathBuf {
    let outcome = krate.cargo_with(&["build", "--quiet", "--lib"], &[("PRAGMA_HARNESS", value)]);
    assert!(outcome.ok, "{}", outcome.stderr);
    let name = krate
        .dir
        .file_name()
        .expect("a directory")
        .to_string_lossy()
        .replace('-', "_");
    let built = support::target_dir().join(format!("debug/lib{name}.so"));
    let path = krate.dir.join(format!("libharness_{value}.so"));
    std::fs::copy(built, &path).expect("it was built");
    path
}

fn harness_crate(name: &str) -> Crate {
    let krate = Crate::new(name);
    let manifest =
        krate.read("Cargo.toml") + "\n[lib]\ncrate-type = [\"cdylib\"]\npath = \"src/main.rs\"\n";
    krate.write("Cargo.toml", &manifest);
    krate.write("src/main.rs", SOURCE);
    krate
}

fn contains(file: &PathBuf, symbol: &str) -> bool {
    let bytes = std::fs::read(file).expect("it was built");
    bytes
        .windows(symbol.len())
        .any(|window| window == symbol.as_bytes())
}

#[test]
fn references_are_exported_under_the_name_the_tool_computes() {
    let krate = harness_crate("harness-symbols");
    let (on, off) = (cdylib(&krate, "1"), cdylib(&krate, "0"));
    let mut all = symbols("tail");
    assert_eq!(all.len(), 2);
    assert_ne!(all[0], all[1]);
    all.extend(symbols("scale"));
    all.extend(symbols("arrays"));
    assert_eq!(all.len(), 4);
    for symbol in &all {
        assert!(contains(&on, symbol), "{symbol}");
        assert!(!contains(&off, symbol), "{symbol}");
    }
}

#[test]
fn a_harness_builds_whatever_state_the_kernels_are_in() {
    let krate = harness_crate("harness-tampered");
    let text = sum_kernel(Target::X86_64V3, "arrays", 1.0);
    let kernel = HandWritten {
        shapes: &[],
        files: &[(Target::X86_64V3, &text, &[("arrays", None)])],
    };
    krate.tune("src/main.rs", "", "arrays", &kernel);
    krate.write("pragma/arrays/x86-64-v3.rs", "tampered");
    assert!(!krate.cargo(&["build"]).ok);
    let path = cdylib(&krate, "1");
    assert!(contains(&path, &symbols("arrays")[0]));
}

/// Loads the library in a small program of its own and calls what it exports.
#[test]
fn exported_references_can_be_called() {
    let krate = harness_crate("harness-calls");
    let library = cdylib(&krate, "1");
    let caller = Crate::new("harness-caller");
    let [scale, tail, arrays] = ["scale", "tail", "arrays"].map(|name| symbols(name)[0].clone());
    caller.write(
        "src/main.rs",
        &format!(
            r#"
use pragma_runtime::harness::{{RawArg, RawReturn}};
unsafe extern "C" {{
    #[link_name = "{scale}"] fn scale(args: *const RawArg, count: usize, ret: *const RawReturn) -> u32;
    #[link_name = "{tail}"] fn tail(args: *const RawArg, count: usize, ret: *const RawReturn) -> u32;
    #[link_name = "{arrays}"] fn arrays(args: *const RawArg, count: usize, ret: *const RawReturn) -> u32;
}}
fn arg<T>(values: &mut [T]) -> RawArg {{ RawArg {{ ptr: values.as_mut_ptr().cast(), len: values.len() }} }}
unsafe extern "C" fn sink(_: *mut u8, index: usize, data: *const u8, bytes: usize) {{
    print!("{{index}}:{{:?}} ", unsafe {{ std::slice::from_raw_parts(data, bytes) }});
}}
fn main() {{
    let ret = RawReturn {{ context: std::ptr::null_mut(), sink }};
    let mut out = [0f32; 2];
    let args = [arg(&mut [1f32, 2.0]), arg(&mut [1f32]), arg(&mut out)];
    print!("{{}} ", unsafe {{ scale(args.as_ptr(), 3, &ret) }});
    println!("{{out:?}} {{}}", unsafe {{ scale(args.as_ptr(), 2, &ret) }});
    let args = [arg(&mut [1u16, 2, 3])];
    println!("{{}}", unsafe {{ tail(args.as_ptr(), 1, &ret) }});
    let args = [arg::<u16>(&mut [])];
    println!("{{}}", unsafe {{ tail(args.as_ptr(), 1, &ret) }});
    let mut c = [5i32, 6];
    let args = [arg(&mut [1i32, 2]), arg(&mut [3i32, 4]), arg(&mut c)];
    println!("{{}} {{c:?}}", unsafe {{ arrays(args.as_ptr(), 3, &ret) }});
}}
"#
        ),
    );
    caller.write(
        "build.rs",
        &format!(
            "fn main() {{ println!(\"cargo::rustc-link-arg={}\"); println!(\"cargo::rerun-if-changed=build.rs\"); }}\n",
            library.display()
        ),
    );
    let (float, bytes) = (
        2f32.to_ne_bytes(),
        [2u16.to_ne_bytes(), 3u16.to_ne_bytes()].concat(),
    );
    let expected = format!(
        "0:{float:?} 1:[7] 0 [2.0, 4.0] 2\n0:{bytes:?} 0\n1\n0:{:?} 0 [1, 6]",
        4i32.to_ne_bytes()
    );
    // The library lies where no loader looks by itself.
    let directory = library.parent().expect("a directory").display().to_string();
    assert_eq!(
        caller.run_with(&[("LD_LIBRARY_PATH", &directory)]),
        expected
    );
}

/// A candidate as the tool wraps it: kernel in a module, exported entry, guard.
#[test]
fn a_candidate_entry_guards_calls_and_returns() {
    if pragma_runtime::Tier::supported() < pragma_runtime::Tier::V3 {
        eprintln!("skipped: this CPU has no AVX2");
        return;
    }
    let sig: syn::Signature =
        syn::parse_str("fn windows(args: &[f64], k: u8, ret: [f64; 1]) -> Vec<f64>")
            .expect("a signature");
    let sig = pragma_spec::KernelSignature::from_syn(&sig).expect("a kernel signature");
    let shapes = [("args", "[n]"), ("return", "[2 * (n - k)]")]
        .map(|(name, shape)| (name.to_owned(), shape.parse().expect("a shape")));
    let dims = pragma_spec::dims_of(&shapes);
    let guard = pragma_spec::Guard::plan(&dims, &pragma_spec::GuardParam::all(&sig), &shapes);
    let entry = pragma_spec::codegen::candidate_entry(
        "pragma_candidate",
        &pragma_spec::codegen::KernelCall {
            path: &quote::quote!(kernel::entry),
            sig: &sig,
            guard: &guard.expect("a guard"),
            shapes: &shapes,
            declines: false,
        },
        &quote::quote!(::pragma_runtime),
    );
    let features = Target::X86_64V3.features();
    let krate = Crate::new("harness-candidate");
    krate.write(
        "src/main.rs",
        &format!(
            r#"
mod kernel {{
    #[target_feature(enable = "{features}")]
    pub fn entry(n: usize, k: usize, x: &[f64], by: &[f64], ret: &mut [core::mem::MaybeUninit<f64>]) {{
        for r in ret {{ r.write((100 * n + 10 * k) as f64 + x[0] + by[0]); }}
    }}
}}
{entry}
use pragma_runtime::harness::{{RawArg, RawReturn}};
unsafe extern "C" fn sink(_: *mut u8, index: usize, data: *const u8, bytes: usize) {{
    print!("{{index}}:{{:?}} ", unsafe {{ std::slice::from_raw_parts(data.cast::<f64>(), bytes / 8) }});
}}
fn main() {{
    let ret = RawReturn {{ context: std::ptr::null_mut(), sink }};
    for (n, k) in [(3, 2), (3, 4), (0, 0), (3, 3)] {{
        let (mut x, mut k, mut by) = ([0.25f64; 4], [k], [0.5f64]);
        let args = [
            RawArg {{ ptr: x.as_mut_ptr().cast(), len: n }},
            RawArg {{ ptr: k.as_mut_ptr(), len: 1 }},
            RawArg {{ ptr: by.as_mut_ptr().cast(), len: 1 }},
        ];
        println!("{{}}", unsafe {{ pragma_candidate(args.as_ptr(), 3, &ret) }});
    }}
}}
"#
        ),
    );
    // 3 is the status of a guard that refuses.
    assert_eq!(krate.run(), "0:[320.75, 320.75] 0\n3\n3\n0:[] 0");
}
