//! Whole-array reductions in two launches: partial results per block, then one block.
//!
//! The number of blocks follows from sizes alone, and partial results are combined in the order
//! of the blocks: the same bits on every card and in every run.

use std::cell::RefCell;

use crate::analyze::depend;
use crate::analyze::reduce::Reduction;
use crate::emit::EmitError;
use crate::emit::lines::Lines;
use crate::ir::{Loop, Stmt, VarId};

use super::combine;
use super::expr::{Spell, Uses};
use super::grid::{Run, check_threads, check_vector, packable};
use super::kernel::{Geometry, Replay, Unit};
use super::plan::Formula;
use super::stream;
use super::thread::{self, Leaving};

/// A reduce mapping.
pub(super) struct Reduce {
    pub threads: u32,
    pub vector: u32,
    pub unroll: u32,
    pub blocks: u32,
}

/// Threads of the block that combines partial results.
const LAST_THREADS: u32 = 256;

/// Writes both kernels. `tail` is what follows to the end of the function, if that is scalars and
/// results only: the second kernel does that as well.
pub(super) fn emit<'a>(
    unit: &mut Unit<'a>,
    outer: &'a Loop,
    map: &Reduce,
    tail: Option<&'a [Stmt]>,
) -> Result<(), EmitError> {
    check_threads(map.threads)?;
    check_vector(map.vector)?;
    if !(1..=16).contains(&map.unroll) || !(1..=4096).contains(&map.blocks) {
        return Err(EmitError(
            "unroll must be from 1 to 16, blocks from 1 to 4096".to_owned(),
        ));
    }
    let program = unit.program;
    if outer.step != 1 {
        return Err(EmitError("the step of the loop is not 1".to_owned()));
    }
    let reductions = depend::parallelizable(program, &unit.scope, outer)
        .map_err(|hazard| EmitError(hazard.describe(program)))?;
    if reductions.is_empty() {
        return Err(EmitError("the loop combines nothing".to_owned()));
    }
    let name = program.var(outer.var).name.clone();
    let found = stream::streams(program, &unit.scope, outer);
    let (streams, requires) = packable(unit, found, &outer.lo, map.vector);
    for condition in requires {
        unit.require(condition);
    }
    let uses = RefCell::new(Uses::default());
    let spell = unit.spell(&uses);
    let mut out = Lines::at(1);
    let (renamed, origins) = combine::declare(&mut out, &spell, &reductions, outer.var);
    let mut within = spell.clone();
    within.renamed.extend(renamed);
    within.origins.extend(origins);
    let run = Run {
        spell: within,
        inner: outer,
        vector: if streams.is_empty() { 1 } else { map.vector },
        streams: &streams,
        threads: map.threads,
        unroll: map.unroll,
        leaving: Leaving::Never,
        shared: false,
    };
    let per_block = run.per_block();
    let (lo, hi) = (spell.bound(&outer.lo), spell.bound(&outer.hi));
    let start = match lo.as_str() {
        "0" => String::new(),
        lo => format!("{lo} + "),
    };
    let step = format!("(usize)gridDim.x * {per_block}");
    out.open(format!(
        "for (usize {name}_block = {start}(usize)blockIdx.x * {per_block}; {name}_block < {hi}; {name}_block += {step}) {{"
    ));
    run.groups(&mut out, &format!("{name}_block"))?;
    out.close("}");
    let trips = unit.trips(&outer.lo, &outer.hi)?;
    let blocks = trips
        .groups_of(u64::from(per_block))
        .at_most(u64::from(map.blocks));
    let mut partials = Vec::new();
    for reduction in &reductions {
        let first = program.var(reduction.vars()[0]).name.clone();
        let words = match reduction {
            Reduction::Plain { .. } => 1,
            Reduction::Arg { with, .. } => 2 + with.len() as u64,
        };
        let bytes = blocks.clone().times(Formula::Const(8 * words));
        partials.push(unit.scratch(&format!("{first}_partials"), bytes, false));
    }
    for (reduction, partial) in reductions.iter().zip(&partials) {
        let (ty, total) = total(&mut out, &spell, reduction, map.threads);
        let partial = unit.scratch_name(&uses, *partial);
        out.line(format!(
            "if (threadIdx.x == 0) reinterpret_cast<{ty}*>({partial})[blockIdx.x] = {total};"
        ));
    }
    let about = format!("Partial results of blocks of `{name}`.");
    let geometry = Geometry::line(blocks, map.threads);
    unit.finish(&name, &about, geometry, uses, &out.finish())?;
    last(unit, outer, map, per_block, &reductions, &partials, tail)
}

