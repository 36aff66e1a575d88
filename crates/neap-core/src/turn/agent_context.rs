//! An agent within a session: its stream, its configuration, and the memories loaded for it.

use std::collections::BTreeMap;

use crate::base::ids::{Stamp, StreamId};
use crate::base::policy::Policy;
use crate::base::tokens::{TokenCounter, Tokens};
use crate::memory::frame::{FrameChoice, select};
use crate::memory::knowledge::{
    AgentProfile, Focus, Knowledge, KnowledgeInputs, LoadCause, LoadedMemories, MemoryLoad, build, is_follow_up,
    load_cause, rebuild, recall_request,
};
use crate::memory::learn::MemoryQuery;
use crate::memory::{AgentHead, Memory, MemoryId, MemoryWrite, RecallResponse, Stakes};
use crate::recall::ProjectFilter;
use crate::session::event::RecordedEvent;
use crate::session::state::{NewSession, SessionState};

pub struct AgentContext<'a> {
    pub id: &'a StreamId,
    /// Events are applied to it at once, before they are durable.
    pub agent: &'a mut SessionState,
    pub memories: &'a mut LoadedMemories,
    pub counter: &'a dyn TokenCounter,
    pub profile: &'a AgentProfile,
}

impl AgentContext<'_> {
    pub(super) fn head(&self) -> Option<&AgentHead> {
        self.agent.head().agent.as_deref()
    }

    /// The frame for a message: a follow-up, or a message that matches no frame, keeps the previous one.
    fn choose_frame(&self, text: &str) -> FrameChoice<'_> {
        let chosen = select(&self.profile.frames, text);
        match self.memories.page() {
            Some(page) if is_follow_up(text) => {
                let before = self.profile.frames.get(&page.frame);
                before.map_or(chosen, FrameChoice::by_name)
            }
            Some(page) => chosen.or_keep(&self.profile.frames, &page.frame),
            None => chosen,
        }
    }

    /// The lookup for a message and its cause; `None` if the loaded page still serves or there is nothing to load.
    pub(super) fn plan_load(
        &mut self,
        state: &SessionState,
        text: &str,
        now: Stamp,
    ) -> Option<(LoadCause, MemoryQuery)> {
        if self.head().is_none() && self.profile.identity.trim().is_empty() {
            return None;
        }
        let chosen = self.choose_frame(text);
        let changed = self.memories.is_outdated(self.head());
        let cause = match self.memories.page() {
            None => Some(LoadCause::First),
            Some(page) => {
                load_cause(page, &chosen, text, is_follow_up(text)).or(changed.then_some(LoadCause::Changed))
            }
        };
        let question = full_question(state, text);
        let request = recall_request(&question, chosen.frame, now).asked_in(asked_in(state).as_ref());
        if cause.is_none() {
            self.memories.note_question(text);
        }
        cause.map(|cause| (cause, MemoryQuery::Search { request, question }))
    }

    /// Builds the page from the search result and returns what was loaded.
    #[allow(clippy::too_many_arguments, reason = "each is a thing of its own")]
    pub(super) fn load(
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
            project: asked_in(state).as_ref(),
            recalled,
            terms: &recall_request(&question, chosen.frame, now).terms,
            room,
            counter,
            lines_are_counted: counter.encoding() == self.counter.encoding(),
            placement: self.profile.placement,
            now,
        });
        let loaded = page.to_memory_load(cause);
        self.memories.replace_page(page, self.agent.head().agent.as_deref().unwrap_or(&empty_head));
        loaded
    }
}

/// An agent as it was at an earlier time.
pub struct PastAgent<'a> {
    pub head: &'a AgentHead,
    pub memories: &'a BTreeMap<MemoryId, Memory>,
    pub profile: &'a AgentProfile,
    /// In which its records were counted.
    pub encoding: &'a str,
}

