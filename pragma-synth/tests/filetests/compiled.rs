//! Compiles what the emitters wrote for every file and runs it on every case.
//!
//! One crate holds all of it: `main.rs` with a call per case, a module per file and emitter. It
//! links the runtime's own modules, compiled without its dependencies.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use pragma_spec::{KernelSignature, ParamKind, ParamSig, ReturnSig, Scalar, Target};
use pragma_synth::emit::scalar::{NativeStyle, emit_scalar};
use pragma_synth::emit::{EmitError, EmitOptions, emit};
use pragma_synth::ir::interp::{Argument, Native, Value};
use pragma_synth::ir::{BufRole, Param, Program, Returned, Returns, Stmt};
use pragma_synth::oracle::{ORACLE_SYMBOL, oracle_source};

use super::case::{Case, Expect, File};

/// What one emitter's code gave for one case.
pub struct Run {
    pub file: usize,
    pub case: usize,
    pub emitter: &'static str,
    /// Every result as words; floats of the oracle in pairs.
    pub results: Vec<Vec<u64>>,
}

/// How an emitter's results may differ from the reference's, beside by reductions in vectors.
#[derive(PartialEq)]
enum Rounds {
    AsReference,
    /// Products and sums may be fused.
    Less,
}

/// An emitter under test.
struct Emitter {
    name: &'static str,
    /// CPU features that its code needs, as `is_x86_feature_detected!` calls them.
    features: &'static [&'static str],
    rounds: Rounds,
    /// A module with `pub unsafe fn kernel` or `pub fn kernel`, called like a vendored kernel.
    source: fn(&Program) -> Result<String, EmitError>,
}

const V4: &[&str] = &[
    "avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl", "avx2", "fma",
];

/// Every emitter whose results must be those of the interpreter.
const EMITTERS: [Emitter; 4] = [
    Emitter {
        name: "scalar",
        features: &[],
        rounds: Rounds::AsReference,
        source: scalar,
    },
    Emitter {
        name: "v3",
        features: &[
            "avx2", "fma", "bmi1", "bmi2", "f16c", "lzcnt", "movbe", "popcnt",
        ],
        rounds: Rounds::AsReference,
        source: |program| simd(program, Target::X86_64V3, false),
    },
    Emitter {
        name: "v4",
        features: V4,
        rounds: Rounds::AsReference,
        source: |program| simd(program, Target::X86_64V4, false),
    },
    Emitter {
        name: "v4_fused",
        features: V4,
        rounds: Rounds::Less,
        source: |program| simd(program, Target::X86_64V4, true),
    },
];

fn simd(program: &Program, target: Target, contract: bool) -> Result<String, EmitError> {
    emit(program, target, "kernel", EmitOptions { contract })
}

fn scalar(program: &Program) -> Result<String, EmitError> {
    let mut text = signature(program, "kernel");
    text.push_str(" {\n");
    text.push_str(&emit_scalar(program, &NativeStyle, 1));
    let ended = matches!(
        program.body.last(),
        Some(Stmt::Return(_) | Stmt::Decline | Stmt::Panic)
    );
    if !program.returns.scalars().is_empty() && !ended {
        text.push_str("    unreachable!()\n");
    } else if program.declines() && !ended {
        text.push_str("    Some(())\n");
    }
    text.push_str("}\n");
    Ok(text)
}

/// `pub fn entry(rows: usize, x: &[f32], out: &mut [f32]) -> f32`, without the body: dimensions
/// first, then the parameters that are none, then the returned buffer.
fn signature(program: &Program, entry: &str) -> String {
    let mut params: Vec<String> = program
        .dims
        .iter()
        .map(|dim| format!("{dim}: usize"))
        .collect();
    for param in &program.params {
        match param {
            Param::Dim(_) => {}
            Param::Scalar(var) => {
                let decl = program.var(*var);
                let keyword = if decl.mutable { "mut " } else { "" };
                params.push(format!("{keyword}{}: {}", decl.name, decl.scalar));
            }
            Param::Buffer(buf) => {
                let decl = program.buf(*buf);
                let reference = match decl.role {
                    BufRole::Input => "&",
                    _ => "&mut ",
                };
                params.push(format!("{}: {reference}[{}]", decl.name, decl.elem));
            }
        }
    }
    for buf in program.returns.buffers() {
        let decl = program.buf(buf);
        params.push(format!(
            "{}: &mut [::core::mem::MaybeUninit<{}>]",
            decl.name, decl.elem
        ));
    }
    let scalars = program.returns.scalars();
    let names: Vec<_> = scalars.iter().map(|scalar| scalar.name()).collect();
    let mut result = match names[..] {
        [name] => name.to_owned(),
        _ => format!("({})", names.join(", ")),
    };
    if program.declines() {
        result = format!("Option<{result}>");
    }
    format!("pub fn {entry}({}) -> {result}", params.join(", "))
}

