//! Selects candidate texts, the same on every backend (I9): rarer terms first, then newer texts. The core ranks.

use std::cmp::Ordering;

/// A term is common if more than one text in this many has it.
const COMMON_ONE_IN: u64 = 4;

/// Selects up to `max` memories of one kind: `texts_of_kind` of `texts` are of this kind, and each list in `hits`
/// is sorted. If the rarer terms find enough, common terms add no memories and only change the scores.
pub fn candidates_of_kind(hits: &[Vec<u64>], texts: u64, texts_of_kind: u64, max: usize) -> Vec<u64> {
    if max == 0 {
        return Vec::new();
    }
    let is_common = |postings: &Vec<u64>| postings.len() as u64 * COMMON_ONE_IN > texts_of_kind;
    let mut scores = Vec::new();
    for postings in hits.iter().filter(|postings| !is_common(postings)) {
        scores = add_term_scores(&scores, postings, idf_weight(texts, postings.len() as u64), true);
    }
    let is_new_wanted = scores.len() < max;
    for postings in hits.iter().filter(|postings| is_common(postings)) {
        scores = add_term_scores(&scores, postings, idf_weight(texts, postings.len() as u64), is_new_wanted);
    }
    if scores.len() > max {
        scores.select_nth_unstable_by(max, by_score);
        scores.truncate(max);
    }
    scores.sort_unstable_by(by_score);
    scores.into_iter().map(|(text, _)| text).collect()
}

/// Adds one term's weight to the texts that have it. Both lists are sorted by text.
fn add_term_scores(scores: &[(u64, u64)], postings: &[u64], weight: u64, is_new_wanted: bool) -> Vec<(u64, u64)> {
    debug_assert!(postings.is_sorted(), "texts come in order");
    let mut sum = Vec::with_capacity(scores.len() + if is_new_wanted { postings.len() } else { 0 });
    let mut postings = postings.iter().copied().peekable();
    for &(text, score) in scores {
        while let Some(new) = postings.next_if(|new| *new < text) {
            if is_new_wanted {
                sum.push((new, weight));
            }
        }
        let has_it = postings.next_if_eq(&text).is_some();
        sum.push((text, if has_it { score + weight } else { score }));
    }
    if is_new_wanted {
        sum.extend(postings.map(|new| (new, weight)));
    }
    sum
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Visit {
    All,
    /// At most this many, the newest.
    Newest(usize),
}

pub struct TermSearch<'a> {
    pub terms: &'a [String],
    /// Document frequency of each term.
    pub texts_with: &'a [u64],
    pub texts: u64,
    /// Whether few texts are searched; then a term's frequency among them is known only after visiting them.
    pub is_narrow: bool,
    pub visits_max: usize,
}

impl<'a> TermSearch<'a> {
    /// Scores the texts that `postings` returns per term (each list sorted), rarest term first, whole if it fits
    /// into the remaining visits. The result is sorted by text.
    pub fn score_texts<E>(
        &self,
        mut postings: impl FnMut(&str, Visit) -> Result<Vec<u64>, E>,
    ) -> Result<Vec<(u64, u64)>, E> {
        let mut visits = self.visits();
        while let Some((term, visit)) = visits.next(1).pop() {
            visits.add(postings(term, visit)?);
        }
        Ok(visits.scores)
    }

    /// The same step by step: ask for what to visit next, and add what was found, term by term.
    pub fn visits(&self) -> TermVisits<'a> {
        let mut order: Vec<(u64, &str)> =
            self.texts_with.iter().copied().zip(self.terms.iter().map(String::as_str)).collect();
        order.retain(|(with, term)| *with > 0 && is_term(term));
        order.sort_unstable();
        order.reverse();
        let (texts, is_narrow, left) = (self.texts, self.is_narrow, self.visits_max);
        TermVisits { order, texts, is_narrow, left, scores: Vec::new() }
    }
}

pub struct TermVisits<'a> {
    /// With its document frequency, the next last.
    order: Vec<(u64, &'a str)>,
    texts: u64,
    is_narrow: bool,
    left: usize,
    /// Sorted by text.
    pub scores: Vec<(u64, u64)>,
}