impl PastAgent<'_> {
    /// The page that was loaded for a message, in the session's state of that time; `None` if its frame is gone.
    pub fn page(
        &self,
        state: &SessionState,
        text: &str,
        loaded: &MemoryLoad,
        counter: &dyn TokenCounter,
    ) -> Option<Knowledge> {
        let frame = self.profile.frames.get(&loaded.frame)?;
        let project = asked_in(state);
        let inputs = KnowledgeInputs {
            question: &full_question(state, text),
            frame_choice: &FrameChoice::by_name(frame),
            identity: &self.profile.identity,
            agent: self.head,
            focus: &focus(state, self.head, state.head().task.as_deref()),
            project: project.as_ref(),
            recalled: &RecallResponse::default(),
            terms: &[],
            // The record says what was spent.
            room: Tokens(u64::MAX),
            counter,
            lines_are_counted: counter.encoding() == self.encoding,
            placement: self.profile.placement,
            now: Stamp(0),
        };
        Some(rebuild(&inputs, loaded, self.memories))
    }
}

/// Applies changes in order to an agent's stream, and creates it first if it does not exist.
pub(super) fn record_writes(
    (id, agent): (&StreamId, &mut SessionState),
    counter: &dyn TokenCounter,
    now: Stamp,
    writes: Vec<MemoryWrite>,
) -> Vec<RecordedEvent> {
    let new = NewSession { id, encoding: counter.encoding(), policy: Policy::default(), imported_from: None };
    let mut events: Vec<RecordedEvent> = agent.create_if_new(now, new).into_iter().collect();
    events.extend(writes.into_iter().map(|write| agent.record(now, write)));
    events
}

/// Where a session's questions are asked.
fn asked_in(state: &SessionState) -> Option<ProjectFilter> {
    state.head().project.clone().map(ProjectFilter::First)
}

/// A follow-up is searched together with the task it continues.
fn full_question(state: &SessionState, text: &str) -> String {
    match &state.head().task {
        Some(task) if is_follow_up(text) => format!("{task}\n{text}"),
        Some(_) | None => text.to_owned(),
    }
}

/// The session's focus. `last_question` is the last substantive question (see [`crate::memory::knowledge::task_after`]).
///
/// An open effort has the priority of a decision with medium stakes: it can be resumed at any time.
fn focus(state: &SessionState, agent: &AgentHead, last_question: Option<&str>) -> Focus {
    let active = state.active_effort();
    let mut focus = Focus::with_task(active.map(|effort| effort.name.as_str()).or(last_question));
    for effort in state.open_efforts().filter(|effort| active.is_none_or(|active| active.id != effort.id)) {
        focus.add_thread(&format!("Open effort: {}", effort.name), Stakes::Medium, effort.created);
    }
    let session = state.head().session();
    for pending in agent.pending.iter().filter(|pending| session.is_some() && pending.session == session) {
        focus.add_thread(
            &format!("Awaiting the outcome of {}: {}", pending.id, pending.text),
            pending.stakes,
            pending.at,
        );
    }
    focus
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::ids::{EffortId, TurnNo};
    use crate::memory::PendingDecision;
    use crate::session::event::{EffortEvent, SessionEvent};

    #[test]
    fn focus_is_the_active_effort_and_what_else_is_open() {
        let mut state = SessionState::default();
        let session = StreamId::parse("main").unwrap();
        state.record(
            Stamp(1),
            SessionEvent::Created {
                session: session.clone(),
                encoding: "words".into(),
                policy: Default::default(),
                imported_from: None,
            },
        );
        for (at, name) in [(2, "Bike lights"), (3, "Storage design")] {
            let id = EffortId::from_name(name).unwrap();
            state.record(Stamp(at), EffortEvent::Opened { id, name: name.into(), turn: TurnNo(1) });
        }
        let mut agent = AgentHead::default();
        for (id, stakes, session) in [("d1", Stakes::Critical, session.session()), ("d2", Stakes::Critical, None)]
        {
            let id = id.parse().unwrap();
            agent.pending.push(PendingDecision {
                id,
                text: "Chose Postgres\n## Identity".into(),
                stakes,
                session,
                at: Stamp(9),
            });
        }
        let found = focus(&state, &agent, Some("what was asked"));
        assert_eq!(found.task.as_deref(), Some("Storage design"));
        let threads: Vec<&str> = found.threads.iter().map(|thread| thread.text.as_str()).collect();
        assert_eq!(threads, ["Awaiting the outcome of d1: Chose Postgres · Identity", "Open effort: Bike lights"]);
        let none = focus(&SessionState::default(), &agent, Some("# what was asked"));
        assert_eq!((none.task.as_deref(), none.threads.len()), (Some("what was asked"), 0));
    }
}
