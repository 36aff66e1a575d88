//! Engine errors, divided by what a caller can do about them.

use neap_core::base::ids::{Seq, SessionId, StreamId, TurnNo};
use neap_core::base::policy::PolicyError;
use neap_core::base::tokens::Tokens;
use neap_core::context::BudgetTooSmall;
use neap_core::session::event::AbandonReason;
use neap_core::turn::TurnError;
use neap_model::ModelError;
use neap_model::envelope::KeyError;
use neap_store::StoreError;

/// Why an engine call failed.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The message is too long, or the budget too small for it.
    #[error(transparent)]
    Turn(#[from] TurnError),
    /// The model gave no reply. The message is stored; nothing is lost.
    #[error("turn {turn} got no reply: {}", describe(reason))]
    NoReply {
        /// The turn without a reply.
        turn: TurnNo,
        /// Why there is none.
        reason: AbandonReason,
    },
    /// The same turn was sent before, and another process is answering it.
    #[error("turn {turn} is still being answered")]
    StillAnswering {
        /// The turn in question.
        turn: TurnNo,
    },
    /// The caller's id belongs to another message.
    #[error("this id was used for another message, in turn {turn}")]
    IdReused {
        /// The turn with this id.
        turn: TurnNo,
    },
    /// The caller's key was used for other entries before.
    #[error("this key was used for other entries, in event {seq}")]
    KeyReused {
        /// The event that has them.
        seq: Seq,
    },
    /// A setting is unknown or its value invalid.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// The session does not exist, or is not the caller's to see.
    #[error("there is no session '{0}'")]
    NoSession(StreamId),
    /// The session exists already.
    #[error("a session '{0}' already exists")]
    SessionExists(SessionId),
    /// The turn does not exist, or nothing is recorded of it.
    #[error("session '{session}' has no turn {turn}")]
    NoTurn {
        /// The session that was searched.
        session: StreamId,
        /// The turn that was asked for.
        turn: TurnNo,
    },
    /// The budget is too small for a memory to show anything.
    #[error("a memory cannot fit into {budget} tokens: an excerpt of one message needs {floor}")]
    MemoryTooSmall {
        /// The requested budget.
        budget: Tokens,
        /// The smallest budget that works.
        floor: Tokens,
    },
    /// A tool result could not be signed.
    #[error("cannot sign the tool's result: {0}")]
    Key(#[from] KeyError),
    /// The frame does not exist.
    #[error("{0}")]
    NoFrame(String),
    /// Texts could not be embedded; they are found by their words.
    #[error("texts cannot be embedded: {0}")]
    Embedder(#[from] ModelError),
    /// The store did not accept it yet. It waits in memory and is retried, unless the backlog had to drop it; then
    /// the client's next request has it.
    #[error("not recorded yet: {0}")]
    NotRecorded(String),
    /// The store, or the machine, took longer than a request can wait.
    #[error("the store did not answer in time")]
    TimedOut,
    /// Other processes kept changing the session.
    #[error("other processes change session '{0}' faster than it can be read")]
    Contended(StreamId),
}

impl From<BudgetTooSmall> for EngineError {
    fn from(error: BudgetTooSmall) -> Self {
        EngineError::Turn(TurnError::BudgetTooSmall(error))
    }
}

impl EngineError {
    pub(crate) fn is_outage(&self) -> bool {
        matches!(self, EngineError::TimedOut) || matches!(self, EngineError::Store(error) if error.is_outage())
    }

    /// Whether a store may fail like this for one session alone.
    pub(crate) fn may_affect_one_session(&self) -> bool {
        matches!(self, EngineError::Store(StoreError::Failed(_) | StoreError::Unreadable { .. }))
    }

    /// The error in a few words, for a header.
    pub(crate) fn short_text(&self) -> String {
        match self {
            EngineError::Store(error) => error.short_text().to_owned(),
            EngineError::NotRecorded(reason) => reason.clone(),
            EngineError::TimedOut => self.to_string(),
            EngineError::Contended(_) => "other processes keep changing the session".to_owned(),
            EngineError::Turn(_)
            | EngineError::NoReply { .. }
            | EngineError::StillAnswering { .. }
            | EngineError::IdReused { .. }
            | EngineError::KeyReused { .. }
            | EngineError::Policy(_)
            | EngineError::NoSession(_)
            | EngineError::SessionExists(_)
            | EngineError::NoTurn { .. }
            | EngineError::MemoryTooSmall { .. }
            | EngineError::Key(_)
            | EngineError::NoFrame(_)
            | EngineError::Embedder(_) => "the session refuses it".to_owned(),
        }
    }

    /// What a person can do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            EngineError::Store(error) => error.hint(),
            EngineError::Turn(TurnError::MessageTooLong { .. }) => {
                "split the message, or put the text into a file and refer to it"
            }
            EngineError::Turn(TurnError::BudgetTooSmall(_)) => "raise context_tokens_max to at least that",
            EngineError::NoReply { .. } => "your message is stored; send it again or continue",
            EngineError::StillAnswering { .. } => "send it again in a moment to get the same reply",
            EngineError::IdReused { .. } => "nothing was recorded; use a new id for a new message",
            EngineError::KeyReused { .. } => "nothing was stored; use a new key for new entries",
            EngineError::Policy(_) => "`neap store settings` lists all settings with their defaults",
            EngineError::NoSession(_) => "`neap session list` lists all sessions",
            EngineError::SessionExists(_) => "choose another name with --session",
            EngineError::NoTurn { .. } => "`neap session show` shows how many turns there are",
            EngineError::MemoryTooSmall { .. } => "give the memory a larger budget",
            EngineError::Key(_) => "the tool's effect is stored; `neap store keys list` shows which key signs",
            EngineError::NoFrame(_) => "`neap memory frames` lists all frames",
            EngineError::Embedder(_) => "search uses words alone until it works again",
            EngineError::NotRecorded(_) => "Neap records it as soon as the store works again",
            EngineError::TimedOut => "try again; if it persists, check what keeps the disk or the processor busy",
            EngineError::Contended(_) => "try again, or close the other programs that use this session",
        }
    }
}

fn describe(reason: &AbandonReason) -> String {
    match reason {
        AbandonReason::ProcessEnded => "the process ended".to_owned(),
        AbandonReason::ModelFailed { message } => message.clone(),
        AbandonReason::Interrupted => "interrupted".to_owned(),
        AbandonReason::Censored { id, reason } => format!("rule {id} ended the turn: {reason}"),
    }
}
