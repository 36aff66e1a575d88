//! Events of efforts.

use serde::{Deserialize, Serialize};

use crate::base::event_family::event_family;
use crate::base::ids::{EffortId, TurnNo};
use crate::base::tokens::Tokens;
use crate::session::effort::Summary;
use crate::text::receipt::Receipt;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CollapseCause {
    /// By the model or the user.
    Asked,
    Decayed {
        inactive_turns: u64,
    },
    /// Too many other efforts were expanded.
    Crowded,
    /// The session was reopened; expansions do not survive that.
    Restarted,
}

event_family! {
    pub enum EffortEvent {
        /// An effort was opened and became active.
        "effort_opened" => Opened {
            id: EffortId,
            name: String,
            turn: TurnNo,
        },
        /// An effort was concluded; its summary replaces its log in the context.
        "effort_concluded" => Concluded {
            id: EffortId,
            summary: Summary,
            turn: TurnNo,
            next_active: Option<EffortId>,
            /// The turn continued after this summary; one that covers the closing exchange is due.
            #[serde(default, skip_serializing_if = "std::ops::Not::not")]
            provisional: bool,
            /// What the summary retained of the log.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            receipt: Option<Box<Receipt>>,
        },
        /// A concluded effort got a new summary that covers its closing exchange.
        "effort_summarized" => Summarized {
            id: EffortId,
            summary: Summary,
            turn: TurnNo,
            #[serde(default, skip_serializing_if = "Option::is_none")]
            receipt: Option<Box<Receipt>>,
        },
        /// A concluded effort's log returned to the context.
        "effort_expanded" => Expanded {
            id: EffortId,
            turn: TurnNo,
            tokens_loaded: Tokens,
        },
        "effort_collapsed" => Collapsed {
            id: EffortId,
            turn: TurnNo,
            cause: CollapseCause,
            tokens_freed: Tokens,
        },
        "effort_switched" => Switched {
            id: EffortId,
            turn: TurnNo,
        },
        /// A concluded effort is open and active again.
        "effort_reopened" => Reopened {
            id: EffortId,
            turn: TurnNo,
        },
        /// Efforts were mentioned, or a tool call named them.
        "efforts_referenced" => Referenced {
            turn: TurnNo,
            ids: Vec<EffortId>,
        },
        /// Summaries left the context; they stay stored and searchable (I6).
        "summaries_evicted" => Evicted {
            turn: TurnNo,
            ids: Vec<EffortId>,
        },
    }
}

impl EffortEvent {
    pub fn turn(&self) -> TurnNo {
        match self {
            EffortEvent::Opened { turn, .. }
            | EffortEvent::Concluded { turn, .. }
            | EffortEvent::Summarized { turn, .. }
            | EffortEvent::Expanded { turn, .. }
            | EffortEvent::Collapsed { turn, .. }
            | EffortEvent::Switched { turn, .. }
            | EffortEvent::Reopened { turn, .. }
            | EffortEvent::Referenced { turn, .. }
            | EffortEvent::Evicted { turn, .. } => *turn,
        }
    }
}
