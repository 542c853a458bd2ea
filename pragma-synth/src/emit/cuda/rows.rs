//! Rows that a team keeps in registers from one pass to the next.
//!
//! Owns which rows those are, their registers, and the passes over them. Each thread has its own
//! elements, the same ones in every pass.

use crate::analyze::depend;
use crate::analyze::poly::{self, Poly};
use crate::emit::lines::Lines;
use crate::ir::{BufId, BufRole, Expr, Loop, Stmt, VarId};

use super::expr::{Held, Spell, element_type};
use super::grid::{address, packable};
use super::plan::Requirement;
use super::stream::{self, Stream};
use super::team::{Outcome, Writer};
use super::thread::{self, Leaving};

/// A row of elements that the team keeps in registers.
pub(super) struct Row {
    pub buf: BufId,
    pub base: Poly,
    pub name: String,
    /// The first pass needs the elements from memory.
    pub loads: bool,
    /// The pass that writes the row to memory.
    pub written_by: Option<VarId>,
    /// Declared already.
    pub ready: bool,
}

impl Writer<'_, '_> {
    /// Decides which rows to keep, from the loops directly in the body of a row.
    pub fn choose_rows(&mut self, body: &[Stmt], spell: &Spell<'_>) -> Outcome {
        let program = self.unit.program;
        let mut scope = spell.scope.clone();
        let mut passes: Vec<(&Loop, Vec<Stream>)> = Vec::new();
        let mut size = None;
        for stmt in body {
            match stmt {
                Stmt::Let { var, value } => scope.define(program, *var, value),
                Stmt::For(inner) if inner.step == 1 && inner.lo == Expr::index(0) => {
                    let hi = poly::read(program, &scope.definitions, &inner.hi);
                    let shared = depend::parallelizable(program, &scope, inner).is_ok();
                    if !shared || hi.is_none() || (self.range.is_some() && self.range != hi) {
                        continue;
                    }
                    if self.range.is_none() {
                        size = self.unit.formula(&inner.hi);
                        if size.is_none() {
                            continue;
                        }
                        self.range = hi;
                    }
                    passes.push((inner, stream::streams(program, &scope, inner)));
                }
                _ => {}
            }
        }
        let Some(size) = size else { return Ok(()) };
        let vector = self.map.vector;
        let written = depend::stored(body);
        let mut rows: Vec<Stream> = Vec::new();
        for (_, streams) in &passes {
            for stream in streams {
                let known = rows
                    .iter()
                    .any(|row| row.buf == stream.buf && row.base == stream.base);
                if known {
                    continue;
                }
                if written.contains(&stream.buf) && !is_regular(body, &passes, stream) {
                    continue;
                }
                rows.push(stream.clone());
            }
        }
        // What cannot move in packs is not kept either.
        let (rows, requires) = match vector {
            1 => (rows, Vec::new()),
            _ => packable(self.unit, rows, &Expr::index(0), vector),
        };
        if rows.is_empty() {
            self.range = None;
            return Ok(());
        }
        for condition in requires {
            self.unit.require(condition);
        }
        if vector > 1 {
            self.unit.require(Requirement::Multiple {
                size: size.clone(),
                of: u64::from(vector),
            });
        }
        let limit = u64::from(vector) * u64::from(self.map.items) * u64::from(self.map.threads);
        self.unit.require(Requirement::AtMost { size, limit });
        let names = stream::names(program, &rows, "row");
        for (stream, name) in rows.into_iter().zip(names) {
            let last = passes.iter().rev().find(|(_, streams)| {
                streams
                    .iter()
                    .any(|other| other.buf == stream.buf && other.stores)
            });
            let local = program.buf(stream.buf).role == BufRole::Local;
            self.rows.push(Row {
                buf: stream.buf,
                loads: stream.loads && !local,
                base: stream.base,
                name,
                written_by: last.filter(|_| !local).map(|(pass, _)| pass.var),
                ready: false,
            });
        }
        Ok(())
    }

    pub fn declare_row(&mut self, out: &mut Lines, at: usize, spell: &Spell<'_>) {
        let row = &mut self.rows[at];
        if row.ready {
            return;
        }
        row.ready = true;
        let ty = element_type(spell.program.buf(row.buf).elem);
        let (vector, name, items) = (self.map.vector, &row.name, self.map.items);
        spell.uses.borrow_mut().helpers.insert("pack");
        out.line(format!("Pack<{ty}, {vector}> {name}[{items}];"));
    }

