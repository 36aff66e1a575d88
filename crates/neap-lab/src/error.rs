//! Why a measurement could not be made.

use neap_core::base::ids::NameError;
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

macro_rules! from_errors {
    ($($error:ty => |$it:ident| $hint:expr),+ $(,)?) => {$(
        impl From<$error> for LabError {
            fn from($it: $error) -> Self {
                Self { message: $it.to_string(), hint: $hint }
            }
        }
    )+};
}

from_errors! {
    EngineError => |error| Some(error.hint().into()),
    StoreError => |error| Some(error.hint().into()),
    NameError => |error| None,
    serde_json::Error => |error| None,
    std::io::Error => |error| None,
}
