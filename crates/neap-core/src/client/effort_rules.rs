//! Keeps efforts by rule where a model does not: small models call no tools, or their servers drop them from the prompt.
//!
//! While the model may still do it, the rules only watch. They take over once the model has called nothing in
//! [`MISSES_MAX`] turns in which a person began work or said that it is over; a call in between starts the count anew.
//! From then on work begins and ends as in a client's conversation ([`TopicTracker`]).

use super::topics::{TopicChange, TopicTracker};
use crate::base::ids::Stamp;
use crate::session::state::SessionState;
use crate::text::opening::{OpeningKind, find_opening};

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
    misses: u64,
    /// The work that was begun last and has no effort.
    missed_work: Option<String>,
    has_taken_over: bool,
    /// Of the message in progress.
    sign: Option<Sign>,
}

impl EffortRules {
    /// Takes a person's message, before the model does; returns what must be done first.
    pub fn observe_message(&mut self, state: &SessionState, message: &str, now: Stamp) -> Option<RuleAction> {
        self.sign = None;
        match self.topics.observe_user(message, now) {
            TopicChange::Opens(name) if self.has_taken_over => return Some(RuleAction::Enter(name)),
            TopicChange::Opens(name) if is_due(state, message) => {
                (self.sign, self.missed_work) = (Some(Sign::Begins), Some(name));
            }
            TopicChange::Closes if state.active_effort().is_some() || self.missed_work.is_some() => {
                self.sign = Some(Sign::Ends);
            }
            TopicChange::Opens(_) | TopicChange::Closes | TopicChange::Continues => {}
        }
        None
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

/// Whether a model that keeps efforts would open one for the message.
fn is_due(state: &SessionState, message: &str) -> bool {
    let kind = find_opening(message).map(|opening| opening.kind);
    kind == Some(OpeningKind::Declared) || (kind.is_some() && state.active_effort().is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORK: &str = "Users get a 401 an hour after login, help me find out why";
    const OTHER: &str = "New topic: the nightly backup of the billing database fails";
    const CHATTER: &str = "Which planet has the most moons?";
    const DONE: &str = "That fixed it, we are done with this.";

    /// Says messages to a model that calls something in the turns that are marked; gives what the rules did, and in
    /// which turn they took over.
    fn run(turns: &[(&str, bool)]) -> (Vec<(usize, RuleAction)>, Option<usize>) {
        let (state, mut rules) = (SessionState::default(), EffortRules::default());
        let (mut done, mut since) = (Vec::new(), None);
        for (at, (message, has_called)) in turns.iter().enumerate() {
            done.extend(rules.observe_message(&state, message, Stamp(at as i64)).map(|action| (at, action)));
            let (action, took_over) = rules.observe_end(&state, *has_called);
            done.extend(action.map(|action| (at, action)));
            since = since.or(took_over.then_some(at));
        }
        (done, since)
    }

    #[test]
    fn the_rules_take_over_from_a_model_that_calls_nothing() {
        let (done, since) =
            run(&[(WORK, false), (CHATTER, false), (OTHER, false), (CHATTER, false), (WORK, false)]);
        assert_eq!(since, Some(2), "{done:?}");
        let at: Vec<usize> = done.iter().map(|(at, _)| *at).collect();
        assert_eq!(at, [2, 4], "what was missed at once, what comes before its turn: {done:?}");
        assert!(matches!(&done[0].1, RuleAction::Enter(name) if name.contains("backup")), "{done:?}");
    }

    #[test]
    fn a_model_that_calls_keeps_its_efforts_itself() {
        let turns = [(WORK, false), (CHATTER, true), (OTHER, false), (WORK, true), (OTHER, true), (DONE, false)];
        assert_eq!(run(&turns), (Vec::new(), None));
    }

    #[test]
    fn talk_alone_is_no_miss() {
        assert_eq!(run(&[(CHATTER, false); 40]), (Vec::new(), None));
    }
}
