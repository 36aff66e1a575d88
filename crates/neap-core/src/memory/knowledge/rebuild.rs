//! A page of the past, built again from the record of what it showed.

use std::collections::BTreeMap;

use super::budget::allocate;
use super::build::{RELEVANCE_LAYERS, assemble, source_of};
use super::candidates::line_variants;
use super::fill::{Detail, layer_of_kind};
use super::page::{CountedText, KnowledgePage, PageEntry, PageSection};
use super::{Knowledge, KnowledgeInputs, MemoryLoad, fixed_layers};
use crate::memory::{Memory, MemoryId};

/// The page of a recorded load. `inputs` and `memories` are those of that time; a record that was erased since is
/// missing.
pub fn rebuild(
    inputs: &KnowledgeInputs<'_>,
    loaded: &MemoryLoad,
    memories: &BTreeMap<MemoryId, Memory>,
) -> Knowledge {
    let mut page = KnowledgePage::new(inputs.counter, inputs.placement);
    let room = loaded.budget.saturating_sub(page.marker_tokens());
    let budget = allocate(inputs.frame_choice.frame, inputs.question, room);
    fixed_layers::fixed_sections(inputs, &budget).into_iter().for_each(|section| page.add(section));
    let (mut items, mut sources) = (Vec::new(), Vec::new());
    for (layer, heading) in RELEVANCE_LAYERS {
        let mut entries = Vec::new();
        for item in &loaded.items {
            let memory = memories.get(&item.id).filter(|memory| layer_of_kind(memory.kind()) == layer);
            let detail = if item.micro { Detail::Micro } else { Detail::Summary };
            let line = memory.and_then(|memory| line_variants(inputs, memory).get(detail).cloned());
            let Some((memory, line)) = memory.zip(line) else { continue };
            entries.push(PageEntry { id: Some(item.id), score: item.score, line });
            items.push(item.clone());
            sources.push((item.id, source_of(memory)));
        }
        let heading = CountedText::new(inputs.counter, heading.to_owned());
        page.add(PageSection { layer, heading, entries });
    }
    assemble(inputs, page, loaded.budget, items, sources, Vec::new())
}
