//! The surfaces that programs reach over a connection: the OpenAI- and Anthropic-compatible proxy ([`proxy`]) and the
//! MCP server ([`mcp`]), over HTTP and standard input.
//!
//! Nothing here reads the environment or prints: a caller names the upstreams and passes a [`Notify`].

mod error;
pub mod mcp;
pub mod proxy;

pub use error::ServerError;

/// Shows a line to whoever runs the server.
pub type Notify = fn(String);
