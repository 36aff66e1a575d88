//! Neap as a library: give it a store, a model and a message; it keeps the context bounded.
//!
//! [`Engine`] opens [`Session`]s; a session takes turns ([`Session::turn`]), is told turns that happened
//! elsewhere ([`Session::record`]), shows what a model would see ([`Session::assemble`]) and carries out effort
//! tools ([`Session::call_tool`]). It performs what the core decides, in one loop: read `drive.rs` first.
//!
//! ```
//! use std::sync::Arc;
//!
//! use neap_core::ids::SessionId;
//! use neap_engine::{Author, Engine, Quiet, SessionOptions};
//! use neap_store::SqliteStore;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("agent.db");
//! let store = Arc::new(SqliteStore::open(&path)?);
//! let engine = Engine::builder(store).build();
//! let mut session = engine.resume(&SessionId::from_name("my agent")?, &SessionOptions::default()).await?;
//! let said = "users get a 401 an hour after login, help me";
//! let reply = session.turn(Author::Person, said, &mut Quiet).await?;
//! assert_eq!(reply.banners[0].to_string(), "--- Started effort: users-401-hour ---");
//! assert!(reply.ledger.tokens.total() <= reply.ledger.budget);
//! # Ok(())
//! # }
//! ```
//!
//! An agent that runs its own model needs three calls only: see [`agent_memory`].
//!
//! [`EngineBuilder::model`] takes any [`ChatModel`](neap_model::ChatModel); without one, the built-in offline model
//! answers. [`EngineBuilder::host_tools`] adds the host's own tools to those for efforts.

mod agent;
pub mod agent_memory;
mod answer;
mod brief;
mod cache_size;
mod clock;
mod drive;
mod engine;
mod error;
mod explain;
mod hush;
mod import;
mod indexer;
mod ingest;
mod live;
mod meaning;
mod mind;
mod naming;
mod original;
mod parts;
mod recollect;
mod record;
mod reminding;
mod search;
mod session;
mod taking;
mod taking_back;
mod tell;
mod verify;
mod watch;

pub use agent::Agent;
pub use agent_memory::{AgentMemory, Layers, VectorMemory, WindowMemory};
pub use answer::ToolAnswer;
pub use cache_size::CacheSize;
pub use clock::{Clock, FixedClock, SystemClock};
pub use engine::{Engine, EngineBuilder, SessionOptions};
pub use error::EngineError;
pub use explain::{ChosenAt, Explained};
pub use hush::Hush;
pub use import::{ExportError, Imported};
pub use indexer::Indexer;
pub use ingest::{Incoming, Plan, Recorded, RecordingStatus, Said};
pub use neap_core::brief::Brief;
pub use neap_core::memory::Author;
pub use neap_core::recall::Recollection;
pub use parts::HostTools;
pub use recollect::{Asking, Here};
pub use search::Hit;
pub use session::{Session, ToolReply, TurnReply};
pub use taking::Taken;
pub use taking_back::TakenBack;
pub use verify::verify_results;
pub use watch::{Interrupt, Quiet, Watch};
