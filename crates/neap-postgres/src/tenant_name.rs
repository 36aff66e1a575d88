//! The name of a tenant, as it is stored in every row.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

const CHARS_MAX: usize = 63;

/// Lower-case letters, digits, `-` and `_`: safe in every statement.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TenantName(Arc<str>);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no name of a tenant: it takes 1 to 63 lower-case letters, digits, - and _")]
pub struct TenantNameError(String);

impl TenantName {
    /// The only tenant where nobody configured others.
    pub fn local() -> Self {
        Self("local".into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for TenantName {
    type Err = TenantNameError;

    fn from_str(text: &str) -> Result<Self, TenantNameError> {
        let is_fit = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_';
        if text.is_empty() || text.len() > CHARS_MAX || !text.chars().all(is_fit) {
            return Err(TenantNameError(text.chars().take(CHARS_MAX).collect()));
        }
        Ok(Self(text.into()))
    }
}

impl fmt::Display for TenantName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_is_syntax() {
        for name in ["", "a'b", "A", "a b", "é", "a;b", "a\0", &"a".repeat(64)] {
            assert!(name.parse::<TenantName>().is_err(), "{name:?}");
        }
        assert_eq!("team-7_x".parse::<TenantName>().map(|name| name.to_string()), Ok("team-7_x".to_owned()));
        assert_eq!("local".parse(), Ok(TenantName::local()));
    }
}
