//! Which engines take part in a run.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use super::account::{DEFAULT_PER_KERNEL, DEFAULT_PER_KERNEL_WITH_MODEL};
use super::taped::Tape;
use crate::llm::Writer;

/// The engines of a run. Each search asks them in this order, and the best version of any counts.
#[derive(Clone)]
pub struct Engines {
    /// The embedded engine.
    pub synth: bool,
    /// Language models and agents. Each starts from the best version so far.
    pub writers: Vec<Rc<RefCell<dyn Writer>>>,
    /// What is measured, recorded or played back.
    pub tape: Rc<RefCell<Tape>>,
}

impl Engines {
    /// The embedded engine alone.
    pub fn embedded() -> Self {
        Engines {
            synth: true,
            writers: Vec::new(),
            tape: Rc::new(RefCell::new(Tape::off())),
        }
    }

    /// Time for each kernel where the user sets no limit.
    pub fn per_kernel(&self) -> Duration {
        if self.writers.is_empty() {
            DEFAULT_PER_KERNEL
        } else {
            DEFAULT_PER_KERNEL_WITH_MODEL
        }
    }

    /// How many engines there are.
    pub fn count(&self) -> usize {
        usize::from(self.synth) + self.writers.len()
    }
}
