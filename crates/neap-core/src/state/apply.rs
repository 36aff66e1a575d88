//! What each event does to the state. Nothing here decides; it only follows.

use super::{Pending, SessionState};
use crate::effort::{Decayed, Effort, EffortStatus, Expansion, LogSize};
use crate::event::{AbandonReason, CollapseCause, Event, Recorded, RoundVisibility};
use crate::ids::{EffortId, Stamp, TurnNo};
use crate::knowledge::task_after;
use crate::ledger::Layer;
use crate::message::Scope;
use crate::tokens::Tokens;
use crate::window::Window;

impl SessionState {
    /// Follows one event. Events come in order, each once.
    pub fn apply(&mut self, recorded: &Recorded) {
        let at = recorded.at;
        assert_eq!(recorded.seq, self.head.seq.next(), "I3: events are applied in order");
        self.head.seq = recorded.seq;
        self.head.updated = at;
        // The event that began a turn may be damaged: the number of a turn that others tell of is not given again.
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
                let pending = Pending {
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
                    self.in_turn(*turn, |pending| pending.tokens += round.tokens());
                }
                RoundVisibility::ThisTurn => {}
            },
            Event::EffortOpened { id, name, turn } => self.opened(id, name, *turn, at),
            Event::EffortConcluded { id, summary, turn, next_active, provisional, receipt: _ } => {
                self.change(id, at, |effort| {
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
                // After a damaged record the next one may be unknown, or not open.
                self.head.active = next_active.clone().filter(|next| self.is_open(next));
                if let Some(next) = next_active {
                    self.change(next, at, |effort| effort.last_active = effort.last_active.max(*turn));
                }
            }
            Event::EffortSummarized { id, summary, turn: _, receipt: _ } => {
                self.change(id, at, |effort| effort.summary = Some(summary.clone()));
                self.head.summaries_due.remove(id);
            }
            Event::EffortExpanded { id, turn, tokens_loaded } => {
                self.expanded_effort(id, *turn, *tokens_loaded, at);
            }
            Event::EffortCollapsed { id, turn, cause, tokens_freed } => {
                self.collapsed(id, *turn, *cause, *tokens_freed, at);
            }
            Event::EffortSwitched { id, turn } => self.entered(id, *turn, at),
            Event::EffortReopened { id, turn } => {
                self.forget_decay(id, at);
                self.head.summaries_due.remove(id);
                self.change(id, at, |effort| {
                    effort.status = EffortStatus::Open;
                    effort.shown = false;
                    effort.expanded = None;
                });
                self.entered(id, *turn, at);
            }
            Event::EffortsReferenced { turn, ids } => {
                for id in ids {
                    self.change(id, at, |effort| {
                        // A turn may end after a later one of another process.
                        effort.last_referenced = effort.last_referenced.max(*turn);
                        effort.shown = effort.is_concluded();
                    });
                }
            }
            Event::SummariesEvicted { turn: _, ids } => {
                for id in ids {
                    self.change(id, at, |effort| effort.shown = false);
                }
                self.head.metrics.evictions += ids.len() as u64;
            }
            Event::SpanCompacted { scope, turn: _, span, receipt: _ } => {
                match scope {
                    Scope::Ambient => self.head.ambient_window.put(span.clone()),
                    Scope::Effort(id) => self.change(id, at, |effort| effort.window.put(span.clone())),
                }
                self.head.metrics.compactions += 1;
            }
            Event::EpochBegan { turn: _, cause: _ } => self.head.metrics.epochs += 1,
            Event::TurnCompleted { turn, reply, scope, ledger } => {
                self.settle(*turn, scope, Some(reply.tokens), at);
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
                self.settle(*turn, scope, None, at);
                // What a rule ended is nothing to go on with.
                if matches!(reason, AbandonReason::Censored { .. }) {
                    self.head.task = None;
                }
            }
            Event::TurnClosed { turn, scope } => {
                self.settle(*turn, scope, None, at);
            }
            Event::TurnTakenBack { turn: _, scope, tokens } => {
                self.head.all_logs.take(*tokens);
                match scope {
                    Scope::Ambient => self.head.ambient.take(*tokens),
                    Scope::Effort(id) => self.change(id, at, |effort| {
                        effort.log.take(*tokens);
                        // An effort that was reopened: the summary of before may tell of it.
                        effort.summary = None;
                    }),
                }
                self.head.task = None;
            }
            Event::MessageAdded { turn, message } => {
                self.in_turn(*turn, |pending| pending.tokens += message.tokens);
            }
            Event::HistoryLinked { turn: _, links: _, line, tenant } => {
                self.head.line = Some(line.clone());
                // An owner stays: no later event can give the stream to somebody else.
                self.head.tenant = self.head.tenant.or(*tenant);
            }
            Event::RequestPassed { turn: _, passed } => self.head.metrics.passed += passed,
            Event::ClientCompacted { turn, .. } => self.head.compacted = Some(*turn),
            Event::MemoriesLoaded { turn: _, loaded } => self.head.metrics.memories.follow(loaded),
            Event::CensorTriggered { .. } => self.head.metrics.memories.censored += 1,
            Event::MemoryChanged { change: _, memory, was } => {
                let agent = self.head.agent.get_or_insert_default();
                agent.follow(memory, was.as_ref(), at);
            }
            Event::MemoryErased { id } => self.head.agent.get_or_insert_default().forget(*id, at),
            Event::Scrubbed { events: _ } => {
                let seq = self.head.seq;
                *self = Self::default();
                self.head.seq = seq;
                self.head.updated = at;
                self.head.scrubbed = true;
            }
        }
    }

