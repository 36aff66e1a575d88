//! Streams without a connection, and what is sent.

mod bodies;
mod streams;
