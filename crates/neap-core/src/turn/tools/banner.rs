//! Lines for the person about what a tool or decay did. Written by the program, never by the model.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::base::ids::EffortId;
use crate::base::tokens::Tokens;
use crate::memory::{CensorAction, MemoryId};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Banner {
    Started {
        id: EffortId,
    },
    Concluded {
        id: EffortId,
        summary: String,
    },
    Expanded {
        id: EffortId,
        tokens_loaded: Tokens,
    },
    Collapsed {
        id: EffortId,
    },
    Switched {
        id: EffortId,
    },
    Reopened {
        id: EffortId,
    },
    AutoCollapsed {
        id: EffortId,
        inactive_turns: u64,
    },
    /// The model calls no tools: from here on it is offered none, and the program opens and closes efforts by what the person
    /// says.
    KeptByRule,
    /// A memory was recorded or changed.
    Learnt {
        /// What was done, e.g. `Remembered`.
        did: String,
        id: MemoryId,
        /// The record in one line.
        text: String,
    },
    /// A censor matched.
    Censored {
        id: MemoryId,
        action: CensorAction,
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
            Banner::KeptByRule => {
                f.write_str(
                    "--- The model calls no tools and is offered none any more: efforts begin and end by what you say ---",
                )
            }
            Banner::Learnt { did, id, text } if text.is_empty() => write!(f, "--- {did} {id} ---"),
            Banner::Learnt { did, id, text } => write!(f, "--- {did} {id}: {text} ---"),
            Banner::Censored { id, action, reason } => {
                let did = match action {
                    CensorAction::Steer => "warns",
                    CensorAction::Refuse => "refused this",
                    CensorAction::Abort => "ended the turn",
                };
                write!(f, "--- Rule {id} {did}: {reason} ---")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// People and programs know these lines: they stay exactly as they are.
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
