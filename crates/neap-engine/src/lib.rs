//! Neap as a library: give it a store, a model and a message; it keeps the context bounded.
//!
//! [`Engine`] opens [`Session`]s; a session takes turns ([`Session::turn`]), is told turns that happened
//! elsewhere ([`Session::record`]), shows what a model would see ([`Session::assemble`]) and carries out effort
//! tools ([`Session::call_tool`]). It performs what the core decides, in one loop: read `drive.rs` first.

mod clock;
mod drive;
mod engine;
mod error;
mod explain;
mod import;
mod live;
mod parts;
mod search;
mod session;
mod watch;

pub use clock::{Clock, FixedClock, SystemClock};
pub use engine::{Engine, EngineBuilder, SessionOptions};
pub use error::EngineError;
pub use explain::Explained;
pub use import::{ExportError, Imported};
pub use parts::HostTools;
pub use search::Hit;
pub use session::{Session, TurnReply};
pub use watch::{Interrupt, Quiet, Watch};
