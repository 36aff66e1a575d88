//! Which texts are proposed as candidates, the same on every backend (I9): the rarer the words a text has, the
//! sooner; then the newer. Ordering them well is the core's business.

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

/// How many are visited of the texts that have a term.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Visit {
    /// All.
    All,
    /// At most so many, the newest.
    Newest(usize),
}

/// What a search by words starts from.
pub(crate) struct Words<'a> {
    /// Distinct terms.
    pub(crate) terms: &'a [String],
    /// How many texts have each of them.
    pub(crate) texts_with: &'a [u64],
    /// How many texts there are.
    pub(crate) texts: u64,
    /// Whether only a few texts are searched: then how many of them have a term is known when they were visited.
    pub(crate) is_narrow: bool,
    /// See [`Limits::visits_max`](neap_core::recall::Limits::visits_max).
    pub(crate) visits_max: usize,
}

impl Words<'_> {
    /// Visits the texts that `having` gives for a term, each list in order, and scores them, in order: the rarest term first, whole if
    /// it fits into what is left.
    pub(crate) fn visit<E>(
        &self,
        mut having: impl FnMut(&str, Visit) -> Result<Vec<u64>, E>,
    ) -> Result<Vec<(u64, u64)>, E> {
        let mut order: Vec<(u64, &str)> =
            self.texts_with.iter().copied().zip(self.terms.iter().map(String::as_str)).collect();
        order.retain(|(with, term)| *with > 0 && is_term(term));
        order.sort_unstable();
        let (mut scores, mut left) = (Vec::new(), self.visits_max);
        for (with, term) in order {
            let weight = weight(self.texts, with);
            let visit = match usize::try_from(with) {
                _ if self.is_narrow => Visit::Newest(left.saturating_add(1)),
                Ok(with) if with <= left => Visit::All,
                Ok(_) | Err(_) if scores.is_empty() => Visit::Newest(left),
                Ok(_) | Err(_) => break,
            };
            let mut found = having(term, visit)?;
            if self.is_narrow && found.len() > left {
                if !scores.is_empty() {
                    break;
                }
                found.drain(..found.len() - left);
            }
            left = left.saturating_sub(found.len());
            scores = added(&scores, &found, weight, true);
            if left == 0 {
                break;
            }
        }
        Ok(scores)
    }
}

/// The best `max` of those that are admitted: the highest score, then the newer.
pub(crate) fn best<E>(
    mut scores: Vec<(u64, u64)>,
    max: usize,
    admits: Option<&mut dyn FnMut(u64) -> Result<bool, E>>,
) -> Result<Vec<u64>, E> {
    let better = |a: &(u64, u64), b: &(u64, u64)| (b.1, b.0).cmp(&(a.1, a.0));
    let Some(admits) = admits else {
        if scores.len() > max {
            scores.select_nth_unstable_by(max, better);
            scores.truncate(max);
        }
        return Ok(scores.into_iter().map(|(text, _)| text).collect());
    };
    scores.sort_unstable_by(better);
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
        let common: Vec<u64> = (1..=25).collect();
        assert_eq!(propose_of_kind(&[common, vec![7]], 100, 100, 3), [7, 25, 24]);
        assert_eq!(propose_of_kind(&[], 100, 100, 3), Vec::<u64>::new());
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
