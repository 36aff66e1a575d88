//! What a key opens: how much of it (a level) and where (surfaces).

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::AccessError;

/// Each includes those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    Read,
    Write,
    /// To erase, too.
    Admin,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Surface {
    /// Conversations, in the API: what was said, and the prompts made of it.
    Sessions,
    /// Memories, in the API.
    Memories,
    Proxy,
    Mcp,
}

impl Level {
    pub const ALL: [Level; 3] = [Level::Read, Level::Write, Level::Admin];

    pub fn as_str(self) -> &'static str {
        match self {
            Level::Read => "read",
            Level::Write => "write",
            Level::Admin => "admin",
        }
    }
}

impl Surface {
    pub const ALL: [Surface; 4] = [Surface::Sessions, Surface::Memories, Surface::Proxy, Surface::Mcp];

    pub fn as_str(self) -> &'static str {
        match self {
            Surface::Sessions => "sessions",
            Surface::Memories => "memories",
            Surface::Proxy => "proxy",
            Surface::Mcp => "mcp",
        }
    }

    fn bit(self) -> u8 {
        1 << self as u8
    }
}

/// At least one surface.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<Surface>", into = "Vec<Surface>")]
pub struct Surfaces(u8);

impl Surfaces {
    pub fn all() -> Self {
        Self(Surface::ALL.into_iter().fold(0, |bits, surface| bits | surface.bit()))
    }

    pub fn contains(self, surface: Surface) -> bool {
        self.0 & surface.bit() != 0
    }

    pub fn iter(self) -> impl Iterator<Item = Surface> {
        Surface::ALL.into_iter().filter(move |surface| self.contains(*surface))
    }
}

impl TryFrom<Vec<Surface>> for Surfaces {
    type Error = AccessError;

    fn try_from(all: Vec<Surface>) -> Result<Self, AccessError> {
        match all.into_iter().fold(0, |bits, surface| bits | surface.bit()) {
            0 => Err(AccessError("a key is for at least one surface".to_owned())),
            bits => Ok(Self(bits)),
        }
    }
}

impl From<Surfaces> for Vec<Surface> {
    fn from(surfaces: Surfaces) -> Self {
        surfaces.iter().collect()
    }
}

impl fmt::Debug for Surfaces {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scope {
    pub level: Level,
    pub surfaces: Surfaces,
}

impl Scope {
    pub fn everything() -> Self {
        Self { level: Level::Admin, surfaces: Surfaces::all() }
    }

    /// Whether it opens a surface, or any where none is named, at this level.
    pub fn allows(self, level: Level, surface: Option<Surface>) -> bool {
        self.level >= level && surface.is_none_or(|surface| self.surfaces.contains(surface))
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let surfaces: Vec<&str> = self.surfaces.iter().map(Surface::as_str).collect();
        write!(f, "{}:{}", self.level.as_str(), surfaces.join(","))
    }
}

/// As [`Display`](fmt::Display) writes it.
impl FromStr for Scope {
    type Err = AccessError;

    fn from_str(text: &str) -> Result<Self, AccessError> {
        let unknown = || AccessError("a scope is written as write:sessions,memories,proxy,mcp".to_owned());
        let (level, surfaces) = text.split_once(':').ok_or_else(unknown)?;
        let level = Level::ALL.into_iter().find(|known| known.as_str() == level).ok_or_else(unknown)?;
        let surface = |name: &str| Surface::ALL.into_iter().find(|known| known.as_str() == name);
        let surfaces: Option<Vec<Surface>> = surfaces.split(',').map(surface).collect();
        Ok(Self { level, surfaces: surfaces.ok_or_else(unknown)?.try_into()? })
    }
}
