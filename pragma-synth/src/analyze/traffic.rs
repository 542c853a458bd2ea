//! What a program must move and compute: the inputs of its roofline.
//!
//! Counted from the IR for concrete dimensions. Bytes are compulsory traffic: every element of
//! a parameter once in and, if written, once out, however often it is touched. After Williams,
//! Waterman and Patterson, "Roofline" (CACM 52(4), 2009).

use std::collections::BTreeMap;

use crate::ir::{BufId, BufRole, Expr, Func, Program, Stmt};

use super::bounds::Scope;
use super::poly::{self, Atom, Definitions, Poly};

/// Compulsory memory traffic and arithmetic of one call.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Traffic {
    /// Bytes read from parameters.
    pub bytes_read: f64,
    /// Bytes written to parameters and the returned `Vec`.
    pub bytes_written: f64,
    /// Floating-point operations; a fused multiply-add counts as two, a transcendental
    /// function as the number of operations that a vector implementation of it takes.
    pub flops: f64,
    /// Integer operations on data (not on indices), on the same scale.
    pub integer_ops: f64,
}

impl Traffic {
    /// All bytes moved.
    pub fn bytes(&self) -> f64 {
        self.bytes_read + self.bytes_written
    }

    /// Operations per byte.
    pub fn intensity(&self) -> f64 {
        (self.flops + self.integer_ops) / self.bytes().max(1.0)
    }
}

/// Counts `program` for the given sizes, in the order of `Program::dims`. Loops whose bounds
/// depend on outer counters are counted with those counters in the middle of their ranges.
pub fn traffic(program: &Program, dims: &[u64]) -> Traffic {
    let mut count = Count {
        program,
        dims,
        vars: BTreeMap::new(),
        loads: BTreeMap::new(),
        stores: BTreeMap::new(),
        traffic: Traffic::default(),
    };
    count.block(&program.body, 1.0, &mut Definitions::default());
    count.finish()
}

/// The number of innermost iterations of `body` for the given sizes: a measure of its work.
pub fn innermost_iterations(program: &Program, dims: &[u64], body: &[Stmt]) -> f64 {
    let mut count = Count {
        program,
        dims,
        vars: BTreeMap::new(),
        loads: BTreeMap::new(),
        stores: BTreeMap::new(),
        traffic: Traffic::default(),
    };
    count.innermost(body, 1.0)
}

/// An upper bound on the innermost iterations of one run of `body`, as a polynomial of the
/// dimensions: counters of outer loops are taken at their ends. `None` where a bound is no
/// polynomial.
pub fn work_bound(program: &Program, scope: &Scope, body: &[Stmt]) -> Option<Poly> {
    let mut total = Poly::default();
    let mut scope = scope.clone();
    for stmt in body {
        match stmt {
            Stmt::Let { var, value } => scope.define(program, *var, value),
            Stmt::For(inner) => {
                let within = scope.enter(program, inner);
                let range = within
                    .ranges
                    .last()
                    .filter(|range| range.var == inner.var)?;
                let mut trips = range.hi.clone();
                for outer in scope.ranges.iter().rev() {
                    trips = trips.substitute(&Atom::Var(outer.var), &outer.hi);
                }
                let below = work_bound(program, &within, &inner.body)?;
                let below = if below == Poly::default() {
                    Poly::constant(1)
                } else {
                    below
                };
                total = total.plus(&trips.times(&below));
            }
            _ => {
                for block in stmt.blocks() {
                    total = total.plus(&work_bound(program, &scope, block)?);
                }
            }
        }
    }
    Some(total)
}

struct Count<'a> {
    program: &'a Program,
    dims: &'a [u64],
    vars: BTreeMap<crate::ir::VarId, f64>,
    loads: BTreeMap<BufId, f64>,
    stores: BTreeMap<BufId, f64>,
    traffic: Traffic,
}

