//! A model's name, as its provider calls it.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

const CHARS_MAX: usize = 64;

/// At most 64 visible characters without spaces.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct ModelName(Arc<str>);

impl TryFrom<String> for ModelName {
    type Error = &'static str;

    fn try_from(name: String) -> Result<Self, Self::Error> {
        Self::of_safe_name(&name).filter(|model| *model.0 == *name).ok_or("this is no model's name")
    }
}

impl ModelName {
    /// The caller vouches that it has no secrets; `None` if nothing is left of it.
    pub(crate) fn of_safe_name(name: &str) -> Option<Self> {
        let visible: String = name.chars().filter(char::is_ascii_graphic).take(CHARS_MAX).collect();
        (!visible.is_empty()).then(|| Self(visible.into()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ModelName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
