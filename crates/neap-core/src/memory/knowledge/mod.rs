//! Selects which memories enter the context, and at what length (003, Context Assembly Pipeline).
//!
//! [`recall_request`] is the query to the store; [`build()`] scores the results (`score`, `candidates`), fills the
//! layers within their budget (`budget`, `fill`) and renders a page (`page`). `refresh` decides when to select
//! again, `usage` which memories a reply used. Pure: the same inputs, in any order, give the same bytes.

mod budget;
mod build;
mod candidates;
pub mod context;
mod fill;
mod fixed_layers;
mod focus;
mod loaded;
mod loaded_memories;
mod page;
mod page_terms;
mod placement;
mod rebuild;
mod refresh;
mod related;
mod score;
#[cfg(test)]
mod tests;
mod time_range;
mod usage;

use std::collections::BTreeSet;

pub use budget::{Complexity, KnowledgeBudget, allocate, complexity};
pub use build::build;
pub use candidates::{ScoredMemory, SelectionOutcome};
pub use context::QuestionContext;
pub use fill::Detail;
pub use focus::{Focus, ITEMS_MAX, OpenThread, is_follow_up, task_after};
pub use loaded::{LoadCause, LoadedItem, MemoryLoad, MemoryMetrics};
pub use loaded_memories::{AgentProfile, LoadedMemories, changed_memory};
pub use page::Placement;
pub use rebuild::rebuild;
pub use refresh::{announces_action, load_cause, shrink_to};
pub use related::{STEPS_MAX as RELATED_STEPS_MAX, add_related, related_request};
pub(crate) use score::similarity_from_cosine;
pub use score::{QuestionScorer, Reliability, ScoreBreakdown, relevance_floor, score, similarity_floor};
pub use time_range::{parse_time_range, question_time_range};
pub use usage::used_memories;

use crate::base::ids::Stamp;
use crate::base::ledger::{Layer, LayerTokens};
use crate::base::prompt;
use crate::base::tokens::{TokenCounter, Tokens};
use crate::memory::asked_kinds::AskedKinds;
use crate::memory::frame::{Frame, FrameChoice};
use crate::memory::{AgentHead, Confidence, MemoryId, MemoryKind, RecallRequest, RecallResponse, RelatedSearch};
use crate::recall::ProjectFilter;
use crate::text::terms::{query_terms, query_terms_without_clitics};
use fill::kind_of_layer;
use page::KnowledgePage;
use page_terms::LazyPageTerms;

/// Candidates per kind (003, Step 3); censors come from the agent's head.
const LIMITS: [(MemoryKind, usize); 4] =
    [(MemoryKind::Decision, 20), (MemoryKind::Fact, 30), (MemoryKind::Procedure, 10), (MemoryKind::Episode, 10)];
const TERMS_MAX: usize = 64;
/// Priority of procedures, in thousandths, from which a frame has procedures of its own.
const PROCEDURES_COUNT: u64 = 800;

/// The store query for a question: candidates of every kind that has a budget in the frame. A question about a
/// time is searched by time instead of by terms.
pub fn recall_request(question: &str, frame: &Frame, now: Stamp) -> RecallRequest {
    let budgets = frame.budgets;
    let layer_budgets = [budgets.decisions, budgets.facts, budgets.procedures, budgets.episodes];
    let limits =
        LIMITS.into_iter().zip(layer_budgets).filter(|(_, budget)| *budget > Tokens::ZERO).map(|(limit, _)| limit);
    let asked = AskedKinds::of(question);
    let is_asked = |kind: MemoryKind| asked.as_ref().is_none_or(|asked| asked.kinds.contains(&kind));
    let limits: Vec<(MemoryKind, usize)> = limits.filter(|(kind, _)| is_asked(*kind)).collect();
    match question_time_range(question, now) {
        Some((from, until)) => {
            RecallRequest { from: Some(from), until: Some(until), ..RecallRequest::new(Vec::new(), limits) }
        }
        None => {
            let mut terms = query_terms_without_clitics(question);
            terms.retain(|term| asked.as_ref().is_none_or(|asked| !asked.names(term)));
            terms.truncate(TERMS_MAX);
            RecallRequest { related: related_search(frame), ..RecallRequest::new(terms, limits) }
        }
    }
}

/// Where procedures count much, one for such work is looked for by the frame's name.
fn related_search(frame: &Frame) -> Option<RelatedSearch> {
    let decides = frame.is_for_deciding();
    let follows_procedures = frame.priorities.procedures.thousandths() >= PROCEDURES_COUNT;
    (decides || follows_procedures).then(|| RelatedSearch { frame: frame.name.clone(), decides })
}

