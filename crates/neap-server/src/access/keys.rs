//! The gate where keys are configured: a request is whoever its key says, and nobody without one.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use axum::http::{HeaderMap, header};
use neap_core::base::access::{AccessKey, KeyFault, KeyId, KeyRecord};
use neap_core::base::ids::Stamp;
use neap_engine::{Clock, SystemClock};
use neap_store::access::{AccessStore, AuditEntry, KeyChange};

use super::audit_log::AuditLog;
use super::meter::{Meters, StreamPermit};
use super::{Credential, Grant, Need, Refused};

/// How exactly it is known when a key was last used.
const USED_EVERY_MS: i64 = 60_000;

pub(super) struct KeyGate {
    store: Arc<dyn AccessStore>,
    meters: Meters,
    /// When each key's last use was written.
    noted: Mutex<BTreeMap<KeyId, Stamp>>,
    audit: AuditLog,
}

impl KeyGate {
    pub(super) fn new(store: Arc<dyn AccessStore>, keep_audit_days: u32) -> Self {
        let audit = AuditLog::start(store.clone(), keep_audit_days);
        Self { store, meters: Meters::default(), noted: Mutex::default(), audit }
    }

    /// Whom a key that was brought speaks for. Each request asks the store, so that what another process revokes is
    /// refused from then on.
    pub(super) async fn of_key(&self, brought: &AccessKey) -> Result<KeyRecord, Refused> {
        let record = self.look_up(brought.id()).await?.ok_or(Refused::NoKey)?;
        record.check(brought, SystemClock.now()).map_err(|fault| self.refused(&record, fault))?;
        Ok(record)
    }

    /// The same for a browser that was let in with a key.
    pub(super) async fn of_browser(&self, id: &KeyId) -> Result<KeyRecord, Refused> {
        let record = self.look_up(id).await?.ok_or(Refused::NoKey)?;
        record.holds(SystemClock.now()).map_err(|fault| self.refused(&record, fault))?;
        Ok(record)
    }

    /// Admits a request of a key that holds.
    pub(super) async fn admit(
        &self,
        record: KeyRecord,
        by: Credential,
        (need, is_safe): (Need, bool),
        headers: &HeaderMap,
    ) -> Result<Grant, Refused> {
        let (level, surface) = need.asks(is_safe);
        record.allows(level, surface).map_err(|fault| self.refused(&record, fault))?;
        let permit = self.meter(&record, headers)?;
        self.note_used(&record.id).await;
        Ok(Grant::of_key(record, by, permit))
    }

    fn meter(&self, record: &KeyRecord, headers: &HeaderMap) -> Result<StreamPermit, Refused> {
        let length = headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
        if record.limits.bytes_per_minute.is_some() && headers.contains_key(header::TRANSFER_ENCODING) {
            return Err(Refused::NoLength);
        }
        self.meters.admit(&record.id, &record.limits, length.unwrap_or(0), Instant::now()).map_err(|used| {
            self.note_refusal(record, used.what);
            Refused::UsedUp(used)
        })
    }

    async fn look_up(&self, id: &KeyId) -> Result<Option<KeyRecord>, Refused> {
        self.store.key(id).await.map_err(|error| {
            tracing::error!(target: "neap::access", %error, "cannot look a key up");
            Refused::Unavailable
        })
    }

    fn refused(&self, record: &KeyRecord, fault: KeyFault) -> Refused {
        let (refused, why) = match fault {
            // Nobody may fill the log of a key without having it.
            KeyFault::Unknown => return Refused::NoKey,
            KeyFault::Expired => (Refused::Expired, "expired"),
            KeyFault::Revoked => (Refused::Revoked, "revoked"),
            KeyFault::Level(level) => (Refused::Level(level), "not of this scope"),
            KeyFault::Surface(surface) => (Refused::Surface(surface), "not for this surface"),
        };
        self.note_refusal(record, why);
        refused
    }

    fn note_refusal(&self, record: &KeyRecord, why: &str) {
        self.audit.add(AuditEntry {
            at: SystemClock.now(),
            tenant: Some(record.tenant.name.clone()),
            key: Some(record.id.clone()),
            what: "request".to_owned(),
            ids: String::new(),
            outcome: format!("refused: {why}"),
        });
    }

    /// A failure costs only the time that is shown: whoever asks does not wait for it twice in a minute.
    async fn note_used(&self, id: &KeyId) {
        let now = SystemClock.now();
        {
            let mut noted = self.noted.lock().unwrap_or_else(PoisonError::into_inner);
            let last = noted.entry(id.clone()).or_insert(Stamp(i64::MIN));
            if now.0.saturating_sub(last.0) < USED_EVERY_MS {
                return;
            }
            *last = now;
        }
        if let Err(error) = self.store.change_key(id, KeyChange::Used(now)).await {
            tracing::warn!(target: "neap::access", %error, "cannot note that a key was used");
        }
    }

    pub(super) fn audit(&self, entry: AuditEntry) {
        self.audit.add(entry);
    }

    pub(super) fn store(&self) -> &Arc<dyn AccessStore> {
        &self.store
    }

    pub(super) async fn finish(&self) {
        self.audit.flush().await;
    }
}
