//! The search of the embedded engine, one step at a time.

use std::collections::{BTreeSet, VecDeque};
use std::fmt;

use pragma_spec::Target;

use crate::action::{self, Action};
use crate::analyze::traffic::{self, Traffic};
use crate::emit::{self, EmitOptions};
use crate::ir::{Expr, Program, Stmt};

use super::bottleneck::Diagnosis;
use super::plan::Plan;
use super::roof::{Machine, Roof, StaticProfile, roof};
use super::structure::{self, Structure};

/// A version must beat the best one by this factor to replace it: less is noise.
const GAIN: f64 = 0.985;
/// After this many versions in a row without a gain the search ends.
const PATIENCE: u32 = 5;
/// The same for a search that starts from the plan of another target or size: most of what there
/// is to find was found there.
const PATIENCE_WITH_SEED: u32 = 2;
/// How many times faster than the reference a kernel on one thread is taken to be.
const USUAL_SPEEDUP: f64 = 16.0;
/// Blocks of parallel loops take at least this long, as far as is known.
const SHORTEST_BLOCK_NS: f64 = 20_000.0;
/// A loop with less than this share of the iterations is not shared out.
const LEAST_SHARE: f64 = 0.05;
/// The change to loops as they are, in words.
pub(super) const BY_COMPILER: &str = "vectors left to the compiler";
/// The change from outer to inner loops, in words.
pub(super) const INSIDE_OUT: &str = "the innermost loops in vectors instead";
/// At this share of the roof the search ends.
pub(super) const ROOF_REACHED: f64 = 0.95;

/// What the Conductor works on.
#[derive(Clone, Debug)]
pub struct Setting {
    /// What the kernels are for.
    pub target: Target,
    /// The size to be fast at, in the order of `Program::dims`.
    pub dims: Vec<u64>,
    /// Ceilings of this machine for the target.
    pub machine: Machine,
    /// Whether results must match the reference bit for bit.
    pub exact: bool,
    /// Whether the kernel may use more than one thread.
    pub parallel: bool,
    /// Name of the entry function.
    pub entry: String,
    /// A plan that was best elsewhere (another target or size), to start from.
    pub seed: Option<Plan>,
    /// Measured time of the reference at this size in nanoseconds, where known.
    pub reference_ns: Option<f64>,
}

/// What came of a proposal.
#[derive(Clone, Debug, PartialEq)]
pub enum Feedback {
    /// It did not build, failed verification, or crashed.
    Refused {
        /// Why, in words.
        reason: String,
    },
    /// It was verified and timed.
    Measured {
        /// Median time of a call in nanoseconds.
        ns: f64,
        /// Median time of the reference in the same run.
        reference_ns: f64,
        /// What its machine code shows.
        profile: Option<StaticProfile>,
    },
}

/// Why a version is proposed.
#[derive(Clone, Debug, PartialEq)]
pub struct Why {
    /// The bottleneck of the version it starts from.
    pub diagnosis: Diagnosis,
    /// The change against that version, in words.
    pub change: String,
    /// The speed-up over that version that the roofline would allow at most.
    pub predicted_gain: f64,
}

/// A version to build, verify and time.
#[derive(Clone, Debug, PartialEq)]
pub struct Proposal {
    /// Names the version.
    pub actions: Vec<Action>,
    /// The plan behind the actions.
    pub plan: Plan,
    /// The scheduled program.
    pub program: Program,
    /// The items of the kernel file.
    pub source: String,
    /// The argument for it.
    pub why: Why,
}

/// Why a search ended.
#[derive(Clone, Debug, PartialEq)]
pub enum StopReason {
    /// The best version reaches this share of the roof.
    AtTheRoof {
        /// Share, 0 to 1.
        fraction: f64,
    },
    /// So many versions in a row brought no gain.
    NoGain {
        /// How many.
        versions: u32,
    },
    /// No rule has anything left to try.
    Exhausted,
    /// Not even the first version could be written; the text says why.
    NothingToTry {
        /// Why, in words.
        reason: String,
    },
}

impl fmt::Display for StopReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StopReason::AtTheRoof { fraction } => {
                write!(f, "at {:.0}% of the roof", fraction * 100.0)
            }
            StopReason::NoGain { versions } => write!(f, "no gain in {versions} versions"),
            StopReason::Exhausted => f.write_str("every rule tried"),
            StopReason::NothingToTry { reason } => write!(f, "nothing to try: {reason}"),
        }
    }
}

