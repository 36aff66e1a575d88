//! What can go wrong, by what a caller can do about it.

use std::time::Duration;

/// A model did not answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// The model refused or could not answer this request; asking again will not help.
    #[error("the model refused: {0}")]
    Refused(String),
    /// Nothing came in time; asking again may help.
    #[error("no answer within {0:?}")]
    TimedOut(Duration),
    /// A script for tests has no line for this.
    #[error("the script is at its end")]
    ScriptEnded,
}
