//! Where a history may be cut without separating a call from its result, or the start of a turn from its rest.

use std::collections::{BTreeMap, BTreeSet};

use crate::client::request::{ContentBlock, HistoryItem, Speaker};

/// Indexes of an item and of a block in it.
pub(super) type BlockPos = (usize, usize);

/// Pairs tool calls with their results.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ToolPairs {
    /// Calls without a result, and results without a call.
    pub(super) orphans: BTreeSet<BlockPos>,
    /// Calls with their results, in the order of the results.
    pub(super) answered: Vec<(BlockPos, BlockPos)>,
    /// For each position between two items, whether a cut there separates no pair.
    cut_points: Vec<bool>,
}

impl ToolPairs {
    pub(super) fn of(items: &[HistoryItem]) -> Self {
        let mut open: BTreeMap<&str, Vec<BlockPos>> = BTreeMap::new();
        let (mut orphans, mut answered) = (BTreeSet::new(), Vec::new());
        // At each position, pairs that begin minus pairs that end.
        let mut steps = vec![0_i64; items.len() + 2];
        for (at, item) in items.iter().enumerate() {
            for (nth, block) in item.blocks.iter().enumerate() {
                match block {
                    ContentBlock::ToolCall(call) => open.entry(&call.id).or_default().push((at, nth)),
                    ContentBlock::ToolResult { id, .. } => match open.get_mut(id.as_str()).and_then(Vec::pop) {
                        Some(call) => {
                            steps[call.0 + 1] += 1;
                            steps[at + 1] -= 1;
                            answered.push((call, (at, nth)));
                        }
                        None => {
                            orphans.insert((at, nth));
                        }
                    },
                    ContentBlock::Text(_) | ContentBlock::Thinking | ContentBlock::Other { .. } => {}
                }
            }
        }
        orphans.extend(open.into_values().flatten());
        let mut open_pairs = 0;
        let closed = steps[..=items.len()].iter().map(|step| {
            open_pairs += step;
            open_pairs == 0
        });
        Self { orphans, answered, cut_points: closed.collect() }
    }

    pub(super) fn is_cut_point(&self, before: usize) -> bool {
        self.cut_points.get(before).copied().unwrap_or(true)
    }
}

/// Items where turns start: a person's message after somebody else's.
pub(super) fn turn_starts(items: &[HistoryItem], pairs: &ToolPairs) -> Vec<usize> {
    let mut starts = Vec::new();
    let mut follows_person = false;
    for (at, item) in items.iter().enumerate() {
        if item.is_turn_start() && !follows_person && pairs.is_cut_point(at) {
            starts.push(at);
        }
        if item.speaker != Speaker::System && !item.has_no_content() {
            follows_person = item.is_turn_start();
        }
    }
    starts
}

/// Where a turn's opening ends: before the model's first message.
pub(super) fn opening_end(items: &[HistoryItem], start: usize) -> usize {
    let reply = items[start..].iter().position(|item| match item.speaker {
        Speaker::System | Speaker::User => false,
        Speaker::Assistant | Speaker::Tool | Speaker::Other => true,
    });
    reply.map_or(items.len(), |length| start + length)
}
