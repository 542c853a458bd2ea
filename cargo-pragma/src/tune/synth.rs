//! The embedded engine behind the loop's trait.

use pragma_spec::Target;
use pragma_synth::action::{self, Action};
use pragma_synth::conduct::{self, Conductor, Machine, Plan, Setting, StaticProfile};
use pragma_synth::emit::{self, EmitOptions};
use pragma_synth::ir::Program;

use super::engine::{Engine, Feedback, Limit, Origin, Proposal, Step};

/// The engine's name in manifests.
pub const NAME: &str = "synth";

/// One search of the embedded engine.
#[derive(Debug)]
pub struct Synth {
    conductor: Conductor,
    /// Plans of the proposals so far, to name parents by.
    plans: Vec<Plan>,
}

/// What a search of the embedded engine is for.
#[derive(Clone, Debug)]
pub struct Purpose {
    /// The target.
    pub target: Target,
    /// The dimensions.
    pub dims: Vec<u64>,
    /// The machine's ceilings for the target.
    pub machine: Machine,
    /// Whether results must match the reference bit for bit.
    pub exact: bool,
    /// Whether the kernel may use more than one thread.
    pub parallel: bool,
    /// Name of the entry function.
    pub entry: String,
    /// A plan that was best elsewhere.
    pub seed: Option<Plan>,
}

impl Synth {
    /// A search that has not begun.
    pub fn new(program: &Program, purpose: Purpose) -> Self {
        let setting = Setting {
            target: purpose.target,
            dims: purpose.dims,
            machine: purpose.machine,
            exact: purpose.exact,
            parallel: purpose.parallel,
            entry: purpose.entry,
            seed: purpose.seed,
            reference_ns: None,
        };
        Synth {
            conductor: Conductor::new(program.clone(), setting),
            plans: Vec::new(),
        }
    }

    /// The best plan heard of, to start other searches from.
    pub fn best_plan(&self) -> Option<Plan> {
        self.conductor.best().map(|(plan, _)| plan.clone())
    }
}

impl Engine for Synth {
    fn name(&self) -> &str {
        NAME
    }

    fn next(&mut self, feedback: Option<&Feedback>) -> Step {
        let heard = feedback.map(|feedback| match feedback {
            Feedback::Refused { reason, .. } => conduct::Feedback::Refused {
                reason: reason.clone(),
            },
            Feedback::Measured { timing, facts } => conduct::Feedback::Measured {
                ns: timing.candidate_ns,
                reference_ns: timing.reference_ns,
                profile: facts.as_ref().map(|facts| StaticProfile {
                    scalar_share: facts.scalar_share,
                    spills: facts.spills,
                    fma_density: facts.fma_density,
                    widest: facts.widest,
                }),
            },
        });
        let parent = self
            .conductor
            .best()
            .and_then(|(plan, _)| self.plans.iter().position(|known| known == plan));
        match self.conductor.next(heard.as_ref()) {
            conduct::Step::Stop(reason) => Step::Stop(reason.to_string()),
            conduct::Step::Try(proposal) => {
                self.plans.push(proposal.plan.clone());
                let why = &proposal.why;
                Step::Try(Proposal {
                    actions: proposal.actions.iter().map(Action::to_string).collect(),
                    origin: Origin::Schedule,
                    source: proposal.source,
                    rationale: format!(
                        "{}; {} ({})",
                        why.change, why.diagnosis.bottleneck, why.diagnosis.evidence
                    ),
                    parent,
                })
            }
        }
    }

    fn limit(&self) -> Option<Limit> {
        self.conductor.best()?;
        let diagnosis = self.conductor.diagnosis();
        Some(Limit {
            bottleneck: diagnosis.bottleneck.to_string(),
            evidence: diagnosis.evidence,
        })
    }

    fn roof_fraction(&self, ns: f64) -> Option<f64> {
        let fraction = self.conductor.roof().fraction(ns);
        (fraction.is_finite() && fraction > 0.0).then_some(fraction)
    }
}

/// The version that an action list names; `None` if it does not apply to this program any more.
pub fn realise(
    program: &Program,
    target: Target,
    entry: &str,
    exact: bool,
    actions: &[String],
) -> Option<Proposal> {
    let parsed: Vec<Action> = actions
        .iter()
        .map(|text| text.parse().ok())
        .collect::<Option<_>>()?;
    let scheduled = action::schedule(program, &parsed).ok()?;
    let source = emit::emit(&scheduled, target, entry, EmitOptions { contract: !exact }).ok()?;
    Some(Proposal {
        actions: actions.to_vec(),
        origin: Origin::Schedule,
        source,
        rationale: "it was best in an earlier run".to_owned(),
        parent: None,
    })
}

/// One file's items for several versions of a program: entry names and action lists.
///
/// # Errors
/// A sentence if a version does not apply to this program, or cannot be written.
pub fn combine(
    program: &Program,
    target: Target,
    exact: bool,
    versions: &[(&str, &[String])],
) -> Result<String, String> {
    let mut scheduled = Vec::with_capacity(versions.len());
    for (entry, actions) in versions {
        let actions: Vec<Action> = actions
            .iter()
            .map(|text| {
                text.parse()
                    .map_err(|_| format!("`{text}` is not an action of this version"))
            })
            .collect::<Result<_, _>>()?;
        let program = action::schedule(program, &actions).map_err(|illegal| illegal.to_string())?;
        scheduled.push((program, *entry));
    }
    let versions: Vec<(&Program, &str)> = scheduled
        .iter()
        .map(|(program, entry)| (program, *entry))
        .collect();
    emit::emit_variants(&versions, target, EmitOptions { contract: !exact })
        .map_err(|error| error.to_string())
}
