//! Lines for the human about what a tool, or time, did. Made by the program, never by the model.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::ids::EffortId;
use crate::memory::{Action, MemoryId};
use crate::tokens::Tokens;

/// One announcement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Banner {
    /// `open_effort`.
    Started {
        /// Which.
        id: EffortId,
    },
    /// `close_effort`.
    Concluded {
        /// Which.
        id: EffortId,
        /// What stands for it now.
        summary: String,
    },
    /// `expand_effort`.
    Expanded {
        /// Which.
        id: EffortId,
        /// By how much the context grew.
        tokens_loaded: Tokens,
    },
    /// `collapse_effort`.
    Collapsed {
        /// Which.
        id: EffortId,
    },
    /// `switch_effort`.
    Switched {
        /// Which.
        id: EffortId,
    },
    /// `reopen_effort`.
    Reopened {
        /// Which.
        id: EffortId,
    },
    /// Decay.
    AutoCollapsed {
        /// Which.
        id: EffortId,
        /// Turns without a reference.
        inactive_turns: u64,
    },
    /// What the agent knows changed.
    Learnt {
        /// What was done: `Remembered`.
        did: String,
        /// Which.
        id: MemoryId,
        /// The record, in one line.
        text: String,
    },
    /// A rule was met.
    Censored {
        /// Which.
        id: MemoryId,
        /// What it did.
        action: Action,
        /// What it says.
        reason: String,
    },
}

impl fmt::Display for Banner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Banner::Started { id } => write!(f, "--- Started effort: {id} ---"),
            Banner::Concluded { id, summary } => {
                write!(f, "--- Concluded effort: {id} ---\nSummary: {summary}")
            }
            Banner::Expanded { id, tokens_loaded } => {
                write!(f, "--- Expanded effort: {id} ({tokens_loaded} tokens loaded) ---")
            }
            Banner::Collapsed { id } => write!(f, "--- Collapsed effort: {id} (back to summary) ---"),
            Banner::Switched { id } => write!(f, "--- Switched to effort: {id} ---"),
            Banner::Reopened { id } => write!(f, "--- Reopened effort: {id} ---"),
            Banner::AutoCollapsed { id, inactive_turns } => {
                write!(f, "--- Auto-collapsed effort: {id} (inactive for {inactive_turns} turns) ---")
            }
            Banner::Learnt { did, id, text } if text.is_empty() => write!(f, "--- {did} {id} ---"),
            Banner::Learnt { did, id, text } => write!(f, "--- {did} {id}: {text} ---"),
            Banner::Censored { id, action, reason } => {
                let did = match action {
                    Action::Steer => "warns",
                    Action::Refuse => "refused this",
                    Action::Abort => "ended the turn",
                };
                write!(f, "--- Rule {id} {did}: {reason} ---")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// DESIGN, Prior behaviour worth keeping exactly.
    #[test]
    fn banners_read_as_they_always_did() {
        let id = || EffortId::parse("auth-bug").expect("a slug");
        let check = |banner: Banner, want: &str| assert_eq!(banner.to_string(), want);
        check(Banner::Started { id: id() }, "--- Started effort: auth-bug ---");
        check(
            Banner::Concluded { id: id(), summary: "Fixed.".into() },
            "--- Concluded effort: auth-bug ---\nSummary: Fixed.",
        );
        check(
            Banner::Expanded { id: id(), tokens_loaded: Tokens(423) },
            "--- Expanded effort: auth-bug (423 tokens loaded) ---",
        );
        check(Banner::Collapsed { id: id() }, "--- Collapsed effort: auth-bug (back to summary) ---");
        check(Banner::Switched { id: id() }, "--- Switched to effort: auth-bug ---");
        check(Banner::Reopened { id: id() }, "--- Reopened effort: auth-bug ---");
        check(
            Banner::AutoCollapsed { id: id(), inactive_turns: 3 },
            "--- Auto-collapsed effort: auth-bug (inactive for 3 turns) ---",
        );
    }
}
