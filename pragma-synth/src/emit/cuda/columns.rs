//! Reductions over the slow axis: every column has a result, rows are shared out.
//!
//! Owns two launches: blocks that each reduce some rows of some columns, then one thread per
//! column and part of its partial results. The order of combination follows from sizes alone.

use std::cell::RefCell;

use crate::analyze::bounds::Scope;
use crate::analyze::depend;
use crate::analyze::reduce::{Combine, Reduction};
use crate::emit::EmitError;
use crate::emit::lines::Lines;
use crate::ir::{Loop, Stmt, VarId};

use super::combine;
use super::expr::{Held, Spell, Uses, element_type, value_type};
use super::grid::{address, check_vector, packable};
use super::kernel::{Geometry, Unit};
use super::plan::{Formula, Requirement};
use super::stream::{self, Stream};
use super::thread::{self, Leaving};

/// A columns mapping.
pub(super) struct Columns {
    pub over: String,
    pub lanes: u32,
    pub rows: u32,
    pub vector: u32,
    pub chunk: u64,
}

/// The block of the second launch: columns side by side, and parts of the partial results.
const LAST: [u32; 2] = [32, 8];

struct Parts<'a> {
    /// Over columns.
    outer: &'a Loop,
    before: &'a [Stmt],
    /// Those of `before` whose values follow from nothing that changes.
    fixed: Vec<&'a Stmt>,
    /// Over terms.
    terms: &'a Loop,
    after: &'a [Stmt],
    accs: Vec<(VarId, Combine)>,
    scope: Scope,
}

fn parts<'a>(unit: &Unit<'a>, outer: &'a Loop, over: &str) -> Result<Parts<'a>, String> {
    let program = unit.program;
    let none = depend::parallelizable(program, &unit.scope, outer)
        .map_err(|hazard| hazard.describe(program))?;
    if !none.is_empty() || outer.step != 1 {
        return Err("the columns depend on each other".to_owned());
    }
    let at = outer
        .body
        .iter()
        .position(|stmt| matches!(stmt, Stmt::For(inner) if program.var(inner.var).name == *over));
    let Some(at) = at else {
        return Err(format!("`{over}` is not directly inside the loop"));
    };
    let Stmt::For(terms) = &outer.body[at] else {
        return Err(format!("`{over}` is no loop"));
    };
    let before = &outer.body[..at];
    let after = &outer.body[at + 1..];
    if !before
        .iter()
        .all(|stmt| matches!(stmt, Stmt::Let { .. } | Stmt::Assign { .. }))
    {
        return Err(format!("more than scalars stand in front of `{over}`"));
    }
    if depend::jumps(&outer.body) || depend::jumps(&terms.body) {
        return Err("an iteration may end early".to_owned());
    }
    let mut scope = unit.scope.enter(program, outer);
    for stmt in before {
        if let Stmt::Let { var, value } = stmt {
            scope.define(program, *var, value);
        }
    }
    let reductions = depend::parallelizable(program, &scope, terms)
        .map_err(|hazard| hazard.describe(program))?;
    let mut accs = Vec::new();
    for reduction in &reductions {
        match reduction {
            Reduction::Plain { acc, combine } => accs.push((*acc, *combine)),
            Reduction::Arg { .. } => return Err("it searches for an extreme's place".to_owned()),
        }
    }
    if accs.is_empty() || terms.step != 1 || !depend::stored(&terms.body).is_empty() {
        return Err(format!("`{over}` does not just combine values"));
    }
    if terms.lo.mentions(outer.var) || terms.hi.mentions(outer.var) {
        return Err(format!("the bounds of `{over}` depend on the column"));
    }
    let mut fixed = Vec::new();
    let mut changing: Vec<VarId> = Vec::new();
    for stmt in before {
        let (Stmt::Let { var, value } | Stmt::Assign { var, value }) = stmt else {
            continue;
        };
        if program.var(*var).mutable || changing.iter().any(|other| value.mentions(*other)) {
            changing.push(*var);
        } else {
            fixed.push(stmt);
        }
    }
    let own = |var: &VarId| accs.iter().any(|(acc, _)| acc == var);
    if changing
        .iter()
        .any(|var| !own(var) && depend::mentions(&terms.body, *var))
    {
        return Err(format!(
            "`{over}` needs a value that changes in front of it"
        ));
    }
    Ok(Parts {
        fixed,
        outer,
        before,
        terms,
        after,
        accs,
        scope,
    })
}

