//! "Did you mean": the known word closest to an unknown one.

/// The word among `known` that `word` was probably meant to be.
pub(crate) fn closest<'a>(word: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    known
        .map(|candidate| (distance(word, candidate), candidate))
        .filter(|(distance, candidate)| *distance <= (candidate.len().max(word.len()) / 3).max(1))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Edits (insert, delete, replace, swap of neighbours) between two words.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let replaced = above[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = replaced.min(above[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(before[j - 2] + 1);
            }
            row.push(best);
        }
        before = std::mem::replace(&mut above, row);
    }
    above[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances() {
        assert_eq!(distance("shape", "shape"), 0);
        assert_eq!(distance("shapes", "shape"), 1);
        assert_eq!(distance("sahpe", "shape"), 1);
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("tune", "exact"), 5);
    }

    #[test]
    fn close_words_only() {
        let known = ["shape", "tune", "inputs", "tolerance", "exact"];
        let closest = |word| closest(word, known.into_iter());
        assert_eq!(closest("shapes"), Some("shape"));
        assert_eq!(closest("tolerence"), Some("tolerance"));
        assert_eq!(closest("input"), Some("inputs"));
        assert_eq!(closest("banana"), None);
    }
}