/// Bits of a float with one pattern for all NaN.
pub fn canonical_bits(value: f64) -> u64 {
    if value.is_nan() {
        f64::NAN.to_bits()
    } else {
        value.to_bits()
    }
}

/// Compiles and runs everything; `None`, with a line that says so, where there is no compiler.
pub fn run(files: &[File]) -> Option<Vec<Run>> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    if Command::new(&rustc).arg("--version").output().is_err() {
        eprintln!("skipped: no rustc to compile emitted code with");
        return None;
    }
    let dir = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("filetests");
    let _ = std::fs::remove_dir_all(&dir);
    std::fs::create_dir_all(&dir).unwrap();
    let mut modules = String::new();
    let mut calls = String::new();
    for (i, file) in files.iter().enumerate() {
        let add = |module: &str, text: &str| {
            std::fs::write(dir.join(format!("{module}.rs")), text).unwrap();
            format!("mod {module};\n")
        };
        let sig = kernel_signature(&file.program);
        let oracle = oracle_source(&file.program, &sig)
            .unwrap_or_else(|error| panic!("{}: {error}", file.name));
        let oracle = own_symbols(&oracle, i);
        modules += &add(&format!("o{i}"), &share_prelude(&oracle, i));
        // Without an `f64` result to compare with, only equal bits will do.
        let comparable = |emitter: &&Emitter| emitter.rounds != Rounds::Less || !file.f64_differs;
        let kernels = EMITTERS.iter().filter(comparable).map(|emitter| {
            let text = (emitter.source)(&file.program);
            let text = text.unwrap_or_else(|error| panic!("{}: {error}", file.name));
            (emitter.name, text)
        });
        let kernels: Vec<_> = kernels.collect();
        for (name, text) in &kernels {
            modules += &add(&format!("k{i}_{name}"), text);
        }
        for (j, case) in file.cases.iter().enumerate() {
            if matches!(case.expect, Expect::Traps(_)) {
                continue;
            }
            let dims = case.dims(&file.program);
            // The guard leaves empty sizes to the reference, and so does who declines.
            if !dims.contains(&0) && !case.declines() {
                call_oracle(&mut calls, &file.program, case, i, j);
            }
            for (name, _) in &kernels {
                call_kernel(&mut calls, &file.program, case, (i, j, name));
            }
        }
    }
    std::fs::write(dir.join("lib.rs"), runtime_source()).unwrap();
    std::fs::write(dir.join("main.rs"), main_source(&modules, &calls)).unwrap();
    let compile = |args: &[&str]| {
        let mut command = Command::new(&rustc);
        command.current_dir(&dir).args(["--edition", "2024"]);
        command.arg("-Copt-level=1");
        let output = command.args(args).output().unwrap();
        assert!(
            output.status.success(),
            "emitted code does not compile:\n{}",
            String::from_utf8_lossy(&output.stderr)
        );
    };
    compile(&["--crate-type=rlib", "--crate-name=pragma_runtime", "lib.rs"]);
    compile(&[
        "-L.",
        "--extern=pragma_runtime",
        "-ofiletests_compiled",
        "main.rs",
    ]);
    let output = Command::new(dir.join("filetests_compiled"))
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "emitted code fails in the last of these:\n{}\n{}",
        last_lines(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    let text = String::from_utf8(output.stdout).unwrap();
    let mut runs = Vec::new();
    for line in text.lines() {
        match line.strip_prefix("skip ") {
            Some(name) => eprintln!("skipped: this CPU cannot run {name}"),
            None => runs.push(read_run(line)),
        }
    }
    Some(runs)
}

fn last_lines(output: &[u8]) -> String {
    let text = String::from_utf8_lossy(output);
    let lines: Vec<_> = text.lines().collect();
    lines[lines.len().saturating_sub(3)..].join("\n")
}

/// The oracle with exports that no other one has.
fn own_symbols(oracle: &str, i: usize) -> String {
    [ORACLE_SYMBOL, "pragma_set_threads", "pragma_abi_version"]
        .iter()
        .fold(oracle.to_owned(), |text, symbol| {
            text.replace(symbol, &format!("{symbol}_{i}"))
        })
}

/// The oracle with the prelude of the first one, for a quicker build.
fn share_prelude(oracle: &str, i: usize) -> String {
    let program = "use dual::Dual;";
    match oracle.split_once(program) {
        Some((_, rest)) if i > 0 => format!("use crate::o0::dual::Dual;{rest}"),
        _ => oracle.to_owned(),
    }
}