/// Writes both kernels.
pub(super) fn emit<'a>(
    unit: &mut Unit<'a>,
    outer: &'a Loop,
    map: &Columns,
) -> Result<(), EmitError> {
    check_vector(map.vector)?;
    let threads = map.lanes * map.rows;
    // What the block keeps in static shared memory, at 8 bytes each.
    let slots = u64::from(threads) * u64::from(map.vector) * 8;
    let sized = slots <= 16 << 10
        && (32..=1024).contains(&threads)
        && map.lanes.is_power_of_two()
        && map
            .lanes
            .checked_mul(map.vector)
            .is_some_and(|width| width <= 512)
        && map.chunk >= 1;
    if !sized {
        return Err(EmitError(
            "lanes times rows must be from 32 to 1024, lanes a power of two, lanes times vector at most 512, and all three together at most 2048".to_owned(),
        ));
    }
    let parts = parts(unit, outer, &map.over).map_err(EmitError)?;
    let program = unit.program;
    // The streams of one row: neighbours along the columns.
    let row = Loop {
        body: parts.terms.body.clone(),
        ..outer.clone()
    };
    let within = parts.scope.enter(program, parts.terms);
    let found = stream::streams(program, &within, &row);
    if found.is_empty() {
        return Err(EmitError(
            "what the loop reads are no neighbours along the columns".to_owned(),
        ));
    }
    let (streams, requires) = packable(unit, found, &outer.lo, map.vector);
    let vector = if streams.is_empty() { 1 } else { map.vector };
    for condition in requires {
        unit.require(condition);
    }
    let columns = unit.trips(&outer.lo, &outer.hi)?;
    let terms = unit.trips(&parts.terms.lo, &parts.terms.hi)?;
    if vector > 1 {
        unit.require(Requirement::Multiple {
            size: columns.clone(),
            of: u64::from(vector),
        });
    }
    let splits = terms.groups_of(map.chunk);
    unit.require(Requirement::AtMost {
        size: splits.clone(),
        limit: 65535,
    });
    let mut partials = Vec::new();
    for (acc, _) in &parts.accs {
        let name = format!("{}_partials", program.var(*acc).name);
        let bytes = splits
            .clone()
            .times(columns.clone())
            .times(Formula::Const(8));
        partials.push(unit.scratch(&name, bytes, false));
    }
    first(
        unit, &parts, map, vector, &streams, &partials, &columns, &splits,
    )?;
    last(unit, &parts, map, &partials, &columns)
}

/// The column of a lane, as an offset from the first one.
fn column(parts: &Parts<'_>, spell: &Spell<'_>) -> (String, String) {
    let name = spell.program.var(parts.outer.var).name.clone();
    let lo = match spell.bound(&parts.outer.lo) {
        zero if zero == "0" => String::new(),
        lo => format!("{lo} + "),
    };
    (name, lo)
}