/// What to do next.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Build, verify and time this, then come back with [`Feedback`].
    Try(Box<Proposal>),
    /// Done.
    Stop(StopReason),
}

/// The best version so far.
#[derive(Clone, Debug)]
pub(super) struct Best {
    pub plan: Plan,
    pub ns: f64,
    pub profile: Option<StaticProfile>,
}

/// The search over versions of one program for one target and size.
#[derive(Debug)]
pub struct Conductor {
    /// The simplified program, which actions apply to.
    source: Program,
    /// What every version begins with.
    prefix: Vec<Action>,
    /// The program after that.
    program: Program,
    pub(super) setting: Setting,
    pub(super) structure: Structure,
    pub(super) traffic: Traffic,
    iterations: f64,
    pub(super) roof: Roof,
    pub(super) queue: VecDeque<(Plan, Why)>,
    tried: BTreeSet<Vec<String>>,
    pending: Option<Plan>,
    pub(super) best: Option<Best>,
    pub(super) expanded: Option<Plan>,
    /// Whether a version without vectors was proposed.
    pub(super) left_to_compiler: bool,
    without_gain: u32,
    refusals: Vec<String>,
    started: bool,
}

impl Conductor {
    /// A search that has not begun.
    pub fn new(program: Program, setting: Setting) -> Self {
        let program = crate::simplify::simplify(&program);
        let lanes = match setting.target {
            Target::X86_64V4 => 16,
            _ => 8,
        };
        let source = program;
        let prefix = structure::prefix(&source, setting.exact, &setting.dims, lanes);
        let program = action::apply_all(&source, &prefix).unwrap_or_else(|_| source.clone());
        let structure = Structure::of(&program, setting.exact, &setting.dims, lanes);
        let traffic = traffic::traffic(&program, &setting.dims);
        let iterations =
            traffic::innermost_iterations(&program, &setting.dims, &program.body).max(1.0);
        let threads = setting.parallel && setting.machine.threads > 1;
        let roof = roof(
            &traffic,
            &setting.machine,
            threads && !structure.parallel.is_empty(),
        );
        Conductor {
            source,
            prefix,
            program,
            setting,
            structure,
            traffic,
            iterations,
            roof,
            queue: VecDeque::new(),
            tried: BTreeSet::new(),
            pending: None,
            best: None,
            expanded: None,
            left_to_compiler: false,
            without_gain: 0,
            refusals: Vec::new(),
            started: false,
        }
    }

    /// The least time this size could take on this machine.
    pub fn roof(&self) -> &Roof {
        &self.roof
    }

    /// The plan and time of the best version so far.
    pub fn best(&self) -> Option<(&Plan, f64)> {
        self.best.as_ref().map(|best| (&best.plan, best.ns))
    }

    /// What holds the best version back, or the reference if there is none.
    pub fn diagnosis(&self) -> Diagnosis {
        match &self.best {
            Some(best) => self.diagnose(best).remove(0),
            None => self.diagnose_reference(),
        }
    }

    /// Takes in what came of the last proposal and says what to do next.
    pub fn next(&mut self, feedback: Option<&Feedback>) -> Step {
        if let (Some(feedback), Some(plan)) = (feedback, self.pending.take()) {
            self.learn(plan, feedback);
        }
        if !self.started {
            self.started = true;
            self.open();
        }
        loop {
            if let Some(best) = &self.best {
                let fraction = self.roof.fraction(best.ns);
                if fraction >= ROOF_REACHED {
                    return Step::Stop(StopReason::AtTheRoof { fraction });
                }
                let patience = if self.setting.seed.is_some() {
                    PATIENCE_WITH_SEED
                } else {
                    PATIENCE
                };
                if self.without_gain >= patience {
                    return Step::Stop(StopReason::NoGain {
                        versions: self.without_gain,
                    });
                }
                if self.queue.is_empty() && self.expanded.as_ref() != Some(&best.plan) {
                    self.expand();
                }
            }
            let Some((plan, why)) = self.queue.pop_front() else {
                return Step::Stop(match (&self.best, self.refusals.last()) {
                    (None, Some(reason)) => StopReason::NothingToTry {
                        reason: reason.clone(),
                    },
                    (None, None) => StopReason::NothingToTry {
                        reason: "no action applies".to_owned(),
                    },
                    _ => StopReason::Exhausted,
                });
            };
            if let Some(proposal) = self.propose(plan, why) {
                self.pending = Some(proposal.plan.clone());
                return Step::Try(Box::new(proposal));
            }
        }
    }

