//! An agent within a session: its stream, its configuration, and the memories loaded for it.

use std::collections::BTreeSet;

use super::{
    Knowledge, KnowledgeInputs, LoadCause, MemoryLoad, Placement, build, focus, is_follow_up, load_cause,
    recall_request, used_memories,
};
use crate::base::ids::{SessionId, Stamp};
use crate::base::tokens::{TokenCounter, Tokens};
use crate::memory::censor::PatternCache;
use crate::memory::frame::{FrameChoice, FrameSet, select};
use crate::memory::learn::MemoryQuery;
use crate::memory::{AgentHead, Change, Memory, MemoryId, RecallResponse};
use crate::session::event::Event;
use crate::session::state::SessionState;

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

pub struct AgentContext<'a> {
    pub id: &'a SessionId,
    /// Events are applied to it at once, before they are durable.
    pub agent: &'a mut SessionState,
    pub memories: &'a mut LoadedMemories,
    pub counter: &'a dyn TokenCounter,
    pub profile: &'a AgentProfile,
}

impl AgentContext<'_> {
    fn head(&self) -> Option<&AgentHead> {
        self.agent.head().agent.as_deref()
    }

    /// The frame for a message: a follow-up, or a message that matches no frame, keeps the previous one.
    fn choose_frame(&self, text: &str) -> FrameChoice<'_> {
        let chosen = select(&self.profile.frames, text);
        match &self.memories.page {
            Some(page) if is_follow_up(text) => {
                let before = self.profile.frames.get(&page.frame);
                before.map_or(chosen, FrameChoice::by_name)
            }
            Some(page) => chosen.or_keep(&self.profile.frames, &page.frame),
            None => chosen,
        }
    }

    /// The lookup for a message and its cause; `None` if the loaded page still serves or there is nothing to load.
    pub(crate) fn plan_load(
        &mut self,
        state: &SessionState,
        text: &str,
        now: Stamp,
    ) -> Option<(LoadCause, MemoryQuery)> {
        if self.head().is_none() && self.profile.identity.trim().is_empty() {
            return None;
        }
        let chosen = self.choose_frame(text);
        let changed = self.memories.is_outdated || rule_lines(self.head()) != self.memories.rule_lines;
        let cause = match &self.memories.page {
            None => Some(LoadCause::First),
            Some(page) => {
                load_cause(page, &chosen, text, is_follow_up(text)).or(changed.then_some(LoadCause::Changed))
            }
        };
        let question = full_question(state, text);
        let request = recall_request(&question, chosen.frame, now);
        if let (None, Some(page)) = (cause, &mut self.memories.page) {
            page.note_question(text);
        }
        cause.map(|cause| (cause, MemoryQuery::Search { request, question }))
    }

    /// Builds the page from the search result and returns what was loaded.
    #[allow(clippy::too_many_arguments, reason = "each is a thing of its own")]
    pub(crate) fn load(
        &mut self,
        state: &SessionState,
        text: &str,
        recalled: &RecallResponse,
        cause: LoadCause,
        room: Tokens,
        counter: &dyn TokenCounter,
        now: Stamp,
    ) -> MemoryLoad {
        let empty_head = AgentHead::default();
        let head = self.head().unwrap_or(&empty_head);
        let question = full_question(state, text);
        let chosen = self.choose_frame(text);
        let page = build(&KnowledgeInputs {
            question: &question,
            frame_choice: &chosen,
            identity: &self.profile.identity,
            agent: head,
            focus: &focus(state, head, state.head().task.as_deref()),
            recalled,
            terms: &recall_request(&question, chosen.frame, now).terms,
            room,
            counter,
            lines_are_counted: counter.encoding() == self.counter.encoding(),
            placement: self.profile.placement,
            now,
        });
        let loaded = page.to_memory_load(cause);
        let rule_lines = rule_lines(Some(head));
        let patterns = std::mem::take(&mut self.memories.patterns);
        *self.memories = LoadedMemories { page: Some(page), patterns, rule_lines, ..LoadedMemories::default() };
        loaded
    }
}

/// A follow-up is searched together with the task it continues.
fn full_question(state: &SessionState, text: &str) -> String {
    match &state.head().task {
        Some(task) if is_follow_up(text) => format!("{task}\n{text}"),
        Some(_) | None => text.to_owned(),
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
pub fn changed_memory(event: &Event) -> Option<MemoryId> {
    let Event::MemoryChanged { change, memory, .. } = event else { return None };
    (!matches!(change, Change::Triggered | Change::Activated { .. })).then_some(memory.id)
}
