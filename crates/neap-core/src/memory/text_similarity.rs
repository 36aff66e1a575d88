//! Lexical similarity of two texts.

use std::collections::BTreeMap;

use crate::text::terms::terms;

/// Cosine of the term counts, from 0 to 1; symmetric. Texts with nothing but stop words score 1 if their words are
/// equal, else 0.
pub fn text_similarity(a: &str, b: &str) -> f64 {
    let (a_terms, b_terms) = (terms(a), terms(b));
    if a_terms.is_empty() || b_terms.is_empty() {
        let same = a.split_whitespace().eq(b.split_whitespace());
        return f64::from(u8::from(same));
    }
    term_cosine(&a_terms, &b_terms)
}

pub(super) fn term_cosine(a: &[String], b: &[String]) -> f64 {
    let counts = |terms: &[String]| {
        let mut counts = BTreeMap::<String, u64>::new();
        terms.iter().for_each(|term| *counts.entry(term.clone()).or_default() += 1);
        counts
    };
    let (a, b) = (counts(a), counts(b));
    let product: u64 = a.iter().map(|(term, n)| n * b.get(term).copied().unwrap_or(0)).sum();
    let squares = |counts: &BTreeMap<String, u64>| counts.values().map(|n| n * n).sum::<u64>();
    let both = squares(&a) * squares(&b);
    // Integer arithmetic up to here, so equal texts score exactly 1.
    if both == 0 { 0.0 } else { (product as f64 / (both as f64).sqrt()).min(1.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cosine_of_counts() {
        for (a, b, want) in [
            ("Tim prefers Celsius", "tim prefers celsius!", 1.0),
            ("Tim prefers Celsius", "Tim prefers Fahrenheit", 2.0 / 3.0),
            ("alpha alpha bravo", "alpha bravo", 3.0 / 10_f64.sqrt()),
            ("alpha", "bravo", 0.0),
            ("", "alpha", 0.0),
            ("it is", "it is", 1.0),
            ("it is", "is it", 0.0),
        ] {
            assert!((text_similarity(a, b) - want).abs() < 1e-12, "{a} | {b}: {}", text_similarity(a, b));
        }
    }

    proptest::proptest! {
        #[test]
        fn it_is_the_same_both_ways_and_a_share(a in "[a-d ]{0,24}|\\PC{0,24}", b in "[a-d ]{0,24}|\\PC{0,24}") {
            let similarity = text_similarity(&a, &b);
            proptest::prop_assert_eq!(similarity, text_similarity(&b, &a));
            proptest::prop_assert!((0.0..=1.0).contains(&similarity));
            proptest::prop_assert_eq!(text_similarity(&a, &a), 1.0);
        }
    }
}
