//! How much an engine holds in memory, part by part: so that one that grows is found by counting.

use std::sync::PoisonError;

use crate::engine::Engine;
use crate::session::Session;

/// One part.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct CacheSize {
    /// What it is called.
    pub name: &'static str,
    /// How many things are in it.
    pub entries: u64,
    /// Bytes of text or numbers in them, without what surrounds them; 0 where that is not counted.
    pub bytes: u64,
    /// The most that are ever in it, where that is so many that it takes long to fill.
    pub entries_max: Option<u64>,
}

impl CacheSize {
    /// A part with so much in it.
    pub(crate) fn new(name: &'static str, entries: usize, bytes: usize) -> Self {
        Self { name, entries: entries as u64, bytes: bytes as u64, entries_max: None }
    }
}

impl Engine {
    /// What is held for clients' histories and for counting. A history that is being worked on is counted as one, without what is in it.
    pub fn cache_sizes(&self) -> Vec<CacheSize> {
        let lines = &self.parts.lines;
        let (mut efforts, mut spans, mut exchanges, mut shadows, mut cut) = (0, 0, 0, (0, 0), (0, 0));
        let shared = lines.shared();
        for line in &shared {
            let Ok(line) = line.try_lock() else { continue };
            let state = &line.live.state;
            efforts += state.efforts().len();
            spans += state.head().ambient_window.spans().len();
            exchanges += line.live.logs.exchanges();
            shadows.0 += line.shadows.len();
            shadows.1 += line.shadows.iter().map(neap_core::ingest::Shadow::bytes).sum::<usize>();
            if let Some(frozen) = &line.frozen {
                let (entries, bytes) = frozen.held();
                cut = (cut.0 + entries, cut.1 + bytes);
            }
        }
        let counts = lines.all_counts();
        let kept: usize = counts.iter().map(neap_model::wire::heard::Counts::kept).sum();
        let counted_max = (counts.len() * neap_model::wire::heard::Counts::KEPT_MAX) as u64;
        let readings = counts.iter().map(neap_model::wire::heard::Counts::readings);
        let readings = readings.fold((0, 0), |(a, b), (entries, bytes)| (a + entries, b + bytes));
        vec![
            CacheSize::new("histories", shared.len(), 0),
            CacheSize::new("efforts of histories", efforts, 0),
            CacheSize::new("spans of histories", spans, 0),
            CacheSize::new("exchanges of histories", exchanges, 0),
            CacheSize::new("shadows of histories", shadows.0, shadows.1),
            CacheSize::new("cuts of histories", cut.0, cut.1),
            CacheSize { entries_max: Some(counted_max), ..CacheSize::new("counted texts", kept, 0) },
            CacheSize::new("requests that were read", readings.0, readings.1),
        ]
    }
}

impl Session {
    /// What an open session holds.
    pub fn cache_sizes(&self) -> Vec<CacheSize> {
        let state = &self.live.state;
        let head = state.head();
        vec![
            CacheSize::new("efforts", state.efforts().len(), 0),
            CacheSize::new("turns in flight", head.pending.len(), 0),
            CacheSize::new("spans", head.ambient_window.spans().len(), 0),
            CacheSize::new("exchanges", self.live.logs.exchanges(), 0),
            CacheSize::new("messages sent", self.live.sent.messages(), 0),
        ]
    }
}

impl crate::ingest::Lines {
    /// How tokens are counted, in every encoding so far.
    fn all_counts(&self) -> Vec<neap_model::wire::heard::Counts> {
        self.counts_kept().lock().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
    }
}
