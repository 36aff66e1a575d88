//! Completes commands after a slash, then effort ids.

use neap_core::session::state::SessionState;
use rustyline::completion::{Completer, Pair};
use rustyline::{Context, Helper, Highlighter, Hinter, Validator};

use super::command::COMMANDS;

const IDS_MAX: usize = 500;

#[derive(Default, Helper, Hinter, Highlighter, Validator)]
pub(super) struct Completions {
    ids: Vec<String>,
}

impl Completions {
    pub(super) fn set_efforts(&mut self, state: &SessionState) {
        let efforts = state.open_efforts().chain(state.shown_efforts().rev()).chain(state.evicted_efforts().rev());
        self.ids = efforts.take(IDS_MAX).map(|effort| effort.id.to_string()).collect();
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
