//! How the operands of a contraction get to shared memory.
//!
//! Owns the pieces that each thread copies, their addresses, and operands that are computed on the
//! way.

use crate::analyze::poly::{self, Atom};
use crate::emit::lines::Lines;
use crate::ir::Expr;

use super::contract::{Layout, Operand};
use super::expr::element_type;
use super::tiles::{Frame, THREADS, Tile};

impl Frame<'_, '_> {
    /// Shared memory, and how a step's operands get there.
    pub fn fetch(&self, out: &mut Lines) {
        let stages = self.map.stages;
        let term = &self.spell.program.var(self.found.terms.var).name;
        out.line("extern __shared__ uint4 shared[];");
        out.line("f32* const a_tiles = reinterpret_cast<f32*>(shared);");
        out.line(format!(
            "f32* const b_tiles = a_tiles + {};",
            stages * self.a.size()
        ));
        self.spell.uses.borrow_mut().helpers.insert("copy_async");
        self.addresses(out, self.a, &self.found.a, self.found.row);
        self.addresses(out, self.b, &self.found.b, self.found.column);
        out.line("// Copies the terms from a given one on to a stage.");
        out.open(format!(
            "const auto fetch = [&](u32 stage, usize {term}_block) {{"
        ));
        let sides = [
            ("a_tiles", self.a, &self.found.a, self.found.row),
            ("b_tiles", self.b, &self.found.b, self.found.column),
        ];
        for (base, tile, operand, level) in sides {
            self.fetch_operand(out, base, tile, operand, level);
        }
        out.line("commit_copies();");
        out.close("};");
    }

    /// Pieces that a thread copies at once, and how they are numbered.
    fn pieces(tile: &Tile, operand: &Operand) -> (u32, u32, u32) {
        let each = if operand.load.is_some() { 4 } else { 1 };
        let pieces = tile.line_len() / each;
        (each, pieces, tile.lines() * pieces)
    }

    /// Declares where a piece lies: its line and place in the tile, row and term.
    fn piece(&self, out: &mut Lines, tile: &Tile, operand: &Operand, level: usize) {
        let name = self.name(level);
        let term = &self.spell.program.var(self.found.terms.var).name;
        let (each, pieces, _) = Self::pieces(tile, operand);
        out.line(format!("const u32 line = piece / {pieces};"));
        out.line(match each {
            1 => format!("const u32 along = piece % {pieces};"),
            each => format!("const u32 along = piece % {pieces} * {each};"),
        });
        let (row, along) = match tile.layout {
            Layout::Terms => ("line", "along"),
            Layout::Rows => ("along", "line"),
        };
        out.line(format!("const usize {name} = {name}_block + {row};"));
        out.line(format!("const usize {term} = {term}_block + {along};"));
    }

    /// Addresses of a thread's pieces, which move on with the terms.
    fn addresses(&self, out: &mut Lines, tile: &Tile, operand: &Operand, level: usize) {
        let Some((buf, index)) = &operand.load else {
            return;
        };
        let spell = self.spell;
        let (name, term) = (
            self.name(level),
            &spell.program.var(self.found.terms.var).name,
        );
        let (_, _, count) = Self::pieces(tile, operand);
        let mut within = spell.clone();
        within.scope = within.scope.enter(spell.program, self.found.terms);
        let ty = element_type(spell.program.buf(*buf).elem);
        let part = tile.name;
        out.line(format!(
            "const {ty}* {part}_from[{}];",
            count.div_ceil(THREADS)
        ));
        out.line("#pragma unroll");
        out.open(format!(
            "for (int own = 0; own < {}; own++) {{",
            count.div_ceil(THREADS)
        ));
        out.line(format!("const u32 piece = threadIdx.x + own * {THREADS};"));
        if !count.is_multiple_of(THREADS) {
            out.line(format!("if (piece >= {count}) break;"));
        }
        out.line(format!("const usize {term}_block = 0;"));
        self.piece(out, tile, operand, level);
        let end = spell.bound(&self.level(level).hi);
        let (buf, index) = (within.buf(*buf), within.text(index));
        // A row beyond the end has no address.
        out.line(format!(
            "{part}_from[own] = {name} < {end} ? {buf} + ({index}) : nullptr;"
        ));
        out.close("}");
    }

    fn fetch_operand(
        &self,
        out: &mut Lines,
        base: &str,
        tile: &Tile,
        operand: &Operand,
        level: usize,
    ) {
        let spell = self.spell;
        let term = &spell.program.var(self.found.terms.var).name;
        let terms = spell.bound(&self.found.terms.hi);
        let (_, _, count) = Self::pieces(tile, operand);
        let (size, pitch, part) = (tile.size(), tile.pitch, tile.name);
        let to = format!("{base} + stage * {size} + line * {pitch} + along");
        out.line("#pragma unroll");
        out.open(format!(
            "for (int own = 0; own < {}; own++) {{",
            count.div_ceil(THREADS)
        ));
        out.line(format!("const u32 piece = threadIdx.x + own * {THREADS};"));
        if !count.is_multiple_of(THREADS) {
            out.line(format!("if (piece >= {count}) break;"));
        }
        self.piece(out, tile, operand, level);
        match &operand.load {
            Some((buf, index)) => {
                let from = format!("{part}_from[own]");
                out.line(format!(
                    "const bool inside = {from} != nullptr && {term} < {terms};"
                ));
                let any = spell.buf(*buf);
                out.line(format!(
                    "copy_async_16({to}, inside ? {from} : {any}, inside);"
                ));
                let step = self.step(index);
                out.line(format!("if ({from} != nullptr) {from} += {step};"));
            }
            None => {
                let mut within = spell.clone();
                within.scope = within.scope.enter(spell.program, self.found.terms);
                let name = self.name(level);
                let end = spell.bound(&self.level(level).hi);
                let value = within.text(&operand.expr);
                out.line(format!(
                    "const bool inside = {name} < {end} && {term} < {terms};"
                ));
                out.line(format!("({to})[0] = inside ? {value} : 0.0f;"));
            }
        }
        out.close("}");
    }

    /// How far an address moves from one step to the next.
    fn step(&self, index: &Expr) -> String {
        let spell = self.spell;
        let poly = poly::read(spell.program, &spell.scope.definitions, index);
        let slope = poly.and_then(|poly| poly.linear_in(&Atom::Var(self.found.terms.var)));
        let slope = slope.map(|(slope, _)| spell.poly(&slope));
        match slope.as_deref() {
            Some("1") | None => self.map.k.to_string(),
            Some(slope) => format!("{} * ({slope})", self.map.k),
        }
    }
}
