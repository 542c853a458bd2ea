//! Medians and bootstrap intervals.
//!
//! Owns the arithmetic only; where samples come from is `paired`'s business.

use crate::inputs::Rng;

/// Resamples of a bootstrap: enough for two digits of a 95% interval.
const RESAMPLES: usize = 1000;

/// The median; NaN of nothing.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => sorted[middle],
        _ => f64::midpoint(sorted[middle - 1], sorted[middle]),
    }
}

/// The 95% interval of `median(slow) / median(fast)` over rounds: element `i` of both was measured in round `i`, and
/// rounds are resampled whole, so that what slows a round down slows both.
pub fn bootstrap_ratio(slow: &[f64], fast: &[f64], seed: u64) -> (f64, f64) {
    let rounds = slow.len().min(fast.len());
    if rounds == 0 {
        return (f64::NAN, f64::NAN);
    }
    let mut rng = Rng::new(seed);
    let mut ratios: Vec<f64> = (0..RESAMPLES)
        .map(|_| {
            let picks: Vec<usize> = (0..rounds)
                .map(|_| rng.below(rounds as u64) as usize)
                .collect();
            let pick = |of: &[f64]| median(&picks.iter().map(|&i| of[i]).collect::<Vec<_>>());
            pick(slow) / pick(fast)
        })
        .collect();
    ratios.sort_by(f64::total_cmp);
    let at = |q: f64| ratios[((RESAMPLES - 1) as f64 * q).round() as usize];
    (at(0.025), at(0.975))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), 2.5);
        assert!(median(&[]).is_nan());
    }

    #[test]
    fn the_interval_holds_the_ratio_and_shrinks_with_agreement() {
        let mut rng = Rng::new(1);
        let noise: Vec<f64> = (0..60).map(|_| 1.0 + 0.2 * rng.unit()).collect();
        let slow: Vec<f64> = noise.iter().map(|n| 200.0 * n).collect();
        let fast: Vec<f64> = noise.iter().map(|n| 100.0 * n).collect();
        let (lo, hi) = bootstrap_ratio(&slow, &fast, 2);
        // Shared noise cancels: rounds are resampled whole.
        assert!(
            (lo - 2.0).abs() < 1e-9 && (hi - 2.0).abs() < 1e-9,
            "{lo} {hi}"
        );
        let own: Vec<f64> = (0..60).map(|_| 100.0 * (1.0 + 0.2 * rng.unit())).collect();
        let (lo, hi) = bootstrap_ratio(&slow, &own, 2);
        assert!(lo < 2.0 && hi > 2.0 && hi - lo < 0.2, "{lo} {hi}");
    }
}
