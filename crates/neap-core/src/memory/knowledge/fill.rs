//! Chooses the length of each memory: the summary, else one line, else none; a shorter one further down may still
//! fit (003, Step 5).
//!
//! Each flexible layer is filled up to its cap. Unused tokens then flow to the flexible layers by frame priority,
//! then by layer order. The pool is never exceeded.

use super::page::{CountedText, PageSection};
use crate::base::ledger::Layer;
use crate::base::tokens::Tokens;
use crate::memory::MemoryKind;
use crate::memory::frame::Frame;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// Fifty to a hundred tokens.
    Summary,
    Micro,
}

/// Rendered lines at both lengths; `None` where one may not be used.
#[derive(Debug, Clone, Default)]
pub(super) struct LineVariants {
    pub(super) summary: Option<CountedText>,
    pub(super) micro: Option<CountedText>,
}

impl LineVariants {
    pub(super) fn get(&self, detail: Detail) -> Option<&CountedText> {
        match detail {
            Detail::Summary => self.summary.as_ref(),
            Detail::Micro => self.micro.as_ref(),
        }
    }
}

/// The candidates of a layer, best first, and what was selected.
#[derive(Debug)]
pub(super) struct LayerSelection {
    pub(super) layer: Layer,
    pub(super) heading: CountedText,
    pub(super) variants: Vec<LineVariants>,
    pub(super) selected: Vec<Option<Detail>>,
}

impl LayerSelection {
    pub(super) fn new(layer: Layer, heading: CountedText, variants: Vec<LineVariants>) -> Self {
        let selected = vec![None; variants.len()];
        Self { layer, heading, variants, selected }
    }

    pub(super) fn tokens_used(&self) -> Tokens {
        let lines = self.variants.iter().zip(&self.selected);
        PageSection::cost(
            &self.heading,
            lines.filter_map(|(variants, selected)| selected.and_then(|detail| variants.get(detail))),
        )
    }

    /// Adds what fits within `room`, best first, and upgrades single lines to summaries.
    pub(super) fn fill(&mut self, room: Tokens) {
        for at in 0..self.variants.len() {
            for detail in [Detail::Summary, Detail::Micro] {
                let before = self.selected[at];
                if before == Some(detail) {
                    break;
                }
                if self.variants[at].get(detail).is_none() {
                    continue;
                }
                self.selected[at] = Some(detail);
                if self.tokens_used() <= room {
                    break;
                }
                self.selected[at] = before;
            }
        }
    }
}

/// Fills flexible layers from one pool. `cap` is a layer's own budget; a layer with none gets no overflow either.
pub(super) fn fill_layers(
    selections: &mut [LayerSelection],
    frame: &Frame,
    cap: impl Fn(Layer) -> Tokens,
    pool: Tokens,
) {
    let wanted: Tokens = selections.iter().map(|selection| cap(selection.layer)).sum();
    for selection in selections.iter_mut() {
        let own = cap(selection.layer);
        let within = if wanted <= pool { own } else { Tokens(own.0 * pool.0 / wanted.0.max(1)) };
        selection.fill(within);
    }
    let used: Tokens = selections.iter().map(LayerSelection::tokens_used).sum();
    let mut spare = pool.saturating_sub(used);
    for at in overflow_order(selections, frame) {
        if cap(selections[at].layer) > Tokens::ZERO {
            let before = selections[at].tokens_used();
            selections[at].fill(before + spare);
            spare = (before + spare).saturating_sub(selections[at].tokens_used());
        }
    }
}

fn overflow_order(selections: &[LayerSelection], frame: &Frame) -> Vec<usize> {
    let mut order: Vec<usize> = (0..selections.len()).collect();
    order.sort_by_key(|at| {
        let layer = selections[*at].layer;
        (std::cmp::Reverse(kind_of_layer(layer).map(|kind| frame.priorities.of(kind))), layer)
    });
    order
}

/// The kind of memory in a flexible layer.
pub(super) fn kind_of_layer(layer: Layer) -> Option<MemoryKind> {
    MemoryKind::ALL.into_iter().find(|kind| self::layer_of_kind(*kind) == layer && layer != Layer::Censors)
}

pub(super) fn layer_of_kind(kind: MemoryKind) -> Layer {
    match kind {
        MemoryKind::Decision => Layer::Decisions,
        MemoryKind::Fact => Layer::Facts,
        MemoryKind::Procedure => Layer::Procedures,
        MemoryKind::Episode => Layer::Episodes,
        MemoryKind::Censor => Layer::Censors,
    }
}
