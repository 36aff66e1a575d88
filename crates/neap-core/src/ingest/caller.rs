//! Who asks.

use super::chain::Tenant;
use super::credentials::{Credential, credentials, earlier_key};

/// How many callers a proxy serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Callers {
    /// One, whatever key or sign-in token a client shows: the proxy of one's own machine. A token that is renewed, or a second
    /// key, is the same caller.
    One,
    /// Several: all that looks like a credential tells them apart, and whoever shows none shares nothing with anybody.
    Many,
}

/// Who sent a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Caller {
    /// Whose request it is.
    pub tenant: Tenant,
    /// Whose it was while the first of four headers alone told callers apart. Streams of that time are known by it; it proves
    /// nothing, since others may have shown the same.
    pub earlier: Option<Tenant>,
    /// How many callers there are.
    pub callers: Callers,
}

impl Caller {
    /// Reads who sent a request from its headers and its target: a path with its query, or a whole address. None where nothing that it
    /// shows tells one caller from another: then it stands alone.
    pub fn of(callers: Callers, target: &str, headers: &[(String, String)]) -> Option<Self> {
        let tenant = match callers {
            Callers::One => Tenant::local(),
            Callers::Many => {
                let shown = credentials(target, headers);
                if !shown.iter().any(|credential| credential.is_secret) {
                    return None;
                }
                Tenant::of_credentials(shown.iter().map(Credential::parts).collect())
            }
        };
        let earlier = earlier_key(headers).map(|key| Tenant::of_key(Some(key)));
        Some(Self { tenant, earlier, callers })
    }

    /// Whether a stream without an owner is this caller's only if it is shown to be: by whoever brings along all of its history.
    pub fn must_prove(&self) -> bool {
        self.callers == Callers::Many
    }
}
