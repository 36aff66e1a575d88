//! A soak test: one process takes very many turns from each source, and samples what each part holds in memory.
//!
//! Every part but one must be as large at the end as after the first tenth. The exception is the sign bits of
//! embeddings, which search holds in memory by design; they are reported separately.

mod memory;
mod sources;

use std::sync::Arc;

use neap_engine::{CacheSize, Engine};
use neap_sqlite::SqliteStore;
use neap_store::Store;
use neap_store::folder::FolderViews;

pub use memory::{ProcessMemory, Sample, growing_parts};
pub use sources::TurnSource;
use sources::{Driver, SoakEmbedder};

#[derive(Debug, Clone, Copy)]
pub struct Soak {
    pub source: TurnSource,
    pub turns: u64,
    pub samples: u64,
    /// Whether texts are embedded; without embeddings nothing may grow.
    pub embeds: bool,
}

impl Soak {
    /// Takes all turns; calls `each` with every sample.
    pub async fn run(&self, mut each: impl FnMut(&Sample)) -> Result<Vec<Sample>, String> {
        let folder = tempfile::tempdir().map_err(error_text)?;
        let store = Arc::new(SqliteStore::open(&folder.path().join("neap.db")).map_err(error_text)?);
        let views = FolderViews::start(folder.path().join("sessions"), store.clone());
        let engine = Engine::builder(store.clone() as Arc<dyn Store>).views(views);
        let engine = if self.embeds { engine.embedder(Arc::new(SoakEmbedder)).build() } else { engine.build() };
        let mut driver = Driver::new(self.source, &engine).await?;
        let every = (self.turns / self.samples.max(1)).max(1);
        let mut samples = Vec::new();
        for turn in 1..=self.turns {
            driver.turn(&engine, turn).await?;
            if turn.is_multiple_of(EMBED_EVERY) {
                while engine.index_batch().await.map_err(error_text)? > 0 {}
            }
            if turn.is_multiple_of(every) {
                let (embeddings, bytes) = store.vector_cache_size();
                let mut parts = engine.cache_sizes();
                parts.extend(driver.cache_sizes());
                let (entries, bytes) = (embeddings as u64, bytes as u64);
                parts.push(CacheSize { name: EMBEDDINGS, entries, bytes, entries_max: None });
                let sample = Sample { turn, memory: ProcessMemory::now(), parts };
                each(&sample);
                samples.push(sample);
            }
        }
        engine.flush().await;
        Ok(samples)
    }
}

/// Real indexing runs beside the turns; here it runs after so many of them.
const EMBED_EVERY: u64 = 50;
pub const EMBEDDINGS: &str = "embeddings";

fn error_text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Enough turns that caches with a limit are full well before half of them.
    const TURNS: u64 = 2_400;

    /// Entries are counted, so this does not depend on the machine.
    #[test]
    fn no_part_grows_with_the_turns() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        for source in TurnSource::ALL {
            // Often enough to meet the peaks of what grows between two rewrites of a prompt and falls again.
            let soak = Soak { source, turns: TURNS, samples: 96, embeds: true };
            let samples = runtime.block_on(soak.run(|_| {})).expect("every turn is taken");
            assert_eq!(growing_parts(&samples), [], "{}", source.as_str());
            let embeddings = samples.last().and_then(|sample| sample.part(EMBEDDINGS).cloned());
            let bytes = embeddings.filter(|part| part.entries > 0).map_or(0, |part| part.bytes / part.entries);
            assert!(bytes < 140, "{}: an embedding takes {bytes} bytes", source.as_str());
        }
    }
}
