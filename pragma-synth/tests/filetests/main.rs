//! File tests: every `.pir` file here is one program with arguments and the results they give.
//!
//! Each program runs through the text form, the verifier, the interpreter in both number systems,
//! the scalar emitter and the oracle; all must agree. The header of a file is comments:
//!
//! ```text
//! // run: x = [1.0, 2.0], a = 0.5, out = [0.0; 2], n = 2
//! // gives: out = [0.5, 1.0], return = 3.0
//! ```
//!
//! - `run:` names every parameter and every dimension. Floats may be `inf`, `-inf`, `NaN`.
//! - `gives:` after it has every `&mut` parameter and `return`; `traps:` instead has part of the
//!   trap's message. `PRAGMA_BLESS=1` writes what the interpreter found.
//! - `// libm` allows a few ulp: the program calls functions that differ between systems.
//! - `// f64 differs: why` keeps the program from being compared with the `f64` number system.

mod case;
mod compiled;
mod random;
mod schedule;

use std::path::{Path, PathBuf};

use case::{Case, Expect, File, Values};
use pragma_spec::Scalar;
use pragma_synth::ir::interp::{self, Domain, Limits, Magnitude, Native, Outcome, Trap};
use pragma_synth::ir::text::parse;
use pragma_synth::ir::verify::verify;
use pragma_synth::ir::{Param, Program};
use pragma_synth::oracle::dual::Dual;
use proptest::prelude::{ProptestConfig, any, prop_assert, prop_assert_eq, proptest};

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/filetests")
}

/// All files, sorted, parsed and verified.
fn files() -> Vec<File> {
    let mut paths: Vec<_> = std::fs::read_dir(directory())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ext| ext == "pir"))
        .collect();
    // `PRAGMA_FILES=gather` runs only the files with that in their name.
    if let Ok(part) = std::env::var("PRAGMA_FILES") {
        paths.retain(|path| path.to_string_lossy().contains(&part));
    }
    paths.sort();
    paths.iter().map(|path| File::read(path)).collect()
}

/// Results by name: the `&mut` parameters, then `return`, each one sequence.
type Results<F> = Vec<(String, Scalar, Vec<interp::Value<F>>)>;

