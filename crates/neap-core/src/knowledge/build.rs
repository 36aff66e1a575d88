//! Putting a page together: weigh, fill, write (003, Steps 2 and 4 to 6).

use std::collections::BTreeSet;

use super::budget::allot;
use super::fill::{Detail, Shelf, fill, layer};
use super::page::{Line, Page, Part, Piece};
use super::said::Lazy;
use super::score::Terms;
use super::weigh::{Candidate, Weighed, forms, weigh};
use super::{Fate, Inputs, Knowledge, LoadedItem, always};
use crate::ledger::{Layer, LayerTokens};
use crate::memory::MemoryId;
use crate::prompt;
use crate::terms::{query_terms, terms};
use crate::tokens::Tokens;

/// Layers that are filled by relevance, with their headings.
const RECALLED: [(Layer, &str); 4] = [
    (Layer::Decisions, prompt::KNOW_DECISIONS),
    (Layer::Facts, prompt::KNOW_FACTS),
    (Layer::Procedures, prompt::KNOW_PROCEDURES),
    (Layer::Episodes, prompt::KNOW_EPISODES),
];

/// Builds what is known for a question, within its budget and the room there is.
pub fn build(inputs: &Inputs<'_>) -> Knowledge {
    let mut page = Page::new(inputs.counter, inputs.placement);
    // Marks around everything are paid before all else.
    let around = page.marks();
    let frame = inputs.chosen.frame;
    let budget = allot(frame, inputs.question, inputs.room.saturating_sub(around));
    let fixed = always::parts(inputs, &budget);
    let paid: Tokens = fixed.iter().map(Part::tokens).sum();
    let pool = budget.total.saturating_sub(paid);

    let mut candidates = weigh(inputs);
    let places = RECALLED.map(|(of, _)| places(&candidates, of));
    let mut shelves: Vec<Shelf> = RECALLED
        .into_iter()
        .zip(&places)
        .map(|((of, heading), at)| shelf(inputs, &candidates, of, heading, at))
        .collect();
    fill(&mut shelves, frame, |of| budget.caps.get(of), pool);

    fixed.into_iter().for_each(|part| page.add(part));
    let (mut items, mut sources) = (Vec::new(), Vec::new());
    for (shelf, places) in shelves.into_iter().zip(places) {
        let mut pieces = Vec::new();
        let chosen = places.into_iter().zip(shelf.forms.iter().zip(&shelf.chosen));
        for (at, detail, line) in
            chosen.filter_map(|(at, (forms, chosen))| Some((at, (*chosen)?, forms.at((*chosen)?)?)))
        {
            let Candidate { memory, weighed } = &mut candidates[at];
            weighed.fate = Fate::Loaded(detail);
            let Terms { similarity, score, .. } = weighed.terms;
            let (id, micro) = (memory.id, detail == Detail::Micro);
            items.push(LoadedItem { id, score, similarity, micro, tokens: line.tokens });
            sources.push((id, format!("{}, {}", memory.provenance.short(), memory.created.date())));
            pieces.push(Piece { id: Some(id), score, line: line.clone() });
        }
        page.add(Part { layer: shelf.layer, heading: shelf.heading, pieces });
    }
    let weighed = candidates.into_iter().map(|candidate| candidate.weighed).collect();
    written(inputs, page, (budget.total + around).min(inputs.room), items, sources, weighed)
}

fn written(
    inputs: &Inputs<'_>,
    page: Page,
    budget: Tokens,
    items: Vec<LoadedItem>,
    sources: Vec<(MemoryId, String)>,
    weighed: Vec<Weighed>,
) -> Knowledge {
    let asked: BTreeSet<String> = query_terms(inputs.question).into_iter().collect();
    let task = inputs.focus.task.iter().flat_map(|task| terms(task));
    let heard = task.chain(asked.iter().cloned()).collect();
    let mut knowledge = Knowledge {
        frame: inputs.chosen.frame.name.clone(),
        frame_confidence: inputs.chosen.confidence,
        sections: Vec::new(),
        tokens: LayerTokens::default(),
        budget,
        items,
        weighed,
        heard,
        asked,
        sources,
        page,
        said: Lazy::default(),
    };
    knowledge.write();
    debug_assert!(knowledge.tokens.total() <= inputs.room, "I1: what is known exceeds its room");
    knowledge
}

/// Where in the list of candidates those of a layer are that bear on the question.
fn places(candidates: &[Candidate<'_>], of: Layer) -> Vec<usize> {
    let is_for = |c: &Candidate<'_>| layer(c.memory.kind()) == of && c.weighed.fate == Fate::NoRoom;
    candidates.iter().enumerate().filter(|(_, c)| is_for(c)).map(|(at, _)| at).collect()
}

fn shelf(inputs: &Inputs<'_>, candidates: &[Candidate<'_>], of: Layer, heading: &str, places: &[usize]) -> Shelf {
    let forms = places.iter().map(|at| forms(inputs, candidates[*at].memory)).collect();
    Shelf::new(of, Line::new(inputs.counter, heading.to_owned()), forms)
}
