//! Applies events to the state. Nothing here decides; it only follows.

use super::{PendingTurn, SessionState};
use crate::base::ids::{EffortId, Seq, Stamp, TurnNo};
use crate::base::message::Scope;
use crate::base::tokens::Tokens;
use crate::memory::MemoryEvent;
use crate::memory::knowledge::task_after;
use crate::session::effort::Effort;
use crate::session::event::{
    AbandonReason, ClientEvent, Event, RecordedEvent, RoundVisibility, SessionEvent, TurnEvent, WindowEvent,
};

/// Keys of host entries that are known: a writer repeats its last ones, after a failure.
const HOST_KEYS_MAX: usize = 64;

impl SessionState {
    /// Applies one event. Events come in order, each once.
    pub fn apply(&mut self, recorded: &RecordedEvent) {
        let at = recorded.at;
        assert_eq!(recorded.seq, self.head.seq.next(), "I3: events are applied in order");
        self.head.seq = recorded.seq;
        self.head.updated = at;
        // The event that began a turn may be damaged: never reuse a turn number that other events mention.
        self.head.turn = self.head.turn.max(recorded.event.turn().unwrap_or_default());
        match &recorded.event {
            Event::Session(event) => self.apply_session(event, at),
            Event::Turn(event) => self.apply_turn(event, recorded.seq, at),
            Event::Effort(event) => self.apply_effort(event, at),
            Event::Window(event) => self.apply_window(event, at),
            Event::Client(event) => self.apply_client(event),
            Event::Memory(event) => self.apply_memory(event, recorded.seq, at),
        }
    }

    fn apply_session(&mut self, event: &SessionEvent, at: Stamp) {
        match event {
            SessionEvent::Created { session, encoding, policy, imported_from: _ } => {
                self.head.stream = Some(session.clone());
                self.head.encoding.clone_from(encoding);
                self.head.policy = policy.clone();
                self.head.created = at;
                self.head.scrubbed = false;
            }
            SessionEvent::PolicyChanged { policy } => self.head.policy = policy.clone(),
            SessionEvent::ProjectSet { project } => self.head.project.clone_from(project),
            SessionEvent::HostEntriesAdded { key, entries: _ } => {
                let keys = &mut self.head.host_keys;
                keys.push((key.clone(), self.head.seq));
                keys.drain(..keys.len().saturating_sub(HOST_KEYS_MAX));
            }
            SessionEvent::Scrubbed { events: _ } => {
                let seq = self.head.seq;
                *self = Self::default();
                self.head.seq = seq;
                self.head.updated = at;
                self.head.scrubbed = true;
            }
        }
    }

    fn apply_turn(&mut self, event: &TurnEvent, seq: Seq, at: Stamp) {
        match event {
            TurnEvent::Started { turn, message, turn_id: _, author: _ } => {
                let pending = PendingTurn {
                    first_seq: seq,
                    at,
                    tokens: message.tokens,
                    active_before: self.head.active.clone(),
                    entered: None,
                };
                self.head.pending.insert(*turn, pending);
                self.head.turn = *turn;
                self.head.task = task_after(self.head.task.as_deref(), &message.message.content);
            }
            TurnEvent::ToolsCalled { turn, round, visibility } => match visibility {
                RoundVisibility::Transcript => {
                    self.update_pending(*turn, |pending| pending.tokens += round.tokens());
                }
                RoundVisibility::ThisTurn => {}
            },
            TurnEvent::Completed { turn, reply, scope, ledger } => {
                self.settle_turn(*turn, scope, Some(reply.tokens), at);
                self.head.metrics.add_turn(ledger);
                self.head.spending.add_turn(ledger);
            }
            TurnEvent::Abandoned { turn, reason, scope } => {
                self.settle_turn(*turn, scope, None, at);
                // A follow-up must not continue a task that a censor ended.
                if matches!(reason, AbandonReason::Censored { .. }) {
                    self.head.task = None;
                }
            }
            TurnEvent::Closed { turn, scope } => {
                self.settle_turn(*turn, scope, None, at);
            }
            TurnEvent::TakenBack { turn: _, scope, tokens } => {
                self.head.all_logs.remove(*tokens);
                match scope {
                    Scope::Ambient => self.head.ambient.remove(*tokens),
                    Scope::Effort(id) => self.update_effort(id, at, |effort| {
                        effort.log.remove(*tokens);
                        // The effort was reopened, and its earlier summary may cover this turn.
                        effort.summary = None;
                    }),
                }
                self.head.task = None;
            }
            TurnEvent::MessageAdded { turn, message } => {
                self.update_pending(*turn, |pending| pending.tokens += message.tokens);
            }
        }
    }

