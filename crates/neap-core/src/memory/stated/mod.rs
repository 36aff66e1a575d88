//! Finds the preferences and standing instructions that a person states in a message, without a model.
//!
//! One table of wordings (`rules`) for every surface: "From now on, answer in French.", "I can't stand coriander",
//! "When I ask about trains, include prices." Wishes for once, questions, quotes, stories, hypotheses, pasted text and what
//! other people like are not taken (`own_words`). When in doubt a sentence is skipped: what was missed can be said
//! again, what was taken wrongly would be remembered.

mod clause;
mod own_words;
mod rules;

use super::{AgentHead, Body, Confidence, Fact, MemoryDraft, Provenance};
use clause::kind_of;
pub(in crate::memory) use own_words::own_sentences;

/// Statements taken from one message.
pub const STATED_MAX: usize = 8;
/// The subject of facts made from standing instructions.
const STANDING_SUBJECT: &str = "standing instruction";
/// The tag of facts made from preferences.
pub(in crate::memory) const PREFERENCE_TAG: &str = "preference";

/// A sentence of a message, verbatim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stated<'a> {
    pub text: &'a str,
    pub kind: StatedKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatedKind {
    /// Holds in every conversation, whatever it is about.
    Standing,
    /// Bears on conversations about its subject.
    Preference,
}

/// What a message states, in order.
pub fn stated(message: &str) -> Vec<Stated<'_>> {
    let sentences = own_sentences(message).into_iter();
    sentences.filter_map(|text| kind_of(text).map(|kind| Stated { text, kind })).take(STATED_MAX).collect()
}

/// What a message states, as facts to remember. Standing instructions are always loaded, as far as there is room; unless
/// a person vouchedly wrote them, they are proposed ([`MemoryDraft::pinned`]). `said` is who wrote the message, and where.
pub fn stated_drafts(message: &str, said: &Provenance, agent: &AgentHead) -> Vec<MemoryDraft> {
    let mut room = agent.pin_room();
    let draft = |(nth, Stated { text, kind }): (usize, Stated<'_>)| {
        let place = said.turn.map_or_else(String::new, |turn| format!(" in turn {turn}"));
        let source = Some(format!("stated{place}, {}", nth + 1));
        let by = Provenance { source, ..said.clone() };
        match kind {
            StatedKind::Standing => {
                let fact = Fact::new(STANDING_SUBJECT, text, Confidence::FULL);
                let pinned = room > 0;
                room = room.saturating_sub(1);
                MemoryDraft { pinned, ..MemoryDraft::new(Body::Fact(fact), by) }
            }
            StatedKind::Preference => {
                let fact = Fact::new("", text, Confidence::FULL);
                MemoryDraft { tags: vec![PREFERENCE_TAG.to_owned()], ..MemoryDraft::new(Body::Fact(fact), by) }
            }
        }
    };
    stated(message).into_iter().enumerate().map(draft).collect()
}

#[cfg(test)]
mod corpus;
#[cfg(test)]
mod tests;
