//! A tenant's side of the proxy: what plans and records its requests, and what became of the latest ones.

use std::ops::Deref;
use std::sync::Arc;

use super::Proxy;
use super::decide::Decider;
use super::request_log::{RequestLog, RequestLogPage};
use super::request_metrics::{InFlight, Waiting};
use crate::access::Grant;
use crate::tenants::Services;

pub(crate) struct TenantProxy {
    pub(crate) decider: Decider,
    pub(super) request_log: RequestLog,
    pub(super) waiting: Waiting,
}

impl TenantProxy {
    pub(crate) fn new(decider: Decider) -> Self {
        Self { decider, request_log: RequestLog::default(), waiting: Waiting::default() }
    }

    /// The latest requests after a number.
    pub(crate) fn requests_after(&self, number: u64) -> RequestLogPage {
        RequestLogPage { waiting: self.waiting.count(), requests: self.request_log.after(number) }
    }

    pub(super) fn start_request(&self) -> InFlight<'_> {
        self.waiting.start()
    }
}

/// One request on its way: the proxy, and whose request it is. There is no decider that is not a tenant's.
pub(super) struct Relay {
    pub(super) proxy: Arc<Proxy>,
    pub(super) tenant: Arc<TenantProxy>,
    pub(super) grant: Grant,
    /// Keeps the tenant open until everything is recorded.
    pub(super) _services: Arc<Services>,
}

impl Deref for Relay {
    type Target = Proxy;

    fn deref(&self) -> &Proxy {
        &self.proxy
    }
}
