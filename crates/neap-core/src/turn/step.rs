//! The messages between a machine and its driver.

use std::sync::Arc;

use crate::base::handle::Handle;
use crate::base::ids::TurnNo;
use crate::base::ledger::Ledger;
use crate::base::message::{Exchange, Incomplete, Message, Scope, Seal, ToolCall};
use crate::context::BudgetTooSmall;
use crate::context::tools::ToolSpec;
use crate::memory::learn::{MemoryQuery, MemoryQueryResult};
use crate::recall::{FoundText, TextSearch};
use crate::session::event::{AbandonReason, RecordedEvent};
use crate::session::log::{Log, LogRequest};
use crate::session::summary::SummaryRequest;
use crate::turn::tools::Banner;

use super::context::TurnContext;

/// A rule that needs the world: each step names one action, whose result is the next step's input.
pub trait Machine {
    type Outcome;

    /// Takes the result of the last step and returns the next one.
    ///
    /// # Panics
    /// If the input does not answer the last step, which is a bug in the driver.
    fn step(&mut self, cx: &mut TurnContext<'_>, input: Input) -> Progress<Self::Outcome>;

    /// Lines for the person so far, in order.
    fn banners(&self) -> &[Banner] {
        &[]
    }

    /// Whether the outcome is durable, so that all remaining steps may fail without harm.
    fn may_fail(&self) -> bool {
        false
    }

    /// How much text a step scans.
    fn bytes(&self) -> usize {
        0
    }
}

#[derive(Debug)]
pub enum Progress<T> {
    Perform(Step),
    Done(T),
}

pub(super) type TurnProgress = Progress<Box<TurnOutcome>>;

#[derive(Debug)]
pub enum Step {
    /// Commit these events atomically. → [`Input::Committed`] or [`Input::Stale`].
    Commit(Vec<RecordedEvent>),
    /// Load the newest part of these logs. → [`Input::LogsLoaded`].
    LoadLogs(Vec<LogRequest>),
    /// Fetch the original under a handle. → [`Input::Fetched`].
    Fetch(Handle),
    /// Search this session. → [`Input::Found`].
    Search(Box<TextSearch>),
    /// Call the model. → [`Input::Replied`] or [`Input::WroteCalls`] (see [`read_reply`](super::read_reply)),
    /// [`Input::ModelFailed`] or [`Input::Interrupted`].
    CallModel(ModelRequest),
    /// Call the summariser. → [`Input::Summarized`].
    Summarize(SummaryRequest),
    /// Search the agent's memories. → [`Input::Recalled`].
    Recall(MemoryQuery),
    /// Commit these events to the agent's stream. → [`Input::MemoriesCommitted`] or [`Input::MemoriesStale`].
    CommitMemories(Vec<RecordedEvent>),
    /// Have the host run one of its own tools. → [`Input::ToolAnswered`].
    CallTool(ToolCall),
}

#[derive(Debug)]
pub enum Input {
    Begin,
    Committed,
    /// Another process committed first: nothing was written, and the state was reloaded.
    Stale,
    /// In the order requested.
    LogsLoaded(Vec<(Scope, Log)>),
    /// Whole exchanges, oldest first; empty if there are none.
    Fetched(Vec<Exchange>),
    /// Best first.
    Found(Vec<FoundText>),
    Replied(ModelReply),
    /// The model wrote nothing but calls of tools that do not exist.
    WroteCalls(ModelReply),
    /// The model failed, possibly in the middle of its reply.
    ModelFailed {
        message: String,
        /// What it had produced.
        partial: String,
    },
    /// The user stopped the model.
    Interrupted {
        partial: String,
    },
    /// The summary, or why there is none.
    Summarized(Result<String, String>),
    Recalled(MemoryQueryResult),
    MemoriesCommitted,
    /// Memories could not be read or written. Only sent once the turn is durable.
    MemoriesFailed,
    /// Another process wrote to the agent's stream first: nothing was written, and the memories were reloaded.
    MemoriesStale,
    ToolAnswered {
        text: String,
        /// Proof of the result's origin.
        seal: Option<Seal>,
    },
}

#[derive(Debug, Clone, PartialEq)]
pub struct ModelRequest {
    /// All messages, the system message first.
    pub messages: Vec<Message>,
    pub tools: Arc<[ToolSpec]>,
    /// Whether calls in the reply will be run; if not, the model must answer in text now.
    pub may_call_tools: bool,
    /// Whether the turn offered tools, perhaps in an earlier request.
    pub offers_tools: bool,
    /// Whether the output is held back for a censor's check.
    pub buffer_output: bool,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ModelReply {
    pub text: String,
    pub calls: Vec<ToolCall>,
    /// Whether the reply ended at its length limit.
    pub is_truncated: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub struct TurnOutcome {
    pub turn: TurnNo,
    /// The model's reply, or why there is none.
    pub reply: Result<String, AbandonReason>,
    /// Why the reply may be incomplete.
    pub incomplete: Option<Incomplete>,
    /// Lines for the person about tools and decay, in order.
    pub banners: Vec<Banner>,
    /// What was refused, as the model read it.
    pub refusals: Vec<String>,
    /// How many tool calls of the model were run.
    pub tool_calls: u64,
    /// The log that the exchange belongs to.
    pub scope: Scope,
    /// The context of the turn's last model call.
    pub ledger: Ledger,
}

/// A turn's end that is decided but not yet durable.
#[derive(Debug)]
pub struct TurnEnd {
    pub(super) scope: Scope,
    pub(super) exchange: Exchange,
    pub(super) outcome: TurnOutcome,
}

/// Why a message is not accepted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TurnError {
    #[error("the message has {bytes} bytes, more than the {bytes_max} allowed")]
    MessageTooLong { bytes: u64, bytes_max: u64 },
    /// Not even an excerpt of it would fit.
    #[error(transparent)]
    BudgetTooSmall(#[from] BudgetTooSmall),
}
