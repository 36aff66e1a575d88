//! Of two statements of the same thing, the later holds.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::{Card, Ranked, TextId};
use crate::reference::{is_same_word, written_words};

/// Texts that are held against each other, at most: those that say most for themselves.
const COMPARED_MAX: usize = 20;
/// A later text must share this much of what the earlier shares with the question.
const MATCHED_SHARE: f64 = 0.9;
/// A statement with more words than this is a story.
const WORDS_MAX: usize = 60;

/// The texts that a later one puts out of date, each with the latest that does. Both share nearly the same with the question, and
/// begin and end alike for half of the shorter: only what is said of it is another thing.
pub(super) fn outdated(ranked: &[Ranked], texts: &BTreeMap<TextId, Arc<str>>) -> BTreeMap<TextId, TextId> {
    let own = |ranked: &Ranked| ranked.why.words + ranked.why.meaning;
    let mut compared: Vec<(&Ranked, Vec<&str>)> = Vec::new();
    let mut best: Vec<&Ranked> = ranked.iter().filter(|ranked| ranked.matched > 0.0).collect();
    if best.len() > COMPARED_MAX {
        best.select_nth_unstable_by(COMPARED_MAX, |a, b| {
            own(b).total_cmp(&own(a)).then_with(|| a.card.id.cmp(&b.card.id))
        });
    }
    for ranked in best.into_iter().take(COMPARED_MAX) {
        let Some(text) = texts.get(&ranked.card.id) else { continue };
        let said: Vec<&str> = written_words(text).take(WORDS_MAX + 1).collect();
        if said.len() <= WORDS_MAX {
            compared.push((ranked, said));
        }
    }
    // The latest first, so that the first that puts a text out of date is the latest that does.
    compared.sort_by(|(a, _), (b, _)| when(&b.card).cmp(&when(&a.card)));
    let mut outdated = BTreeMap::new();
    for (at, (earlier, said)) in compared.iter().enumerate() {
        let is_later = |(later, other): &&(&Ranked, Vec<&str>)| {
            when(&later.card) > when(&earlier.card)
                && later.matched >= MATCHED_SHARE * earlier.matched
                && is_restated(said, other)
        };
        if let Some((later, _)) = compared[..at].iter().find(is_later) {
            outdated.insert(earlier.card.id.clone(), later.card.id.clone());
        }
    }
    // One that is out of date itself puts nothing else out of date by its words: its successor does.
    let ids: BTreeSet<TextId> = outdated.keys().cloned().collect();
    for later in outdated.clone().into_values().filter(|later| ids.contains(later)) {
        let newest = outdated[&later].clone();
        outdated.values_mut().filter(|by| **by == later).for_each(|by| by.clone_from(&newest));
    }
    outdated
}

fn when(card: &Card) -> (crate::ids::Stamp, u64, &TextId) {
    (card.at, card.nth, &card.id)
}

/// Whether two statements begin and end alike, for half of the shorter or more, and are not the same.
fn is_restated(a: &[&str], b: &[&str]) -> bool {
    let shorter = a.len().min(b.len());
    let is_same = |(a, b): &(&&str, &&str)| is_same_word(a, b);
    let front = a.iter().zip(b).take_while(is_same).count();
    let back = a.iter().rev().zip(b.iter().rev()).take(shorter - front).take_while(is_same).count();
    (front + back) * 2 >= shorter && front + back >= 2 && front < a.len().max(b.len())
}
