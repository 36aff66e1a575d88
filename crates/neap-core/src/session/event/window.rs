//! Events that shorten a prompt: spans of its logs are compacted, and it is rewritten.

use serde::{Deserialize, Serialize};

use crate::base::event_family::event_family;
use crate::base::ids::TurnNo;
use crate::base::message::Scope;
use crate::session::window::Span;
use crate::text::receipt::Receipt;

/// Why a prompt was rewritten.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EpochCause {
    /// There was no prompt, or another process continued the session.
    First,
    /// It would have exceeded the budget.
    Full,
    /// The provider's cache had expired.
    Expired,
    /// A shorter prompt pays for itself.
    Cheaper,
    /// It reached `epoch_turns_max`.
    TurnsOver,
}

event_family! {
    pub enum WindowEvent {
        /// A stretch of a log got a summary; the log itself stays stored.
        "span_compacted" => SpanCompacted {
            scope: Scope,
            turn: TurnNo,
            /// Replaces the spans that it covers.
            span: Span,
            #[serde(default, skip_serializing_if = "Option::is_none")]
            receipt: Option<Box<Receipt>>,
        },
        /// The prompt was rewritten; until the next rewrite it only grows at its end.
        "epoch_began" => EpochBegan {
            turn: TurnNo,
            cause: EpochCause,
        },
    }
}

impl WindowEvent {
    pub fn turn(&self) -> TurnNo {
        match self {
            WindowEvent::SpanCompacted { turn, .. } | WindowEvent::EpochBegan { turn, .. } => *turn,
        }
    }
}
