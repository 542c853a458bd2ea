//! A team of threads per iteration: rows that are reduced, normalised, searched.
//!
//! Owns the sharing out of the loops inside a row, rows kept in registers between passes, and the
//! barriers between passes that touch the same memory. Code outside those loops is executed by
//! every thread of the team with the same values.

use std::cell::RefCell;
use std::collections::BTreeSet;

use crate::analyze::depend;
use crate::analyze::poly::{self, Poly};
use crate::analyze::reduce::Reduction;
use crate::emit::EmitError;
use crate::emit::lines::Lines;
use crate::ir::{BufId, Expr, Loop, Stmt};

use super::combine;
use super::expr::{Held, Spell, Uses, element_type};
use super::grid::{address, check_threads, check_vector, listed, packable};
use super::kernel::{Geometry, Unit};
use super::plan::{Formula, Requirement};
use super::rows::Row;
use super::stream;
use super::thread::{self, Leaving};

/// A team mapping.
pub(super) struct Team {
    pub axes: Vec<String>,
    pub threads: u32,
    pub vector: u32,
    pub items: u32,
}

/// Teams of one warp that share a block.
const WARPS_PER_BLOCK: u32 = 4;

/// Writes the kernel for a nest that begins with `outer`.
pub(super) fn emit(unit: &mut Unit<'_>, outer: &Loop, map: &Team) -> Result<(), EmitError> {
    check_threads(map.threads)?;
    check_vector(map.vector)?;
    if map.items > 32 {
        return Err(EmitError("items must be at most 32".to_owned()));
    }
    let program = unit.program;
    let nest = stream::nest(program, outer, &map.axes).map_err(EmitError)?;
    nest.check(program, &unit.scope).map_err(EmitError)?;
    let row = nest.innermost();
    if depend::jumps(&row.body) {
        return Err(EmitError("an iteration may end early".to_owned()));
    }
    let scopes = nest.scopes(program, &unit.scope);
    let around = scopes[scopes.len() - 1].enter(program, row);
    let uses = RefCell::new(Uses::default());
    let mut spell = unit.spell(&uses);
    spell.scope = around;
    let mut out = Lines::at(1);
    let mut total = Formula::Const(1);
    let mut sizes = Vec::new();
    for (_, level) in &nest.levels {
        total = total.times(unit.trips(&level.lo, &level.hi)?);
        let (lo, hi) = (spell.bound(&level.lo), spell.bound(&level.hi));
        sizes.push(match lo.as_str() {
            "0" => hi,
            lo => format!("({hi} - {lo})"),
        });
    }
    let warp = map.threads == 32;
    if warp {
        out.line("const u32 rank = threadIdx.x % 32;");
        out.line(format!(
            "const usize row = (usize)blockIdx.x * {WARPS_PER_BLOCK} + threadIdx.x / 32;"
        ));
        out.line(format!("if (row >= {}) return;", sizes.join(" * ")));
    } else {
        out.line("const u32 rank = threadIdx.x;");
        out.line("const usize row = blockIdx.x;");
    }
    if nest.levels.len() > 1 {
        out.line("u32 left = (u32)row;");
    }
    for (at, (_, level)) in nest.levels.iter().enumerate().rev() {
        let name = &program.var(level.var).name;
        let lo = match spell.bound(&level.lo) {
            zero if zero == "0" => String::new(),
            lo => format!("{lo} + "),
        };
        if nest.levels.len() == 1 {
            out.line(format!("const usize {name} = {lo}row;"));
        } else if at == 0 {
            out.line(format!("const usize {name} = {lo}left;"));
        } else {
            out.line(format!(
                "const usize {name} = {lo}left % (u32){};",
                sizes[at]
            ));
            out.line(format!("left /= (u32){};", sizes[at]));
        }
    }
    for (definitions, _) in &nest.levels {
        for stmt in *definitions {
            thread::scalar(&mut out, stmt, &spell);
        }
    }
    let mut writer = Writer {
        unit,
        map,
        rows: Vec::new(),
        range: None,
        dirty: BTreeSet::new(),
        read: BTreeSet::new(),
        repeats: false,
        shared: Formula::Const(0),
        shared_text: Vec::new(),
    };
    if map.items > 0 {
        writer.choose_rows(&row.body, &spell)?;
    }
    writer.block(&mut out, &row.body, &mut spell)?;
    let shared = writer.shared.clone();
    let per_block = if warp { WARPS_PER_BLOCK } else { 1 };
    let blocks = total.groups_of(u64::from(per_block));
    unit.require(Requirement::AtMost {
        size: blocks.clone(),
        limit: i32::MAX as u64,
    });
    let about = match warp {
        true => format!("One warp per iteration of {}.", listed(&map.axes)),
        false => format!("One block per iteration of {}.", listed(&map.axes)),
    };
    let mut geometry = Geometry::line(blocks, map.threads * per_block);
    geometry.shared = shared;
    unit.finish(&map.axes.join("_"), &about, geometry, uses, &out.finish())
}