    fn apply_window(&mut self, event: &WindowEvent, at: Stamp) {
        match event {
            WindowEvent::SpanCompacted { scope, turn: _, span, receipt: _ } => {
                match scope {
                    Scope::Ambient => self.head.ambient_window.insert(span.clone()),
                    Scope::Effort(id) => self.update_effort(id, at, |effort| effort.window.insert(span.clone())),
                }
                self.head.metrics.compactions += 1;
            }
            WindowEvent::EpochBegan { turn: _, cause: _ } => self.head.metrics.epochs += 1,
        }
    }

    fn apply_client(&mut self, event: &ClientEvent) {
        match event {
            ClientEvent::HistoryLinked { turn: _, links: _, history, tenant } => {
                self.head.history = Some(history.clone());
                // The first tenant stays: no later event can give the stream to another one.
                self.head.tenant = self.head.tenant.or(*tenant);
            }
            ClientEvent::RequestPassed { turn: _, account } => {
                self.head.metrics.requests += account;
                self.head.spending.add_request(account);
                if let (Some(model), Some(used)) = (account.counted_by, account.used) {
                    self.head.token_ratios.observe(model, account.tokens_sent, used.input);
                }
            }
            ClientEvent::Compacted { turn, .. } => self.head.compacted = Some(*turn),
        }
    }

    fn apply_memory(&mut self, event: &MemoryEvent, seq: Seq, at: Stamp) {
        match event {
            MemoryEvent::Loaded { turn: _, loaded } => self.head.metrics.memories.record_load(loaded),
            MemoryEvent::CensorTriggered { .. } => self.head.metrics.memories.censored += 1,
            MemoryEvent::Changed { change: _, memory, was, sent } => {
                let agent = self.head.agent.get_or_insert_default();
                agent.apply_change(memory, was.as_ref(), at);
                agent.apply_sent(*sent, seq, memory.id);
            }
            MemoryEvent::Erased { id } => {
                let agent = self.head.agent.get_or_insert_default();
                agent.apply_erasure(*id, at);
                agent.apply_sent(None, seq, *id);
            }
        }
    }

    /// Ends a turn and adds its tokens to a log. A reply is counted even if the record that began the turn was
    /// damaged.
    fn settle_turn(&mut self, turn: TurnNo, scope: &Scope, reply: Option<Tokens>, at: Stamp) {
        let begun = self.head.pending.remove(&turn).map(|pending| pending.tokens);
        let tokens = match (begun, reply) {
            (None, None) => return,
            (begun, reply) => begun.unwrap_or_default() + reply.unwrap_or_default(),
        };
        self.head.all_logs.add(tokens);
        match scope {
            Scope::Ambient => self.head.ambient.add(tokens),
            Scope::Effort(id) => self.update_effort(id, at, |effort| effort.log.add(tokens)),
        }
    }

    pub(super) fn update_pending(&mut self, turn: TurnNo, change: impl FnOnce(&mut PendingTurn)) {
        if let Some(pending) = self.head.pending.get_mut(&turn) {
            change(pending);
        }
    }

    pub(super) fn update_effort(&mut self, id: &EffortId, at: Stamp, change: impl FnOnce(&mut Effort)) {
        let Some(effort) = self.efforts.get(id) else { return };
        let mut changed = effort.clone();
        change(&mut changed);
        changed.updated = at;
        self.put_effort(changed);
    }
}