#[expect(
    clippy::too_many_arguments,
    reason = "one call, of a function cut in two"
)]
fn first(
    unit: &mut Unit<'_>,
    parts: &Parts<'_>,
    map: &Columns,
    vector: u32,
    streams: &[Stream],
    partials: &[usize],
    columns: &Formula,
    splits: &Formula,
) -> Result<(), EmitError> {
    let program = unit.program;
    let uses = RefCell::new(Uses::default());
    let mut spell = unit.spell(&uses);
    spell.scope = parts.scope.clone();
    let mut out = Lines::at(1);
    let (name, lo) = column(parts, &spell);
    let hi = spell.bound(&parts.outer.hi);
    let term = program.var(parts.terms.var).name.clone();
    let (lanes, rows) = (map.lanes, map.rows);
    out.line(format!(
        "const usize {name}_first = {lo}((usize)blockIdx.x * {lanes} + threadIdx.x) * {vector};"
    ));
    let begin = match spell.bound(&parts.terms.lo) {
        zero if zero == "0" => String::new(),
        lo => format!("{lo} + "),
    };
    let end = spell.bound(&parts.terms.hi);
    let chunk = map.chunk;
    out.line(format!(
        "const usize {term}_first = {begin}(usize)blockIdx.y * {chunk};"
    ));
    out.line(format!(
        "const usize {term}_end = {term}_first + {chunk} < {end} ? {term}_first + {chunk} : {end};"
    ));
    let starts_from_variable = parts
        .accs
        .iter()
        .any(|(acc, combine)| !combine::start(&spell, *acc, *combine).1);
    for (acc, combine) in &parts.accs {
        let ty = value_type(program.var(*acc).scalar);
        let part = combine::part(&spell, *acc);
        let (start, identity) = combine::start(&spell, *acc, *combine);
        out.line(format!("{ty} {part}[{vector}];"));
        if identity {
            out.line("#pragma unroll");
            out.line(format!(
                "for (int lane = 0; lane < {vector}; lane++) {part}[lane] = {start};"
            ));
        }
    }
    out.open(format!("if ({name}_first < {hi}) {{"));
    if starts_from_variable {
        out.line("#pragma unroll");
        out.open(format!("for (int lane = 0; lane < {vector}; lane++) {{"));
        out.line(format!("const usize {name} = {name}_first + lane;"));
        thread::block(&mut out, parts.before, &spell, Leaving::Never)?;
        for (acc, combine) in &parts.accs {
            let (start, identity) = combine::start(&spell, *acc, *combine);
            if !identity {
                let part = combine::part(&spell, *acc);
                out.line(format!("{part}[lane] = {start};"));
            }
        }
        out.close("}");
    }
    out.line("#pragma unroll 8");
    out.open(format!(
        "for (usize {term} = {term}_first + threadIdx.y; {term} < {term}_end; {term} += {rows}) {{"
    ));
    let mut within = spell.clone();
    within.scope = within.scope.enter(program, parts.terms);
    let packs = stream::names(program, streams, "pack");
    for (pack, stream) in packs.iter().zip(streams) {
        let ty = element_type(program.buf(stream.buf).elem);
        uses.borrow_mut().helpers.insert("load_pack");
        let from = address(&within, stream, &format!("{name}_first"))?;
        out.line(format!(
            "const Pack<{ty}, {vector}> {pack} = load_pack<{vector}>({from});"
        ));
        within.held.push(Held {
            buf: stream.buf,
            counter: parts.outer.var,
            base: stream.base.clone(),
            place: format!("{pack}.at[lane]"),
        });
    }
    out.line("#pragma unroll");
    out.open(format!("for (int lane = 0; lane < {vector}; lane++) {{"));
    out.line(format!("const usize {name} = {name}_first + lane;"));
    for stmt in &parts.fixed {
        thread::scalar(&mut out, stmt, &spell);
    }
    for (acc, _) in &parts.accs {
        let part = combine::part(&spell, *acc);
        within.renamed.push((*acc, format!("{part}[lane]")));
    }
    thread::block(&mut out, &parts.terms.body, &within, Leaving::Never)?;
    out.close("}");
    out.close("}");
    out.close("}");
    let width = lanes * vector;
    for (acc, _) in &parts.accs {
        let ty = value_type(program.var(*acc).scalar);
        let (part, slots) = (combine::part(&spell, *acc), &program.var(*acc).name);
        out.line(format!("__shared__ {ty} {slots}_slots[{rows}][{width}];"));
        out.line("#pragma unroll");
        out.open(format!("for (int lane = 0; lane < {vector}; lane++) {{"));
        out.line(format!(
            "{slots}_slots[threadIdx.y][threadIdx.x * {vector} + lane] = {part}[lane];"
        ));
        out.close("}");
    }
    out.line("__syncthreads();");
    let threads = lanes * rows;
    let rank = format!("threadIdx.y * {lanes} + threadIdx.x");
    out.open(format!(
        "for (u32 at = {rank}; at < {width}; at += {threads}) {{"
    ));
    out.line(format!(
        "const usize {name} = {lo}(usize)blockIdx.x * {width} + at;"
    ));
    out.line(format!("if ({name} >= {hi}) break;"));
    for ((acc, combine), partial) in parts.accs.iter().zip(partials) {
        let scalar = program.var(*acc).scalar;
        let (ty, slots) = (value_type(scalar), &program.var(*acc).name);
        out.line(format!("{ty} {slots}_total = {slots}_slots[0][at];"));
        let value = combine::text(
            &spell,
            *combine,
            scalar,
            &format!("{slots}_total"),
            &format!("{slots}_slots[row][at]"),
        );
        out.line("#pragma unroll");
        out.line(format!(
            "for (int row = 1; row < {rows}; row++) {slots}_total = {value};"
        ));
        let place = partial_place(unit, parts, &spell, *partial, ty, "blockIdx.y", &name);
        out.line(format!("{place} = {slots}_total;"));
    }
    out.close("}");
    let geometry = Geometry {
        grid: [
            columns.clone().groups_of(u64::from(width)),
            splits.clone(),
            Formula::Const(1),
        ],
        block: [lanes, rows, 1],
        shared: Formula::Const(0),
    };
    let about = format!("Reduces blocks of rows of `{term}`, a thread for {vector} columns.");
    unit.finish(
        &format!("{name}_{term}"),
        &about,
        geometry,
        uses,
        &out.finish(),
    )
}

