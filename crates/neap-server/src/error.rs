//! Errors of the servers.

use std::fmt;

/// Why a server could not start or go on, with a hint what to do.
#[derive(Debug)]
pub struct ServerError {
    pub message: String,
    pub hint: Option<String>,
}

impl ServerError {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), hint: None }
    }

    pub(crate) fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }
}

impl fmt::Display for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ServerError {}

impl From<std::io::Error> for ServerError {
    fn from(error: std::io::Error) -> Self {
        Self::new(error.to_string())
    }
}
