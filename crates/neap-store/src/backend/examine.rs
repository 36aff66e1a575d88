//! The findings of an examination, the same on every backend.

use std::collections::BTreeMap;

use neap_core::base::ids::StreamId;

use crate::backend::derived::{Derived, Folded};
use crate::{Finding, Severity};

pub fn losses(session: &StreamId, folded: &Folded) -> Vec<Finding> {
    let lost = |what: String| Finding { severity: Severity::Damaged, session: Some(session.clone()), what };
    // Reports a damaged block once, not once per event.
    let runs = folded.damaged.chunk_by(|(a, why), (b, other)| a.next() == *b && why == other);
    let damaged = runs.filter_map(|run| match run {
        [] => None,
        [(seq, why)] => Some(lost(format!("event {seq} is damaged: {why}"))),
        [(first, why), .., (last, _)] => Some(lost(format!("events {first} to {last} are damaged: {why}"))),
    });
    let missing = folded.missing.iter().map(|(first, last)| {
        lost(if first == last {
            format!("event {first} is missing")
        } else {
            format!("events {first} to {last} are missing")
        })
    });
    damaged.chain(missing).collect()
}

pub fn differences(session: &StreamId, stored: &Derived, folded: &Derived) -> Vec<Finding> {
    let mut found = Vec::new();
    if stored.head != folded.head {
        found.push("the session's row differs from its stream".to_owned());
    }
    found.extend(differing("efforts", &stored.efforts, &folded.efforts, |a, b| a == b));
    found.extend(differing("exchanges", &stored.exchanges, &folded.exchanges, |a, b| a == b));
    found.extend(differing("turn ids", &stored.turn_ids, &folded.turn_ids, |a, b| a == b));
    found.extend(differing("links of histories", &stored.links, &folded.links, |a, b| a == b));
    found.extend(differing("memories", &stored.memories, &folded.memories, |a, b| a == b));
    found.extend(differing("histories of memories", &stored.history, &folded.history, |a, b| a == b));
    found.extend(differing("cards of texts", &stored.cards, &folded.cards, |a, b| a == b));
    if stored.withheld_turns != folded.withheld_turns {
        found.push("the withheld turns differ from the stream".to_owned());
    }
    if stored.undone_turns != folded.undone_turns {
        found.push("the undone turns differ from the stream".to_owned());
    }
    // Not every backend can read the terms of a text back, so only the keys are compared.
    found.extend(differing("indexed texts", &stored.texts, &folded.texts, |_, _| true));
    let finding = |what| Finding { severity: Severity::Repairable, session: Some(session.clone()), what };
    found.into_iter().map(finding).collect()
}

fn differing<K: Ord, V>(
    what: &str,
    stored: &BTreeMap<K, V>,
    folded: &BTreeMap<K, V>,
    same: impl Fn(&V, &V) -> bool,
) -> Option<String> {
    let missing = folded.keys().filter(|key| !stored.contains_key(key)).count();
    let extra = stored.keys().filter(|key| !folded.contains_key(key)).count();
    let changed = stored.iter().filter(|(key, value)| folded.get(key).is_some_and(|f| !same(value, f))).count();
    (missing + extra + changed > 0)
        .then(|| format!("{what} differ from the stream: {missing} missing, {extra} too many, {changed} changed"))
}