pub(super) struct Writer<'w, 'a> {
    pub unit: &'w mut Unit<'a>,
    pub map: &'w Team,
    pub rows: Vec<Row>,
    /// The end of the loops whose rows are kept; they begin at 0.
    pub range: Option<Poly>,
    /// Buffers written since the last barrier.
    pub dirty: BTreeSet<BufId>,
    /// Buffers read since then.
    pub read: BTreeSet<BufId>,
    /// Inside a loop or a branch of the row: code that may run again, or not at all.
    pub repeats: bool,
    pub shared: Formula,
    /// Sizes in bytes of what lies in shared memory already, as C++.
    pub shared_text: Vec<String>,
}

pub(super) type Outcome = Result<(), EmitError>;

impl Writer<'_, '_> {
    fn is_block(&self) -> bool {
        self.map.threads > 32
    }

    /// A barrier, if `reads` or `writes` meet what happened since the last one.
    fn barrier(&mut self, out: &mut Lines, reads: &BTreeSet<BufId>, writes: &BTreeSet<BufId>) {
        let meets = reads.iter().any(|buf| self.dirty.contains(buf))
            || writes
                .iter()
                .any(|buf| self.dirty.contains(buf) || self.read.contains(buf));
        if meets {
            self.wait(out);
        }
    }

    fn wait(&mut self, out: &mut Lines) {
        out.line(if self.is_block() {
            "__syncthreads();"
        } else {
            "__syncwarp();"
        });
        self.synchronised();
    }

    fn synchronised(&mut self) {
        self.dirty.clear();
        self.read.clear();
    }

    /// The buffers in memory that statements read and write; kept rows are none.
    fn touched(&self, body: &[Stmt]) -> (BTreeSet<BufId>, BTreeSet<BufId>) {
        let kept = |buf: &BufId| {
            let mut rows = self.rows.iter().filter(|row| row.buf == *buf).peekable();
            rows.peek().is_some()
        };
        let mut reads = depend::loaded(body);
        let mut writes = depend::stored(body);
        // Rows that are only read may also be read in other places; nobody writes them.
        reads.retain(|buf| !kept(buf));
        writes.retain(|buf| !kept(buf));
        (reads, writes)
    }

    fn block(&mut self, out: &mut Lines, body: &[Stmt], spell: &mut Spell<'_>) -> Outcome {
        for stmt in body {
            self.statement(out, stmt, spell)?;
            if let Stmt::Let { var, value } = stmt {
                spell.scope.define(spell.program, *var, value);
            }
        }
        Ok(())
    }

    fn statement(&mut self, out: &mut Lines, stmt: &Stmt, spell: &mut Spell<'_>) -> Outcome {
        let program = self.unit.program;
        let one = std::slice::from_ref(stmt);
        let (reads, writes) = self.touched(one);
        let mut shares = false;
        stmt.walk(&mut |inner| {
            shares |= matches!(
                inner,
                Stmt::For(_) | Stmt::Store { .. } | Stmt::Alloc { .. }
            );
        });
        match stmt {
            Stmt::Store { .. } => {
                self.barrier(out, &reads, &writes);
                out.open("if (rank == 0) {");
                thread::block(out, one, spell, Leaving::Stops)?;
                out.close("}");
                self.dirty.extend(writes);
                self.read.extend(reads);
            }
            Stmt::Alloc { buf, len, fill } => self.temporary(out, *buf, len, fill, spell)?,
            Stmt::For(inner) => {
                let reductions = depend::parallelizable(program, &spell.scope, inner);
                match reductions {
                    Ok(reductions) if inner.step == 1 => {
                        self.barrier(out, &reads, &writes);
                        self.pass(out, inner, &reductions, spell)?;
                        self.dirty.extend(writes);
                        self.read.extend(reads);
                        if self.is_block() && !reductions.is_empty() {
                            // Combining has a barrier in it, behind all that came before.
                            self.synchronised();
                        }
                    }
                    _ => {
                        let mut within = spell.clone();
                        within.scope = spell.scope.enter(program, inner);
                        let head = thread::loop_head(inner, spell);
                        self.repeated(out, &head, &inner.body, &mut within)?;
                    }
                }
            }
            Stmt::While { cond, body } if shares => {
                let head = format!("while ({}) {{", spell.text(cond));
                self.repeated(out, &head, body, &mut spell.clone())?;
            }
            Stmt::If {
                cond,
                then,
                otherwise,
            } if shares => {
                self.barrier(out, &reads, &writes);
                let before = (self.dirty.clone(), self.read.clone());
                // What a branch declares is not there behind it: no rows are kept in it.
                let outside = std::mem::replace(&mut self.repeats, true);
                out.open(format!("if ({}) {{", spell.text(cond)));
                self.block(out, then, &mut spell.clone())?;
                let after = (
                    std::mem::replace(&mut self.dirty, before.0),
                    std::mem::replace(&mut self.read, before.1),
                );
                if !otherwise.is_empty() {
                    out.reopen("} else {");
                    self.block(out, otherwise, &mut spell.clone())?;
                }
                out.close("}");
                self.repeats = outside;
                self.dirty.extend(after.0);
                self.read.extend(after.1);
            }
            _ => {
                self.barrier(out, &reads, &writes);
                thread::block(out, one, spell, Leaving::Stops)?;
                self.read.extend(reads);
            }
        }
        Ok(())
    }

