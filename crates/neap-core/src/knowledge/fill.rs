//! How much of each memory is shown: the summary, else one line, else nothing, and on to the next, since a shorter one
//! may fit (003, Step 5; DESIGN, decision 12).
//!
//! Each layer is filled within its cap. What is left over then flows to the flexible layers in the order of the frame's
//! priorities, then of the layers; never into fixed ones. Whatever the caps say, the pool is not exceeded.

use super::page::{Line, Part};
use crate::frame::Frame;
use crate::ledger::Layer;
use crate::memory::MemoryKind;
use crate::tokens::Tokens;

/// How much of a record is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// Fifty to a hundred tokens.
    Summary,
    /// One line.
    Micro,
}

/// A record's lines at both lengths; none where it has none.
#[derive(Debug, Clone, Default)]
pub(super) struct Forms {
    pub(super) summary: Option<Line>,
    pub(super) micro: Option<Line>,
}

impl Forms {
    pub(super) fn at(&self, detail: Detail) -> Option<&Line> {
        match detail {
            Detail::Summary => self.summary.as_ref(),
            Detail::Micro => self.micro.as_ref(),
        }
    }
}

/// What could stand in a layer, best first, and what was chosen of it.
#[derive(Debug)]
pub(super) struct Shelf {
    pub(super) layer: Layer,
    pub(super) heading: Line,
    pub(super) forms: Vec<Forms>,
    pub(super) chosen: Vec<Option<Detail>>,
}

impl Shelf {
    pub(super) fn new(layer: Layer, heading: Line, forms: Vec<Forms>) -> Self {
        let chosen = vec![None; forms.len()];
        Self { layer, heading, forms, chosen }
    }

    /// What was chosen costs.
    pub(super) fn used(&self) -> Tokens {
        let lines = self.forms.iter().zip(&self.chosen);
        Part::cost(&self.heading, lines.filter_map(|(forms, chosen)| chosen.and_then(|detail| forms.at(detail))))
    }

    /// Adds what fits, and shows more of what is there in one line, best first.
    pub(super) fn fill(&mut self, room: Tokens) {
        for at in 0..self.forms.len() {
            for detail in [Detail::Summary, Detail::Micro] {
                let before = self.chosen[at];
                if before == Some(detail) {
                    break;
                }
                if self.forms[at].at(detail).is_none() {
                    continue;
                }
                self.chosen[at] = Some(detail);
                if self.used() <= room {
                    break;
                }
                self.chosen[at] = before;
            }
        }
    }
}

/// Fills flexible layers from one pool. `cap` is what a layer may cost of its own; nothing means nothing flows into it.
pub(super) fn fill(shelves: &mut [Shelf], frame: &Frame, cap: impl Fn(Layer) -> Tokens, pool: Tokens) {
    let wanted: Tokens = shelves.iter().map(|shelf| cap(shelf.layer)).sum();
    for shelf in shelves.iter_mut() {
        let own = cap(shelf.layer);
        let within = if wanted <= pool { own } else { Tokens(own.0 * pool.0 / wanted.0.max(1)) };
        shelf.fill(within);
    }
    let used: Tokens = shelves.iter().map(Shelf::used).sum();
    let mut spare = pool.saturating_sub(used);
    for at in flow(shelves, frame) {
        if cap(shelves[at].layer) > Tokens::ZERO {
            let before = shelves[at].used();
            shelves[at].fill(before + spare);
            spare = (before + spare).saturating_sub(shelves[at].used());
        }
    }
}

/// In which order what is left over flows.
fn flow(shelves: &[Shelf], frame: &Frame) -> Vec<usize> {
    let mut order: Vec<usize> = (0..shelves.len()).collect();
    order.sort_by_key(|at| {
        let layer = shelves[*at].layer;
        (std::cmp::Reverse(kind(layer).map(|kind| frame.priorities.of(kind))), layer)
    });
    order
}

/// The kind of memory that a flexible layer holds.
pub(super) fn kind(layer: Layer) -> Option<MemoryKind> {
    MemoryKind::ALL.into_iter().find(|kind| self::layer(*kind) == layer && layer != Layer::Censors)
}

/// The layer that pays for a kind.
pub(super) fn layer(kind: MemoryKind) -> Layer {
    match kind {
        MemoryKind::Decision => Layer::Decisions,
        MemoryKind::Fact => Layer::Facts,
        MemoryKind::Procedure => Layer::Procedures,
        MemoryKind::Episode => Layer::Episodes,
        MemoryKind::Censor => Layer::Censors,
    }
}
