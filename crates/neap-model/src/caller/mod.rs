//! Identifies the caller of a request.

mod credential_names;
mod credential_values;
mod credentials;
#[cfg(test)]
mod tests;

use neap_core::base::tenant::Tenant;

use credentials::{Credential, find_credentials, legacy_key};
pub use credentials::{percent_decoded, percent_decoded_bytes, target_path};

/// How many callers a proxy serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tenancy {
    /// One caller, whatever key or token a client sends: a proxy on one's own machine.
    Single,
    /// Several callers, told apart by all credentials. A request without one shares nothing with anybody.
    Multi,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Caller {
    pub tenant: Tenant,
    /// By the old rule (the first of four headers). Finds old streams; proves nothing, as others may send the
    /// same.
    pub legacy_tenant: Option<Tenant>,
    pub tenancy: Tenancy,
}

impl Caller {
    /// `target` is a path with query, or a whole URL. None if nothing identifies a caller: the request stands
    /// alone.
    pub fn from_request(tenancy: Tenancy, target: &str, headers: &[(String, String)]) -> Option<Self> {
        let tenant = match tenancy {
            Tenancy::Single => Tenant::local(),
            Tenancy::Multi => {
                let credentials = find_credentials(target, headers);
                if !credentials.iter().any(|credential| credential.is_secret) {
                    return None;
                }
                Tenant::from_credentials(credentials.iter().map(Credential::digest_parts).collect())
            }
        };
        let legacy_tenant = legacy_key(headers).map(|key| Tenant::from_key(Some(key)));
        Some(Self { tenant, legacy_tenant, tenancy })
    }

    /// Whether a stream without an owner is this caller's only on proof: a request that resends its whole history.
    pub fn needs_proof(&self) -> bool {
        self.tenancy == Tenancy::Multi
    }
}
