//! Branches, inner loops and exits in a vector loop's body.
//!
//! Owns if-conversion: a branch whose condition differs between lanes runs both sides under
//! masks, a `while` runs until its condition fails in every lane, and a lane that leaves an
//! inner loop alone sits out the rest of it.

use crate::ir::{BufId, Const, Expr, Loop, Mark, Stmt};

use super::lines::Lines;
use super::vector::{Lanes, vector_type};
use super::vector_body::{Body, Masks, has_loops};

/// A temporary of this many elements at most is held in registers or on the stack, one vector
/// for each element.
const LARGEST_TEMPORARY: i128 = 64;

/// Whether `stmt` may leave the loop that it stands in.
fn may_leave(stmt: &Stmt) -> bool {
    match stmt {
        Stmt::Break | Stmt::Continue => true,
        Stmt::If {
            then, otherwise, ..
        } => then.iter().any(may_leave) || otherwise.iter().any(may_leave),
        _ => false,
    }
}

impl Body<'_> {
    /// Behind a statement that lanes may have left the loop in: takes them out of the mask.
    pub(super) fn without_left(&self, out: &mut Lines, stmt: &Stmt, mask: Option<&Masks>) {
        let (Some(live), Some(mask)) = (&self.live, mask) else {
            return;
        };
        if !may_leave(stmt) || mask.names == live.names {
            return;
        }
        for (mask, live) in mask.names.iter().zip(&live.names) {
            out.line(format!("let {mask} = {mask}.and({live});"));
        }
    }

    /// Whether what stands in `body` must not run unless a lane asks for it.
    fn must_be_guarded(lanes: &Lanes<'_>, body: &[Stmt]) -> bool {
        let mut guarded = has_loops(body);
        for stmt in body {
            stmt.walk(&mut |stmt| {
                guarded |= matches!(stmt, Stmt::Panic);
                for expr in stmt.exprs() {
                    expr.walk(&mut |node| {
                        if let Expr::Load { index, .. } = node {
                            guarded |= lanes.is_uniform(index);
                        }
                    });
                }
            });
        }
        guarded
    }

    /// Writes a branch: as it is where all lanes agree, under masks where they do not.
    pub(super) fn branch(
        &mut self,
        lanes: &mut Lanes<'_>,
        out: &mut Lines,
        cond: &Expr,
        sides: (&[Stmt], &[Stmt]),
        mask: Option<&Masks>,
    ) -> Result<(), String> {
        let (then, otherwise) = sides;
        let outside = lanes.native.scope.clone();
        if lanes.is_uniform(cond) {
            lanes.note_checks(cond);
            out.open(format!("if {} {{", lanes.native.text(cond)));
            lanes.native.scope = outside.given(lanes.native.program, cond, true);
            self.block(lanes, out, then, mask)?;
            if !otherwise.is_empty() {
                out.reopen("} else {");
                lanes.native.scope = outside.given(lanes.native.program, cond, false);
                self.block(lanes, out, otherwise, mask)?;
            }
            out.close("}");
            lanes.native.scope = outside;
            return Ok(());
        }
        lanes.types.insert("Mask");
        out.open("{");
        // With stores below, lanes that are not there must not be written either.
        let mut yes = Vec::new();
        let mut no = Vec::new();
        for u in 0..self.copies() {
            self.turn(lanes, u, mask);
            let holds = lanes.lanes(cond)?;
            let around = match (mask, self.copy.partial) {
                (Some(mask), _) => Some(mask.names[u].clone()),
                (None, Some(n)) => Some(format!("Mask::first({n})")),
                (None, None) => None,
            };
            let (holds_u, fails_u) = (self.called("holds", u), self.called("fails", u));
            let both = |side: String| match &around {
                Some(around) => format!("{side}.and({around})"),
                None => side,
            };
            if otherwise.is_empty() {
                out.line(format!("let {holds_u} = {};", both(holds)));
            } else {
                // The mask around may have the name of one of the two.
                out.line(format!(
                    "let ({holds_u}, {fails_u}) = ({}, {});",
                    both(holds.clone()),
                    both(format!("{holds}.not()"))
                ));
            }
            yes.push(holds_u);
            no.push(fails_u);
        }
        for (names, body, taken) in [(yes, then, true), (no, otherwise, false)] {
            if body.is_empty() {
                continue;
            }
            let masks = Masks {
                names,
                conditional: true,
            };
            let guarded = Self::must_be_guarded(lanes, body);
            if guarded {
                out.open(format!("if {} {{", any(&masks)));
            }
            lanes.native.scope = outside.given_in_lanes(lanes.native.program, cond, taken);
            self.block(lanes, out, body, Some(&masks))?;
            if guarded {
                out.close("}");
            }
        }
        out.close("}");
        lanes.native.scope = outside;
        Ok(())
    }

    /// Declares the masks of the lanes that go round a loop.
    fn start_live(&self, lanes: &mut Lanes<'_>, out: &mut Lines, mask: Option<&Masks>) -> Masks {
        lanes.types.insert("Mask");
        let mut names = Vec::new();
        for u in 0..self.copies() {
            let name = self.called("live", u);
            let start = mask.map_or("Mask::splat(true)", |mask| mask.names[u].as_str());
            out.line(format!("let mut {name} = {start};"));
            names.push(name);
        }
        Masks {
            names,
            conditional: true,
        }
    }

    /// A counted loop inside: every lane goes round it the same number of times, or sits out.
    pub(super) fn inner_for(
        &mut self,
        lanes: &mut Lanes<'_>,
        out: &mut Lines,
        inner: &Loop,
        mask: Option<&Masks>,
    ) -> Result<(), String> {
        let program = lanes.native.program;
        let counter = &program.var(inner.var).name;
        if inner.mark != Mark::Serial {
            return Err(format!("the loop over `{counter}` inside is scheduled"));
        }
        if !lanes.is_uniform(&inner.lo) || !lanes.is_uniform(&inner.hi) {
            return Err(format!(
                "lanes go round the loop over `{counter}` different numbers of times"
            ));
        }
        let lo = lanes.native.print_beside(&inner.lo, &inner.hi).text;
        let hi = lanes.native.text(&inner.hi);
        lanes.note_checks(&inner.lo);
        lanes.note_checks(&inner.hi);
        let leaves = inner.body.iter().any(may_leave);
        let outside = lanes.native.scope.clone();
        let around = self.live.take();
        if leaves {
            out.open("{");
        }
        let live = leaves.then(|| self.start_live(lanes, out, mask));
        let range = match inner.step {
            1 => format!("{lo}..{hi}"),
            step => format!("({lo}..{hi}).step_by({step})"),
        };
        out.open(format!("for {counter} in {range} {{"));
        lanes.native.scope = outside.enter(program, inner);
        self.live.clone_from(&live);
        self.depth += 1;
        self.block(lanes, out, &inner.body, live.as_ref().or(mask))?;
        self.depth -= 1;
        if let Some(live) = &live {
            out.open(format!("if !({}) {{", any(live)));
            out.line("break;");
            out.close("}");
        }
        out.close("}");
        if leaves {
            out.close("}");
        }
        self.live = around;
        lanes.native.scope = outside;
        Ok(())
    }

    /// A conditional loop inside: it runs while any lane wants to, and lanes that do not sit out.
    pub(super) fn inner_while(
        &mut self,
        lanes: &mut Lanes<'_>,
        out: &mut Lines,
        cond: &Expr,
        body: &[Stmt],
        mask: Option<&Masks>,
    ) -> Result<(), String> {
        let outside = lanes.native.scope.clone();
        let around = self.live.take();
        out.open("{");
        let live = self.start_live(lanes, out, mask);
        out.open("loop {");
        for u in 0..self.copies() {
            self.turn(lanes, u, Some(&live));
            let wanted = lanes.lanes(cond)?;
            let name = &live.names[u];
            out.line(format!("{name} = {name}.and({wanted});"));
        }
        lanes.note_checks(cond);
        out.open(format!("if !({}) {{", any(&live)));
        out.line("break;");
        out.close("}");
        lanes.native.scope = outside.given_in_lanes(lanes.native.program, cond, true);
        self.live = Some(live.clone());
        self.depth += 1;
        self.block(lanes, out, body, Some(&live))?;
        self.depth -= 1;
        out.close("}");
        out.close("}");
        self.live = around;
        lanes.native.scope = outside;
        Ok(())
    }

    /// `break`: the lanes of the mask leave the loop around.
    pub(super) fn leave(&self, out: &mut Lines, mask: Option<&Masks>) -> Result<(), String> {
        if self.depth == 0 {
            return Err("the loop may be left early".to_owned());
        }
        let (Some(live), Some(mask)) = (&self.live, mask) else {
            out.line("break;");
            return Ok(());
        };
        if live.names == mask.names {
            // Whoever is still in the loop leaves it here.
            out.line("break;");
            return Ok(());
        }
        for (live, mask) in live.names.iter().zip(&mask.names) {
            out.line(format!("{live} = {live}.and({mask}.not());"));
        }
        Ok(())
    }

    /// The reference panics in one of the lanes of the mask, if there is any.
    pub(super) fn panic(&self, out: &mut Lines, mask: Option<&Masks>) -> Result<(), String> {
        let text = "panic!(\"the function panics for these arguments\");";
        match mask {
            Some(mask) => {
                out.open(format!("if {} {{", any(mask)));
                out.line(text);
                out.close("}");
            }
            None => out.line(text),
        }
        Ok(())
    }

    /// A temporary array of each iteration: one vector for each element.
    pub(super) fn temporary(
        &mut self,
        lanes: &mut Lanes<'_>,
        out: &mut Lines,
        alloc: (BufId, &Expr, &Expr),
        mask: Option<&Masks>,
    ) -> Result<(), String> {
        let (buf, len, fill) = alloc;
        let program = lanes.native.program;
        let decl = program.buf(buf);
        let count = match len {
            Expr::Const(Const::Int(_, n)) if (1..=LARGEST_TEMPORARY).contains(n) => *n,
            _ => {
                return Err(format!(
                    "the temporary `{}` is not a small array of a fixed size",
                    decl.name
                ));
            }
        };
        let vector = vector_type(decl.elem)
            .ok_or_else(|| format!("there are no vectors of `{}` yet", decl.elem))?;
        lanes.types.insert(vector);
        let mut names = Vec::new();
        for u in 0..self.copies() {
            self.turn(lanes, u, mask);
            let fill = lanes.lanes(fill)?;
            let name = self.called(&decl.name, u);
            out.line(format!("let mut {name} = [{fill}; {count}];"));
            names.push(name);
        }
        lanes.private.insert(buf, names);
        Ok(())
    }
}

/// Whether any lane of any vector of the step is on, as Rust.
fn any(masks: &Masks) -> String {
    let tests: Vec<String> = masks
        .names
        .iter()
        .map(|name| format!("{name}.any()"))
        .collect();
    tests.join(" || ")
}
