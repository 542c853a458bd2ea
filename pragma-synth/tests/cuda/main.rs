//! File tests of the CUDA emitter: every `.pir` file here is one program with lists of GPU actions.
//!
//! The header of a file is that of `tests/filetests` (`run:`, `gives:`, `libm`), and one line per
//! version:
//!
//! ```text
//! // gpu: grid(i, threads = 64, vector = 4, unroll = 1)
//! ```
//!
//! Actions are separated by `;`. For each version the text of the kernels is compared with the
//! `.cu` file of the same name (`PRAGMA_BLESS=1` writes it), compiled by NVRTC where that is found,
//! and run by an emulator where there is a C++ compiler; results are compared with the
//! interpreter's. What the Conductor proposes for these programs and those of `tests/filetests` is
//! run in the same way.

#[path = "../filetests/case.rs"]
mod case;
mod emulated;
mod nvrtc;

use std::path::{Path, PathBuf};

use case::{Case, Expect, File, Values};
use pragma_spec::Scalar;
use pragma_synth::action::gpu::GpuAction;
use pragma_synth::conduct::gpu::{GpuSetting, proposals};
use pragma_synth::emit::EmitOptions;
use pragma_synth::emit::cuda::{CudaKernel, CudaTarget, emit};
use pragma_synth::ir::interp::{self, Domain, Limits, Magnitude, Native, Outcome, Trap};
use pragma_synth::ir::{BufRole, Param, Program};
use pragma_synth::oracle::dual::Dual;

/// Results by name: the `&mut` parameters, then `return`, each one sequence.
type Results<F> = Vec<(String, Scalar, Vec<interp::Value<F>>)>;

/// One program mapped in one way.
struct Version {
    file: File,
    actions: Vec<GpuAction>,
    kernel: CudaKernel,
    /// The entry that the kernel was written for, unique among all.
    entry: String,
}

fn directory(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests")
        .join(name)
}

fn files(name: &str) -> Vec<File> {
    let mut paths: Vec<_> = std::fs::read_dir(directory(name))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ext| ext == "pir"))
        .collect();
    paths.sort();
    // To look at one file while working on it.
    if let Ok(wanted) = std::env::var("PRAGMA_FILETEST") {
        paths.retain(|path| path.file_stem().is_some_and(|stem| *stem == *wanted));
    }
    paths.iter().map(|path| File::read(path)).collect()
}

/// The lists of actions that a file names.
fn lists(file: &File) -> Vec<Vec<GpuAction>> {
    let lines = file.text.lines();
    let lists = lines.filter_map(|line| line.strip_prefix("// gpu:"));
    lists
        .map(|list| {
            let actions = list.split(';').map(str::trim);
            let actions = actions.filter(|action| !action.is_empty());
            actions
                .map(|action| action.parse().unwrap_or_else(|error| panic!("{error}")))
                .collect()
        })
        .collect()
}

fn exact() -> EmitOptions {
    EmitOptions { contract: false }
}

/// All versions that the files name.
fn named_versions() -> Vec<Version> {
    let mut versions = Vec::new();
    for file in files("cuda") {
        for actions in lists(&file) {
            let entry = format!("k{}", versions.len());
            let kernel = emit(&file.program, &actions, CudaTarget::Sm90, &entry, exact());
            let kernel = kernel.unwrap_or_else(|error| panic!("{}: {error}", file.name));
            versions.push(Version {
                file: file.clone(),
                actions,
                kernel,
                entry,
            });
        }
    }
    versions
}

/// The text of all versions of a file.
fn golden(file: &File) -> String {
    let mut text = String::new();
    for actions in lists(file) {
        let entry = &file.program.name;
        let kernel = emit(
            &file.program,
            &actions,
            CudaTarget::Sm90,
            entry,
            EmitOptions::default(),
        );
        let kernel = kernel.unwrap_or_else(|error| panic!("{}: {error}", file.name));
        let actions: Vec<_> = actions.iter().map(ToString::to_string).collect();
        text += &format!("// {}\n", actions.join("; "));
        for launch in &kernel.plan.launches {
            let [x, y, z] = &launch.grid;
            let [bx, by, bz] = launch.block;
            text += &format!(
                "// {}: grid ({x}, {y}, {z}), block ({bx}, {by}, {bz}), shared {}\n",
                launch.kernel, launch.shared
            );
        }
        for scratch in &kernel.plan.scratch {
            let zeroed = if scratch.zeroed { ", zeroed" } else { "" };
            text += &format!(
                "// scratch {}: {} bytes{zeroed}\n",
                scratch.name, scratch.bytes
            );
        }
        for condition in &kernel.plan.requires {
            text += &format!("// requires {condition:?}\n");
        }
        text += &format!("{}\n", kernel.source);
    }
    text
}

