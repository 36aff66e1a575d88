//! Model errors, grouped by what the caller can do about them.

use std::time::Duration;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// A retry will not help.
    #[error("the model refused: {0}")]
    Refused(String),
    /// A shorter request may pass.
    #[error("the request exceeds the model's context: {0}")]
    ContextFull(String),
    /// A later retry will help.
    #[error("the provider asks to wait{}: {message}", after(.retry_after))]
    RateLimited {
        /// As the provider requested it.
        retry_after: Option<Duration>,
        message: String,
    },
    /// The connection failed or broke off; a retry may help.
    #[error("no connection to the model: {0}")]
    Transport(String),
    /// The response violates the protocol, for example ends early: it may be incomplete.
    #[error("the provider's answer is invalid: {0}")]
    Protocol(String),
    /// A retry may help.
    #[error("no answer within {0:?}")]
    TimedOut(Duration),
    /// A scripted model has no reply left.
    #[error("the script has no reply left")]
    ScriptEnded,
}

fn after(wait: &Option<Duration>) -> String {
    wait.map(|wait| format!(" {} s", wait.as_millis().div_ceil(1_000))).unwrap_or_default()
}
