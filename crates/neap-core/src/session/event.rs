//! The event log: what happened, in the past tense. Everything else is a fold over these events.

use serde::{Deserialize, Serialize};

use crate::base::ids::{EffortId, Seq, SessionId, Stamp, TurnNo};
use crate::base::ledger::Ledger;
use crate::base::message::{CountedMessage, Scope, ToolRound};
use crate::base::policy::Policy;
use crate::base::tenant::Tenant;
use crate::base::tokens::Tokens;
use crate::memory::knowledge::MemoryLoad;
use crate::memory::{Author, CensorAction, CensorSide, Change, CountedState, Memory, MemoryId};
use crate::session::effort::Summary;
use crate::session::request_account::HistoryHead;
use crate::session::request_account::HistoryLink;
use crate::session::request_account::RequestAccount;
use crate::session::window::Span;
use crate::text::receipt::Receipt;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RecordedEvent {
    pub seq: Seq,
    /// The recording process's clock. Events are ordered by `seq`, never by this.
    pub at: Stamp,
    pub event: Event,
}

/// Whether later turns still show a tool round.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RoundVisibility {
    /// Tools of the host: their output is part of the conversation.
    Transcript,
    /// Effort tools: their effect is visible, so the calls themselves are shown only in their turn.
    ThisTurn,
}

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

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Event {
    SessionCreated {
        session: SessionId,
        /// The token encoding that its counts use.
        encoding: String,
        policy: Policy,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        imported_from: Option<String>,
    },
    PolicyChanged {
        /// All settings after the change.
        policy: Policy,
    },
    /// A user message was accepted and is durable from here on (I2).
    TurnStarted {
        turn: TurnNo,
        message: CountedMessage,
        /// The caller's own id for the turn; sending it again has no effect.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        turn_id: Option<String>,
        /// Who wrote the message, according to the surface that received it. Older events have none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        author: Option<Author>,
    },
    ToolsCalled {
        /// The turn, or the latest one if a person or host called from outside a turn.
        turn: TurnNo,
        /// Calls with their results (I7).
        round: ToolRound,
        visibility: RoundVisibility,
    },
    /// An effort was opened and became active.
    EffortOpened {
        id: EffortId,
        name: String,
        turn: TurnNo,
    },
    /// An effort was concluded; its summary replaces its log in the context.
    EffortConcluded {
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
    EffortSummarized {
        id: EffortId,
        summary: Summary,
        turn: TurnNo,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        receipt: Option<Box<Receipt>>,
    },
    /// A concluded effort's log returned to the context.
    EffortExpanded {
        id: EffortId,
        turn: TurnNo,
        tokens_loaded: Tokens,
    },
    EffortCollapsed {
        id: EffortId,
        turn: TurnNo,
        cause: CollapseCause,
        tokens_freed: Tokens,
    },
    EffortSwitched {
        id: EffortId,
        turn: TurnNo,
    },
    /// A concluded effort is open and active again.
    EffortReopened {
        id: EffortId,
        turn: TurnNo,
    },
    /// Efforts were mentioned, or a tool call named them.
    EffortsReferenced {
        turn: TurnNo,
        ids: Vec<EffortId>,
    },
    /// Summaries left the context; they stay stored and searchable (I6).
    SummariesEvicted {
        turn: TurnNo,
        ids: Vec<EffortId>,
    },
    /// A stretch of a log got a summary; the log itself stays stored.
    SpanCompacted {
        scope: Scope,
        turn: TurnNo,
        /// Replaces the spans that it covers.
        span: Span,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        receipt: Option<Box<Receipt>>,
    },
    /// The prompt was rewritten; until the next rewrite it only grows at its end.
    EpochBegan {
        turn: TurnNo,
        cause: EpochCause,
    },
    TurnCompleted {
        turn: TurnNo,
        reply: CountedMessage,
        /// The log that the exchange belongs to.
        scope: Scope,
        ledger: Box<Ledger>,
    },
    /// A turn ended without a reply; the user's message stays.
    TurnAbandoned {
        turn: TurnNo,
        reason: AbandonReason,
        scope: Scope,
    },
    /// A host that runs the model itself added a message to a turn.
    MessageAdded {
        turn: TurnNo,
        message: CountedMessage,
    },
    /// A turn that a host recorded message by message is over.
    TurnClosed {
        turn: TurnNo,
        scope: Scope,
    },
    /// A person undid the last turn. It leaves its log, the context and search, but stays stored; the effects of
    /// its tool calls are not undone.
    TurnTakenBack {
        turn: TurnNo,
        scope: Scope,
        tokens: Tokens,
    },
    /// A client sent its history or received a response: what is new, and where the history ends now.
    HistoryLinked {
        turn: TurnNo,
        links: Vec<HistoryLink>,
        line: HistoryHead,
        /// A digest of the credentials that the proxy's caller presented. Recorded once per stream, with its first
        /// links, or when a stream older than this field continues.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tenant: Option<Tenant>,
    },
    /// A client's request was forwarded and answered, at least in part.
    RequestPassed {
        turn: TurnNo,
        passed: RequestAccount,
    },
    /// A client that holds the conversation itself replaced everything so far with a summary.
    ClientCompacted {
        /// The last turn that the summary covers.
        turn: TurnNo,
        /// The first turn that it covers.
        first: TurnNo,
        /// Tokens of the turns it covers.
        source_tokens: Tokens,
        summary_tokens: Tokens,
        receipt: Box<Receipt>,
        /// The turns of the receipt's lost examples, in the receipt's order.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        places: Vec<TurnNo>,
    },
    /// An agent's memories were searched for this turn and some were selected for the context.
    MemoriesLoaded {
        turn: TurnNo,
        loaded: Box<MemoryLoad>,
    },
    /// A censor matched.
    CensorTriggered {
        turn: TurnNo,
        id: MemoryId,
        side: CensorSide,
        action: CensorAction,
    },
    /// A memory was recorded or changed. Only in an agent's stream.
    MemoryChanged {
        #[serde(flatten)]
        change: Change,
        /// The whole record after the change.
        memory: Box<Memory>,
        /// What it counted as before; `None` for a new record.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        was: Option<CountedState>,
    },
    /// A person erased a memory. The store writes this in place of each of the memory's events, and once more at
    /// the end of the stream to mark the time. Nothing else writes it.
    MemoryErased {
        /// Never reused.
        id: MemoryId,
    },
    /// A person erased the session; nothing else of it is left.
    Scrubbed {
        events: u64,
    },
}

impl Event {
    /// The name of its kind in the store.
    pub fn kind(&self) -> &'static str {
        match self {
            Event::SessionCreated { .. } => "session_created",
            Event::PolicyChanged { .. } => "policy_changed",
            Event::TurnStarted { .. } => "turn_started",
            Event::ToolsCalled { .. } => "tools_called",
            Event::EffortOpened { .. } => "effort_opened",
            Event::EffortConcluded { .. } => "effort_concluded",
            Event::EffortSummarized { .. } => "effort_summarized",
            Event::EffortExpanded { .. } => "effort_expanded",
            Event::EffortCollapsed { .. } => "effort_collapsed",
            Event::EffortSwitched { .. } => "effort_switched",
            Event::EffortReopened { .. } => "effort_reopened",
            Event::EffortsReferenced { .. } => "efforts_referenced",
            Event::SummariesEvicted { .. } => "summaries_evicted",
            Event::SpanCompacted { .. } => "span_compacted",
            Event::EpochBegan { .. } => "epoch_began",
            Event::TurnCompleted { .. } => "turn_completed",
            Event::TurnAbandoned { .. } => "turn_abandoned",
            Event::MessageAdded { .. } => "message_added",
            Event::TurnClosed { .. } => "turn_closed",
            Event::TurnTakenBack { .. } => "turn_taken_back",
            Event::HistoryLinked { .. } => "history_linked",
            Event::RequestPassed { .. } => "request_passed",
            Event::ClientCompacted { .. } => "client_compacted",
            Event::MemoriesLoaded { .. } => "memories_loaded",
            Event::CensorTriggered { .. } => "censor_triggered",
            Event::MemoryChanged { .. } => "memory_changed",
            Event::MemoryErased { .. } => "memory_erased",
            Event::Scrubbed { .. } => "scrubbed",
        }
    }

    pub fn memory_id(&self) -> Option<MemoryId> {
        if let Event::MemoryChanged { memory, .. } = self {
            return Some(memory.id);
        }
        if let Event::MemoryErased { id } = self { Some(*id) } else { None }
    }

    pub fn turn(&self) -> Option<TurnNo> {
        match self {
            Event::SessionCreated { .. }
            | Event::PolicyChanged { .. }
            | Event::MemoryChanged { .. }
            | Event::MemoryErased { .. }
            | Event::Scrubbed { .. } => None,
            Event::TurnStarted { turn, .. }
            | Event::ToolsCalled { turn, .. }
            | Event::EffortOpened { turn, .. }
            | Event::EffortConcluded { turn, .. }
            | Event::EffortSummarized { turn, .. }
            | Event::EffortExpanded { turn, .. }
            | Event::EffortCollapsed { turn, .. }
            | Event::EffortSwitched { turn, .. }
            | Event::EffortReopened { turn, .. }
            | Event::EffortsReferenced { turn, .. }
            | Event::SummariesEvicted { turn, .. }
            | Event::SpanCompacted { turn, .. }
            | Event::EpochBegan { turn, .. }
            | Event::TurnCompleted { turn, .. }
            | Event::TurnAbandoned { turn, .. }
            | Event::MessageAdded { turn, .. }
            | Event::HistoryLinked { turn, .. }
            | Event::RequestPassed { turn, .. }
            | Event::ClientCompacted { turn, .. }
            | Event::MemoriesLoaded { turn, .. }
            | Event::CensorTriggered { turn, .. }
            | Event::TurnTakenBack { turn, .. }
            | Event::TurnClosed { turn, .. } => Some(*turn),
        }
    }

    /// The messages it adds to the transcript: the user's message, a host's tool rounds, the reply.
    pub fn transcript_messages(&self) -> Vec<&CountedMessage> {
        match self {
            Event::TurnStarted { message: counted, .. }
            | Event::MessageAdded { message: counted, .. }
            | Event::TurnCompleted { reply: counted, .. } => vec![counted],
            Event::ToolsCalled { round, visibility: RoundVisibility::Transcript, .. } => {
                round.messages().collect()
            }
            Event::ToolsCalled { visibility: RoundVisibility::ThisTurn, .. }
            | Event::SessionCreated { .. }
            | Event::PolicyChanged { .. }
            | Event::EffortOpened { .. }
            | Event::EffortConcluded { .. }
            | Event::EffortSummarized { .. }
            | Event::EffortExpanded { .. }
            | Event::EffortCollapsed { .. }
            | Event::EffortSwitched { .. }
            | Event::EffortReopened { .. }
            | Event::EffortsReferenced { .. }
            | Event::SummariesEvicted { .. }
            | Event::SpanCompacted { .. }
            | Event::EpochBegan { .. }
            | Event::TurnAbandoned { .. }
            | Event::TurnClosed { .. }
            | Event::TurnTakenBack { .. }
            | Event::HistoryLinked { .. }
            | Event::RequestPassed { .. }
            | Event::ClientCompacted { .. }
            | Event::MemoriesLoaded { .. }
            | Event::CensorTriggered { .. }
            | Event::MemoryChanged { .. }
            | Event::MemoryErased { .. }
            | Event::Scrubbed { .. } => Vec::new(),
        }
    }
}
