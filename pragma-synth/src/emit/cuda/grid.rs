//! One thread per iteration: elementwise work, stencils, gathers, small independent problems.
//!
//! Owns the mapping of a nest of independent loops to the threads of a grid, and packs of
//! neighbouring iterations.

use std::cell::RefCell;

use crate::emit::EmitError;
use crate::emit::lines::Lines;
use crate::ir::Loop;

use super::expr::{Held, Spell, Uses, element_type};
use super::kernel::{Geometry, Unit};
use super::plan::{Formula, Requirement};
use super::stream::{self, Nest, Stream};
use super::thread::{self, Leaving};

/// A grid mapping.
pub(super) struct Grid {
    pub axes: Vec<String>,
    pub threads: u32,
    pub vector: u32,
    pub unroll: u32,
}

/// Whether a block of so many threads can be launched.
pub(super) fn check_threads(threads: u32) -> Result<(), EmitError> {
    if !threads.is_multiple_of(32) || !(32..=1024).contains(&threads) {
        return Err(EmitError(
            "threads must be a multiple of 32, from 32 to 1024".to_owned(),
        ));
    }
    Ok(())
}

/// Whether packs of so many elements can be moved.
pub(super) fn check_vector(vector: u32) -> Result<(), EmitError> {
    if !matches!(vector, 1 | 2 | 4 | 8 | 16) {
        return Err(EmitError("vector must be 1, 2, 4, 8 or 16".to_owned()));
    }
    Ok(())
}

/// The streams that can move in packs of `vector`, and what must hold for that.
pub(super) fn packable(
    unit: &Unit<'_>,
    streams: Vec<Stream>,
    lo: &crate::ir::Expr,
    vector: u32,
) -> (Vec<Stream>, Vec<Requirement>) {
    let mut requires = Vec::new();
    if vector <= 1 || *lo != crate::ir::Expr::index(0) {
        return (Vec::new(), requires);
    }
    let program = unit.program;
    let chosen = streams.into_iter().filter(|stream| {
        let bytes = u64::from(vector) * program.buf(stream.buf).elem.bytes() as u64;
        let local = program.buf(stream.buf).role == crate::ir::BufRole::Local;
        let Some(multiples) = unit.multiples(&stream.base, u64::from(vector)) else {
            return false;
        };
        if bytes > 16 {
            return false;
        }
        requires.extend(multiples);
        if !local {
            requires.push(Requirement::Aligned {
                buf: stream.buf,
                bytes,
            });
        }
        true
    });
    let chosen = chosen.collect();
    (chosen, requires)
}

/// Writes the kernel for a nest that begins with `outer`.
pub(super) fn emit(unit: &mut Unit<'_>, outer: &Loop, map: &Grid) -> Result<(), EmitError> {
    check_threads(map.threads)?;
    check_vector(map.vector)?;
    if !(1..=16).contains(&map.unroll) {
        return Err(EmitError("unroll must be from 1 to 16".to_owned()));
    }
    let program = unit.program;
    let nest = stream::nest(program, outer, &map.axes).map_err(EmitError)?;
    let scope = unit.scope.clone();
    nest.check(program, &scope).map_err(EmitError)?;
    let scopes = nest.scopes(program, &scope);
    let inner = nest.innermost();
    let around = &scopes[scopes.len() - 1];
    let found = stream::streams(program, around, inner);
    let (streams, requires) = packable(unit, found, &inner.lo, map.vector);
    let vector = if streams.is_empty() { 1 } else { map.vector };
    for condition in requires {
        unit.require(condition);
    }
    let uses = RefCell::new(Uses::default());
    let mut spell = unit.spell(&uses);
    spell.scope = around.clone();
    let mut out = Lines::at(1);
    let lines = Body {
        unit,
        nest: &nest,
        run: Run {
            spell,
            inner,
            streams: &streams,
            threads: map.threads,
            vector,
            unroll: map.unroll,
            leaving: Leaving::Stops,
            shared: false,
        },
    };
    let blocks = if nest.levels.len() == 1 {
        lines.single(&mut out)?
    } else {
        lines.nested(&mut out)?
    };
    let total = lines.total()?;
    if nest.levels.len() > 1 {
        let limit = u64::from(u32::MAX) * u64::from(vector);
        unit.require(Requirement::AtMost { size: total, limit });
    }
    unit.require(Requirement::AtMost {
        size: blocks.clone(),
        limit: i32::MAX as u64,
    });
    let about = match vector {
        1 => format!("One thread per iteration of {}.", listed(&map.axes)),
        n => format!("One thread per {n} iterations of {}.", listed(&map.axes)),
    };
    unit.finish(
        &map.axes.join("_"),
        &about,
        Geometry::line(blocks, map.threads),
        uses,
        &out.finish(),
    )
}

