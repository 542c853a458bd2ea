//! How much a tuning run may spend: `5m,200c,$2,500kt`.
//!
//! Owns the text form only; `tune` keeps the account.

use std::str::FromStr;
use std::time::Duration;

/// Limits of one run. What is `None` has no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Budget {
    /// Wall-clock time of the whole run.
    pub time: Option<Duration>,
    /// Candidates per kernel and target.
    pub candidates: Option<u64>,
    /// US dollars for engines that cost money; the embedded engine costs none.
    pub dollars: Option<f64>,
    /// Tokens of language models.
    pub tokens: Option<u64>,
}

/// The text is not a budget.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{part}`: {why}; a budget is a list such as `5m`, `90s,200c` or `1h,$2,500kt`")]
pub struct BadBudget {
    part: String,
    why: &'static str,
}

/// Longer runs than this are a typing error: 365 days.
const MAX_SECONDS: f64 = 365.0 * 86_400.0;

impl FromStr for Budget {
    type Err = BadBudget;

    fn from_str(text: &str) -> Result<Self, BadBudget> {
        let mut budget = Budget::default();
        for part in text.split(',').map(str::trim) {
            let bad = |why| BadBudget {
                part: part.to_owned(),
                why,
            };
            let twice = || bad("this kind of limit is given twice");
            if part.is_empty() {
                return Err(bad("a part is empty"));
            }
            if let Some(amount) = part.strip_prefix('$') {
                let dollars = number(amount).map_err(bad)?;
                if budget.dollars.replace(dollars).is_some() {
                    return Err(twice());
                }
            } else if let Some(count) = part.strip_suffix('c') {
                let whole = !count.is_empty() && count.bytes().all(|byte| byte.is_ascii_digit());
                let count = whole.then(|| count.parse().ok()).flatten();
                let count = count.ok_or_else(|| bad("a number of candidates is a whole number"))?;
                if count == 0 {
                    return Err(bad("a limit of nothing leaves nothing to do"));
                }
                if budget.candidates.replace(count).is_some() {
                    return Err(twice());
                }
            } else if let Some(amount) = part.strip_suffix('t') {
                let tokens = tokens(amount).map_err(bad)?;
                if budget.tokens.replace(tokens).is_some() {
                    return Err(twice());
                }
            } else {
                let seconds = seconds(part).map_err(bad)?;
                if budget
                    .time
                    .replace(Duration::from_secs_f64(seconds))
                    .is_some()
                {
                    return Err(twice());
                }
            }
        }
        Ok(budget)
    }
}

/// `500k` or `2M`, or a plain number.
fn tokens(amount: &str) -> Result<u64, &'static str> {
    let (amount, unit) = [("k", 1e3), ("M", 1e6)]
        .into_iter()
        .find_map(|(suffix, unit)| Some((amount.strip_suffix(suffix)?, unit)))
        .unwrap_or((amount, 1.0));
    let tokens = number(amount)? * unit;
    if tokens > 1e15 {
        return Err("that is more than any model will ever say");
    }
    if tokens < 1.0 {
        return Err("a limit of nothing leaves nothing to do");
    }
    Ok(tokens as u64)
}

fn seconds(part: &str) -> Result<f64, &'static str> {
    let (amount, unit) = [("ms", 1e-3), ("s", 1.0), ("m", 60.0), ("h", 3600.0)]
        .into_iter()
        .find_map(|(suffix, unit)| Some((part.strip_suffix(suffix)?, unit)))
        .ok_or("the unit is missing or unknown (ms, s, m, h; c for candidates, t, kt or Mt for tokens, $ in front)")?;
    let seconds = number(amount)? * unit;
    if seconds > MAX_SECONDS {
        Err("that is more than a year")
    } else {
        Ok(seconds)
    }
}

/// A positive decimal number: digits with at most one point. No exponent, sign, `inf` or `nan`.
fn number(text: &str) -> Result<f64, &'static str> {
    let plain = !text.is_empty()
        && text
            .bytes()
            .all(|byte| byte.is_ascii_digit() || byte == b'.')
        && text.bytes().any(|byte| byte.is_ascii_digit());
    let value = plain
        .then(|| text.parse::<f64>().ok())
        .flatten()
        .ok_or("the amount is not a positive number")?;
    if value > 0.0 && value.is_finite() {
        Ok(value)
    } else {
        Err("a limit of nothing leaves nothing to do")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_limits() {
        let budget: Budget = "5m,200c,$2".parse().expect("a budget");
        assert_eq!(budget.time, Some(Duration::from_secs(300)));
        assert_eq!(budget.candidates, Some(200));
        assert_eq!(budget.dollars, Some(2.0));
        let tokens = |text: &str| text.parse::<Budget>().expect("a budget").tokens;
        assert_eq!(tokens("500kt"), Some(500_000));
        assert_eq!(tokens("1.5Mt,2c"), Some(1_500_000));
        assert_eq!(tokens("70t"), Some(70));
        assert_eq!(
            "1.5h".parse::<Budget>().expect("a budget").time,
            Some(Duration::from_secs(5400))
        );
        assert_eq!(
            "250ms".parse::<Budget>().expect("a budget").time,
            Some(Duration::from_millis(250))
        );
        assert_eq!(
            " 3c , 1s ".parse::<Budget>().expect("a budget").candidates,
            Some(3)
        );
    }

    #[test]
    fn nonsense_is_refused() {
        for text in [
            "",
            ",",
            "5",
            "m",
            "5x",
            "-5m",
            "+5m",
            "nan",
            "NaNs",
            "infm",
            "inf",
            "1e3s",
            "0s",
            "0c",
            "1.5c",
            "$",
            "$nan",
            "$-1",
            "$0",
            "5m,6m",
            "1c,2c",
            "$1,$2",
            "5m,",
            "99999999h",
            "1..2s",
            "٣s",
            "t",
            "kt",
            "-1kt",
            "0t",
            "0.1t",
            "1t,2t",
            "nant",
            "99999999999Mt",
        ] {
            assert!(text.parse::<Budget>().is_err(), "{text:?}");
        }
    }
}
