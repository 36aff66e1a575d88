//! The parts that serve one tenant.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use neap_engine::RecordingStatus;

use crate::api::{Api, ApiParts};
use crate::mcp::McpService;
use crate::proxy::{Decider, TenantProxy};

/// How exactly a store's size is known.
const SIZE_EVERY: Duration = Duration::from_secs(60);

/// What a tenant's services are built from: those that the server has.
#[derive(Default)]
pub struct TenantParts {
    pub proxy: Option<Decider>,
    pub mcp: Option<McpService>,
    pub api: Option<ApiParts>,
}

pub(crate) struct Services {
    pub(crate) proxy: Option<Arc<TenantProxy>>,
    pub(crate) mcp: Option<McpService>,
    pub(crate) api: Option<Arc<Api>>,
    size: Mutex<Option<(Instant, u64)>>,
}

impl Services {
    pub(super) fn new(parts: TenantParts) -> Self {
        let TenantParts { proxy, mcp, api } = parts;
        let proxy = proxy.map(|decider| Arc::new(TenantProxy::new(decider)));
        let api = api.map(|parts| Arc::new(Api::new(parts, proxy.clone())));
        Self { proxy, mcp, api, size: Mutex::default() }
    }

    pub(super) fn end_streams(&self) {
        if let Some(mcp) = &self.mcp {
            mcp.end_streams();
        }
        if let Some(api) = &self.api {
            api.end_streams();
        }
    }

    pub(super) async fn finish(&self) -> usize {
        match &self.proxy {
            Some(proxy) => proxy.decider.finish().await,
            None => 0,
        }
    }

    pub(super) fn recording_status(&self) -> Option<RecordingStatus> {
        self.proxy.as_ref().map(|proxy| proxy.decider.recording_status())
    }

    /// Whether its store has reached a size, as it was within the last minute. One that cannot be measured has not.
    pub(crate) async fn has_stored(&self, bytes: u64) -> bool {
        let known = *self.size.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, size)) = known.filter(|(at, _)| at.elapsed() < SIZE_EVERY) {
            return size >= bytes;
        }
        let engine = match (&self.api, &self.proxy) {
            (Some(api), _) => api.engine(),
            (None, Some(proxy)) => &proxy.decider.engine,
            (None, None) => return false,
        };
        let Ok(footprint) = engine.store().footprint(None).await else { return false };
        *self.size.lock().unwrap_or_else(PoisonError::into_inner) = Some((Instant::now(), footprint.file));
        footprint.file >= bytes
    }
}
