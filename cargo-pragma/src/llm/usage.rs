//! What calls cost.
//!
//! Owns counting tokens and money against a limit. Prices are the user's: the tool knows none, because they change and
//! differ by contract.

use serde::{Deserialize, Serialize};

/// Tokens of one call, or of many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Prompt tokens at the full price.
    pub input: u64,
    /// Prompt tokens read from the provider's cache.
    pub cached: u64,
    /// Prompt tokens written to the provider's cache.
    pub cache_written: u64,
    /// Tokens of the answer, thinking included.
    pub output: u64,
}

/// US dollars per million tokens.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Price {
    /// Prompt tokens.
    pub input: f64,
    /// Answer tokens.
    pub output: f64,
    /// Prompt tokens read from the cache; the price of prompt tokens where it is not given.
    pub cached: Option<f64>,
    /// Prompt tokens written to the cache; the price of prompt tokens where it is not given.
    pub cache_written: Option<f64>,
}

/// What was spent, and how much there is to spend.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    /// Tokens so far.
    pub spent: Usage,
    /// Calls so far.
    pub calls: u64,
    price: Option<Price>,
    dollars: Option<f64>,
    tokens: Option<u64>,
}

impl Usage {
    /// All tokens.
    pub fn total(&self) -> u64 {
        self.input + self.cached + self.cache_written + self.output
    }

    /// Adds another call.
    pub fn add(&mut self, other: Usage) {
        self.input += other.input;
        self.cached += other.cached;
        self.cache_written += other.cache_written;
        self.output += other.output;
    }
}

impl Price {
    /// What `usage` costs, US dollars.
    pub fn of(&self, usage: &Usage) -> f64 {
        let part = |tokens: u64, price: f64| tokens as f64 * price / 1e6;
        part(usage.input, self.input)
            + part(usage.output, self.output)
            + part(usage.cached, self.cached.unwrap_or(self.input))
            + part(
                usage.cache_written,
                self.cache_written.unwrap_or(self.input),
            )
    }

    /// Whether every figure is a price.
    pub fn is_valid(&self) -> bool {
        let figures = [
            Some(self.input),
            Some(self.output),
            self.cached,
            self.cache_written,
        ];
        figures
            .iter()
            .flatten()
            .all(|figure| figure.is_finite() && *figure >= 0.0)
    }
}

impl Ledger {
    /// An empty ledger. A limit of money needs a price; see [`super::ModelConfig::check_budget`].
    pub fn new(price: Option<Price>, dollars: Option<f64>, tokens: Option<u64>) -> Self {
        Ledger {
            price,
            dollars,
            tokens,
            ..Ledger::default()
        }
    }

    /// Enters one call.
    pub fn enter(&mut self, usage: Usage) {
        self.calls += 1;
        self.spent.add(usage);
    }

    /// US dollars spent, if the price is known.
    pub fn dollars(&self) -> Option<f64> {
        self.price.map(|price| price.of(&self.spent))
    }

    /// Why no further call may be made, if so. Asked before each call, so that a limit is passed by one call at most.
    pub fn exhausted(&self) -> Option<&'static str> {
        if self.tokens.is_some_and(|limit| self.spent.total() >= limit) {
            return Some("the budget of tokens is spent");
        }
        match (self.dollars, self.dollars()) {
            (Some(limit), Some(spent)) if spent >= limit => Some("the budget of money is spent"),
            _ => None,
        }
    }

    /// What was spent, in words.
    pub fn sentence(&self) -> String {
        let tokens = format!("{} calls, {} tokens", self.calls, self.spent.total());
        match self.dollars() {
            Some(dollars) => format!("{tokens}, ${dollars:.4}"),
            None => format!("{tokens}, price unknown"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRICE: Price = Price {
        input: 3.0,
        output: 15.0,
        cached: Some(0.3),
        cache_written: None,
    };

    #[test]
    fn money_is_counted_by_kind_of_token() {
        let usage = Usage {
            input: 1_000_000,
            cached: 2_000_000,
            cache_written: 1_000_000,
            output: 100_000,
        };
        assert!((PRICE.of(&usage) - (3.0 + 0.6 + 3.0 + 1.5)).abs() < 1e-9);
    }

    #[test]
    fn limits_hold_and_overshoot_by_one_call_at_most() {
        let call = Usage {
            input: 400,
            output: 200,
            ..Usage::default()
        };
        let mut ledger = Ledger::new(None, None, Some(1000));
        let mut calls = 0;
        while ledger.exhausted().is_none() {
            ledger.enter(call);
            calls += 1;
        }
        assert_eq!(calls, 2);
        let mut ledger = Ledger::new(Some(PRICE), Some(0.0042), None);
        ledger.enter(call);
        assert_eq!(ledger.exhausted(), Some("the budget of money is spent"));
        assert!(Ledger::new(None, None, None).exhausted().is_none());
    }

    #[test]
    fn prices_are_figures() {
        assert!(PRICE.is_valid());
        assert!(
            !Price {
                input: f64::NAN,
                ..PRICE
            }
            .is_valid()
        );
        assert!(
            !Price {
                output: -1.0,
                ..PRICE
            }
            .is_valid()
        );
    }
}
