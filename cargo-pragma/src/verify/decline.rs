//! Cases that a candidate leaves to the reference.
//!
//! Owns when it must, when it may, and that it has touched nothing by then. In the user's crate the reference runs next.

use super::bench::{Bench, Expected};
use super::cases::Case;
use super::check::{Evidence, Run, evidence};
use crate::inputs::fill;
use crate::worker::protocol::{Access, ArgSpec, Layout, Poison};
use crate::worker::{Called, WorkerError, abi};

impl Bench {
    /// Calls the candidate; its outputs come in the order of the signature.
    pub(super) fn run(
        &self,
        run: &mut Run,
        args: &[ArgSpec],
        layout: Layout,
        poison: Poison,
        threads: usize,
    ) -> Result<Called, WorkerError> {
        let mut called = run.call(args, layout, poison, threads)?;
        called.outputs = self.spec.in_order(called.outputs);
        if called.status == abi::STATUS_OK {
            self.spec.exchange(&mut called.outputs);
        }
        Ok(called)
    }

    /// A case without a result: the candidate leaves it to the reference and has not touched anything, or panics as
    /// the reference does.
    pub(super) fn check_decline(
        &self,
        case: &Case,
        args: &[ArgSpec],
        called: &Called,
        expected: &Expected,
    ) -> Option<Box<Evidence>> {
        let panics = matches!(expected, Expected::Panic);
        match called.status {
            abi::STATUS_GUARD => self.changed(case, args, called),
            abi::STATUS_PANIC if panics => None,
            _ if panics => Some(evidence(
                case,
                "the reference panics on these arguments and the candidate does not",
            )),
            _ => Some(evidence(
                case,
                "the reference has no result for these arguments and the candidate does not decline",
            )),
        }
    }

    /// Whether a candidate may leave a case to the reference though that has a result: only where kernels can decline at
    /// all or something optional is absent, and never at a tuning size.
    pub(super) fn may_decline(&self, case: &Case) -> bool {
        !case.tuning && (self.spec.declines || case.absent)
    }

    /// What a call that declined has written to, if anything.
    pub(super) fn changed(
        &self,
        case: &Case,
        args: &[ArgSpec],
        called: &Called,
    ) -> Option<Box<Evidence>> {
        let mutable = self.outputs.iter().filter(|output| output.param.is_some());
        for (output, after) in mutable.zip(&called.outputs) {
            let Some(arg) = output.param.and_then(|param| args.get(param)) else {
                continue;
            };
            let mut before = vec![0; arg.own_bytes() as usize];
            match arg.access {
                Access::Write => Poison::A.fill(&mut before, arg.elem),
                Access::Read | Access::ReadWrite => {
                    fill(&mut before, arg.elem, &arg.values, arg.seed);
                }
            }
            if before != *after {
                let mut wrong = evidence(
                    case,
                    "the candidate declines after it has written to its arguments",
                );
                wrong.output = Some(output.name.clone());
                return Some(wrong);
            }
        }
        None
    }
}
