//! Which texts are proposed as candidates, the same on every backend (I9): the rarer the words a text has, the
//! sooner; then the newer. Ordering them well is the core's business.

use std::collections::BTreeMap;

/// What the word index says about one kind of text: for each term, the numbers of the texts that have it.
/// Returns the best `max` of them, best first.
pub(crate) fn propose(hits: &[Vec<u64>], texts: u64, max: usize) -> Vec<u64> {
    let mut scores: BTreeMap<u64, u64> = BTreeMap::new();
    for having in hits {
        let weight = weight(texts, having.len() as u64);
        for text in having {
            *scores.entry(*text).or_default() += weight;
        }
    }
    let mut best: Vec<(u64, u64)> = scores.into_iter().map(|(text, score)| (score, text)).collect();
    best.sort_unstable_by(|a, b| b.cmp(a));
    best.truncate(max);
    best.into_iter().map(|(_, text)| text).collect()
}

/// How telling a term is that `having` of `texts` have, in whole numbers so that sums do not depend on order.
fn weight(texts: u64, having: u64) -> u64 {
    let share = (texts as f64 + 1.0) / (having as f64 + 0.5);
    (share.max(1.0).ln() * 1_000_000.0) as u64 + 1
}

/// Whether a term could be in the index at all: others would be syntax, not words.
pub(crate) fn is_term(term: &str) -> bool {
    !term.is_empty() && term.chars().all(|c| !c.is_ascii() || c.is_ascii_lowercase() || c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rare_words_come_first_then_newer_texts() {
        let common: Vec<u64> = (1..=90).collect();
        assert_eq!(propose(&[common, vec![7]], 100, 3), [7, 90, 89]);
        assert_eq!(propose(&[], 100, 3), Vec::<u64>::new());
    }

    #[test]
    fn syntax_is_not_a_term() {
        for term in ["", "a b", "\"", "*", "-", "a\0", "NEAR", "a*"] {
            assert!(!is_term(term), "{term:?}");
        }
        for term in ["auth", "401", "日本語", "ошибка", "über"] {
            assert!(is_term(term), "{term:?}");
        }
    }
}
