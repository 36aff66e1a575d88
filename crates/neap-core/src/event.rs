//! The truth: what happened, in the past tense. Everything else is a fold over these.

use serde::{Deserialize, Serialize};

use crate::effort::Summary;
use crate::ids::{EffortId, Seq, SessionId, Stamp, TurnNo};
use crate::ingest::{Line, Link, Passed, Tenant};
use crate::knowledge::Loaded;
use crate::ledger::Ledger;
use crate::memory::{Action, Author, Change, Memory, MemoryId, Side, Standing};
use crate::message::{Counted, Scope, ToolRound};
use crate::policy::Policy;
use crate::receipt::Receipt;
use crate::tokens::Tokens;
use crate::window::Span;

/// An event with its place and time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Recorded {
    /// Its place in the stream.
    pub seq: Seq,
    /// When it happened, by the clock of the process that recorded it. Order is by `seq`, never by this.
    pub at: Stamp,
    /// What happened.
    pub event: Event,
}

/// Whether a tool round is part of the transcript or only of its own turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RoundVisibility {
    /// The host's own tools: what they said is part of the conversation.
    Transcript,
    /// Effort tools: their effect is visible, so their wording need not be after the turn.
    ThisTurn,
}

/// Why an expansion ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CollapseCause {
    /// The model or the user asked for it.
    Asked,
    /// It was not referenced for this many turns.
    Decayed {
        /// Turns without a reference.
        inactive_turns: u64,
    },
    /// Too many others were expanded as well.
    Crowded,
    /// The session was opened again; expansions do not survive that.
    Restarted,
}

/// Why a prompt was written anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EpochCause {
    /// There was none, or another process went on in between.
    First,
    /// It would have exceeded the budget.
    Full,
    /// The provider's cache had forgotten it anyway.
    Expired,
    /// A shorter one pays for itself.
    Cheaper,
    /// It had lasted for as many turns as it may.
    TurnsOver,
}

/// How a turn ended without a reply.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AbandonReason {
    /// The process ended before a reply was stored.
    ProcessEnded,
    /// The model could not answer.
    ModelFailed {
        /// What it said, shortened.
        message: String,
    },
    /// The user interrupted.
    Interrupted,
    /// A person's rule ended it.
    Censored {
        /// Which.
        id: MemoryId,
        /// What it says.
        reason: String,
    },
}

