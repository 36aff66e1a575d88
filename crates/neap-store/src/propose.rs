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

/// A word is common where more than one text in this many has it.
const COMMON: u64 = 4;

/// The same for one of many kinds: of `texts`, `texts_of_kind` are of this one. Each list of numbers is in order. Where
/// the rarer words find enough, a common one finds nothing more: it only tells between what they found.
pub(crate) fn propose_of_kind(hits: &[Vec<u64>], texts: u64, texts_of_kind: u64, max: usize) -> Vec<u64> {
    if max == 0 {
        return Vec::new();
    }
    let is_common = |having: &Vec<u64>| having.len() as u64 * COMMON > texts_of_kind;
    let mut scores = Vec::new();
    for having in hits.iter().filter(|having| !is_common(having)) {
        scores = added(&scores, having, weight(texts, having.len() as u64), true);
    }
    let is_new_wanted = scores.len() < max;
    for having in hits.iter().filter(|having| is_common(having)) {
        scores = added(&scores, having, weight(texts, having.len() as u64), is_new_wanted);
    }
    let best = |a: &(u64, u64), b: &(u64, u64)| (b.1, b.0).cmp(&(a.1, a.0));
    if scores.len() > max {
        scores.select_nth_unstable_by(max, best);
        scores.truncate(max);
    }
    scores.sort_unstable_by(best);
    scores.into_iter().map(|(text, _)| text).collect()
}

/// Scores of texts, both in the order of texts, with what one more word adds to those that have it.
fn added(scores: &[(u64, u64)], having: &[u64], weight: u64, is_new_wanted: bool) -> Vec<(u64, u64)> {
    debug_assert!(having.is_sorted(), "texts come in order");
    let mut sum = Vec::with_capacity(scores.len() + if is_new_wanted { having.len() } else { 0 });
    let mut having = having.iter().copied().peekable();
    for &(text, score) in scores {
        while let Some(new) = having.next_if(|new| *new < text) {
            if is_new_wanted {
                sum.push((new, weight));
            }
        }
        let has_it = having.next_if_eq(&text).is_some();
        sum.push((text, if has_it { score + weight } else { score }));
    }
    if is_new_wanted {
        sum.extend(having.map(|new| (new, weight)));
    }
    sum
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

    /// Without common words, or where the rarer find too little, it is what every text would give.
    #[test]
    fn of_a_kind_the_same_is_proposed() {
        let lists = [vec![2, 5, 9], vec![], vec![5, 9, 11, 40], vec![1], (1..=90).collect()];
        for max in [0, 1, 2, 5, 7, 50, 200] {
            assert_eq!(propose_of_kind(&lists[..4], 100, 100, max), propose(&lists[..4], 100, max), "{max}");
        }
        for max in [7, 50, 200] {
            assert_eq!(propose_of_kind(&lists, 100, 100, max), propose(&lists, 100, max), "{max}");
        }
    }

    #[test]
    fn a_common_word_only_tells_between_what_rarer_ones_found() {
        let (rare, common): (Vec<u64>, Vec<u64>) = ((1..=20).collect(), (3..=60).collect());
        // A quarter is not yet common.
        assert_eq!(propose_of_kind(&[rare.clone(), (1..=25).collect()], 100, 100, 2), [20, 19]);
        let many = [rare.clone(), (1..=2).chain(30..=60).collect(), (1..=2).chain(30..=60).collect()];
        assert_eq!(propose_of_kind(&many, 100, 100, 3), [2, 1, 20]);
        // Two common words are worth more than a rarer one, and still find nothing.
        let two = [(1..=25).collect(), (26..=60).collect(), (26..=60).collect::<Vec<u64>>()];
        assert_eq!(propose_of_kind(&two, 100, 100, 2), [25, 24]);
        assert_eq!(propose_of_kind(&two, 100, 100, 26)[..2], [60, 59], "unless more is wanted");
        assert_eq!(propose_of_kind(&[rare, common], 100, 100, 20)[17..], [3, 2, 1]);
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
