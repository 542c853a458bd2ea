//! Streams: neighbouring elements that a loop reads or writes as its counter goes up.
//!
//! Owns finding them: accesses at `base + counter`. A mapping moves a stream in packs, or keeps a
//! row of it in registers; every other access stays what it is. A buffer that the loop writes is
//! a stream only if each iteration touches its own element of it and writes it for certain.

use std::collections::BTreeSet;

use crate::analyze::bounds::Scope;
use crate::analyze::depend;
use crate::analyze::poly::{self, Atom, Poly};
use crate::ir::{BufId, Expr, Loop, Program, Stmt, VarId};

/// Elements of `buf` at `base` plus the counter.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Stream {
    pub buf: BufId,
    /// The index where the counter is 0; mentions nothing that changes in the loop.
    pub base: Poly,
    /// Whether the loop needs the old elements.
    pub loads: bool,
    /// Whether the loop writes every one of them.
    pub stores: bool,
    /// Whether the loop touches nothing else of the buffer.
    pub only: bool,
}

struct Access {
    buf: BufId,
    /// `None`: not of the form base + counter, or not shown to be in bounds.
    base: Option<Poly>,
    store: bool,
    /// In the loop's own body, not in a branch or an inner loop.
    certain: bool,
}

struct Finder<'a> {
    program: &'a Program,
    counter: VarId,
    inner: BTreeSet<VarId>,
    accesses: Vec<Access>,
}

impl Finder<'_> {
    fn base(&self, scope: &Scope, buf: BufId, index: &Expr) -> Option<Poly> {
        if !scope.is_in_bounds(self.program, buf, index) {
            return None;
        }
        let poly = poly::read(self.program, &scope.definitions, index)?;
        let (slope, base) = poly.linear_in(&Atom::Var(self.counter))?;
        let moves = base.vars().iter().any(|var| self.inner.contains(var));
        (slope == Poly::constant(1) && !moves).then_some(base)
    }

    fn block(&mut self, body: &[Stmt], scope: &Scope, certain: bool) {
        let mut scope = scope.clone();
        for stmt in body {
            let mut found = Vec::new();
            for expr in stmt.exprs() {
                expr.walk(&mut |node| {
                    if let Expr::Load { buf, index } = node {
                        found.push((*buf, &**index));
                    }
                });
            }
            for (buf, index) in found {
                let base = self.base(&scope, buf, index);
                self.accesses.push(Access {
                    buf,
                    base,
                    store: false,
                    certain,
                });
            }
            match stmt {
                Stmt::Let { var, value } => scope.define(self.program, *var, value),
                Stmt::Store { buf, index, .. } => {
                    let base = self.base(&scope, *buf, index);
                    self.accesses.push(Access {
                        buf: *buf,
                        base,
                        store: true,
                        certain,
                    });
                }
                Stmt::For(inner) => {
                    let within = scope.enter(self.program, inner);
                    self.block(&inner.body, &within, false);
                }
                _ => {
                    for block in stmt.blocks() {
                        self.block(block, &scope, false);
                    }
                }
            }
        }
    }
}

/// The streams of a loop, in order of first use; `scope` is that around the loop.
pub(super) fn streams(program: &Program, scope: &Scope, of: &Loop) -> Vec<Stream> {
    let mut inner = BTreeSet::new();
    for stmt in &of.body {
        stmt.walk(&mut |stmt| match stmt {
            Stmt::Let { var, .. } => {
                inner.insert(*var);
            }
            Stmt::For(below) => {
                inner.insert(below.var);
            }
            _ => {}
        });
    }
    let mut finder = Finder {
        program,
        counter: of.var,
        inner,
        accesses: Vec::new(),
    };
    finder.block(&of.body, &scope.enter(program, of), true);
    let own = depend::allocated(&of.body);
    let mut streams: Vec<Stream> = Vec::new();
    for access in &finder.accesses {
        if own.contains(&access.buf) {
            continue;
        }
        let Some(base) = &access.base else { continue };
        let known = streams
            .iter()
            .any(|stream| stream.buf == access.buf && stream.base == *base);
        if known {
            continue;
        }
        let of_buf = || {
            finder
                .accesses
                .iter()
                .filter(|other| other.buf == access.buf)
        };
        let stores = of_buf().any(|other| other.store);
        if stores {
            let regular = of_buf().all(|other| other.base.as_ref() == Some(base));
            let certain = of_buf().all(|other| !other.store || other.certain);
            if !regular || !certain {
                continue;
            }
        }
        // An iteration that ends early would leave its element unwritten.
        if stores && depend::jumps(&of.body) {
            continue;
        }
        let same = || of_buf().filter(|other| other.base.as_ref() == Some(base));
        let only = of_buf().all(|other| other.base.as_ref() == Some(base));
        streams.push(Stream {
            only,
            buf: access.buf,
            base: base.clone(),
            loads: same().next().is_some_and(|first| !first.store),
            stores,
        });
    }
    streams
}

