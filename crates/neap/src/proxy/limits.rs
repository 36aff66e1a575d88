//! How much of everything a client may take.

use std::time::Duration;

/// Limits on requests and connections. An answer has none here: it may take as long as the model thinks.
#[derive(Debug, Clone)]
pub(crate) struct Limits {
    /// Until a request's head is whole; a connection that is kept alive waits as long for its next one.
    pub(crate) head: Duration,
    /// Its head with the request line.
    pub(crate) head_bytes_max: usize,
    /// Between two pieces of a request's body.
    pub(crate) body_next: Duration,
    /// Until its body is whole.
    pub(crate) body: Duration,
    /// Connections at once.
    pub(crate) connections_max: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            head: Duration::from_secs(30),
            head_bytes_max: 16 << 10,
            body_next: Duration::from_secs(30),
            body: Duration::from_secs(300),
            connections_max: 2_048,
        }
    }
}
