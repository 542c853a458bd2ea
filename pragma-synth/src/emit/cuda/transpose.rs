//! Two loops by square tiles: reads are neighbours along one loop, writes along the other.
//!
//! Owns the tile in shared memory between the two orders. The body is executed in the order of
//! the writes; only what it reads in the other order goes through the tile.

use std::cell::RefCell;

use crate::analyze::bounds::Scope;
use crate::emit::EmitError;
use crate::emit::lines::Lines;
use crate::ir::{Expr, Loop};

use super::CudaTarget;
use super::expr::{Held, Uses, element_type};
use super::grid::{address, check_vector, packable};
use super::kernel::{Geometry, Unit};
use super::plan::{Formula, Requirement};
use super::stream::{self, Stream};
use super::thread::{self, Leaving};

/// A transpose mapping.
pub(super) struct Transpose {
    pub inner: String,
    pub tile: u32,
    pub vector: u32,
}

const THREADS: u32 = 256;

/// One assignment of the two loops.
struct Orders<'a> {
    /// Along which reads that go through the tile are neighbours.
    read: &'a Loop,
    /// Along which writes are.
    write: &'a Loop,
    reads: Vec<Stream>,
    writes: Vec<Stream>,
}

/// The streams of the nest's body along one of its loops.
fn along(unit: &Unit<'_>, scope: &Scope, other: &Loop, axis: &Loop, body: &Loop) -> Vec<Stream> {
    let row = Loop {
        body: body.body.clone(),
        ..axis.clone()
    };
    stream::streams(unit.program, &scope.enter(unit.program, other), &row)
}

/// Writes the kernel.
pub(super) fn emit(
    unit: &mut Unit<'_>,
    outer: &Loop,
    map: &Transpose,
    target: CudaTarget,
) -> Result<(), EmitError> {
    check_vector(map.vector)?;
    let (edge, vector) = (map.tile, map.vector);
    let along_fast = edge / vector.max(1);
    let fits = edge.is_power_of_two()
        && (16..=128).contains(&edge)
        && vector <= 4
        && along_fast >= 8
        && THREADS.is_multiple_of(along_fast)
        && edge.is_multiple_of(THREADS / along_fast);
    if !fits {
        return Err(EmitError(
            "tile must be 16, 32, 64 or 128, vector 1, 2 or 4 and at most an eighth of it"
                .to_owned(),
        ));
    }
    let program = unit.program;
    let axes = [program.var(outer.var).name.clone(), map.inner.clone()];
    let nest = stream::nest(program, outer, &axes).map_err(EmitError)?;
    nest.check(program, &unit.scope).map_err(EmitError)?;
    let inner = nest.innermost();
    let plain = nest
        .levels
        .iter()
        .all(|(definitions, _)| definitions.is_empty())
        && [&outer.lo, &inner.lo]
            .iter()
            .all(|lo| **lo == Expr::index(0))
        && !inner.hi.mentions(outer.var)
        && !crate::analyze::depend::jumps(&inner.body);
    if !plain {
        return Err(EmitError(
            "it is no plain nest of two loops from 0".to_owned(),
        ));
    }
    let scope = unit.scope.clone();
    let orders = [(inner, outer), (outer, inner)]
        .into_iter()
        .find_map(|(read, write)| {
            let writes = along(unit, &scope, read, write, inner);
            let mut reads = along(unit, &scope, write, read, inner);
            let same = |a: &Stream| writes.iter().any(|b| a.buf == b.buf);
            reads.retain(|stream| !stream.stores && !same(stream));
            let writing = writes.iter().any(|stream| stream.stores);
            (writing && !reads.is_empty()).then_some(Orders {
                read,
                write,
                reads,
                writes,
            })
        });
    let Some(orders) = orders else {
        return Err(EmitError(
            "reads and writes are neighbours along the same loop".to_owned(),
        ));
    };
    let bytes: u64 = orders
        .reads
        .iter()
        .map(|stream| {
            let size = program.buf(stream.buf).elem.bytes() as u64;
            (u64::from(edge) * u64::from(edge + 1) * size).next_multiple_of(16)
        })
        .sum();
    if bytes > target.shared_per_block() {
        return Err(EmitError(
            "the tiles do not fit in shared memory".to_owned(),
        ));
    }
    write(unit, &orders, inner, map, bytes)
}