/// Names for streams: `x_pack`, and `x_pack_2` for the second one of `x`.
pub(super) fn names(program: &Program, streams: &[Stream], ending: &str) -> Vec<String> {
    let mut names = Vec::new();
    for (at, stream) in streams.iter().enumerate() {
        let before = streams[..at]
            .iter()
            .filter(|other| other.buf == stream.buf)
            .count();
        let name = &program.buf(stream.buf).name;
        names.push(match before {
            0 => format!("{name}_{ending}"),
            n => format!("{name}_{ending}_{}", n + 1),
        });
    }
    names
}

/// The loops of a nest, each directly in the one before but for scalar definitions, with those.
pub(super) struct Nest<'a> {
    /// Definitions in front of each loop but the first, and the loop.
    pub levels: Vec<(&'a [Stmt], &'a Loop)>,
}

/// The nest over `axes` that begins with `outer`.
pub(super) fn nest<'a>(
    program: &Program,
    outer: &'a Loop,
    axes: &[String],
) -> Result<Nest<'a>, String> {
    let mut levels: Vec<(&[Stmt], &Loop)> = vec![(&[], outer)];
    for axis in axes.iter().skip(1) {
        let (_, last) = levels[levels.len() - 1];
        let (definitions, found) = match last.body.split_last() {
            Some((Stmt::For(inner), before)) => (before, inner),
            _ => {
                return Err(format!(
                    "`{axis}` is not directly inside the loop around it"
                ));
            }
        };
        if program.var(found.var).name != *axis {
            return Err(format!(
                "`{axis}` is not directly inside the loop around it"
            ));
        }
        let plain = definitions
            .iter()
            .all(|stmt| matches!(stmt, Stmt::Let { var, .. } if !program.var(*var).mutable));
        if !plain {
            return Err(format!("more than definitions stand in front of `{axis}`"));
        }
        levels.push((definitions, found));
    }
    Ok(Nest { levels })
}

impl<'a> Nest<'a> {
    /// The innermost loop.
    pub fn innermost(&self) -> &'a Loop {
        self.levels[self.levels.len() - 1].1
    }

    /// The scope around each loop.
    pub fn scopes(&self, program: &Program, around: &Scope) -> Vec<Scope> {
        let mut scope = around.clone();
        let mut scopes = Vec::new();
        for (at, (definitions, inner)) in self.levels.iter().enumerate() {
            if at > 0 {
                scope = scope.enter(program, self.levels[at - 1].1);
            }
            for stmt in *definitions {
                if let Stmt::Let { var, value } = stmt {
                    scope.define(program, *var, value);
                }
            }
            let _ = inner;
            scopes.push(scope.clone());
        }
        scopes
    }

    /// Checks that every loop may run its iterations in any order, and has none to combine.
    pub fn check(&self, program: &Program, around: &Scope) -> Result<(), String> {
        if self.levels.len() > 1 {
            let loops: Vec<&Loop> = self.levels.iter().map(|(_, inner)| *inner).collect();
            if crate::analyze::nest::independent(program, around, &loops).is_ok() {
                return Ok(());
            }
        }
        for ((_, inner), scope) in self.levels.iter().zip(self.scopes(program, around)) {
            let name = &program.var(inner.var).name;
            if inner.step != 1 {
                return Err(format!("the step of `{name}` is not 1"));
            }
            let reductions = depend::parallelizable(program, &scope, inner)
                .map_err(|hazard| format!("`{name}`: {}", hazard.describe(program)))?;
            if !reductions.is_empty() {
                return Err(format!("`{name}` combines values of its iterations"));
            }
        }
        Ok(())
    }
}
