//! Memory in three calls, for an agent that runs its own model: [`add`](AgentMemory::add) every message, call
//! [`reserve_tokens`](AgentMemory::reserve_tokens) before the model, and put the result of
//! [`fetch_for_prompt`](AgentMemory::fetch_for_prompt) into the prompt.
//!
//! ```
//! use std::sync::Arc;
//!
//! use neap_engine::agent_memory::{AgentMemory, Role, SessionId, Tokens, WindowMemory};
//! use neap_engine::{Clock, Engine, SystemClock};
//! use neap_sqlite::SqliteStore;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("agent.db");
//! let engine = Engine::builder(Arc::new(SqliteStore::open(&path)?)).build();
//! let mut memory = WindowMemory::open(&engine, &SessionId::from_name("my agent")?, Tokens(3_000)).await?;
//!
//! for n in 1..=200 {
//!     memory.add(Role::User, &format!("Where does service {n} listen?"), SystemClock.now()).await?;
//!     memory.reserve_tokens(Tokens(2_800)).await?;
//!     let prompt = memory.fetch_for_prompt().await?;
//!     assert_eq!(prompt.last().map(|message| message.role), Some(Role::User));
//!     // … the agent's own system prompt, then `prompt`, go to its model, which answers:
//!     let answer = format!("Service {n} listens on port {}.", 8000 + n);
//!     memory.add(Role::Assistant, &answer, SystemClock.now()).await?;
//! }
//! let prompt = memory.fetch_for_prompt().await?;
//! assert!(prompt[0].content.starts_with("§[Earlier in this conversation, in short"));
//! # Ok(())
//! # }
//! ```
//!
//! A memory is a session like any other: `neap session`, `search` and `explain` read it, and the same window rule
//! summarises what no longer fits. Nothing that was added is lost: [`WindowMemory::original`] returns the messages
//! behind the handle of any summary or excerpt. An agent can offer that to its model as a tool.
//!
//! - [`WindowMemory`]: the newest part verbatim, summaries of what came before.
//! - [`VectorMemory`]: what is relevant to the latest question, from the whole conversation.
//! - [`LayeredMemory`]: a window with a vector memory behind it, under one budget.

mod conversation;
mod layered;
mod vector;
mod window;

use async_trait::async_trait;

pub use layered::LayeredMemory;
pub use neap_core::base::handle::Handle;
pub use neap_core::base::ids::{SessionId, Stamp};
pub use neap_core::base::message::{Message, Role};
pub use neap_core::base::tokens::Tokens;
pub use neap_core::context::host_log::{BUDGET_MIN, TextChunk};
pub use vector::VectorMemory;
pub use window::WindowMemory;

use crate::error::EngineError;

/// What an agent needs of a memory. Memories compose: each of them is an `AgentMemory`.
///
/// ```
/// use neap_engine::EngineError;
/// use neap_engine::agent_memory::{AgentMemory, Message, Role, Stamp, Tokens};
///
/// async fn ask(memory: &mut dyn AgentMemory, text: &str, now: Stamp) -> Result<Vec<Message>, EngineError> {
///     memory.add(Role::User, text, now).await?;
///     memory.reserve_tokens(Tokens(4_000)).await?;
///     memory.fetch_for_prompt().await
/// }
/// ```
#[async_trait]
pub trait AgentMemory: Send {
    /// Records a message, which is durable when this returns (I2). Any role may follow any other; a text may be
    /// empty, or as long as 64 MiB.
    async fn add(&mut self, role: Role, content: &str, timestamp: Stamp) -> Result<(), EngineError>;

    /// Shrinks the next prompts to the budget, or to the memory's limit if that is lower; a slow summariser runs
    /// here. A budget in which nothing can be shown is [`EngineError::MemoryTooSmall`], and changes nothing.
    async fn reserve_tokens(&mut self, budget: Tokens) -> Result<(), EngineError>;

    /// The messages for the prompt, oldest first. Their cost, overhead included
    /// ([`message_tokens`](neap_core::base::message::message_tokens)), never exceeds the memory's limit or the latest
    /// reservation, whether or not [`reserve_tokens`](Self::reserve_tokens) was called.
    async fn fetch_for_prompt(&mut self) -> Result<Vec<Message>, EngineError>;
}

fn check_budget(budget: Tokens) -> Result<Tokens, EngineError> {
    if budget < BUDGET_MIN {
        return Err(EngineError::MemoryTooSmall { budget, floor: BUDGET_MIN });
    }
    Ok(budget)
}
