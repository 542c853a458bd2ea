//! What a run has spent of its budget.
//!
//! Time is shared fairly: each search gets an equal part of what is left, so that a search that ends early leaves its
//! rest to the later ones.

use std::time::{Duration, Instant};

use crate::cli::budget::Budget;

/// Time for each kernel where the user sets no limit: all targets and sizes of it together.
pub const DEFAULT_PER_KERNEL: Duration = Duration::from_secs(18);

/// The same where a language model takes part: its answers take minutes.
pub const DEFAULT_PER_KERNEL_WITH_MODEL: Duration = Duration::from_secs(600);

/// The budget of a run and the searches still to come.
#[derive(Clone, Debug)]
pub struct Account {
    end: Instant,
    candidates: Option<u64>,
    searches_left: u32,
}

impl Account {
    /// An account for `searches` searches over `kernels` kernels, running from now. Without a limit each kernel has
    /// `per_kernel`.
    pub fn open(budget: &Budget, per_kernel: Duration, kernels: usize, searches: usize) -> Self {
        let kernels = u32::try_from(kernels).unwrap_or(u32::MAX);
        let time = budget
            .time
            .unwrap_or_else(|| per_kernel.saturating_mul(kernels));
        let now = Instant::now();
        Account {
            end: now.checked_add(time).unwrap_or(now),
            candidates: budget.candidates,
            searches_left: u32::try_from(searches).unwrap_or(u32::MAX),
        }
    }

    /// Starts the next search.
    pub fn begin(&mut self) -> Allowance {
        let now = Instant::now();
        let left = self.end.saturating_duration_since(now);
        let share = left / self.searches_left.max(1);
        self.searches_left = self.searches_left.saturating_sub(1);
        Allowance {
            end: now + share,
            candidates: self.candidates,
            tried: 0,
            seeds: 0,
        }
    }

    /// Gives up searches that will not take place.
    pub fn skip(&mut self, searches: usize) {
        self.searches_left = self
            .searches_left
            .saturating_sub(u32::try_from(searches).unwrap_or(u32::MAX));
    }
}

/// What one search may still spend.
#[derive(Clone, Debug)]
pub struct Allowance {
    end: Instant,
    candidates: Option<u64>,
    tried: u64,
    seeds: u64,
}

impl Allowance {
    /// Whether another candidate may be tried, or the reason why not. The engine's first one always may, on top of
    /// the versions of earlier runs: an engine that was told nothing can say nothing.
    pub fn spent(&self) -> Option<&'static str> {
        if self.tried == self.seeds {
            return None;
        }
        if self.candidates.is_some_and(|most| self.tried >= most) {
            return Some("the budget of candidates is spent");
        }
        (Instant::now() >= self.end).then_some("the budget of time is spent")
    }

    /// Counts a version of an earlier run.
    pub fn count_seed(&mut self) {
        self.tried += 1;
        self.seeds += 1;
    }

    /// Counts a candidate.
    pub fn count(&mut self) {
        self.tried += 1;
    }

    /// Candidates counted.
    pub fn tried(&self) -> u64 {
        self.tried
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_hold_after_the_first_candidate() {
        let budget = Budget {
            time: Some(Duration::ZERO),
            candidates: Some(2),
            ..Budget::default()
        };
        let mut allowance = Account::open(&budget, DEFAULT_PER_KERNEL, 1, 1).begin();
        assert_eq!(allowance.spent(), None);
        allowance.count();
        assert_eq!(allowance.spent(), Some("the budget of time is spent"));
        allowance.count();
        assert_eq!(allowance.spent(), Some("the budget of candidates is spent"));
    }

    #[test]
    fn time_is_shared() {
        let budget = Budget {
            time: Some(Duration::from_secs(100)),
            ..Budget::default()
        };
        let mut account = Account::open(&budget, DEFAULT_PER_KERNEL, 2, 4);
        account.skip(2);
        let first = account.begin();
        let left = first.end.saturating_duration_since(Instant::now());
        assert!(
            left > Duration::from_secs(45) && left <= Duration::from_secs(50),
            "{left:?}"
        );
        let second = account.begin();
        assert!(second.end > first.end);
    }
}
