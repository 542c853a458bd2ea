//! Which loops of a nest run in vectors.
//!
//! Owns an estimate of the instructions that each choice takes at the size in question, and the
//! best choice by it: an outer loop whose lanes load neighbours beats an inner one that gathers
//! or reduces, and the other way round. The estimate only ranks; measuring decides.

use std::collections::BTreeMap;

use pragma_spec::Scalar;

use crate::analyze::poly::{self, Atom, Definitions, Poly};
use crate::ir::{Expr, Func, Loop, Program, Stmt, VarId};

use super::structure::VectorAxis;

/// Rounds of a conditional loop, for want of better knowledge.
const ROUNDS: f64 = 16.0;
/// What the lanes and accumulators of a reduction cost at the end of a loop.
const REDUCE: f64 = 12.0;
/// One element per lane from anywhere; the same for elements narrower than 32 bits.
const GATHER: f64 = 12.0;
const NARROW_GATHER: f64 = 32.0;

/// A choice and its estimated cost.
#[derive(Clone, Debug, Default)]
pub(super) struct Choice {
    pub axes: Vec<String>,
    pub cost: f64,
}

/// Ranks the loops of one program.
pub(super) struct Chooser<'a> {
    program: &'a Program,
    dims: &'a [u64],
    lanes: f64,
    legal: BTreeMap<String, bool>,
    vars: BTreeMap<VarId, f64>,
}

/// The loop in vectors around, if any, and what is known of indices.
#[derive(Clone)]
struct Around {
    vector: Option<VarId>,
    definitions: Definitions,
    /// Counters of the loops inside the vector loop.
    inner: Vec<VarId>,
}

impl<'a> Chooser<'a> {
    pub fn new(program: &'a Program, dims: &'a [u64], lanes: u32, legal: &[VectorAxis]) -> Self {
        Chooser {
            program,
            dims,
            lanes: f64::from(lanes),
            legal: legal
                .iter()
                .map(|axis| (axis.name.clone(), axis.reduces))
                .collect(),
            vars: BTreeMap::new(),
        }
    }

    /// The best axes for a whole program.
    pub fn best(&mut self) -> Choice {
        let around = Around {
            vector: None,
            definitions: Definitions::default(),
            inner: Vec::new(),
        };
        let program = self.program;
        self.block(&program.body, &around, true)
    }

    /// The innermost loops that may run in vectors.
    pub fn innermost(&mut self) -> Choice {
        let around = Around {
            vector: None,
            definitions: Definitions::default(),
            inner: Vec::new(),
        };
        let program = self.program;
        self.block(&program.body, &around, false)
    }

    fn trips(&mut self, inner: &Loop, definitions: &Definitions) -> f64 {
        let value = |expr: &Expr| {
            let expr = match expr {
                Expr::Call(Func::Min, args) => args.first()?,
                _ => expr,
            };
            let poly = poly::read(self.program, definitions, expr)?;
            Some(self.eval(&poly) as f64)
        };
        let lo = value(&inner.lo).unwrap_or(0.0);
        let hi = value(&inner.hi).unwrap_or(lo + ROUNDS);
        self.vars.insert(inner.var, (lo + hi) / 2.0);
        ((hi - lo) / inner.step as f64).ceil().max(0.0)
    }

    fn eval(&self, poly: &Poly) -> i64 {
        poly.eval(&|atom| match atom {
            Atom::Dim(dim) => self.dims.get(*dim).map_or(1, |dim| *dim as i64),
            Atom::Var(var) => self.vars.get(var).map_or(1, |value| *value as i64),
            Atom::Quotient(_) => 1,
        })
    }

    fn block(&mut self, body: &[Stmt], around: &Around, outer: bool) -> Choice {
        let mut around = around.clone();
        let mut total = Choice::default();
        for stmt in body {
            let part = self.stmt(stmt, &around, outer);
            total.cost += part.cost;
            total.axes.extend(part.axes);
            if let Stmt::Let { var, value } = stmt
                && let Some(poly) = poly::read(self.program, &around.definitions, value)
            {
                around.definitions.define(*var, poly);
            }
        }
        total
    }

    fn stmt(&mut self, stmt: &Stmt, around: &Around, outer: bool) -> Choice {
        let mut cost: f64 = stmt
            .exprs()
            .iter()
            .map(|expr| self.expr(expr, around))
            .sum();
        if let Stmt::Store { buf, index, .. } = stmt {
            cost += 1.5 * self.access(*buf, index, around, true);
        }
        let mut axes = Vec::new();
        match stmt {
            Stmt::For(inner) => {
                let found = self.nest(inner, around, outer);
                cost += found.cost;
                axes = found.axes;
            }
            Stmt::While { body, .. } => {
                let found = self.block(body, around, outer);
                // Lanes wait for the one that takes longest.
                let rounds = if around.vector.is_some() { 1.5 } else { 1.0 } * ROUNDS;
                cost += rounds * (found.cost + 1.0);
                axes = found.axes;
            }
            _ => {
                for block in stmt.blocks() {
                    let found = self.block(block, around, outer);
                    cost += found.cost;
                    axes.extend(found.axes);
                }
            }
        }
        Choice { axes, cost }
    }

