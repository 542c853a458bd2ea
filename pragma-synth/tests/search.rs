//! The search over the programs of the file tests: every version that the Conductor proposes is a
//! well-formed program that means what the lifted one means.

use std::path::Path;

use pragma_spec::Target;
use pragma_synth::action::Action;
use pragma_synth::conduct::{Conductor, Feedback, Level, Machine, Setting, Step, StopReason};
use pragma_synth::ir::interp::{Argument, Arguments, Buffer, Limits, Native, Outcome, Value, run};
use pragma_synth::ir::{BufRole, Param, Program, text, verify};

/// A machine of two threads with caches of 64 KB and 1 MB, figures invented.
fn machine() -> Machine {
    let level = |name: &str, capacity, speed: f64| Level {
        name: name.to_owned(),
        capacity,
        copy_one: speed,
        copy_all: speed * 1.8,
        read_one: speed * 1.2,
        read_all: speed * 2.0,
    };
    Machine {
        threads: 2,
        levels: vec![
            level("L1", 64 << 10, 100.0),
            level("L2", 1 << 20, 50.0),
            level("DRAM", u64::MAX, 10.0),
        ],
        flops_one: 80.0,
        flops_all: 160.0,
        fork_ns: 10_000.0,
    }
}

fn setting(program: &Program, size: u64) -> Setting {
    Setting {
        target: Target::X86_64V4,
        dims: program.dims.iter().map(|_| size).collect(),
        machine: machine(),
        exact: false,
        parallel: true,
        entry: "kernel".to_owned(),
        seed: None,
        reference_ns: None,
    }
}

/// Programs of the file tests, by name.
fn programs() -> Vec<(String, Program)> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/filetests");
    let mut paths: Vec<_> = std::fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ext| ext == "pir"))
        .collect();
    paths.sort();
    paths
        .into_iter()
        .map(|path| {
            let program = text::parse(&std::fs::read_to_string(&path).unwrap()).unwrap();
            (
                path.file_stem().unwrap().to_string_lossy().into_owned(),
                bare(program),
            )
        })
        .collect()
}

/// The program without its marks, as a lifter gives it.
fn bare(mut program: Program) -> Program {
    use pragma_synth::ir::{Mark, Stmt, StoreHint};
    fn strip(body: &mut Vec<Stmt>) {
        body.retain(|stmt| !matches!(stmt, Stmt::Prefetch { .. }));
        for stmt in body {
            match stmt {
                Stmt::For(inner) => inner.mark = Mark::Serial,
                Stmt::Store { hint, .. } => *hint = StoreHint::Cached,
                _ => {}
            }
            stmt.blocks_mut().into_iter().for_each(strip);
        }
    }
    strip(&mut program.body);
    program
}

fn arguments(program: &Program, size: u64) -> Arguments<f64> {
    let mut state = 1u64;
    let mut next = || {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (state >> 33) as i128
    };
    let dims: Vec<u64> = program.dims.iter().map(|_| size).collect();
    let lookup = |name: &str| {
        program
            .dims
            .iter()
            .position(|dim| dim == name)
            .map(|at| dims[at])
    };
    let params = program
        .params
        .iter()
        .map(|param| match param {
            Param::Dim(dim) => Argument::Scalar(Value::Int(i128::from(dims[*dim]))),
            Param::Scalar(var) => match program.var(*var).scalar {
                pragma_spec::Scalar::Bool => Argument::Scalar(Value::Bool(next() % 2 == 0)),
                scalar if scalar.is_float() => Argument::Scalar(Value::Float(1.5)),
                _ => Argument::Scalar(Value::Int(3)),
            },
            Param::Buffer(buf) => {
                let decl = program.buf(*buf);
                let len = decl.shape.len().eval(&lookup).unwrap();
                let values = (0..len).map(|_| match decl.elem {
                    pragma_spec::Scalar::Bool => Some(Value::Bool(next() % 2 == 0)),
                    elem if elem.is_float() => Some(Value::Float((next() % 64) as f64 / 8.0 - 4.0)),
                    _ => Some(Value::Int(next() % 8)),
                });
                Argument::Buffer(Buffer {
                    elem: decl.elem,
                    values: values.collect(),
                })
            }
        })
        .collect();
    Arguments { dims, params }
}

/// Everything a run gives, floats rounded to what a reordered sum may change.
fn results(program: &Program, size: u64) -> Option<Vec<String>> {
    let mut arguments = arguments(program, size);
    let outcome = run::<Native>(program, &mut arguments, Limits::default()).ok()?;
    let show = |value: &Value<f64>| match value {
        Value::Float(x) => format!("{x:.3e}"),
        Value::Int(x) => x.to_string(),
        Value::Bool(x) => x.to_string(),
    };
    let mut all = Vec::new();
    for (param, argument) in program.params.iter().zip(&arguments.params) {
        if let (Param::Buffer(buf), Argument::Buffer(buffer)) = (param, argument)
            && program.buf(*buf).role == BufRole::Mutable
        {
            all.extend(buffer.values.iter().flatten().map(show));
        }
    }
    match outcome {
        Outcome::Scalars(values) => all.extend(values.iter().map(show)),
        Outcome::Buffer(buffer) => all.extend(buffer.values.iter().flatten().map(show)),
        _ => {}
    }
    Some(all)
}

