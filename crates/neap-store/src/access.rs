//! Where tenants, keys and the audit log are kept. A backend keeps them apart from every tenant's own store, and any
//! number of processes may use them at once.

use async_trait::async_trait;
use neap_core::base::access::{KeyId, KeyRecord, SecretDigest, TenantName, TenantRecord};
use neap_core::base::ids::Stamp;
use serde::{Deserialize, Serialize};

use crate::StoreError;

/// A change of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyChange {
    /// Another secret takes the place of today's, which holds until `former_until`. A secret from before that holds no
    /// longer.
    Rotated {
        secret: SecretDigest,
        former_until: Stamp,
    },
    Revoked(Stamp),
    Used(Stamp),
}

/// One thing that somebody did, or was refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditEntry {
    pub at: Stamp,
    /// `None` where nobody's key was brought.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant: Option<TenantName>,
    /// `None` for a command on the machine itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<KeyId>,
    /// A route or a command.
    pub what: String,
    /// What it was done to: names and ids, never text.
    pub ids: String,
    /// `ok`, or why it was refused.
    pub outcome: String,
}

/// Which entries of the audit log are listed, newest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AuditQuery {
    pub tenant: Option<TenantName>,
    pub key: Option<KeyId>,
    /// Entries with a smaller number.
    pub before: Option<u64>,
    pub max: usize,
}

#[async_trait]
pub trait AccessStore: Send + Sync {
    /// Ordered by name.
    async fn tenants(&self) -> Result<Vec<TenantRecord>, StoreError>;

    /// Returns whether it is new; one that exists stays as it is.
    async fn add_tenant(&self, tenant: &TenantRecord) -> Result<bool, StoreError>;

    /// Removes a tenant with its keys; its store is another matter. Returns whether there was one.
    async fn remove_tenant(&self, name: &TenantName) -> Result<bool, StoreError>;

    /// Those of one tenant, or all; the oldest first.
    async fn keys(&self, tenant: Option<&TenantName>) -> Result<Vec<KeyRecord>, StoreError>;

    async fn key(&self, id: &KeyId) -> Result<Option<KeyRecord>, StoreError>;

    /// Returns whether its tenant exists (the local one always does).
    async fn add_key(&self, key: &KeyRecord) -> Result<bool, StoreError>;

    /// Returns whether there is such a key. One that was revoked stays so.
    async fn change_key(&self, id: &KeyId, change: KeyChange) -> Result<bool, StoreError>;

    async fn append_audit(&self, entries: &[AuditEntry]) -> Result<(), StoreError>;

    /// Entries with their numbers, newest first.
    async fn audit(&self, query: &AuditQuery) -> Result<Vec<(u64, AuditEntry)>, StoreError>;

    /// Drops the entries from before a time; returns how many those were.
    async fn prune_audit(&self, before: Stamp) -> Result<u64, StoreError>;
}
