//! Scans in one pass: running sums, products and extremes over a whole array.
//!
//! A block takes a tile, combines it, waits for what comes before, and then executes the loop
//! body itself with the running value. Tiles are numbered in the order in which blocks start, so
//! that a block only ever waits for blocks that run already.

use std::cell::RefCell;
use std::collections::BTreeSet;

use pragma_spec::Scalar;

use crate::analyze::depend;
use crate::analyze::reduce::{self, Combine};
use crate::emit::EmitError;
use crate::emit::lines::Lines;
use crate::ir::{Const, Loop, Stmt, VarId};

use super::CudaTarget;
use super::combine;
use super::expr::{Held, Spell, Uses, value_type};
use super::grid::{Run, check_threads, check_vector, packable};
use super::kernel::{Geometry, Replay, Unit};
use super::plan::Formula;
use super::stream;
use super::thread::Leaving;

/// A scan mapping.
pub(super) struct Scan {
    pub threads: u32,
    pub vector: u32,
    pub items: u32,
}

/// Tiles of a group, per lane of a warp: see the helper `look_back`.
const GROUP_PER_LANE: u64 = 8;

struct Shape {
    var: VarId,
    combine: Combine,
    /// Statements that give the value to be combined with.
    values: Vec<Stmt>,
    identity: Const,
}

/// The value that changes nothing, also for extremes.
fn identity(combine: Combine, scalar: Scalar) -> Option<Const> {
    let wide = |low: bool| match scalar {
        Scalar::F32 | Scalar::F64 if low => Some(Const::Float(scalar, f64::NEG_INFINITY)),
        Scalar::F32 | Scalar::F64 => Some(Const::Float(scalar, f64::INFINITY)),
        _ if scalar.is_integer() => {
            let range = crate::ir::interp::int_range(scalar);
            let value = if low { *range.start() } else { *range.end() };
            Some(Const::Int(scalar, value))
        }
        _ => None,
    };
    match combine {
        Combine::Max => wide(true),
        Combine::Min => wide(false),
        Combine::PickGt | Combine::PickLt => None,
        other => reduce::identity(other, scalar),
    }
}

fn shape(unit: &Unit<'_>, outer: &Loop) -> Result<Shape, String> {
    let program = unit.program;
    if outer.step != 1
        || depend::jumps(&outer.body)
        || !depend::bounds_are_fixed(outer, &outer.body)
    {
        return Err("the loop is left early, or has no fixed range".to_owned());
    }
    depend::iterations_are_private(program, &unit.scope, outer)
        .map_err(|hazard| hazard.describe(program))?;
    let [var] = reduce::carried(&outer.body)[..] else {
        return Err("the loop carries more than one value, or none".to_owned());
    };
    let at = outer
        .body
        .iter()
        .position(|stmt| matches!(stmt, Stmt::Assign { var: v, .. } if *v == var));
    let Some(at) = at else {
        return Err("the value is carried on in a branch".to_owned());
    };
    let Stmt::Assign { value, .. } = &outer.body[at] else {
        return Err("the value is carried on in a branch".to_owned());
    };
    let again = outer.body[at + 1..].iter().any(|stmt| {
        let mut found = false;
        stmt.walk(&mut |stmt| found |= matches!(stmt, Stmt::Assign { var: v, .. } if *v == var));
        found
    });
    let combine = reduce::update(var, value).filter(|_| !again);
    let Some(combine) = combine else {
        return Err("the carried value is not combined with one of the iteration".to_owned());
    };
    let scalar = program.var(var).scalar;
    let Some(identity) = identity(combine, scalar) else {
        return Err("the combination has no starting value".to_owned());
    };
    // What the value needs, without what follows from the running one.
    let mut running = BTreeSet::from([var]);
    let mut values = Vec::new();
    for stmt in &outer.body[..at] {
        match stmt {
            Stmt::Let { var, value } => {
                if running.iter().any(|other| value.mentions(*other)) {
                    running.insert(*var);
                } else {
                    values.push(stmt.clone());
                }
            }
            Stmt::Store { .. } => {}
            _ => return Err("more than definitions stand in front of the combination".to_owned()),
        }
    }
    running.remove(&var);
    if running.iter().any(|other| value.mentions(*other)) {
        return Err("the carried value depends on itself".to_owned());
    }
    values.push(outer.body[at].clone());
    Ok(Shape {
        var,
        combine,
        values,
        identity,
    })
}