#[test]
fn text_is_as_expected() {
    let bless = std::env::var_os("PRAGMA_BLESS").is_some();
    let mut different = Vec::new();
    for file in files("cuda") {
        let text = golden(&file);
        assert_eq!(text, golden(&file), "the same text every time");
        let path = file.path.with_extension("cu");
        if bless {
            std::fs::write(&path, &text).unwrap();
        } else if std::fs::read_to_string(&path).unwrap_or_default() != text {
            different.push(file.name.clone());
        }
    }
    assert!(
        different.is_empty(),
        "not the expected text (PRAGMA_BLESS=1 rewrites it): {different:?}"
    );
}

#[test]
fn interpreter_gives_what_the_files_say() {
    let bless = std::env::var_os("PRAGMA_BLESS").is_some();
    let mut failures = Vec::new();
    for file in files("cuda") {
        let mut found = Vec::new();
        for case in &file.cases {
            let results = interpret::<Native>(&file.program, case);
            let ok = match (&case.expect, &results) {
                (Expect::Gives(wanted), Ok(results)) => {
                    case::agree(wanted, &Values::of(&file.program, results), file.libm)
                }
                (Expect::Traps(part), Err(trap)) => trap.to_string().contains(part),
                _ => false,
            };
            let line = match &results {
                Ok(results) => format!("// gives: {}", Values::of(&file.program, results)),
                Err(trap) => format!("// traps: {trap}"),
            };
            if !ok {
                failures.push(format!("{}:{}: {line}", file.name, case.line));
            }
            found.push((case.line, if ok { None } else { Some(line) }));
        }
        if bless {
            file.bless(&found);
        }
    }
    assert!(bless || failures.is_empty(), "\n{}", failures.join("\n"));
}

#[test]
fn nvrtc_accepts_every_version() {
    let mut sources: Vec<(String, String)> = Vec::new();
    for version in named_versions() {
        let place = format!("{} {:?}", version.file.name, version.actions);
        sources.push((place, version.kernel.source));
    }
    nvrtc::compile(&sources);
}

#[test]
fn emulated_versions_agree() {
    check(&named_versions());
}

/// What the Conductor proposes for every program, at the sizes of its cases and at a large one.
#[test]
fn emulated_proposals_agree() {
    let mut versions = Vec::new();
    for name in ["cuda", "filetests"] {
        for mut file in files(name) {
            file.cases.retain(|case| {
                if case.declines() {
                    return false;
                }
                let dims = case.dims(&file.program);
                // One thread takes long for the largest; the named versions run those.
                !dims.contains(&0) && dims.iter().product::<u64>() < 400
            });
            let mut sizes: Vec<Vec<u64>> = vec![file.program.dims.iter().map(|_| 4096).collect()];
            sizes.extend(file.cases.iter().map(|case| case.dims(&file.program)));
            let mut seen: Vec<Vec<GpuAction>> = Vec::new();
            for dims in sizes {
                let setting = GpuSetting {
                    target: CudaTarget::Sm90,
                    dims,
                    exact: false,
                    entry: "kernel".to_owned(),
                };
                // The first ones differ most.
                for proposal in proposals(&file.program, &setting).into_iter().take(2) {
                    if seen.contains(&proposal.actions) {
                        continue;
                    }
                    let entry = format!("k{}", versions.len());
                    let actions = proposal.actions;
                    seen.push(actions.clone());
                    let kernel =
                        emit(&file.program, &actions, CudaTarget::Sm90, &entry, exact()).unwrap();
                    versions.push(Version {
                        file: file.clone(),
                        actions,
                        kernel,
                        entry,
                    });
                }
            }
        }
    }
    assert!(versions.len() > 60, "{}", versions.len());
    check(&versions);
}

/// Every named version runs at least once: its conditions hold for one of the cases.
#[test]
fn named_versions_fit_a_case() {
    for version in named_versions() {
        let program = &version.file.program;
        let mut cases = version.file.cases.iter();
        assert!(
            cases.any(|case| version.kernel.plan.fits(&case.dims(program))),
            "{}: {:?} {:?}",
            version.file.name,
            version.actions,
            version.kernel.plan.requires
        );
    }
}

