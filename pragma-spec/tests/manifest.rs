//! The text of manifests and indices: byte-stable, read back as written.

use pragma_spec::device::{
    DeviceArtefact, DeviceVariant, Formula, GpuArch, HashedFile, KernelArg, Launch, LaunchPlan,
    Requirement, Scratch,
};
use pragma_spec::{
    Artefact, Authorship, Fingerprint, Index, IndexEntry, IndexError, Interface, KernelId,
    Manifest, ManifestError, Scalar, Target, TargetOutcome, Variant, VerificationRecord,
    text_sha256,
};

fn device() -> DeviceArtefact {
    let size = |text: &str| text.parse::<Formula>().expect("a size");
    let file = |name: &str| HashedFile {
        name: name.to_owned(),
        sha256: text_sha256(name),
    };
    DeviceArtefact {
        arch: GpuArch::Sm90,
        outcome: TargetOutcome::Tuned,
        reason: None,
        checked: vec!["memcheck".to_owned()],
        unchecked: Vec::new(),
        variants: vec![DeviceVariant {
            source: file("sm_90.cu"),
            ptx: file("sm_90.ptx"),
            max_elements: None,
            tune: "rows = 2048, d = 4096".to_owned(),
            engine: "synth".to_owned(),
            actions: vec!["team(r, threads = 256, vector = 4, items = 4)".to_owned()],
            plan: LaunchPlan {
                requires: vec![
                    Requirement::Aligned("x".to_owned(), 16),
                    Requirement::Multiple(size("d"), 4),
                    Requirement::AtMost(size("rows * d"), 4096),
                ],
                scratch: vec![Scratch {
                    name: "flags".to_owned(),
                    bytes: size("4 * rows"),
                    zeroed: true,
                }],
                results: vec![Scalar::F32],
                fault: true,
                options: vec!["--fmad=false".to_owned()],
                launches: vec![Launch {
                    kernel: "rms_norm".to_owned(),
                    grid: [size("rows.min(2147483647)"), size("1"), size("1")],
                    block: [256, 1, 1],
                    shared: size("0"),
                    args: vec![
                        KernelArg::Dim("rows".to_owned()),
                        KernelArg::Param("x".to_owned()),
                        KernelArg::Scratch("flags".to_owned()),
                        KernelArg::Results,
                        KernelArg::Fault,
                    ],
                }],
            },
        }],
    }
}

fn manifest() -> Manifest {
    Manifest {
        format: 1,
        kernel: KernelId::new("nn.rms_norm").expect("an id"),
        function: "rms_norm".to_owned(),
        package: "quickstart".to_owned(),
        module: "nn".to_owned(),
        fingerprint: Fingerprint::of_text("function"),
        dependencies: Fingerprint::of_text("helpers"),
        signature: "fn rms_norm(x: &[f32], eps: f32, out: &mut [f32])".to_owned(),
        dims: vec!["rows".to_owned(), "d".to_owned()],
        shapes: vec![
            ("x".to_owned(), "[rows, d]".parse().expect("a shape")),
            (
                "out".to_owned(),
                "[rows, 2 * (d - 1)]".parse().expect("a shape"),
            ),
        ],
        interface: Interface::default(),
        artefacts: vec![
            Artefact {
                target: Target::X86_64V3,
                outcome: TargetOutcome::ReferenceFastest,
                reason: Some("bound by \"memory\"\n\tand C:\\".to_owned()),
                file: None,
                sha256: None,
                variants: Vec::new(),
            },
            Artefact {
                target: Target::X86_64V4,
                outcome: TargetOutcome::Tuned,
                reason: None,
                file: Some("x86-64-v4.rs".to_owned()),
                sha256: Some(text_sha256("text")),
                variants: vec![
                    Variant {
                        entry: "reference".to_owned(),
                        max_elements: Some(64),
                        tune: "rows = 1, d = 64".to_owned(),
                        engine: "synth".to_owned(),
                        actions: Vec::new(),
                        seed: 0,
                        authorship: Some(Authorship {
                            model: "openai:m".to_owned(),
                            prompt: "1".to_owned(),
                            transcript: Fingerprint::of_text("said"),
                        }),
                    },
                    Variant {
                        entry: "rms_norm_2".to_owned(),
                        max_elements: None,
                        tune: "rows = 2048, d = 4096".to_owned(),
                        engine: "synth".to_owned(),
                        actions: vec![
                            "split(i, 16)".to_owned(),
                            "vectorize(j, unroll = 4)".to_owned(),
                            "parallelize(rows, grain = 65536)".to_owned(),
                            "stream(out)".to_owned(),
                        ],
                        seed: u64::MAX,
                        authorship: None,
                    },
                ],
            },
        ],
        devices: vec![device()],
        verification: VerificationRecord {
            checked: vec!["tails".to_owned(), "special values".to_owned()],
            unchecked: Vec::new(),
            accuracy: "as close to f64 as the reference".to_owned(),
        },
    }
}

