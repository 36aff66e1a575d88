//! A stage: a real store in a folder of its own, the real engine, and a witness in the model's place.

use std::sync::Arc;
use std::time::{Duration, Instant};

use neap_core::ids::{SessionId, Stamp};
use neap_core::turn::ModelReply;
use neap_engine::{Author, Engine, FixedClock, HostTools, Quiet, Session, SessionOptions, TurnReply};
use neap_model::bpe::counter_for;
use neap_store::SqliteStore;
use tempfile::TempDir;

use super::witness::Witness;
use crate::out::Failure;

/// When every run begins: its clock is its own, so that the same turns cost the same.
const BEGIN: Stamp = Stamp(1_750_000_000_000);
const ENCODING: &str = "o200k_base";

pub(super) struct Stage {
    pub(super) model: Arc<Witness>,
    pub(super) engine: Engine,
    pub(super) session: Session,
    pub(super) folder: TempDir,
}

/// What a turn took.
pub(super) struct Took {
    pub(super) reply: TurnReply,
    /// From the message to the reply, without the model.
    pub(super) turn: Duration,
    /// Upkeep after it, off the reply's path.
    pub(super) upkeep: Duration,
}

impl Stage {
    /// With a budget, settings, and tools of a host if it has any.
    pub(super) async fn new(
        budget: u64,
        set: &[(&str, &str)],
        tools: Option<Arc<dyn HostTools>>,
    ) -> Result<Self, Failure> {
        let folder = tempfile::tempdir()?;
        let store = SqliteStore::open(&folder.path().join("proof.db"))?;
        let model = Arc::new(Witness::new(counter_for(ENCODING), budget));
        let clock = Arc::new(FixedClock::at(BEGIN));
        let mut builder = Engine::builder(Arc::new(store)).model(model.clone()).encoding(ENCODING).clock(clock);
        if let Some(tools) = tools {
            builder = builder.host_tools(tools);
        }
        let engine = builder.build();
        let id = SessionId::from_name("proof").map_err(|error| Failure::new(error.to_string()))?;
        let budget = budget.to_string();
        let set = set.iter().copied().chain([("context_tokens_max", budget.as_str())]);
        let set = set.map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
        let session = engine.resume(&id, &SessionOptions { set }).await?;
        Ok(Self { model, engine, session, folder })
    }

    /// One turn, and the upkeep after it.
    pub(super) async fn say(&mut self, user: &str, replies: Vec<ModelReply>) -> Result<Took, Failure> {
        self.model.will_say(replies);
        let (spent, began) = (self.model.spent(), Instant::now());
        let reply = self.session.turn(Author::Person, user, &mut Quiet).await?;
        let turn = began.elapsed().saturating_sub(self.model.spent() - spent);
        let began = Instant::now();
        self.session.tend().await?;
        Ok(Took { reply, turn, upkeep: began.elapsed() })
    }
}

/// Milliseconds.
pub(in crate::cmd::proof) fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1_000.0
}

/// The value below which this share of all lies, in per cent.
pub(in crate::cmd::proof) fn percentile(values: &[f64], percent: usize) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let at = (sorted.len() * percent).div_ceil(100).saturating_sub(1);
    sorted.get(at).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_values_that_were_measured() {
        let values: Vec<f64> = (1..=100).rev().map(f64::from).collect();
        assert_eq!([50, 95, 100].map(|p| percentile(&values, p)), [50.0, 95.0, 100.0]);
        assert_eq!((percentile(&[7.0], 95), percentile(&[], 95)), (7.0, 0.0));
    }
}
