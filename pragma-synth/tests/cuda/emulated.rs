//! Runs versions on the CPU: their sources compiled as C++ with `emulator.h`.

use std::fmt::Write;
use std::path::PathBuf;
use std::process::Command;

use pragma_spec::Scalar;
use pragma_synth::emit::cuda::plan::KernelArg;
use pragma_synth::ir::interp::{Argument, Native, Value};
use pragma_synth::ir::{BufRole, Param, Returned, VarId};

use super::{Case, Version};

/// What one version gave for one case.
pub struct Run {
    pub version: usize,
    pub case: usize,
    pub fault: bool,
    /// Every result as words.
    pub results: Vec<Vec<u64>>,
}

/// Compiles and runs every version on those of its cases that fit its plan; `None`, with a line
/// that says so, where there is no compiler.
pub fn run(versions: &[Version]) -> Option<Vec<Run>> {
    static NEXT: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
    let number = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    if Command::new("g++").arg("--version").output().is_err() {
        eprintln!("skipped: no g++ to run emitted CUDA with");
        return None;
    }
    let dir = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("cuda_emulated_{number}"));
    let _ = std::fs::remove_dir_all(&dir);
    std::fs::create_dir_all(&dir).unwrap();
    std::fs::write(dir.join("emulator.h"), include_str!("emulator.h")).unwrap();
    let mut text = "#include \"emulator.h\"\n".to_owned();
    let mut calls = String::new();
    for (at, version) in versions.iter().enumerate() {
        let source = emulable(&version.kernel.source);
        let _ = writeln!(text, "namespace {} {{\n{source}\n}}", version.entry);
        for (number, case) in version.file.cases.iter().enumerate() {
            let dims = case.dims(&version.file.program);
            // The guard leaves empty sizes to the reference.
            if dims.contains(&0) || !version.kernel.plan.fits(&dims) {
                continue;
            }
            call(&mut calls, version, case, (at, number), &dims);
        }
    }
    text += PRINTING;
    let _ = writeln!(text, "int main() {{\n{calls}}}");
    std::fs::write(dir.join("main.cpp"), text).unwrap();
    let output = Command::new("g++")
        .current_dir(&dir)
        .args([
            "-std=c++17",
            "-O1",
            "-ffp-contract=off",
            "-fno-strict-aliasing",
            "-w",
        ])
        .args(["-o", "emulated", "main.cpp"])
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "emitted CUDA does not compile as C++:\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let output = Command::new(dir.join("emulated")).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() {
        let last = text.lines().last().unwrap_or_default();
        let at: usize = last.split(' ').next().unwrap().parse().unwrap_or(0);
        panic!(
            "emitted CUDA fails in or after {last}\n{}\n{}",
            versions[at].kernel.source,
            String::from_utf8_lossy(&output.stderr)
        );
    }
    Some(text.lines().map(read).collect())
}

/// The source without what a CPU has no instructions for: `emulator.h` has those functions.
fn emulable(source: &str) -> String {
    let items = source.split("\n\n").filter(|item| !item.contains("asm"));
    let text = items.collect::<Vec<_>>().join("\n\n");
    text.replace(
        "extern __shared__ uint4 shared[];",
        "uint4* shared = emulated_shared;",
    )
}

fn read(line: &str) -> Run {
    let mut parts = line.split(':');
    let mut head = parts.next().unwrap().split_whitespace();
    let mut number = || head.next().unwrap().parse::<usize>().unwrap();
    Run {
        version: number(),
        case: number(),
        fault: number() != 0,
        results: parts
            .map(|words| {
                let words = words.split_whitespace();
                words
                    .map(|word| u64::from_str_radix(word, 16).unwrap())
                    .collect()
            })
            .collect(),
    }
}

