//! What holds a version back, and what the rules make of it.
//!
//! The judgement behind the search: measured times against the roof, with the evidence in
//! words. Proposing and keeping score is `conductor`'s business.

use pragma_spec::Target;

use super::bottleneck::{Bottleneck, Diagnosis};
use super::conductor::{BY_COMPILER, Best, Conductor, INSIDE_OUT, ROOF_REACHED, Why};
use super::plan::Plan;
use super::structure::VectorAxis;

/// Blocks beyond this many innermost iterations leave too few of them to share out.
const LARGEST_GRAIN: u64 = 1 << 20;

/// Takes a change in words and the edit of the plan that makes it.
type Offer<'a> = dyn FnMut(&str, &dyn Fn(&mut Plan)) + 'a;

impl Conductor {
    /// What holds the reference back, as far as its structure shows.
    pub(super) fn diagnose_reference(&self) -> Diagnosis {
        let vector: Vec<&str> = self
            .structure
            .vector
            .iter()
            .map(|axis| axis.name.as_str())
            .collect();
        if vector.is_empty() {
            let (bottleneck, evidence) = if self.roof.memory_ns >= self.roof.compute_ns {
                (
                    Bottleneck::Bandwidth,
                    "no loop may run in vectors; traffic outweighs arithmetic",
                )
            } else {
                (
                    Bottleneck::Compute,
                    "no loop may run in vectors; arithmetic outweighs traffic",
                )
            };
            return Diagnosis {
                bottleneck,
                evidence: evidence.to_owned(),
            };
        }
        Diagnosis {
            bottleneck: Bottleneck::ScalarCode,
            evidence: format!(
                "loops that may run in vectors (static): {}",
                vector.join(", ")
            ),
        }
    }

    /// Everything that may hold `best` back, the likeliest first; never empty.
    pub(super) fn diagnose(&self, best: &Best) -> Vec<Diagnosis> {
        let mut found = Vec::new();
        let mut add = |bottleneck, evidence: String| {
            found.push(Diagnosis {
                bottleneck,
                evidence,
            })
        };
        let plan = &best.plan;
        let fraction = self.roof.fraction(best.ns);
        let share = format!(
            "{:.0} ns measured, {:.0}% of the {} roof of {:.0} ns",
            best.ns,
            fraction * 100.0,
            if self.roof.memory_ns >= self.roof.compute_ns {
                &self.roof.level
            } else {
                "arithmetic"
            },
            self.roof.ns()
        );
        if fraction >= ROOF_REACHED {
            add(Bottleneck::AtTheRoof, share.clone());
        }
        if self
            .structure
            .vector
            .iter()
            .any(|axis| self.is_serial(axis, plan))
            && plan.fused.is_empty()
        {
            add(
                Bottleneck::ScalarCode,
                format!("a loop that may run in vectors is serial; {share}"),
            );
        }
        if let Some(profile) = &best.profile
            && profile.spills > 0
            && plan.vectors.values().any(|unroll| *unroll > 1)
        {
            add(
                Bottleneck::Spills,
                format!(
                    "{} spill loads and stores in the hot loops (static)",
                    profile.spills
                ),
            );
        }
        let fork = self.setting.machine.fork_ns;
        if plan.parallel.is_empty()
            && !self.structure.parallel.is_empty()
            && self.parallel_pays(best.ns)
        {
            add(
                Bottleneck::OneThread,
                format!(
                    "{:.0} ns on one thread, sharing out costs {fork:.0} ns (measured)",
                    best.ns
                ),
            );
        }
        if !plan.parallel.is_empty() && best.ns < 8.0 * fork {
            add(
                Bottleneck::ForkOverhead,
                format!(
                    "{:.0} ns on all threads, sharing out costs {fork:.0} ns (measured)",
                    best.ns
                ),
            );
        }
        let written = self.traffic.bytes_written;
        if !self.structure.streams.is_empty()
            && plan.streamed.is_empty()
            && self.traffic.bytes() > self.last_cache()
        {
            add(
                Bottleneck::WriteAllocate,
                format!(
                    "{:.1} MB written through the caches; {share}",
                    written / 1e6
                ),
            );
        }
        if !self.structure.prefetches.is_empty()
            && plan.prefetched.is_empty()
            && self.is_far_from_caches()
        {
            add(
                Bottleneck::IdleMemory,
                format!("memory may idle while the core computes; {share}"),
            );
        }
        if self
            .structure
            .fusable
            .iter()
            .any(|pair| !plan.fused.contains(pair))
        {
            add(
                Bottleneck::ExtraPasses,
                format!("neighbouring loops over one range; {share}"),
            );
        }
        let in_cache = self.traffic.bytes() <= self.last_cache();
        if in_cache && self.structure.vector.iter().any(|axis| axis.reduces) && fraction < 0.7 {
            add(
                Bottleneck::DependencyChain,
                format!("a reduction in {}; {share}", self.roof.level),
            );
        }
        if self.roof.compute_ns > self.roof.memory_ns {
            add(Bottleneck::Compute, share);
        } else {
            add(Bottleneck::Bandwidth, share);
        }
        found
    }

