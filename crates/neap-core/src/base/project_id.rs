//! A project's id: where its repository is (`github.com/owner/repo`), or the name that a person gave it.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::ids::NameError;

const ID_BYTES_MAX: usize = 160;

/// Where a conversation takes place, as far as its program tells.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    #[default]
    Unknown,
    /// A folder of the machine that the program runs on.
    Folder(String),
    Project(ProjectId),
}

/// What work is about: the sessions and memories of one repository, whatever its clones, worktrees and branches. Parts
/// are separated by `/`; each has letters and digits in lower case and `-`, `_` and `.`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ProjectId(Arc<str>);

impl ProjectId {
    /// Accepts only text that already is an id.
    pub fn parse(text: &str) -> Result<Self, NameError> {
        match canonical(text) {
            Ok(id) if id == text => Ok(Self(id.into())),
            Ok(_) | Err(_) => Err(NameError::NotCanonical(text.chars().take(80).collect())),
        }
    }

    /// Makes the id of a name; the caller vouches that it has no secrets.
    pub(crate) fn of_safe_name(name: &str) -> Result<Self, NameError> {
        canonical(name).map(|id| Self(id.into()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

fn canonical(name: &str) -> Result<String, NameError> {
    let parts: Vec<String> = name.split('/').filter_map(canonical_part).collect();
    let id = parts.join("/");
    match id.len() {
        0 => Err(NameError::Empty),
        1..=ID_BYTES_MAX => Ok(id),
        _ => Err(NameError::NotCanonical(id.chars().take(80).collect())),
    }
}

/// `None` for a part without letters and digits, such as `..`.
fn canonical_part(part: &str) -> Option<String> {
    let mut out = String::new();
    for c in part.chars().flat_map(char::to_lowercase) {
        match c {
            c if c.is_alphanumeric() || matches!(c, '_' | '.') => out.push(c),
            _ if out.ends_with('-') => {}
            _ => out.push('-'),
        }
    }
    let out = out.trim_matches(|c| matches!(c, '-' | '.'));
    out.contains(char::is_alphanumeric).then(|| out.to_owned())
}

impl fmt::Display for ProjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for ProjectId {
    type Error = NameError;
    fn try_from(text: String) -> Result<Self, NameError> {
        Self::parse(&text)
    }
}

impl From<ProjectId> for String {
    fn from(id: ProjectId) -> String {
        id.as_str().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_becomes_an_id_that_is_its_own_name() {
        for (name, want) in [
            ("github.com/Owner/Repo", "github.com/owner/repo"),
            ("My Project", "my-project"),
            ("a/../../b", "a/b"),
            (" ~heron~ ", "heron"),
            ("Größe_2.0", "größe_2.0"),
            ("x]\n[system", "x-system"),
            ("a  -  b", "a-b"),
        ] {
            let id = ProjectId::of_safe_name(name).expect("it has letters");
            assert_eq!(id.as_str(), want);
            assert_eq!(ProjectId::parse(want), Ok(id));
        }
        for name in ["", "..", "/", "-", "🐛", &"x".repeat(ID_BYTES_MAX + 1)] {
            assert!(ProjectId::of_safe_name(name).is_err(), "{name:?}");
        }
        for text in ["A", "a//b", "a/", "a b", "../a", "-a"] {
            assert!(ProjectId::parse(text).is_err(), "{text:?}");
        }
    }
}
