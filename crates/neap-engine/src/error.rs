//! What can go wrong, by what a caller can do about it.

use neap_core::assemble::BudgetTooSmall;
use neap_core::event::AbandonReason;
use neap_core::ids::{SessionId, TurnNo};
use neap_core::policy::PolicyError;
use neap_core::tokens::Tokens;
use neap_core::turn::TurnError;
use neap_model::ModelError;
use neap_model::envelope::KeyError;
use neap_store::StoreError;

/// A session could not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The store could not.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The message cannot be taken.
    #[error(transparent)]
    Turn(#[from] TurnError),
    /// The model gave no answer. The message is stored; nothing is lost.
    #[error("turn {turn} got no reply: {}", describe(reason))]
    NoReply {
        /// The turn.
        turn: TurnNo,
        /// Why.
        reason: AbandonReason,
    },
    /// The same turn was sent before, and another process is answering it.
    #[error("turn {turn} is still being answered")]
    StillAnswering {
        /// The turn.
        turn: TurnNo,
    },
    /// A setting cannot be made.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// There is no such session.
    #[error("there is no session '{0}'")]
    NoSession(SessionId),
    /// There is one already.
    #[error("a session '{0}' exists already")]
    SessionExists(SessionId),
    /// There is no such turn, or no record of it.
    #[error("session '{session}' has no turn {turn}")]
    NoTurn {
        /// The session.
        session: SessionId,
        /// The turn.
        turn: TurnNo,
    },
    /// A memory was asked to fit into less than it can.
    #[error("a memory cannot fit into {budget} tokens: an excerpt of one message needs {floor}")]
    MemoryTooSmall {
        /// What was asked.
        budget: Tokens,
        /// What is needed at least.
        floor: Tokens,
    },
    /// What a tool answered could not be signed.
    #[error("cannot sign what the tool answered: {0}")]
    Key(#[from] KeyError),
    /// There is no such frame.
    #[error("{0}")]
    NoFrame(String),
    /// Texts could not be embedded; they are found by their words.
    #[error("texts cannot be embedded: {0}")]
    Embedder(#[from] ModelError),
    /// The store did not take it yet. It is kept in memory and tried again.
    #[error("not recorded yet: {0}")]
    NotRecorded(String),
    /// The store, or the machine, took longer than a request can wait.
    #[error("nothing was decided in time")]
    Late,
    /// Other processes kept changing the session.
    #[error("session '{0}' is changed by other processes faster than it can be read")]
    Contended(SessionId),
}

impl From<BudgetTooSmall> for EngineError {
    fn from(error: BudgetTooSmall) -> Self {
        EngineError::Turn(TurnError::BudgetTooSmall(error))
    }
}

impl EngineError {
    /// Whether the store cannot do its work at the moment.
    pub(crate) fn is_outage(&self) -> bool {
        matches!(self, EngineError::Late) || matches!(self, EngineError::Store(error) if error.is_outage())
    }

    /// Whether the store may fail in this way for one session alone.
    pub(crate) fn may_be_of_one_session(&self) -> bool {
        matches!(self, EngineError::Store(StoreError::Failed(_) | StoreError::Unreadable { .. }))
    }

    /// What it is in a few words, for a header.
    pub(crate) fn brief(&self) -> String {
        match self {
            EngineError::Store(error) => error.brief().to_owned(),
            EngineError::NotRecorded(reason) => reason.clone(),
            EngineError::Late => self.to_string(),
            EngineError::Contended(_) => "other processes keep changing the session".to_owned(),
            EngineError::Turn(_)
            | EngineError::NoReply { .. }
            | EngineError::StillAnswering { .. }
            | EngineError::Policy(_)
            | EngineError::NoSession(_)
            | EngineError::SessionExists(_)
            | EngineError::NoTurn { .. }
            | EngineError::MemoryTooSmall { .. }
            | EngineError::Key(_)
            | EngineError::NoFrame(_)
            | EngineError::Embedder(_) => "the session does not take it".to_owned(),
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
            EngineError::NoReply { .. } => "what you said is stored; say it again or go on",
            EngineError::StillAnswering { .. } => "send it again in a moment to get the same reply",
            EngineError::Policy(_) => "`neap settings` lists all settings with their defaults",
            EngineError::NoSession(_) => "`neap session list` shows the sessions there are",
            EngineError::SessionExists(_) => "choose another name with --session",
            EngineError::NoTurn { .. } => "`neap session show` tells how many turns there are",
            EngineError::MemoryTooSmall { .. } => "give the memory more room, or leave more of the budget to it",
            EngineError::Key(_) => "what the tool did is stored; `neap keys list` tells which key signs",
            EngineError::NoFrame(_) => "`neap frames` shows the frames there are",
            EngineError::Embedder(_) => "search goes by words alone until it works again",
            EngineError::NotRecorded(_) => "it is recorded as soon as the store works again",
            EngineError::Late => "try again; if it lasts, look for what keeps the disk or the processor busy",
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
