//! Proposals for GPUs: which mappings to try for a program at a size, best guess first.
//!
//! Owns the rules from what a loop does to how it is mapped. Each proposal is a list of actions
//! that the emitter accepts and whose conditions hold at the size; measuring decides. Figures
//! behind the choices: 16-byte accesses, enough of them in flight per multiprocessor to cover the
//! latency of memory, and rows that fit in the registers of a block.

use crate::action::gpu::{GpuAction, Unit};
use crate::analyze::bounds::Scope;
use crate::analyze::reduce::Reduction;
use crate::analyze::{depend, nest};
use crate::emit::EmitOptions;
use crate::emit::cuda::{self, CudaKernel, CudaTarget};
use crate::ir::{BinaryOp, Const, Expr, Func, Loop, Program, Stmt};

use super::structure::reorders_floats;

/// One version to build, verify and time.
#[derive(Clone, Debug, PartialEq)]
pub struct GpuProposal {
    /// Names the version.
    pub actions: Vec<GpuAction>,
    /// Its kernels and their launches.
    pub kernel: CudaKernel,
    /// The argument for it, in words.
    pub why: String,
}

/// What GPU proposals are for.
#[derive(Clone, Debug)]
pub struct GpuSetting {
    /// The architecture.
    pub target: CudaTarget,
    /// The size to be fast at, in the order of `Program::dims`.
    pub dims: Vec<u64>,
    /// Whether results must match the reference bit for bit.
    pub exact: bool,
    /// Name of the entry function.
    pub entry: String,
}

/// A mapping of one loop and the argument for it.
type Candidate = (GpuAction, String);

/// The versions to try for a lifted program, best guess first; the last one has no conditions
/// that this size meets and another might not, where such a version could be written.
pub fn proposals(lifted: &Program, setting: &GpuSetting) -> Vec<GpuProposal> {
    let first = accumulations(lifted);
    let Ok(program) = cuda::rewritten(lifted, &first) else {
        return Vec::new();
    };
    let rules = Rules {
        lifted,
        first: &first,
        program: &program,
        setting,
    };
    let mut scope = Scope::of(&program);
    let mut choices: Vec<Vec<Candidate>> = Vec::new();
    for stmt in &program.body {
        match stmt {
            Stmt::Let { var, value } => scope.define(&program, *var, value),
            Stmt::For(outer) => {
                let mut candidates = rules.candidates(&scope, outer);
                candidates
                    .retain(|(action, _)| rules.kernel(std::slice::from_ref(action)).is_some());
                if !candidates.is_empty() {
                    choices.push(candidates);
                }
            }
            _ => {}
        }
    }
    // The first choice for every loop, then one other choice at a time.
    let mut lists: Vec<Vec<&Candidate>> = vec![choices.iter().map(|of| &of[0]).collect()];
    for (at, of) in choices.iter().enumerate() {
        for other in of.iter().skip(1) {
            let mut list = lists[0].clone();
            list[at] = other;
            lists.push(list);
        }
    }
    let proposals = lists.into_iter().filter_map(|list| {
        let maps: Vec<GpuAction> = list.iter().map(|(action, _)| action.clone()).collect();
        let why: Vec<&str> = list.iter().map(|(_, why)| why.as_str()).collect();
        Some(GpuProposal {
            kernel: rules.kernel(&maps)?,
            actions: [first.clone(), maps].concat(),
            why: why.join("; "),
        })
    });
    proposals.collect()
}

/// The accumulations into buffers that can be done in registers instead.
fn accumulations(lifted: &Program) -> Vec<GpuAction> {
    let mut found: Vec<GpuAction> = Vec::new();
    let mut loops = Vec::new();
    lifted.walk(&mut |stmt| {
        if let Stmt::For(inner) = stmt {
            loops.push(lifted.var(inner.var).name.clone());
        }
    });
    for over in loops {
        for buf in depend::stored(&lifted.body) {
            let action = GpuAction::Accumulate {
                buffer: lifted.buf(buf).name.clone(),
                over: over.clone(),
            };
            found.push(action);
            if cuda::rewritten(lifted, &found).is_err() {
                found.pop();
            }
        }
    }
    found
}

