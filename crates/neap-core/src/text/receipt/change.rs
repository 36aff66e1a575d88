//! Finds what a summary changed: values that the original never had, and negations that it dropped.

use std::collections::BTreeSet;
use std::ops::Range;

use super::compare::Original;
use super::exact_values::{self, ExactValue, ValueKey};
use super::index::ClauseIndex;
use super::probe::{ProbeKey, ProbeKind, head_and_tail, texts};
use crate::base::message::Message;
use crate::text::reference::is_stop_word;

/// Words on either side of a value that are compared.
const CONTEXT_WORDS: usize = 5;
const VALUES_MAX: usize = 8_192;
/// Most changes of one summary that are traced to an original value; the rest count as invented.
const TRACED_MAX: usize = 32;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LocatedChange {
    pub(super) kind: ProbeKind,
    pub(super) range: Range<usize>,
    pub(super) nearest: NearestOriginal,
}

/// The original value that a changed one most resembles.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum NearestOriginal {
    Invented,
    Certain(String),
    /// Others resemble it as much.
    Ambiguous(String),
}

impl NearestOriginal {
    pub(super) fn text(&self) -> &str {
        match self {
            NearestOriginal::Invented => "",
            NearestOriginal::Certain(text) | NearestOriginal::Ambiguous(text) => text,
        }
    }
}

pub(super) fn find_changes(original: &Original<'_>, summary: &str) -> Vec<LocatedChange> {
    let mut out = Vec::new();
    for value in exact_values::find_values(summary) {
        if !is_certain(summary, &value) || original.values.supports(summary, &value) {
            continue;
        }
        let nearest = if out.len() < TRACED_MAX {
            nearest_value(original.values_in_context(), summary, &value)
        } else {
            NearestOriginal::Invented
        };
        out.push(LocatedChange { kind: value.kind, range: value.range, nearest });
    }
    out.extend(dropped_denials(original, summary));
    out.sort_by_key(|changed| (changed.range.start, changed.range.end));
    out
}

/// False for short all-capital words: a summary may introduce abbreviations of its own.
fn is_certain(text: &str, value: &ExactValue) -> bool {
    let word = &text[value.range.clone()];
    value.kind != ProbeKind::Identifier || word.len() > 5 || !word.chars().all(|c| c.is_uppercase())
}

#[derive(Debug)]
pub(super) struct ValueInContext {
    kind: ProbeKind,
    written: String,
    key: ValueKey,
    context: BTreeSet<String>,
}

pub(super) fn collect_values(messages: &[Message]) -> Vec<ValueInContext> {
    let mut out = Vec::new();
    for text in messages.iter().flat_map(texts).flat_map(head_and_tail) {
        for value in exact_values::find_values(text) {
            if out.len() == VALUES_MAX {
                return out;
            }
            let (written, context) = (text[value.range.clone()].to_owned(), context_words(text, &value.range));
            out.push(ValueInContext { kind: value.kind, written, key: value.key, context });
        }
    }
    out
}

fn context_words(text: &str, range: &Range<usize>) -> BTreeSet<String> {
    let ends = |word: &&str| word.ends_with(['.', '!', '?', ';']);
    let mut out = Vec::new();
    out.extend(text[..range.start].split_whitespace().rev().take(CONTEXT_WORDS).take_while(|word| !ends(word)));
    for word in text[range.end..].split_whitespace().take(CONTEXT_WORDS) {
        out.push(word);
        if ends(&word) {
            break;
        }
    }
    let fold = |word: &str| word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
    out.into_iter().map(fold).filter(|word| !word.is_empty() && !is_stop_word(word)).collect()
}

/// The nearest value of the same kind: by shared context words, then by edit distance.
fn nearest_value(candidates: &[ValueInContext], summary: &str, value: &ExactValue) -> NearestOriginal {
    let written = summary[value.range.clone()].to_lowercase();
    let length = written.chars().count();
    let context = context_words(summary, &value.range);
    let mut best: Option<((usize, usize), &ValueInContext, bool)> = None;
    for other in candidates.iter().filter(|other| other.kind == value.kind) {
        let shared = other.context.intersection(&context).count();
        let length_diff = other.written.chars().count().abs_diff(length);
        if length_diff * 3 > length.max(3) && shared < 2 {
            continue;
        }
        let distance = edit_distance(&written, &other.written.to_lowercase());
        // Short values resemble each other by chance.
        let is_alike = distance * 3 <= length.max(3) && (shared > 0 || length >= 4);
        if !is_alike && shared < 2 {
            continue;
        }
        let rank = (CONTEXT_WORDS * 2 - shared, distance);
        match &mut best {
            Some((best_rank, best_value, is_unique)) if rank == *best_rank => {
                *is_unique &= best_value.key == other.key
            }
            Some((best_rank, ..)) if rank > *best_rank => {}
            Some(_) | None => best = Some((rank, other, true)),
        }
    }
    match best {
        None => NearestOriginal::Invented,
        Some((_, nearest, true)) => NearestOriginal::Certain(nearest.written.clone()),
        Some((_, nearest, false)) => NearestOriginal::Ambiguous(nearest.written.clone()),
    }
}

/// Levenshtein distance of the first 80 characters.
fn edit_distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().take(80).collect(), b.chars().take(80).collect());
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

/// Sentences of the summary that state what the original only negates.
fn dropped_denials(original: &Original<'_>, summary: &str) -> Vec<LocatedChange> {
    let clauses = ClauseIndex::from_summary(summary);
    let denials = original.probes.iter().filter_map(|keyed| match &keyed.key {
        ProbeKey::Words(words) if keyed.probe.kind == ProbeKind::Negation && words.len() >= 2 => {
            Some((&keyed.probe, words))
        }
        ProbeKey::Words(_) | ProbeKey::Value(_) => None,
    });
    let all_in = |words: &[String], terms: &BTreeSet<String>| words.iter().all(|word| terms.contains(word));
    let mut out: Vec<LocatedChange> = Vec::new();
    for (probe, words) in denials.filter(|(probe, words)| !clauses.covers(probe.kind, words)) {
        for (sentence, stated) in clauses.affirmations() {
            let states = all_in(words, stated) && !out.iter().any(|changed| changed.range == *sentence);
            if states && !original.affirmative_clauses().iter().any(|terms| all_in(words, terms)) {
                let nearest = NearestOriginal::Ambiguous(probe.value.clone());
                out.push(LocatedChange { kind: probe.kind, range: sentence.clone(), nearest });
            }
        }
    }
    out
}
