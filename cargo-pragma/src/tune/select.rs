//! From the best version of every size to what a target runs: variants by size bucket, or the reference.
//!
//! Pure. A kernel is chosen only where it beats the reference beyond doubt.

use pragma_spec::Variant;

use super::engine::Origin;

/// The lower end of the speedup's confidence interval that a kernel must reach to be worth its code.
pub const WORTH_IT: f64 = 1.02;

/// The final result for one size.
#[derive(Clone, Debug, PartialEq)]
pub struct Contender {
    /// The size, as text.
    pub tune: String,
    /// Elements of all slice parameters together at that size.
    pub elements: u64,
    /// The entry function.
    pub entry: String,
    /// Who wrote it.
    pub engine: String,
    /// Its schedule.
    pub actions: Vec<String>,
    /// Where its text comes from.
    pub origin: Origin,
    /// Lower end of the confidence interval of its speedup; `None` if nothing could be proven for this size.
    pub low: Option<f64>,
}

impl Contender {
    /// Whether it beats the reference beyond doubt.
    pub fn wins(&self) -> bool {
        self.low.is_some_and(|low| low > WORTH_IT)
    }
}

/// The variants of a target, ascending by size, the last without bound; empty if the reference wins everywhere.
///
/// Between two sizes the bound is their geometric mean. Neighbours that run the same code become one variant. Of
/// several sizes with equally many elements the first one counts.
pub fn variants(mut contenders: Vec<Contender>, seed: u64) -> Vec<Variant> {
    if !contenders.iter().any(Contender::wins) {
        return Vec::new();
    }
    contenders.sort_by_key(|contender| contender.elements);
    contenders.dedup_by_key(|contender| contender.elements);
    let mut variants: Vec<(u64, Variant)> = Vec::new();
    for contender in contenders {
        let wins = contender.wins();
        let variant = Variant {
            entry: if wins {
                contender.entry
            } else {
                "reference".to_owned()
            },
            max_elements: None,
            tune: contender.tune,
            engine: if wins {
                contender.engine
            } else {
                "reference".to_owned()
            },
            actions: if wins { contender.actions } else { Vec::new() },
            seed: if wins { seed } else { 0 },
            authorship: match contender.origin {
                Origin::Model(by) if wins => Some(by),
                _ => None,
            },
        };
        if let Some((elements, last)) = variants.last_mut() {
            let same = last.actions == variant.actions
                && last.engine == variant.engine
                && last.authorship == variant.authorship;
            if same {
                *elements = contender.elements;
                last.tune = format!("{}; {}", last.tune, variant.tune);
                continue;
            }
            last.max_elements = Some(between(*elements, contender.elements));
        }
        variants.push((contender.elements, variant));
    }
    variants.into_iter().map(|(_, variant)| variant).collect()
}

/// The geometric mean, rounded down.
fn between(a: u64, b: u64) -> u64 {
    let mean = ((a as f64) * (b as f64)).sqrt().floor() as u64;
    mean.clamp(a, b.saturating_sub(1).max(a))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contender(elements: u64, entry: &str, action: &str, low: Option<f64>) -> Contender {
        Contender {
            tune: format!("n = {elements}"),
            elements,
            entry: entry.to_owned(),
            engine: "synth".to_owned(),
            actions: vec![action.to_owned()],
            origin: Origin::Schedule,
            low,
        }
    }

    fn shape(variants: &[Variant]) -> Vec<(&str, Option<u64>)> {
        variants
            .iter()
            .map(|variant| (variant.entry.as_str(), variant.max_elements))
            .collect()
    }

    #[test]
    fn buckets_between_sizes() {
        let all = variants(
            vec![
                contender(1_000_000, "b", "y", Some(2.0)),
                contender(100, "a", "x", Some(9.0)),
            ],
            7,
        );
        assert_eq!(shape(&all), [("a", Some(10_000)), ("b", None)]);
        assert_eq!(all[0].seed, 7);
    }

    #[test]
    fn the_reference_keeps_what_it_wins() {
        let all = variants(
            vec![
                contender(100, "a", "x", Some(1.01)),
                contender(10_000, "b", "y", Some(3.0)),
            ],
            0,
        );
        assert_eq!(shape(&all), [("reference", Some(1000)), ("b", None)]);
        assert!(all[0].actions.is_empty());
        assert_eq!(
            variants(
                vec![
                    contender(100, "a", "x", Some(1.0)),
                    contender(200, "b", "y", None)
                ],
                0
            ),
            []
        );
    }

    #[test]
    fn equal_code_is_one_variant() {
        let all = variants(
            vec![
                contender(100, "a", "x", Some(2.0)),
                contender(1000, "b", "x", Some(2.0)),
                contender(100_000, "c", "y", Some(2.0)),
                contender(100_000, "d", "z", Some(5.0)),
            ],
            0,
        );
        assert_eq!(shape(&all), [("a", Some(10_000)), ("c", None)]);
        assert_eq!(all[0].tune, "n = 100; n = 1000");
    }
}
