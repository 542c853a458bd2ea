//! Contractions by tiles: copies to shared memory in flight, products in registers.
//!
//! Owns the common frame (which tile a block works on, copies of operands, the loop over terms,
//! results) and the products by fused multiply-adds. `tensor` has those by tensor cores. Terms
//! beyond the end are zeros in both operands.

use std::cell::RefCell;

use crate::action::gpu::Unit as ProductUnit;
use crate::emit::EmitError;
use crate::emit::lines::Lines;
use crate::ir::{Expr, Loop};

use super::CudaTarget;
use super::contract::{self, Contraction, Layout, Operand};
use super::expr::{Held, Spell, Uses, element_type};
use super::grid::{address, packable};
use super::kernel::{Geometry, Unit};
use super::plan::{Formula, Requirement};
use super::stream;
use super::tensor;
use super::thread::{self, Leaving};

/// Threads of a block.
pub(super) const THREADS: u32 = 256;

/// A contract mapping.
pub(super) struct Tiles {
    pub over: String,
    pub unit: ProductUnit,
    pub m: u32,
    pub n: u32,
    pub k: u32,
    pub stages: u32,
}

/// One operand's tile in shared memory.
pub(super) struct Tile {
    pub name: &'static str,
    pub layout: Layout,
    /// Rows or columns of the result.
    pub rows: u32,
    pub terms: u32,
    /// Elements from one line of the tile to the next.
    pub pitch: u32,
}

impl Tile {
    fn new(name: &'static str, operand: &Operand, rows: u32, terms: u32) -> Tile {
        // Lines are apart so that a warp's accesses fall into different banks.
        let pitch = match operand.layout {
            Layout::Terms => terms + 4,
            Layout::Rows => rows + 8,
        };
        Tile {
            name,
            layout: operand.layout,
            rows,
            terms,
            pitch,
        }
    }

    pub fn lines(&self) -> u32 {
        match self.layout {
            Layout::Terms => self.rows,
            Layout::Rows => self.terms,
        }
    }

    pub fn line_len(&self) -> u32 {
        match self.layout {
            Layout::Terms => self.terms,
            Layout::Rows => self.rows,
        }
    }

    /// Elements of one stage.
    pub fn size(&self) -> u32 {
        self.lines() * self.pitch
    }

    /// The place of an element.
    pub fn at(&self, row: &str, term: &str) -> String {
        let (line, along) = match self.layout {
            Layout::Terms => (row, term),
            Layout::Rows => (term, row),
        };
        format!("({line}) * {} + {along}", self.pitch)
    }
}

/// Writes the kernel for the contraction inside `outer`.
pub(super) fn emit<'a>(
    unit: &mut Unit<'a>,
    outer: &'a Loop,
    map: &Tiles,
    target: CudaTarget,
) -> Result<(), EmitError> {
    let edges = [map.m, map.n]
        .iter()
        .all(|edge| matches!(edge, 64 | 128 | 256));
    let sized = edges
        && map.m * map.n <= 128 * 256
        && matches!(map.k, 8 | 16 | 32)
        && (2..=6).contains(&map.stages);
    if !sized {
        return Err(EmitError(
            "tile_m and tile_n must be 64, 128 or 256 and not both 256, tile_k 8, 16 or 32, stages 2 to 6".to_owned(),
        ));
    }
    let found = contract::read(unit, outer, &map.over).map_err(contract::refused)?;
    let a = Tile::new("a_part", &found.a, map.m, map.k);
    let b = Tile::new("b_part", &found.b, map.n, map.k);
    let shared = u64::from(map.stages) * u64::from(a.size() + b.size()) * 4;
    if shared > target.shared_per_block() {
        return Err(EmitError(format!(
            "{shared} bytes of tiles do not fit in the shared memory of {target}"
        )));
    }
    let uses = RefCell::new(Uses::default());
    let mut spell = unit.spell(&uses);
    spell.scope = found.scope.clone();
    let mut out = Lines::at(1);
    let frame = Frame {
        unit,
        found: &found,
        map,
        a: &a,
        b: &b,
        spell: &spell,
    };
    let blocks = frame.place(&mut out)?;
    frame.fetch(&mut out);
    let packs = match map.unit {
        ProductUnit::Ffma => frame.multiply_add(&mut out)?,
        ProductUnit::Tf32x3 => tensor::tf32(&frame, &mut out)?,
    };
    for condition in packs {
        unit.require(condition);
    }
    for operand in [&found.a, &found.b] {
        if operand.load.is_some() {
            let fast = match operand.layout {
                Layout::Terms => &found.terms.hi,
                Layout::Rows => {
                    let level = found.nest.levels.iter();
                    let mut level = level.filter(|(_, level)| level.var == operand.rows);
                    match level.next() {
                        Some((_, level)) => &level.hi,
                        None => &found.terms.hi,
                    }
                }
            };
            let size = unit.trips(&Expr::index(0), fast)?;
            unit.require(Requirement::Multiple { size, of: 4 });
        }
    }
    unit.require(Requirement::AtMost {
        size: blocks.clone(),
        limit: i32::MAX as u64,
    });
    let axes: Vec<String> = found
        .nest
        .levels
        .iter()
        .map(|(_, level)| unit.program.var(level.var).name.clone())
        .collect();
    let about = format!(
        "Contracts `{}` by tiles of {} by {}, {} terms at a time.",
        map.over, map.m, map.n, map.k
    );
    let mut geometry = Geometry::line(blocks, THREADS);
    geometry.shared = Formula::Const(shared);
    unit.finish(&axes.join("_"), &about, geometry, uses, &out.finish())
}

