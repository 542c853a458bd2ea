//! One kernel being written, and the unit of kernels, scratch memory and conditions around it.
//!
//! Owns parameters, the replay of scalar statements at the head of each kernel, and the values
//! that later kernels take over from earlier ones. What the body of a kernel does is the
//! mappings' business.

use std::cell::RefCell;
use std::collections::BTreeSet;

use pragma_spec::Scalar;

use crate::analyze::bounds::Scope;
use crate::analyze::depend;
use crate::analyze::poly::{Atom, Poly};
use crate::emit::EmitError;
use crate::emit::lines::Lines;
use crate::ir::{BinaryOp, BufId, BufRole, Const, Expr, Func, Param, Program, Stmt, VarId};

use super::expr::{Spell, Uses, element_type, is_written, value_type};
use super::plan::{Formula, KernelArg, Launch, LaunchPlan, Requirement, Scratch};

/// What stands before a launch in the function, as a later kernel sees it.
#[derive(Clone, Debug)]
pub(super) enum Replay<'a> {
    /// A statement about scalars, to be executed again.
    Scalar(&'a Stmt),
    /// Variables that a launch changed: their values are in these slots.
    Slots(Vec<(VarId, usize)>),
}

/// All kernels of one version.
pub(super) struct Unit<'a> {
    pub program: &'a Program,
    pub entry: String,
    pub replay: Vec<Replay<'a>>,
    /// What is known of sizes at the top level of the function.
    pub scope: Scope,
    pub plan: LaunchPlan,
    pub helpers: BTreeSet<&'static str>,
    /// Finished kernels.
    pub kernels: Vec<String>,
    /// Scratch memory that stands for a local buffer of the top level.
    pub locals: Vec<(BufId, usize, Expr)>,
    /// The scratch memory of slots, if there are any, and how many.
    carry: Option<usize>,
    slots: usize,
}

/// How a kernel is launched.
pub(super) struct Geometry {
    pub grid: [Formula; 3],
    pub block: [u32; 3],
    pub shared: Formula,
}

impl Geometry {
    /// A one-dimensional grid of one-dimensional blocks.
    pub fn line(blocks: Formula, threads: u32) -> Self {
        Geometry {
            grid: [blocks, Formula::Const(1), Formula::Const(1)],
            block: [threads, 1, 1],
            shared: Formula::Const(0),
        }
    }
}

impl<'a> Unit<'a> {
    pub fn new(program: &'a Program, entry: &str) -> Self {
        Unit {
            program,
            entry: entry.to_owned(),
            replay: Vec::new(),
            scope: Scope::of(program),
            plan: LaunchPlan::default(),
            helpers: BTreeSet::new(),
            kernels: Vec::new(),
            locals: Vec::new(),
            carry: None,
            slots: 0,
        }
    }

