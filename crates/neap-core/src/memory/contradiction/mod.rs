//! Detects contradictions between two records about one thing, without a model.
//!
//! Records are compared statement by statement ([`statements`]). What both say proves nothing; of the rest, a
//! contradiction needs the same subject, the same predicate and one value that differs: a number must measure the same
//! thing, and no condition may stand beside only one of them. Statements in the same words are aligned
//! ([`aligned`](mod@aligned)); of those in other words, claims are read ([`claim`]) and compared. A contradiction is
//! clear if only one value can hold, and likely if the words leave that open. Anything that these rules do not cover
//! goes undetected: in doubt both stand.

mod align;
mod aligned;
mod claim;
mod claim_words;
mod past;
mod predicate;
mod statement;
mod value;
mod word;

use statement::{Statement, statements};

const EVIDENCE_CHARS_MAX: usize = 60;
/// Statements of a record that are compared; a fact is a sentence or two.
const STATEMENTS_MAX: usize = 12;
/// Phrases that introduce a contrast at the end of a sentence.
const CONTRASTS: &[&str] = &[", not ", ", and not ", " instead of ", " rather than "];
const CONTRAST_WORDS_MAX: usize = 4;

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Comparison {
    /// Similarity outside the differing values, from 0 to 1.
    pub(super) context_similarity: f64,
    pub(super) contradiction: Option<Contradiction>,
    /// Whether the words before the contradiction differ: the sentences may be about different things.
    pub(super) prefix_differs: bool,
    /// Whether all content words are equal.
    pub(super) is_same: bool,
    pub(super) values_differ: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Contradiction {
    /// Whether only one of the values can be true.
    pub(super) is_clear: bool,
    /// The values, e.g. `timeout 30 s → 45 s`.
    pub(super) evidence: String,
}

/// Whether a text says of itself that it holds no longer.
pub(super) fn calls_itself_past(text: &str) -> bool {
    let all = statements(text);
    all.first().is_some_and(|first| first.is_past)
}

pub(super) use past::says_ended;

/// A record's text with its subject in every statement, if it does not name it.
pub(super) fn with_subject(subject: &str, text: &str) -> String {
    let split = statement::split(text);
    split.iter().map(|part| format!("{subject} {part}")).collect::<Vec<_>>().join("\n")
}

/// Compares an older record with a newer one.
pub(super) fn compare(old: &str, new: &str) -> Comparison {
    let (old_all, new_all) = (statements(old), statements(new));
    if let ([old_one], [new_one]) = (old_all.as_slice(), new_all.as_slice()) {
        return compare_statements(old_one, new_one);
    }
    compare_records(&old_all, &new_all)
}

/// Records of several statements. Only where every statement of the older one is said again or clearly contradicted may
/// the older one give way; else part of it still holds.
fn compare_records(old: &[Statement<'_>], new: &[Statement<'_>]) -> Comparison {
    let (old, new) = (&old[..old.len().min(STATEMENTS_MAX)], &new[..new.len().min(STATEMENTS_MAX)]);
    let is_said = |statement: &Statement<'_>, in_others: &[Statement<'_>]| {
        in_others.iter().any(|other| statement.is_same(other))
    };
    let (mut found, mut is_covered): (Vec<Comparison>, bool) = (Vec::new(), true);
    for (old_at, was) in old.iter().enumerate().filter(|(_, was)| !is_said(was, new)) {
        let unsaid = new.iter().enumerate().filter(|(_, now)| !is_said(now, old));
        let contradiction = unsaid
            .filter_map(|(new_at, now)| match was.refers_back || now.refers_back {
                false => Some(compare_statements(was, now)),
                true => is_about_the_same(old, old_at, new, new_at)
                    .then(|| compare_statements(&was.with_known_subject(), &now.with_known_subject())),
            })
            .find(|compared| compared.contradiction.is_some());
        is_covered &= contradiction.as_ref().is_some_and(|compared| {
            compared.contradiction.as_ref().is_some_and(|contradiction| contradiction.is_clear)
        });
        found.extend(contradiction);
    }
    let is_same = old.iter().all(|was| is_said(was, new)) && new.iter().all(|now| is_said(now, old));
    let values_differ = !is_same && new.iter().any(|now| !is_said(now, old));
    let first = found.into_iter().next();
    let (context_similarity, prefix_differs) =
        first.as_ref().map_or((0.0, false), |first| (first.context_similarity, first.prefix_differs));
    let contradiction = first
        .and_then(|first| first.contradiction)
        .map(|contradiction| Contradiction { is_clear: contradiction.is_clear && is_covered, ..contradiction });
    Comparison { context_similarity, contradiction, prefix_differs, is_same, values_differ }
}

/// Whether `it` in both refers to the same: the statements before them are the same.
fn is_about_the_same(old: &[Statement<'_>], old_at: usize, new: &[Statement<'_>], new_at: usize) -> bool {
    let (old_before, new_before) = (&old[..old_at], &new[..new_at]);
    old[old_at].refers_back == new[new_at].refers_back
        && match (old_before.last(), new_before.last()) {
            (Some(old), Some(new)) => old.is_same(new),
            (None, None) => true,
            (Some(_), None) | (None, Some(_)) => false,
        }
}

/// A contrast at the end (`prefers Celsius, not Fahrenheit`) is ignored if the rest contradicts.
fn compare_statements(old: &Statement<'_>, new: &Statement<'_>) -> Comparison {
    let mut whole = aligned::compare(old, new);
    if whole.contradiction.is_none() {
        let (old_core, new_core) = (strip_contrast(old.text), strip_contrast(new.text));
        if (old_core, new_core) != (old.text, new.text)
            && let ([old_one], [new_one]) = (statements(old_core).as_slice(), statements(new_core).as_slice())
        {
            let cores = aligned::compare(old_one, new_one);
            if cores.contradiction.is_some() {
                whole = cores;
            }
        }
    }
    if whole.contradiction.is_none() && !whole.is_same {
        whole.contradiction = claim::contradiction(old, new).or_else(|| claim::measure_conflict(old, new));
        if whole.contradiction.is_some() {
            (whole.context_similarity, whole.prefix_differs, whole.values_differ) = (1.0, false, true);
        }
    }
    // What speaks of the past changes nothing that holds now.
    if old.is_past || new.is_of_other_period(old) {
        whole.contradiction = None;
    }
    whole
}

fn strip_contrast(text: &str) -> &str {
    let ends = CONTRASTS.iter().filter_map(|contrast| text.rfind(contrast).map(|at| (at, at + contrast.len())));
    let Some((at, end)) = ends.min() else { return text };
    let is_short = word::tokenize(&text[end..]).len() <= CONTRAST_WORDS_MAX;
    if is_short { &text[..at] } else { text }
}

fn truncate(text: &str) -> String {
    let mut out: String = text.chars().take(EVIDENCE_CHARS_MAX).collect();
    if out.len() < text.len() {
        out.push('…');
    }
    out
}

#[cfg(test)]
mod tests;
