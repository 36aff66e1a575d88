//! What each tenant is served by: opened when somebody first asks for it, closed when nobody did for a while. A request
//! reaches a store only through the services of the grant that the gate gave it, so that no query can forget whose it is.

mod hold;
mod services;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use neap_core::base::access::{TenantName, TenantRecord};
use neap_core::base::ids::AgentId;
use neap_engine::RecordingStatus;
use tokio::sync::OnceCell;

use crate::access::Grant;
pub(crate) use hold::keep_while_sent;
pub(crate) use services::Services;
pub use services::TenantParts;

/// Open at once, if none of them is in use; each has a store of its own.
const OPEN_MAX: usize = 32;
const IDLE_MAX: Duration = Duration::from_secs(600);

/// Opens what serves a tenant and, where one is named, one of its agents; may wait for a disk. The error is for the log.
pub type OpenTenant = Box<dyn Fn(&TenantName, Option<&AgentId>) -> Result<TenantParts, String> + Send + Sync>;

/// Why a tenant is not served now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NotServed;

/// One that was removed and added again is another.
type Place = (TenantRecord, Option<AgentId>);

struct Slot {
    services: Arc<OnceCell<Arc<Services>>>,
    used: Instant,
}

pub struct Tenants {
    slots: Mutex<BTreeMap<Place, Slot>>,
    /// `None` where there is only this machine's tenant, which is open.
    opener: Option<Arc<OpenTenant>>,
    is_ending: AtomicBool,
}

impl Tenants {
    /// This machine's tenant alone.
    pub fn only(parts: TenantParts) -> Self {
        let services = Arc::new(OnceCell::new_with(Some(Arc::new(Services::new(parts)))));
        let slot = Slot { services, used: Instant::now() };
        let slots = Mutex::new(BTreeMap::from([((TenantRecord::local(), None), slot)]));
        Self { slots, opener: None, is_ending: AtomicBool::new(false) }
    }

    /// Those whose keys are brought.
    pub fn opened_by(opener: OpenTenant) -> Self {
        Self { slots: Mutex::default(), opener: Some(Arc::new(opener)), is_ending: AtomicBool::new(false) }
    }

    /// This machine's tenant, if it is the only one.
    pub(crate) fn only_one(&self) -> Option<Arc<Services>> {
        self.opener.is_none().then(|| self.open().into_iter().next()).flatten()
    }

    /// What serves a grant's tenant.
    pub(crate) async fn of(&self, grant: &Grant) -> Result<Arc<Services>, NotServed> {
        let place = (grant.tenant.clone(), grant.agent.clone());
        let cell = {
            let (mut slots, now) = (self.slots(), Instant::now());
            let slot = slots.entry(place.clone()).or_insert_with(|| Slot { services: Arc::default(), used: now });
            slot.used = now;
            let cell = slot.services.clone();
            if self.opener.is_some() {
                close_idle(&mut slots, &place, now);
            }
            cell
        };
        if let Some(services) = cell.get() {
            return Ok(services.clone());
        }
        let opener = self.opener.clone().filter(|_| !self.is_ending.load(Ordering::Relaxed)).ok_or(NotServed)?;
        let opened = cell.get_or_try_init(|| async {
            let (tenant, agent) = place;
            let parts = tokio::task::spawn_blocking(move || opener(&tenant.name, agent.as_ref())).await;
            let parts = parts.unwrap_or_else(|error| Err(error.to_string())).map_err(|error| {
                tracing::error!(target: "neap::access", error, "cannot open a tenant's store");
                NotServed
            })?;
            Ok(Arc::new(Services::new(parts)))
        });
        opened.await.cloned()
    }

    /// Ends streams that would stay open forever, and opens no tenant from now on.
    pub(crate) fn end_streams(&self) {
        self.is_ending.store(true, Ordering::Relaxed);
        self.open().iter().for_each(|services| services.end_streams());
    }

    /// Waits until everything is recorded. Returns how many requests and responses could not be.
    pub(crate) async fn finish(&self) -> usize {
        let mut left = 0;
        for services in self.open() {
            left += services.finish().await;
        }
        left
    }

    /// Of all that are open together: why one fails, and how much waits.
    pub(crate) fn recording_status(&self) -> RecordingStatus {
        let all = self.open().into_iter().filter_map(|services| services.recording_status());
        all.fold(RecordingStatus::default(), |sum, one| RecordingStatus {
            failing: sum.failing.or(one.failing),
            waiting: sum.waiting + one.waiting,
            dropped: sum.dropped + one.dropped,
        })
    }

    fn open(&self) -> Vec<Arc<Services>> {
        self.slots().values().filter_map(|slot| slot.services.get().cloned()).collect()
    }

    fn slots(&self) -> MutexGuard<'_, BTreeMap<Place, Slot>> {
        // No change of it can panic halfway.
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Closes what nobody asked for lately; at the limit, what was asked for longest ago. What is in use stays open.
fn close_idle(slots: &mut BTreeMap<Place, Slot>, asked: &Place, now: Instant) {
    let is_free = |slot: &Slot| slot.services.get().is_some_and(|services| Arc::strong_count(services) == 1);
    let mut free: Vec<(Instant, Place)> = slots
        .iter()
        .filter(|(place, slot)| *place != asked && is_free(slot))
        .map(|(place, slot)| (slot.used, place.clone()))
        .collect();
    free.sort();
    let beyond = slots.len().saturating_sub(OPEN_MAX);
    let closed = free.into_iter().enumerate();
    let closed = closed.filter(|(at, (used, _))| *at < beyond || now.duration_since(*used) >= IDLE_MAX);
    for (_, (_, place)) in closed {
        let services = slots.remove(&place).and_then(|slot| slot.services.get().cloned());
        if let Some(services) = services {
            services.end_streams();
            tokio::spawn(async move {
                services.finish().await;
                // Closing a store waits for its threads.
                tokio::task::spawn_blocking(move || drop(services));
            });
        }
    }
}
