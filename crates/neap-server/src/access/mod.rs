//! Who may ask what: one gate for the proxy, the API, the page, `/mcp` and `/metrics`.
//!
//! `origin` refuses requests of other sites' pages, whatever they bring. What a request brings becomes a [`Grant`]; handlers
//! see nothing else of it. Where keys are configured, that is one of them (`brought`, `keys`), or the cookie of a browser
//! that one let in, and a provider's key decides nothing. Otherwise it is a token of the data directory or the page's
//! cookie, for the one tenant of this machine, and the proxy is open to whoever reaches it.

mod audit_log;
mod brought;
mod browser;
mod keys;
mod meter;
mod origin;
mod refused;
mod token;

use std::sync::Arc;

use axum::http::{HeaderMap, Method};
use neap_core::base::access::{KeyId, KeyRecord, Level, Scope, Surface, TenantRecord};
use neap_core::base::ids::AgentId;
use neap_engine::{Clock, SystemClock};
use neap_store::access::{AccessStore, AuditEntry};

pub(crate) use brought::{KEY_HEADER, take_key_from_path};
pub(crate) use browser::Browsers;
use keys::KeyGate;
use meter::StreamPermit;
pub use meter::UsedUp;
use origin::OriginCheck;
pub use refused::Refused;
pub use token::{ApiToken, TokenScope};

/// Who asks, and what they may do.
#[derive(Debug, Clone)]
pub struct Grant {
    /// Whose data it opens, and nobody else's.
    pub tenant: TenantRecord,
    pub scope: Scope,
    /// The only agent whose memories it opens; `None` for the server's.
    pub agent: Option<AgentId>,
    key: Option<KeyRecord>,
    by: Credential,
    /// Counts as an answer that is being sent.
    _permit: Option<Arc<StreamPermit>>,
}

impl Grant {
    fn local(scope: Scope, by: Credential) -> Self {
        Self { tenant: TenantRecord::local(), scope, agent: None, key: None, by, _permit: None }
    }

    fn of_key(key: KeyRecord, by: Credential, permit: StreamPermit) -> Self {
        let (tenant, scope, agent) = (key.tenant.clone(), key.scope, key.agent.clone());
        Self { tenant, scope, agent, key: Some(key), by, _permit: Some(Arc::new(permit)) }
    }

    /// The most that its tenant may have stored while it still writes.
    pub(crate) fn stored_bytes_max(&self) -> Option<u64> {
        self.key.as_ref().and_then(|key| key.limits.stored_bytes)
    }

    fn key_id(&self) -> Option<&KeyId> {
        self.key.as_ref().map(|key| &key.id)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Credential {
    /// What a program brings: a token or a key.
    Token,
    Cookie,
    /// Nothing: only this machine can connect.
    Nothing,
}

/// What a route asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// Nothing but a known host.
    Open,
    /// A part of the API; any, where none is named.
    Api(Level, Option<Surface>),
    /// To speak MCP.
    Mcp,
    /// To have requests forwarded.
    Proxy,
    /// The figures of the whole server, whoever's requests they count.
    Server,
}

impl Need {
    /// What a key must be for. Calls in MCP are checked one by one.
    fn asks(self, is_safe: bool) -> (Level, Option<Surface>) {
        match self {
            Need::Open | Need::Server => (Level::Read, None),
            Need::Api(level, surface) => (level, surface),
            Need::Mcp => (Level::Read, Some(Surface::Mcp)),
            // What is forwarded is recorded.
            Need::Proxy if is_safe => (Level::Read, Some(Surface::Proxy)),
            Need::Proxy => (Level::Write, Some(Surface::Proxy)),
        }
    }
}

/// What opens the gate.
enum Lock {
    Tokens(Vec<ApiToken>),
    Keys(KeyGate),
}

/// The gate.
pub struct Access {
    origin: OriginCheck,
    browsers: Browsers,
    lock: Lock,
}

impl Access {
    /// For this machine's one tenant. `hosts` are the names accepted in `Host`, besides addresses and `localhost`. `port`
    /// is part of the cookie's name: a browser sends the cookies of one host to all its ports.
    pub fn new(hosts: Vec<String>, tokens: Vec<ApiToken>, port: u16) -> Self {
        Self::with(hosts, port, Lock::Tokens(tokens))
    }

    /// Where keys are configured. The audit log keeps entries for so many days. Needs a runtime.
    pub fn with_keys(hosts: Vec<String>, port: u16, keys: Arc<dyn AccessStore>, keep_audit_days: u32) -> Self {
        Self::with(hosts, port, Lock::Keys(KeyGate::new(keys, keep_audit_days)))
    }

    fn with(hosts: Vec<String>, port: u16, lock: Lock) -> Self {
        Self { origin: OriginCheck::new(hosts), browsers: Browsers::new(port), lock }
    }

    pub fn is_keyed(&self) -> bool {
        matches!(self.lock, Lock::Keys(_))
    }

    /// A path with a code that lets one browser in, once, for this machine's one tenant.
    pub fn enter_path(&self) -> Result<String, getrandom::Error> {
        self.browsers.new_code(None)
    }