    /// Iterations of the loops around the vectors side by side, if none are yet.
    fn offer_jam(&self, offer: &mut Offer<'_>) {
        if self.structure.jams.is_empty() {
            return;
        }
        offer("four outer iterations side by side", &|plan| {
            if !plan.jammed.is_empty() || !plan.staged.is_empty() {
                return;
            }
            for axis in &self.structure.jams {
                if !plan.vectors.contains_key(axis) {
                    plan.jammed.insert(axis.clone(), 4);
                }
            }
            // The accumulators of all share the registers.
            let most = if self.setting.target == Target::X86_64V4 {
                4
            } else {
                2
            };
            plan.vectors
                .values_mut()
                .for_each(|unroll| *unroll = (*unroll).min(most));
        });
    }

    /// Whether neither the loop, nor one around it, nor one inside it runs in vectors.
    fn is_serial(&self, axis: &VectorAxis, plan: &Plan) -> bool {
        let in_vectors = |name: &String| plan.vectors.contains_key(name);
        !in_vectors(&axis.name)
            && !axis.inside.iter().any(in_vectors)
            && !self
                .structure
                .axes
                .iter()
                .any(|outer| outer.inside.contains(&axis.name) && in_vectors(&outer.name))
    }

    /// Queues what the rules say about the best version.
    pub(super) fn expand(&mut self) {
        let Some(best) = self.best.clone() else {
            return;
        };
        self.expanded = Some(best.plan.clone());
        let limit = best.ns / self.roof.ns().max(f64::MIN_POSITIVE);
        let diagnoses = self.diagnose(&best);
        let chosen = |axis: &VectorAxis| best.plan.vectors.contains_key(&axis.name);
        if self.structure.vector.iter().any(chosen)
            && let Some(plan) = self.inside_out(&best.plan)
            && let Some(diagnosis) = diagnoses.first()
        {
            let why = Why {
                diagnosis: diagnosis.clone(),
                change: INSIDE_OUT.to_owned(),
                predicted_gain: limit.max(1.0),
            };
            self.queue.push_back((plan, why));
        }
        // Where lanes gather and scatter, the compiler's own way may be as good.
        if let Some(diagnosis) = diagnoses.first()
            && self.structure.doubtful
            && !self.left_to_compiler
            && !best.plan.vectors.is_empty()
        {
            let mut plan = best.plan.clone();
            plan.vectors.clear();
            plan.jammed.clear();
            let why = Why {
                diagnosis: diagnosis.clone(),
                change: BY_COMPILER.to_owned(),
                predicted_gain: limit.max(1.0),
            };
            self.queue.push_back((plan, why));
        }
        for diagnosis in diagnoses {
            for (plan, change) in self.remedies(&best, diagnosis.bottleneck) {
                let why = Why {
                    diagnosis: diagnosis.clone(),
                    change,
                    predicted_gain: limit.max(1.0),
                };
                self.queue.push_back((plan, why));
            }
        }
    }