/// `file case emitter` and results, each introduced by `:`.
fn read_run(line: &str) -> Run {
    let mut results = line.split(':');
    let mut head = results.next().unwrap().split_whitespace();
    let mut number = || head.next().unwrap().parse().unwrap();
    let (file, case) = (number(), number());
    let name = head.next().unwrap();
    let names = EMITTERS.iter().map(|emitter| emitter.name);
    Run {
        file,
        case,
        emitter: names
            .chain(["oracle"])
            .find(|known| *known == name)
            .unwrap(),
        results: results
            .map(|words| {
                let words = words.split_whitespace();
                words
                    .map(|word| u64::from_str_radix(word, 16).unwrap())
                    .collect()
            })
            .collect(),
    }
}

/// The runtime without what needs other crates.
fn runtime_source() -> String {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("../runtime/src");
    // Inside a module with a path, files find the modules below them where they really are.
    format!(
        "#![allow(warnings)]
pub use sources::*;
pub use tier::{{Tier, tier}};
#[path = {src:?}]
pub mod sources {{
    pub mod dispatch;
    pub mod harness;
    pub mod parallel;
    pub mod simd;
    pub mod tier;
}}
"
    )
}

fn main_source(modules: &str, calls: &str) -> String {
    let mut tiers = String::new();
    for emitter in &EMITTERS {
        let features = emitter.features.iter();
        let test: String = features
            .map(|feature| format!(" && std::arch::is_x86_feature_detected!({feature:?})"))
            .collect();
        let name = emitter.name;
        let _ = writeln!(
            tiers,
            "    let has_{name} = true{test};\n    if !has_{name} {{ println!(\"skip {name}\"); }}"
        );
    }
    format!(
        "#![allow(warnings, unconditional_panic, arithmetic_overflow)]
use pragma_runtime::harness;
{modules}
trait Word {{ fn word(self) -> u64; }}
macro_rules! words {{ ($($t:ty)*) => {{ $(impl Word for $t {{ fn word(self) -> u64 {{ self as u64 }} }})* }} }}
words!(bool i8 i16 i32 i64 isize u8 u16 u32 u64 usize);
impl Word for f32 {{ fn word(self) -> u64 {{ self.to_bits() as u64 }} }}
impl Word for f64 {{ fn word(self) -> u64 {{ self.to_bits() }} }}
fn print<T: Word + Copy>(values: &[T]) {{
    print!(\" :\");
    for value in values {{ print!(\" {{:x}}\", value.word()); }}
}}
fn arg<T>(values: &[T]) -> harness::RawArg {{
    harness::RawArg {{ ptr: values.as_ptr() as *mut u8, len: values.len() }}
}}
unsafe extern \"C\" fn sink(_: *mut u8, _: usize, data: *const u8, bytes: usize) {{
    let words = unsafe {{ std::slice::from_raw_parts(data.cast::<u64>(), bytes / 8) }};
    print!(\" :\");
    for word in words {{ print!(\" {{word:x}}\"); }}
}}
fn call(entry: harness::Entry, args: &[harness::RawArg]) {{
    let ret = harness::RawReturn {{ context: std::ptr::null_mut(), sink }};
    let status = unsafe {{ entry(args.as_ptr(), args.len(), &ret) }};
    assert_eq!(status, harness::STATUS_OK);
}}
fn main() {{
{tiers}{calls}}}
"
    )
}

/// Rust literals of the elements of an argument.
fn literals(scalar: Scalar, values: &[Value<f64>]) -> String {
    let texts: Vec<_> = values
        .iter()
        .map(|value| match value {
            Value::Bool(value) => value.to_string(),
            Value::Int(value) => format!("{value}{scalar}"),
            Value::Float(value) if scalar == Scalar::F32 => {
                format!("f32::from_bits({:#x})", (*value as f32).to_bits())
            }
            Value::Float(value) => format!("f64::from_bits({:#x})", value.to_bits()),
        })
        .collect();
    texts.join(", ")
}

/// `let` statements for all parameters, `a0`, `a1`, ..; scalars and dimensions are arrays of one.
fn bind(calls: &mut String, program: &Program, case: &Case) {
    let arguments = case.arguments::<Native>(program);
    for (i, (param, argument)) in program.params.iter().zip(arguments.params).enumerate() {
        let (scalar, values) = match (param, argument) {
            (Param::Buffer(buf), Argument::Buffer(buffer)) => (
                program.buf(*buf).elem,
                buffer.values.into_iter().flatten().collect(),
            ),
            (Param::Scalar(var), Argument::Scalar(value)) => {
                (program.var(*var).scalar, vec![value])
            }
            (Param::Dim(dim), _) => (DIM_TYPE, vec![Value::Int(i128::from(arguments.dims[*dim]))]),
            (param, _) => panic!("{param:?}"),
        };
        let count = values.len();
        let values = literals(scalar, &values);
        let _ = writeln!(calls, "    let mut a{i}: [{scalar}; {count}] = [{values}];");
    }
}

/// Parameters that are dimensions have this type in the functions these programs come from: not
/// `usize`, so that a wrong width shows.
const DIM_TYPE: Scalar = Scalar::U16;

fn kernel_signature(program: &Program) -> KernelSignature {
    let params = program.params.iter().map(|param| match param {
        Param::Buffer(buf) => {
            let decl = program.buf(*buf);
            let kind = ParamKind::Slice {
                elem: decl.elem,
                mutable: decl.role == BufRole::Mutable,
            };
            (decl.name.clone(), kind)
        }
        Param::Scalar(var) => {
            let decl = program.var(*var);
            (decl.name.clone(), ParamKind::Scalar(decl.scalar))
        }
        Param::Dim(dim) => (program.dims[*dim].clone(), ParamKind::Scalar(DIM_TYPE)),
    });
    KernelSignature::plain(
        program.name.clone(),
        params.map(|(name, kind)| ParamSig { name, kind }).collect(),
        match &program.returns {
            Returns::Nothing => ReturnSig::Nothing,
            Returns::Scalars(scalars) => match scalars[..] {
                [scalar] => ReturnSig::Scalar(scalar),
                _ => ReturnSig::Tuple(scalars.clone()),
            },
            Returns::Buffer(buf) => ReturnSig::Vec(program.buf(*buf).elem),
            // Nothing that is made of the signature looks at the results.
            Returns::Mixed(_) => ReturnSig::Nothing,
        },
    )
}

fn call_oracle(calls: &mut String, program: &Program, case: &Case, i: usize, j: usize) {
    let _ = writeln!(calls, "    {{\n    print!(\"{i} {j} oracle\");");
    bind(calls, program, case);
    let args: Vec<_> = (0..program.params.len())
        .map(|p| format!("arg(&a{p})"))
        .collect();
    let _ = writeln!(
        calls,
        "    call(o{i}::{ORACLE_SYMBOL}_{i}, &[{}]);\n    println!();\n    }}",
        args.join(", ")
    );
}

fn call_kernel(
    calls: &mut String,
    program: &Program,
    case: &Case,
    (i, j, name): (usize, usize, &str),
) {
    let _ = writeln!(
        calls,
        "    if has_{name} {{\n    print!(\"{i} {j} {name}\");"
    );
    bind(calls, program, case);
    let dims = case.dims(program);
    let mut args: Vec<String> = dims.iter().map(u64::to_string).collect();
    let mut print = String::new();
    for (p, param) in program.params.iter().enumerate() {
        match param {
            Param::Dim(_) => {}
            Param::Scalar(_) => args.push(format!("a{p}[0]")),
            Param::Buffer(buf) if program.buf(*buf).role == BufRole::Mutable => {
                args.push(format!("&mut a{p}"));
                let _ = writeln!(print, "    print(&a{p});");
            }
            Param::Buffer(_) => args.push(format!("&a{p}")),
        }
    }
    let mut after = String::new();
    let (mut fields, mut outs) = (0, 0);
    for part in program.returns.parts() {
        match part {
            Returned::Scalar(_) if program.returns.scalars().len() == 1 => {
                after.push_str("    print(&[r]);\n");
            }
            Returned::Scalar(_) => {
                let _ = writeln!(after, "    print(&[r.{fields}]);");
                fields += 1;
            }
            Returned::Buffer(buf) => {
                let decl = program.buf(buf);
                let lookup = |name: &str| {
                    let index = program.dims.iter().position(|dim| dim == name)?;
                    dims.get(index).copied()
                };
                let len = decl.shape.len().eval(&lookup).unwrap();
                let _ = writeln!(
                    calls,
                    "    let mut out{outs} = [std::mem::MaybeUninit::<{}>::uninit(); {len}];",
                    decl.elem
                );
                args.push(format!("&mut out{outs}"));
                let _ = writeln!(
                    after,
                    "    print(&out{outs}.map(|v| unsafe {{ v.assume_init() }}));"
                );
                outs += 1;
            }
        }
    }
    let call = format!("unsafe {{ k{i}_{name}::kernel({}) }}", args.join(", "));
    if program.declines() {
        let _ = writeln!(
            calls,
            "    match {call} {{\n    Some(r) => {{\n    let _ = r;\n{print}{after}    }}\n    \
             None => print(&[true]),\n    }}\n    println!();\n    }}",
        );
        return;
    }
    let _ = writeln!(
        calls,
        "    let r = {call};\n{print}{after}    println!();\n    }}",
    );
}
