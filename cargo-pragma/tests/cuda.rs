//! Compiling CUDA C++ where NVRTC is installed. Nothing here needs a GPU.

use std::path::PathBuf;

use cargo_pragma::cuda::{CompileError, Compiler, find_nvrtc};
use cargo_pragma::process::confine::{Confinement, Sandbox};
use pragma_spec::device::{Formula, GpuArch, KernelArg, Launch, LaunchPlan};

const SOURCE: &str = r#"extern "C" __global__ void twice(float *x, unsigned long long n) {
    __shared__ float tile[64];
    unsigned long long i = blockIdx.x * 64ull + threadIdx.x;
    tile[threadIdx.x] = i < n ? x[i] : 0.0f;
    __syncthreads();
    if (i < n) x[i] = 2.0f * tile[63 - threadIdx.x];
}
"#;

fn compiler() -> Option<Compiler> {
    let nvrtc = find_nvrtc()?;
    let exe = PathBuf::from(env!("CARGO_BIN_EXE_cargo-pragma"));
    let required = Sandbox::required(exe.clone());
    let sandbox = match required.probe() {
        Ok(()) => required,
        Err(_) => Sandbox {
            exe,
            confinement: Confinement::Waived,
        },
    };
    Some(Compiler { nvrtc, sandbox })
}

fn plan(args: usize) -> LaunchPlan {
    let one = || Formula::Const(1);
    LaunchPlan {
        launches: vec![Launch {
            kernel: "twice".to_owned(),
            grid: [one(), one(), one()],
            block: [64, 1, 1],
            shared: Formula::Const(0),
            args: vec![KernelArg::Dim("n".to_owned()); args],
        }],
        ..LaunchPlan::default()
    }
}

#[test]
fn source_becomes_assembly_with_its_resources() {
    let Some(compiler) = compiler() else {
        eprintln!("skipped: NVRTC is not installed");
        return;
    };
    let dir = tempfile::tempdir().expect("a directory");
    for arch in GpuArch::ALL {
        let compiled = compiler
            .compile(SOURCE, "twice", arch, &[], dir.path())
            .expect("compiles");
        assert!(
            compiled.ptx.contains(&format!(".target {arch}")),
            "{}",
            compiled.ptx
        );
        assert!(compiled.cubin_file.metadata().expect("is there").len() > 0);
        let [resources] = &compiled.resources[..] else {
            panic!("one kernel, not {:?}", compiled.resources);
        };
        assert_eq!(
            (resources.kernel.as_str(), resources.shared_bytes),
            ("twice", 256)
        );
        assert!(resources.registers > 0);
        assert_eq!(compiled.fits(&plan(2)), Ok(()));
        assert!(
            compiled
                .fits(&plan(3))
                .is_err_and(|why| why.contains("2 arguments"))
        );
    }
}

#[test]
fn errors_name_the_line_of_the_source() {
    let Some(compiler) = compiler() else {
        eprintln!("skipped: NVRTC is not installed");
        return;
    };
    let dir = tempfile::tempdir().expect("a directory");
    let wrong = SOURCE.replace("2.0f * tile", "2.0f * title");
    match compiler.compile(&wrong, "twice", GpuArch::Sm80, &[], dir.path()) {
        Err(CompileError::Rejected(log)) => assert!(log.contains("twice.cu(6)"), "{log}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_library_that_is_no_compiler_is_an_error() {
    let Some(compiler) = compiler() else {
        eprintln!("skipped: NVRTC is not installed");
        return;
    };
    let dir = tempfile::tempdir().expect("a directory");
    let broken = Compiler {
        nvrtc: dir.path().join("libnvrtc.so.13"),
        ..compiler
    };
    std::fs::write(&broken.nvrtc, "no library").expect("writes");
    let result = broken.compile(SOURCE, "twice", GpuArch::Sm80, &[], dir.path());
    assert!(matches!(result, Err(CompileError::Broken(_))), "{result:?}");
}
