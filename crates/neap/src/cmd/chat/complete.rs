//! Completion: commands after a slash, then the ids that the command can take.

use neap_core::state::SessionState;
use rustyline::completion::{Completer, Pair};
use rustyline::{Context, Helper, Highlighter, Hinter, Validator};

use super::command::COMMANDS;

/// Ids offered, at most.
const IDS_MAX: usize = 500;

#[derive(Default, Helper, Hinter, Highlighter, Validator)]
pub(super) struct Completions {
    ids: Vec<String>,
}

impl Completions {
    pub(super) fn learn(&mut self, state: &SessionState) {
        let near = state.open().chain(state.shown().rev()).chain(state.evicted().rev());
        self.ids = near.take(IDS_MAX).map(|effort| effort.id.to_string()).collect();
    }
}

impl Completer for Completions {
    type Candidate = Pair;

    fn complete(&self, line: &str, pos: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<Pair>)> {
        let typed = &line[..pos];
        if !typed.starts_with('/') {
            return Ok((pos, Vec::new()));
        }
        let start = typed.rfind(' ').map_or(0, |at| at + 1);
        let word = &typed[start..];
        let offer = |text: &str| Pair { display: text.to_owned(), replacement: text.to_owned() };
        let found = if start == 0 {
            COMMANDS.iter().map(|(name, _)| *name).filter(|name| name.starts_with(word)).map(offer).collect()
        } else {
            self.ids.iter().filter(|id| id.starts_with(word)).map(|id| offer(id)).collect()
        };
        Ok((start, found))
    }
}