pub(super) fn listed(axes: &[String]) -> String {
    let quoted: Vec<String> = axes.iter().map(|axis| format!("`{axis}`")).collect();
    quoted.join(", ")
}

/// Iterations of one loop, as one thread works on them: in packs and groups of packs.
pub(super) struct Run<'u> {
    /// Around the loop.
    pub spell: Spell<'u>,
    pub inner: &'u Loop,
    pub streams: &'u [Stream],
    pub threads: u32,
    pub vector: u32,
    pub unroll: u32,
    pub leaving: Leaving,
    /// Keep the packs of all groups in shared memory instead of registers.
    pub shared: bool,
}

struct Body<'u, 'a> {
    unit: &'u Unit<'a>,
    run: Run<'u>,
    nest: &'u Nest<'u>,
}

impl Body<'_, '_> {
    fn total(&self) -> Result<Formula, EmitError> {
        let mut levels = self.nest.levels.iter();
        levels.try_fold(Formula::Const(1), |total, (_, inner)| {
            Ok(total.times(self.unit.trips(&inner.lo, &inner.hi)?))
        })
    }

    /// One loop: packs with a tail.
    fn single(&self, out: &mut Lines) -> Result<Formula, EmitError> {
        let run = &self.run;
        let inner = run.inner;
        let per_block = run.per_block();
        let lo = match run.spell.bound(&inner.lo) {
            zero if zero == "0" => String::new(),
            lo => format!("{lo} + "),
        };
        let trips = self.unit.trips(&inner.lo, &inner.hi)?;
        let start = format!("{lo}(usize)blockIdx.x * {per_block}");
        run.groups(out, &start)?;
        Ok(trips.groups_of(u64::from(per_block)))
    }

    /// Nested loops: the threads number the packs of all iterations.
    fn nested(&self, out: &mut Lines) -> Result<Formula, EmitError> {
        let run = &self.run;
        let (spell, vector) = (&run.spell, run.vector);
        if run.unroll != 1 {
            return Err(EmitError("a nest of loops is not unrolled".to_owned()));
        }
        let inner = self.nest.innermost();
        let total = self.total()?;
        let blocks = total.groups_of(u64::from(vector) * u64::from(run.threads));
        out.line(format!(
            "const usize thread = (usize)blockIdx.x * {} + threadIdx.x;",
            run.threads
        ));
        let mut sizes = Vec::new();
        for (at, (_, level)) in self.nest.levels.iter().enumerate() {
            let (lo, hi) = (spell.bound(&level.lo), spell.bound(&level.hi));
            let size = match lo.as_str() {
                "0" => hi,
                lo => format!("({hi} - {lo})"),
            };
            let last = at + 1 == self.nest.levels.len();
            sizes.push(if last && vector > 1 {
                format!("{size} / {vector}")
            } else {
                size
            });
        }
        if vector > 1 {
            let size = self.unit.trips(&inner.lo, &inner.hi)?;
            let condition = Requirement::Multiple {
                size,
                of: u64::from(vector),
            };
            // Asked for again by the streams with a base; here for those without.
            spell.uses.borrow_mut().requires.push(condition);
        }
        out.line(format!("if (thread >= {}) return;", sizes.join(" * ")));
        out.line("u32 left = (u32)thread;");
        for (at, (_, level)) in self.nest.levels.iter().enumerate().rev() {
            let name = &spell.program.var(level.var).name;
            let lo = match spell.bound(&level.lo) {
                zero if zero == "0" => String::new(),
                lo => format!("{lo} + "),
            };
            let last = at + 1 == self.nest.levels.len();
            let (name, times) = match last && vector > 1 {
                true => (format!("{name}_first"), format!(" * {vector}")),
                false => (name.clone(), String::new()),
            };
            if at == 0 {
                out.line(format!("const usize {name} = {lo}left;"));
            } else {
                let size = &sizes[at];
                out.line(format!(
                    "const usize {name} = {lo}left % (u32)({size}){times};"
                ));
                out.line(format!("left /= (u32)({size});"));
            }
        }
        for (definitions, _) in &self.nest.levels {
            for stmt in *definitions {
                thread::scalar(out, stmt, spell);
            }
        }
        let packs = stream::names(spell.program, self.run.streams, "pack");
        let name = &spell.program.var(inner.var).name;
        if vector == 1 {
            run.iteration(out, &[])?;
        } else {
            run.whole_pack(out, &packs, &format!("{name}_first"), true)?;
        }
        Ok(blocks)
    }
}

