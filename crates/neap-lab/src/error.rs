//! Why a measurement could not be made.

use neap_engine::EngineError;
use neap_store::StoreError;

#[derive(Debug)]
pub struct LabError {
    pub message: String,
    pub hint: Option<String>,
}

impl LabError {
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), hint: None }
    }

    #[must_use]
    pub fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }
}

impl std::fmt::Display for LabError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for LabError {}

impl From<EngineError> for LabError {
    fn from(error: EngineError) -> Self {
        Self::new(error.to_string()).hint(error.hint())
    }
}

impl From<StoreError> for LabError {
    fn from(error: StoreError) -> Self {
        Self::new(error.to_string()).hint(error.hint())
    }
}

impl From<std::io::Error> for LabError {
    fn from(error: std::io::Error) -> Self {
        Self::new(error.to_string())
    }
}
