//! A schedule as a whole: which loops are vectors, which one is shared out, what streams.
//!
//! A plan turns into the list of actions that names a version, always in the same order.

use std::collections::{BTreeMap, BTreeSet};

use crate::action::Action;

/// One schedule.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Plan {
    /// Pairs of neighbouring loops to merge, in order.
    pub fused: Vec<(String, String)>,
    /// Outer loops of which so many iterations run side by side.
    pub jammed: BTreeMap<String, u64>,
    /// Buffers staged per iteration of a loop.
    pub staged: BTreeMap<String, String>,
    /// Buffers written around the caches.
    pub streamed: BTreeSet<String>,
    /// What loops read ahead: a buffer, a loop, and how many of its iterations ahead or the next row.
    pub prefetched: BTreeSet<(String, String, Option<u64>)>,
    /// Vector loops, with vectors per step.
    pub vectors: BTreeMap<String, u32>,
    /// Loops whose body is repeated.
    pub unrolled: BTreeMap<String, u32>,
    /// The loop shared out to threads: its name, grain and cut-over.
    pub parallel: BTreeMap<String, (u64, u64)>,
}

impl Plan {
    /// The actions, in the order in which they apply.
    pub fn actions(&self) -> Vec<Action> {
        let mut actions = Vec::new();
        for (first, second) in &self.fused {
            actions.push(Action::Fuse {
                first: first.clone(),
                second: second.clone(),
            });
        }
        for (axis, factor) in &self.jammed {
            actions.push(Action::Jam {
                axis: axis.clone(),
                factor: *factor,
            });
        }
        for (buffer, axis) in &self.staged {
            actions.push(Action::Stage {
                buffer: buffer.clone(),
                axis: axis.clone(),
            });
        }
        for buffer in &self.streamed {
            actions.push(Action::Stream {
                buffer: buffer.clone(),
            });
        }
        for (buffer, axis, ahead) in &self.prefetched {
            actions.push(Action::Prefetch {
                buffer: buffer.clone(),
                axis: axis.clone(),
                ahead: *ahead,
            });
        }
        for (axis, unroll) in &self.vectors {
            actions.push(Action::Vectorize {
                axis: axis.clone(),
                unroll: *unroll,
            });
        }
        for (axis, factor) in &self.unrolled {
            actions.push(Action::Unroll {
                axis: axis.clone(),
                factor: *factor,
            });
        }
        for (axis, (grain, serial_below)) in &self.parallel {
            // The loop over the groups has taken the place of a jammed loop.
            let axis = match self.jammed.contains_key(axis) {
                true => format!("{axis}_group"),
                false => axis.clone(),
            };
            actions.push(Action::Parallelize {
                axis,
                grain: *grain,
                serial_below: *serial_below,
            });
        }
        actions
    }
}