impl Count<'_> {
    fn value(&self, definitions: &Definitions, expr: &Expr) -> Option<f64> {
        let poly = poly::read(self.program, definitions, expr)?;
        Some(poly.eval(&|atom| match atom {
            Atom::Dim(dim) => self.dims.get(*dim).map_or(1, |d| *d as i64),
            Atom::Var(var) => self.vars.get(var).map_or(1, |v| *v as i64),
            // Evaluated by its parts.
            Atom::Quotient(_) => 1,
        }) as f64)
    }

    fn trips(&mut self, definitions: &Definitions, inner: &crate::ir::Loop) -> f64 {
        let lo = self.value(definitions, &inner.lo).unwrap_or(0.0);
        let hi = self.value(definitions, &inner.hi).unwrap_or(lo + 1.0);
        self.vars.insert(inner.var, (lo + hi) / 2.0);
        ((hi - lo) / inner.step as f64).ceil().max(0.0)
    }

    fn innermost(&mut self, body: &[Stmt], times: f64) -> f64 {
        let mut total = 0.0;
        for stmt in body {
            if let Stmt::For(inner) = stmt {
                let times = times * self.trips(&Definitions::default(), inner);
                let below = self.innermost(&inner.body, times);
                total += if below > 0.0 { below } else { times };
            } else {
                for block in stmt.blocks() {
                    total += self.innermost(block, times);
                }
            }
        }
        total
    }

    fn block(&mut self, body: &[Stmt], times: f64, definitions: &mut Definitions) {
        for stmt in body {
            for expr in stmt.exprs() {
                self.expr(expr, times);
            }
            match stmt {
                Stmt::Let { var, value } => {
                    if let Some(poly) = poly::read(self.program, definitions, value) {
                        definitions.define(*var, poly);
                    }
                }
                Stmt::Store { buf, .. } => *self.stores.entry(*buf).or_default() += times,
                Stmt::For(inner) => {
                    let times = times * self.trips(definitions, inner);
                    self.block(&inner.body, times, &mut definitions.clone());
                }
                _ => {
                    for block in stmt.blocks() {
                        self.block(block, times, &mut definitions.clone());
                    }
                }
            }
        }
    }

    fn expr(&mut self, expr: &Expr, times: f64) {
        expr.walk(&mut |node| {
            let scalar = node.scalar(self.program);
            let ops = match node {
                Expr::Load { buf, .. } => {
                    *self.loads.entry(*buf).or_default() += times;
                    0.0
                }
                Expr::Binary(..) | Expr::Compare(..) | Expr::Select { .. } => 1.0,
                Expr::Call(func, _) => vector_ops(*func),
                _ => 0.0,
            };
            let operand = match node {
                Expr::Compare(_, a, _) => a.scalar(self.program),
                _ => scalar,
            };
            if operand.is_float() {
                self.traffic.flops += ops * times;
            } else if operand != pragma_spec::Scalar::Usize {
                self.traffic.integer_ops += ops * times;
            }
        });
    }

    fn finish(self) -> Traffic {
        let mut traffic = self.traffic;
        let lookup = |name: &str| {
            let at = self.program.dims.iter().position(|dim| dim == name)?;
            self.dims.get(at).copied()
        };
        for (index, decl) in self.program.bufs.iter().enumerate() {
            if decl.role == BufRole::Local {
                continue;
            }
            let buf = BufId(index as u32);
            let len = decl
                .shape
                .len()
                .eval(&lookup)
                .map_or(f64::INFINITY, |len| len as f64);
            let bytes = decl.elem.bytes() as f64;
            let touched = |counts: &BTreeMap<BufId, f64>| {
                counts.get(&buf).map_or(0.0, |count| count.min(len) * bytes)
            };
            // What the function writes before it reads need not come from memory.
            if decl.role == BufRole::Input || reads_old_content(self.program, buf) {
                traffic.bytes_read += touched(&self.loads);
            }
            traffic.bytes_written += touched(&self.stores);
        }
        traffic
    }
}

/// Whether the first touch of `buf` in program order is a load.
pub fn reads_old_content(program: &Program, buf: BufId) -> bool {
    let mut first = None;
    program.walk(&mut |stmt| {
        if first.is_some() {
            return;
        }
        let mut loads = false;
        for expr in stmt.exprs() {
            expr.walk(&mut |node| loads |= matches!(node, Expr::Load { buf: b, .. } if *b == buf));
        }
        if loads {
            first = Some(true);
        } else if matches!(stmt, Stmt::Store { buf: b, .. } if *b == buf) {
            first = Some(false);
        }
    });
    first.unwrap_or(false)
}

/// Vector operations that the runtime's implementation of a function takes, about.
pub(crate) fn vector_ops(func: Func) -> f64 {
    match func {
        Func::MulAdd => 2.0,
        Func::Exp | Func::Exp2 => 14.0,
        Func::Ln | Func::Log2 | Func::Log10 => 18.0,
        Func::ExpM1 | Func::Ln1p | Func::Tanh | Func::Sin | Func::Cos => 24.0,
        Func::Tan
        | Func::Asin
        | Func::Acos
        | Func::Atan
        | Func::Atan2
        | Func::Sinh
        | Func::Cosh
        | Func::Cbrt => 30.0,
        Func::Powf | Func::Powi | Func::Hypot => 45.0,
        Func::Sqrt | Func::Recip => 4.0,
        _ => 1.0,
    }
}
