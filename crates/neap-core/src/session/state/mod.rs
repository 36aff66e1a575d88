//! A session's state, folded from its [`RecordedEvent`]s (I3).
//!
//! It holds one [`SessionHead`] and one [`Effort`] each; messages stay in the store, so the cost of opening a
//! session grows with its efforts, not with the length of the conversation.

mod apply;
mod apply_effort;
mod head;
mod keywords;

use std::collections::{BTreeMap, BTreeSet};

pub use head::{Metrics, PendingTurn, SessionHead};

use crate::base::ids::{EffortId, Seq, Stamp, StreamId, TurnNo};
use crate::base::message::{CountedMessage, Message, Scope};
use crate::base::policy::Policy;
use crate::base::project_id::ProjectId;
use crate::base::tokens::TokenCounter;
use crate::session::effort::{Effort, LogSize};
use crate::session::event::{Event, RecordedEvent, SessionEvent, TurnEvent};
use crate::session::mask_event;
use crate::session::window::Window;
use crate::text::secrets::{Masking, mask_message};
use keywords::KeywordIndex;

/// How a session begins.
#[derive(Debug)]
pub struct NewSession<'a> {
    pub id: &'a StreamId,
    /// The encoding in which its tokens are counted.
    pub encoding: &'a str,
    pub policy: Policy,
    /// Where it was imported from, if it was.
    pub imported_from: Option<String>,
}