fn check(versions: &[Version]) {
    let Some(runs) = emulated::run(versions) else {
        return;
    };
    let mut failures = Vec::new();
    for run in &runs {
        let version = &versions[run.version];
        let file = &version.file;
        let case = &file.cases[run.case];
        let actions: Vec<_> = version.actions.iter().map(ToString::to_string).collect();
        let place = format!("{}:{}: {}", file.name, case.line + 1, actions.join("; "));
        match interpret::<Native>(&file.program, case) {
            Err(trap) => {
                // Reading what was never written is what programs do not do: no kernel looks.
                if !run.fault && !matches!(trap, Trap::Unwritten { .. }) {
                    failures.push(format!("{place}: no fault is reported for: {trap}"));
                }
            }
            Ok(native) => {
                if run.fault {
                    failures.push(format!("{place}: a fault is reported"));
                    continue;
                }
                let found = Values::from_words(&native, &run.results);
                let wanted = Values::of(&file.program, &native);
                if case::agree(&wanted, &found, file.libm) {
                    continue;
                }
                // Sums may be regrouped, as far as their rounding explains it.
                let dual = interpret::<Magnitude>(&file.program, case).unwrap();
                if file.f64_differs || !within_budget(&dual, run) {
                    failures.push(format!("{place}:\n  found  {found}\n  wanted {wanted}"));
                }
            }
        }
    }
    assert!(failures.is_empty(), "\n{}", failures.join("\n"));
    assert!(!runs.is_empty());
}

fn within_budget(dual: &Results<Dual>, run: &emulated::Run) -> bool {
    dual.len() == run.results.len()
        && dual
            .iter()
            .zip(&run.results)
            .all(|((_, scalar, values), words)| {
                values.len() == words.len()
                    && values.iter().zip(words).all(|(value, word)| match value {
                        interp::Value::Float(dual) => {
                            let (found, eps, tiny) = match scalar {
                                Scalar::F64 => (f64::from_bits(*word), f64::EPSILON, 1e-300),
                                Scalar::Bf16 => (
                                    f64::from(f32::from_bits((*word as u32) << 16)),
                                    1.0 / 128.0,
                                    1e-38,
                                ),
                                _ => (
                                    f64::from(f32::from_bits(*word as u32)),
                                    f64::from(f32::EPSILON),
                                    f64::from(f32::MIN_POSITIVE),
                                ),
                            };
                            found == dual.v
                                || found.is_nan() && dual.v.is_nan()
                                || (found - dual.v).abs() <= 8.0 * eps * dual.m + tiny
                        }
                        interp::Value::Int(value) => {
                            interp::wrap(*scalar, i128::from(*word)) == *value
                        }
                        interp::Value::Bool(value) => (*word != 0) == *value,
                    })
            })
}

fn interpret<D: Domain>(program: &Program, case: &Case) -> Result<Results<D::Float>, Trap> {
    let mut arguments = case.arguments::<D>(program);
    let outcome = interp::run::<D>(program, &mut arguments, Limits::default())?;
    let mut results = Results::new();
    for (param, argument) in program.params.iter().zip(arguments.params) {
        if let (Param::Buffer(buf), interp::Argument::Buffer(buffer)) = (param, argument) {
            let decl = program.buf(*buf);
            if decl.role == BufRole::Mutable {
                let values = buffer.values.into_iter().flatten().collect();
                results.push((decl.name.clone(), decl.elem, values));
            }
        }
    }
    let parts = match outcome {
        Outcome::Nothing | Outcome::Declined => Vec::new(),
        Outcome::Scalars(values) => values.into_iter().map(interp::Returned::Scalar).collect(),
        Outcome::Buffer(buffer) => vec![interp::Returned::Buffer(buffer)],
        Outcome::Mixed(parts) => parts,
    };
    let scalars = program.returns.scalars();
    let mut scalars = scalars.iter();
    for part in parts {
        let (scalar, values) = match part {
            interp::Returned::Scalar(value) => {
                (*scalars.next().unwrap_or(&Scalar::Bool), vec![value])
            }
            interp::Returned::Buffer(buffer) => {
                (buffer.elem, buffer.values.into_iter().flatten().collect())
            }
        };
        results.push(("return".to_owned(), scalar, values));
    }
    Ok(results)
}
