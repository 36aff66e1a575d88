//! What is known about a session: small, because what was said stays in the store.
//!
//! [`SessionState`] is a fold of [`Recorded`] events (I3). It is kept as one [`Head`] and one [`Effort`]
//! each, so that opening a session costs as much as it has efforts, never as much as was ever said.

mod apply;
mod head;
mod keywords;

use std::collections::{BTreeMap, BTreeSet};

pub use head::{Head, Metrics, Pending};

use crate::effort::{Effort, LogSize};
use crate::event::{Event, Recorded};
use crate::ids::{EffortId, Seq, Stamp, TurnNo};
use crate::message::{Counted, Message, Scope};
use crate::policy::Policy;
use crate::secrets::{Masking, mask_event, mask_message};
use crate::tokens::TokenCounter;
use crate::window::Window;
use keywords::KeywordIndex;

/// A session's state.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SessionState {
    head: Head,
    efforts: BTreeMap<EffortId, Effort>,
    // Derived from the efforts, so that no turn walks all of them.
    open: BTreeSet<EffortId>,
    shown: BTreeSet<(TurnNo, EffortId)>,
    evicted: BTreeSet<(TurnNo, EffortId)>,
    expanded: BTreeSet<EffortId>,
    keywords: KeywordIndex,
    /// Whether what is recorded is masked; as its store has it, and not part of the stream.
    masking: Masking,
}

impl SessionState {
    /// Puts a state together from its stored parts.
    pub fn from_parts(head: Head, efforts: impl IntoIterator<Item = Effort>) -> Self {
        let mut state = Self { head, ..Self::default() };
        for effort in efforts {
            state.put(effort);
        }
        state
    }

    /// Folds a whole stream.
    pub fn replay<'a>(events: impl IntoIterator<Item = &'a Recorded>) -> Self {
        let mut state = Self::default();
        for recorded in events {
            state.apply(recorded);
        }
        state
    }

    /// Applies an event as the next of the stream and returns it as recorded.
    pub fn record(&mut self, at: Stamp, event: Event) -> Recorded {
        let event = mask_event(self.masking, event);
        let recorded = Recorded { seq: self.head.seq.next(), at, event };
        self.apply(&recorded);
        recorded
    }

    /// A message as it may be recorded: without its secrets, and counted so.
    pub fn counted(&self, counter: &dyn TokenCounter, message: Message) -> Counted {
        Counted::new(counter, mask_message(self.masking, message).0)
    }

    /// Whether secrets are masked in what is recorded.
    pub fn masking(&self) -> Masking {
        self.masking
    }

    /// Says whether they are.
    pub fn set_masking(&mut self, masking: Masking) {
        self.masking = masking;
    }

    /// Passes over an event that can no longer be read: only its place is taken. What it did is lost, and what
    /// follows from it is left out as it is followed.
    pub fn skip(&mut self, seq: Seq) {
        assert_eq!(seq, self.head.seq.next(), "I3: events are passed over in order");
        self.head.seq = seq;
    }

    /// What is not per effort.
    pub fn head(&self) -> &Head {
        &self.head
    }

    /// The last event's place.
    pub fn seq(&self) -> Seq {
        self.head.seq
    }

    /// The number of the latest turn.
    pub fn turn(&self) -> TurnNo {
        self.head.turn
    }

    /// The settings.
    pub fn policy(&self) -> &Policy {
        &self.head.policy
    }

    /// The running figures.
    pub fn metrics(&self) -> &Metrics {
        &self.head.metrics
    }

    /// One effort.
    pub fn effort(&self, id: &EffortId) -> Option<&Effort> {
        self.efforts.get(id)
    }

    /// Every effort, by id.
    pub fn efforts(&self) -> impl ExactSizeIterator<Item = &Effort> {
        self.efforts.values()
    }

    /// The effort that receives messages.
    pub fn active(&self) -> Option<&Effort> {
        self.head.active.as_ref().map(|id| self.known(id))
    }

    /// Open efforts, by id.
    pub fn open(&self) -> impl Iterator<Item = &Effort> {
        self.open.iter().map(|id| self.known(id))
    }

    /// Expanded efforts, by id.
    pub fn expanded(&self) -> impl Iterator<Item = &Effort> {
        self.expanded.iter().map(|id| self.known(id))
    }

    /// Concluded efforts whose summary is due in the context, longest unreferenced first.
    pub fn shown(&self) -> impl DoubleEndedIterator<Item = &Effort> {
        self.shown.iter().map(|(_, id)| self.known(id))
    }

    /// Concluded efforts that are out of the context, longest unreferenced first.
    pub fn evicted(&self) -> impl DoubleEndedIterator<Item = &Effort> + ExactSizeIterator {
        self.evicted.iter().map(|(_, id)| self.known(id))
    }

    /// How much has been said in a scope.
    pub fn log_size(&self, scope: &Scope) -> LogSize {
        match scope {
            Scope::Ambient => self.head.ambient,
            Scope::Effort(id) => self.efforts.get(id).map(|e| e.log).unwrap_or_default(),
        }
    }

    /// Summaries that can stand for older spans of a scope's log.
    pub fn window(&self, scope: &Scope) -> &Window {
        static NOTHING: Window = Window::new();
        match scope {
            Scope::Ambient => &self.head.ambient_window,
            Scope::Effort(id) => self.efforts.get(id).map_or(&NOTHING, |e| &e.window),
        }
    }

    /// The keywords by which concluded efforts are recognised in what is said.
    pub(crate) fn keywords(&self) -> &KeywordIndex {
        &self.keywords
    }

    fn known(&self, id: &EffortId) -> &Effort {
        self.efforts.get(id).expect("I5: an id in an index names an effort")
    }

    /// Inserts or replaces an effort and keeps the indexes in step with it.
    fn put(&mut self, effort: Effort) {
        let mut recognised_as_before = false;
        if let Some(old) = self.efforts.remove(&effort.id) {
            self.open.remove(&old.id);
            self.expanded.remove(&old.id);
            self.shown.remove(&(old.last_referenced, old.id.clone()));
            self.evicted.remove(&(old.last_referenced, old.id.clone()));
            recognised_as_before = old.summary == effort.summary && old.status == effort.status;
            if !recognised_as_before {
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
        if !recognised_as_before {
            self.keywords.insert(&effort);
        }
        self.efforts.insert(effort.id.clone(), effort);
    }

    /// Checks what must hold of every state (I5, I6); returns what does not.
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

    /// A lost record costs that record: what later events say about an effort that never was is left out.
    #[test]
    fn a_skipped_event_leaves_a_state_that_can_be_used() {
        let id = EffortId::from_name("lost").unwrap();
        let mut state = SessionState::default();
        state.skip(Seq(1));
        state.record(Stamp(1), Event::EffortSwitched { id: id.clone(), turn: TurnNo(1) });
        let summary = crate::effort::Summary { text: "s".into(), tokens: crate::tokens::Tokens(1), at: None };
        let next_active = Some(id.clone());
        state.record(
            Stamp(2),
            Event::EffortConcluded {
                id,
                summary,
                turn: TurnNo(1),
                next_active,
                provisional: false,
                receipt: None,
            },
        );
        assert_eq!(state.seq(), Seq(3));
        assert_eq!(state.active(), None);
        assert_eq!(state.violations(), Vec::<String>::new());
    }
}
