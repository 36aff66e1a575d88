//! A measured session: a real store in its own folder, the real engine, and a counting model.

use std::sync::Arc;
use std::time::{Duration, Instant};

use neap_core::base::ids::{SessionId, Stamp};
use neap_core::turn::ModelReply;
use neap_engine::{Author, Engine, FixedClock, NullObserver, Session, SessionOptions};
use neap_model::bpe::counter_for;
use neap_sqlite::SqliteStore;
use tempfile::TempDir;

use super::counting_model::CountingModel;
use crate::LabError;

/// Start of the session's own clock, so that the same turns cost the same.
const BEGIN: Stamp = Stamp(1_750_000_000_000);
const ENCODING: &str = "o200k_base";

pub(super) struct MeasuredSession {
    pub(super) model: Arc<CountingModel>,
    pub(super) engine: Engine,
    pub(super) session: Session,
    pub(super) folder: TempDir,
}

pub(super) struct TurnTiming {
    /// From the message to the reply, without the model.
    pub(super) turn: Duration,
    pub(super) upkeep: Duration,
}

impl MeasuredSession {
    pub(super) async fn new(budget: u64, set: &[(&str, &str)]) -> Result<Self, LabError> {
        let folder = tempfile::tempdir()?;
        let store = SqliteStore::open(&folder.path().join("proof.db"))?;
        let model = Arc::new(CountingModel::new(counter_for(ENCODING), budget));
        let clock = Arc::new(FixedClock::at(BEGIN));
        let builder = Engine::builder(Arc::new(store)).model(model.clone()).encoding(ENCODING).clock(clock);
        let engine = builder.build();
        let budget = budget.to_string();
        let set = set.iter().copied().chain([("context_tokens_max", budget.as_str())]);
        let set = set.map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
        let session = engine
            .resume(&SessionId::from_name("proof")?, &SessionOptions { set, ..SessionOptions::default() })
            .await?;
        Ok(Self { model, engine, session, folder })
    }

    pub(super) async fn take_turn(
        &mut self,
        user: &str,
        replies: Vec<ModelReply>,
    ) -> Result<TurnTiming, LabError> {
        self.model.queue_replies(replies);
        let (spent, began) = (self.model.time_spent(), Instant::now());
        self.session.turn(Author::Person, user, &mut NullObserver).await?;
        let turn = began.elapsed().saturating_sub(self.model.time_spent() - spent);
        let began = Instant::now();
        self.session.run_upkeep().await?;
        Ok(TurnTiming { turn, upkeep: began.elapsed() })
    }
}