const TEXT: &str = r#"# Written by `cargo pragma tune`; do not edit. `cargo pragma check` compares it with the source.
format = 1
kernel = "nn.rms_norm"
function = "rms_norm"
package = "quickstart"
module = "nn"
"#;

#[test]
fn a_manifest_is_read_as_it_was_written() {
    let manifest = manifest();
    let text = manifest.to_toml();
    assert_eq!(Manifest::parse(&text), Ok(manifest.clone()));
    assert_eq!(
        Manifest::parse(&text).map(|m| m.to_toml()),
        Ok(text.clone())
    );
    assert_eq!(
        Manifest::parse(&text.replace('\n', "\r\n")),
        Ok(manifest.clone())
    );
    assert!(!text.contains('\r') && text.ends_with('\n') && !text.ends_with("\n\n"));
    assert_eq!(
        manifest
            .artefact(Target::X86_64V4)
            .map(|a| a.variants.len()),
        Some(2)
    );
    // The order of keys is part of the format.
    let lines = |text: &str| -> Vec<String> { text.lines().take(6).map(str::to_owned).collect() };
    assert_eq!(lines(&text), lines(TEXT));
}

#[test]
fn unknown_keys_are_ignored_and_missing_ones_named() {
    let text = manifest().to_toml();
    let more = text.replace("package =", "colour = \"red\"\npackage =");
    assert_eq!(Manifest::parse(&more), Ok(manifest()));
    for (from, to, expected) in [
        ("module = \"nn\"\n", "", "`module` is missing"),
        (
            "dims = [\"rows\", \"d\"]",
            "dims = [1]",
            "`dims` is not a list of texts",
        ),
        ("format = 1", "format = -1", "`format` is out of range: -1"),
        (
            "[rows, d]",
            "[rows, ]]",
            "`shape`: `[rows, ]]` is not a shape",
        ),
        (
            "x86-64-v4\"",
            "x86-64-v5\"",
            "`target`: `x86-64-v5` is not a target; known targets are x86-64-v3 and x86-64-v4",
        ),
        (
            "\"tuned\"",
            "\"lucky\"",
            "`outcome`: `lucky` is not an outcome",
        ),
        (
            "kernel = \"nn.",
            "kernel = \"../",
            "`kernel`: `../rms_norm` is not a kernel id: letters, digits, `_` and `.` only, and no `.` at either end",
        ),
    ] {
        assert!(text.contains(from), "{from}");
        let error = Manifest::parse(&text.replacen(from, to, 1)).expect_err(expected);
        assert_eq!(error.to_string(), expected);
    }
    let newer = text.replace("format = 1", "format = 2");
    assert_eq!(Manifest::parse(&newer), Err(ManifestError::Newer(2)));
    let broken = Manifest::parse("format = 1\n=======\n").expect_err("not TOML");
    assert!(broken.to_string().starts_with("line 2: "), "{broken}");
}

fn entry(id: &str) -> IndexEntry {
    IndexEntry {
        kernel: KernelId::new(id).expect("an id"),
        function: "f".to_owned(),
        fingerprint: Fingerprint::of_text(id),
        manifest_sha256: text_sha256(id),
    }
}

#[test]
fn an_index_is_sorted_and_has_a_line_per_kernel() {
    let empty = Index::default().to_toml();
    assert_eq!(Index::parse(&empty), Ok(Index::default()));
    let index = Index {
        format: 1,
        kernels: vec![entry("b"), entry("a.f"), entry("a")],
    };
    let text = index.to_toml();
    let kernels = Index::parse(&text).expect("an index").kernels;
    assert_eq!(kernels, [entry("a"), entry("a.f"), entry("b")]);
    assert_eq!(text.lines().count(), empty.lines().count() + 3);
    // Taking lines of both sides of a merge gives an index of both.
    let line = text
        .lines()
        .find(|line| line.contains("\"b\""))
        .expect("listed");
    let twice = text.replace(line, &format!("{line}\n{line}"));
    assert_eq!(
        Index::parse(&twice),
        Err(IndexError::Duplicate(entry("b").kernel))
    );
    let newer = text.replace("format = 1", "format = 3");
    assert_eq!(Index::parse(&newer), Err(IndexError::Newer(3)));
}

#[test]
fn line_ends_do_not_change_the_hash_of_a_text() {
    assert_eq!(text_sha256("a\nb\n"), text_sha256("a\r\nb\r\n"));
    assert_ne!(text_sha256("a\nb\n"), text_sha256("a\nb"));
    assert_eq!(
        text_sha256("abc"),
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    );
}
