//! The words that machine and driver exchange.

use std::sync::Arc;

use crate::assemble::BudgetTooSmall;
use crate::event::{AbandonReason, Recorded};
use crate::handle::Handle;
use crate::ids::TurnNo;
use crate::learn::{MemoryAsk, MemoryGiven};
use crate::ledger::Ledger;
use crate::log::{Log, LogRequest};
use crate::message::{Exchange, Incomplete, Message, Scope, Seal, ToolCall};
use crate::recall::{Found, Search};
use crate::summary::SummaryRequest;
use crate::tools::{Banner, ToolSpec};

/// What to do next.
#[derive(Debug)]
pub enum Step {
    /// Make these durable, in one piece. → [`Input::Committed`] or [`Input::Stale`].
    Commit(Vec<Recorded>),
    /// Fetch the newest part of these logs. → [`Input::Loaded`].
    Load(Vec<LogRequest>),
    /// Fetch what was said under a handle. → [`Input::Fetched`].
    Fetch(Handle),
    /// Look for what was said and done in this session. → [`Input::Found`].
    Search(Box<Search>),
    /// Ask the model. → [`Input::Replied`], [`Input::ModelFailed`] or [`Input::Interrupted`].
    CallModel(ModelRequest),
    /// Ask the summariser. → [`Input::Summarized`].
    Summarize(SummaryRequest),
    /// Look up what the agent knows. → [`Input::Given`].
    Recall(MemoryAsk),
    /// Make these durable in the agent's stream. → [`Input::Learnt`] or [`Input::Outdated`].
    Learn(Vec<Recorded>),
    /// Ask the host to run one of its own tools. → [`Input::ToolAnswered`].
    CallTool(ToolCall),
    /// The turn is over.
    Done(Box<Outcome>),
}

/// What came of the last step.
#[derive(Debug)]
pub enum Input {
    /// Start.
    Begin,
    /// The events are durable.
    Committed,
    /// Someone else committed first; nothing of ours happened, and the state was reloaded.
    Stale,
    /// The logs asked for, in the order asked.
    Loaded(Vec<(Scope, Log)>),
    /// What was said under the handle: whole exchanges, oldest first; none if there is nothing.
    Fetched(Vec<Exchange>),
    /// What was found, best first.
    Found(Vec<Found>),
    /// The model answered.
    Replied(ModelReply),
    /// The model did not, or not to the end.
    ModelFailed {
        /// Why.
        message: String,
        /// What it had said.
        partial: String,
    },
    /// The user stopped it after it had said this much.
    Interrupted {
        /// What was said.
        partial: String,
    },
    /// The summary asked for, or why there is none.
    Summarized(Result<String, String>),
    /// What was looked up of what the agent knows.
    Given(MemoryGiven),
    /// The agent's events are durable.
    Learnt,
    /// The agent could not be taught, or asked; only said once the turn is durable.
    NotLearnt,
    /// Someone else taught the agent first; nothing of ours happened there, and what it knows was reloaded.
    Outdated,
    /// The host's tool answered.
    ToolAnswered {
        /// What it said.
        text: String,
        /// What proves it.
        seal: Option<Seal>,
    },
}

/// What a model is sent.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelRequest {
    /// All messages, the system message first.
    pub messages: Vec<Message>,
    /// The tools it may call.
    pub tools: Arc<[ToolSpec]>,
    /// Whether calls in its answer will be carried out; if not, it must answer in words now.
    pub reply_may_call: bool,
    /// Whether its words are held back until a rule has looked at them.
    pub hold: bool,
}

/// What a model answered.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ModelReply {
    /// Its words.
    pub text: String,
    /// The tools it wants called.
    pub calls: Vec<ToolCall>,
    /// Whether it ended because it was as long as a reply may be.
    pub is_cut: bool,
}

/// How a turn came out.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// Its number.
    pub turn: TurnNo,
    /// What the model said, or why there is nothing.
    pub reply: Result<String, AbandonReason>,
    /// Why what it said is not all that it might have said.
    pub incomplete: Option<Incomplete>,
    /// What the human is told about tools and decay, in the order it happened.
    pub banners: Vec<Banner>,
    /// What was refused, in the words the model read.
    pub refusals: Vec<String>,
    /// Where the exchange belongs.
    pub scope: Scope,
    /// What the model saw in its last call of the turn.
    pub ledger: Ledger,
}

/// An end that is decided but not yet durable.
#[derive(Debug)]
pub struct Ended {
    pub(super) scope: Scope,
    pub(super) exchange: Exchange,
    pub(super) outcome: Outcome,
}

/// A message that cannot be taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TurnError {
    /// Longer than allowed.
    #[error("the message has {bytes} bytes, more than the {bytes_max} allowed")]
    MessageTooLong {
        /// Its length.
        bytes: u64,
        /// The limit.
        bytes_max: u64,
    },
    /// Not even an excerpt of it would fit.
    #[error(transparent)]
    BudgetTooSmall(#[from] BudgetTooSmall),
}
