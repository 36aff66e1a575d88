//! Builds a page: score, fill, render (003, Steps 2 and 4 to 6).

use std::collections::BTreeSet;

use super::budget::allocate;
use super::candidates::{MemoryCandidate, ScoredMemory, line_variants, score_candidates};
use super::fill::{Detail, LayerSelection, fill_layers, layer_of_kind};
use super::page::{CountedText, KnowledgePage, PageEntry, PageSection};
use super::page_terms::LazyPageTerms;
use super::score::ScoreBreakdown;
use super::{Knowledge, KnowledgeInputs, LoadedItem, SelectionOutcome, fixed_layers};
use crate::base::ledger::{Layer, LayerTokens};
use crate::base::prompt;
use crate::base::tokens::Tokens;
use crate::memory::{Memory, MemoryId};
use crate::text::terms::{query_terms, terms};

pub(super) const RELEVANCE_LAYERS: [(Layer, &str); 4] = [
    (Layer::Decisions, prompt::KNOWLEDGE_DECISIONS),
    (Layer::Facts, prompt::KNOWLEDGE_FACTS),
    (Layer::Procedures, prompt::KNOWLEDGE_PROCEDURES),
    (Layer::Episodes, prompt::KNOWLEDGE_EPISODES),
];

/// Builds the page for a question, within its budget and `inputs.room`.
pub fn build(inputs: &KnowledgeInputs<'_>) -> Knowledge {
    let mut page = KnowledgePage::new(inputs.counter, inputs.placement);
    // Markers are paid first.
    let marker_tokens = page.marker_tokens();
    let frame = inputs.frame_choice.frame;
    let budget = allocate(frame, inputs.question, inputs.room.saturating_sub(marker_tokens));
    let fixed = fixed_layers::fixed_sections(inputs, &budget);
    let fixed_tokens: Tokens = fixed.iter().map(PageSection::tokens).sum();
    let pool = budget.total.saturating_sub(fixed_tokens);

    let mut candidates = score_candidates(inputs);
    let positions = RELEVANCE_LAYERS.map(|(layer, _)| candidate_positions(&candidates, layer));
    let mut selections: Vec<LayerSelection> = RELEVANCE_LAYERS
        .into_iter()
        .zip(&positions)
        .map(|((layer, heading), at)| layer_selection(inputs, &candidates, layer, heading, at))
        .collect();
    fill_layers(&mut selections, frame, |layer| budget.caps.get(layer), pool);

    fixed.into_iter().for_each(|section| page.add(section));
    let (mut items, mut sources) = (Vec::new(), Vec::new());
    for (selection, positions) in selections.into_iter().zip(positions) {
        let mut entries = Vec::new();
        let selected = positions.into_iter().zip(selection.variants.iter().zip(&selection.selected));
        for (at, detail, line) in
            selected.filter_map(|(at, (variants, selected))| Some((at, (*selected)?, variants.get((*selected)?)?)))
        {
            let MemoryCandidate { memory, scored } = &mut candidates[at];
            scored.outcome = SelectionOutcome::Loaded(detail);
            let ScoreBreakdown { similarity, score, .. } = scored.breakdown;
            let (id, micro) = (memory.id, detail == Detail::Micro);
            items.push(LoadedItem { id, score, similarity, micro, tokens: line.tokens });
            sources.push((id, source_of(memory)));
            entries.push(PageEntry { id: Some(id), score, line: line.clone() });
        }
        page.add(PageSection { layer: selection.layer, heading: selection.heading, entries });
    }
    let scored = candidates.into_iter().map(|candidate| candidate.scored).collect();
    assemble(inputs, page, (budget.total + marker_tokens).min(inputs.room), items, sources, scored)
}

pub(super) fn assemble(
    inputs: &KnowledgeInputs<'_>,
    page: KnowledgePage,
    budget: Tokens,
    items: Vec<LoadedItem>,
    sources: Vec<(MemoryId, String)>,
    candidates: Vec<ScoredMemory>,
) -> Knowledge {
    let question_terms: BTreeSet<String> = query_terms(inputs.question).into_iter().collect();
    let task = inputs.focus.task.iter().flat_map(|task| terms(task));
    let known_terms = task.chain(question_terms.iter().cloned()).collect();
    let mut knowledge = Knowledge {
        frame: inputs.frame_choice.frame.name.clone(),
        frame_confidence: inputs.frame_choice.confidence,
        sections: Vec::new(),
        tokens: LayerTokens::default(),
        budget,
        items,
        candidates,
        known_terms,
        question_terms,
        sources,
        page,
        page_terms: LazyPageTerms::default(),
    };
    knowledge.rerender();
    debug_assert!(knowledge.tokens.total() <= inputs.room, "I1: what is known exceeds its room");
    knowledge
}

/// Who said it, where and when.
pub(super) fn source_of(memory: &Memory) -> String {
    format!("{}, {}", memory.provenance.label(), memory.created.date())
}

/// Indices of a layer's candidates that are relevant enough to load.
fn candidate_positions(candidates: &[MemoryCandidate<'_>], layer: Layer) -> Vec<usize> {
    let is_for = |c: &MemoryCandidate<'_>| {
        layer_of_kind(c.memory.kind()) == layer && c.scored.outcome == SelectionOutcome::NoRoom
    };
    candidates.iter().enumerate().filter(|(_, c)| is_for(c)).map(|(at, _)| at).collect()
}

fn layer_selection(
    inputs: &KnowledgeInputs<'_>,
    candidates: &[MemoryCandidate<'_>],
    layer: Layer,
    heading: &str,
    positions: &[usize],
) -> LayerSelection {
    let variants = positions.iter().map(|at| line_variants(inputs, candidates[*at].memory)).collect();
    LayerSelection::new(layer, CountedText::new(inputs.counter, heading.to_owned()), variants)
}