const PRINTING: &str = "
template <class T>
static void print(const T* values, size_t count) {
    printf(\" :\");
    for (size_t i = 0; i < count; i++) {
        unsigned long long word = 0;
        memcpy(&word, values + i, sizeof(T));
        printf(\" %llx\", word);
    }
}
";

fn element(scalar: Scalar) -> String {
    match scalar {
        Scalar::Bf16 => "unsigned short".to_owned(),
        Scalar::Bool => "bool".to_owned(),
        Scalar::F32 => "float".to_owned(),
        Scalar::F64 => "double".to_owned(),
        _ => {
            let sign = if scalar.is_signed() { "" } else { "u" };
            format!("{sign}int{}_t", 8 * scalar.bytes())
        }
    }
}

/// The bits of a value, as an unsigned integer of its size.
fn word(scalar: Scalar, value: &Value<f64>) -> String {
    let bits = match value {
        Value::Bool(value) => u64::from(*value),
        Value::Int(value) => *value as u64,
        Value::Float(value) => match scalar {
            Scalar::Bf16 => u64::from((*value as f32).to_bits() >> 16),
            Scalar::F32 => u64::from((*value as f32).to_bits()),
            _ => value.to_bits(),
        },
    };
    let mask = u64::MAX >> (64 - 8 * scalar.bytes());
    format!("{:#x}u", bits & mask)
}

fn literal(scalar: Scalar, value: &Value<f64>) -> String {
    match value {
        Value::Bool(value) => value.to_string(),
        Value::Int(value) => format!("({})0x{:x}ull", element(scalar), *value as u64),
        Value::Float(value) => match scalar {
            Scalar::Bf16 => format!("0x{:x}", (*value as f32).to_bits() >> 16),
            Scalar::F32 => format!("__uint_as_float(0x{:x}u)", (*value as f32).to_bits()),
            _ => format!("__longlong_as_double(0x{:x}ll)", value.to_bits()),
        },
    }
}

/// Statements that make the arguments, run the launches and print the results.
fn call(out: &mut String, version: &Version, case: &Case, name: (usize, usize), dims: &[u64]) {
    let program = &version.file.program;
    let plan = &version.kernel.plan;
    let arguments = case.arguments::<Native>(program);
    let lookup = |name: &str| {
        let at = program.dims.iter().position(|dim| dim == name)?;
        dims.get(at).copied()
    };
    out.push_str("{\n");
    let mut scalars: Vec<(VarId, String)> = Vec::new();
    let mut prints = String::new();
    for (param, argument) in program.params.iter().zip(&arguments.params) {
        match (param, argument) {
            (Param::Buffer(buf), Argument::Buffer(buffer)) => {
                let decl = program.buf(*buf);
                let values: Vec<_> = buffer
                    .values
                    .iter()
                    .flatten()
                    .map(|value| word(decl.elem, value))
                    .collect();
                let (ty, id, count) = (element(decl.elem), buf.0, values.len());
                let bits = 8 * decl.elem.bytes();
                let _ = writeln!(
                    out,
                    "alignas(16) static {ty} b{id}[{count} + 1];\nstatic const uint{bits}_t w{id}[] = {{{}}};\nmemcpy(b{id}, w{id}, {count} * sizeof(w{id}[0]));",
                    [values, vec!["0".to_owned()]].concat().join(", ")
                );
                if decl.role == BufRole::Mutable {
                    let _ = writeln!(prints, "print(b{id}, {count});");
                }
            }
            (Param::Scalar(var), Argument::Scalar(value)) => {
                scalars.push((*var, literal(program.var(*var).scalar, value)));
            }
            _ => {}
        }
    }
    let mut slots = 0..;
    for part in program.returns.parts() {
        match part {
            Returned::Buffer(buf) => {
                let decl = program.buf(buf);
                let count = decl.shape.len().eval(&lookup).unwrap();
                let (ty, id) = (element(decl.elem), buf.0);
                let _ = writeln!(out, "alignas(16) static {ty} b{id}[{count} + 1];");
                let _ = writeln!(out, "memset(b{id}, 0x5a, sizeof b{id});");
                let _ = writeln!(prints, "print(b{id}, {count});");
            }
            Returned::Scalar(scalar) => {
                let (ty, at) = (element(scalar), slots.next().unwrap_or(0));
                let _ = writeln!(prints, "print(({ty}*)(results + {at}), 1);");
            }
        }
    }
    out.push_str("unsigned fault = 0; unsigned long long results[8] = {};\n");
    for (at, scratch) in plan.scratch.iter().enumerate() {
        let words = scratch.bytes.eval(dims).div_ceil(8) + 1;
        let fill = if scratch.zeroed { 0 } else { 0xa5 };
        let _ = writeln!(
            out,
            "std::vector<unsigned long long> s{at}({words}); memset(s{at}.data(), {fill}, 8 * {words});"
        );
    }
    for launch in &plan.launches {
        let arguments: Vec<String> = launch
            .args
            .iter()
            .map(|argument| match argument {
                KernelArg::Dim(dim) => format!("{}ull", dims[*dim]),
                KernelArg::Scalar(var) => {
                    let found = scalars.iter().find(|(scalar, _)| scalar == var);
                    found.map(|(_, text)| text.clone()).unwrap()
                }
                KernelArg::Buffer(buf) => format!("emulated_any{{(void*)b{}}}", buf.0),
                KernelArg::Scratch(at) => format!("emulated_any{{s{at}.data()}}"),
                KernelArg::Results => "results".to_owned(),
                KernelArg::Fault => "&fault".to_owned(),
            })
            .collect();
        let [x, y, z] = launch.grid.clone().map(|size| size.eval(dims));
        let [bx, by, bz] = launch.block;
        let _ = writeln!(
            out,
            "emulator::launch({{{x}, {y}, {z}}}, {{{bx}, {by}, {bz}}}, {}, [&] {{ {}::{}({}); }});",
            launch.shared.eval(dims),
            version.entry,
            launch.kernel,
            arguments.join(", ")
        );
    }
    let (at, case) = name;
    let _ = writeln!(
        out,
        "printf(\"{at} {case} %d\", fault != 0);\n{prints}printf(\"\\n\"); fflush(stdout);\n}}"
    );
}
