//! Bounded context and long-term memory for LLM agents, as a library.
//!
//! [`Engine`] opens [`Session`]s. A session runs turns ([`Session::turn`]), records turns that happened elsewhere
//! ([`Session::record`]), shows the context that a model would get ([`Session::assemble`]) and runs effort tools
//! ([`Session::call_tool`]). The core decides, the engine performs, in one loop: start reading at `driver.rs`.
//!
//! ```
//! use std::sync::Arc;
//!
//! use neap_core::base::ids::SessionId;
//! use neap_engine::{Author, Engine, NullObserver, SessionOptions};
//! use neap_sqlite::SqliteStore;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("agent.db");
//! let store = Arc::new(SqliteStore::open(&path)?);
//! let engine = Engine::builder(store).build();
//! let mut session = engine.resume(&SessionId::from_name("my agent")?, &SessionOptions::default()).await?;
//! let text = "users get a 401 an hour after login, help me";
//! let reply = session.turn(Author::Person, text, &mut NullObserver).await?;
//! assert_eq!(reply.banners[0].to_string(), "--- Started effort: users-401-hour ---");
//! assert!(reply.ledger.tokens.total() <= reply.ledger.budget);
//! # Ok(())
//! # }
//! ```
//!
//! An agent that runs its own model needs only three calls: see [`agent_memory`].
//!
//! [`EngineBuilder::model`] takes any [`ChatModel`](neap_model::ChatModel); the default is the built-in offline
//! model. [`EngineBuilder::host_tools`] adds the host's tools to the effort tools.

#![warn(missing_docs)]

mod agent;
pub mod agent_memory;
mod agent_stream;
mod brief;
mod cache_size;
mod clock;
mod driver;
mod embedding;
mod engine;
mod error;
mod expectation;
mod explain;
mod foreground;
pub mod forms;
mod handle_lookup;
mod hook_context;
mod host_entries;
mod import;
mod indexer;
mod ingest;
mod memory_import;
mod memory_log;
mod observer;
mod parts;
mod past_memories;
mod past_work;
mod prompt_history;
mod record;
mod retrieval;
mod rule_actions;
mod rule_trial;
mod search;
mod search_request;
mod session;
mod stated;
mod stream;
mod tool_answer;
mod transcript_import;
mod truncated_id;
mod turn_rows;
mod undo_turn;
mod verify;

pub use agent::Agent;
pub use agent_memory::{AgentMemory, LayeredMemory, VectorMemory, WindowMemory};
pub use cache_size::CacheSize;
pub use clock::{Clock, FixedClock, SystemClock};
pub use engine::{Engine, EngineBuilder, ProjectChoice, SessionOptions};
pub use error::EngineError;
pub use expectation::ExpectedText;
pub use explain::{SelectedMemories, TurnExplanation};
pub use foreground::ForegroundGuard;
pub use host_entries::HostEntriesAdded;
pub use import::{ImportEventsError, Imported};
pub use indexer::{Indexer, lower_priority};
pub use ingest::{ActualTurn, IncomingRequest, RecordingOutcome, RecordingStatus, RequestPlan};
pub use memory_import::{MemoryImport, MemoryImportCounts};
pub use neap_core::context::brief::Brief;
pub use neap_core::memory::Author;
pub use neap_core::recall::RecalledContext;
pub use observer::{Interrupt, NullObserver, TurnObserver};
pub use parts::{HostTools, ProjectFinder};
pub use past_work::PastWork;
pub use prompt_history::PastPrompt;
pub use record::Appended;
pub use retrieval::{CurrentSession, RetrievalRequest};
pub use search::Hit;
pub use search_request::{SearchPart, SearchRequest};
pub use session::{Session, ToolReply, TurnReply};
pub use tool_answer::ToolAnswer;
pub use transcript_import::ImportedTranscript;
pub use turn_rows::TurnRow;
pub use undo_turn::UndoneTurn;
pub use verify::verify_results;