/// Writes the kernel. `needed`: the last value is used behind the loop.
pub(super) fn emit<'a>(
    unit: &mut Unit<'a>,
    outer: &'a Loop,
    map: &Scan,
    target: CudaTarget,
    needed: bool,
) -> Result<(), EmitError> {
    check_threads(map.threads)?;
    check_vector(map.vector)?;
    let warps = map.threads / 32;
    if !(1..=16).contains(&map.items) || map.items * warps > 256 {
        return Err(EmitError(
            "items must be from 1 to 16, and items times warps at most 256".to_owned(),
        ));
    }
    let shape = shape(unit, outer).map_err(EmitError)?;
    let program = unit.program;
    let name = program.var(outer.var).name.clone();
    let found = stream::streams(program, &unit.scope, outer);
    let (streams, requires) = packable(unit, found, &outer.lo, map.vector);
    for condition in requires {
        unit.require(condition);
    }
    let vector = if streams.is_empty() { 1 } else { map.vector };
    let (threads, items) = (map.threads, map.items);
    // More tiles fit in shared memory than in registers, if they get there without registers.
    let pieces = |stream: &stream::Stream| {
        !stream.loads || program.buf(stream.buf).elem.bytes() as u32 * vector == 16
    };
    let shared = vector > 1 && streams.iter().all(pieces);
    let tile = u64::from(threads) * u64::from(vector) * u64::from(items);
    let trips = unit.trips(&outer.lo, &outer.hi)?;
    let tiles = trips.groups_of(tile);
    let scalar = program.var(shape.var).scalar;
    let (ty, var) = (value_type(scalar), program.var(shape.var).name.clone());
    let words = if scalar.bytes() <= 4 { 1 } else { 2 };
    let entries = tiles
        .clone()
        .plus(tiles.clone().groups_of(32 * GROUP_PER_LANE))
        .times(Formula::Const(8 * words))
        .plus(Formula::Const(8));
    let status = unit.scratch(&format!("{var}_status"), entries, true);
    let uses = RefCell::new(Uses::default());
    let spell = unit.spell(&uses);
    let mut out = Lines::at(1);
    let status = unit.scratch_name(&uses, status);
    uses.borrow_mut().helpers.insert("scan");
    let combined = combine::text(&spell, shape.combine, scalar, "a", "b");
    let identity = spell.literal_text(shape.identity);
    out.line("__shared__ u32 ticket;");
    out.line(format!(
        "if (threadIdx.x == 0) ticket = atomicAdd(reinterpret_cast<u32*>({status}), 1u);"
    ));
    out.line("__syncthreads();");
    out.line("const usize tile = ticket;");
    out.line(format!(
        "const auto combine = []({ty} a, {ty} b) {{ return ({ty})({combined}); }};"
    ));
    let run = Run {
        spell: spell.clone(),
        inner: outer,
        streams: &streams,
        threads,
        vector,
        unroll: items,
        leaving: Leaving::Never,
        shared,
    };
    if u64::from(run.all_shared_bytes()) + 2048 > target.shared_per_block() {
        return Err(EmitError("a tile does not fit in shared memory".to_owned()));
    }
    let lo = match spell.bound(&outer.lo) {
        zero if zero == "0" => String::new(),
        lo => format!("{lo} + "),
    };
    let hi = spell.bound(&outer.hi);
    let first = match vector {
        1 => "threadIdx.x".to_owned(),
        n => format!("threadIdx.x * {n}"),
    };
    out.line(format!(
        "const usize {name}_first = {lo}tile * {tile} + {first};"
    ));
    let packs = stream::names(program, &streams, "pack");
    let loads: Vec<_> = packs
        .iter()
        .zip(&streams)
        .filter(|(_, s)| s.loads)
        .collect();
    if vector > 1 {
        run.load_groups(&mut out, &loads, &hi)?;
    }
    let step = threads * vector;
    let group = |out: &mut Lines| {
        out.line("#pragma unroll");
        out.open(format!("for (int group = 0; group < {items}; group++) {{"));
        out.line(format!(
            "const usize {name}_at = {name}_first + group * {step};"
        ));
    };
    // What each thread's elements combine to, and what comes before them in the warp.
    out.line(format!("{ty} {var}_before[{items}];"));
    out.line(format!("__shared__ {ty} {var}_slots[{}];", items * warps));
    group(&mut out);
    out.line(format!("{ty} {var}_part = {identity};"));
    let mut summing = spell.clone();
    summing.renamed.push((shape.var, format!("{var}_part")));
    let values = Loop {
        body: shape.values.clone(),
        ..outer.clone()
    };
    let sums = Run {
        spell: with_packs(&summing, &loads, outer.var, &run.group()),
        inner: &values,
        streams: &[],
        threads,
        vector,
        unroll: items,
        leaving: Leaving::Never,
        shared,
    };
    let rest = Run {
        spell: summing,
        inner: &values,
        streams: &[],
        ..like(&sums)
    };
    elements(&mut out, &sums, &rest, &name, &hi)?;
    out.line(format!("const {ty} upto = scan_warp({var}_part, combine);"));
    out.line(format!("{var}_before[group] = shuffle_up(upto, 1);"));
    out.line(format!(
        "if (threadIdx.x % 32 == 0) {var}_before[group] = {identity};"
    ));
    out.line(format!(
        "if (threadIdx.x % 32 == 31) {var}_slots[group * {warps} + threadIdx.x / 32] = upto;"
    ));
    out.close("}");
    out.line("__syncthreads();");
    out.line(format!("__shared__ {ty} {var}_start;"));
    out.open("if (threadIdx.x < 32) {");
    out.line(format!(
        "const {ty} total = scan_totals<{}>({var}_slots, ({ty}){identity}, combine);",
        items * warps
    ));
    let count = match lo.is_empty() {
        true => hi.clone(),
        false => format!("({hi} - {})", spell.bound(&outer.lo)),
    };
    out.line(format!(
        "const usize tiles = ({count} + {}) / {tile};",
        tile - 1
    ));
    out.line(format!(
        "const {ty} start = look_back<{GROUP_PER_LANE}>({status} + 1, tiles, tile, total, ({ty}){}, ({ty}){identity}, combine);",
        spell.var(shape.var)
    ));
    out.line(format!("if (threadIdx.x == 0) {var}_start = start;"));
    out.close("}");
    out.line("__syncthreads();");
    // The body itself, with the running value.
    group(&mut out);
    out.line(format!(
        "{ty} {var}_part = combine(combine({var}_start, {var}_slots[group * {warps} + threadIdx.x / 32]), {var}_before[group]);"
    ));
    let mut body = spell.clone();
    body.renamed.push((shape.var, format!("{var}_part")));
    let mut slots = Vec::new();
    if needed {
        slots = unit.carry(&[shape.var]);
        let place = unit.slot(&uses, shape.var, slots[0].1);
        body.origins.push((
            shape.var,
            format!("if ({name} + 1 == {hi}) {place} = {var}_part;"),
        ));
    }
    let whole = Run {
        spell: body,
        inner: outer,
        ..like(&run)
    };
    if vector > 1 {
        whole.packs(&mut out, &packs, &format!("{name}_at"), &hi, false)?;
    } else {
        whole.packs(&mut out, &[], &format!("{name}_at"), &hi, true)?;
    }
    out.close("}");
    let about = format!("Scans `{name}` in tiles of {tile}.");
    let mut geometry = Geometry::line(tiles, threads);
    geometry.shared = Formula::Const(u64::from(run.all_shared_bytes()));
    unit.finish(&name, &about, geometry, uses, &out.finish())?;
    if !slots.is_empty() {
        unit.replay.push(Replay::Slots(slots));
    }
    Ok(())
}

