//! Kernels as CUDA C++, with the plan of their launches.
//!
//! Owns everything a vendored `.cu` file says below its header. A program is cut at its top-level
//! loops: each mapped loop becomes one or more launches, scalar statements between them are
//! executed again by whoever needs their values, and whatever no action maps is run by one thread.
//! The same program and actions always give the same text.

mod columns;
mod combine;
mod contract;
mod device;
mod expr;
mod fetch;
mod functions;
mod grid;
mod kernel;
mod names;
pub mod plan;
mod reduce;
mod rows;
mod scan;
mod stream;
mod team;
mod tensor;
mod thread;
mod tiles;
mod transpose;

use std::cell::RefCell;
use std::fmt;
use std::str::FromStr;

use crate::action::Illegal;
use crate::action::gpu::GpuAction;
use crate::emit::lines::Lines;
use crate::emit::{EmitError, EmitOptions};
use crate::ir::{BufRole, Expr, Loop, Program, Stmt, VarId};

use expr::{Spell, Uses};
use kernel::{Geometry, Replay, Unit};
use plan::{Formula, LaunchPlan};

/// A GPU architecture that kernels are compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CudaTarget {
    /// Compute capability 8.0 (Ampere) and up.
    Sm80,
    /// Compute capability 9.0 (Hopper) and up.
    Sm90,
}

impl CudaTarget {
    /// Every target, weakest first.
    pub const ALL: [CudaTarget; 2] = [CudaTarget::Sm80, CudaTarget::Sm90];

    /// The name, as compilers take it: `sm_90`.
    pub const fn name(self) -> &'static str {
        match self {
            CudaTarget::Sm80 => "sm_80",
            CudaTarget::Sm90 => "sm_90",
        }
    }

    /// Bytes of shared memory that one block may have.
    pub const fn shared_per_block(self) -> u64 {
        match self {
            CudaTarget::Sm80 => 163 << 10,
            CudaTarget::Sm90 => 227 << 10,
        }
    }
}

impl fmt::Display for CudaTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The text does not name a GPU target.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a GPU target; known targets are sm_80 and sm_90")]
pub struct UnknownCudaTarget(pub String);

impl FromStr for CudaTarget {
    type Err = UnknownCudaTarget;

    fn from_str(name: &str) -> Result<Self, UnknownCudaTarget> {
        CudaTarget::ALL
            .into_iter()
            .find(|target| target.name() == name)
            .ok_or_else(|| UnknownCudaTarget(name.to_owned()))
    }
}

/// One version of a kernel for GPUs.
#[derive(Clone, Debug, PartialEq)]
pub struct CudaKernel {
    /// The source: types, helpers, one `extern "C" __global__` function per launch.
    pub source: String,
    /// How to run it. Buffers and scalars are named by the ids of the program that was given.
    pub plan: LaunchPlan,
}

/// Writes a lifted program for a GPU, its loops mapped as `actions` say. The clean-ups of
/// [`simplify`](crate::simplify::simplify) come first, as for the CPU.
///
/// # Errors
/// The first action that does not apply, or what of the program cannot be written.
pub fn emit(
    lifted: &Program,
    actions: &[GpuAction],
    target: CudaTarget,
    entry: &str,
    options: EmitOptions,
) -> Result<CudaKernel, EmitError> {
    let program = rewritten(lifted, actions).map_err(|illegal| EmitError(illegal.to_string()))?;
    for scalar in program
        .vars
        .iter()
        .map(|var| var.scalar)
        .chain(program.bufs.iter().map(|buf| buf.elem))
    {
        if !expr::is_supported(scalar) {
            return Err(EmitError(format!("`{scalar}` is not written for GPUs yet")));
        }
    }
    if program.declines() {
        return Err(EmitError(
            "the function may leave the work to the reference once it runs".to_owned(),
        ));
    }
    let mut maps = Vec::new();
    for action in actions {
        if let GpuAction::Contract { over, .. } = action {
            let outer = program.body.iter().find_map(|stmt| match stmt {
                Stmt::For(outer) if contract::contains(&program, outer, over) => Some(outer.var),
                _ => None,
            });
            let Some(outer) = outer else {
                return Err(EmitError(format!(
                    "{action}: there is no loop over `{over}` inside another one"
                )));
            };
            maps.push((outer, action));
        }
        if let Some(axis) = mapped_axis(action) {
            let outer = program.body.iter().find_map(|stmt| match stmt {
                Stmt::For(outer) if program.var(outer.var).name == axis => Some(outer.var),
                _ => None,
            });
            match outer {
                Some(outer) => maps.push((outer, action)),
                None => {
                    return Err(EmitError(format!(
                        "{action}: there is no loop over `{axis}` at the top level"
                    )));
                }
            }
        }
    }
    let named = names::with_free_names(&program);
    let mut unit = Unit::new(&named, entry);
    let mut writer = Writer {
        unit: &mut unit,
        maps: &maps,
        target,
    };
    writer.function()?;
    unit.plan.results = named.returns.scalars();
    if !options.contract {
        unit.plan.options.push("--fmad=false".to_owned());
    }
    let mut source = device::TYPES.to_owned();
    source.push_str(&device::texts(&unit.helpers));
    for kernel in &unit.kernels {
        source.push('\n');
        source.push_str(kernel);
    }
    Ok(CudaKernel {
        source,
        plan: unit.plan,
    })
}

