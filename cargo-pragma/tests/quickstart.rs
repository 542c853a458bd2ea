//! The example's functions in vectors, through lift, oracle, self-test and verification.
#![forbid(unsafe_code)]

mod support;

use pragma_spec::form::HarnessForms;
use std::path::Path;
use std::time::Instant;

use cargo_pragma::harness::{CandidateText, CrateTarget, HarnessRequest, build};
use cargo_pragma::machine;
use cargo_pragma::process::confine::Sandbox;
use cargo_pragma::verify::{Bench, KernelSpec, Level, Verdict};
use pragma_spec::{KernelAttribute, KernelSignature, fingerprint, harness_symbol};
use pragma_synth::action::{Action, apply};
use pragma_synth::emit::{EmitOptions, emit};
use pragma_synth::ir::{Program, Stmt};
use pragma_synth::lift::{KernelRequest, SourceCrate, SourceModule, lift};
use pragma_synth::oracle::oracle_source;

#[test]
fn every_example_is_judged_by_its_oracle() {
    let root = support::workspace().join("examples/quickstart");
    let harness = build(&HarnessRequest {
        manifest_path: root.join("Cargo.toml"),
        package: "quickstart".into(),
        target: CrateTarget::Lib,
        crate_name: "quickstart".into(),
        cargo_args: ["--profile", "release"].map(str::to_owned).to_vec(),
        cache: Path::new(env!("CARGO_TARGET_TMPDIR")).join("fixtures"),
        sandbox: Sandbox::required(support::exe()),
        forms: HarnessForms::default(),
        color: false,
    })
    .unwrap_or_else(|error| panic!("{error:?}"));
    let mut judged = 0;
    for module in ["activation", "norm", "search", "vector"] {
        let text =
            std::fs::read_to_string(root.join(format!("src/{module}.rs"))).expect("can be read");
        let file = syn::parse_file(&text).expect("parses");
        let krate = SourceCrate {
            modules: vec![SourceModule {
                path: vec![module.into()],
                file: format!("src/{module}.rs"),
                items: file.items.clone(),
            }],
        };
        for item in &file.items {
            let syn::Item::Fn(function) = item else {
                continue;
            };
            let marked = function
                .attrs
                .iter()
                .find(|attribute| attribute.path().is_ident("pragma_kernel"));
            let Some(syn::Meta::List(list)) = marked.map(|attribute| &attribute.meta) else {
                continue;
            };
            let mut attribute =
                KernelAttribute::parse(list.tokens.clone()).expect("is an attribute");
            let signature = KernelSignature::from_syn(&function.sig).expect("is supported");
            let name = signature.name.clone();
            let request = KernelRequest {
                krate: &krate,
                module: &[module.to_owned()],
                function,
                attribute: &attribute,
                signature: &signature,
            };
            let lifted = lift(&request).unwrap_or_else(|refusal| panic!("{name}: {refusal:?}"));
            let place = function.sig.ident.span().start();
            let symbol = harness_symbol(
                &function.sig.ident,
                &fingerprint(&list.tokens, function),
                &format!("{module}.rs"),
                place.line,
                place.column,
            );
            let oracle = oracle_source(&lifted.program, &signature)
                .unwrap_or_else(|error| panic!("{name}: {error}"));
            // The large tuning sizes are for `tune` in a release build.
            attribute.tunes.truncate(1);
            let spec = KernelSpec::new(
                signature,
                attribute,
                &lifted.program.dims,
                lifted.shapes.clone(),
                symbol,
                Some(oracle),
            )
            .expect("dims are determined");
            let start = Instant::now();
            let mut bench = Bench::open(&harness, spec, support::limits(), 1)
                .unwrap_or_else(|error| panic!("{name}: {error}"));
            let opened = start.elapsed();
            let test = bench
                .self_test()
                .unwrap_or_else(|error| panic!("{name}: {error}"));
            let tested = start.elapsed();
            println!(
                "{name}: refused {}, equivalent {:?}, strengthened {}",
                test.refused.len(),
                test.equivalent,
                test.strengthened
            );
            let vectors = vectorized(&lifted.program);
            // The strongest tier here; `tune` tries all of them in a release build.
            let Some(&target) = machine::targets().last() else {
                println!("skipped: this machine has no target");
                return;
            };
            let source = emit(&vectors, target, "k", EmitOptions::default())
                .unwrap_or_else(|error| panic!("{name}: {error}"));
            let spec = bench.spec().clone();
            let text = CandidateText {
                source: &source,
                entry: "k",
                signature: &spec.signature,
                guard: &spec.guard,
                shapes: &spec.shapes,
                declines: false,
            };
            let built = harness
                .build_candidate(&text, &bench.candidates())
                .unwrap_or_else(|error| panic!("{name}: {error:?}\n{source}"));
            let compiled = Instant::now();
            match bench
                .verify(&built, Level::Full)
                .unwrap_or_else(|error| panic!("{name}: {error}"))
            {
                Verdict::Verified(verified) => println!(
                    "  {target}: {} cases, {:?}, {:?}",
                    verified.cases(),
                    verified.tally(),
                    compiled.elapsed()
                ),
                other => panic!("{name} for {target}: {other:#?}\n{source}"),
            }
            println!("{name}: open {opened:?}, self-test {:?}", tested - opened);
            judged += 1;
        }
    }
    assert_eq!(judged, 8);
}

/// The program with every innermost loop that can be in vectors.
fn vectorized(program: &Program) -> Program {
    let mut axes = Vec::new();
    for stmt in &program.body {
        stmt.walk(&mut |stmt| {
            if let Stmt::For(inner) = stmt {
                axes.push(program.var(inner.var).name.clone());
            }
        });
    }
    axes.into_iter().fold(program.clone(), |program, axis| {
        apply(&program, &Action::Vectorize { axis, unroll: 4 }).unwrap_or(program)
    })
}