/// What the parts of a kernel share.
pub(super) struct Frame<'f, 'a> {
    pub unit: &'f Unit<'a>,
    pub found: &'f Contraction<'a>,
    pub map: &'f Tiles,
    pub a: &'f Tile,
    pub b: &'f Tile,
    pub spell: &'f Spell<'f>,
}

impl Frame<'_, '_> {
    pub fn level(&self, at: usize) -> &Loop {
        self.found.nest.levels[at].1
    }

    pub fn name(&self, at: usize) -> &str {
        &self.spell.program.var(self.level(at).var).name
    }

    /// Which tile of which batch this block works on.
    fn place(&self, out: &mut Lines) -> Result<Formula, EmitError> {
        let (row, column) = (self.found.row, self.found.column);
        let spell = self.spell;
        let (m, n) = (self.map.m, self.map.n);
        let mut blocks = Formula::Const(1);
        out.line("u32 left = blockIdx.x;");
        let split = |out: &mut Lines, at: usize, edge: u32| -> Result<Formula, EmitError> {
            let (name, hi) = (self.name(at), spell.bound(&self.level(at).hi));
            out.line(format!(
                "const u32 {name}_tiles = (u32)(({hi} + {}) / {edge});",
                edge - 1
            ));
            out.line(format!(
                "const usize {name}_block = (usize)(left % {name}_tiles) * {edge};"
            ));
            out.line(format!("left /= {name}_tiles;"));
            Ok(self
                .unit
                .trips(&Expr::index(0), &self.level(at).hi)?
                .groups_of(u64::from(edge)))
        };
        blocks = blocks.times(split(out, row, m)?);
        blocks = blocks.times(split(out, column, n)?);
        for at in (0..self.found.nest.levels.len()).rev() {
            if at == row || at == column {
                continue;
            }
            let (name, hi) = (self.name(at), spell.bound(&self.level(at).hi));
            out.line(format!("const usize {name} = left % (u32){hi};"));
            out.line(format!("left /= (u32){hi};"));
            blocks = blocks.times(self.unit.trips(&Expr::index(0), &self.level(at).hi)?);
        }
        out.line("const u32 lane = threadIdx.x % 32;");
        out.line("const u32 warp = threadIdx.x / 32;");
        Ok(blocks)
    }