    fn propose(&mut self, plan: Plan, why: Why) -> Option<Proposal> {
        self.left_to_compiler |= why.change == BY_COMPILER;
        let mut actions = self.prefix.clone();
        actions.extend(plan.actions());
        if !self
            .tried
            .insert(actions.iter().map(Action::to_string).collect())
        {
            return None;
        }
        let program = match action::apply_all(&self.source, &actions) {
            Ok(program) => program,
            Err(illegal) => {
                self.refusals.push(illegal.to_string());
                return None;
            }
        };
        let options = EmitOptions {
            contract: !self.setting.exact && !waits_for_floats(&program),
        };
        match emit::emit(&program, self.setting.target, &self.setting.entry, options) {
            Ok(source) => Some(Proposal {
                actions,
                plan,
                program,
                source,
                why,
            }),
            Err(error) => {
                self.refusals.push(error.to_string());
                None
            }
        }
    }

    fn learn(&mut self, plan: Plan, feedback: &Feedback) {
        match feedback {
            Feedback::Refused { reason } => {
                self.refusals.push(reason.clone());
                self.without_gain += 1;
            }
            Feedback::Measured {
                ns,
                reference_ns,
                profile,
            } => {
                self.setting.reference_ns = Some(*reference_ns);
                let gain = self.best.as_ref().is_none_or(|best| *ns < best.ns * GAIN);
                if gain {
                    self.best = Some(Best {
                        plan,
                        ns: *ns,
                        profile: profile.clone(),
                    });
                    self.without_gain = 0;
                    // What was planned for the former best is planned anew for this one.
                    self.queue.clear();
                } else {
                    self.without_gain += 1;
                }
            }
        }
    }

    /// Time of one innermost iteration on one thread in nanoseconds: by the roofline, or, where
    /// iterations turn out to be long, by a fraction of what the reference takes for one.
    fn ns_per_iteration(&self) -> f64 {
        let one = roof(&self.traffic, &self.setting.machine, false);
        let measured = self.setting.reference_ns.unwrap_or(0.0) / USUAL_SPEEDUP;
        ((one.ns() * 1.5).max(measured) / self.iterations).max(0.01)
    }

    /// The work below which sharing out does not pay, a power of two so that two measurements
    /// of one machine agree.
    pub(super) fn cut_over(&self) -> u64 {
        let iterations = 2.0 * self.setting.machine.fork_ns / self.ns_per_iteration();
        (iterations.clamp(1024.0, 1e9) as u64).next_power_of_two()
    }

    pub(super) fn grain(&self) -> u64 {
        let share = self.iterations / f64::from(self.setting.machine.threads.max(1)) / 4.0;
        // A block takes many times as long as handing it to a thread.
        let least = (SHORTEST_BLOCK_NS / self.ns_per_iteration()).clamp(16.0, 4096.0);
        (share.clamp(least, 65536.0) as u64).next_power_of_two()
    }

    pub(super) fn parallel_pays(&self, serial_ns: f64) -> bool {
        self.setting.parallel
            && self.setting.machine.threads > 1
            && serial_ns > 3.0 * self.setting.machine.fork_ns
    }

    pub(super) fn last_cache(&self) -> f64 {
        self.setting
            .machine
            .levels
            .iter()
            .rev()
            .find(|level| level.capacity != u64::MAX)
            .map_or(f64::INFINITY, |level| level.capacity as f64)
    }

    /// Whether the data is beyond the caches that a core has to itself.
    pub(super) fn is_far_from_caches(&self) -> bool {
        let bounded = |level: &&super::roof::Level| level.capacity != u64::MAX;
        let near = self.setting.machine.levels.iter().filter(bounded).take(2);
        near.last()
            .is_some_and(|level| self.traffic.bytes() > 2.0 * level.capacity as f64)
    }