/// Combines the parts of a block's threads; the type and name of the result.
pub(super) fn total(
    out: &mut Lines,
    spell: &Spell<'_>,
    reduction: &Reduction,
    threads: u32,
) -> (String, String) {
    let shape = combine::shape(spell, reduction);
    let name = &spell.program.var(reduction.vars()[0]).name;
    spell.uses.borrow_mut().helpers.insert("across_team");
    if let Some(declaration) = shape.declaration {
        out.line(declaration);
    }
    let (ty, lambda, gather) = (shape.ty, shape.lambda, shape.gather);
    let slots = if threads > 32 {
        out.line(format!("__shared__ {ty} {name}_slots[{}];", threads / 32));
        format!("{name}_slots")
    } else {
        format!("({ty}*)nullptr")
    };
    out.line(format!("const {ty} {name}_total ="));
    out.line(format!(
        "    across_team<{threads}>({gather}, {slots}, {lambda});"
    ));
    (ty, format!("{name}_total"))
}

fn last<'a>(
    unit: &mut Unit<'a>,
    outer: &'a Loop,
    map: &Reduce,
    per_block: u32,
    reductions: &[Reduction],
    partials: &[usize],
    tail: Option<&'a [Stmt]>,
) -> Result<(), EmitError> {
    let program = unit.program;
    let uses = RefCell::new(Uses::default());
    let spell = unit.spell(&uses);
    let mut out = Lines::at(1);
    let name = &program.var(outer.var).name;
    let (lo, hi) = (spell.bound(&outer.lo), spell.bound(&outer.hi));
    let trips = match lo.as_str() {
        "0" => hi,
        lo => format!("({hi} - {lo})"),
    };
    let up = per_block - 1;
    out.line(format!("usize count = ({trips} + {up}) / {per_block};"));
    out.line(format!("if (count > {0}) count = {0};", map.blocks));
    for (reduction, partial) in reductions.iter().zip(partials) {
        let partial = unit.scratch_name(&uses, *partial);
        let shape = combine::shape(&spell, reduction);
        let first = program.var(reduction.vars()[0]).name.clone();
        let (ty, lambda) = (&shape.ty, &shape.lambda);
        let start = match reduction {
            Reduction::Plain { acc, combine } => combine::start(&spell, *acc, *combine).0,
            Reduction::Arg { best, with, .. } => {
                let vars = std::iter::once(best).chain(with);
                let names: Vec<String> = vars.map(|var| spell.var(*var)).collect();
                format!("{ty}{{{}, 0}}", names.join(", "))
            }
        };
        if let Some(declaration) = &shape.declaration {
            out.line(declaration);
        }
        out.line(format!("const auto {first}_combine = {lambda};"));
        out.line(format!("{ty} {first}_part = {start};"));
        out.line(format!(
            "for (usize at = threadIdx.x; at < count; at += {LAST_THREADS}) {{"
        ));
        out.line(format!(
            "    {first}_part = {first}_combine({first}_part, reinterpret_cast<{ty}*>({partial})[at]);"
        ));
        out.line("}");
        out.line(format!(
            "__shared__ {ty} {first}_slots[{}];",
            LAST_THREADS / 32
        ));
        spell.uses.borrow_mut().helpers.insert("across_team");
        out.line(format!("const {ty} {first}_total ="));
        out.line(format!(
            "    across_team<{LAST_THREADS}>({first}_part, {first}_slots, {first}_combine);"
        ));
        combine::finish(&mut out, &spell, reduction, &format!("{first}_total"));
    }
    let changed: Vec<VarId> = reductions.iter().flat_map(Reduction::vars).collect();
    out.line("if (threadIdx.x != 0) return;");
    let mut slots = Vec::new();
    match tail {
        Some(tail) => thread::block(&mut out, tail, &spell, Leaving::Returns)?,
        None => {
            slots = unit.carry(&changed);
            for (var, slot) in &slots {
                let place = unit.slot(&uses, *var, *slot);
                out.line(format!("{place} = {};", spell.var(*var)));
            }
        }
    }
    let about = format!("Combines what the blocks of `{name}` found.");
    unit.finish(
        &format!("{name}_total"),
        &about,
        Geometry::line(Formula::Const(1), LAST_THREADS),
        uses,
        &out.finish(),
    )?;
    if !slots.is_empty() {
        unit.replay.push(Replay::Slots(slots));
    }
    Ok(())
}
