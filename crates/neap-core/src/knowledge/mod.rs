//! Which part of what an agent knows comes into the context, and how much of it.

mod loaded;

pub use loaded::{LoadCause, Loaded, LoadedItem, MemoryMetrics};
