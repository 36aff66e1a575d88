//! Which part of what an agent knows comes into the context, and how much of it (003, Context Assembly Pipeline).
//!
//! [`request`] says what the store is asked; [`build()`] weighs what it found (`score`, `weigh`), fills the layers within
//! their budget (`budget`, `fill`) and puts them on a page (`page`). `refresh` says when that is done anew, `used` what
//! a reply made of it. Pure: the same inputs give the same bytes, in whatever order the candidates come.

mod always;
mod budget;
mod build;
pub mod context;
mod fill;
mod focus;
mod loaded;
mod mind;
mod page;
mod place;
mod recency;
mod refresh;
mod said;
mod score;
#[cfg(test)]
mod tests;
mod used;
mod weigh;

use std::collections::BTreeSet;

pub use budget::{Complexity, KnowledgeBudget, allot, complexity};
pub use build::build;
pub use context::Context;
pub use fill::Detail;
pub use focus::{Focus, ITEMS_MAX, Thread, focus, is_follow_up, task_after};
pub use loaded::{LoadCause, Loaded, LoadedItem, MemoryMetrics};
pub use mind::{Known, Mind, Outlook, changed_record};
pub use page::Placement;
pub use recency::{named_time, window};
pub use refresh::{announces_action, cause, press};
pub use score::{Question, Regard, Terms, floor, score};
pub use used::used;
pub use weigh::{Fate, Weighed};

use crate::frame::{Chosen, Frame};
use crate::ids::Stamp;
use crate::ledger::{Layer, LayerTokens};
use crate::memory::{AgentHead, Confidence, MemoryId, MemoryKind, RecallRequest, Recalled};
use crate::prompt;
use crate::terms::query_terms;
use crate::tokens::{TokenCounter, Tokens};
use fill::kind;
use page::Page;
use said::Lazy;

/// Candidates of each kind (003, Step 3); censors are at hand in the agent's head.
const LIMITS: [(MemoryKind, usize); 4] =
    [(MemoryKind::Decision, 20), (MemoryKind::Fact, 30), (MemoryKind::Procedure, 10), (MemoryKind::Episode, 10)];
/// Terms of a question that are looked for, at most.
const TERMS_MAX: usize = 64;

/// What the store is asked for a question: candidates of every kind at once; a kind that the frame gives no room is
/// not searched. A question about a time asks for what was written then.
pub fn request(question: &str, frame: &Frame, now: Stamp) -> RecallRequest {
    let budgets = frame.budgets;
    let rooms = [budgets.decisions, budgets.facts, budgets.procedures, budgets.episodes];
    let limits = LIMITS.into_iter().zip(rooms).filter(|(_, room)| *room > Tokens::ZERO).map(|(limit, _)| limit);
    let limits: Vec<(MemoryKind, usize)> = limits.collect();
    match window(question, now) {
        Some((from, until)) => {
            RecallRequest { from: Some(from), until: Some(until), ..RecallRequest::new(Vec::new(), limits) }
        }
        None => {
            let mut terms = query_terms(question);
            terms.truncate(TERMS_MAX);
            RecallRequest::new(terms, limits)
        }
    }
}

/// What a page is made from.
#[derive(Clone, Copy)]
pub struct Inputs<'a> {
    /// What was asked.
    pub question: &'a str,
    /// The stance.
    pub chosen: &'a Chosen<'a>,
    /// Who the agent is, as its owner wrote it; may be empty.
    pub identity: &'a str,
    /// What is always at hand.
    pub agent: &'a AgentHead,
    /// What is being worked on.
    pub focus: &'a Focus,
    /// What the store found.
    pub recalled: &'a Recalled,
    /// The terms that it was asked for, in the order of its figures.
    pub terms: &'a [String],
    /// What the context leaves for memory.
    pub room: Tokens,
    /// How tokens are counted.
    pub counter: &'a dyn TokenCounter,
    /// Whether the records' lines were counted in this counter's encoding; else they are counted again.
    pub lines_are_counted: bool,
    /// Where the page will stand.
    pub placement: Placement,
    /// The moment.
    pub now: Stamp,
}

/// What an agent knows that bears on a question, as it stands in the context.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Knowledge {
    /// The stance.
    pub frame: String,
    /// How clearly the words called for it.
    pub frame_confidence: Confidence,
    /// The page, section by section; joined they are its text.
    pub sections: Vec<(Layer, String)>,
    /// What each layer costs.
    pub tokens: LayerTokens,
    /// What they were allowed together.
    pub budget: Tokens,
    /// Found by relevance, in the order of the context.
    pub items: Vec<LoadedItem>,
    /// Every candidate, best first.
    pub weighed: Vec<Weighed>,
    /// The terms of the task and of what was asked, then and since.
    heard: BTreeSet<String>,
    /// The terms of what was asked.
    asked: BTreeSet<String>,
    /// Where each item comes from, in the order of items.
    sources: Vec<(MemoryId, String)>,
    page: Page,
    said: Lazy,
}

impl Knowledge {
    /// As it is recorded.
    pub fn loaded(&self, cause: LoadCause) -> Loaded {
        Loaded {
            frame: self.frame.clone(),
            frame_confidence: self.frame_confidence,
            cause,
            items: self.items.clone(),
            considered: self.weighed.len() as u64,
            tokens: self.tokens.total(),
            budget: self.budget,
        }
    }

    /// The whole page: the sections of the system text, then the records between their marks.
    pub fn text(&self) -> String {
        if self.page.placement == Placement::Tail {
            return joined(&self.sections);
        }
        let records = [self.preferences(), self.records()].concat();
        let (open, close) = if records.is_empty() { ("", "") } else { (prompt::RECORDS, prompt::RECORDS_END) };
        format!("{}{open}{}{close}", joined(&self.system()), joined(&records))
    }

    /// Only these layers of it, all marked as data: for a prompt that is not ours. Empty if they are.
    pub fn only(&self, layers: &[Layer], counter: &dyn TokenCounter) -> String {
        let mut page = Page::new(counter, Placement::Tail);
        self.page.parts.iter().filter(|part| layers.contains(&part.layer)).for_each(|part| page.add(part.clone()));
        joined(&page.render().0)
    }

    /// Notes what was asked while this stayed as it is.
    pub fn heard(&mut self, input: &str) {
        let terms = query_terms(input);
        self.heard.extend(terms.iter().cloned());
        self.asked.extend(terms);
    }

    /// Writes the page again after something left it.
    fn write(&mut self) {
        let recalled = self.page.parts.iter().filter(|part| kind(part.layer).is_some());
        let kept: BTreeSet<MemoryId> =
            recalled.flat_map(|part| &part.pieces).filter_map(|piece| piece.id).collect();
        self.items.retain(|item| kept.contains(&item.id));
        self.sources.retain(|(id, _)| kept.contains(id));
        self.said = Lazy::default();
        for weighed in &mut self.weighed {
            if matches!(weighed.fate, Fate::Loaded(_)) && !kept.contains(&weighed.id) {
                weighed.fate = Fate::Pressed;
            }
        }
        (self.sections, self.tokens) = self.page.render();
    }
}

fn joined(sections: &[(Layer, String)]) -> String {
    sections.iter().map(|(_, text)| text.as_str()).collect()
}
