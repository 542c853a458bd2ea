//! Parallel loops: a function for one block of iterations, and the call that shares blocks out.
//!
//! The cut into blocks depends on sizes only. Reductions leave one partial result per block and
//! are combined in order, so any number of threads gives the same bits.

use std::collections::BTreeSet;

use crate::analyze::bounds::Scope;
use crate::analyze::depend;
use crate::analyze::reduce::{self, Combine, Reduction};
use crate::ir::{BufId, BufRole, Loop, Mark, VarId};

use super::EmitError;
use super::body::{Outcome, Unit, combined};
use super::lines::Lines;

/// What a block function takes and gives.
struct Interface {
    scalars: Vec<VarId>,
    bufs: Vec<BufId>,
    /// Accumulators, with how they combine; companions of an extreme have none.
    results: Vec<(VarId, Option<Combine>)>,
}

impl Unit<'_> {
    pub fn parallel_loop(&mut self, out: &mut Lines, inner: &Loop, scope: &Scope) -> Outcome {
        let (grain, serial_below, unroll) = match inner.mark {
            Mark::Parallel {
                grain,
                serial_below,
            } => (grain, serial_below, None),
            Mark::ParallelVector {
                grain,
                serial_below,
                unroll,
            } => (grain, serial_below, Some(unroll)),
            _ => return Err(EmitError("not a parallel loop".to_owned())),
        };
        let reductions = depend::parallelizable(self.program, scope, inner)
            .map_err(|hazard| EmitError(hazard.describe(self.program)))?;
        let interface = self.interface(inner, &reductions);
        self.block_function(inner, scope, &interface, unroll)?;
        self.share_out(out, inner, scope, &interface, (grain, serial_below))
    }

    fn interface(&self, inner: &Loop, reductions: &[Reduction]) -> Interface {
        let mut results = Vec::new();
        for reduction in reductions {
            match reduction {
                Reduction::Plain { acc, combine } => results.push((*acc, Some(*combine))),
                Reduction::Arg {
                    best,
                    combine,
                    with,
                } => {
                    results.push((*best, Some(*combine)));
                    results.extend(with.iter().map(|var| (*var, None)));
                }
            }
        }
        let mut scalars = self.captured(inner);
        // An accumulator that starts from the identity needs no value from outside; one that is
        // only written (the companion of an extreme) still does.
        scalars.retain(|var| !results.iter().any(|(acc, _)| acc == var));
        let private = depend::allocated(&inner.body);
        let bufs: BTreeSet<BufId> = depend::loaded(&inner.body)
            .union(&depend::stored(&inner.body))
            .copied()
            .chain(depend::prefetched(&inner.body))
            .filter(|buf| !private.contains(buf))
            .collect();
        Interface {
            scalars,
            bufs: bufs.into_iter().collect(),
            results,
        }
    }

    fn is_const_pointer(&self, buf: BufId) -> bool {
        self.program.buf(buf).role == BufRole::Input
    }

    /// Whether a block starts this accumulator from its value so far rather than the identity.
    fn starts_from_value(&self, var: VarId, combine: Option<Combine>) -> bool {
        match combine {
            None => true,
            Some(combine) => {
                reduce::identity(combine, self.program.var(var).scalar).is_none()
                    || !matches!(combine, Combine::Add | Combine::Mul | Combine::Xor)
            }
        }
    }

    fn block_name(&self, inner: &Loop) -> String {
        format!("{}_{}_block", self.entry, self.program.var(inner.var).name)
    }

    fn block_function(
        &mut self,
        inner: &Loop,
        scope: &Scope,
        interface: &Interface,
        unroll: Option<u32>,
    ) -> Outcome {
        let program = self.program;
        let axis = &program.var(inner.var).name;
        let mut params = vec!["begin: usize".to_owned(), "end: usize".to_owned()];
        params.extend(program.dims.iter().map(|dim| format!("{dim}: usize")));
        for var in &interface.scalars {
            let decl = program.var(*var);
            params.push(format!("{}: {}", decl.name, decl.scalar));
        }
        for (var, combine) in &interface.results {
            if self.starts_from_value(*var, *combine) {
                let decl = program.var(*var);
                params.push(format!("mut {}: {}", decl.name, decl.scalar));
            }
        }
        for buf in &interface.bufs {
            let decl = program.buf(*buf);
            let kind = if self.is_const_pointer(*buf) {
                "*const"
            } else {
                "*mut"
            };
            params.push(format!("{}: {kind} {}", decl.name, decl.elem));
        }
        let lens = self.lengths(inner, scope, interface);
        params.extend(lens.iter().map(|name| format!("{name}: usize")));
        let mut body = Lines::at(2);
        for (var, combine) in &interface.results {
            if let Some(combine) = combine
                && !self.starts_from_value(*var, Some(*combine))
                && let Some(identity) = reduce::identity(*combine, program.var(*var).scalar)
            {
                let decl = program.var(*var);
                body.line(format!(
                    "let mut {}: {} = {};",
                    decl.name,
                    decl.scalar,
                    self.literal(identity)
                ));
            }
        }
        match unroll {
            Some(unroll) => self.vector_loop(&mut body, inner, scope, ("begin", "end"), unroll)?,
            None => {
                let within = scope.enter(program, inner);
                let hoisted = self.hoist_allocs(&mut body, inner, scope)?;
                body.open(format!("for {axis} in begin..end {{"));
                self.block(&mut body, &inner.body[hoisted..], &within)?;
                body.close("}");
            }
        }
        let results: Vec<&str> = interface
            .results
            .iter()
            .map(|(var, _)| program.var(*var).name.as_str())
            .collect();
        let types: Vec<&str> = interface
            .results
            .iter()
            .map(|(var, _)| program.var(*var).scalar.name())
            .collect();
        let (arrow, tail) = match results.as_slice() {
            [] => (String::new(), None),
            [one] => (format!(" -> {}", types[0]), Some((*one).to_owned())),
            many => (
                format!(" -> ({})", types.join(", ")),
                Some(format!("({})", many.join(", "))),
            ),
        };
        if let Some(tail) = tail {
            body.line(tail);
        }
        let mut text = Lines::default();
        text.line(format!(
            "/// Iterations `begin..end` of the loop over `{axis}`."
        ));
        text.line("///");
        text.line("/// # Safety");
        text.line("/// As for the entry; no other thread has iterations of this range.");
        text.line(&self.features);
        super::signature(
            &mut text,
            "unsafe fn",
            &self.block_name(inner),
            &params,
            &arrow,
        );
        text.open("");
        let mut text = text.finish();
        // `open("")` left an empty line behind the signature's brace.
        text.truncate(text.trim_end().len());
        text.push('\n');
        text.push_str("    // SAFETY: the caller vouches for the lengths, and every index below follows from them.\n");
        text.push_str("    unsafe {\n");
        text.push_str(&body.finish());
        text.push_str("    }\n}\n");
        self.functions.push(text);
        Ok(())
    }

    /// Names of buffer lengths that checked accesses in the loop need.
    fn lengths(&self, inner: &Loop, scope: &Scope, interface: &Interface) -> Vec<String> {
        let mut needed = BTreeSet::new();
        let within = scope.enter(self.program, inner);
        crate::analyze::bounds::for_each_access(
            self.program,
            &inner.body,
            &within,
            &mut |at, buf, index, _| {
                if !at.is_in_bounds(self.program, buf, index) {
                    needed.insert(buf);
                }
            },
        );
        interface
            .bufs
            .iter()
            .filter(|buf| needed.contains(buf))
            .map(|buf| format!("{}_len", self.program.buf(*buf).name))
            .collect()
    }

    fn share_out(
        &mut self,
        out: &mut Lines,
        inner: &Loop,
        scope: &Scope,
        interface: &Interface,
        sizes: (u64, u64),
    ) -> Outcome {
        let (grain, serial_below) = sizes;
        let program = self.program;
        let native = self.native(scope);
        let axis = &program.var(inner.var).name;
        let (lo, hi) = (native.text(&inner.lo), native.text(&inner.hi));
        self.uses.blocks = true;
        out.open("{");
        let count = if lo == "0" {
            hi.clone()
        } else {
            format!("({hi}).saturating_sub({lo})")
        };
        out.line(format!("let iterations = {count};"));
        let work = self.work_per_iteration(inner, scope);
        let single = work == "0" || work == "1";
        let block = if single {
            grain.to_string()
        } else {
            format!("({grain} / ({work}).max(1)).max(1)")
        };
        out.line(format!("let block: usize = {block};"));
        let total = if single {
            "iterations".to_owned()
        } else {
            format!("iterations * ({work})")
        };
        out.line(format!("let worthwhile = {total} >= {serial_below};"));
        for buf in &interface.bufs {
            let name = &program.buf(*buf).name;
            let wrapper = if self.is_const_pointer(*buf) {
                self.uses.shared_const = true;
                "SharedConst"
            } else {
                self.uses.shared = true;
                "Shared"
            };
            out.line(format!("let {name} = {wrapper}::new({name});"));
        }
        let shift = |end: &str| {
            if lo == "0" {
                end.to_owned()
            } else {
                format!("{lo} + {end}")
            }
        };
        let mut args = vec![shift("begin"), shift("end")];
        args.extend(program.dims.iter().cloned());
        args.extend(interface.scalars.iter().map(|var| native.var(*var)));
        for (var, combine) in &interface.results {
            if self.starts_from_value(*var, *combine) {
                args.push(native.var(*var));
            }
        }
        args.extend(
            interface
                .bufs
                .iter()
                .map(|buf| format!("{}.get()", program.buf(*buf).name)),
        );
        args.extend(self.lengths(inner, scope, interface));
        let call = format!("{}({})", self.block_name(inner), args.join(", "));
        let safety = format!("// SAFETY: blocks are disjoint ranges of `{axis}`.");
        if interface.results.is_empty() {
            out.open("parallel::for_blocks_if(worthwhile, iterations, block, |begin, end| {");
            out.line(&safety);
            out.line(format!("unsafe {{ {call} }};"));
            out.close("});");
            out.close("}");
            return Ok(());
        }
        self.reduce_blocks(out, interface, &call, &safety);
        out.close("}");
        Ok(())
    }

    fn reduce_blocks(&mut self, out: &mut Lines, interface: &Interface, call: &str, safety: &str) {
        let program = self.program;
        let names: Vec<&str> = interface
            .results
            .iter()
            .map(|(var, _)| program.var(*var).name.as_str())
            .collect();
        let pattern = |prefix: &str| match names.as_slice() {
            [one] => format!("{prefix}{one}"),
            many => {
                let names: Vec<String> = many.iter().map(|n| format!("{prefix}{n}")).collect();
                format!("({})", names.join(", "))
            }
        };
        self.uses.shared = true;
        out.line("// One partial result per block, combined in order.");
        out.line(format!(
            "let mut partials = vec![{}; iterations.div_ceil(block)];",
            pattern("")
        ));
        out.line("let slots = Shared::new(partials.as_mut_ptr());");
        out.open("parallel::for_blocks_if(worthwhile, iterations, block, |begin, end| {");
        out.line(safety);
        out.open("unsafe {");
        out.line(format!("let partial = {call};"));
        out.line("*slots.get().add(begin / block) = partial;");
        out.close("}");
        out.close("});");
        out.open(format!(
            "for {} in partials.iter().copied() {{",
            pattern("block_")
        ));
        let mut results = interface.results.iter().peekable();
        while let Some((var, combine)) = results.next() {
            let decl = program.var(*var);
            let part = format!("block_{}", decl.name);
            let mut companions = Vec::new();
            while let Some((with, None)) = results.peek() {
                companions.push(program.var(*with).name.clone());
                results.next();
            }
            let Some(combine) = combine else { continue };
            if companions.is_empty() {
                let text = combined(*combine, decl.scalar, &decl.name, &part);
                out.line(format!("{} = {text};", decl.name));
            } else {
                let beats = if *combine == Combine::PickGt {
                    ">"
                } else {
                    "<"
                };
                out.open(format!("if {part} {beats} {} {{", decl.name));
                out.line(format!("{} = {part};", decl.name));
                for name in companions {
                    out.line(format!("{name} = block_{name};"));
                }
                out.close("}");
            }
        }
        out.close("}");
    }
}
