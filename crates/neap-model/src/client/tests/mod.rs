//! Request bodies and stream decoding, without a connection.

mod bodies;
mod streams;
