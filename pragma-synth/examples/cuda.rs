//! Maps a program in text form to a GPU and prints its kernels:
//! `cuda FILE.pir TARGET ACTION..`, or `cuda FILE.pir TARGET propose DIM=SIZE..` for what the
//! Conductor would try. With `--json` in front, the launch plan for the sizes comes as JSON.
use std::collections::BTreeMap;

use pragma_synth::action::gpu::GpuAction;
use pragma_synth::conduct::gpu::{GpuSetting, proposals};
use pragma_synth::emit::EmitOptions;
use pragma_synth::emit::cuda::plan::{KernelArg, Requirement};
use pragma_synth::emit::cuda::{CudaKernel, CudaTarget, emit};
use pragma_synth::ir::{self, BufRole, Param, Program};

const USAGE: &str = "usage: cuda [--json] FILE.pir TARGET [propose] [DIM=SIZE..] [ACTION..]";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args: Vec<String> = std::env::args().skip(1).collect();
    let json = args.first().is_some_and(|arg| arg == "--json");
    if json {
        args.remove(0);
    }
    let mut args = args.into_iter();
    let path = args.next().ok_or(USAGE)?;
    let target: CudaTarget = args.next().ok_or(USAGE)?.parse()?;
    let program = ir::text::parse(&std::fs::read_to_string(path)?)?;
    let mut sizes = BTreeMap::new();
    let mut actions: Vec<GpuAction> = Vec::new();
    let mut propose = false;
    for arg in args {
        match arg.split_once('=') {
            _ if arg == "propose" => propose = true,
            Some((dim, size)) if !arg.contains('(') => {
                sizes.insert(dim.to_owned(), size.parse::<u64>()?);
            }
            _ => actions.push(arg.parse()?),
        }
    }
    let size = |dim: &String| sizes.get(dim).copied().unwrap_or(4096);
    let dims: Vec<u64> = program.dims.iter().map(size).collect();
    let versions: Vec<(Vec<GpuAction>, String, CudaKernel)> = if propose {
        let setting = GpuSetting {
            target,
            dims: dims.clone(),
            exact: false,
            entry: program.name.clone(),
        };
        let found = proposals(&program, &setting).into_iter();
        found.map(|p| (p.actions, p.why, p.kernel)).collect()
    } else {
        let options = EmitOptions::default();
        let kernel = emit(&program, &actions, target, &program.name, options)?;
        vec![(actions, String::new(), kernel)]
    };
    if json {
        let versions: Vec<String> = versions
            .iter()
            .map(|version| version_json(&program, version, &dims))
            .collect();
        println!("[{}]", versions.join(",\n"));
        return Ok(());
    }
    for (actions, why, kernel) in &versions {
        let actions: Vec<_> = actions.iter().map(ToString::to_string).collect();
        println!("// {}\n// {why}\n// {:?}", actions.join("; "), kernel.plan);
        println!("{}", kernel.source);
    }
    Ok(())
}

fn version_json(
    program: &Program,
    (actions, why, kernel): &(Vec<GpuAction>, String, CudaKernel),
    dims: &[u64],
) -> String {
    let plan = &kernel.plan;
    let actions: Vec<_> = actions.iter().map(ToString::to_string).collect();
    let launches: Vec<String> = plan
        .launches
        .iter()
        .map(|launch| {
            let grid = launch.grid.clone().map(|size| size.eval(dims));
            let args: Vec<String> = launch
                .args
                .iter()
                .map(|arg| match arg {
                    KernelArg::Dim(dim) => format!("[\"dim\", {}]", dims[*dim]),
                    KernelArg::Scalar(var) => format!("[\"scalar\", {:?}]", program.var(*var).name),
                    KernelArg::Buffer(buf) => format!("[\"buffer\", {:?}]", program.buf(*buf).name),
                    KernelArg::Scratch(at) => format!("[\"scratch\", {at}]"),
                    KernelArg::Results => "[\"results\"]".to_owned(),
                    KernelArg::Fault => "[\"fault\"]".to_owned(),
                })
                .collect();
            format!(
                "{{\"kernel\": {:?}, \"grid\": {grid:?}, \"block\": {:?}, \"shared\": {}, \"args\": [{}]}}",
                launch.kernel,
                launch.block,
                launch.shared.eval(dims),
                args.join(", ")
            )
        })
        .collect();
    let scratch: Vec<String> = plan
        .scratch
        .iter()
        .map(|s| format!("[{}, {}]", s.bytes.eval(dims), s.zeroed))
        .collect();
    let lookup = |name: &str| {
        let at = program.dims.iter().position(|dim| dim == name)?;
        dims.get(at).copied()
    };
    let mut buffers: Vec<String> = Vec::new();
    for decl in program.bufs.iter().filter(|buf| buf.role != BufRole::Local) {
        let len = decl.shape.len().eval(&lookup).unwrap_or(0);
        buffers.push(format!(
            "[{:?}, \"{}\", {len}, \"{:?}\"]",
            decl.name, decl.elem, decl.role
        ));
    }
    let scalars: Vec<String> = program
        .params
        .iter()
        .filter_map(|param| match param {
            Param::Scalar(var) => {
                let decl = program.var(*var);
                Some(format!("[{:?}, \"{}\"]", decl.name, decl.scalar))
            }
            _ => None,
        })
        .collect();
    let results: Vec<String> = plan.results.iter().map(|s| format!("\"{s}\"")).collect();
    let requires: Vec<String> = plan
        .requires
        .iter()
        .map(|condition| match condition {
            Requirement::Aligned { buf, bytes } => {
                format!("{} aligned to {bytes}", program.buf(*buf).name)
            }
            Requirement::Multiple { size, of } => format!("{size} % {of} == 0"),
            Requirement::AtMost { size, limit } => format!("{size} <= {limit}"),
        })
        .collect();
    format!(
        "{{\"name\": {:?}, \"actions\": {:?}, \"why\": {why:?}, \"options\": {:?}, \"fits\": {}, \"requires\": {requires:?}, \"buffers\": [{}], \"scalars\": [{}], \"results\": [{}], \"scratch\": [{}], \"launches\": [{}], \"source\": {:?}}}",
        program.name,
        actions.join("; "),
        plan.options,
        plan.fits(dims),
        buffers.join(", "),
        scalars.join(", "),
        results.join(", "),
        scratch.join(", "),
        launches.join(", "),
        kernel.source
    )
}