    fn nest(&mut self, inner: &Loop, around: &Around, outer: bool) -> Choice {
        let trips = self.trips(inner, &around.definitions);
        let name = &self.program.var(inner.var).name;
        let mut inside = around.clone();
        if around.vector.is_some() {
            inside.inner.push(inner.var);
        }
        let mut serial = self.block(&inner.body, &inside, outer);
        serial.cost = trips * (serial.cost + 1.0);
        if around.vector.is_some() {
            return serial;
        }
        let Some(reduces) = self.legal.get(name).copied() else {
            return serial;
        };
        inside.vector = Some(inner.var);
        let body = self.block(&inner.body, &inside, outer);
        let steps = (trips / self.lanes).ceil();
        let reduce = if reduces { REDUCE } else { 0.0 };
        let vector = Choice {
            axes: vec![name.clone()],
            cost: steps * (body.cost + 1.0) + reduce + 4.0,
        };
        let better = if outer {
            vector.cost < serial.cost
        } else {
            serial.axes.is_empty()
        };
        if better { vector } else { serial }
    }

    fn expr(&self, expr: &Expr, around: &Around) -> f64 {
        let mut cost = 0.0;
        expr.walk(&mut |node| {
            let scalar = match node {
                Expr::Compare(_, a, _) => a.scalar(self.program),
                _ => node.scalar(self.program),
            };
            // 64-bit lanes take two registers.
            let registers = if around.vector.is_some() && scalar.bytes() == 8 {
                2.0
            } else {
                1.0
            };
            cost += match node {
                Expr::Load { buf, index } => self.access(*buf, index, around, false),
                _ if scalar == Scalar::Usize || scalar == Scalar::Isize => 0.0,
                Expr::Binary(..) | Expr::Compare(..) | Expr::Select { .. } => registers,
                Expr::Call(func, _) => registers * traffic_ops(*func),
                _ => 0.0,
            };
        });
        cost
    }

    fn access(&self, buf: crate::ir::BufId, index: &Expr, around: &Around, store: bool) -> f64 {
        let Some(axis) = around.vector else {
            return 1.0;
        };
        let elem = self.program.buf(buf).elem;
        let registers = elem.bytes().div_ceil(4).max(1) as f64;
        let narrow = elem.bytes() < 4;
        let anywhere = if narrow { NARROW_GATHER } else { GATHER } * registers;
        let poly = poly::read(self.program, &around.definitions, index);
        let cost = match poly.and_then(|poly| poly.linear_in(&Atom::Var(axis))) {
            Some((slope, _)) => match self.eval(&slope) {
                0 => 0.5,
                1 if slope.as_constant().is_some() => registers,
                2..=4 if elem.bytes() == 1 && !store => 8.0,
                -4..=4 if !narrow => 6.0 * registers,
                // Each lane has a cache line, or even a page, for itself.
                -16..=16 => anywhere,
                -1024..=1024 => 1.5 * anywhere,
                _ => 2.0 * anywhere,
            },
            None => anywhere,
        };
        // What does not change in the loop inside is loaded in front of it.
        match around.inner.last() {
            Some(counter) if !index.mentions(*counter) && !self.varies(index) => 0.2 * cost,
            _ => cost,
        }
    }

    /// Whether an index depends on more than counters and sizes.
    fn varies(&self, index: &Expr) -> bool {
        let mut varies = false;
        index.walk(&mut |node| {
            varies |= match node {
                Expr::Load { .. } => true,
                Expr::Var(var) => self.program.var(*var).mutable || !self.vars.contains_key(var),
                _ => false,
            };
        });
        varies
    }
}

fn traffic_ops(func: Func) -> f64 {
    crate::analyze::traffic::vector_ops(func)
}

/// Vectors that one step of an outer loop should work on: as many as leave room in the registers.
pub(super) fn side_by_side(program: &Program, of: &Loop, lanes: u32) -> u32 {
    let mut live = 0;
    for stmt in &of.body {
        stmt.walk(&mut |stmt| {
            if let Stmt::Let { var, .. } = stmt {
                let decl = program.var(*var);
                if decl.mutable {
                    live += if decl.scalar.bytes() == 8 { 2 } else { 1 };
                }
            }
        });
    }
    let registers = if lanes >= 16 { 32 } else { 16 };
    match registers / (4 * live.max(1)) {
        0 | 1 => 1,
        2 | 3 => 2,
        _ => 4,
    }
}

/// The loops directly or indirectly inside `of`, by name.
pub(super) fn inside(program: &Program, of: &Loop) -> Vec<String> {
    let mut names = Vec::new();
    for stmt in &of.body {
        stmt.walk(&mut |stmt| {
            if let Stmt::For(inner) = stmt {
                names.push(program.var(inner.var).name.clone());
            }
        });
    }
    names
}

/// Whether `body` holds a loop of any kind.
pub(super) fn has_loops(body: &[Stmt]) -> bool {
    let mut found = false;
    for stmt in body {
        stmt.walk(&mut |stmt| found |= matches!(stmt, Stmt::For(_) | Stmt::While { .. }));
    }
    found
}
