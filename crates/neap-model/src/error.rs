//! What can go wrong, by what a caller can do about it.

use std::time::Duration;

/// A model did not answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// The model refused or could not answer this request; asking again will not help.
    #[error("the model refused: {0}")]
    Refused(String),
    /// The request is longer than the model takes; a shorter one may pass.
    #[error("the request is longer than the model takes: {0}")]
    ContextFull(String),
    /// Too much was asked in too short a time; asking later will help.
    #[error("the provider asks to wait{}: {message}", after(.retry_after))]
    RateLimited {
        /// How long to wait, if the provider says so.
        retry_after: Option<Duration>,
        /// What it said.
        message: String,
    },
    /// The provider could not be reached, or broke off; asking again may help.
    #[error("no connection to the model: {0}")]
    Transport(String),
    /// What came is not what the protocol says, its end included: what was heard may not be all.
    #[error("the provider's answer makes no sense: {0}")]
    Protocol(String),
    /// Nothing came in time; asking again may help.
    #[error("no answer within {0:?}")]
    TimedOut(Duration),
    /// What it is made of cannot be read, so it can never answer.
    #[error("{0}")]
    Unusable(String),
    /// A script for tests has no line for this.
    #[error("the script is at its end")]
    ScriptEnded,
}

fn after(wait: &Option<Duration>) -> String {
    wait.map(|wait| format!(" {} s", wait.as_millis().div_ceil(1_000))).unwrap_or_default()
}