impl Run<'_> {
    /// Iterations that a block works on at once.
    pub fn per_block(&self) -> u32 {
        self.threads * self.vector * self.unroll
    }

    /// The iterations of this thread among those of the block, which begin at `start`.
    pub fn groups(&self, out: &mut Lines, start: &str) -> Result<(), EmitError> {
        let (spell, inner) = (&self.spell, self.inner);
        let name = &spell.program.var(inner.var).name;
        let (threads, vector, unroll) = (self.threads, self.vector, self.unroll);
        let hi = spell.bound(&inner.hi);
        let start = match vector {
            1 => format!("{start} + threadIdx.x"),
            n => format!("{start} + threadIdx.x * {n}"),
        };
        if unroll == 1 && vector == 1 {
            out.line(format!("const usize {name} = {start};"));
            out.open(format!("if ({name} < {hi}) {{"));
            self.iteration(out, &[])?;
            out.close("}");
            return Ok(());
        }
        out.line(format!("const usize {name}_first = {start};"));
        let packs = stream::names(spell.program, self.streams, "pack");
        let step = threads * vector;
        if unroll == 1 {
            return self.packs(out, &packs, &format!("{name}_first"), &hi, true);
        }
        let loads: Vec<_> = packs
            .iter()
            .zip(self.streams)
            .filter(|(_, stream)| stream.loads)
            .collect();
        self.load_groups(out, &loads, &hi)?;
        out.line("#pragma unroll");
        out.open(format!("for (int group = 0; group < {unroll}; group++) {{"));
        out.line(format!(
            "const usize {name}_at = {name}_first + group * {step};"
        ));
        self.packs(out, &packs, &format!("{name}_at"), &hi, false)?;
        out.close("}");
        Ok(())
    }

    /// What follows the name of a stream's pack to make it that of a group.
    pub fn group(&self) -> String {
        match self.shared {
            true => format!("s[group * {}]", self.threads),
            false => "s[group]".to_owned(),
        }
    }

    /// Bytes of shared memory for the packs of one stream.
    fn shared_bytes(&self, stream: &Stream) -> u32 {
        let bytes = self.spell.program.buf(stream.buf).elem.bytes() as u32;
        self.per_block() * bytes
    }

    /// Bytes of shared memory for all packs that are read.
    pub fn all_shared_bytes(&self) -> u32 {
        let loads = self.streams.iter().filter(|stream| stream.loads);
        match self.shared {
            true => loads.map(|stream| self.shared_bytes(stream)).sum(),
            false => 0,
        }
    }

    /// Declares and reads the packs of all groups.
    pub fn load_groups(
        &self,
        out: &mut Lines,
        loads: &[(&String, &Stream)],
        hi: &str,
    ) -> Result<(), EmitError> {
        let (spell, vector, unroll) = (&self.spell, self.vector, self.unroll);
        let name = &spell.program.var(self.inner.var).name;
        let step = self.threads * vector;
        let mut offset = 0;
        if self.shared && !loads.is_empty() {
            out.line("extern __shared__ uint4 shared[];");
        }
        for (pack, stream) in loads {
            let ty = element_type(spell.program.buf(stream.buf).elem);
            spell.uses.borrow_mut().helpers.insert("pack");
            if self.shared {
                out.line(format!(
                    "Pack<{ty}, {vector}>* const {pack}s = reinterpret_cast<Pack<{ty}, {vector}>*>(shared + {}) + threadIdx.x;",
                    offset / 16
                ));
                offset += self.shared_bytes(stream);
            } else {
                out.line(format!("Pack<{ty}, {vector}> {pack}s[{unroll}];"));
            }
        }
        if loads.is_empty() {
            return Ok(());
        }
        out.line("#pragma unroll");
        out.open(format!("for (int group = 0; group < {unroll}; group++) {{"));
        out.line(format!(
            "const usize {name}_at = {name}_first + group * {step};"
        ));
        out.open(format!("if ({name}_at + {vector} <= {hi}) {{"));
        for (pack, stream) in loads {
            let from = self.address(stream, &format!("{name}_at"))?;
            let own = self.group();
            if self.shared {
                spell.uses.borrow_mut().helpers.insert("copy_async");
                out.line(format!("copy_async_16(&{pack}{own}, {from}, true);"));
            } else {
                out.line(format!("{pack}{own} = load_pack<{vector}>({from});"));
            }
        }
        out.close("}");
        out.close("}");
        if self.shared {
            // A thread reads only what it copied itself.
            out.line("commit_copies();");
            out.line("wait_for_copies<0>();");
        }
        Ok(())
    }

    /// The pack of iterations that begins at `first`, or what is left of it.
    pub fn packs(
        &self,
        out: &mut Lines,
        packs: &[String],
        first: &str,
        hi: &str,
        loads: bool,
    ) -> Result<(), EmitError> {
        let vector = self.vector;
        let name = &self.spell.program.var(self.inner.var).name;
        if vector == 1 {
            out.line(format!("const usize {name} = {first};"));
            out.open(format!("if ({name} < {hi}) {{"));
            self.iteration(out, &[])?;
            out.close("}");
            return Ok(());
        }
        out.open(format!("if ({first} + {vector} <= {hi}) {{"));
        self.whole_pack(out, packs, first, loads)?;
        out.reopen("} else {");
        out.open(format!(
            "for (usize {name} = {first}; {name} < {hi}; {name}++) {{"
        ));
        self.iteration(out, &[])?;
        out.close("}");
        out.close("}");
        Ok(())
    }

    pub fn whole_pack(
        &self,
        out: &mut Lines,
        packs: &[String],
        first: &str,
        loads: bool,
    ) -> Result<(), EmitError> {
        let (spell, vector, inner) = (&self.spell, self.vector, self.inner);
        let name = &spell.program.var(inner.var).name;
        let suffix = if loads { String::new() } else { self.group() };
        let mut held = Vec::new();
        for (pack, stream) in packs.iter().zip(self.streams) {
            let ty = element_type(spell.program.buf(stream.buf).elem);
            spell.uses.borrow_mut().helpers.insert("pack");
            let own = if stream.loads { suffix.as_str() } else { "" };
            if stream.loads && loads {
                let from = self.address(stream, first)?;
                out.line(format!(
                    "Pack<{ty}, {vector}> {pack} = load_pack<{vector}>({from});"
                ));
            } else if !stream.loads {
                out.line(format!("Pack<{ty}, {vector}> {pack};"));
            }
            held.push(Held {
                buf: stream.buf,
                counter: inner.var,
                base: stream.base.clone(),
                place: format!("{pack}{own}.at[lane]"),
            });
        }
        out.line("#pragma unroll");
        out.open(format!("for (int lane = 0; lane < {vector}; lane++) {{"));
        out.line(format!("const usize {name} = {first} + lane;"));
        self.iteration(out, &held)?;
        out.close("}");
        for (pack, stream) in packs.iter().zip(self.streams) {
            if stream.stores {
                spell.uses.borrow_mut().helpers.insert("store_pack");
                let to = self.address(stream, first)?;
                let own = if stream.loads { suffix.as_str() } else { "" };
                out.line(format!("store_pack<{vector}>({to}, {pack}{own});"));
            }
        }
        Ok(())
    }

    /// Where the elements of a stream from counter `at` on are.
    fn address(&self, stream: &Stream, at: &str) -> Result<String, EmitError> {
        if stream.loads {
            self.spell.uses.borrow_mut().helpers.insert("load_pack");
        }
        address(&self.spell, stream, at)
    }

    pub fn iteration(&self, out: &mut Lines, held: &[Held]) -> Result<(), EmitError> {
        let inner = self.inner;
        let mut spell = self.spell.clone();
        spell.scope = spell.scope.enter(spell.program, inner);
        spell.held.extend_from_slice(held);
        let jumps = crate::analyze::depend::jumps(&inner.body);
        if jumps {
            // For `continue` to have a loop to go on with.
            out.open("do {");
        }
        thread::block(out, &inner.body, &spell, self.leaving)?;
        if jumps {
            out.close("} while (false);");
        }
        Ok(())
    }
}

/// Where the elements of a stream from counter `at` on are.
pub(super) fn address(spell: &Spell<'_>, stream: &Stream, at: &str) -> Result<String, EmitError> {
    let name = spell.buf(stream.buf);
    let base = spell.poly(&stream.base);
    Ok(match base.as_str() {
        "0" => format!("{name} + {at}"),
        base => format!("{name} + ({base} + {at})"),
    })
}
