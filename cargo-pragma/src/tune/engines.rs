//! Which engines take part in a run.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use super::account::{DEFAULT_PER_KERNEL, DEFAULT_PER_KERNEL_WITH_MODEL};
use super::taped::Tape;
use crate::llm::Client;

/// The engines of a run. Each search asks them in this order, and the best version of any counts.
#[derive(Clone)]
pub struct Engines {
    /// The embedded engine.
    pub synth: bool,
    /// A language model. It starts from the embedded engine's best version.
    pub model: Option<Rc<RefCell<Client>>>,
    /// What is measured, recorded or played back.
    pub tape: Rc<RefCell<Tape>>,
}

impl Engines {
    /// The embedded engine alone.
    pub fn embedded() -> Self {
        Engines {
            synth: true,
            model: None,
            tape: Rc::new(RefCell::new(Tape::off())),
        }
    }

    /// Time for each kernel where the user sets no limit.
    pub fn per_kernel(&self) -> Duration {
        match self.model {
            Some(_) => DEFAULT_PER_KERNEL_WITH_MODEL,
            None => DEFAULT_PER_KERNEL,
        }
    }

    /// How many engines there are.
    pub fn count(&self) -> usize {
        usize::from(self.synth) + usize::from(self.model.is_some())
    }
}
