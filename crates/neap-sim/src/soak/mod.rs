//! A soak: one process takes very many turns, by each of the ways in which turns come, and what it holds in memory is told part by part.
//!
//! Every part but one must be as large at the end as after the first tenth. The one is the embeddings, which search holds in memory by
//! design: they are told apart, with their bytes for each.

mod parts;
mod ways;

use std::sync::Arc;

use neap_engine::{CacheSize, Engine};
use neap_store::folder::FolderViews;
use neap_store::{SqliteStore, Store};

pub use parts::{Memory, Sample, grown};
pub use ways::Way;
use ways::{Driver, Meaning};

/// How a soak is made.
#[derive(Debug, Clone, Copy)]
pub struct Soak {
    /// By which way turns come.
    pub way: Way,
    /// How many.
    pub turns: u64,
    /// How often what is held is looked at, over all of them.
    pub looks: u64,
    /// Whether texts are embedded: without embeddings all the rest must be flat.
    pub embeds: bool,
}

impl Soak {
    /// Takes all turns; hands on each look at what is held.
    pub async fn run(&self, mut each: impl FnMut(&Sample)) -> Result<Vec<Sample>, String> {
        let folder = tempfile::tempdir().map_err(told)?;
        let store = Arc::new(SqliteStore::open(&folder.path().join("neap.db")).map_err(told)?);
        let views = FolderViews::start(folder.path().join("sessions"), store.clone());
        let engine = Engine::builder(store.clone() as Arc<dyn Store>).views(views);
        let engine = if self.embeds { engine.embedder(Arc::new(Meaning)).build() } else { engine.build() };
        let mut driver = Driver::new(self.way, &engine).await?;
        let every = (self.turns / self.looks.max(1)).max(1);
        let mut samples = Vec::new();
        for turn in 1..=self.turns {
            driver.turn(&engine, turn).await?;
            if turn.is_multiple_of(EMBED_EVERY) {
                while engine.index_some().await.map_err(told)? > 0 {}
            }
            if turn.is_multiple_of(every) {
                let (embeddings, bytes) = store.embeddings_held();
                let mut parts = engine.cache_sizes();
                parts.extend(driver.cache_sizes());
                let (entries, bytes) = (embeddings as u64, bytes as u64);
                parts.push(CacheSize { name: EMBEDDINGS, entries, bytes, entries_max: None });
                let sample = Sample { turn, memory: Memory::now(), parts };
                each(&sample);
                samples.push(sample);
            }
        }
        engine.flush().await;
        Ok(samples)
    }
}

/// Texts are embedded beside the turns in real life; here after so many of them.
const EMBED_EVERY: u64 = 50;
/// The part that grows with what is stored.
pub const EMBEDDINGS: &str = "embeddings";

fn told(error: impl std::fmt::Display) -> String {
    error.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Enough turns that what is kept by number is full well before half of them.
    const TURNS: u64 = 2_400;

    /// What a part holds is counted, so nothing here depends on the machine.
    #[test]
    fn no_part_grows_with_the_turns() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        for way in Way::ALL {
            let soak = Soak { way, turns: TURNS, looks: 12, embeds: true };
            let samples = runtime.block_on(soak.run(|_| {})).expect("every turn is taken");
            assert_eq!(grown(&samples), [], "{}", way.as_str());
            let embeddings = samples.last().and_then(|sample| sample.part(EMBEDDINGS).cloned());
            let bytes = embeddings.filter(|part| part.entries > 0).map_or(0, |part| part.bytes / part.entries);
            assert!(bytes < 1_500, "{}: an embedding takes {bytes} bytes", way.as_str());
        }
    }
}
