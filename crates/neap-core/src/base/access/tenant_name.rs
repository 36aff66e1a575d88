//! Names of tenants: also names of folders, so nothing but a plain word is one.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::AccessError;

const CHARS_MAX: usize = 40;

/// The tenant that has the data directory itself: the only one where no keys are configured.
pub const LOCAL_TENANT: &str = "local";

/// Lower-case letters, digits and single hyphens between them: never a path, whatever was typed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct TenantName(String);

impl TenantName {
    pub fn local() -> Self {
        Self(LOCAL_TENANT.to_owned())
    }

    pub fn is_local(&self) -> bool {
        self.0 == LOCAL_TENANT
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for TenantName {
    type Err = AccessError;

    fn from_str(text: &str) -> Result<Self, AccessError> {
        let is_word = |part: &str| {
            !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
        };
        if text.len() <= CHARS_MAX && text.split('-').all(is_word) {
            return Ok(Self(text.to_owned()));
        }
        Err(AccessError(format!(
            "a tenant's name has 1 to {CHARS_MAX} characters: lower-case letters, digits, and hyphens between them"
        )))
    }
}

impl TryFrom<String> for TenantName {
    type Error = AccessError;

    fn try_from(text: String) -> Result<Self, AccessError> {
        text.parse()
    }
}

impl From<TenantName> for String {
    fn from(name: TenantName) -> String {
        name.0
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
    fn a_name_is_a_plain_word() {
        for good in ["acme", "a", "team-7", "local", "0", &"a".repeat(40)] {
            assert_eq!(good.parse::<TenantName>().map(String::from).as_deref(), Ok(good));
        }
        let long = "a".repeat(41);
        for bad in [
            "", "-", "a-", "-a", "a--b", "A", "a b", "..", "../a", "a/b", "a\\b", "a.b", "a'b", "a;b", "é", "a\0",
            "a_b", &long,
        ] {
            assert!(bad.parse::<TenantName>().is_err(), "{bad:?}");
        }
    }
}