/// Runs a search in which every version is a little faster than the one before, so that many
/// rules get their turn, and hands every proposal to `check`.
fn search(program: &Program, size: u64, check: &mut dyn FnMut(&Program, &str)) -> StopReason {
    let mut conductor = Conductor::new(program.clone(), setting(program, size));
    let mut ns = conductor.roof().ns() * 100.0 + 1e6;
    let mut feedback = None;
    for _ in 0..200 {
        match conductor.next(feedback.as_ref()) {
            Step::Stop(reason) => return reason,
            Step::Try(proposal) => {
                check(&proposal.program, &format!("{:?}", proposal.actions));
                ns *= 0.97;
                feedback = Some(Feedback::Measured {
                    ns,
                    reference_ns: 1e7,
                    profile: None,
                });
            }
        }
    }
    panic!("the search does not end");
}

#[test]
fn proposals_are_well_formed_and_mean_the_same() {
    let mut tried = 0;
    for (name, program) in programs() {
        for size in [5, 33] {
            let Some(expected) = results(&program, size) else {
                continue;
            };
            search(&program, 1 << 12, &mut |version, actions| {
                tried += 1;
                assert_eq!(
                    verify::verify(version),
                    Ok(()),
                    "{name} {actions}\n{version}"
                );
                assert_eq!(
                    results(version, size).as_ref(),
                    Some(&expected),
                    "{name} {actions}\n{version}"
                );
            });
        }
    }
    assert!(tried > 100, "only {tried} versions were proposed");
}

#[test]
fn a_search_is_deterministic() {
    for (name, program) in programs() {
        let mut runs = Vec::new();
        for _ in 0..2 {
            let mut log = Vec::new();
            let stop = search(&program, 1 << 20, &mut |_, actions| {
                log.push(actions.to_owned())
            });
            runs.push((log, stop));
        }
        assert_eq!(runs[0], runs[1], "{name}");
    }
}

/// The first pass over a row waits for memory, a later one can read the next row; a single pass reads some kilobytes ahead.
#[test]
fn large_data_is_prefetched() {
    let asked = |wanted: &str, size: u64| {
        let (_, program) = programs()
            .into_iter()
            .find(|(name, _)| name == wanted)
            .unwrap();
        let mut asked = Vec::new();
        let mut conductor = Conductor::new(program.clone(), setting(&program, size));
        let mut feedback = None;
        while let Step::Try(proposal) = conductor.next(feedback.as_ref()) {
            for action in &proposal.actions {
                if let Action::Prefetch { .. } = action {
                    asked.push(action.to_string());
                }
            }
            // Nothing gains, so every proposal starts from the first version.
            feedback = Some(Feedback::Measured {
                ns: conductor.roof().ns() * 3.0,
                reference_ns: 1e9,
                profile: None,
            });
        }
        asked
    };
    assert_eq!(asked("rms_norm", 1 << 12), ["prefetch(x, i)"]);
    assert_eq!(
        asked("softmax", 1 << 12),
        ["prefetch(x, k)", "prefetch(x, i)"]
    );
    let nothing: [&str; 0] = [];
    assert_eq!(asked("rms_norm", 1 << 8), nothing);
    assert_eq!(
        asked("gelu", 1 << 24),
        [
            "prefetch(x, i, ahead = 2048)",
            "prefetch(x, i, ahead = 1024)"
        ]
    );
    assert_eq!(asked("gelu", 1 << 12), nothing);
    // Each column is read again for each row: it comes from the caches.
    assert_eq!(asked("matmul", 1 << 12), nothing);
}

#[test]
fn refusals_do_not_stop_a_search_early() {
    let (_, program) = programs()
        .into_iter()
        .find(|(name, _)| name == "saxpy")
        .unwrap();
    let mut conductor = Conductor::new(program.clone(), setting(&program, 1 << 20));
    let mut feedback = None;
    let mut refused = 0;
    loop {
        match conductor.next(feedback.as_ref()) {
            Step::Try(_) => {
                refused += 1;
                feedback = Some(Feedback::Refused {
                    reason: "it crashed".to_owned(),
                });
            }
            Step::Stop(reason) => {
                let expected = StopReason::NothingToTry {
                    reason: "it crashed".to_owned(),
                };
                assert_eq!(reason, expected);
                break;
            }
        }
    }
    assert!(refused >= 1);
    assert!(conductor.best().is_none());
}

#[test]
fn the_roof_ends_a_search() {
    let (_, program) = programs()
        .into_iter()
        .find(|(name, _)| name == "saxpy")
        .unwrap();
    let mut conductor = Conductor::new(program.clone(), setting(&program, 1 << 22));
    let roof = conductor.roof().ns();
    assert!(roof > 0.0);
    let Step::Try(_) = conductor.next(None) else {
        panic!("nothing to try")
    };
    let feedback = Feedback::Measured {
        ns: roof / 0.97,
        reference_ns: roof * 9.0,
        profile: None,
    };
    match conductor.next(Some(&feedback)) {
        Step::Stop(StopReason::AtTheRoof { fraction }) => assert!((0.96..0.98).contains(&fraction)),
        other => panic!("{other:?}"),
    }
}