/// The place of a partial result.
fn partial_place(
    unit: &Unit<'_>,
    parts: &Parts<'_>,
    spell: &Spell<'_>,
    partial: usize,
    ty: &str,
    split: &str,
    name: &str,
) -> String {
    let partial = unit.scratch_name(spell.uses, partial);
    let (lo, hi) = (spell.bound(&parts.outer.lo), spell.bound(&parts.outer.hi));
    let (columns, at) = match lo.as_str() {
        "0" => (hi, name.to_owned()),
        lo => (format!("({hi} - {lo})"), format!("({name} - {lo})")),
    };
    format!("reinterpret_cast<{ty}*>({partial})[{split} * {columns} + {at}]")
}

fn last(
    unit: &mut Unit<'_>,
    parts: &Parts<'_>,
    map: &Columns,
    partials: &[usize],
    columns: &Formula,
) -> Result<(), EmitError> {
    let program = unit.program;
    let uses = RefCell::new(Uses::default());
    let mut spell = unit.spell(&uses);
    spell.scope = parts.scope.clone();
    let mut out = Lines::at(1);
    let (name, lo) = column(parts, &spell);
    let hi = spell.bound(&parts.outer.hi);
    let [lanes, rows] = LAST;
    let (begin, end) = (spell.bound(&parts.terms.lo), spell.bound(&parts.terms.hi));
    let terms = match begin.as_str() {
        "0" => end,
        begin => format!("({end} - {begin})"),
    };
    let (chunk, up) = (map.chunk, map.chunk - 1);
    out.line(format!(
        "const usize {name} = {lo}(usize)blockIdx.x * {lanes} + threadIdx.x;"
    ));
    out.line(format!("const usize count = ({terms} + {up}) / {chunk};"));
    for (acc, _) in &parts.accs {
        let (ty, slots) = (
            value_type(program.var(*acc).scalar),
            &program.var(*acc).name,
        );
        out.line(format!("__shared__ {ty} {slots}_slots[{rows}][{lanes}];"));
    }
    out.open(format!("if ({name} < {hi}) {{"));
    // The start of an extreme is the variable itself.
    thread::block(&mut out, parts.before, &spell, Leaving::Never)?;
    for ((acc, combine), partial) in parts.accs.iter().zip(partials) {
        let scalar = program.var(*acc).scalar;
        let (ty, part) = (value_type(scalar), combine::part(&spell, *acc));
        let (start, _) = combine::start(&spell, *acc, *combine);
        out.line(format!("{ty} {part} = {start};"));
        let place = partial_place(unit, parts, &spell, *partial, ty, "at", &name);
        let value = combine::text(&spell, *combine, scalar, &part, &place);
        out.line(format!(
            "for (usize at = threadIdx.y; at < count; at += {rows}) {part} = {value};"
        ));
        let slots = &program.var(*acc).name;
        out.line(format!("{slots}_slots[threadIdx.y][threadIdx.x] = {part};"));
    }
    out.close("}");
    out.line("__syncthreads();");
    out.line(format!("if (threadIdx.y != 0 || {name} >= {hi}) return;"));
    thread::block(&mut out, parts.before, &spell, Leaving::Stops)?;
    for (acc, combine) in &parts.accs {
        let scalar = program.var(*acc).scalar;
        let (ty, slots) = (value_type(scalar), &program.var(*acc).name);
        out.line(format!(
            "{ty} {slots}_total = {slots}_slots[0][threadIdx.x];"
        ));
        let value = combine::text(
            &spell,
            *combine,
            scalar,
            &format!("{slots}_total"),
            &format!("{slots}_slots[row][threadIdx.x]"),
        );
        out.line("#pragma unroll");
        out.line(format!(
            "for (int row = 1; row < {rows}; row++) {slots}_total = {value};"
        ));
        let reduction = Reduction::Plain {
            acc: *acc,
            combine: *combine,
        };
        combine::finish(&mut out, &spell, &reduction, &format!("{slots}_total"));
    }
    thread::block(&mut out, parts.after, &spell, Leaving::Stops)?;
    let geometry = Geometry {
        grid: [
            columns.clone().groups_of(u64::from(lanes)),
            Formula::Const(1),
            Formula::Const(1),
        ],
        block: [lanes, rows, 1],
        shared: Formula::Const(0),
    };
    let about = format!("Combines what the blocks found for every `{name}`.");
    unit.finish(
        &format!("{name}_total"),
        &about,
        geometry,
        uses,
        &out.finish(),
    )
}
