//! What to do when an agent that runs its own model calls at a certain moment, and what it is told.
//!
//! Agents call a command of ours at such moments, with an event as JSON; what that answers stands in their context. So an answer is short,
//! says facts and no commands, and is marked as data. Where there is nothing to say, nothing is said.

mod called;
mod page;
#[cfg(test)]
mod tests;

pub use called::{Called, Moment, Told};
pub use page::{OpenWork, PARTS, Rooms, answer, bears, open_work, works};

/// What is done at a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Todo {
    /// Whether what is new in the agent's transcript is taken in.
    pub takes_in: bool,
    /// Whether the same is done with what waits from before.
    pub catches_up: bool,
    /// Whether it is only noted that there is something to take in: there is no time for more.
    pub waits: bool,
    /// Whether the session's folder is brought up to date.
    pub shows: bool,
    /// What is said.
    pub says: Says,
}

/// What is said at a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Says {
    /// Nothing.
    Nothing,
    /// What is open, and what always holds.
    Recap,
    /// What bears on what is asked.
    Recall,
}

impl Moment {
    /// What is done at it.
    pub fn todo(self) -> Todo {
        let takes_in = Todo { takes_in: true, catches_up: false, waits: false, shows: false, says: Says::Nothing };
        match self {
            Moment::SessionStart => Todo { catches_up: true, says: Says::Recap, ..takes_in },
            Moment::UserPromptSubmit => Todo { says: Says::Recall, ..takes_in },
            Moment::PostToolUse | Moment::PreCompact | Moment::PostCompact => takes_in,
            Moment::Stop | Moment::SubagentStop => Todo { shows: true, ..takes_in },
            Moment::SessionEnd => Todo { takes_in: false, waits: true, ..takes_in },
        }
    }
}
