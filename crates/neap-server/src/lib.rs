//! The surfaces that programs reach over a connection: the OpenAI- and Anthropic-compatible proxy ([`proxy`]), the MCP
//! server ([`mcp`]), over HTTP and standard input, and the HTTP API ([`api`]) with the page on it (`ui`). [`access`] is the
//! gate of all that is served over HTTP; behind it, [`tenants`] has what serves each tenant.
//!
//! Nothing here reads the environment or prints: a caller names the upstreams and passes a [`Notify`].

pub mod access;
pub mod api;
mod error;
pub mod mcp;
pub mod proxy;
pub mod tenants;
mod ui;

pub use error::ServerError;

/// Shows a line to whoever runs the server.
pub type Notify = fn(String);
