//! Who may ask a server for what: tenants by name, keys with scopes, and when a key holds. No store and no clock.

mod key;
mod record;
mod scope;
mod tenant_name;
#[cfg(test)]
mod tests;

pub use key::{AccessKey, KeyId, SecretDigest};
pub use record::{KeyFault, KeyLimits, KeyRecord, TenantRecord};
pub use scope::{Level, Scope, Surface, Surfaces};
pub use tenant_name::{LOCAL_TENANT, TenantName};

/// Why a text is not what it should be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct AccessError(pub(crate) String);
