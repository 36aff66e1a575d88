//! How common a term is in ordinary writing. A small store cannot tell: there *use* is as rare as a name.
//!
//! The counts come from openly licensed documentation (`bench/words/make.py`). A term that is not among them is taken
//! for a name.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use crate::text::terms::terms;

const WORDS: &str = include_str!("background_words.txt");
/// Of so many paragraphs, the list says how many have a word.
const PARAGRAPHS: f64 = 10_000.0;

/// A term that a larger share of ordinary paragraphs has names nothing.
const COMMON_SHARE: f64 = 0.01;

/// Shares by term: words with one stem add up.
static SHARES: LazyLock<BTreeMap<String, f64>> = LazyLock::new(|| {
    let mut shares: BTreeMap<String, f64> = BTreeMap::new();
    for line in WORDS.lines().filter(|line| !line.starts_with('#')) {
        let Some((word, count)) = line.split_once(' ') else { continue };
        let share = count.parse::<f64>().unwrap_or(0.0) / PARAGRAPHS;
        for term in terms(word) {
            let sum = shares.entry(term).or_default();
            *sum = (*sum + share).min(1.0);
        }
    }
    shares
});

/// The share of ordinary paragraphs that have a term, from 0 to 1.
pub fn background_share(term: &str) -> f64 {
    SHARES.get(term).copied().unwrap_or(0.0)
}

/// Whether a term is so common that two texts share it by accident.
pub fn is_common(term: &str) -> bool {
    background_share(term) > COMMON_SHARE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_words_are_common_and_names_are_not() {
        let [used, pattern, name] = ["use", "pattern", "heron"].map(background_share);
        assert!(used > pattern && pattern > 0.005, "{used} {pattern}");
        assert_eq!(name, 0.0);
        assert!(background_share("use") >= background_share("unless"), "words with one stem add up");
        assert!(SHARES.len() > 1_000 && SHARES.values().all(|share| (0.0..=1.0).contains(share)));
    }
}