    /// Reads the rows that a pass needs and nobody has read yet.
    pub fn load_rows(&mut self, out: &mut Lines, inner: &Loop, spell: &Spell<'_>) -> Outcome {
        let (threads, vector, items) = (self.map.threads, self.map.vector, self.map.items);
        let streams = stream::streams(spell.program, &spell.scope, inner);
        let mut loads = Vec::new();
        for stream in &streams {
            let found = self
                .rows
                .iter()
                .position(|row| row.buf == stream.buf && row.base == stream.base);
            let Some(at) = found else { continue };
            if self.rows[at].ready {
                continue;
            }
            self.declare_row(out, at, spell);
            if self.rows[at].loads {
                loads.push((self.rows[at].name.clone(), stream.clone()));
            }
        }
        if loads.is_empty() {
            return Ok(());
        }
        let name = &spell.program.var(inner.var).name;
        out.line("#pragma unroll");
        out.open(format!("for (int item = 0; item < {items}; item++) {{"));
        out.line(format!(
            "const usize {name}_first = (item * {threads} + rank) * {vector};"
        ));
        out.open(format!("if ({name}_first < {}) {{", spell.bound(&inner.hi)));
        for (row, stream) in loads {
            spell.uses.borrow_mut().helpers.insert("load_pack");
            let from = address(spell, &stream, &format!("{name}_first"))?;
            out.line(format!("{row}[item] = load_pack<{vector}>({from});"));
        }
        out.close("}");
        out.close("}");
        Ok(())
    }

    /// Each thread on the elements it keeps.
    pub fn kept_pass(&mut self, out: &mut Lines, inner: &Loop, spell: &mut Spell<'_>) -> Outcome {
        let (threads, vector, items) = (self.map.threads, self.map.vector, self.map.items);
        let name = spell.program.var(inner.var).name.clone();
        let ready = self.rows.iter().filter(|row| row.ready);
        spell.held.extend(ready.map(|row| Held {
            buf: row.buf,
            counter: inner.var,
            base: row.base.clone(),
            place: format!("{}[item].at[lane]", row.name),
        }));
        out.line("#pragma unroll");
        out.open(format!("for (int item = 0; item < {items}; item++) {{"));
        out.line(format!(
            "const usize {name}_first = (item * {threads} + rank) * {vector};"
        ));
        out.open(format!("if ({name}_first < {}) {{", spell.bound(&inner.hi)));
        out.line("#pragma unroll");
        out.open(format!("for (int lane = 0; lane < {vector}; lane++) {{"));
        out.line(format!("const usize {name} = {name}_first + lane;"));
        thread::block(out, &inner.body, spell, Leaving::Never)?;
        out.close("}");
        for row in &self.rows {
            if row.written_by == Some(inner.var) {
                spell.uses.borrow_mut().helpers.insert("store_pack");
                let stream = Stream {
                    buf: row.buf,
                    base: row.base.clone(),
                    loads: false,
                    stores: true,
                    only: true,
                };
                let to = address(spell, &stream, &format!("{name}_first"))?;
                out.line(format!("store_pack<{vector}>({to}, {}[item]);", row.name));
            }
        }
        out.close("}");
        out.close("}");
        Ok(())
    }
}

/// Whether everything that a row's body does to a written buffer is in these passes, each thread
/// on its own elements.
fn is_regular(body: &[Stmt], passes: &[(&Loop, Vec<Stream>)], stream: &Stream) -> bool {
    body.iter().all(|stmt| {
        let one = std::slice::from_ref(stmt);
        let touches =
            depend::loaded(one).contains(&stream.buf) || depend::stored(one).contains(&stream.buf);
        if !touches {
            return true;
        }
        let pass = match stmt {
            Stmt::Alloc { .. } => return true,
            Stmt::For(inner) => passes.iter().find(|(pass, _)| pass.var == inner.var),
            _ => None,
        };
        pass.is_some_and(|(_, streams)| {
            streams
                .iter()
                .any(|other| other.buf == stream.buf && other.base == stream.base && other.only)
        })
    })
}