/// The program that the mappings of `actions` are applied to: simplified, and rewritten by those
/// actions that change loops.
///
/// # Errors
/// The first rewriting action that does not apply.
pub fn rewritten(lifted: &Program, actions: &[GpuAction]) -> Result<Program, Illegal> {
    let mut program = crate::simplify::simplify(lifted);
    strip_marks(&mut program.body);
    for action in actions {
        if let GpuAction::Accumulate { buffer, over } = action {
            program =
                crate::action::accumulate(&program, buffer, over).map_err(|reason| Illegal {
                    action: action.to_string(),
                    reason,
                })?;
        }
    }
    Ok(program)
}

/// Marks are for CPUs.
fn strip_marks(body: &mut [Stmt]) {
    for stmt in body {
        if let Stmt::For(inner) = stmt {
            inner.mark = crate::ir::Mark::Serial;
        }
        stmt.blocks_mut()
            .into_iter()
            .for_each(|block| strip_marks(block));
    }
}

/// The top-level loop that an action maps.
fn mapped_axis(action: &GpuAction) -> Option<&str> {
    match action {
        GpuAction::Grid { axes, .. } | GpuAction::Team { axes, .. } => {
            axes.first().map(String::as_str)
        }
        GpuAction::Reduce { axis, .. }
        | GpuAction::Columns { axis, .. }
        | GpuAction::Scan { axis, .. }
        | GpuAction::Transpose { outer: axis, .. } => Some(axis),
        GpuAction::Accumulate { .. } | GpuAction::Contract { .. } => None,
    }
}

struct Writer<'w, 'a> {
    unit: &'w mut Unit<'a>,
    maps: &'w [(VarId, &'w GpuAction)],
    target: CudaTarget,
}

