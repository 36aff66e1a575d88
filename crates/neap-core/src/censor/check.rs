//! Looks at a text with every rule in force for its side.

use std::collections::BTreeMap;

use super::{Compiled, Text, allowed, compile};
use crate::memory::tame::tame;
use crate::memory::{Action, Author, Body, Memory, MemoryId, Pattern, Side, Status};

/// A rule that found something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hit {
    /// Which.
    pub id: MemoryId,
    /// What comes of it: what the rule says, as far as its author and its status allow.
    pub action: Action,
    /// Why, in words that a model reads.
    pub reason: String,
}

/// Patterns made ready, kept from one text to the next and made anew when a rule changes.
#[derive(Debug, Clone, Default)]
pub struct Patterns(BTreeMap<MemoryId, (Pattern, Option<Compiled>)>);

impl Patterns {
    /// The rules among these whose patterns cannot be read: they find nothing, and someone should hear of it.
    pub fn broken<'a>(&mut self, censors: impl IntoIterator<Item = &'a Memory>) -> Vec<MemoryId> {
        let mut broken = Vec::new();
        for memory in censors {
            if let Body::Censor(censor) = &memory.body
                && self.of(memory.id, &censor.pattern).is_none()
            {
                broken.push(memory.id);
            }
        }
        broken
    }

    fn of(&mut self, id: MemoryId, pattern: &Pattern) -> Option<&Compiled> {
        let made = || (pattern.clone(), compile(pattern).ok());
        let kept = self.0.entry(id).or_insert_with(made);
        if kept.0 != *pattern {
            *kept = made();
        }
        kept.1.as_ref()
    }
}

/// The rules that find something in what is said on a side, strictest first, then oldest. A rule that no person wrote or
/// accepted is not in force: its words would reach every conversation.
pub fn check<'a>(
    censors: impl IntoIterator<Item = &'a Memory>,
    compiled: &mut Patterns,
    side: Side,
    text: &str,
) -> Vec<Hit> {
    let text = Text::new(text);
    let mut hits = Vec::new();
    for memory in censors {
        let Body::Censor(censor) = &memory.body else { continue };
        if censor.side != side || !memory.status.is_current() || !memory.is_a_persons() {
            continue;
        }
        if compiled.of(memory.id, &censor.pattern).is_some_and(|pattern| pattern.is_match(&text)) {
            let action = acts(memory, censor.action);
            hits.push(Hit { id: memory.id, action, reason: tame(&censor.reason) });
        }
    }
    hits.sort_by_key(|hit| (std::cmp::Reverse(hit.action), hit.id));
    hits
}

/// A rule that a person accepted and did not write is watched before it blocks: it steers until it has found something
/// once.
fn acts(memory: &Memory, action: Action) -> Action {
    let author = memory.provenance.author;
    if memory.status == Status::Created && author != Author::Person {
        return Action::Steer;
    }
    allowed(author, action)
}
