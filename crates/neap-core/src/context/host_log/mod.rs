//! What is shown of a conversation that a host appends message by message.

mod chunks;
mod fit;
mod render;

pub use chunks::{TextChunk, best_chunks, render_recalled};
pub(crate) use render::render_past;
pub use render::{BUDGET_MIN, HostLog, RenderedLog};
