//! A memory in three calls, for an agent that runs its own model: [`add`](AgentMemory::add) what is said,
//! [`reserve_tokens`](AgentMemory::reserve_tokens) before the model is called, and put what
//! [`fetch_for_prompt`](AgentMemory::fetch_for_prompt) gives into the prompt.
//!
//! ```
//! use std::sync::Arc;
//!
//! use neap_engine::agent_memory::{AgentMemory, Role, SessionId, Tokens, WindowMemory};
//! use neap_engine::{Clock, Engine, SystemClock};
//! use neap_store::SqliteStore;
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
//!     memory.add(Role::Assistant, &format!("Service {n} listens on port {}.", 8000 + n), SystemClock.now()).await?;
//! }
//! let prompt = memory.fetch_for_prompt().await?;
//! assert!(prompt[0].content.starts_with("§[Earlier in this conversation, in short"));
//! # Ok(())
//! # }
//! ```
//!
//! A memory is a session in the engine's store like any other: its events are the truth, `neap session`, `search` and
//! `explain` read it, and what no longer fits is summarised by the same window rule, with the same receipts. Nothing
//! that was added is ever lost: every summary and excerpt carries a handle, and
//! [`WindowMemory::original`] gives the words behind it. An agent can offer that to its model as a tool.
//!
//! - [`WindowMemory`]: the newest part as it was said, what came before in short.
//! - [`VectorMemory`]: what bears on the latest question, wherever it was said.
//! - [`Layers`]: a window with a vector memory behind it, under one budget.

mod keep;
mod layers;
mod vector;
mod window;

use async_trait::async_trait;

pub use layers::Layers;
pub use neap_core::handle::Handle;
pub use neap_core::ids::{SessionId, Stamp};
pub use neap_core::message::{Message, Role};
pub use neap_core::tokens::Tokens;
pub use neap_core::told::{Chunk, LEAST};
pub use vector::VectorMemory;
pub use window::WindowMemory;

use crate::error::EngineError;

/// What an agent needs of a memory.
///
/// Memories compose: whatever takes an `AgentMemory` takes any of them.
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
    /// Takes a message up. Once this returns, it is durable (I2). Any role may follow any other; a text may be
    /// empty, or as long as 64 MiB.
    async fn add(&mut self, role: Role, content: &str, timestamp: Stamp) -> Result<(), EngineError>;

    /// Shrinks what the next prompts get until it fits the budget, or the memory's own limit if that is less. This
    /// is the moment for a slow summariser. A budget in which nothing can be shown is
    /// [`EngineError::MemoryTooSmall`], and changes nothing.
    async fn reserve_tokens(&mut self, budget: Tokens) -> Result<(), EngineError>;

    /// The messages to put into the prompt, oldest first. Together they never cost more than the memory's limit, nor
    /// than what was last reserved, counted with what surrounds each message
    /// ([`message_tokens`](neap_core::message::message_tokens)); whether and when
    /// [`reserve_tokens`](Self::reserve_tokens) was called makes no difference to that.
    async fn fetch_for_prompt(&mut self) -> Result<Vec<Message>, EngineError>;
}

/// A budget in which something can be shown.
fn check(budget: Tokens) -> Result<Tokens, EngineError> {
    if budget < LEAST {
        return Err(EngineError::MemoryTooSmall { budget, floor: LEAST });
    }
    Ok(budget)
}
