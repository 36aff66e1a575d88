//! What a summary says differently: values that the original never had, and denials that it dropped.

use std::collections::BTreeSet;
use std::ops::Range;

use super::compare::Original;
use super::hard::{self, Key, Value};
use super::probe::{By, ProbeKind, texts, windows};
use super::said::Told;
use crate::message::Message;
use crate::reference::is_stop_word;

/// Words on either side of a value that tell which one it is.
const NEIGHBOURS: usize = 5;
/// Values of the original that are compared, at most.
const NEAR_MAX: usize = 8_192;
/// Changes of one summary that are traced to what they were, at most; the rest count as made up.
const TRACED_MAX: usize = 32;

/// A change, and where in the summary it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Changed {
    pub(super) kind: ProbeKind,
    pub(super) range: Range<usize>,
    pub(super) nearest: Nearest,
}

/// What the original may have had in its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Nearest {
    /// Nothing like it: it was made up.
    Nothing,
    /// This, beyond doubt.
    One(String),
    /// This, or another as near.
    OneOfMany(String),
}

impl Nearest {
    pub(super) fn text(&self) -> &str {
        match self {
            Nearest::Nothing => "",
            Nearest::One(text) | Nearest::OneOfMany(text) => text,
        }
    }
}

/// All changes, in the order in which the summary has them.
pub(super) fn changes(original: &Original<'_>, summary: &str) -> Vec<Changed> {
    let mut out = Vec::new();
    for value in hard::values(summary) {
        if !is_certain(summary, &value) || original.said.vouches_for(summary, &value) {
            continue;
        }
        let nearest =
            if out.len() < TRACED_MAX { nearest(original.near(), summary, &value) } else { Nearest::Nothing };
        out.push(Changed { kind: value.kind, range: value.range, nearest });
    }
    out.extend(dropped_denials(original, summary));
    out.sort_by_key(|changed| (changed.range.start, changed.range.end));
    out
}

/// Whether a summary that uses a word of its own could have come to write this: abbreviations do so.
fn is_certain(text: &str, value: &Value) -> bool {
    let word = &text[value.range.clone()];
    value.kind != ProbeKind::Identifier || word.len() > 5 || !word.chars().all(|c| c.is_uppercase())
}

/// A value of the original with the words around it.
#[derive(Debug)]
pub(super) struct Near {
    kind: ProbeKind,
    written: String,
    key: Key,
    around: BTreeSet<String>,
}

/// The values of the original, each with its place.
pub(super) fn all_near(messages: &[Message]) -> Vec<Near> {
    let mut out = Vec::new();
    for text in messages.iter().flat_map(texts).flat_map(windows) {
        for value in hard::values(text) {
            if out.len() == NEAR_MAX {
                return out;
            }
            let (written, around) = (text[value.range.clone()].to_owned(), around(text, &value.range));
            out.push(Near { kind: value.kind, written, key: value.key, around });
        }
    }
    out
}

/// The content words around a place, in its sentence.
fn around(text: &str, place: &Range<usize>) -> BTreeSet<String> {
    let ends = |word: &&str| word.ends_with(['.', '!', '?', ';']);
    let mut out = Vec::new();
    out.extend(text[..place.start].split_whitespace().rev().take(NEIGHBOURS).take_while(|word| !ends(word)));
    for word in text[place.end..].split_whitespace().take(NEIGHBOURS) {
        out.push(word);
        if ends(&word) {
            break;
        }
    }
    let fold = |word: &str| word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
    out.into_iter().map(fold).filter(|word| !word.is_empty() && !is_stop_word(word)).collect()
}

/// The nearest value of the same kind: by shared neighbours, then by likeness.
fn nearest(near: &[Near], summary: &str, value: &Value) -> Nearest {
    let written = summary[value.range.clone()].to_lowercase();
    let length = written.chars().count();
    let here = around(summary, &value.range);
    let mut best: Option<((usize, usize), &Near, bool)> = None;
    for other in near.iter().filter(|other| other.kind == value.kind) {
        let shared = other.around.intersection(&here).count();
        let longer = other.written.chars().count().abs_diff(length);
        if longer * 3 > length.max(3) && shared < 2 {
            continue;
        }
        let distance = distance(&written, &other.written.to_lowercase());
        // Short values are alike by chance.
        let alike = distance * 3 <= length.max(3) && (shared > 0 || length >= 4);
        if !alike && shared < 2 {
            continue;
        }
        let rank = (NEIGHBOURS * 2 - shared, distance);
        match &mut best {
            Some((least, held, single)) if rank == *least => *single &= held.key == other.key,
            Some((least, ..)) if rank > *least => {}
            Some(_) | None => best = Some((rank, other, true)),
        }
    }
    match best {
        None => Nearest::Nothing,
        Some((_, near, true)) => Nearest::One(near.written.clone()),
        Some((_, near, false)) => Nearest::OneOfMany(near.written.clone()),
    }
}

/// How many letters must be put in, left out or replaced; long texts by their beginnings.
fn distance(a: &str, b: &str) -> usize {
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

/// Sentences of the summary that state what the original only denies.
fn dropped_denials(original: &Original<'_>, summary: &str) -> Vec<Changed> {
    let told = Told::by(summary);
    let denials = original.sought.iter().filter_map(|sought| match &sought.by {
        By::Words(words) if sought.probe.kind == ProbeKind::Negation && words.len() >= 2 => {
            Some((&sought.probe, words))
        }
        By::Words(_) | By::Value(_) => None,
    });
    let all_in = |words: &[String], place: &BTreeSet<String>| words.iter().all(|word| place.contains(word));
    let mut out: Vec<Changed> = Vec::new();
    for (probe, words) in denials.filter(|(probe, words)| !told.tells(probe.kind, words)) {
        for (sentence, stated) in told.stated() {
            let states = all_in(words, stated) && !out.iter().any(|changed| changed.range == *sentence);
            if states && !original.plain().iter().any(|place| all_in(words, place)) {
                let nearest = Nearest::OneOfMany(probe.value.clone());
                out.push(Changed { kind: probe.kind, range: sentence.clone(), nearest });
            }
        }
    }
    out
}