/// What happened to one session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Event {
    /// The session began.
    SessionCreated {
        /// Its id.
        session: SessionId,
        /// The encoding its tokens are counted in.
        encoding: String,
        /// Its settings.
        policy: Policy,
        /// What it was imported from, if it was.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        imported_from: Option<String>,
    },
    /// A setting was changed.
    PolicyChanged {
        /// All settings, after the change.
        policy: Policy,
    },
    /// A user message was accepted; from here on it is never lost (I2).
    TurnStarted {
        /// The turn's number.
        turn: TurnNo,
        /// What was said.
        message: Counted,
        /// The caller's own id of the turn; sending it again changes nothing.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        turn_id: Option<String>,
        /// Whose words these are, as the surface they came by vouches. Events of before this was recorded have none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        author: Option<Author>,
    },
    /// The model called tools and got their results.
    ToolsCalled {
        /// In which turn, or after which, if a person or a host called from outside one.
        turn: TurnNo,
        /// Calls and results, together (I7).
        round: ToolRound,
        /// Whether later turns show it.
        visibility: RoundVisibility,
    },
    /// An effort began and became the active one.
    EffortOpened {
        /// Its id.
        id: EffortId,
        /// The name as given.
        name: String,
        /// The turn.
        turn: TurnNo,
    },
    /// An effort ended; its summary stands for it from now on.
    EffortConcluded {
        /// Which.
        id: EffortId,
        /// What stands for it.
        summary: Summary,
        /// The turn.
        turn: TurnNo,
        /// Which effort is active now.
        next_active: Option<EffortId>,
        /// Whether the turn went on after the summary was made: one that covers the closing exchange is due.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        provisional: bool,
        /// What the summary kept of the log.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        receipt: Option<Box<Receipt>>,
    },
    /// A concluded effort got a better summary, one that covers its closing exchange.
    EffortSummarized {
        /// Which.
        id: EffortId,
        /// What stands for it now.
        summary: Summary,
        /// The turn.
        turn: TurnNo,
        /// What the summary kept of the log.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        receipt: Option<Box<Receipt>>,
    },
    /// A concluded effort's log came back into the context.
    EffortExpanded {
        /// Which.
        id: EffortId,
        /// The turn.
        turn: TurnNo,
        /// By how much the context grew.
        tokens_loaded: Tokens,
    },
    /// An expansion ended.
    EffortCollapsed {
        /// Which.
        id: EffortId,
        /// The turn.
        turn: TurnNo,
        /// Why.
        cause: CollapseCause,
        /// By how much the context shrank.
        tokens_freed: Tokens,
    },
    /// Another open effort became the active one.
    EffortSwitched {
        /// Which.
        id: EffortId,
        /// The turn.
        turn: TurnNo,
    },
    /// A concluded effort is open, and active, again.
    EffortReopened {
        /// Which.
        id: EffortId,
        /// The turn.
        turn: TurnNo,
    },
    /// Efforts were mentioned, or a tool was called about them.
    EffortsReferenced {
        /// The turn.
        turn: TurnNo,
        /// Which.
        ids: Vec<EffortId>,
    },
    /// Summaries left the context; they stay stored and findable (I6).
    SummariesEvicted {
        /// The turn.
        turn: TurnNo,
        /// Which.
        ids: Vec<EffortId>,
    },
    /// A stretch of a log got a summary that can stand for it; what was said stays stored.
    SpanCompacted {
        /// Of which log.
        scope: Scope,
        /// The turn.
        turn: TurnNo,
        /// The stretch; spans that it covers are part of it now.
        span: Span,
        /// What the summary kept.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        receipt: Option<Box<Receipt>>,
    },
    /// The prompt was written anew; until the next time it only grows at its end.
    EpochBegan {
        /// The turn.
        turn: TurnNo,
        /// Why.
        cause: EpochCause,
    },
    /// A turn got its reply.
    TurnCompleted {
        /// The turn.
        turn: TurnNo,
        /// What the model said.
        reply: Counted,
        /// Where the exchange belongs.
        scope: Scope,
        /// What the model saw, and what was left out.
        ledger: Box<Ledger>,
    },
    /// A turn ended without a reply; what the user said stays.
    TurnAbandoned {
        /// The turn.
        turn: TurnNo,
        /// Why.
        reason: AbandonReason,
        /// Where the message belongs.
        scope: Scope,
    },
    /// A host that runs the model itself added a message to a turn.
    MessageAdded {
        /// The turn.
        turn: TurnNo,
        /// What was said.
        message: Counted,
    },
    /// A turn that was told message by message is over.
    TurnClosed {
        /// The turn.
        turn: TurnNo,
        /// Where the exchange belongs.
        scope: Scope,
    },
    /// A person took back what was said last: it leaves its log, the context and what search finds, and stays stored.
    /// What its tools did, they did.
    TurnTakenBack {
        /// Which turn.
        turn: TurnNo,
        /// Whose log it was in.
        scope: Scope,
        /// What it cost there.
        tokens: Tokens,
    },
    /// A client sent its history, or got an answer: what of it is new, and where it ends now.
    HistoryLinked {
        /// The latest turn.
        turn: TurnNo,
        /// What is new, in order.
        links: Vec<Link>,
        /// Where it ends.
        line: Line,
        /// Whose history it is: a digest of what a caller of the proxy shows. Said once in a stream, with its first links, or when a
        /// stream that is older than this field is gone on with.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tenant: Option<Tenant>,
    },
    /// A client's request was passed on, and there is an answer, or half of one.
    RequestPassed {
        /// The turn.
        turn: TurnNo,
        /// Its account.
        passed: Passed,
    },
    /// A client that holds the conversation itself put a summary in the place of all that was said so far.
    ClientCompacted {
        /// The latest turn that the summary stands for.
        turn: TurnNo,
        /// The first one.
        first: TurnNo,
        /// What was said, in tokens.
        source_tokens: Tokens,
        /// What stands for it, in tokens.
        summary_tokens: Tokens,
        /// What the summary kept.
        receipt: Box<Receipt>,
        /// Where the examples are that it did not keep, in the receipt's order.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        places: Vec<TurnNo>,
    },
    /// What an agent knows was searched for this turn, and a part of it chosen for the context.
    MemoriesLoaded {
        /// The turn.
        turn: TurnNo,
        /// What was chosen, and why.
        loaded: Box<Loaded>,
    },
    /// A censor found something.
    CensorTriggered {
        /// The turn.
        turn: TurnNo,
        /// Which.
        id: MemoryId,
        /// Where.
        side: Side,
        /// What it did.
        action: Action,
    },
    /// An agent learnt something, or what it knew changed. Only in an agent's stream.
    MemoryChanged {
        /// What happened.
        #[serde(flatten)]
        change: Change,
        /// The whole record, as it is after that.
        memory: Box<Memory>,
        /// What it counted as before; none if it is new.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        was: Option<Standing>,
    },
    /// A person had one memory erased: this stands in the place of each of its events, and once more at the end of
    /// the stream, when that happened. Only a store writes it.
    MemoryErased {
        /// Which; its number is never used again.
        id: MemoryId,
    },
    /// A person had the session erased. Nothing else of it is left.
    Scrubbed {
        /// How many events were erased.
        events: u64,
    },
}

impl Event {
    /// The word that names its kind in the store.
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

    /// The memory that it is the history of.
    pub fn memory(&self) -> Option<MemoryId> {
        if let Event::MemoryChanged { memory, .. } = self {
            return Some(memory.id);
        }
        if let Event::MemoryErased { id } = self { Some(*id) } else { None }
    }

    /// The turn it belongs to.
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

    /// What it adds to the transcript: the user's words, a host's tool rounds, the reply.
    pub fn said(&self) -> Vec<&Counted> {
        match self {
            Event::TurnStarted { message: said, .. }
            | Event::MessageAdded { message: said, .. }
            | Event::TurnCompleted { reply: said, .. } => vec![said],
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
