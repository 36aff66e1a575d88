//! Keeps efforts by rule where a model does not: small models call no tools, or their servers drop them from the prompt.
//!
//! While the model may still do it, the rules only watch. They take over once the model has called nothing in
//! [`MISSES_MAX`] turns in which a person began work or said that it is over; a call in between starts the count anew.
//! From then on work begins where it is announced, or where it is stated and nothing is in hand. While something is in
//! hand, figures, files and troubles are its details: other work begins only where a person asks for it in plain words,
//! or states it after a long pause. Work ends only on an explicit sign.

use super::topics::{NAME_WORDS, PAUSE_MS, TopicChange, TopicTracker};
use crate::base::ids::Stamp;
use crate::session::state::SessionState;
use crate::text::completion::{Addressee, find_completion};
use crate::text::opening::{OpeningKind, find_opening, opening_name};
use crate::text::phrases::{FOLLOW_UP, normalize};

/// Turns without a call in which one was due.
const MISSES_MAX: u64 = 2;

/// What the rules do, as a person would by a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RuleAction {
    /// Opens an effort, or returns to the one of that name.
    Enter(String),
    Close,
}

/// What a person's message does to the work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sign {
    Begins,
    Ends,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EffortRules {
    topics: TopicTracker,
    last: Option<Stamp>,
    misses: u64,
    /// The work that was begun last and has no effort.
    missed_work: Option<String>,
    has_taken_over: bool,
    /// Of the message in progress.
    sign: Option<Sign>,
}

impl EffortRules {
    /// Takes a person's message, before the model does; returns what must be done first.
    pub fn observe_message(&mut self, state: &SessionState, message: &str, now: Stamp) -> Vec<RuleAction> {
        self.sign = None;
        let is_paused = self.last.replace(now).is_some_and(|last| now.0.saturating_sub(last.0) >= PAUSE_MS);
        let change = self.topics.observe_user(message, now);
        let is_active = state.active_effort().is_some();
        if change == TopicChange::Closes {
            if let Some(name) = next_work(message).filter(|_| self.has_taken_over) {
                let close = is_active.then_some(RuleAction::Close);
                return close.into_iter().chain([RuleAction::Enter(name)]).collect();
            }
            self.sign = (is_active || self.missed_work.is_some()).then_some(Sign::Ends);
            return Vec::new();
        }
        let is_other = matches!(change, TopicChange::Opens(_));
        let Some(kind) = find_opening(message).map(|opening| opening.kind) else { return Vec::new() };
        let declared = kind == OpeningKind::Declared;
        if !self.has_taken_over {
            if let TopicChange::Opens(name) = change
                && (declared || !is_active)
            {
                (self.sign, self.missed_work) = (Some(Sign::Begins), Some(name));
            }
            return Vec::new();
        }
        let begins = match is_active {
            true => declared || is_other && (kind == OpeningKind::Asked || is_paused),
            false => declared || is_other || !FOLLOW_UP.begins(&normalize(message)),
        };
        let name = if begins { opening_name(message, NAME_WORDS) } else { None };
        name.map(RuleAction::Enter).into_iter().collect()
    }

    /// Takes the end of that turn; returns what must be done now, and whether the rules took over just now.
    pub fn observe_end(&mut self, state: &SessionState, has_called: bool) -> (Option<RuleAction>, bool) {
        let sign = self.sign.take();
        if has_called {
            (self.misses, self.missed_work) = (0, None);
            return (None, false);
        }
        let had_taken_over = self.has_taken_over;
        self.misses += u64::from(sign.is_some());
        self.has_taken_over |= self.misses >= MISSES_MAX;
        if !self.has_taken_over {
            return (None, false);
        }
        let missed = self.missed_work.take();
        let action = match sign {
            Some(Sign::Ends) => state.active_effort().is_some().then_some(RuleAction::Close),
            Some(Sign::Begins) | None => missed.map(RuleAction::Enter),
        };
        (action, !had_taken_over)
    }
}

/// The work that a message begins after it says that other work is over.
fn next_work(message: &str) -> Option<String> {
    let after = find_completion(message, Addressee::Agent)?.rest;
    find_opening(&after)?;
    opening_name(&after, NAME_WORDS)
}

#[cfg(test)]
#[path = "effort_rules_tests.rs"]
mod tests;