/// The turn that is open after these events, given the one that was open before them.
pub fn open_turn_after(open: Option<TurnNo>, events: &[RecordedEvent]) -> Option<TurnNo> {
    events.iter().fold(open, |open, RecordedEvent { event, .. }| {
        let begins = matches!(event, Event::Turn(TurnEvent::Started { .. }));
        let ends = matches!(
            event,
            Event::Turn(TurnEvent::Completed { .. } | TurnEvent::Abandoned { .. } | TurnEvent::Closed { .. })
        );
        if begins { event.turn() } else { open.filter(|_| !ends) }
    })
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct SessionState {
    head: SessionHead,
    efforts: BTreeMap<EffortId, Effort>,
    // Indexes over the efforts, so that no turn scans all of them.
    open: BTreeSet<EffortId>,
    shown: BTreeSet<(TurnNo, EffortId)>,
    evicted: BTreeSet<(TurnNo, EffortId)>,
    expanded: BTreeSet<EffortId>,
    keywords: KeywordIndex,
    /// Whether recorded text is masked. A setting of the store, not part of the stream.
    masking: Masking,
}

impl SessionState {
    pub fn from_parts(head: SessionHead, efforts: impl IntoIterator<Item = Effort>) -> Self {
        let mut state = Self { head, ..Self::default() };
        for effort in efforts {
            state.put_effort(effort);
        }
        state
    }

    pub fn replay<'a>(events: impl IntoIterator<Item = &'a RecordedEvent>) -> Self {
        let mut state = Self::default();
        for recorded in events {
            state.apply(recorded);
        }
        state
    }

    /// Creates the session, unless it exists.
    pub fn create_if_new(&mut self, at: Stamp, new: NewSession<'_>) -> Option<RecordedEvent> {
        let NewSession { id, encoding, policy, imported_from } = new;
        let (session, encoding) = (id.clone(), encoding.to_owned());
        let created = SessionEvent::Created { session, encoding, policy, imported_from };
        self.head.stream.is_none().then(|| self.record(at, created))
    }

    /// Assigns the session to the project that it was found in; the first one stays.
    pub fn assign_project(&mut self, at: Stamp, project: Option<&ProjectId>) -> Option<RecordedEvent> {
        let is_open = self.head.stream.is_some() && self.head.project.is_none();
        project
            .filter(|_| is_open)
            .map(|project| self.record(at, SessionEvent::ProjectSet { project: Some(project.clone()) }))
    }

    /// Applies an event as the next one of the stream and returns it as recorded.
    pub fn record(&mut self, at: Stamp, event: impl Into<Event>) -> RecordedEvent {
        let event = mask_event(self.masking, event.into());
        let recorded = RecordedEvent { seq: self.head.seq.next(), at, event };
        self.apply(&recorded);
        recorded
    }

    /// Masks a message's secrets and counts what is left.
    pub fn mask_and_count(&self, counter: &dyn TokenCounter, message: Message) -> CountedMessage {
        CountedMessage::new(counter, mask_message(self.masking, message).0)
    }

    pub fn masking(&self) -> Masking {
        self.masking
    }

    pub fn set_masking(&mut self, masking: Masking) {
        self.masking = masking;
    }

    /// Skips events that are unreadable or missing, up to and including this one: only their places in the stream are
    /// taken. Later events that depend on them have no effect.
    pub fn skip_to(&mut self, seq: Seq) {
        self.head.seq = self.head.seq.max(seq);
    }

    /// Applies an event of a stream that may have gaps before it: an erased session's begins with its tombstone.
    pub fn apply_after_gap(&mut self, recorded: &RecordedEvent) {
        self.skip_to(Seq(recorded.seq.0.saturating_sub(1)));
        self.apply(recorded);
    }

    pub fn head(&self) -> &SessionHead {
        &self.head
    }

    pub fn seq(&self) -> Seq {
        self.head.seq
    }

    pub fn turn(&self) -> TurnNo {
        self.head.turn
    }

    pub fn policy(&self) -> &Policy {
        &self.head.policy
    }

    pub fn metrics(&self) -> &Metrics {
        &self.head.metrics
    }

    pub fn effort(&self, id: &EffortId) -> Option<&Effort> {
        self.efforts.get(id)
    }

    pub fn efforts(&self) -> impl ExactSizeIterator<Item = &Effort> {
        self.efforts.values()
    }

    pub fn active_effort(&self) -> Option<&Effort> {
        self.head.active.as_ref().map(|id| self.indexed_effort(id))
    }

    pub fn open_efforts(&self) -> impl Iterator<Item = &Effort> {
        self.open.iter().map(|id| self.indexed_effort(id))
    }

    pub fn expanded_efforts(&self) -> impl Iterator<Item = &Effort> {
        self.expanded.iter().map(|id| self.indexed_effort(id))
    }

    /// Concluded efforts whose summary belongs in the context, longest unreferenced first.
    pub fn shown_efforts(&self) -> impl DoubleEndedIterator<Item = &Effort> {
        self.shown.iter().map(|(_, id)| self.indexed_effort(id))
    }

    /// Concluded efforts out of the context, longest unreferenced first.
    pub fn evicted_efforts(&self) -> impl DoubleEndedIterator<Item = &Effort> + ExactSizeIterator {
        self.evicted.iter().map(|(_, id)| self.indexed_effort(id))
    }

    pub fn log_size(&self, scope: &Scope) -> LogSize {
        match scope {
            Scope::Ambient => self.head.ambient,
            Scope::Effort(id) => self.efforts.get(id).map(|e| e.log).unwrap_or_default(),
        }
    }

    /// Summaries of older spans of a scope's log.
    pub fn window(&self, scope: &Scope) -> &Window {
        static NOTHING: Window = Window::new();
        match scope {
            Scope::Ambient => &self.head.ambient_window,
            Scope::Effort(id) => self.efforts.get(id).map_or(&NOTHING, |e| &e.window),
        }
    }

    /// The keywords that identify concluded efforts in messages.
    pub(crate) fn keywords(&self) -> &KeywordIndex {
        &self.keywords
    }

    fn indexed_effort(&self, id: &EffortId) -> &Effort {
        self.efforts.get(id).expect("I5: an id in an index names an effort")
    }

    /// Inserts or replaces an effort and updates the indexes.
    fn put_effort(&mut self, effort: Effort) {
        let mut keywords_unchanged = false;
        if let Some(old) = self.efforts.remove(&effort.id) {
            self.open.remove(&old.id);
            self.expanded.remove(&old.id);
            self.shown.remove(&(old.last_referenced, old.id.clone()));
            self.evicted.remove(&(old.last_referenced, old.id.clone()));
            keywords_unchanged = old.summary == effort.summary && old.status == effort.status;
            if !keywords_unchanged {
                self.keywords.remove(&old);
            }
        }
        if effort.is_open() {
            self.open.insert(effort.id.clone());
        }
        if effort.expanded.is_some() {
            self.expanded.insert(effort.id.clone());
        }
        if effort.is_concluded() && effort.shown {
            self.shown.insert((effort.last_referenced, effort.id.clone()));
        }
        if effort.is_evicted() {
            self.evicted.insert((effort.last_referenced, effort.id.clone()));
        }
        if !keywords_unchanged {
            self.keywords.insert(&effort);
        }
        self.efforts.insert(effort.id.clone(), effort);
    }

    /// Checks the invariants of every state (I3, I5, I12); returns violations.
    pub fn violations(&self) -> Vec<String> {
        let mut found = Vec::new();
        if let Some(id) = &self.head.active
            && !self.efforts.get(id).is_some_and(Effort::is_open)
        {
            found.push(format!("I5: active effort {id} is not open"));
        }
        if self.head.active.is_none() && !self.open.is_empty() {
            found.push("I5: efforts are open but none is active".to_owned());
        }
        for effort in self.efforts.values() {
            if effort.expanded.is_some() && !effort.is_concluded() {
                found.push(format!("I5: {} is expanded but not concluded", effort.id));
            }
            if effort.is_concluded() && effort.summary.is_none() {
                found.push(format!("I12: {} is concluded without a summary", effort.id));
            }
        }
        let rebuilt = Self::from_parts(self.head.clone(), self.efforts.values().cloned());
        if rebuilt != *self {
            found.push("I3: the indexes differ from the efforts".to_owned());
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::event::EffortEvent;

    /// A lost record costs only that record: later events about an effort that was never opened have no effect.
    #[test]
    fn a_skipped_event_leaves_a_state_that_can_be_used() {
        let id = EffortId::from_name("lost").unwrap();
        let mut state = SessionState::default();
        state.skip_to(Seq(1));
        state.record(Stamp(1), EffortEvent::Switched { id: id.clone(), turn: TurnNo(1) });
        let summary =
            crate::session::effort::Summary { text: "s".into(), tokens: crate::base::tokens::Tokens(1), at: None };
        let next_active = Some(id.clone());
        state.record(
            Stamp(2),
            EffortEvent::Concluded {
                id,
                summary,
                turn: TurnNo(1),
                next_active,
                provisional: false,
                receipt: None,
            },
        );
        assert_eq!(state.seq(), Seq(3));
        assert_eq!(state.active_effort(), None);
        assert_eq!(state.violations(), Vec::<String>::new());
    }
}
