//! Finds the preferences and standing instructions that a person states in a message, and what they ask to be remembered,
//! without a model.
//!
//! One table of wordings (`rules`) for every surface: "From now on, answer in French.", "I can't stand coriander",
//! "When I ask about trains, include prices.", "Remember: the staging database is called heron." Wishes for once, questions, quotes, stories, hypotheses, pasted text and what
//! other people like are not taken (`own_words`). When in doubt a sentence is skipped: what was missed can be said
//! again, what was taken wrongly would be remembered.

mod asking;
mod clause;
mod own_words;
mod rules;

use super::{AgentHead, Body, Confidence, Fact, MemoryDraft, Provenance};
use asking::asked_in;
use clause::kind_of;
pub(in crate::memory) use own_words::own_sentences;

/// Statements taken from one message.
pub const STATED_MAX: usize = 8;
/// The subject of facts made from standing instructions.
const STANDING_SUBJECT: &str = "standing instruction";
/// The tag of facts made from preferences.
pub(in crate::memory) const PREFERENCE_TAG: &str = "preference";

/// A sentence of a message, or what it asks to be remembered, verbatim.
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
    /// A fact that a person asked to be remembered.
    Asked,
}

/// What a message states, in order.
pub fn stated(message: &str) -> Vec<Stated<'_>> {
    let sentences = own_sentences(message);
    let stated_at = |at: usize| {
        let said = kind_of(sentences[at]).map(|kind| Stated { text: sentences[at], kind });
        let asked = || asked_in(message, &sentences, at).map(|text| Stated { text, kind: StatedKind::Asked });
        // An instruction is kept as it was said; a preference that is asked to be remembered is a fact.
        said.filter(|said| said.kind == StatedKind::Standing).or_else(asked).or(said)
    };
    (0..sentences.len()).filter_map(stated_at).take(STATED_MAX).collect()
}

/// What a message states, as facts to remember. Standing instructions and what is asked to be remembered are always loaded, as
/// far as there is room; unless a person vouchedly wrote them, they are proposed ([`MemoryDraft::pinned`]). `said` is who wrote the message, and where.
pub fn stated_drafts(message: &str, said: &Provenance, agent: &AgentHead) -> Vec<MemoryDraft> {
    let mut room = agent.pin_room();
    let draft = |(nth, Stated { text, kind }): (usize, Stated<'_>)| {
        let place = said.turn.map_or_else(String::new, |turn| format!(" in turn {turn}"));
        let source = Some(format!("stated{place}, {}", nth + 1));
        let by = Provenance { source, ..said.clone() };
        match kind {
            StatedKind::Standing | StatedKind::Asked => {
                let subject = if kind == StatedKind::Standing { STANDING_SUBJECT } else { "" };
                let fact = Fact::new(subject, text, Confidence::FULL);
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
mod asked;
#[cfg(test)]
mod corpus;
#[cfg(test)]
mod tests;