struct Rules<'a> {
    lifted: &'a Program,
    /// Actions that change loops and come in front of all mappings.
    first: &'a [GpuAction],
    /// The program after those.
    program: &'a Program,
    setting: &'a GpuSetting,
}

impl Rules<'_> {
    /// The kernels of a version, if it can be written and fits the size.
    fn kernel(&self, maps: &[GpuAction]) -> Option<CudaKernel> {
        let actions = [self.first, maps].concat();
        let options = EmitOptions {
            contract: !self.setting.exact,
        };
        let (target, entry) = (self.setting.target, &self.setting.entry);
        let kernel = cuda::emit(self.lifted, &actions, target, entry, options).ok()?;
        kernel.plan.fits(&self.setting.dims).then_some(kernel)
    }

    /// The value of a size expression at the size that proposals are for.
    fn size(&self, expr: &Expr) -> Option<u64> {
        match expr {
            Expr::Const(Const::Int(_, value)) => u64::try_from(*value).ok(),
            Expr::Dim(dim) => self.setting.dims.get(*dim).copied(),
            Expr::Var(var) => self.program.body.iter().find_map(|stmt| match stmt {
                Stmt::Let { var: v, value } if v == var => self.size(value),
                _ => None,
            }),
            Expr::Binary(op, a, b) => {
                let (a, b) = (self.size(a)?, self.size(b)?);
                match op {
                    BinaryOp::Add => a.checked_add(b),
                    BinaryOp::Sub => a.checked_sub(b),
                    BinaryOp::Mul => a.checked_mul(b),
                    BinaryOp::Div => a.checked_div(b),
                    _ => None,
                }
            }
            Expr::Call(Func::Min, args) => args.iter().filter_map(|arg| self.size(arg)).min(),
            _ => None,
        }
    }

    fn trips(&self, of: &Loop) -> Option<u64> {
        Some(self.size(&of.hi)?.saturating_sub(self.size(&of.lo)?))
    }

    fn name(&self, of: &Loop) -> String {
        self.program.var(of.var).name.clone()
    }

    /// Elements of 16 bytes for the widest type that the loop touches.
    fn widest_pack(&self, body: &[Stmt]) -> u32 {
        let touched = depend::loaded(body).into_iter().chain(depend::stored(body));
        let bytes = touched.map(|buf| self.program.buf(buf).elem.bytes());
        (16 / bytes.max().unwrap_or(16).max(1)) as u32
    }

    fn reorders(&self, reductions: &[Reduction]) -> bool {
        self.setting.exact && reorders_floats(self.program, reductions)
    }

    fn candidates(&self, scope: &Scope, outer: &Loop) -> Vec<Candidate> {
        let mut found = Vec::new();
        match depend::parallelizable(self.program, scope, outer) {
            Ok(reductions) if reductions.is_empty() => self.independent(scope, outer, &mut found),
            Ok(reductions) if !self.reorders(&reductions) => self.reduction(outer, &mut found),
            Ok(_) => {}
            Err(_) if self.nest(scope, outer).0.len() > 1 => {
                self.independent(scope, outer, &mut found);
            }
            Err(_) => self.carried(outer, &mut found),
        }
        found
    }

    /// Loops that combine the values of their iterations.
    fn reduction(&self, outer: &Loop, found: &mut Vec<Candidate>) {
        let pack = self.widest_pack(&outer.body);
        for (vector, unroll, threads) in
            [(pack, 4, 256), (pack, 2, 512), (pack, 8, 256), (1, 4, 256)]
        {
            let action = GpuAction::Reduce {
                axis: self.name(outer),
                threads,
                vector,
                unroll,
                blocks: 1056,
            };
            let why = format!("a reduction of everything: {unroll} packs in flight per thread");
            push(found, action, why);
        }
    }

    /// Loops that carry a value on.
    fn carried(&self, outer: &Loop, found: &mut Vec<Candidate>) {
        let float = crate::analyze::reduce::carried(&outer.body)
            .iter()
            .any(|var| self.program.var(*var).scalar.is_float());
        if float && self.setting.exact {
            return;
        }
        let pack = self.widest_pack(&outer.body);
        for (vector, items, threads) in
            [(pack, 4, 512), (pack, 8, 256), (pack, 4, 256), (1, 8, 256)]
        {
            let action = GpuAction::Scan {
                axis: self.name(outer),
                threads,
                vector,
                items,
            };
            let elements = threads * vector * items;
            let why = format!("a running value: one pass in tiles of {elements}");
            push(found, action, why);
        }
    }

    /// Loops whose iterations have nothing to do with each other.
    fn independent(&self, scope: &Scope, outer: &Loop, found: &mut Vec<Candidate>) {
        let (axes, innermost) = self.nest(scope, outer);
        let shared = self.shared_loops(scope, outer, &axes);
        if let [first, second] = axes.as_slice()
            && shared.is_empty()
        {
            for (tile, vector) in [(64, 4), (32, 1)] {
                let action = GpuAction::Transpose {
                    outer: first.clone(),
                    inner: second.clone(),
                    tile,
                    vector,
                };
                push(
                    found,
                    action,
                    "reads and writes in different orders: tiles through shared memory".to_owned(),
                );
            }
        }
        for (name, trips) in &shared {
            self.contractions(name, *trips, axes.len(), found);
            self.columns(outer, name, *trips, found);
        }
        if let Some((_, trips)) = shared.first() {
            self.teams(&axes, innermost, *trips, found);
        }
        let pack = self.widest_pack(&innermost.body);
        let single = axes.len() == 1;
        let mut shapes = vec![(pack, if single { 2 } else { 1 }, 256)];
        if single {
            shapes.extend([(pack, 1, 256), (pack, 4, 256), (pack, 1, 512)]);
        }
        shapes.push((1, 1, 256));
        for (vector, unroll, threads) in shapes {
            let action = GpuAction::Grid {
                axes: axes.clone(),
                threads,
                vector,
                unroll,
            };
            let elements = vector * unroll;
            let why = format!("independent iterations: {elements} per thread");
            push(found, action, why);
        }
    }

    /// The nest of independent loops that begins with `outer`, and its innermost one.
    fn nest<'a>(&self, scope: &Scope, outer: &'a Loop) -> (Vec<String>, &'a Loop) {
        let program = self.program;
        let mut loops = vec![outer];
        while let Some((Stmt::For(inner), before)) = loops[loops.len() - 1].body.split_last() {
            let plain = before
                .iter()
                .all(|stmt| matches!(stmt, Stmt::Let { var, .. } if !program.var(*var).mutable));
            if !plain || inner.step != 1 {
                break;
            }
            loops.push(inner);
        }
        // As deep as the iterations of the whole nest, or of each loop of it, are independent.
        while loops.len() > 1 && !self.is_independent(scope, &loops) {
            loops.pop();
        }
        let axes = loops.iter().map(|of| self.name(of)).collect();
        (axes, loops[loops.len() - 1])
    }

    fn is_independent(&self, scope: &Scope, loops: &[&Loop]) -> bool {
        if nest::independent(self.program, scope, loops).is_ok() {
            return true;
        }
        let mut scope = scope.clone();
        loops.iter().all(|of| {
            let alone = depend::parallelizable(self.program, &scope, of);
            scope = scope.enter(self.program, of);
            for stmt in &of.body {
                if let Stmt::Let { var, value } = stmt {
                    scope.define(self.program, *var, value);
                }
            }
            alone.is_ok_and(|reductions| reductions.is_empty())
        })
    }

    /// Loops below the nest that a team could share, with their iterations.
    fn shared_loops(&self, scope: &Scope, outer: &Loop, axes: &[String]) -> Vec<(String, u64)> {
        let mut found = Vec::new();
        let mut scope = scope.enter(self.program, outer);
        let mut body = &outer.body;
        let mut depth = 1;
        // Down to the body of the innermost loop of the nest.
        while depth < axes.len() {
            let Some(Stmt::For(inner)) = body.last() else {
                return found;
            };
            scope = scope.enter(self.program, inner);
            body = &inner.body;
            depth += 1;
        }
        for stmt in body {
            match stmt {
                Stmt::Let { var, value } => scope.define(self.program, *var, value),
                Stmt::For(inner) => {
                    if let Ok(reductions) = depend::parallelizable(self.program, &scope, inner)
                        && !self.reorders(&reductions)
                        && let Some(trips) = self.trips(inner)
                    {
                        found.push((self.name(inner), trips));
                    }
                }
                _ => {}
            }
        }
        found
    }

    fn contractions(&self, over: &str, terms: u64, axes: usize, found: &mut Vec<Candidate>) {
        if self.setting.exact || axes < 2 {
            return;
        }
        for (unit, tile_m, tile_n, tile_k, stages) in [
            (Unit::Tf32x3, 128, 128, 32, 3),
            (Unit::Tf32x3, 128, 128, 16, 4),
            (Unit::Ffma, 128, 128, 16, 3),
            (Unit::Ffma, 128, 128, 8, 4),
            (Unit::Ffma, 64, 64, 16, 3),
        ] {
            let action = GpuAction::Contract {
                over: over.to_owned(),
                unit,
                tile_m,
                tile_n,
                tile_k,
                stages,
            };
            let name = unit.name();
            let why = format!(
                "a contraction over {terms} terms: {tile_m} by {tile_n} results per block, {name}"
            );
            push(found, action, why);
        }
    }

    fn columns(&self, outer: &Loop, over: &str, terms: u64, found: &mut Vec<Candidate>) {
        if self.setting.exact {
            return;
        }
        let pack = self.widest_pack(&outer.body).min(4);
        let chunk = (terms / 64).clamp(64, 512).next_power_of_two();
        for (vector, lanes, rows, chunk) in [
            (pack, 32, 8, chunk),
            (pack, 32, 8, chunk / 2),
            (1, 32, 8, chunk),
        ] {
            let action = GpuAction::Columns {
                axis: self.name(outer),
                over: over.to_owned(),
                lanes,
                rows,
                vector,
                chunk,
            };
            let why = format!("a reduction over the slow axis: blocks of {chunk} rows");
            push(found, action, why);
        }
    }

    fn teams(&self, axes: &[String], row: &Loop, trips: u64, found: &mut Vec<Candidate>) {
        let pack = self.widest_pack(&row.body);
        let mut shapes: Vec<(u32, u32, u32)> = Vec::new();
        for vector in [pack, 1] {
            let packs = trips.div_ceil(u64::from(vector)).max(1);
            for target in [4u64, 2, 8] {
                let threads = if packs <= 32 * target {
                    32
                } else {
                    (packs.div_ceil(target)).next_power_of_two().clamp(64, 1024)
                };
                let items = packs.div_ceil(threads);
                if items <= 16 {
                    shapes.push((threads as u32, vector, items as u32));
                }
            }
        }
        let threads = if trips >= 4096 { 512 } else { 128 };
        shapes.extend([(threads, pack, 0), (threads, 1, 0), (32, 1, 0)]);
        for (threads, vector, items) in shapes {
            let action = GpuAction::Team {
                axes: axes.to_vec(),
                threads,
                vector,
                items,
            };
            let why = match items {
                0 => format!("rows of {trips}: {threads} threads per row, read again in each pass"),
                n => format!("rows of {trips}: {threads} threads with {n} packs of the row each"),
            };
            push(found, action, why);
        }
    }
}

fn push(found: &mut Vec<Candidate>, action: GpuAction, why: String) {
    if !found.iter().any(|(other, _)| *other == action) {
        found.push((action, why));
    }
}
