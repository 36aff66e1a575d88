//! Detects contradictions between two sentences about one thing, without a model.
//!
//! Words are aligned ([`align()`]); a place where both sides differ is a slot. A slot is a contradiction if its
//! context allows only one value (`lives in`, `the timeout is`, a number, a negation), a likely one if the words
//! leave that open, and none if values can coexist (`likes`, `uses`, another verb, another subject). Anything
//! these word lists do not cover goes undetected: `moved to Bergen` does not contradict `lives in Oslo`.

mod align;
mod predicate;
mod word;

use align::{DiffHunk, align};
use predicate::{Cardinality, is_opposite, slot_cardinality};
use word::{SentenceWord, WordClass, tokenize};

use super::text_similarity::term_cosine;
use crate::text::terms::terms;

const SLOT_WORDS_MAX: usize = 8;
/// Slots that may differ at once, if all are numbers.
const SLOTS_MAX: usize = 3;
/// Words that join the parts of one name.
const NAME_CONNECTIVES: &[&str] = &["of", "and", "'s", "&"];
/// Phrases that introduce a contrast at the end of a sentence.
const CONTRASTS: &[&str] = &[", not ", ", and not ", " instead of ", " rather than "];
const CONTRAST_WORDS_MAX: usize = 4;
const EVIDENCE_CHARS_MAX: usize = 60;

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

/// Compares an older sentence with a newer one. A contrast at the end (`prefers Celsius, not Fahrenheit`) is
/// ignored if the rest contradicts.
pub(super) fn compare(old: &str, new: &str) -> Comparison {
    let whole = compare_words(old, new);
    let (old_core, new_core) = (strip_contrast(old), strip_contrast(new));
    if whole.contradiction.is_some() || (old_core, new_core) == (old, new) {
        return whole;
    }
    let cores = compare_words(old_core, new_core);
    if cores.contradiction.is_some() { cores } else { whole }
}

fn strip_contrast(text: &str) -> &str {
    let ends = CONTRASTS.iter().filter_map(|contrast| text.rfind(contrast).map(|at| (at, at + contrast.len())));
    let Some((at, end)) = ends.min() else { return text };
    let is_short = tokenize(&text[end..]).len() <= CONTRAST_WORDS_MAX;
    if is_short { &text[..at] } else { text }
}

fn compare_words(old: &str, new: &str) -> Comparison {
    let (old_words, new_words) = (tokenize(old), tokenize(new));
    let pair = SentencePair { old: &old_words, new: &new_words };
    let hunks = pair.merge_name_hunks(align(&old_words, &new_words));
    let differing: Vec<&DiffHunk> = hunks.iter().filter(|hunk| pair.has_content(hunk)).collect();
    let slots: Vec<&DiffHunk> = differing.iter().copied().filter(|hunk| pair.is_slot(hunk)).collect();
    let negated = differing.iter().any(|hunk| pair.is_negation(hunk));
    let moved = pair.has_moved_word(&differing);
    let has_number =
        |hunk: &&&DiffHunk| pair.sides(hunk).into_iter().flatten().any(|word| word.class == WordClass::Number);
    let values_differ = moved || negated || !slots.is_empty() || differing.iter().any(|hunk| has_number(&hunk));
    let contradiction = match (negated, slots.as_slice()) {
        (true, []) => {
            Some(Contradiction { is_clear: true, evidence: format!("{} → {}", truncate(old), truncate(new)) })
        }
        (true, _) | (false, []) => None,
        (false, slots) => (!moved).then(|| pair.contradiction(slots)).flatten(),
    };
    let prefix = differing.iter().take_while(|hunk| !pair.is_slot(hunk) && !pair.is_negation(hunk));
    let prefix_differs = prefix.count() > 0;
    Comparison {
        context_similarity: pair.context_similarity(&slots, old, new),
        contradiction,
        prefix_differs,
        is_same: differing.is_empty(),
        values_differ,
    }
}

/// Two numbers with the same unit in different words: `times out after 30 s`, `a timeout of 45 s`.
pub(super) fn number_conflict(old: &str, new: &str) -> Option<String> {
    let (old_words, new_words) = (tokenize(old), tokenize(new));
    let only_number = |words: &[SentenceWord]| {
        let mut numbers = words.iter().enumerate().filter(|(_, word)| word.class == WordClass::Number);
        let (at, number) = numbers.next()?;
        let unit = words.get(at + 1).filter(|word| word.is_unit()).map(|word| word.key.clone());
        numbers.next().is_none().then(|| (number.clone(), unit))
    };
    let ((from, from_unit), (to, to_unit)) = (only_number(&old_words)?, only_number(&new_words)?);
    if from.key == to.key || from_unit.is_none() || from_unit != to_unit {
        return None;
    }
    let unit = from_unit.unwrap_or_default();
    Some(format!("{} {unit} → {} {unit}", from.text, to.text))
}

struct SentencePair<'a> {
    old: &'a [SentenceWord],
    new: &'a [SentenceWord],
}

