//! The body of a vector loop, for one vector of iterations or several side by side.
//!
//! Owns assignments, stores and the steps of reductions. Branches and inner loops are
//! `vector_control`'s, loads `vector_memory`'s; which copies a loop needs is `vector_loop`'s
//! business.

use std::collections::BTreeMap;

use pragma_spec::Scalar;

use crate::analyze::reduce::Reduction;
use crate::ir::{BufId, Expr, Stmt, VarId};

use super::lines::Lines;
use super::vector::{Lanes, vector_type};

/// How one step of the loop is written.
pub(super) struct Copy<'a> {
    /// Text of the index of lane 0 in each vector of the step.
    pub index: Vec<String>,
    /// Suffixes of accumulator names: `[u]`, `[0]` or nothing.
    pub slots: Vec<String>,
    /// The number of lanes that are there, if not all; there is one vector then.
    pub partial: Option<&'a str>,
    /// The buffer whose store is aligned here and may stream.
    pub stream: Option<BufId>,
}

impl Copy<'_> {
    /// A step of one whole vector.
    pub fn one(index: &str, slot: &str) -> Self {
        Copy {
            index: vec![index.to_owned()],
            slots: vec![slot.to_owned()],
            partial: None,
            stream: None,
        }
    }
}

/// Which lanes of each vector of the step take part.
#[derive(Clone, Debug)]
pub(super) struct Masks {
    /// The name of the mask of each vector.
    pub names: Vec<String>,
    /// Whether lanes that exist may be off: false for the bare remainder of a loop.
    pub conditional: bool,
}

impl Masks {
    /// The lanes of the last, partial vector.
    pub fn there() -> Self {
        Masks {
            names: vec!["there".to_owned()],
            conditional: false,
        }
    }
}

/// A loop body being written.
pub(super) struct Body<'a> {
    pub reductions: &'a [Reduction],
    pub copy: &'a Copy<'a>,
    /// Text of the first value of the counter.
    pub lo: &'a str,
    /// How variables are called in each vector of the step.
    pub names: Vec<BTreeMap<VarId, String>>,
    /// Masks of the lanes that have not left the inner loop around, if some may leave it alone.
    pub live: Option<Masks>,
    /// How many inner loops are around.
    pub depth: usize,
}

/// Whether `body` holds a loop.
pub(super) fn has_loops(body: &[Stmt]) -> bool {
    body.iter().any(|stmt| match stmt {
        Stmt::For(_) | Stmt::While { .. } => true,
        _ => stmt.blocks().into_iter().any(|block| has_loops(block)),
    })
}

/// Whether lanes that are not there would do harm in `body`, or keep it running.
pub(super) fn needs_mask(body: &[Stmt]) -> bool {
    body.iter().any(|stmt| match stmt {
        Stmt::For(_) | Stmt::While { .. } | Stmt::Panic => true,
        _ => stmt.blocks().into_iter().any(|block| needs_mask(block)),
    })
}

impl<'a> Body<'a> {
    pub fn new(
        reductions: &'a [Reduction],
        copy: &'a Copy<'a>,
        lo: &'a str,
        names: Vec<BTreeMap<VarId, String>>,
    ) -> Self {
        Body {
            reductions,
            copy,
            lo,
            names,
            live: None,
            depth: 0,
        }
    }

    /// Vectors in the step.
    pub fn copies(&self) -> usize {
        self.names.len()
    }

    /// Turns `lanes` to vector `u` of the step.
    pub fn turn(&self, lanes: &mut Lanes<'_>, u: usize, mask: Option<&Masks>) {
        lanes.native.names = self.names[u].clone();
        lanes.copy = u;
        lanes.mask = mask
            .filter(|mask| mask.conditional)
            .map(|mask| mask.names[u].clone());
    }

    /// What `name` is called in vector `u` of the step.
    pub fn called(&self, name: &str, u: usize) -> String {
        if self.copies() == 1 {
            name.to_owned()
        } else {
            format!("{name}_u{u}")
        }
    }

    /// Writes `body`; with a mask, only its lanes take effect.
    pub fn block(
        &mut self,
        lanes: &mut Lanes<'_>,
        out: &mut Lines,
        body: &[Stmt],
        mask: Option<&Masks>,
    ) -> Result<(), String> {
        for (at, stmt) in body.iter().enumerate() {
            self.stmt(lanes, out, stmt, mask)?;
            if let Stmt::If { cond, .. } = stmt {
                let program = lanes.native.program;
                if lanes.is_uniform(cond) {
                    lanes.native.scope.pass(program, stmt);
                } else {
                    lanes.native.scope.pass_in_lanes(program, stmt);
                }
            }
            if at + 1 < body.len() {
                self.without_left(out, stmt, mask);
            }
        }
        Ok(())
    }