    fn remedies(&self, best: &Best, bottleneck: Bottleneck) -> Vec<(Plan, String)> {
        let plan = &best.plan;
        let mut remedies = Vec::new();
        let mut offer = |change: &str, edit: &dyn Fn(&mut Plan)| {
            let mut next = plan.clone();
            edit(&mut next);
            if next != *plan {
                remedies.push((next, change.to_owned()));
            }
        };
        let scale = |plan: &mut Plan, reduces: bool, factor: &dyn Fn(u32) -> u32| {
            for axis in &self.structure.axes {
                if axis.reduces == reduces
                    && let Some(unroll) = plan.vectors.get_mut(&axis.name)
                {
                    *unroll = factor(*unroll).clamp(1, 8);
                }
            }
        };
        match bottleneck {
            Bottleneck::AtTheRoof => {}
            Bottleneck::ScalarCode => offer("run every loop in vectors that may", &|plan| {
                for axis in &self.structure.vector {
                    if self.is_serial(axis, plan) {
                        plan.vectors.insert(axis.name.clone(), axis.unroll);
                    }
                }
            }),
            Bottleneck::Spills => offer("halve the unrolling", &|plan| {
                plan.vectors
                    .values_mut()
                    .for_each(|unroll| *unroll = (*unroll / 2).max(1));
            }),
            Bottleneck::OneThread => {
                offer("share the outermost loops out to threads", &|plan| {
                    self.share_out(plan);
                });
            }
            Bottleneck::ForkOverhead => {
                offer("stay on one thread", &|plan| plan.parallel.clear());
            }
            Bottleneck::WriteAllocate => {
                offer("stream the results", &|plan| self.stream_into(plan));
            }
            Bottleneck::IdleMemory => {
                for way in self.structure.prefetches.iter().take(3) {
                    let change = match way.first() {
                        Some((_, _, Some(_))) => "prefetch some kilobytes ahead",
                        _ => "prefetch the next row",
                    };
                    offer(change, &|plan| plan.prefetched.extend(way.iter().cloned()));
                }
            }
            Bottleneck::ExtraPasses => {
                for (first, second) in &self.structure.fusable {
                    offer("fuse neighbouring loops", &|plan| {
                        plan.fused.push((first.clone(), second.clone()));
                        plan.vectors.remove(second);
                        plan.prefetched.retain(|(_, axis, _)| axis != second);
                        // A staged buffer needs its separate passes.
                        plan.staged.clear();
                    });
                }
            }
            Bottleneck::DependencyChain => {
                self.offer_jam(&mut offer);
                offer("twice the accumulators", &|plan| {
                    scale(plan, true, &|u| u * 2)
                });
                offer("half the accumulators", &|plan| {
                    scale(plan, true, &|u| u / 2)
                });
            }
            Bottleneck::Compute => {
                self.offer_jam(&mut offer);
                offer("two vectors per step in plain loops", &|plan| {
                    scale(plan, false, &|_| 2)
                });
                offer("four vectors per step in plain loops", &|plan| {
                    scale(plan, false, &|_| 4)
                });
                offer("twice the accumulators", &|plan| {
                    scale(plan, true, &|u| u * 2)
                });
                offer("half the accumulators", &|plan| {
                    scale(plan, true, &|u| u / 2)
                });
            }
            Bottleneck::Bandwidth => {
                offer("a quarter of the grain", &|plan| {
                    plan.parallel
                        .values_mut()
                        .for_each(|(grain, _)| *grain = (*grain / 4).max(1024));
                });
                offer("four times the grain", &|plan| {
                    plan.parallel
                        .values_mut()
                        .for_each(|(grain, _)| *grain = (*grain * 4).min(LARGEST_GRAIN));
                });
                offer("two vectors per step in plain loops", &|plan| {
                    scale(plan, false, &|_| 2)
                });
                offer("twice the accumulators", &|plan| {
                    scale(plan, true, &|u| u * 2)
                });
                if !plan.streamed.is_empty() {
                    offer("keep the stores in the caches", &|plan| {
                        plan.streamed.clear();
                        plan.staged.clear();
                    });
                }
            }
        }
        remedies
    }
}
