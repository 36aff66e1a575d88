//! What cannot be parted: a call and its answer, and a person's turn with all that answers it.

use std::collections::{BTreeMap, BTreeSet};

use super::heard::{Block, Item, Speaker};

/// A block of an item, by their places.
pub(super) type Place = (usize, usize);

/// Which calls and answers belong together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pairs {
    /// Calls without an answer, and answers without a call.
    pub(super) orphans: BTreeSet<Place>,
    /// Of each place between two items, whether nothing is parted by a cut there.
    closed: Vec<bool>,
}

impl Pairs {
    pub(super) fn of(items: &[Item]) -> Self {
        let mut open: BTreeMap<&str, Vec<Place>> = BTreeMap::new();
        let mut orphans = BTreeSet::new();
        // How many pairs begin and end across each place.
        let mut steps = vec![0_i64; items.len() + 2];
        for (at, item) in items.iter().enumerate() {
            for (nth, block) in item.blocks.iter().enumerate() {
                match block {
                    Block::Call(call) => open.entry(&call.id).or_default().push((at, nth)),
                    Block::Answer { id, .. } => match open.get_mut(id.as_str()).and_then(Vec::pop) {
                        Some((asked, _)) => {
                            steps[asked + 1] += 1;
                            steps[at + 1] -= 1;
                        }
                        None => {
                            orphans.insert((at, nth));
                        }
                    },
                    Block::Text(_) | Block::Thinking | Block::Other { .. } => {}
                }
            }
        }
        orphans.extend(open.into_values().flatten());
        let mut across = 0;
        let closed = steps[..=items.len()].iter().map(|step| {
            across += step;
            across == 0
        });
        Self { orphans, closed: closed.collect() }
    }

    /// Whether a cut before this item parts nothing.
    pub(super) fn is_closed(&self, before: usize) -> bool {
        self.closed.get(before).copied().unwrap_or(true)
    }
}

/// Where turns begin: at what a person says after something else was said.
pub(super) fn turns(items: &[Item], pairs: &Pairs) -> Vec<usize> {
    let mut starts = Vec::new();
    let mut follows_person = false;
    for (at, item) in items.iter().enumerate() {
        if item.begins_turn() && !follows_person && pairs.is_closed(at) {
            starts.push(at);
        }
        if item.speaker != Speaker::System && !item.is_hollow() {
            follows_person = item.begins_turn();
        }
    }
    starts
}

/// Where the opening of a turn ends: before the model says its first.
pub(super) fn opening_end(items: &[Item], start: usize) -> usize {
    let answer = items[start..].iter().position(|item| match item.speaker {
        Speaker::System | Speaker::User => false,
        Speaker::Assistant | Speaker::Tool | Speaker::Other => true,
    });
    answer.map_or(items.len(), |length| start + length)
}
