//! The memories loaded for an agent, and its configuration.

use std::collections::BTreeSet;

use super::{Knowledge, MemoryLoad, Placement, used_memories};
use crate::memory::censor::PatternCache;
use crate::memory::frame::FrameSet;
use crate::memory::{AgentHead, Change, Memory, MemoryEvent, MemoryId};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentProfile {
    /// Who it is, for the model; may be empty.
    pub identity: String,
    pub frames: FrameSet,
    pub placement: Placement,
}

impl Default for AgentProfile {
    fn default() -> Self {
        Self { identity: String::new(), frames: FrameSet::built_in(), placement: Placement::System }
    }
}

/// The loaded page. In memory only; after a restart it is looked up again.
#[derive(Debug, Clone, Default)]
pub struct LoadedMemories {
    page: Option<Knowledge>,
    /// Memories that replies have used.
    used: BTreeSet<MemoryId>,
    pub(crate) patterns: PatternCache,
    /// Censors and pinned records when the page was built; a change rebuilds it.
    rule_lines: Vec<(MemoryId, String)>,
    /// Something on the page has changed since.
    is_outdated: bool,
    /// The records of the last prompt, if the page was trimmed to fit.
    trimmed_to: Option<Vec<MemoryId>>,
}

impl LoadedMemories {
    pub fn page(&self) -> Option<&Knowledge> {
        self.page.as_ref()
    }

    /// `head` has the rules that are loaded with the page.
    pub(crate) fn replace_page(&mut self, page: Knowledge, head: &AgentHead) {
        let (patterns, rule_lines) = (std::mem::take(&mut self.patterns), rule_lines(Some(head)));
        *self = Self { page: Some(page), patterns, rule_lines, ..Self::default() };
    }

    /// Whether something on the page, or a rule, has changed since the page was built.
    pub(crate) fn is_outdated(&self, head: Option<&AgentHead>) -> bool {
        self.is_outdated || rule_lines(head) != self.rule_lines
    }

    /// Notes a question that the page serves.
    pub(crate) fn note_question(&mut self, text: &str) {
        if let Some(page) = &mut self.page {
            page.note_question(text);
        }
    }

    pub fn loaded_ids(&self) -> Vec<MemoryId> {
        self.page.iter().flat_map(|page| page.items.iter().map(|item| item.id)).collect()
    }

    /// Compares the page with its records as they are now; returns whether one was erased.
    pub fn check_outdated(&mut self, current: &[Memory]) -> bool {
        let Some(page) = &self.page else { return false };
        let is_unchanged = |memory: &&Memory| {
            memory.status.is_current() && page.has_line(&memory.lines.micro, &memory.lines.summary)
        };
        let erased = current.len() < page.items.len();
        self.is_outdated |= erased || !current.iter().all(|memory| is_unchanged(&memory));
        erased
    }

    /// Marks the page outdated if it contains one of these records.
    pub fn mark_changed(&mut self, ids: &[MemoryId]) {
        self.is_outdated |= self.loaded_ids().iter().any(|id| ids.contains(id));
    }

    /// Notes which records remain in a trimmed page; returns whether that is new.
    pub(crate) fn note_trimmed(&mut self, trimmed: Option<&MemoryLoad>) -> bool {
        let trimmed = trimmed.map(|trimmed| trimmed.items.iter().map(|item| item.id).collect());
        let is_new = trimmed.is_some() && trimmed != self.trimmed_to;
        self.trimmed_to = trimmed;
        is_new
    }

    /// Memories that this reply is the first to use.
    pub(crate) fn note_used(&mut self, reply: &str) -> Vec<MemoryId> {
        let Some(page) = &self.page else { return Vec::new() };
        used_memories(page, reply).into_iter().filter(|id| self.used.insert(*id)).collect()
    }
}

/// The rendered lines that are always loaded; counting uses does not change them.
fn rule_lines(head: Option<&AgentHead>) -> Vec<(MemoryId, String)> {
    let all = head.into_iter().flat_map(|head| head.censors.values().chain(head.pinned.values()));
    all.filter(|memory| memory.is_person_approved())
        .map(|memory| (memory.id, memory.lines.summary.clone()))
        .collect()
}

/// The record whose content an event changed; counting uses does not.
pub fn changed_memory(event: &MemoryEvent) -> Option<MemoryId> {
    let MemoryEvent::Changed { change, memory, .. } = event else { return None };
    (!matches!(change, Change::Triggered | Change::Activated { .. })).then_some(memory.id)
}