/// Inputs of [`build()`].
#[derive(Clone, Copy)]
pub struct KnowledgeInputs<'a> {
    pub question: &'a str,
    pub frame_choice: &'a FrameChoice<'a>,
    /// Who the agent is, from configuration; may be empty.
    pub identity: &'a str,
    pub agent: &'a AgentHead,
    pub focus: &'a Focus,
    /// Where the question is asked.
    pub project: Option<&'a ProjectFilter>,
    pub recalled: &'a RecallResponse,
    /// The terms of the request, in the order of `recalled.document_frequencies`.
    pub terms: &'a [String],
    /// Tokens the context leaves for memory.
    pub room: Tokens,
    pub counter: &'a dyn TokenCounter,
    /// Whether the stored token counts use this counter's encoding; otherwise lines are counted again.
    pub lines_are_counted: bool,
    /// Where the page goes in the prompt.
    pub placement: Placement,
    pub now: Stamp,
}

/// The memories relevant to a question, rendered for the context.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Knowledge {
    pub frame: String,
    /// 0 if nothing selected the frame.
    pub frame_confidence: Confidence,
    /// Joined, the sections are the page's text.
    pub sections: Vec<(Layer, String)>,
    pub tokens: LayerTokens,
    /// Budget of all memory layers together.
    pub budget: Tokens,
    /// Memories selected by relevance, in context order.
    pub items: Vec<LoadedItem>,
    pub candidates: Vec<ScoredMemory>,
    /// Terms of the task and of all questions since the page was built.
    known_terms: BTreeSet<String>,
    /// Terms of the questions alone.
    question_terms: BTreeSet<String>,
    /// Provenance of each item, in the order of `items`.
    sources: Vec<(MemoryId, String)>,
    page: KnowledgePage,
    page_terms: LazyPageTerms,
}

impl Knowledge {
    pub fn to_memory_load(&self, cause: LoadCause) -> MemoryLoad {
        MemoryLoad {
            frame: self.frame.clone(),
            frame_confidence: self.frame_confidence,
            cause,
            items: self.items.clone(),
            considered: self.candidates.len() as u64,
            tokens: self.tokens.total(),
            budget: self.budget,
        }
    }

    /// The whole page: system sections, then the records between their markers.
    pub fn text(&self) -> String {
        if self.page.placement == Placement::Tail {
            return join_sections(&self.sections);
        }
        let records = [self.preference_sections(), self.record_sections()].concat();
        let (open, close) = if records.is_empty() { ("", "") } else { (prompt::RECORDS, prompt::RECORDS_END) };
        format!("{}{open}{}{close}", join_sections(&self.system_sections()), join_sections(&records))
    }

    /// Only these layers, all marked as data, for a prompt we do not own. Empty if the layers are.
    pub fn render_layers(&self, layers: &[Layer], counter: &dyn TokenCounter) -> String {
        let mut page = KnowledgePage::new(counter, Placement::Tail);
        self.page
            .sections
            .iter()
            .filter(|section| layers.contains(&section.layer))
            .for_each(|section| page.add(section.clone()));
        join_sections(&page.render().0)
    }

    /// Records a question that was asked while this page stayed loaded.
    pub fn note_question(&mut self, input: &str) {
        let terms = query_terms(input);
        self.known_terms.extend(terms.iter().cloned());
        self.question_terms.extend(terms);
    }

    /// Renders the page again after entries were removed.
    fn rerender(&mut self) {
        let recalled = self.page.sections.iter().filter(|section| kind_of_layer(section.layer).is_some());
        let remaining: BTreeSet<MemoryId> =
            recalled.flat_map(|section| &section.entries).filter_map(|entry| entry.id).collect();
        self.items.retain(|item| remaining.contains(&item.id));
        self.sources.retain(|(id, _)| remaining.contains(id));
        self.page_terms = LazyPageTerms::default();
        for candidate in &mut self.candidates {
            if matches!(candidate.outcome, SelectionOutcome::Loaded(_)) && !remaining.contains(&candidate.id) {
                candidate.outcome = SelectionOutcome::DroppedForRoom;
            }
        }
        (self.sections, self.tokens) = self.page.render();
    }
}

fn join_sections(sections: &[(Layer, String)]) -> String {
    sections.iter().map(|(_, text)| text.as_str()).collect()
}
