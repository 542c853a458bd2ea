//! Vector loops: whole vectors, several per step, and a masked remainder.
//!
//! Owns accumulators, alignment for streaming stores, and if-conversion. The lanes of a
//! reduction and the accumulators are combined in a fixed order, so results do not vary.

use std::collections::{BTreeMap, BTreeSet};

use pragma_spec::Scalar;

use crate::analyze::bounds::Scope;
use crate::analyze::depend;
use crate::analyze::reduce::{self, Combine, Reduction};
use crate::ir::{BufId, Expr, Loop, Stmt, StoreHint, VarId};

use super::EmitError;
use super::body::{Outcome, Unit, combined};
use super::lines::Lines;
use super::vector::{Lanes, vector_type};
use super::vector_body::{Body, Copy, Masks, has_loops, needs_mask};

impl Unit<'_> {
    /// Writes `inner`, over `range` (texts of its ends), in vectors.
    pub fn vector_loop(
        &mut self,
        out: &mut Lines,
        inner: &Loop,
        scope: &Scope,
        range: (&str, &str),
        unroll: u32,
    ) -> Outcome {
        let reductions = depend::vectorizable(self.program, scope, inner)
            .map_err(|hazard| EmitError(hazard.describe(self.program)))?;
        let (lo, hi) = range;
        let axis = self.program.var(inner.var).name.clone();
        self.uses.lanes = true;
        let narrow = reductions
            .iter()
            .any(|r| matches!(r, Reduction::Arg { .. }));
        if narrow {
            // Lanes count iterations in 32 bits.
            out.open(format!("if {} > i32::MAX as usize {{", minus(hi, lo)));
            let serial = Loop {
                mark: crate::ir::Mark::Serial,
                ..inner.clone()
            };
            let named = Range { lo, hi };
            self.serial_over(out, &serial, scope, &named)?;
            out.reopen("} else {");
        }
        self.accumulators(out, &reductions, unroll)?;
        out.line(format!("let mut {axis}: usize = {lo};"));
        let stream = self.streamed(inner, scope);
        if let Some((buf, place)) = &stream {
            self.uses.fence = true;
            out.line("// Streaming stores need whole aligned vectors: step up to the first one.");
            let head = format!("{axis}_head");
            out.line(format!(
                "let {head} = {place}.align_offset(64).min({hi} - {axis}.min({hi}));"
            ));
            let _ = buf;
            self.partial_steps(out, inner, scope, &reductions, (&axis, lo, &head), unroll)?;
        }
        let aligned = stream.as_ref().map(|(buf, _)| *buf);
        if unroll > 1 {
            out.open(format!("while {axis} + {unroll} * LANES <= {hi} {{"));
            if has_loops(&inner.body) {
                // All vectors go through the inner loops together: what they share is loaded
                // once, and their chains of operations do not wait for each other.
                for u in 1..unroll {
                    out.line(format!("let {axis}_u{u} = {axis} + {u} * LANES;"));
                }
                let index = |u| match u {
                    0 => axis.clone(),
                    u => format!("{axis}_u{u}"),
                };
                let copy = Copy {
                    index: (0..unroll).map(index).collect(),
                    slots: (0..unroll).map(|u| format!("[{u}]")).collect(),
                    partial: None,
                    stream: aligned,
                };
                self.copy(out, inner, scope, &reductions, &copy, lo)?;
            } else {
                out.open(format!("for u in 0..{unroll} {{"));
                let index = format!("{axis}_u");
                out.line(format!("let {index} = {axis} + u * LANES;"));
                let copy = Copy {
                    stream: aligned,
                    ..Copy::one(&index, "[u]")
                };
                self.copy(out, inner, scope, &reductions, &copy, lo)?;
                out.close("}");
            }
            out.line(format!("{axis} += {unroll} * LANES;"));
            out.close("}");
        }
        let slot = if unroll > 1 { "[0]" } else { "" };
        out.open(format!("while {axis} + LANES <= {hi} {{"));
        let copy = Copy {
            stream: aligned,
            ..Copy::one(&axis, slot)
        };
        self.copy(out, inner, scope, &reductions, &copy, lo)?;
        out.line(format!("{axis} += LANES;"));
        out.close("}");
        out.open(format!("if {axis} < {hi} {{"));
        let rest = format!("{axis}_rest");
        out.line(format!("let {rest} = {hi} - {axis};"));
        let copy = Copy {
            partial: Some(&rest),
            ..Copy::one(&axis, slot)
        };
        self.copy(out, inner, scope, &reductions, &copy, lo)?;
        out.close("}");
        self.combine(out, inner, &reductions, unroll, lo)?;
        if stream.is_some() {
            self.streams_pending = true;
        }
        if narrow {
            out.close("}");
        }
        Ok(())
    }

    fn serial_over(
        &mut self,
        out: &mut Lines,
        inner: &Loop,
        scope: &Scope,
        range: &Range<'_>,
    ) -> Outcome {
        let name = &self.program.var(inner.var).name;
        let within = scope.enter(self.program, inner);
        out.open(format!("for {name} in {}..{} {{", range.lo, range.hi));
        self.block(out, &inner.body, &within)?;
        out.close("}");
        Ok(())
    }

    /// Handles fewer than one vector's worth of alignment, in steps of at most a vector.
    fn partial_steps(
        &mut self,
        out: &mut Lines,
        inner: &Loop,
        scope: &Scope,
        reductions: &[Reduction],
        names: (&str, &str, &str),
        unroll: u32,
    ) -> Outcome {
        let (axis, lo, head) = names;
        let slot = if unroll > 1 { "[0]" } else { "" };
        let end = format!("{axis}_aligned");
        out.line(format!("let {end} = {axis} + {head};"));
        out.open(format!("while {axis} < {end} {{"));
        let rest = format!("{axis}_rest");
        out.line(format!("let {rest} = LANES.min({end} - {axis});"));
        let copy = Copy {
            partial: Some(&rest),
            ..Copy::one(axis, slot)
        };
        self.copy(out, inner, scope, reductions, &copy, lo)?;
        out.line(format!("{axis} += {rest};"));
        out.close("}");
        Ok(())
    }

    /// The buffer that this loop streams to, and the place of its first store.
    fn streamed(&self, inner: &Loop, scope: &Scope) -> Option<(BufId, String)> {
        let within = scope.enter(self.program, inner);
        let mut native = self.native(&within);
        native
            .names
            .insert(inner.var, self.program.var(inner.var).name.clone());
        let mut scope = within;
        inner.body.iter().find_map(|stmt| match stmt {
            Stmt::Let { var, value } => {
                scope.define(self.program, *var, value);
                None
            }
            Stmt::Store {
                buf,
                index,
                hint: StoreHint::Stream,
                ..
            } => {
                // Lets of the body are not in scope in front of the loop.
                let local = inner
                    .body
                    .iter()
                    .any(|other| matches!(other, Stmt::Let { var, .. } if index.mentions(*var)));
                let elem = self.program.buf(*buf).elem;
                // Only the first of several stores would be known to be aligned.
                let mut stores = 0;
                for other in &inner.body {
                    other.walk(&mut |other| {
                        let same = matches!(other, Stmt::Store { buf: of, .. } if of == buf);
                        stores += usize::from(same);
                    });
                }
                // The vectors of integers have no streaming store.
                let known = matches!(elem, Scalar::F32 | Scalar::F64);
                (!local && known && stores == 1).then(|| (*buf, native.place(*buf, index)))
            }
            _ => None,
        })
    }

    fn copy(
        &mut self,
        out: &mut Lines,
        inner: &Loop,
        scope: &Scope,
        reductions: &[Reduction],
        copy: &Copy<'_>,
        lo: &str,
    ) -> Outcome {
        let mut lanes = Lanes {
            native: self.native(&scope.enter(self.program, inner)),
            axis: inner.var,
            varying: BTreeSet::new(),
            linear: BTreeSet::new(),
            private: BTreeMap::new(),
            contract: self.contract,
            partial: copy.partial.map(str::to_owned),
            copy: 0,
            mask: None,
            types: BTreeSet::new(),
            checks: false,
            guarded: false,
            checks_runs: false,
        };
        let mut names = Vec::new();
        for (index, slot) in copy.index.iter().zip(&copy.slots) {
            let mut own = BTreeMap::from([(inner.var, index.clone())]);
            for reduction in reductions {
                for var in reduction.vars() {
                    own.insert(var, format!("{}_v{slot}", self.program.var(var).name));
                    lanes.varying.insert(var);
                }
            }
            names.push(own);
        }
        let mut body = Body::new(reductions, copy, lo, names);
        let mask = match copy.partial {
            Some(n) if !reductions.is_empty() || needs_mask(&inner.body) => {
                out.line(format!("let there = Mask::first({n});"));
                lanes.types.insert("Mask");
                Some(Masks::there())
            }
            _ => None,
        };
        body.block(&mut lanes, out, &inner.body, mask.as_ref())
            .map_err(EmitError)?;
        self.uses.checked |= lanes.checks;
        self.uses.checked_run |= lanes.checks_runs;
        let types = lanes.types;
        self.uses.types.extend(types);
        Ok(())
    }

    fn accumulators(&mut self, out: &mut Lines, reductions: &[Reduction], unroll: u32) -> Outcome {
        for reduction in reductions {
            for (at, var) in reduction.vars().into_iter().enumerate() {
                let decl = self.program.var(var);
                let name = format!("{}_v", decl.name);
                let start = match reduction {
                    // Which iteration won, counted from the start of the loop; -1 for none.
                    Reduction::Arg { .. } if at > 0 => {
                        self.uses.types.insert("I32");
                        "I32::splat(-1)".to_owned()
                    }
                    Reduction::Arg { combine, .. } | Reduction::Plain { combine, .. } => {
                        self.start(*combine, decl.scalar, &decl.name)?
                    }
                };
                out.line(match unroll {
                    1 => format!("let mut {name} = {start};"),
                    _ => format!("let mut {name} = [{start}; {unroll}];"),
                });
            }
        }
        Ok(())
    }

    /// The first value of a vector accumulator.
    fn start(&mut self, combine: Combine, scalar: Scalar, name: &str) -> Result<String, EmitError> {
        let vector = vector_type(scalar)
            .ok_or_else(|| EmitError(format!("there are no vectors of `{scalar}` yet")))?;
        self.uses.types.insert(vector);
        let lane = match scalar {
            Scalar::Usize => " as u64",
            Scalar::Isize => " as i64",
            Scalar::I8 | Scalar::U8 | Scalar::I16 | Scalar::U16 => " as i32",
            _ => "",
        };
        Ok(match combine {
            Combine::Add | Combine::Xor if scalar != Scalar::Bool => format!("{vector}::zero()"),
            Combine::Mul => match reduce::identity(combine, scalar) {
                Some(one) => format!("{vector}::splat({}{lane})", self.literal(one)),
                None => return Err(EmitError("a product of this type".to_owned())),
            },
            Combine::Xor => "Mask::splat(false)".to_owned(),
            // The others may count the value so far any number of times.
            _ => format!("{vector}::splat({name}{lane})"),
        })
    }

    fn combine(
        &mut self,
        out: &mut Lines,
        inner: &Loop,
        reductions: &[Reduction],
        unroll: u32,
        lo: &str,
    ) -> Outcome {
        for reduction in reductions {
            match reduction {
                Reduction::Plain { acc, combine } => {
                    let decl = self.program.var(*acc);
                    let text = self.reduced(&decl.name, decl.scalar, *combine, unroll);
                    out.line(format!("{} = {text};", decl.name));
                }
                Reduction::Arg {
                    best,
                    combine,
                    with,
                } => {
                    self.arg(out, inner, (*best, *combine, with), unroll, lo)?;
                }
            }
        }
        Ok(())
    }

    /// The accumulators and lanes of one reduction as a scalar.
    fn reduced(&self, name: &str, scalar: Scalar, combine: Combine, unroll: u32) -> String {
        let join = |a: String, b: String| match combine {
            Combine::Add => format!("{a}.add({b})"),
            Combine::Mul => format!("{a}.mul({b})"),
            Combine::And => format!("{a}.and({b})"),
            Combine::Or => format!("{a}.or({b})"),
            Combine::Xor => format!("{a}.xor({b})"),
            Combine::Max if scalar.is_float() => format!("{a}.max_num({b})"),
            Combine::Min if scalar.is_float() => format!("{a}.min_num({b})"),
            Combine::Max => format!("{a}.max({b})"),
            Combine::Min => format!("{a}.min({b})"),
            Combine::PickGt if scalar.is_float() => format!("{a}.pick_gt({b})"),
            Combine::PickLt if scalar.is_float() => format!("{a}.pick_lt({b})"),
            Combine::PickGt => format!("{a}.max({b})"),
            Combine::PickLt => format!("{a}.min({b})"),
        };
        let mut parts: Vec<String> = match unroll {
            1 => vec![format!("{name}_v")],
            _ => (0..unroll).map(|u| format!("{name}_v[{u}]")).collect(),
        };
        while parts.len() > 1 {
            let mut halves = Vec::new();
            let mut pairs = parts.into_iter();
            while let Some(a) = pairs.next() {
                halves.push(match pairs.next() {
                    Some(b) => join(a, b),
                    None => a,
                });
            }
            parts = halves;
        }
        let all = parts.pop().unwrap_or_default();
        if scalar == Scalar::Bool {
            return match combine {
                Combine::And => format!("{name} & {all}.all()"),
                Combine::Xor => format!("{name} ^ ({all}.count() % 2 == 1)"),
                _ => format!("{name} | {all}.any()"),
            };
        }
        let float = scalar.is_float();
        let method = match combine {
            Combine::Add => "reduce_add",
            Combine::Mul => "reduce_mul",
            Combine::And => "reduce_and",
            Combine::Or => "reduce_or",
            Combine::Xor => "reduce_xor",
            Combine::Max if float => "reduce_max_num",
            Combine::Min if float => "reduce_min_num",
            Combine::PickGt if float => "reduce_pick_gt",
            Combine::PickLt if float => "reduce_pick_lt",
            Combine::Max | Combine::PickGt => "reduce_max",
            Combine::Min | Combine::PickLt => "reduce_min",
        };
        let lane = vector_type(scalar).map_or(String::new(), str::to_lowercase);
        let total = if lane == scalar.name() {
            format!("{all}.{method}()")
        } else {
            format!("({all}.{method}() as {scalar})")
        };
        match combine {
            Combine::Add | Combine::Mul | Combine::Xor => combined(combine, scalar, name, &total),
            _ => total,
        }
    }

    /// Finds the winning lane: the extreme, and among equals the earliest iteration.
    fn arg(
        &mut self,
        out: &mut Lines,
        inner: &Loop,
        reduction: (VarId, Combine, &[VarId]),
        unroll: u32,
        lo: &str,
    ) -> Outcome {
        let (best, combine, with) = reduction;
        let best = self.program.var(best).name.clone();
        let Some(first) = with.first() else {
            return Ok(());
        };
        let at = format!("{}_v", self.program.var(*first).name);
        let beats = if combine == Combine::PickGt { ">" } else { "<" };
        let mut winner = || {
            out.line(format!("let mut {best}_at = -1_i32;"));
            let (lanes_of, ats) = match unroll {
                1 => (format!("{best}_v"), at.clone()),
                _ => {
                    out.open(format!("for u in 0..{unroll} {{"));
                    (format!("{best}_v[u]"), format!("{at}[u]"))
                }
            };
            out.line(format!("let values = {lanes_of}.to_array();"));
            out.line(format!("let iterations = {ats}.to_array();"));
            out.open("for lane in 0..LANES {");
            out.line("let (value, iteration) = (values[lane], iterations[lane]);");
            out.open(format!(
                "if iteration >= 0 && ({best}_at < 0 || value {beats} {best} || (value == {best} && iteration < {best}_at)) {{"
            ));
            out.line(format!("{best} = value;"));
            out.line(format!("{best}_at = iteration;"));
            out.close("}");
            out.close("}");
            if unroll > 1 {
                out.close("}");
            }
        };
        winner();
        out.open(format!("if {best}_at >= 0 {{"));
        let axis = self.program.var(inner.var).name.clone();
        out.line(format!("let {axis} = {lo} + {best}_at as usize;"));
        let native = self.native(&Scope::default());
        for var in with {
            let value = companion(&inner.body, *var)
                .ok_or_else(|| EmitError("a companion of an extreme without a value".to_owned()))?;
            let mut simple = true;
            value.walk(&mut |node| {
                simple &= match node {
                    Expr::Var(used) => *used == inner.var || !depend::declares(&inner.body, *used),
                    Expr::Load { .. } => false,
                    _ => true,
                };
            });
            if !simple {
                return Err(EmitError(format!(
                    "`{}` is not a function of the counter",
                    self.program.var(*var).name
                )));
            }
            out.line(format!(
                "{} = {};",
                self.program.var(*var).name,
                native.text(value)
            ));
        }
        out.close("}");
        Ok(())
    }
}

/// Texts of the ends of a loop.
struct Range<'a> {
    lo: &'a str,
    hi: &'a str,
}

fn minus(hi: &str, lo: &str) -> String {
    if lo == "0" {
        hi.to_owned()
    } else {
        format!("{hi}.saturating_sub({lo})")
    }
}

/// The value that `var` is set to.
fn companion(body: &[Stmt], var: VarId) -> Option<&Expr> {
    body.iter().find_map(|stmt| match stmt {
        Stmt::Assign { var: target, value } if *target == var => Some(value),
        _ => stmt
            .blocks()
            .into_iter()
            .find_map(|block| companion(block, var)),
    })
}