impl SentencePair<'_> {
    fn sides(&self, hunk: &DiffHunk) -> [&[SentenceWord]; 2] {
        [&self.old[hunk.old.clone()], &self.new[hunk.new.clone()]]
    }

    /// Merges hunks separated only by a word inside a name: `College of Music`, `University of Arts`.
    fn merge_name_hunks(&self, hunks: Vec<DiffHunk>) -> Vec<DiffHunk> {
        let mut out: Vec<DiffHunk> = Vec::new();
        for hunk in hunks {
            match out.last_mut() {
                Some(last)
                    if last.new.end + 1 == hunk.new.start
                        && last.old.end + 1 == hunk.old.start
                        && NAME_CONNECTIVES.contains(&self.new[last.new.end].key.as_str())
                        && self.is_slot(last)
                        && self.is_slot(&hunk) =>
                {
                    (last.old.end, last.new.end) = (hunk.old.end, hunk.new.end);
                }
                Some(_) | None => out.push(hunk),
            }
        }
        out
    }

    /// Whether a hunk has more than stop words.
    fn has_content(&self, hunk: &DiffHunk) -> bool {
        self.sides(hunk).into_iter().flatten().any(|word| word.class != WordClass::StopWord)
    }

    /// Whether both sides have a value.
    fn is_slot(&self, hunk: &DiffHunk) -> bool {
        let has_value = |words: &[SentenceWord]| words.iter().any(SentenceWord::is_value);
        self.sides(hunk).into_iter().all(has_value)
    }

    /// Whether one side only negates: `does not`, `never`, `no longer`.
    fn is_negation(&self, hunk: &DiffHunk) -> bool {
        let [old, new] = self.sides(hunk);
        let negations =
            |words: &[SentenceWord]| words.iter().filter(|word| word.class == WordClass::Negation).count();
        let no_values = !old.iter().chain(new).any(SentenceWord::is_value);
        no_values && negations(old) % 2 != negations(new) % 2
    }

    /// Whether a word moved to another place: `Tim reports to Ann`, `Ann reports to Tim`.
    fn has_moved_word(&self, hunks: &[&DiffHunk]) -> bool {
        let values = |side: usize| {
            let words = hunks.iter().flat_map(move |hunk| self.sides(hunk)[side]);
            words.filter(|word| word.is_value()).map(|word| &word.key).collect::<Vec<_>>()
        };
        let (old, new) = (values(0), values(1));
        old.iter().any(|key| new.contains(key))
    }

    fn contradiction(&self, slots: &[&DiffHunk]) -> Option<Contradiction> {
        let all_numbers = slots.iter().all(|hunk| self.is_number(hunk));
        if slots.len() > if all_numbers { SLOTS_MAX } else { 1 } {
            return None;
        }
        let mut is_clear = true;
        for hunk in slots {
            match self.cardinality(hunk) {
                Cardinality::One => {}
                Cardinality::Unclear => is_clear = false,
                Cardinality::Many => return None,
            }
        }
        let evidence: Vec<String> = slots.iter().map(|hunk| self.evidence(hunk)).collect();
        Some(Contradiction { is_clear, evidence: evidence.join(", ") })
    }

    fn is_number(&self, hunk: &DiffHunk) -> bool {
        self.sides(hunk).into_iter().all(|words| words.iter().any(|word| word.class == WordClass::Number))
    }

    fn cardinality(&self, hunk: &DiffHunk) -> Cardinality {
        let [old, new] = self.sides(hunk);
        if old.len().max(new.len()) > SLOT_WORDS_MAX {
            return Cardinality::Many;
        }
        let (before, after) = (&self.new[..hunk.new.start], &self.new[hunk.new.end..]);
        if is_opposite(old, new) && before.iter().any(SentenceWord::is_value) {
            return Cardinality::One;
        }
        slot_cardinality(before, old, new, after, self.is_number(hunk))
    }

    /// e.g. `timeout 30 s → 45 s`.
    fn evidence(&self, hunk: &DiffHunk) -> String {
        let is_number = self.is_number(hunk);
        let [old, new] = self.sides(hunk).map(|words| {
            let value = words.iter().filter(|word| !is_number || word.is_quantity());
            value.map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ")
        });
        let lead = self.new[..hunk.new.start].iter().rev().find(|word| word.is_value());
        let lead = lead.map(|word| format!("{} ", word.text)).unwrap_or_default();
        let unit = self.new.get(hunk.new.end).filter(|word| is_number && word.class == WordClass::Plain);
        let unit = unit.map(|word| format!(" {}", word.text)).unwrap_or_default();
        format!("{lead}{}{unit} → {}{unit}", truncate(&old), truncate(&new))
    }

    /// Similarity with each slot replaced by the same placeholder.
    fn context_similarity(&self, slots: &[&DiffHunk], old: &str, new: &str) -> f64 {
        if slots.is_empty() {
            return super::text_similarity(old, new);
        }
        let without = |words: &[SentenceWord], side: usize| {
            // In a number's slot, words other than the quantity count as context.
            let in_slot = |at: usize, word: &SentenceWord| {
                slots.iter().any(|hunk| {
                    let range = if side == 0 { &hunk.old } else { &hunk.new };
                    range.contains(&at) && (!self.is_number(hunk) || word.is_quantity())
                })
            };
            let context = words.iter().enumerate().filter(|(at, word)| !in_slot(*at, word));
            let mut out = terms(&context.map(|(_, word)| word.key.as_str()).collect::<Vec<_>>().join(" "));
            out.extend((0..slots.len()).map(|slot| format!("\u{0}{slot}")));
            out
        };
        term_cosine(&without(self.old, 0), &without(self.new, 1))
    }
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
