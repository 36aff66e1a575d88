//! What is kept of a tenant and of a key, and whether a key holds.

use serde::{Deserialize, Serialize};

use super::{AccessKey, KeyId, Level, Scope, SecretDigest, Surface, TenantName};
use crate::base::ids::{AgentId, Stamp};

/// A tenant. One that was removed and added again is another: `created` tells them apart.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct TenantRecord {
    pub name: TenantName,
    pub created: Stamp,
}

impl TenantRecord {
    /// The tenant that is always there.
    pub fn local() -> Self {
        Self { name: TenantName::local(), created: Stamp(0) }
    }
}

/// What one key may use; `None` for as much as there is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct KeyLimits {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests_per_minute: Option<u64>,
    /// Of requests' bodies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes_per_minute: Option<u64>,
    /// Answers that are sent at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub streams: Option<u64>,
    /// Of its tenant's store, beyond which the key only reads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stored_bytes: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyRecord {
    pub id: KeyId,
    pub tenant: TenantRecord,
    /// What a person calls it.
    pub label: String,
    pub scope: Scope,
    /// The only agent whose memories it opens; `None` for the server's.
    pub agent: Option<AgentId>,
    pub limits: KeyLimits,
    pub secret: SecretDigest,
    /// The secret before the last rotation, and until when it holds.
    pub former: Option<(SecretDigest, Stamp)>,
    pub created: Stamp,
    pub expires: Option<Stamp>,
    pub revoked: Option<Stamp>,
    pub last_used: Option<Stamp>,
}

/// Why a key does not open what it was brought for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyFault {
    /// There is no such key, or the secret is another.
    Unknown,
    Expired,
    Revoked,
    Level(Level),
    Surface(Surface),
}

impl KeyRecord {
    /// Whether a key that was brought is this one, and holds now. Only its owner learns why it does not.
    pub fn check(&self, brought: &AccessKey, now: Stamp) -> Result<(), KeyFault> {
        let is_former = self.former.as_ref().is_some_and(|(secret, until)| {
            let is_it = secret == brought.digest();
            is_it && now < *until
        });
        // Both comparisons are made, so that no timing tells which one it was.
        let is_current = self.secret == *brought.digest();
        if self.id != *brought.id() || !(is_current || is_former) {
            return Err(KeyFault::Unknown);
        }
        self.holds(now)
    }

    /// Whether it is neither revoked nor expired.
    pub fn holds(&self, now: Stamp) -> Result<(), KeyFault> {
        if self.revoked.is_some() {
            return Err(KeyFault::Revoked);
        }
        match self.expires {
            Some(expires) if expires <= now => Err(KeyFault::Expired),
            Some(_) | None => Ok(()),
        }
    }

    /// Whether it is for this surface (any, where none is named) at this level.
    pub fn allows(&self, level: Level, surface: Option<Surface>) -> Result<(), KeyFault> {
        match surface {
            Some(surface) if !self.scope.surfaces.contains(surface) => Err(KeyFault::Surface(surface)),
            Some(_) | None if self.scope.level < level => Err(KeyFault::Level(level)),
            Some(_) | None => Ok(()),
        }
    }
}