fn write(
    unit: &mut Unit<'_>,
    orders: &Orders<'_>,
    body: &Loop,
    map: &Transpose,
    bytes: u64,
) -> Result<(), EmitError> {
    let program = unit.program;
    let (edge, vector) = (map.tile, map.vector);
    let (reads, mut requires) = if vector == 1 {
        (orders.reads.clone(), Vec::new())
    } else {
        packable(unit, orders.reads.clone(), &Expr::index(0), vector)
    };
    if reads.len() != orders.reads.len() {
        return Err(EmitError("the reads do not move in packs".to_owned()));
    }
    let (writes, more) = packable(unit, orders.writes.clone(), &Expr::index(0), vector);
    requires.extend(more);
    let (rows, columns) = (
        unit.trips(&orders.write.lo, &orders.write.hi)?,
        unit.trips(&orders.read.lo, &orders.read.hi)?,
    );
    for size in [&rows, &columns] {
        requires.push(Requirement::Multiple {
            size: size.clone(),
            of: u64::from(vector),
        });
    }
    for condition in requires {
        if !matches!(condition, Requirement::Multiple { of: 1, .. }) {
            unit.require(condition);
        }
    }
    let uses = RefCell::new(Uses::default());
    let spell = unit.spell(&uses);
    let mut out = Lines::at(1);
    let (fast, slow) = (edge / vector, THREADS / (edge / vector));
    let read = program.var(orders.read.var).name.clone();
    let wrote = program.var(orders.write.var).name.clone();
    let (read_hi, write_hi) = (spell.bound(&orders.read.hi), spell.bound(&orders.write.hi));
    let tiles = stream::names(program, &reads, "tile");
    out.line("extern __shared__ uint4 shared[];");
    let mut offset = 0;
    for (tile, stream) in tiles.iter().zip(&reads) {
        let elem = program.buf(stream.buf).elem;
        let (ty, pitch) = (element_type(elem), edge + 1);
        out.line(format!(
            "{ty} (*const {tile})[{pitch}] = reinterpret_cast<{ty} (*)[{pitch}]>(shared + {});",
            offset / 16
        ));
        offset += (edge * pitch * elem.bytes() as u32).next_multiple_of(16);
    }
    let up = edge - 1;
    out.line(format!(
        "const u32 across = (u32)(({read_hi} + {up}) / {edge});"
    ));
    out.line(format!(
        "const usize {read}_block = (usize)(blockIdx.x % across) * {edge};"
    ));
    out.line(format!(
        "const usize {wrote}_block = (usize)(blockIdx.x / across) * {edge};"
    ));
    out.line(format!("const u32 fast = threadIdx.x % {fast} * {vector};"));
    out.line(format!("const u32 slow = threadIdx.x / {fast};"));
    // Reads, in their own order, all under way before the first is needed.
    let steps = edge / slow;
    let mut within = spell.clone();
    within.scope = within
        .scope
        .enter(program, orders.write)
        .enter(program, orders.read);
    for (tile, stream) in tiles.iter().zip(&reads) {
        let ty = element_type(program.buf(stream.buf).elem);
        uses.borrow_mut().helpers.insert("load_pack");
        out.line(format!("Pack<{ty}, {vector}> {tile}_packs[{steps}];"));
    }
    let head = |out: &mut Lines| {
        out.line("#pragma unroll");
        out.open(format!("for (int part = 0; part < {steps}; part++) {{"));
        out.line(format!("const u32 step = slow + part * {slow};"));
    };
    head(&mut out);
    out.line(format!("const usize {wrote} = {wrote}_block + step;"));
    out.line(format!("const usize {read}_first = {read}_block + fast;"));
    out.open(format!(
        "if ({wrote} < {write_hi} && {read}_first < {read_hi}) {{"
    ));
    for (tile, stream) in tiles.iter().zip(&reads) {
        let from = address(&within, stream, &format!("{read}_first"))?;
        out.line(format!("{tile}_packs[part] = load_pack<{vector}>({from});"));
    }
    out.close("}");
    out.close("}");
    head(&mut out);
    for tile in &tiles {
        out.line("#pragma unroll");
        out.line(format!(
            "for (int lane = 0; lane < {vector}; lane++) {tile}[step][fast + lane] = {tile}_packs[part].at[lane];"
        ));
    }
    out.close("}");
    out.line("__syncthreads();");
    // The body, in the order of the writes.
    head(&mut out);
    out.line(format!("const usize {read} = {read}_block + step;"));
    out.line(format!("const usize {wrote}_first = {wrote}_block + fast;"));
    out.open(format!(
        "if ({read} < {read_hi} && {wrote}_first < {write_hi}) {{"
    ));
    let packs = stream::names(program, &writes, "pack");
    for (pack, stream) in packs.iter().zip(&writes) {
        let ty = element_type(program.buf(stream.buf).elem);
        uses.borrow_mut().helpers.insert("pack");
        if stream.loads {
            uses.borrow_mut().helpers.insert("load_pack");
            let from = address(&within, stream, &format!("{wrote}_first"))?;
            out.line(format!(
                "Pack<{ty}, {vector}> {pack} = load_pack<{vector}>({from});"
            ));
        } else {
            out.line(format!("Pack<{ty}, {vector}> {pack};"));
        }
        within.held.push(Held {
            buf: stream.buf,
            counter: orders.write.var,
            base: stream.base.clone(),
            place: format!("{pack}.at[lane]"),
        });
    }
    for (tile, stream) in tiles.iter().zip(&reads) {
        within.held.push(Held {
            buf: stream.buf,
            counter: orders.read.var,
            base: stream.base.clone(),
            place: format!("{tile}[fast + lane][step]"),
        });
    }
    out.line("#pragma unroll");
    out.open(format!("for (int lane = 0; lane < {vector}; lane++) {{"));
    out.line(format!("const usize {wrote} = {wrote}_first + lane;"));
    thread::block(&mut out, &body.body, &within, Leaving::Never)?;
    out.close("}");
    for (pack, stream) in packs.iter().zip(&writes) {
        if stream.stores {
            uses.borrow_mut().helpers.insert("store_pack");
            let to = address(&within, stream, &format!("{wrote}_first"))?;
            out.line(format!("store_pack<{vector}>({to}, {pack});"));
        }
    }
    out.close("}");
    out.close("}");
    let count = |size: Formula| size.groups_of(u64::from(edge));
    let blocks = count(rows).times(count(columns));
    unit.require(Requirement::AtMost {
        size: blocks.clone(),
        limit: i32::MAX as u64,
    });
    let about = format!("Tiles of {edge} by {edge}: reads along `{read}`, writes along `{wrote}`.");
    let mut geometry = Geometry::line(blocks, THREADS);
    geometry.shared = Formula::Const(bytes);
    unit.finish(
        &format!("{wrote}_{read}"),
        &about,
        geometry,
        uses,
        &out.finish(),
    )
}
