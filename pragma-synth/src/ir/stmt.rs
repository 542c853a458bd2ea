//! Statements and loops.

use super::{BufId, Expr, VarId};

/// How a store should reach memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum StoreHint {
    /// Through the caches.
    #[default]
    Cached,
    /// Around the caches (non-temporal), where the emitter can; same result.
    Stream,
}

/// How a loop is to be executed. Marks are requests that an action has found legal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Mark {
    /// One iteration after the other.
    #[default]
    Serial,
    /// `LANES` iterations at once, `unroll` vectors per step; reductions get one accumulator
    /// for each of the `unroll` vectors. The remainder is done by a masked or scalar tail.
    Vector {
        /// Vectors per step, at least 1.
        unroll: u32,
    },
    /// Blocks of iterations on several threads. A block holds `grain` innermost iterations
    /// (at least one iteration of this loop), whatever the number of threads, so that results
    /// do not depend on it.
    Parallel {
        /// Innermost iterations per block, at least 1.
        grain: u64,
        /// With fewer innermost iterations than this in all, blocks run on the calling thread.
        serial_below: u64,
    },
    /// Blocks of iterations on several threads, each block in vectors: `Parallel` and `Vector`
    /// of one and the same loop.
    ParallelVector {
        /// As for `Parallel`.
        grain: u64,
        /// As for `Parallel`.
        serial_below: u64,
        /// As for `Vector`.
        unroll: u32,
    },
    /// Body repeated `factor` times per step, remainder by a serial loop.
    Unroll {
        /// Copies of the body, at least 2.
        factor: u32,
    },
}

/// `for var in lo..hi` (by `step`).
#[derive(Clone, Debug, PartialEq)]
pub struct Loop {
    /// The counter, a `usize`, declared by the loop and immutable in the body. No two loops of
    /// a program share one, so its name also names the loop in actions.
    pub var: VarId,
    /// First value, `usize`; evaluated once.
    pub lo: Expr,
    /// End, exclusive, `usize`; evaluated once. No iteration if `hi <= lo`.
    pub hi: Expr,
    /// Increment, at least 1.
    pub step: u64,
    /// How to execute it.
    pub mark: Mark,
    /// What is repeated.
    pub body: Vec<Stmt>,
}

/// A statement.
#[derive(Clone, Debug, PartialEq)]
pub enum Stmt {
    /// Declares a scalar variable and gives it its first value.
    Let {
        /// The variable; declared nowhere else.
        var: VarId,
        /// Its first value.
        value: Expr,
    },
    /// Changes a mutable scalar variable.
    Assign {
        /// The variable, declared mutable.
        var: VarId,
        /// Its new value.
        value: Expr,
    },
    /// Writes one element.
    Store {
        /// The buffer written.
        buf: BufId,
        /// Flat element index, `usize`.
        index: Expr,
        /// The value, of the buffer's element type.
        value: Expr,
        /// How to write it.
        hint: StoreHint,
    },
    /// A hint that one element will be read soon. Has no effect on results; the index may lie outside of the buffer.
    Prefetch {
        /// The buffer.
        buf: BufId,
        /// Flat element index, `usize`.
        index: Expr,
    },
    /// Makes a local buffer of `len` elements, all equal to `fill`.
    Alloc {
        /// A buffer of role `Local` (or `Return`).
        buf: BufId,
        /// Number of elements, `usize`.
        len: Expr,
        /// Initial value of every element.
        fill: Expr,
    },
    /// A counted loop.
    For(Loop),
    /// Repeats `body` while `cond` holds.
    While {
        /// Evaluated before every iteration, `bool`.
        cond: Expr,
        /// What is repeated.
        body: Vec<Stmt>,
    },
    /// Runs one of two blocks.
    If {
        /// The condition, `bool`.
        cond: Expr,
        /// Run where it holds.
        then: Vec<Stmt>,
        /// Run where it does not.
        otherwise: Vec<Stmt>,
    },
    /// Leaves the innermost loop.
    Break,
    /// Starts the next iteration of the innermost loop.
    Continue,
    /// Leaves the function with these results (as many as `Returns` says).
    Return(Vec<Expr>),
    /// The reference panics here (a failed `assert!`): a kernel must not get here.
    Panic,
    /// Leaves the work to the reference: what happens here is not part of the program. Nothing
    /// that a caller can see has been written before.
    Decline,
}

impl Stmt {
    /// Calls `visit` on this statement and every one inside it, parents first.
    pub fn walk<'a>(&'a self, visit: &mut dyn FnMut(&'a Stmt)) {
        visit(self);
        for block in self.blocks() {
            block.iter().for_each(|stmt| stmt.walk(visit));
        }
    }

    /// The blocks directly inside this statement.
    pub fn blocks(&self) -> Vec<&Vec<Stmt>> {
        match self {
            Stmt::For(inner) => vec![&inner.body],
            Stmt::While { body, .. } => vec![body],
            Stmt::If {
                then, otherwise, ..
            } => vec![then, otherwise],
            _ => Vec::new(),
        }
    }

    /// The blocks directly inside this statement, for editing.
    pub fn blocks_mut(&mut self) -> Vec<&mut Vec<Stmt>> {
        match self {
            Stmt::For(inner) => vec![&mut inner.body],
            Stmt::While { body, .. } => vec![body],
            Stmt::If {
                then, otherwise, ..
            } => vec![then, otherwise],
            _ => Vec::new(),
        }
    }

    /// The expressions directly in this statement (not those of statements inside it).
    pub fn exprs(&self) -> Vec<&Expr> {
        match self {
            Stmt::Let { value, .. } | Stmt::Assign { value, .. } => vec![value],
            Stmt::Store { index, value, .. } => vec![index, value],
            Stmt::Prefetch { index, .. } => vec![index],
            Stmt::Alloc { len, fill, .. } => vec![len, fill],
            Stmt::For(inner) => vec![&inner.lo, &inner.hi],
            Stmt::While { cond, .. } | Stmt::If { cond, .. } => vec![cond],
            Stmt::Return(values) => values.iter().collect(),
            Stmt::Break | Stmt::Continue | Stmt::Panic | Stmt::Decline => Vec::new(),
        }
    }

    /// The expressions directly in this statement, for editing.
    pub fn exprs_mut(&mut self) -> Vec<&mut Expr> {
        match self {
            Stmt::Let { value, .. } | Stmt::Assign { value, .. } => vec![value],
            Stmt::Store { index, value, .. } => vec![index, value],
            Stmt::Prefetch { index, .. } => vec![index],
            Stmt::Alloc { len, fill, .. } => vec![len, fill],
            Stmt::For(inner) => vec![&mut inner.lo, &mut inner.hi],
            Stmt::While { cond, .. } | Stmt::If { cond, .. } => vec![cond],
            Stmt::Return(values) => values.iter_mut().collect(),
            Stmt::Break | Stmt::Continue | Stmt::Panic | Stmt::Decline => Vec::new(),
        }
    }
}