impl<'a> TermVisits<'a> {
    /// The terms to visit next, at most `max`: one, or more if all of them are visited whatever is found.
    pub fn next(&self, max: usize) -> Vec<(&'a str, Visit)> {
        let mut next = Vec::new();
        let mut left = self.left as u64;
        for (with, term) in self.order.iter().rev().take(max) {
            let visit = if self.is_narrow {
                // Its frequency among the few that are searched is not known; too much is cut off later.
                Visit::Newest(self.left.saturating_add(1))
            } else if *with <= left {
                left -= with;
                Visit::All
            } else {
                if next.is_empty() && self.scores.is_empty() {
                    next.push((*term, Visit::Newest(self.left)));
                }
                break;
            };
            next.push((*term, visit));
        }
        next
    }

    /// Adds the texts with the next term, sorted.
    pub fn add(&mut self, mut found: Vec<u64>) {
        let Some((with, _)) = self.order.pop() else { return };
        if self.is_narrow && found.len() > self.left {
            if !self.scores.is_empty() {
                self.order.clear();
                return;
            }
            found.drain(..found.len() - self.left);
        }
        self.left = self.left.saturating_sub(found.len());
        self.scores = add_term_scores(&self.scores, &found, idf_weight(self.texts, with), true);
        if self.left == 0 {
            self.order.clear();
        }
    }
}

/// The best `max` admitted texts: highest score, then newest.
pub fn top_scored<E>(
    mut scores: Vec<(u64, u64)>,
    max: usize,
    admits: Option<&mut dyn FnMut(u64) -> Result<bool, E>>,
) -> Result<Vec<u64>, E> {
    let Some(admits) = admits else {
        if scores.len() > max {
            scores.select_nth_unstable_by(max, by_score);
            scores.truncate(max);
        }
        return Ok(scores.into_iter().map(|(text, _)| text).collect());
    };
    scores.sort_unstable_by(by_score);
    let mut chosen = Vec::new();
    for (text, _) in scores {
        if chosen.len() >= max {
            break;
        }
        if admits(text)? {
            chosen.push(text);
        }
    }
    Ok(chosen)
}

/// Higher scores first, then newer texts.
pub fn by_score(a: &(u64, u64), b: &(u64, u64)) -> Ordering {
    (b.1, b.0).cmp(&(a.1, a.0))
}

/// Inverse document frequency as an integer, so that sums do not depend on their order.
fn idf_weight(texts: u64, with_term: u64) -> u64 {
    let share = (texts as f64 + 1.0) / (with_term as f64 + 0.5);
    (share.max(1.0).ln() * 1_000_000.0) as u64 + 1
}

/// Whether a term can be in the index; anything else could be query syntax.
pub fn is_term(term: &str) -> bool {
    !term.is_empty() && term.chars().all(|c| !c.is_ascii() || c.is_ascii_lowercase() || c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rare_words_come_first_then_newer_texts() {
        let common: Vec<u64> = (1..=25).collect();
        assert_eq!(candidates_of_kind(&[common, vec![7]], 100, 100, 3), [7, 25, 24]);
        assert_eq!(candidates_of_kind(&[], 100, 100, 3), Vec::<u64>::new());
    }

    #[test]
    fn a_common_word_only_tells_between_what_rarer_ones_found() {
        let (rare, common): (Vec<u64>, Vec<u64>) = ((1..=20).collect(), (3..=60).collect());
        assert_eq!(candidates_of_kind(&[rare.clone(), (1..=25).collect()], 100, 100, 2), [20, 19]);
        let many = [rare.clone(), (1..=2).chain(30..=60).collect(), (1..=2).chain(30..=60).collect()];
        assert_eq!(candidates_of_kind(&many, 100, 100, 3), [2, 1, 20]);
        // Two common words outweigh a rarer one, but find nothing.
        let two = [(1..=25).collect(), (26..=60).collect(), (26..=60).collect::<Vec<u64>>()];
        assert_eq!(candidates_of_kind(&two, 100, 100, 2), [25, 24]);
        assert_eq!(candidates_of_kind(&two, 100, 100, 26)[..2], [60, 59], "unless more is wanted");
        assert_eq!(candidates_of_kind(&[rare, common], 100, 100, 20)[17..], [3, 2, 1]);
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