    /// A speller at the top level.
    pub fn spell<'u>(&self, uses: &'u RefCell<Uses>) -> Spell<'u>
    where
        'a: 'u,
    {
        Spell {
            program: self.program,
            scope: self.scope.clone(),
            held: Vec::new(),
            own: Vec::new(),
            locals: self
                .locals
                .iter()
                .map(|(buf, _, len)| (*buf, len.clone()))
                .collect(),
            renamed: Vec::new(),
            origins: Vec::new(),
            uses,
        }
    }

    /// Adds a condition, once.
    pub fn require(&mut self, condition: Requirement) {
        if !self.plan.requires.contains(&condition) {
            self.plan.requires.push(condition);
        }
    }

    /// New scratch memory.
    pub fn scratch(&mut self, name: &str, bytes: Formula, zeroed: bool) -> usize {
        let taken = |name: &str| self.plan.scratch.iter().any(|other| other.name == name);
        let mut free = name.to_owned();
        let mut n = 1;
        while taken(&free) {
            n += 1;
            free = format!("{name}_{n}");
        }
        self.plan.scratch.push(Scratch {
            name: free,
            bytes,
            zeroed,
        });
        self.plan.scratch.len() - 1
    }

    /// The name of scratch memory in a kernel, which then takes it as a parameter.
    pub fn scratch_name(&self, uses: &RefCell<Uses>, index: usize) -> String {
        uses.borrow_mut().scratch.insert(index);
        self.plan.scratch[index].name.clone()
    }

    /// Slots for variables that a launch changes.
    pub fn carry(&mut self, vars: &[VarId]) -> Vec<(VarId, usize)> {
        if vars.is_empty() {
            return Vec::new();
        }
        let carry = match self.carry {
            Some(carry) => carry,
            None => self.scratch("carry", Formula::Const(0), false),
        };
        self.carry = Some(carry);
        let slots = vars
            .iter()
            .enumerate()
            .map(|(at, var)| (*var, self.slots + at));
        let slots = slots.collect();
        self.slots += vars.len();
        self.plan.scratch[carry].bytes = Formula::Const(8 * self.slots as u64);
        slots
    }

    /// The lvalue of a slot.
    pub fn slot(&self, uses: &RefCell<Uses>, var: VarId, slot: usize) -> String {
        let name = self
            .carry
            .map_or_else(String::new, |carry| self.scratch_name(uses, carry));
        let ty = value_type(self.program.var(var).scalar);
        format!("*reinterpret_cast<{ty}*>({name} + {slot})")
    }

    /// Finishes a kernel: its head, the replay it needs, its body.
    pub fn finish(
        &mut self,
        suffix: &str,
        about: &str,
        geometry: Geometry,
        uses: RefCell<Uses>,
        body: &str,
    ) -> Result<(), EmitError> {
        let name = match suffix {
            "" => self.entry.clone(),
            suffix => format!("{}_{suffix}", self.entry),
        };
        let taken = |name: &str| {
            self.plan
                .launches
                .iter()
                .any(|launch| launch.kernel == name)
        };
        let mut free = name.clone();
        let mut n = 1;
        while taken(&free) {
            n += 1;
            free = format!("{name}_{n}");
        }
        let mut head = Lines::at(1);
        self.write_replay(&mut head, &uses)?;
        let (params, args) = self.params(&uses);
        let threads: u32 = geometry.block.iter().product();
        let mut out = Lines::default();
        out.line(format!("// {about}"));
        let line = format!(
            "extern \"C\" __global__ void __launch_bounds__({threads}) {free}({}) {{",
            params.join(", ")
        );
        if line.len() <= 100 {
            out.line(line);
        } else {
            out.open(format!(
                "extern \"C\" __global__ void __launch_bounds__({threads}) {free}("
            ));
            let last = params.len().saturating_sub(1);
            for (at, param) in params.iter().enumerate() {
                out.line(format!("{param}{}", if at == last { ") {" } else { "," }));
            }
            out.close_silently();
        }
        self.kernels
            .push(format!("{}{}{body}}}\n", out.finish(), head.finish()));
        let uses = uses.into_inner();
        self.plan.fault |= uses.fault;
        for condition in uses.requires {
            self.require(condition);
        }
        self.helpers.extend(uses.helpers);
        self.plan.launches.push(Launch {
            kernel: free,
            grid: geometry.grid,
            block: geometry.block,
            shared: geometry.shared,
            args,
        });
        Ok(())
    }

    /// The statements before this launch, as far as the kernel needs their results.
    fn write_replay(&self, out: &mut Lines, uses: &RefCell<Uses>) -> Result<(), EmitError> {
        let mut needed: BTreeSet<VarId> = uses.borrow().scalars.clone();
        // Variables that are changed later on and must be declared.
        let mut declared = BTreeSet::new();
        let mut kept = Vec::new();
        for item in self.replay.iter().rev() {
            match item {
                Replay::Slots(slots) => {
                    let slots: Vec<_> = slots
                        .iter()
                        .filter(|(var, _)| needed.remove(var))
                        .copied()
                        .collect();
                    declared.extend(slots.iter().map(|(var, _)| *var));
                    kept.extend((!slots.is_empty()).then_some(Replay::Slots(slots)));
                }
                Replay::Scalar(stmt) => {
                    let (var, declares) = match stmt {
                        Stmt::Let { var, .. } => (*var, true),
                        Stmt::Assign { var, .. } => (*var, false),
                        _ => continue,
                    };
                    let wanted = needed.remove(&var) || (declares && declared.contains(&var));
                    if !wanted {
                        continue;
                    }
                    declared.insert(var);
                    for expr in stmt.exprs() {
                        expr.walk(&mut |node| {
                            if let Expr::Var(var) = node {
                                needed.insert(*var);
                            }
                        });
                    }
                    kept.push(Replay::Scalar(stmt));
                }
            }
        }
        let written = depend::stored(&self.program.body);
        let spell = self.spell(uses);
        for item in kept.iter().rev() {
            match item {
                Replay::Slots(slots) => {
                    for (var, slot) in slots {
                        let place = self.slot(uses, *var, *slot);
                        out.line(format!("{} = {place};", spell.var(*var)));
                    }
                }
                Replay::Scalar(stmt) => {
                    for expr in stmt.exprs() {
                        let mut clash = None;
                        expr.walk(&mut |node| {
                            if let Expr::Load { buf, .. } = node
                                && written.contains(buf)
                            {
                                clash = Some(*buf);
                            }
                        });
                        if let Some(buf) = clash {
                            let name = &self.program.buf(buf).name;
                            return Err(EmitError(format!(
                                "a scalar between two loops is read from `{name}`, which the function also writes"
                            )));
                        }
                    }
                    super::thread::scalar(out, stmt, &spell);
                }
            }
        }
        Ok(())
    }

    /// The parameters of a kernel and what is passed for them.
    fn params(&self, uses: &RefCell<Uses>) -> (Vec<String>, Vec<KernelArg>) {
        let program = self.program;
        let uses = uses.borrow();
        let mut params = Vec::new();
        let mut args = Vec::new();
        for dim in &uses.dims {
            params.push(format!("usize {}", program.dims[*dim]));
            args.push(KernelArg::Dim(*dim));
        }
        for param in &program.params {
            if let Param::Scalar(var) = param
                && uses.scalars.contains(var)
            {
                let decl = program.var(*var);
                params.push(format!("{} {}", value_type(decl.scalar), decl.name));
                args.push(KernelArg::Scalar(*var));
            }
        }
        for (index, decl) in program.bufs.iter().enumerate() {
            let buf = BufId(index as u32);
            if !uses.bufs.contains(&buf) {
                continue;
            }
            let ty = element_type(decl.elem);
            let constant = if is_written(decl.role) { "" } else { "const " };
            if decl.role == BufRole::Local {
                // Locals of a kernel itself are no parameters.
                let Some((_, scratch, _)) = self.locals.iter().find(|(local, ..)| *local == buf)
                else {
                    continue;
                };
                args.push(KernelArg::Scratch(*scratch));
            } else {
                args.push(KernelArg::Buffer(buf));
            }
            params.push(format!("{constant}{ty}* __restrict__ {}", decl.name));
        }
        for scratch in &uses.scratch {
            params.push(format!("u64* {}", self.plan.scratch[*scratch].name));
            args.push(KernelArg::Scratch(*scratch));
        }
        if uses.results {
            params.push("u64* results".to_owned());
            args.push(KernelArg::Results);
        }
        if uses.fault {
            params.push("u32* fault".to_owned());
            args.push(KernelArg::Fault);
        }
        (params, args)
    }

    /// A size that the host knows before the launch.
    pub fn formula(&self, expr: &Expr) -> Option<Formula> {
        let program = self.program;
        match expr {
            Expr::Const(Const::Int(_, value)) => u64::try_from(*value).ok().map(Formula::Const),
            Expr::Dim(dim) => Some(self.dim_formula(*dim)),
            Expr::Var(var) => {
                let value = self.replay.iter().find_map(|item| match item {
                    Replay::Scalar(Stmt::Let { var: v, value }) if v == var => Some(value),
                    _ => None,
                })?;
                (!program.var(*var).mutable).then_some(())?;
                self.formula(value)
            }
            Expr::Binary(op, a, b) if expr.scalar(program) == Scalar::Usize => {
                let (a, b) = (self.formula(a)?, self.formula(b)?);
                Some(match op {
                    BinaryOp::Add => a.plus(b),
                    BinaryOp::Sub => Formula::Sub(Box::new(a), Box::new(b)),
                    BinaryOp::Mul => a.times(b),
                    BinaryOp::Div => Formula::Div(Box::new(a), Box::new(b)),
                    _ => return None,
                })
            }
            Expr::Call(Func::Min, args) if args.len() == 2 => Some(Formula::Min(
                Box::new(self.formula(&args[0])?),
                Box::new(self.formula(&args[1])?),
            )),
            Expr::Call(Func::Max, args) if args.len() == 2 => Some(Formula::Max(
                Box::new(self.formula(&args[0])?),
                Box::new(self.formula(&args[1])?),
            )),
            _ => None,
        }
    }

    pub fn dim_formula(&self, dim: usize) -> Formula {
        Formula::Dim(dim, self.program.dims[dim].clone())
    }

    /// Iterations of a loop of step 1, if the host knows them.
    pub fn trips(&self, lo: &Expr, hi: &Expr) -> Result<Formula, EmitError> {
        let bounds = (self.formula(lo), self.formula(hi));
        match bounds {
            (Some(Formula::Const(0)), Some(hi)) => Ok(hi),
            (Some(lo), Some(hi)) => Ok(Formula::Sub(Box::new(hi), Box::new(lo))),
            _ => Err(EmitError(
                "the bounds of a mapped loop are not known before the launch".to_owned(),
            )),
        }
    }

    /// What must hold for `base` to be a multiple of `of`; `None` if that cannot be asked for.
    pub fn multiples(&self, base: &Poly, of: u64) -> Option<Vec<Requirement>> {
        let mut requires = Vec::new();
        if of <= 1 {
            return Some(requires);
        }
        for (atoms, coefficient) in base.terms() {
            if coefficient.unsigned_abs() % of == 0 {
                continue;
            }
            let dim = atoms.iter().rev().find_map(|atom| match atom {
                Atom::Dim(dim) => Some(*dim),
                Atom::Var(_) | Atom::Quotient(_) => None,
            })?;
            let size = self.dim_formula(dim);
            requires.push(Requirement::Multiple { size, of });
        }
        Some(requires)
    }
}
