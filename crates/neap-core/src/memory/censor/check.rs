//! Checks a text against every censor in force for its side.

use std::collections::BTreeMap;

use super::{AnalyzedText, CompiledPattern, cap_action, compile};
use crate::memory::{Author, Body, CensorAction, CensorPattern, CensorSide, Memory, MemoryId, Status};
use crate::text::sanitize::sanitize_inline;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CensorHit {
    pub id: MemoryId,
    /// The rule's action, capped by its author and status.
    pub action: CensorAction,
    /// Shown to the model.
    pub reason: String,
}

/// Compiled patterns, recompiled when a rule changes.
#[derive(Debug, Clone, Default)]
pub struct PatternCache(BTreeMap<MemoryId, (CensorPattern, Option<CompiledPattern>)>);

impl PatternCache {
    fn get_or_compile(&mut self, id: MemoryId, pattern: &CensorPattern) -> Option<&CompiledPattern> {
        let build = || (pattern.clone(), compile(pattern).ok());
        let entry = self.0.entry(id).or_insert_with(build);
        if entry.0 != *pattern {
            *entry = build();
        }
        entry.1.as_ref()
    }
}

/// The censors that match a text, strictest first, then oldest. A rule that no person wrote or accepted is not in
/// force, because it would reach every conversation.
pub fn check<'a>(
    censors: impl IntoIterator<Item = &'a Memory>,
    cache: &mut PatternCache,
    side: CensorSide,
    text: &str,
) -> Vec<CensorHit> {
    let text = AnalyzedText::new(text);
    let mut hits = Vec::new();
    for memory in censors {
        let Body::Censor(censor) = &memory.body else { continue };
        if censor.side != side || !memory.status.is_current() || !memory.is_person_approved() {
            continue;
        }
        if cache.get_or_compile(memory.id, &censor.pattern).is_some_and(|pattern| pattern.is_match(&text)) {
            let action = effective_action(memory, censor.action);
            hits.push(CensorHit { id: memory.id, action, reason: sanitize_inline(&censor.reason) });
        }
    }
    hits.sort_by_key(|hit| (std::cmp::Reverse(hit.action), hit.id));
    hits
}

/// A rule that a person accepted but did not write only steers until its first match.
fn effective_action(memory: &Memory, action: CensorAction) -> CensorAction {
    let author = memory.provenance.author;
    if memory.status == Status::Created && author != Author::Person {
        return CensorAction::Steer;
    }
    cap_action(author, action)
}