    /// The first versions: the plan from elsewhere, and what the rules say of the reference.
    fn open(&mut self) {
        let diagnosis = self.diagnose_reference();
        let predicted_gain = self
            .setting
            .reference_ns
            .map_or(1.0, |ns| ns / self.roof.ns().max(f64::MIN_POSITIVE));
        let why = |change: &str| Why {
            diagnosis: diagnosis.clone(),
            change: change.to_owned(),
            predicted_gain,
        };
        let mut plan = Plan::default();
        for axis in &self.structure.vector {
            plan.vectors.insert(axis.name.clone(), axis.unroll);
        }
        let streams = self.traffic.bytes() > 2.0 * self.last_cache();
        if streams {
            self.stream_into(&mut plan);
        }
        let estimate = self.ns_per_iteration() * self.iterations;
        if self.parallel_pays(estimate) {
            self.share_out(&mut plan);
        }
        if let Some(seed) = self.setting.seed.clone() {
            self.queue.push_back((
                self.adapted(seed),
                why("start from the plan that was best before"),
            ));
        }
        self.queue.push_back((
            plan.clone(),
            why("apply every rule whose evidence is in the sizes"),
        ));
        if let Some(inner) = self.inside_out(&plan) {
            self.queue.push_back((inner, why(INSIDE_OUT)));
        }
        if self.structure.doubtful && !plan.vectors.is_empty() {
            let mut bare = plan.clone();
            bare.vectors.clear();
            self.queue.push_back((bare, why(BY_COMPILER)));
        }
        if !plan.streamed.is_empty() {
            let mut cached = plan.clone();
            cached.streamed.clear();
            cached.staged.clear();
            self.queue
                .push_back((cached, why("keep the stores in the caches")));
        }
        if plan.vectors.is_empty() && plan.parallel.is_empty() {
            self.queue.push_back((
                plan,
                why("the same loops, bounds proven instead of checked"),
            ));
        }
    }

    /// A plan from another size: streaming and sharing out are decided by this size.
    fn adapted(&self, mut plan: Plan) -> Plan {
        if self.traffic.bytes() <= 2.0 * self.last_cache() {
            plan.streamed.clear();
            plan.staged.clear();
        }
        if !self.is_far_from_caches() {
            plan.prefetched.clear();
        }
        let estimate = self.ns_per_iteration() * self.iterations;
        if !self.parallel_pays(estimate) {
            plan.parallel.clear();
        } else if plan.parallel.is_empty() {
            self.share_out(&mut plan);
        }
        plan
    }

    /// Shares out every loop that may be and has a good part of the work.
    pub(super) fn share_out(&self, plan: &mut Plan) {
        let sizes = (self.grain(), self.cut_over());
        for stmt in &self.program.body {
            let Stmt::For(outer) = stmt else { continue };
            let name = &self.program.var(outer.var).name;
            let one = std::slice::from_ref(stmt);
            let work = traffic::innermost_iterations(&self.program, &self.setting.dims, one);
            if self.structure.parallel.contains(name) && work >= LEAST_SHARE * self.iterations {
                plan.parallel.insert(name.clone(), sizes);
            }
        }
    }

    /// The plan with the innermost loops in vectors, where that is another one.
    pub(super) fn inside_out(&self, plan: &Plan) -> Option<Plan> {
        let innermost = self.structure.innermost.as_ref()?;
        let mut inner = plan.clone();
        inner.vectors.clear();
        for axis in &self.structure.axes {
            if innermost.contains(&axis.name) {
                inner.vectors.insert(axis.name.clone(), axis.unroll);
            }
        }
        Some(inner)
    }

    pub(super) fn stream_into(&self, plan: &mut Plan) {
        for (buffer, stage) in &self.structure.streams {
            plan.streamed.insert(buffer.clone());
            if let Some(axis) = stage {
                plan.staged.insert(buffer.clone(), axis.clone());
            }
        }
    }
}

/// Whether a loop ends when floats say so: a rounding more or less, and it would end elsewhere.
fn waits_for_floats(program: &Program) -> bool {
    let mut found = false;
    program.walk(&mut |stmt| {
        if let Stmt::While { cond, .. } = stmt {
            cond.walk(&mut |node| {
                found |= matches!(node, Expr::Compare(_, a, _) if a.scalar(program).is_float());
            });
        }
    });
    found
}