    fn opened(&mut self, id: &EffortId, name: &str, turn: TurnNo, at: Stamp) {
        self.put(Effort {
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
        self.entered(id, turn, at);
    }

    /// An open effort becomes the active one.
    fn entered(&mut self, id: &EffortId, turn: TurnNo, at: Stamp) {
        self.change(id, at, |effort| {
            effort.last_referenced = effort.last_referenced.max(turn);
            effort.last_active = effort.last_active.max(turn);
        });
        if !self.is_open(id) {
            return; // Its opening was a damaged record.
        }
        self.head.active = Some(id.clone());
        self.in_turn(turn, |pending| pending.entered = Some(id.clone()));
    }

    fn is_open(&self, id: &EffortId) -> bool {
        self.efforts.get(id).is_some_and(Effort::is_open)
    }

    fn expanded_effort(&mut self, id: &EffortId, turn: TurnNo, tokens_loaded: Tokens, at: Stamp) {
        let decayed = self.effort(id).and_then(|effort| effort.decayed);
        if decayed.is_some_and(|d| turn.since(d.turn) <= self.head.policy.false_decay_turns) {
            self.head.metrics.false_decays += 1;
        }
        self.forget_decay(id, at);
        self.head.metrics.expansions += 1;
        self.change(id, at, |effort| {
            effort.expanded = Some(Expansion { since: turn, at, tokens_loaded });
            effort.shown = true;
            effort.last_referenced = effort.last_referenced.max(turn);
        });
    }

    fn collapsed(&mut self, id: &EffortId, turn: TurnNo, cause: CollapseCause, freed: Tokens, at: Stamp) {
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
                Some(Decayed { turn, tokens: freed })
            }
        };
        self.change(id, at, |effort| {
            effort.expanded = None;
            effort.decayed = decayed;
        });
    }

    fn forget_decay(&mut self, id: &EffortId, at: Stamp) {
        if let Some(decayed) = self.effort(id).and_then(|effort| effort.decayed) {
            self.head.metrics.decayed_tokens_now -= decayed.tokens;
            self.change(id, at, |effort| effort.decayed = None);
        }
    }

    /// A turn is over: what was said in it belongs to a log now. A reply whose beginning was a damaged record is
    /// still something said.
    fn settle(&mut self, turn: TurnNo, scope: &Scope, reply: Option<Tokens>, at: Stamp) {
        let begun = self.head.pending.remove(&turn).map(|pending| pending.tokens);
        let tokens = match (begun, reply) {
            (None, None) => return,
            (begun, reply) => begun.unwrap_or_default() + reply.unwrap_or_default(),
        };
        self.head.all_logs.add(tokens);
        match scope {
            Scope::Ambient => self.head.ambient.add(tokens),
            Scope::Effort(id) => self.change(id, at, |effort| effort.log.add(tokens)),
        }
    }

    fn in_turn(&mut self, turn: TurnNo, change: impl FnOnce(&mut Pending)) {
        if let Some(pending) = self.head.pending.get_mut(&turn) {
            change(pending);
        }
    }

    fn change(&mut self, id: &EffortId, at: Stamp, change: impl FnOnce(&mut Effort)) {
        let Some(effort) = self.efforts.get(id) else { return };
        let mut changed = effort.clone();
        change(&mut changed);
        changed.updated = at;
        self.put(changed);
    }
}