fn interpret<D: Domain>(program: &Program, case: &Case) -> Result<Results<D::Float>, Trap> {
    let mut arguments = case.arguments::<D>(program);
    let outcome = interp::run::<D>(program, &mut arguments, Limits::default())?;
    let mut results = Results::new();
    if matches!(outcome, Outcome::Declined) {
        let declined = interp::Value::Bool(true);
        return Ok(vec![("declined".to_owned(), Scalar::Bool, vec![declined])]);
    }
    for (param, argument) in program.params.iter().zip(arguments.params) {
        if let (Param::Buffer(buf), interp::Argument::Buffer(buffer)) = (param, argument) {
            let decl = program.buf(*buf);
            if decl.role == pragma_synth::ir::BufRole::Mutable {
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

#[test]
fn text_round_trips_and_verifies() {
    for file in files() {
        assert_eq!(verify(&file.program), Ok(()), "{}", file.name);
        let text = file.program.to_string();
        let again = parse(&text).unwrap_or_else(|error| panic!("{}: {error}", file.name));
        assert_eq!(again.to_string(), text, "{}", file.name);
        // A NaN is not equal to itself.
        if !text.contains("NAN") {
            assert_eq!(again, file.program, "{}", file.name);
        }
    }
}

#[test]
fn interpreter_gives_what_the_files_say() {
    let bless = std::env::var_os("PRAGMA_BLESS").is_some();
    let mut failures = Vec::new();
    for file in files() {
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

/// The `f64` number system is near the native one, nearer than its magnitudes allow for.
#[test]
fn magnitudes_cover_the_native_error() {
    for file in files() {
        if file.f64_differs {
            continue;
        }
        for case in &file.cases {
            let (Ok(native), Ok(dual)) = (
                interpret::<Native>(&file.program, case),
                interpret::<Magnitude>(&file.program, case),
            ) else {
                assert!(matches!(case.expect, Expect::Traps(_)), "{}", file.name);
                continue;
            };
            for ((name, scalar, native), (_, _, dual)) in native.iter().zip(&dual) {
                for (i, (native, dual)) in native.iter().zip(dual).enumerate() {
                    let place = format!("{}:{}: {name}[{i}]", file.name, case.line);
                    match (native, dual) {
                        (interp::Value::Float(native), interp::Value::Float(dual)) => {
                            within(*scalar, *native, *dual, &place);
                        }
                        (interp::Value::Int(a), interp::Value::Int(b)) => {
                            assert_eq!(a, b, "{place}");
                        }
                        (interp::Value::Bool(a), interp::Value::Bool(b)) => {
                            assert_eq!(a, b, "{place}");
                        }
                        (a, b) => panic!("{place}: {a:?} against {b:?}"),
                    }
                }
            }
        }
    }
}

fn within(scalar: Scalar, native: f64, dual: Dual, place: &str) {
    assert!(
        dual.m >= 0.0 && dual.m <= f64::MAX,
        "{place}: magnitude {}",
        dual.m
    );
    if native.is_nan() || dual.v.is_nan() || native.is_infinite() || dual.v.is_infinite() {
        assert!(
            native == dual.v || native.is_nan() && dual.v.is_nan(),
            "{place}: {native} against {}",
            dual.v
        );
        return;
    }
    let (eps, tiny) = match scalar {
        Scalar::F64 => (f64::EPSILON, 1e-300),
        _ => (f64::from(f32::EPSILON), f64::from(f32::MIN_POSITIVE)),
    };
    let allowed = 8.0 * eps * dual.m + tiny;
    assert!(
        (native - dual.v).abs() <= allowed,
        "{place}: {native} is further than {allowed} from {} (magnitude {})",
        dual.v,
        dual.m
    );
}

#[test]
fn compiled_code_agrees() {
    let mut files = files();
    let plain = files.len();
    for seed in 0..SCHEDULES {
        for i in 0..plain {
            files.extend(scheduled(&files[i], seed));
        }
    }
    files.extend((0..RANDOM_COMPILED).map(random_file));
    let Some(found) = compiled::run(&files) else {
        return;
    };
    let gives = |case: &&Case| matches!(case.expect, Expect::Gives(_));
    let cases = files
        .iter()
        .flat_map(|file| &file.cases)
        .filter(gives)
        .count();
    let ran = |name| found.iter().filter(|run| run.emitter == name).count();
    assert_eq!(ran("scalar"), cases);
    // All but those that are left to the reference.
    let unguarded = files.iter().flat_map(|file| {
        let guarded = |case: &&Case| {
            gives(case) && !case.dims(&file.program).contains(&0) && !case.declines()
        };
        file.cases.iter().filter(guarded)
    });
    assert_eq!(ran("oracle"), unguarded.count());
    for run in found {
        let (file, case) = (&files[run.file], &files[run.file].cases[run.case]);
        let place = format!("{}:{}: {}", file.name, case.line, run.emitter);
        match run.emitter {
            "oracle" => {
                let wanted = interpret::<Magnitude>(&file.program, case).unwrap();
                assert_eq!(wanted.len(), run.results.len(), "{place}");
                for ((name, scalar, values), mut found) in wanted.iter().zip(run.results) {
                    let wanted: Vec<u64> = values.iter().flat_map(oracle_words).collect();
                    if scalar.is_float() {
                        for word in &mut found {
                            *word = compiled::canonical_bits(f64::from_bits(*word));
                        }
                    }
                    // The same operations in the same order: the same bits, NaN aside.
                    assert_eq!(wanted, found, "{place}: {name}");
                }
            }
            _ => {
                let native = interpret::<Native>(&file.program, case).unwrap();
                let found = Values::from_words(&native, &run.results);
                let wanted = Values::of(&file.program, &native);
                if case::agree(&wanted, &found, file.libm) {
                    continue;
                }
                // Only vectors may round in another order, and only as far as that explains it.
                assert!(
                    run.emitter != "scalar" && !file.f64_differs,
                    "{place}: {found}, not {wanted}"
                );
                let dual = interpret::<Magnitude>(&file.program, case).unwrap();
                assert!(wanted.0.len() == found.0.len());
                for ((name, scalar, values), (words, native)) in
                    dual.iter().zip(run.results.iter().zip(&native))
                {
                    assert_eq!(words.len(), values.len(), "{place}: {name}");
                    for (i, (word, value)) in words.iter().zip(values).enumerate() {
                        let place = format!("{place}: {name}[{i}]");
                        match (value, scalar) {
                            (interp::Value::Float(dual), Scalar::F32) => {
                                let found = f32::from_bits(*word as u32);
                                within(*scalar, f64::from(found), *dual, &place);
                            }
                            (interp::Value::Float(dual), _) => {
                                within(*scalar, f64::from_bits(*word), *dual, &place);
                            }
                            _ => assert_eq!(wanted, found, "{place} {native:?}"),
                        }
                    }
                }
            }
        }
    }
}

/// Random programs that are compiled; more of them run in the interpreter only.
const RANDOM_COMPILED: u64 = 24;

/// Random schedules of every file that are compiled.
const SCHEDULES: u64 = 1;

/// The program of `file` after random actions, if any was legal.
fn scheduled(file: &File, seed: u64) -> Option<File> {
    let seed = seed * 1000 + file.text.len() as u64;
    let (program, applied) = schedule::schedule(&file.program, &random::bytes(seed, 60));
    if applied.is_empty() {
        return None;
    }
    let actions: Vec<_> = applied.iter().map(ToString::to_string).collect();
    Some(File {
        name: format!("{} after {}", file.name, actions.join("; ")),
        program,
        cases: file.cases.clone(),
        ..file.clone()
    })
}

/// The random program that `seed` stands for, with what the interpreter finds as expectation.
fn random_file(seed: u64) -> File {
    let (mut program, mut case) = random::program(&random::bytes(seed, 1000), true);
    program.body.iter_mut().for_each(schedule::unmark);
    let (program, _) = schedule::schedule(&program, &random::bytes(seed, 60));
    case.expect = match interpret::<Native>(&program, &case) {
        Ok(results) => Expect::Gives(Values::of(&program, &results)),
        Err(trap) => Expect::Traps(trap.to_string()),
    };
    File {
        path: PathBuf::new(),
        name: format!("random program {seed}"),
        text: String::new(),
        program,
        cases: vec![case],
        libm: false,
        f64_differs: true,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn random_programs_round_trip_and_run(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
        let (program, case) = random::program(&bytes, false);
        prop_assert_eq!(verify(&program), Ok(()));
        let text = program.to_string();
        let again = parse(&text);
        prop_assert!(again.as_ref() == Ok(&program), "{}{:?}", text, again);
        // Runs give results or a trap, never a panic; the only trap they may find is this one.
        for trap in [
            interpret::<Native>(&program, &case).err(),
            interpret::<Magnitude>(&program, &case).err(),
        ] {
            prop_assert!(matches!(trap, None | Some(Trap::DivideOverflow)), "{:?}\n{}", trap, text);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// Actions keep what a program computes, to the bit: marks mean nothing to the interpreter,
    /// and nothing else may change the order of additions.
    #[test]
    fn actions_keep_the_meaning(
        bytes in proptest::collection::vec(any::<u8>(), 0..400),
        actions in proptest::collection::vec(any::<u8>(), 0..40),
    ) {
        let (program, case) = random::program(&bytes, true);
        let (changed, applied) = schedule::schedule(&program, &actions);
        prop_assert_eq!(verify(&changed), Ok(()), "{:?}\n{}\n{}", applied, program, changed);
        let text = |results: Result<Results<f64>, Trap>| {
            results.map(|results| Values::of(&program, &results).to_string())
        };
        let wanted = text(interpret::<Native>(&program, &case));
        let found = text(interpret::<Native>(&changed, &case));
        prop_assert_eq!(wanted, found, "{:?}\n{}\n{}", applied, program, changed);
    }
}

fn oracle_words(value: &interp::Value<Dual>) -> Vec<u64> {
    match value {
        interp::Value::Float(dual) => [dual.v, dual.m].map(compiled::canonical_bits).to_vec(),
        interp::Value::Int(value) => vec![*value as u64],
        interp::Value::Bool(value) => vec![u64::from(*value)],
    }
}
