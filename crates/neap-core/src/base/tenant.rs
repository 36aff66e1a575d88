//! Tenants: callers whose data no other caller may read.

use serde::{Deserialize, Serialize};

use crate::base::digest::Digest;

/// A caller: a digest of its credentials, never the key itself. Every chain starts with it, so two tenants never
/// share a link (I11).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Tenant(Digest);

impl Tenant {
    /// The only caller of a single-tenant proxy, whatever key or token a client sends.
    pub fn local() -> Self {
        Self::from_key(None)
    }

    /// The tenant of one key: the rule from before all credentials counted.
    pub fn from_key(key: Option<&str>) -> Self {
        Self(Digest::of("tenant", &[key.unwrap_or_default().as_bytes()]))
    }

    /// Each credential is its location, name and value; their order does not matter.
    pub fn from_credentials(mut parts: Vec<[&str; 3]>) -> Self {
        parts.sort_unstable();
        parts.dedup();
        let parts: Vec<&[u8]> = parts.iter().flatten().map(|part| part.as_bytes()).collect();
        Self(Digest::of("caller", &parts))
    }

    pub fn digest(&self) -> &Digest {
        &self.0
    }

    /// The digest of a response that a later request names in place of its history (`previous_response_id`).
    pub fn response_digest(&self, id: &str) -> Digest {
        Digest::of("response", &[self.0.bytes(), id.as_bytes()])
    }
}