    /// The loop over terms around `products`, which works on the stage at `a_part` and `b_part`.
    pub fn over_terms(&self, out: &mut Lines, products: &mut dyn FnMut(&mut Lines)) {
        let spell = self.spell;
        let term = &spell.program.var(self.found.terms.var).name;
        let terms = spell.bound(&self.found.terms.hi);
        let (k, stages) = (self.map.k, self.map.stages);
        let ahead = stages - 1;
        out.line("#pragma unroll");
        out.line(format!(
            "for (u32 stage = 0; stage < {ahead}; stage++) fetch(stage, stage * {k});"
        ));
        out.line("u32 stage = 0;");
        out.open(format!(
            "for (usize {term}_block = 0; {term}_block < {terms}; {term}_block += {k}) {{"
        ));
        out.line(format!("wait_for_copies<{}>();", stages - 2));
        out.line("__syncthreads();");
        out.line(format!(
            "fetch(stage == 0 ? {ahead} : stage - 1, {term}_block + {});",
            ahead * k
        ));
        for (base, tile) in [("a_tiles", self.a), ("b_tiles", self.b)] {
            out.line(format!(
                "const f32* const {} = {base} + stage * {};",
                tile.name,
                tile.size()
            ));
        }
        products(out);
        out.line(format!("stage = stage == {ahead} ? 0 : stage + 1;"));
        out.close("}");
        out.line("wait_for_copies<0>();");
    }

    /// Results: `columns` neighbours from `column_at` on in row `row_at`, with their sums in
    /// `sums`, a text with `lane` in it.
    pub fn results(
        &self,
        out: &mut Lines,
        columns: u32,
        row_at: &str,
        column_at: &str,
        sums: &str,
    ) -> Result<Vec<Requirement>, EmitError> {
        let program = self.spell.program;
        let (row, column) = (self.name(self.found.row), self.name(self.found.column));
        let (rows, ends) = (
            self.spell.bound(&self.level(self.found.row).hi),
            self.spell.bound(&self.level(self.found.column).hi),
        );
        let level = self.level(self.found.column);
        let epilogue = Loop {
            body: [self.found.before, self.found.after].concat(),
            ..level.clone()
        };
        let found = stream::streams(program, &self.found.scope, &epilogue);
        let (streams, mut requires) = packable(self.unit, found, &level.lo, columns);
        let mut spell = self.spell.clone();
        out.line(format!("const usize {row} = {row}_block + {row_at};"));
        out.line(format!(
            "const usize {column}_first = {column}_block + {column_at};"
        ));
        let whole = !streams.is_empty();
        if whole {
            requires.push(Requirement::Multiple {
                size: self.unit.trips(&level.lo, &level.hi)?,
                of: u64::from(columns),
            });
        }
        out.open(format!("if ({row} < {rows} && {column}_first < {ends}) {{"));
        let packs = stream::names(program, &streams, "pack");
        for (pack, stream) in packs.iter().zip(&streams) {
            let ty = element_type(program.buf(stream.buf).elem);
            spell.uses.borrow_mut().helpers.insert("pack");
            if stream.loads {
                spell.uses.borrow_mut().helpers.insert("load_pack");
                let from = address(&spell, stream, &format!("{column}_first"))?;
                out.line(format!(
                    "Pack<{ty}, {columns}> {pack} = load_pack<{columns}>({from});"
                ));
            } else {
                out.line(format!("Pack<{ty}, {columns}> {pack};"));
            }
            spell.held.push(Held {
                buf: stream.buf,
                counter: level.var,
                base: stream.base.clone(),
                place: format!("{pack}.at[lane]"),
            });
        }
        out.line("#pragma unroll");
        out.open(format!("for (int lane = 0; lane < {columns}; lane++) {{"));
        out.line(format!("const usize {column} = {column}_first + lane;"));
        if !whole {
            out.line(format!("if ({column} >= {ends}) break;"));
        }
        for (definitions, _) in &self.found.nest.levels {
            for stmt in *definitions {
                thread::scalar(out, stmt, &spell);
            }
        }
        thread::block(out, self.found.before, &spell, Leaving::Never)?;
        let acc = spell.var(self.found.acc);
        out.line(format!("{acc} = {acc} + {sums};"));
        thread::block(out, self.found.after, &spell, Leaving::Never)?;
        out.close("}");
        for (pack, stream) in packs.iter().zip(&streams) {
            if stream.stores {
                spell.uses.borrow_mut().helpers.insert("store_pack");
                let to = address(&spell, stream, &format!("{column}_first"))?;
                out.line(format!("store_pack<{columns}>({to}, {pack});"));
            }
        }
        out.close("}");
        Ok(requires)
    }

