//! Applies the events of efforts.

use super::SessionState;
use crate::base::ids::{EffortId, Stamp, TurnNo};
use crate::base::tokens::Tokens;
use crate::session::effort::{DecayRecord, Effort, EffortStatus, Expansion, LogSize};
use crate::session::event::{CollapseCause, EffortEvent};
use crate::session::window::Window;

impl SessionState {
    pub(super) fn apply_effort(&mut self, event: &EffortEvent, at: Stamp) {
        match event {
            EffortEvent::Opened { id, name, turn } => self.open_effort(id, name, *turn, at),
            EffortEvent::Concluded { id, summary, turn, next_active, provisional, receipt: _ } => {
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
            EffortEvent::Summarized { id, summary, turn: _, receipt: _ } => {
                self.update_effort(id, at, |effort| effort.summary = Some(summary.clone()));
                self.head.summaries_due.remove(id);
            }
            EffortEvent::Expanded { id, turn, tokens_loaded } => {
                self.expand_effort(id, *turn, *tokens_loaded, at);
            }
            EffortEvent::Collapsed { id, turn, cause, tokens_freed } => {
                self.collapse_effort(id, *turn, *cause, *tokens_freed, at);
            }
            EffortEvent::Switched { id, turn } => self.enter_effort(id, *turn, at),
            EffortEvent::Reopened { id, turn } => {
                self.clear_decay(id, at);
                self.head.summaries_due.remove(id);
                self.update_effort(id, at, |effort| {
                    effort.status = EffortStatus::Open;
                    effort.shown = false;
                    effort.expanded = None;
                });
                self.enter_effort(id, *turn, at);
            }
            EffortEvent::Referenced { turn, ids } => {
                for id in ids {
                    self.update_effort(id, at, |effort| {
                        // A turn may end after a later one of another process.
                        effort.last_referenced = effort.last_referenced.max(*turn);
                        effort.shown = effort.is_concluded();
                    });
                }
            }
            EffortEvent::Evicted { turn: _, ids } => {
                for id in ids {
                    self.update_effort(id, at, |effort| effort.shown = false);
                }
                self.head.metrics.evictions += ids.len() as u64;
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
}