    /// The same for whom a grant is for.
    pub(crate) fn enter_path_of(&self, grant: &Grant) -> Result<String, getrandom::Error> {
        self.browsers.new_code(grant.key_id().cloned())
    }

    pub(crate) fn browsers(&self) -> &Browsers {
        &self.browsers
    }

    pub(crate) fn origin_refusal(&self, headers: &HeaderMap) -> Option<String> {
        self.origin.refusal_reason(headers)
    }

    pub(crate) fn is_local_host(&self, headers: &HeaderMap) -> bool {
        self.origin.is_local_host(headers)
    }

    /// Checks a request; gives whom it speaks for, or nothing where anybody may ask.
    pub async fn check(&self, method: &Method, headers: &HeaderMap, need: Need) -> Result<Option<Grant>, Refused> {
        if let Some(reason) = self.origin.refusal_reason(headers) {
            return Err(Refused::Origin(reason));
        }
        if need == Need::Open {
            return Ok(None);
        }
        let grant = match &self.lock {
            Lock::Tokens(tokens) => self.local_grant(tokens, headers, need)?,
            Lock::Keys(gate) => self.key_grant(gate, method, headers, need).await?,
        };
        // A question has a body, too; a browser asks it for the page alone.
        let is_safe = matches!(need, Need::Api(Level::Read, _) | Need::Server) && method.is_safe();
        if !is_safe && grant.by == Credential::Cookie && !origin::is_same_origin(headers) {
            return Err(Refused::NoOrigin);
        }
        Ok(Some(grant))
    }

    async fn key_grant(
        &self,
        gate: &KeyGate,
        method: &Method,
        headers: &HeaderMap,
        need: Need,
    ) -> Result<Grant, Refused> {
        let brought = match need {
            Need::Proxy => brought::in_header(headers),
            Need::Open | Need::Api(..) | Need::Mcp | Need::Server => brought::in_header_or_bearer(headers),
        };
        let has_other = headers.contains_key(KEY_HEADER) || token::bearer(headers).is_some();
        let (record, by) = match (brought, self.browsers.known(headers)) {
            (Some(key), _) => (gate.of_key(&key).await?, Credential::Token),
            // A wrong key is not made good by a cookie, and a cookie opens the API alone.
            (None, Some(Some(id))) if !has_other && matches!(need, Need::Api(..)) => {
                (gate.of_browser(&id).await?, Credential::Cookie)
            }
            (None, _) => return Err(Refused::NoKey),
        };
        if need == Need::Server && !record.tenant.name.is_local() {
            return Err(Refused::OtherTenant);
        }
        gate.admit(record, by, (need, method.is_safe()), headers).await
    }

    fn local_grant(&self, tokens: &[ApiToken], headers: &HeaderMap, need: Need) -> Result<Grant, Refused> {
        let grant = match token::bearer(headers) {
            _ if need == Need::Proxy => Grant::local(Scope::everything(), Credential::Nothing),
            // A wrong token is not made good by a cookie.
            Some(given) => {
                let token = tokens.iter().find(|token| token.is(given)).ok_or(Refused::Unknown)?;
                let level = match (token.scope(), need) {
                    (TokenScope::Write, _) | (TokenScope::Mcp, Need::Mcp) => Level::Admin,
                    (TokenScope::Read, Need::Api(..) | Need::Server) => Level::Read,
                    (TokenScope::Read | TokenScope::Mcp, _) => return Err(Refused::Unknown),
                };
                Grant::local(Scope { level, ..Scope::everything() }, Credential::Token)
            }
            None if need != Need::Mcp && self.browsers.known(headers) == Some(None) => {
                Grant::local(Scope::everything(), Credential::Cookie)
            }
            None => return Err(Refused::Unknown),
        };
        let (level, surface) = need.asks(true);
        match grant.scope.allows(level, surface) {
            true => Ok(grant),
            // Of the tokens for the API, the other one may do everything.
            false => Err(Refused::Level(Level::Write)),
        }
    }

    /// Notes in the audit log what was done; without keys there is none.
    pub(crate) fn note(&self, grant: &Grant, what: String, ids: String, outcome: String) {
        if let Lock::Keys(gate) = &self.lock {
            let (tenant, key) = (Some(grant.tenant.name.clone()), grant.key_id().cloned());
            gate.audit(AuditEntry { at: SystemClock.now(), tenant, key, what, ids, outcome });
        }
    }

    /// Whether the keys can be read; without keys there is nothing to read.
    pub(crate) async fn check_store(&self) -> Result<(), neap_store::StoreError> {
        match &self.lock {
            Lock::Keys(gate) => gate.store().tenants().await.map(drop),
            Lock::Tokens(_) => Ok(()),
        }
    }

    /// Writes what is still to be written.
    pub(crate) async fn finish(&self) {
        if let Lock::Keys(gate) = &self.lock {
            gate.finish().await;
        }
    }
}

#[cfg(test)]
mod tests;