impl<'a> Writer<'_, 'a> {
    fn function(&mut self) -> Result<(), EmitError> {
        let body: &'a [Stmt] = &self.unit.program.body;
        for (at, stmt) in body.iter().enumerate() {
            let map = match stmt {
                Stmt::For(outer) => self.maps.iter().find(|(var, _)| *var == outer.var),
                _ => None,
            };
            let rest = &body[at + 1..];
            match (stmt, map) {
                (Stmt::For(outer), Some((_, action))) => {
                    let action = *action;
                    let done = self
                        .mapped(outer, action, rest)
                        .map_err(|error| EmitError(format!("{action}: {error}")))?;
                    if done {
                        return Ok(());
                    }
                }
                (Stmt::Alloc { buf, len, fill }, _) => self.fill(*buf, len, fill)?,
                (Stmt::Let { .. } | Stmt::Assign { .. }, _) => self.replayed(stmt),
                _ => self.effect(stmt, rest.is_empty())?,
            }
        }
        Ok(())
    }

    /// A loop as its action says; true if that took care of the rest of the function, too.
    fn mapped(
        &mut self,
        outer: &'a Loop,
        action: &GpuAction,
        rest: &'a [Stmt],
    ) -> Result<bool, EmitError> {
        match action {
            GpuAction::Grid {
                axes,
                threads,
                vector,
                unroll,
            } => {
                let map = grid::Grid {
                    axes: axes.clone(),
                    threads: *threads,
                    vector: *vector,
                    unroll: *unroll,
                };
                grid::emit(self.unit, outer, &map)?;
            }
            GpuAction::Team {
                axes,
                threads,
                vector,
                items,
            } => {
                let map = team::Team {
                    axes: axes.clone(),
                    threads: *threads,
                    vector: *vector,
                    items: *items,
                };
                team::emit(self.unit, outer, &map)?;
            }
            GpuAction::Reduce {
                threads,
                vector,
                unroll,
                blocks,
                ..
            } => {
                let map = reduce::Reduce {
                    threads: *threads,
                    vector: *vector,
                    unroll: *unroll,
                    blocks: *blocks,
                };
                let tail = is_tail(rest).then_some(rest);
                reduce::emit(self.unit, outer, &map, tail)?;
                return Ok(tail.is_some());
            }
            GpuAction::Columns {
                over,
                lanes,
                rows,
                vector,
                chunk,
                ..
            } => {
                let map = columns::Columns {
                    over: over.clone(),
                    lanes: *lanes,
                    rows: *rows,
                    vector: *vector,
                    chunk: *chunk,
                };
                columns::emit(self.unit, outer, &map)?;
            }
            GpuAction::Scan {
                threads,
                vector,
                items,
                ..
            } => {
                let map = scan::Scan {
                    threads: *threads,
                    vector: *vector,
                    items: *items,
                };
                let needed = scan::is_needed(outer, rest);
                scan::emit(self.unit, outer, &map, self.target, needed)?;
            }
            GpuAction::Transpose {
                inner,
                tile,
                vector,
                ..
            } => {
                let map = transpose::Transpose {
                    inner: inner.clone(),
                    tile: *tile,
                    vector: *vector,
                };
                transpose::emit(self.unit, outer, &map, self.target)?;
            }
            GpuAction::Contract {
                over,
                unit,
                tile_m,
                tile_n,
                tile_k,
                stages,
            } => {
                let map = tiles::Tiles {
                    over: over.clone(),
                    unit: *unit,
                    m: *tile_m,
                    n: *tile_n,
                    k: *tile_k,
                    stages: *stages,
                };
                tiles::emit(self.unit, outer, &map, self.target)?;
            }
            GpuAction::Accumulate { .. } => {}
        }
        Ok(false)
    }

    /// A statement without a mapping that is more than a scalar: run by one thread.
    fn effect(&mut self, stmt: &'a Stmt, last: bool) -> Result<(), EmitError> {
        let body = std::slice::from_ref(stmt);
        let mut returns = false;
        stmt.walk(&mut |stmt| returns |= matches!(stmt, Stmt::Return(_)));
        if returns && !last {
            return Err(EmitError(
                "the function may return before its last loop".to_owned(),
            ));
        }
        let uses = RefCell::new(Uses::default());
        let mut out = Lines::at(1);
        let spell = self.unit.spell(&uses);
        thread::block(&mut out, body, &spell, thread::Leaving::Returns)?;
        let changed = match returns {
            true => Vec::new(),
            false => crate::analyze::reduce::carried(body),
        };
        let slots = self.unit.carry(&changed);
        for (var, slot) in &slots {
            let place = self.unit.slot(&uses, *var, *slot);
            out.line(format!("{place} = {};", spell.var(*var)));
        }
        let about = match stmt {
            Stmt::Return(_) => "Writes the results.",
            _ => "One thread: what no action shares out.",
        };
        let geometry = Geometry::line(Formula::Const(1), 1);
        self.unit
            .finish("rest", about, geometry, uses, &out.finish())?;
        if !slots.is_empty() {
            self.unit.replay.push(Replay::Slots(slots));
        }
        Ok(())
    }

    fn replayed(&mut self, stmt: &'a Stmt) {
        if let Stmt::Let { var, value } = stmt {
            let program = self.unit.program;
            self.unit.scope.define(program, *var, value);
        }
        self.unit.replay.push(Replay::Scalar(stmt));
    }

    /// A buffer made at the top level: scratch memory, or the returned one, filled by a grid.
    fn fill(
        &mut self,
        buf: crate::ir::BufId,
        len: &'a Expr,
        fill: &'a Expr,
    ) -> Result<(), EmitError> {
        let decl = self.unit.program.buf(buf);
        let count = self.unit.formula(len).ok_or_else(|| {
            EmitError(format!(
                "the length of `{}` is not known before the launch",
                decl.name
            ))
        })?;
        if decl.role == BufRole::Local {
            let bytes = count
                .clone()
                .times(Formula::Const(decl.elem.bytes() as u64));
            let scratch = self.unit.scratch(&decl.name, bytes, false);
            self.unit.locals.push((buf, scratch, len.clone()));
        }
        let uses = RefCell::new(Uses::default());
        let spell = self.unit.spell(&uses);
        let mut out = Lines::at(1);
        let fill = spell.narrowed(decl.elem, spell.text(fill));
        let (name, len) = (spell.buf(buf), spell.bound(len));
        out.line("const usize at = (usize)blockIdx.x * 256 + threadIdx.x;");
        out.line(format!("if (at < {len}) {name}[at] = {fill};"));
        self.unit.finish(
            &format!("{}_fill", decl.name),
            &format!("Fills `{}`.", decl.name),
            Geometry::line(count.groups_of(256), 256),
            uses,
            &out.finish(),
        )
    }
}

/// Whether these statements are scalars and results only, to the end of the function.
fn is_tail(rest: &[Stmt]) -> bool {
    let scalar = |stmt: &Stmt| matches!(stmt, Stmt::Let { .. } | Stmt::Assign { .. });
    match rest.split_last() {
        Some((Stmt::Return(_), before)) => before.iter().all(scalar),
        _ => false,
    }
}

/// Statements that write the returned scalars.
fn write_results(out: &mut Lines, values: &[Expr], spell: &Spell<'_>) {
    for (at, value) in values.iter().enumerate() {
        spell.uses.borrow_mut().results = true;
        let scalar = value.scalar(spell.program);
        let ty = expr::element_type(scalar);
        let value = spell.narrowed(scalar, spell.text(value));
        out.line(format!(
            "*reinterpret_cast<{ty}*>(results + {at}) = {value};"
        ));
    }
}