    /// A loop that every thread of the team goes through together.
    fn repeated(
        &mut self,
        out: &mut Lines,
        head: &str,
        body: &[Stmt],
        spell: &mut Spell<'_>,
    ) -> Outcome {
        if !self.dirty.is_empty() || !self.read.is_empty() {
            self.wait(out);
        }
        out.open(head);
        let outside = std::mem::replace(&mut self.repeats, true);
        self.block(out, body, spell)?;
        self.repeats = outside;
        if !self.dirty.is_empty() {
            self.wait(out);
        }
        out.close("}");
        // A jump may have left the loop in front of that barrier.
        if depend::jumps(body) && !depend::stored(body).is_empty() {
            self.wait(out);
        }
        Ok(())
    }

    /// A temporary array of the row: registers, or shared memory.
    fn temporary(
        &mut self,
        out: &mut Lines,
        buf: BufId,
        len: &Expr,
        fill: &Expr,
        spell: &mut Spell<'_>,
    ) -> Outcome {
        let program = self.unit.program;
        let decl = program.buf(buf);
        let fill_text = spell.narrowed(decl.elem, spell.text(fill));
        if let Some(at) = self.rows.iter().position(|row| row.buf == buf) {
            self.declare_row(out, at, spell);
            let (name, items, vector) = (&self.rows[at].name, self.map.items, self.map.vector);
            out.line("#pragma unroll");
            out.open(format!("for (int item = 0; item < {items}; item++) {{"));
            out.line("#pragma unroll");
            out.line(format!(
                "for (int lane = 0; lane < {vector}; lane++) {name}[item].at[lane] = {fill_text};"
            ));
            out.close("}");
            return Ok(());
        }
        if !self.is_block() || self.repeats {
            return Err(EmitError(format!(
                "`{}` is a temporary array that a warp cannot share",
                decl.name
            )));
        }
        let count = self.unit.formula(len).ok_or_else(|| {
            EmitError(format!(
                "the length of `{}` is not known before the launch",
                decl.name
            ))
        })?;
        let bytes = decl.elem.bytes() as u64;
        let offset = match self.shared_text.is_empty() {
            true => String::new(),
            false => format!(" + {}", self.shared_text.join(" + ")),
        };
        if self.shared_text.is_empty() {
            out.line("extern __shared__ uint4 shared[];");
        }
        let (name, ty) = (&decl.name, element_type(decl.elem));
        let length = spell.bound(len);
        out.line(format!(
            "{ty}* {name} = reinterpret_cast<{ty}*>(shared{offset});"
        ));
        let groups = count.times(Formula::Const(bytes)).groups_of(16);
        self.unit.require(Requirement::AtMost {
            size: groups.clone(),
            limit: (48 << 10) / 16,
        });
        self.shared = std::mem::replace(&mut self.shared, Formula::Const(0))
            .plus(groups.times(Formula::Const(16)));
        self.shared_text
            .push(format!("({length} * {bytes} + 15) / 16"));
        let threads = self.map.threads;
        out.line(format!(
            "for (usize at = rank; at < {length}; at += {threads}) {name}[at] = {fill_text};"
        ));
        spell.own.push((buf, length));
        self.dirty.insert(buf);
        Ok(())
    }

    /// A loop whose iterations are shared out.
    fn pass(
        &mut self,
        out: &mut Lines,
        inner: &Loop,
        reductions: &[Reduction],
        spell: &Spell<'_>,
    ) -> Outcome {
        let program = self.unit.program;
        let hi = poly::read(program, &spell.scope.definitions, &inner.hi);
        let keeps =
            self.range.is_some() && !self.repeats && hi == self.range && inner.lo == Expr::index(0);
        if keeps {
            self.load_rows(out, inner, spell)?;
        }
        let (renamed, origins) = combine::declare(out, spell, reductions, inner.var);
        let mut within = spell.clone();
        within.scope = spell.scope.enter(program, inner);
        within.renamed.extend(renamed);
        within.origins.extend(origins);
        if keeps {
            self.kept_pass(out, inner, &mut within)?;
        } else {
            self.strided_pass(out, inner, spell, &mut within)?;
        }
        self.combine(out, reductions, spell);
        Ok(())
    }

