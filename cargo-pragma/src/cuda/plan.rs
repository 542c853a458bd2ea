//! From the engine's launch plans, which name things of the IR, to those of manifests, which name the function's.

use pragma_spec::device::{Formula, KernelArg, Launch, LaunchPlan, Op, Requirement, Scratch};
use pragma_synth::emit::cuda::plan as engine;
use pragma_synth::ir::{BufId, BufRole, Param, Program, VarId};

/// The plan in the words of the function, whose parameters are called `params`, in the program's order.
///
/// # Errors
/// If the plan names something that is no part of the function's interface.
pub fn spec_plan(
    program: &Program,
    params: &[String],
    plan: &engine::LaunchPlan,
) -> Result<LaunchPlan, String> {
    let named = |wanted: Param| -> Result<String, String> {
        let at = program.params.iter().position(|param| *param == wanted);
        at.and_then(|at| params.get(at))
            .cloned()
            .ok_or_else(|| format!("{wanted:?} is no parameter"))
    };
    let scalar = |var: VarId| named(Param::Scalar(var));
    let buffer = |buf: BufId| -> Result<String, String> {
        let decl = program.buf(buf);
        match decl.role {
            BufRole::Return => Ok("return".to_owned()),
            BufRole::Input | BufRole::Mutable => named(Param::Buffer(buf)),
            BufRole::Local => Err(format!("`{}` is no parameter", decl.name)),
        }
    };
    let requires = plan.requires.iter().map(|condition| {
        Ok(match condition {
            engine::Requirement::Aligned { buf, bytes } => {
                Requirement::Aligned(buffer(*buf)?, *bytes)
            }
            engine::Requirement::Multiple { size, of } => Requirement::Multiple(formula(size), *of),
            engine::Requirement::AtMost { size, limit } => {
                Requirement::AtMost(formula(size), *limit)
            }
        })
    });
    let scratch_name = |at: usize| {
        let known = plan.scratch.get(at).map(|scratch| scratch.name.clone());
        known.ok_or_else(|| format!("there is no scratch buffer {at}"))
    };
    let launches = plan.launches.iter().map(|launch| {
        let args = launch.args.iter().map(|arg| {
            Ok(match arg {
                engine::KernelArg::Dim(at) => KernelArg::Dim(
                    program
                        .dims
                        .get(*at)
                        .cloned()
                        .ok_or_else(|| format!("there is no dimension {at}"))?,
                ),
                engine::KernelArg::Scalar(var) => KernelArg::Param(scalar(*var)?),
                engine::KernelArg::Buffer(buf) => KernelArg::Param(buffer(*buf)?),
                engine::KernelArg::Scratch(at) => KernelArg::Scratch(scratch_name(*at)?),
                engine::KernelArg::Results => KernelArg::Results,
                engine::KernelArg::Fault => KernelArg::Fault,
            })
        });
        Ok(Launch {
            kernel: launch.kernel.clone(),
            grid: launch.grid.each_ref().map(formula),
            block: launch.block,
            shared: formula(&launch.shared),
            args: args.collect::<Result<_, String>>()?,
        })
    });
    Ok(LaunchPlan {
        requires: requires.collect::<Result<_, String>>()?,
        scratch: plan
            .scratch
            .iter()
            .map(|scratch| Scratch {
                name: scratch.name.clone(),
                bytes: formula(&scratch.bytes),
                zeroed: scratch.zeroed,
            })
            .collect(),
        results: plan.results.clone(),
        fault: plan.fault,
        options: plan.options.clone(),
        launches: launches.collect::<Result<_, String>>()?,
    })
}

fn formula(size: &engine::Formula) -> Formula {
    let of = |op, a: &engine::Formula, b: &engine::Formula| Formula::of(op, formula(a), formula(b));
    match size {
        engine::Formula::Const(value) => Formula::Const(*value),
        engine::Formula::Dim(_, name) => Formula::Dim(name.clone()),
        engine::Formula::Add(a, b) => of(Op::Add, a, b),
        engine::Formula::Sub(a, b) => of(Op::Sub, a, b),
        engine::Formula::Mul(a, b) => of(Op::Mul, a, b),
        engine::Formula::Div(a, b) => of(Op::Div, a, b),
        engine::Formula::DivCeil(a, b) => of(Op::DivCeil, a, b),
        engine::Formula::Min(a, b) => of(Op::Min, a, b),
        engine::Formula::Max(a, b) => of(Op::Max, a, b),
    }
}
