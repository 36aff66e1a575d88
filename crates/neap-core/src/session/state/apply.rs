//! Applies events to the state. Nothing here decides; it only follows.

use super::{PendingTurn, SessionState};
use crate::base::ids::{EffortId, Stamp, TurnNo};
use crate::base::ledger::Layer;
use crate::base::message::Scope;
use crate::base::tokens::Tokens;
use crate::memory::knowledge::task_after;
use crate::session::effort::{DecayRecord, Effort, EffortStatus, Expansion, LogSize};
use crate::session::event::{AbandonReason, CollapseCause, Event, RecordedEvent, RoundVisibility};
use crate::session::window::Window;

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
            Event::SessionCreated { session, encoding, policy, imported_from: _ } => {
                self.head.session = Some(session.clone());
                self.head.encoding.clone_from(encoding);
                self.head.policy = policy.clone();
                self.head.created = at;
                self.head.scrubbed = false;
            }
            Event::PolicyChanged { policy } => self.head.policy = policy.clone(),
            Event::TurnStarted { turn, message, turn_id: _, author: _ } => {
                let pending = PendingTurn {
                    first_seq: recorded.seq,
                    at,
                    tokens: message.tokens,
                    active_before: self.head.active.clone(),
                    entered: None,
                };
                self.head.pending.insert(*turn, pending);
                self.head.turn = *turn;
                self.head.task = task_after(self.head.task.as_deref(), &message.message.content);
            }
            Event::ToolsCalled { turn, round, visibility } => match visibility {
                RoundVisibility::Transcript => {
                    self.update_pending(*turn, |pending| pending.tokens += round.tokens());
                }
                RoundVisibility::ThisTurn => {}
            },
            Event::EffortOpened { id, name, turn } => self.open_effort(id, name, *turn, at),
            Event::EffortConcluded { id, summary, turn, next_active, provisional, receipt: _ } => {
                self.update_effort(id, at, |effort| {
                    effort.status = EffortStatus::Concluded;
                    effort.summary = Some(summary.clone());
                    effort.shown = true;
                    effort.last_referenced = effort.last_referenced.max(*turn);
                });
                if *provisional {
                    self.head.summaries_due.insert(id.clone(), *turn);
                } else {
                    self.head.summaries_due.remove(id);
                }
                // After a damaged record the next effort may be unknown or not open.
                self.head.active = next_active.clone().filter(|next| self.is_open(next));
                if let Some(next) = next_active {
                    self.update_effort(next, at, |effort| effort.last_active = effort.last_active.max(*turn));
                }
            }
            Event::EffortSummarized { id, summary, turn: _, receipt: _ } => {
                self.update_effort(id, at, |effort| effort.summary = Some(summary.clone()));
                self.head.summaries_due.remove(id);
            }
            Event::EffortExpanded { id, turn, tokens_loaded } => {
                self.expand_effort(id, *turn, *tokens_loaded, at);
            }
            Event::EffortCollapsed { id, turn, cause, tokens_freed } => {
                self.collapse_effort(id, *turn, *cause, *tokens_freed, at);
            }
            Event::EffortSwitched { id, turn } => self.enter_effort(id, *turn, at),
            Event::EffortReopened { id, turn } => {
                self.clear_decay(id, at);
                self.head.summaries_due.remove(id);
                self.update_effort(id, at, |effort| {
                    effort.status = EffortStatus::Open;
                    effort.shown = false;
                    effort.expanded = None;
                });
                self.enter_effort(id, *turn, at);
            }
            Event::EffortsReferenced { turn, ids } => {
                for id in ids {
                    self.update_effort(id, at, |effort| {
                        // A turn may end after a later one of another process.
                        effort.last_referenced = effort.last_referenced.max(*turn);
                        effort.shown = effort.is_concluded();
                    });
                }
            }
            Event::SummariesEvicted { turn: _, ids } => {
                for id in ids {
                    self.update_effort(id, at, |effort| effort.shown = false);
                }
                self.head.metrics.evictions += ids.len() as u64;
            }
            Event::SpanCompacted { scope, turn: _, span, receipt: _ } => {
                match scope {
                    Scope::Ambient => self.head.ambient_window.insert(span.clone()),
                    Scope::Effort(id) => self.update_effort(id, at, |effort| effort.window.insert(span.clone())),
                }
                self.head.metrics.compactions += 1;
            }
            Event::EpochBegan { turn: _, cause: _ } => self.head.metrics.epochs += 1,
            Event::TurnCompleted { turn, reply, scope, ledger } => {
                self.settle_turn(*turn, scope, Some(reply.tokens), at);
                let metrics = &mut self.head.metrics;
                metrics.turns_completed += 1;
                metrics.context_tokens = ledger.tokens.total();
                metrics.variable_tokens = ledger.tokens.variable();
                metrics.expansion_tokens = ledger.tokens.get(Layer::Expanded);
                metrics.naive_tokens = ledger.naive_tokens;
                metrics.context_tokens_sum += metrics.context_tokens;
                metrics.variable_tokens_sum += metrics.variable_tokens;
                metrics.naive_tokens_sum += metrics.naive_tokens;
                metrics.context_tokens_peak = metrics.context_tokens_peak.max(metrics.context_tokens);
                metrics.tokens_saved_by_decay += metrics.decayed_tokens_now;
                metrics.cost += ledger.cost;
                metrics.memories.items_used += ledger.memories_used.len() as u64;
            }
            Event::TurnAbandoned { turn, reason, scope } => {
                self.settle_turn(*turn, scope, None, at);
                // A follow-up must not continue a task that a censor ended.
                if matches!(reason, AbandonReason::Censored { .. }) {
                    self.head.task = None;
                }
            }
            Event::TurnClosed { turn, scope } => {
                self.settle_turn(*turn, scope, None, at);
            }
            Event::TurnTakenBack { turn: _, scope, tokens } => {
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
            Event::MessageAdded { turn, message } => {
                self.update_pending(*turn, |pending| pending.tokens += message.tokens);
            }
            Event::HistoryLinked { turn: _, links: _, line, tenant } => {
                self.head.line = Some(line.clone());
                // The first tenant stays: no later event can give the stream to another one.
                self.head.tenant = self.head.tenant.or(*tenant);
            }
            Event::RequestPassed { turn: _, passed } => self.head.metrics.passed += passed,
            Event::ClientCompacted { turn, .. } => self.head.compacted = Some(*turn),
            Event::MemoriesLoaded { turn: _, loaded } => self.head.metrics.memories.record_load(loaded),
            Event::CensorTriggered { .. } => self.head.metrics.memories.censored += 1,
            Event::MemoryChanged { change: _, memory, was } => {
                let agent = self.head.agent.get_or_insert_default();
                agent.apply_change(memory, was.as_ref(), at);
            }
            Event::MemoryErased { id } => self.head.agent.get_or_insert_default().apply_erasure(*id, at),
            Event::Scrubbed { events: _ } => {
                let seq = self.head.seq;
                *self = Self::default();
                self.head.seq = seq;
                self.head.updated = at;
                self.head.scrubbed = true;
            }
        }
    }

    fn open_effort(&mut self, id: &EffortId, name: &str, turn: TurnNo, at: Stamp) {
        self.put_effort(Effort {
            id: id.clone(),
            name: name.to_owned(),
            status: EffortStatus::Open,
            summary: None,
            shown: false,
            expanded: None,
            last_referenced: turn,
            last_active: turn,
            log: LogSize::default(),
            created: at,
            updated: at,
            decayed: None,
            window: Window::default(),
        });
        self.enter_effort(id, turn, at);
    }

    /// Makes an open effort the active one.
    fn enter_effort(&mut self, id: &EffortId, turn: TurnNo, at: Stamp) {
        self.update_effort(id, at, |effort| {
            effort.last_referenced = effort.last_referenced.max(turn);
            effort.last_active = effort.last_active.max(turn);
        });
        if !self.is_open(id) {
            return; // The record that opened it was damaged.
        }
        self.head.active = Some(id.clone());
        self.update_pending(turn, |pending| pending.entered = Some(id.clone()));
    }

    fn is_open(&self, id: &EffortId) -> bool {
        self.efforts.get(id).is_some_and(Effort::is_open)
    }

    fn expand_effort(&mut self, id: &EffortId, turn: TurnNo, tokens_loaded: Tokens, at: Stamp) {
        let decayed = self.effort(id).and_then(|effort| effort.decayed);
        if decayed.is_some_and(|d| turn.since(d.turn) <= self.head.policy.false_decay_turns) {
            self.head.metrics.false_decays += 1;
        }
        self.clear_decay(id, at);
        self.head.metrics.expansions += 1;
        self.update_effort(id, at, |effort| {
            effort.expanded = Some(Expansion { since: turn, at, tokens_loaded });
            effort.shown = true;
            effort.last_referenced = effort.last_referenced.max(turn);
        });
    }

    fn collapse_effort(&mut self, id: &EffortId, turn: TurnNo, cause: CollapseCause, freed: Tokens, at: Stamp) {
        let Some(expansion) = self.effort(id).and_then(|effort| effort.expanded) else { return };
        let metrics = &mut self.head.metrics;
        metrics.expansion_turns_sum += turn.since(expansion.since);
        let decayed = match cause {
            CollapseCause::Asked => {
                metrics.manual_collapses += 1;
                None
            }
            CollapseCause::Crowded | CollapseCause::Restarted => {
                metrics.other_collapses += 1;
                None
            }
            CollapseCause::Decayed { .. } => {
                metrics.auto_collapses += 1;
                metrics.decayed_tokens_now += freed;
                Some(DecayRecord { turn, tokens: freed })
            }
        };
        self.update_effort(id, at, |effort| {
            effort.expanded = None;
            effort.decayed = decayed;
        });
    }

    fn clear_decay(&mut self, id: &EffortId, at: Stamp) {
        if let Some(decayed) = self.effort(id).and_then(|effort| effort.decayed) {
            self.head.metrics.decayed_tokens_now -= decayed.tokens;
            self.update_effort(id, at, |effort| effort.decayed = None);
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

    fn update_pending(&mut self, turn: TurnNo, change: impl FnOnce(&mut PendingTurn)) {
        if let Some(pending) = self.head.pending.get_mut(&turn) {
            change(pending);
        }
    }

    fn update_effort(&mut self, id: &EffortId, at: Stamp, change: impl FnOnce(&mut Effort)) {
        let Some(effort) = self.efforts.get(id) else { return };
        let mut changed = effort.clone();
        change(&mut changed);
        changed.updated = at;
        self.put_effort(changed);
    }
}
