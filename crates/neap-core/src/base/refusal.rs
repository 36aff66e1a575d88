//! Refusals: answers to invalid requests.

use serde_json::json;

/// Why a call was not run, in words that the model can act on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    pub error: String,
    pub hint: Option<String>,
    /// Whether it contradicts what was sent before.
    pub is_conflict: bool,
}

impl Refusal {
    pub fn new(error: impl Into<String>) -> Self {
        Self { error: error.into(), hint: None, is_conflict: false }
    }

    pub fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    pub fn conflict(self) -> Self {
        Self { is_conflict: true, ..self }
    }

    /// The tool result that the model reads.
    pub fn to_json(&self) -> String {
        match &self.hint {
            None => json!({"error": self.error}).to_string(),
            Some(hint) => json!({"error": self.error, "hint": hint}).to_string(),
        }
    }
}
