//! Events of a turn: its messages, its tool calls and its end.

use serde::{Deserialize, Serialize};

use crate::base::event_family::event_family;
use crate::base::ids::TurnNo;
use crate::base::ledger::Ledger;
use crate::base::memory_id::MemoryId;
use crate::base::message::{CountedMessage, Scope, ToolRound};
use crate::base::provenance::Author;
use crate::base::tokens::Tokens;

/// Whether later turns still show a tool round.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RoundVisibility {
    /// Tools of the host: their output is part of the conversation.
    Transcript,
    /// Effort tools: their effect is visible, so the calls themselves are shown only in their turn.
    ThisTurn,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AbandonReason {
    ProcessEnded,
    ModelFailed {
        message: String,
    },
    Interrupted,
    /// A person's censor ended the turn; nobody else's may abort.
    Censored {
        id: MemoryId,
        reason: String,
    },
}

event_family! {
    pub enum TurnEvent {
        /// A user message was accepted and is durable from here on (I2).
        "turn_started" => Started {
            turn: TurnNo,
            message: CountedMessage,
            /// The caller's own id for the turn; sending it again has no effect.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            turn_id: Option<String>,
            /// Who wrote the message, according to the surface that received it. Older events have none.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            author: Option<Author>,
        },
        "tools_called" => ToolsCalled {
            /// The turn, or the latest one if a person or host called from outside a turn.
            turn: TurnNo,
            /// Calls with their results (I7).
            round: ToolRound,
            visibility: RoundVisibility,
        },
        /// A host that runs the model itself added a message to a turn.
        "message_added" => MessageAdded {
            turn: TurnNo,
            message: CountedMessage,
        },
        "turn_completed" => Completed {
            turn: TurnNo,
            reply: CountedMessage,
            /// The log that the exchange belongs to.
            scope: Scope,
            ledger: Box<Ledger>,
        },
        /// A turn ended without a reply; the user's message stays.
        "turn_abandoned" => Abandoned {
            turn: TurnNo,
            reason: AbandonReason,
            scope: Scope,
        },
        /// A turn that a host recorded message by message is over.
        "turn_closed" => Closed {
            turn: TurnNo,
            scope: Scope,
        },
        /// A person undid the last turn. It leaves its log, the context and search, but stays stored; the effects of
        /// its tool calls are not undone.
        "turn_taken_back" => TakenBack {
            turn: TurnNo,
            scope: Scope,
            tokens: Tokens,
        },
    }
}

impl TurnEvent {
    pub fn turn(&self) -> TurnNo {
        match self {
            TurnEvent::Started { turn, .. }
            | TurnEvent::ToolsCalled { turn, .. }
            | TurnEvent::MessageAdded { turn, .. }
            | TurnEvent::Completed { turn, .. }
            | TurnEvent::Abandoned { turn, .. }
            | TurnEvent::Closed { turn, .. }
            | TurnEvent::TakenBack { turn, .. } => *turn,
        }
    }

    /// The messages it adds to the transcript: the user's message, a host's tool rounds, the reply.
    pub fn transcript_messages(&self) -> Vec<&CountedMessage> {
        match self {
            TurnEvent::Started { message: counted, .. }
            | TurnEvent::MessageAdded { message: counted, .. }
            | TurnEvent::Completed { reply: counted, .. } => vec![counted],
            TurnEvent::ToolsCalled { round, visibility: RoundVisibility::Transcript, .. } => {
                round.messages().collect()
            }
            TurnEvent::ToolsCalled { visibility: RoundVisibility::ThisTurn, .. }
            | TurnEvent::Abandoned { .. }
            | TurnEvent::Closed { .. }
            | TurnEvent::TakenBack { .. } => Vec::new(),
        }
    }
}
