//! Sizes of the engine's caches, so that one that grows without bound can be found.

use crate::engine::Engine;
use crate::session::Session;

/// The size of one cache.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct CacheSize {
    /// Display name.
    pub name: &'static str,
    /// Entries in the cache.
    pub entries: u64,
    /// Bytes of text or numbers in the entries, without overhead; 0 where not counted.
    pub bytes: u64,
    /// Limit on `entries`, for caches that take long to fill.
    pub entries_max: Option<u64>,
}

impl CacheSize {
    pub(crate) fn new(name: &'static str, entries: usize, bytes: usize) -> Self {
        Self { name, entries: entries as u64, bytes: bytes as u64, entries_max: None }
    }
}

impl Engine {
    /// Sizes of the caches for client histories and token counts. A history that is in use is counted, but not its
    /// content.
    pub fn cache_sizes(&self) -> Vec<CacheSize> {
        let cache = &self.parts.session_cache;
        let (mut efforts, mut spans, mut exchanges, mut hidden, mut cut) = (0, 0, 0, (0, 0), (0, 0));
        let sessions = cache.all_sessions();
        for session in &sessions {
            let Ok(session) = session.try_lock() else { continue };
            let state = &session.stream.state;
            efforts += state.efforts().len();
            spans += state.head().ambient_window.spans().len();
            exchanges += session.stream.logs.exchanges();
            hidden.0 += session.hidden_turns.len();
            hidden.1 += session.hidden_turns.iter().map(neap_core::client::HiddenToolTurns::bytes).sum::<usize>();
            if let Some(plan) = &session.cut_plan {
                let (entries, bytes) = plan.footprint();
                cut = (cut.0 + entries, cut.1 + bytes);
            }
        }
        let counts = cache.all_counts();
        let texts: usize = counts.iter().map(neap_model::wire::request::CachedCounter::cached_texts).sum();
        let counted_max = (counts.len() * neap_model::wire::request::CachedCounter::COUNTS_MAX) as u64;
        let requests = counts.iter().map(neap_model::wire::request::CachedCounter::cached_requests);
        let requests = requests.fold((0, 0), |(a, b), (entries, bytes)| (a + entries, b + bytes));
        vec![
            CacheSize::new("histories", sessions.len(), 0),
            CacheSize::new("efforts of histories", efforts, 0),
            CacheSize::new("spans of histories", spans, 0),
            CacheSize::new("exchanges of histories", exchanges, 0),
            CacheSize::new("shadows of histories", hidden.0, hidden.1),
            CacheSize::new("cuts of histories", cut.0, cut.1),
            CacheSize { entries_max: Some(counted_max), ..CacheSize::new("counted texts", texts, 0) },
            CacheSize::new("requests that were read", requests.0, requests.1),
        ]
    }
}

impl Session {
    /// Sizes of what an open session holds in memory.
    pub fn cache_sizes(&self) -> Vec<CacheSize> {
        let state = &self.stream.state;
        let head = state.head();
        vec![
            CacheSize::new("efforts", state.efforts().len(), 0),
            CacheSize::new("turns in flight", head.pending.len(), 0),
            CacheSize::new("spans", head.ambient_window.spans().len(), 0),
            CacheSize::new("exchanges", self.stream.logs.exchanges(), 0),
            CacheSize::new("messages sent", self.stream.sent.message_count(), 0),
        ]
    }
}