    fn combine(&mut self, out: &mut Lines, reductions: &[Reduction], spell: &Spell<'_>) {
        let threads = self.map.threads;
        if self.is_block() && self.repeats && !reductions.is_empty() {
            // The slots may still be read from the round before.
            out.line("__syncthreads();");
        }
        for reduction in reductions {
            let shape = combine::shape(spell, reduction);
            let first = reduction.vars()[0];
            let name = &spell.program.var(first).name;
            spell.uses.borrow_mut().helpers.insert("across_team");
            if let Some(declaration) = shape.declaration {
                out.line(declaration);
            }
            let (ty, lambda, gather) = (shape.ty, shape.lambda, shape.gather);
            let slots = if self.is_block() {
                out.line(format!("__shared__ {ty} {name}_slots[{}];", threads / 32));
                format!("{name}_slots")
            } else {
                format!("({ty}*)nullptr")
            };
            out.line(format!("const {ty} {name}_total ="));
            out.line(format!(
                "    across_team<{threads}>({gather}, {slots}, {lambda});"
            ));
            combine::finish(out, spell, reduction, &format!("{name}_total"));
        }
    }

    /// The team goes along the loop, a pack per thread and step.
    fn strided_pass(
        &mut self,
        out: &mut Lines,
        inner: &Loop,
        around: &Spell<'_>,
        spell: &mut Spell<'_>,
    ) -> Outcome {
        let threads = self.map.threads;
        let name = spell.program.var(inner.var).name.clone();
        let (lo, hi) = (around.bound(&inner.lo), around.bound(&inner.hi));
        let found = stream::streams(spell.program, &around.scope, inner);
        let found = found
            .into_iter()
            .filter(|stream| !spell.own.iter().any(|(own, _)| *own == stream.buf))
            .collect();
        let size = self.unit.formula(&inner.hi);
        let vector = match size {
            Some(_) => self.map.vector,
            None => 1,
        };
        let (streams, requires) = packable(self.unit, found, &inner.lo, vector);
        if streams.is_empty() {
            let lo = if lo == "0" {
                String::new()
            } else {
                format!("{lo} + ")
            };
            out.open(format!(
                "for (usize {name} = {lo}rank; {name} < {hi}; {name} += {threads}) {{"
            ));
            thread::block(out, &inner.body, spell, Leaving::Never)?;
            out.close("}");
            return Ok(());
        }
        for condition in requires {
            self.unit.require(condition);
        }
        if let Some(size) = size {
            self.unit.require(Requirement::Multiple {
                size,
                of: u64::from(vector),
            });
        }
        let step = threads * vector;
        out.line("#pragma unroll 4");
        out.open(format!(
            "for (usize {name}_first = rank * {vector}; {name}_first < {hi}; {name}_first += {step}) {{"
        ));
        let packs = stream::names(spell.program, &streams, "pack");
        for (pack, stream) in packs.iter().zip(&streams) {
            let ty = element_type(spell.program.buf(stream.buf).elem);
            spell.uses.borrow_mut().helpers.insert("pack");
            if stream.loads {
                spell.uses.borrow_mut().helpers.insert("load_pack");
                let from = address(spell, stream, &format!("{name}_first"))?;
                out.line(format!(
                    "Pack<{ty}, {vector}> {pack} = load_pack<{vector}>({from});"
                ));
            } else {
                out.line(format!("Pack<{ty}, {vector}> {pack};"));
            }
            spell.held.push(Held {
                buf: stream.buf,
                counter: inner.var,
                base: stream.base.clone(),
                place: format!("{pack}.at[lane]"),
            });
        }
        out.line("#pragma unroll");
        out.open(format!("for (int lane = 0; lane < {vector}; lane++) {{"));
        out.line(format!("const usize {name} = {name}_first + lane;"));
        thread::block(out, &inner.body, spell, Leaving::Never)?;
        out.close("}");
        for (pack, stream) in packs.iter().zip(&streams) {
            if stream.stores {
                spell.uses.borrow_mut().helpers.insert("store_pack");
                let to = address(spell, stream, &format!("{name}_first"))?;
                out.line(format!("store_pack<{vector}>({to}, {pack});"));
            }
        }
        out.close("}");
        Ok(())
    }
}