    fn stmt(
        &mut self,
        lanes: &mut Lanes<'_>,
        out: &mut Lines,
        stmt: &Stmt,
        mask: Option<&Masks>,
    ) -> Result<(), String> {
        self.turn(lanes, 0, mask);
        match stmt {
            Stmt::Let { var, value } => self.declare(lanes, out, *var, value, mask),
            Stmt::Assign { var, value } => {
                let scalar = lanes.native.program.var(*var).scalar;
                for u in 0..self.copies() {
                    self.turn(lanes, u, mask);
                    let name = lanes.native.var(*var);
                    let text = lanes.lanes(value)?;
                    let text = match mask {
                        Some(mask) => lanes.blend(scalar, &mask.names[u], &text, &name)?,
                        None => text,
                    };
                    out.line(format!("{name} = {text};"));
                }
                Ok(())
            }
            Stmt::Store { .. } => {
                for u in 0..self.copies() {
                    self.turn(lanes, u, mask);
                    let conditional = mask.filter(|mask| mask.conditional);
                    let on = conditional.map(|mask| mask.names[u].as_str());
                    let line = lanes.store(stmt, on, self.copy.stream)?;
                    out.line(line);
                }
                Ok(())
            }
            Stmt::Prefetch { buf, index } => {
                for u in 0..self.copies() {
                    self.turn(lanes, u, mask);
                    self.prefetch(lanes, out, *buf, index);
                }
                Ok(())
            }
            Stmt::Alloc { buf, len, fill } => self.temporary(lanes, out, (*buf, len, fill), mask),
            Stmt::If {
                cond,
                then,
                otherwise,
            } => {
                if let Some(Reduction::Arg { best, with, .. }) = Self::arg_of(self.reductions, cond)
                {
                    return self.arg_step(lanes, out, cond, (*best, with), then, mask);
                }
                self.branch(lanes, out, cond, (then, otherwise), mask)
            }
            Stmt::For(inner) => self.inner_for(lanes, out, inner, mask),
            Stmt::While { cond, body } => self.inner_while(lanes, out, cond, body, mask),
            Stmt::Break => self.leave(out, mask),
            Stmt::Panic => self.panic(out, mask),
            Stmt::Continue | Stmt::Return(_) | Stmt::Decline => {
                Err("the body holds a jump that vectors cannot do".to_owned())
            }
        }
    }

    fn prefetch(&self, lanes: &mut Lanes<'_>, out: &mut Lines, buf: BufId, index: &Expr) {
        let decl = lanes.native.program.buf(buf);
        let vector = vector_type(decl.elem).filter(|_| decl.elem.bytes() >= 4);
        // The remainder of a loop is too little to pay.
        if let (Some(vector), None) = (vector, &self.copy.partial)
            && lanes.stride(index) == Some(1)
        {
            lanes.types.insert(vector);
            let name = &decl.name;
            let cast = match decl.elem {
                Scalar::Usize | Scalar::Isize => ".cast()",
                _ => "",
            };
            out.line(format!(
                "{vector}::prefetch({name}.wrapping_add({}){cast});",
                lanes.native.text(index)
            ));
        }
    }

    fn declare(
        &mut self,
        lanes: &mut Lanes<'_>,
        out: &mut Lines,
        var: VarId,
        value: &Expr,
        mask: Option<&Masks>,
    ) -> Result<(), String> {
        let program = lanes.native.program;
        let decl = program.var(var);
        let name = decl.name.as_str();
        if !decl.mutable && lanes.is_uniform(value) {
            let text = lanes.native.text(value);
            out.line(format!("let {name}: {} = {text};", decl.scalar));
            lanes.note_checks(value);
            lanes.native.scope.define(program, var, value);
            return Ok(());
        }
        let index = matches!(decl.scalar, Scalar::Usize | Scalar::Isize);
        if index && !decl.mutable && lanes.slope(value).is_some() {
            for u in 0..self.copies() {
                self.turn(lanes, u, mask);
                let own = self.called(name, u);
                let text = lanes.native.text(value);
                out.line(format!("let {own}: {} = {text};", decl.scalar));
                self.names[u].insert(var, own);
            }
            lanes.linear.insert(var);
            lanes.native.scope.define(program, var, value);
            return Ok(());
        }
        let keyword = if decl.mutable { "let mut" } else { "let" };
        for u in 0..self.copies() {
            self.turn(lanes, u, mask);
            let own = self.called(name, u);
            let text = lanes.lanes(value)?;
            out.line(format!("{keyword} {own} = {text};"));
            self.names[u].insert(var, own);
        }
        lanes.varying.insert(var);
        lanes.native.scope.define(program, var, value);
        Ok(())
    }

    fn arg_of<'r>(reductions: &'r [Reduction], cond: &Expr) -> Option<&'r Reduction> {
        reductions.iter().find(|reduction| match reduction {
            Reduction::Arg { best, .. } => cond.mentions(*best),
            Reduction::Plain { .. } => false,
        })
    }

    fn arg_step(
        &self,
        lanes: &mut Lanes<'_>,
        out: &mut Lines,
        cond: &Expr,
        reduction: (VarId, &[VarId]),
        then: &[Stmt],
        mask: Option<&Masks>,
    ) -> Result<(), String> {
        let (best, with) = reduction;
        if self.depth > 0 {
            return Err("an arg-extreme is found in an inner loop".to_owned());
        }
        let program = lanes.native.program;
        let candidate = then
            .iter()
            .find_map(|stmt| match stmt {
                Stmt::Assign { var, value } if *var == best => Some(value),
                _ => None,
            })
            .ok_or("an extreme that is not set")?;
        lanes.types.insert("Mask");
        lanes.types.insert("I32");
        let scalar = program.var(best).scalar;
        for u in 0..self.copies() {
            self.turn(lanes, u, mask);
            let holds = lanes.lanes(cond)?;
            let holds = match mask {
                Some(mask) => format!("{holds}.and({})", mask.names[u]),
                None => holds,
            };
            out.line(format!("let wins = {holds};"));
            let value = lanes.lanes(candidate)?;
            let name = lanes.native.var(best);
            let blended = lanes.blend(scalar, "wins", &value, &name)?;
            out.line(format!("{name} = {blended};"));
            let Some(first) = with.first() else {
                continue;
            };
            let at = lanes.native.var(*first);
            let index = &self.copy.index[u];
            let offset = match self.lo {
                "0" => index.clone(),
                lo => format!("({index} - {lo})"),
            };
            out.line(format!(
                "{at} = wins.select_i32(I32::splat({offset} as i32).add(I32::iota()), {at});"
            ));
        }
        Ok(())
    }
}
