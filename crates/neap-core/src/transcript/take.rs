//! Taking in what was said: each message in its exchange, efforts where work begins, secrets masked.

use super::{Step, What};
use crate::event::{Event, Recorded};
use crate::ids::Stamp;
use crate::ingest::{Block, Item, Sign, Topics, messages, open, says_over, tell};
use crate::memory::Author;
use crate::message::Counted;
use crate::route::route;
use crate::secrets::mask_item;
use crate::state::SessionState;
use crate::tokens::TokenCounter;

/// What is known while a conversation is taken in.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Taking {
    topics: Topics,
    is_over: bool,
    /// Secrets that were masked.
    pub masked: u64,
}

impl Taking {
    /// Goes on with a session; `asked` is what the person said in the turn that has no end yet.
    pub fn resumed(state: &SessionState, asked: Option<&str>) -> Self {
        let topics = state.active().map_or_else(Topics::default, |effort| {
            let task = state.head().task.as_deref().unwrap_or_default();
            Topics::resumed(&format!("{} {task}", effort.name))
        });
        Self { topics, is_over: asked.is_some_and(says_over), masked: 0 }
    }

    /// Whether the work in play is concluded before this step is taken, or after all of them. Only an explicit sign concludes, and
    /// its answer is still part of the work.
    pub fn concludes(&mut self, state: &SessionState, last: Option<&Step>, next: Option<&Step>) -> bool {
        let is_answered = match next {
            Some(next) => next.begins_turn(),
            None => last.is_some_and(Step::ends_turn),
        };
        let concludes = self.is_over && is_answered && state.active().is_some();
        self.is_over &= !is_answered;
        concludes
    }

    /// Takes a step; what happens is in the state already.
    pub fn take(
        &mut self,
        state: &mut SessionState,
        counter: &dyn TokenCounter,
        step: &Step,
        author: Author,
        now: Stamp,
    ) -> Vec<Recorded> {
        let What::Said(item) = &step.what else { return close(state, step.at.unwrap_or(now)) };
        let at = step.at.unwrap_or(now);
        let mut out = Vec::new();
        let (item, masked) = mask_item(state.masking(), item.clone());
        let item = &item;
        self.masked += u64::from(masked);
        for message in messages(item) {
            let message = Counted::new(counter, message);
            for event in tell(state, message, author) {
                out.push(state.record(at, event));
            }
        }
        if let Sign::Opens(name) = self.look_at(item, at)
            && let Some(event) = open(state, &name)
        {
            out.push(state.record(at, event));
        }
        out
    }

    /// What an item is to the work in play.
    fn look_at(&mut self, item: &Item, at: Stamp) -> Sign {
        if !item.begins_turn() {
            self.topics.see(&item.text());
            return Sign::GoesOn;
        }
        let said = item.blocks.iter().rev().map(Block::words).find(|words| !words.trim().is_empty());
        // Work is named after what was said.
        let sign = said.map_or(Sign::GoesOn, |said| self.topics.hear(&said, at));
        self.is_over = sign == Sign::Closes;
        sign
    }
}

/// Ends the exchange that goes on: what follows begins with a summary of it.
fn close(state: &mut SessionState, at: Stamp) -> Vec<Recorded> {
    let closed: Vec<Event> = (state.head().pending.iter())
        .map(|(turn, pending)| Event::TurnClosed { turn: *turn, scope: route(pending) })
        .collect();
    closed.into_iter().map(|event| state.record(at, event)).collect()
}
