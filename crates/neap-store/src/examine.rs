//! What an examination says, the same on every backend.

use std::collections::BTreeMap;

use neap_core::ids::SessionId;

use crate::derived::{Derived, Folded};
use crate::{Finding, Severity};

/// Events that were written and cannot be read.
pub(crate) fn losses(session: &SessionId, folded: &Folded) -> Vec<Finding> {
    let lost = |what: String| Finding { severity: Severity::Damaged, session: Some(session.clone()), what };
    // A block that is damaged is said once.
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

/// Rows that differ from what the stream gives.
pub(crate) fn differences(session: &SessionId, kept: &Derived, folded: &Derived) -> Vec<Finding> {
    let mut found = Vec::new();
    if kept.head != folded.head {
        found.push("the session's row differs from its stream".to_owned());
    }
    found.extend(differing("efforts", &kept.efforts, &folded.efforts, |a, b| a == b));
    found.extend(differing("exchanges", &kept.exchanges, &folded.exchanges, |a, b| a == b));
    found.extend(differing("turn ids", &kept.turn_ids, &folded.turn_ids, |a, b| a == b));
    found.extend(differing("links of histories", &kept.links, &folded.links, |a, b| a == b));
    found.extend(differing("memories", &kept.memories, &folded.memories, |a, b| a == b));
    found.extend(differing("histories of memories", &kept.history, &folded.history, |a, b| a == b));
    found.extend(differing("cards of texts", &kept.cards, &folded.cards, |a, b| a == b));
    if kept.withheld != folded.withheld {
        found.push("the turns that are withheld differ from the stream".to_owned());
    }
    if kept.taken_back != folded.taken_back {
        found.push("the turns that were taken back differ from the stream".to_owned());
    }
    // Not every backend can read the words of a text back, so only what is indexed is compared.
    found.extend(differing("indexed texts", &kept.texts, &folded.texts, |_, _| true));
    let finding = |what| Finding { severity: Severity::Repairable, session: Some(session.clone()), what };
    found.into_iter().map(finding).collect()
}

fn differing<K: Ord, V>(
    what: &str,
    kept: &BTreeMap<K, V>,
    folded: &BTreeMap<K, V>,
    same: impl Fn(&V, &V) -> bool,
) -> Option<String> {
    let missing = folded.keys().filter(|key| !kept.contains_key(key)).count();
    let extra = kept.keys().filter(|key| !folded.contains_key(key)).count();
    let changed = kept.iter().filter(|(key, value)| folded.get(key).is_some_and(|f| !same(value, f))).count();
    (missing + extra + changed > 0)
        .then(|| format!("{what} differ from the stream: {missing} missing, {extra} too many, {changed} changed"))
}