/// The same run, to be given another body or speller.
fn like<'u>(run: &Run<'u>) -> Run<'u> {
    Run {
        spell: run.spell.clone(),
        inner: run.inner,
        streams: run.streams,
        threads: run.threads,
        vector: run.vector,
        unroll: run.unroll,
        leaving: run.leaving,
        shared: run.shared,
    }
}

/// The speller with the packs of a group known.
fn with_packs<'u>(
    spell: &Spell<'u>,
    loads: &[(&String, &stream::Stream)],
    counter: VarId,
    group: &str,
) -> Spell<'u> {
    let mut spell = spell.clone();
    for (pack, stream) in loads {
        spell.held.push(Held {
            buf: stream.buf,
            counter,
            base: stream.base.clone(),
            place: format!("{pack}{group}.at[lane]"),
        });
    }
    spell
}

/// Executes the body on the elements of a group: packed ones, and what is left at the end.
fn elements(
    out: &mut Lines,
    packed: &Run<'_>,
    rest: &Run<'_>,
    name: &str,
    hi: &str,
) -> Result<(), EmitError> {
    let vector = packed.vector;
    if vector == 1 {
        return rest.packs(out, &[], &format!("{name}_at"), hi, true);
    }
    out.open(format!("if ({name}_at + {vector} <= {hi}) {{"));
    packed.whole_pack(out, &[], &format!("{name}_at"), false)?;
    out.reopen("} else {");
    out.open(format!(
        "for (usize {name} = {name}_at; {name} < {hi}; {name}++) {{"
    ));
    rest.iteration(out, &[])?;
    out.close("}");
    out.close("}");
    Ok(())
}

/// Whether a value is used in statements.
pub(super) fn is_needed(outer: &Loop, rest: &[Stmt]) -> bool {
    reduce::carried(&outer.body)
        .iter()
        .any(|var| depend::mentions(rest, *var))
}