    /// Products by fused multiply-adds: each thread has rows and columns of the tile.
    fn multiply_add(&self, out: &mut Lines) -> Result<Vec<Requirement>, EmitError> {
        let (rows, columns) = (self.map.m / 16, self.map.n / 16);
        out.line("const u32 own_x = lane % 8 + warp % 2 * 8;");
        out.line("const u32 own_y = lane / 8 + warp / 2 * 4;");
        out.line(format!("f32 sums[{rows}][{columns}] = {{}};"));
        self.over_terms(out, &mut |out| {
            out.line("#pragma unroll");
            out.open(format!(
                "for (u32 step = 0; step < {}; step += 4) {{",
                self.map.k
            ));
            self.registers(out, self.a, "a", "own_y", rows);
            self.registers(out, self.b, "b", "own_x", columns);
            out.line("#pragma unroll");
            out.open("for (int term = 0; term < 4; term++) {");
            out.line("#pragma unroll");
            out.open(format!("for (int i = 0; i < {rows}; i++) {{"));
            out.line("#pragma unroll");
            out.line(format!(
                "for (int j = 0; j < {columns}; j++) sums[i][j] = fmaf({}, {}, sums[i][j]);",
                value(self.a, "a", "i"),
                value(self.b, "b", "j")
            ));
            out.close("}");
            out.close("}");
            out.close("}");
        });
        out.line("#pragma unroll");
        out.open(format!(
            "for (int own_row = 0; own_row < {rows}; own_row++) {{"
        ));
        let row = own_row(self.a, "own_y", "own_row");
        out.line("#pragma unroll");
        let requires = match self.b.layout {
            Layout::Rows => {
                out.open(format!(
                    "for (int own_column = 0; own_column < {columns}; own_column += 4) {{"
                ));
                let column = "own_column * 16 + own_x * 4";
                self.results(out, 4, &row, column, "sums[own_row][own_column + lane]")?
            }
            Layout::Terms => {
                out.open(format!(
                    "for (int own_column = 0; own_column < {columns}; own_column++) {{"
                ));
                let column = "own_column * 16 + own_x";
                self.results(out, 1, &row, column, "sums[own_row][own_column + lane]")?
            }
        };
        out.close("}");
        out.close("}");
        Ok(requires)
    }

    /// Reads a thread's share of four terms.
    fn registers(&self, out: &mut Lines, tile: &Tile, name: &str, own: &str, count: u32) {
        self.spell.uses.borrow_mut().helpers.insert("load_pack");
        let part = tile.name;
        match tile.layout {
            Layout::Terms => {
                out.line(format!("Pack<f32, 4> {name}[{count}];"));
                out.line("#pragma unroll");
                out.line(format!(
                    "for (int i = 0; i < {count}; i++) {name}[i] = load_pack<4>({part} + ({own} + 16 * i) * {} + step);",
                    tile.pitch
                ));
            }
            Layout::Rows => {
                out.line(format!("Pack<f32, 4> {name}[4][{}];", count / 4));
                out.line("#pragma unroll");
                out.open("for (int term = 0; term < 4; term++) {");
                out.line("#pragma unroll");
                out.line(format!(
                    "for (int i = 0; i < {}; i++) {name}[term][i] = load_pack<4>({part} + (step + term) * {} + i * 64 + {own} * 4);",
                    count / 4,
                    tile.pitch
                ));
                out.close("}");
            }
        }
    }
}

/// A thread's value of an operand for one term.
fn value(tile: &Tile, name: &str, index: &str) -> String {
    match tile.layout {
        Layout::Terms => format!("{name}[{index}].at[term]"),
        Layout::Rows => format!("{name}[term][{index} / 4].at[{index} % 4]"),
    }
}

/// A thread's own row of the tile.
fn own_row(tile: &Tile, own: &str, index: &str) -> String {
    match tile.layout {
        Layout::Terms => format!("{own} + 16 * {index}"),
        Layout::Rows => format!("{index} / 4 * 64 + {own} * 4 + {index} % 4"),
    }
}
