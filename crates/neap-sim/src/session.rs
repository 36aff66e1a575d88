//! One simulated session: a person, a model, the engine, and a rival process.

use std::sync::{Arc, Mutex};

use neap_core::base::ids::SessionId;
use neap_core::session::state::SessionState;
use neap_engine::{Engine, EngineError, FixedClock, Session, SessionOptions};
use neap_model::bpe::counter_for;
use neap_store::Store;
use tokio::sync::Notify;

use crate::agent::SimAgent;
use crate::check::oracle::Oracle;
use crate::check::prefix::PrefixWatch;
use crate::check::stream::StreamWatch;
use crate::host::SimHost;
use crate::keys::keyring;
use crate::model::{Mood, SimModel, StopHandles};
use crate::plant::Plant;
use crate::rival::RivalProcess;
use crate::rng::Rng;
use crate::settings::Settings;
use crate::store::{Faults, FaultyStore};
use crate::summarizer::SimSummarizer;
use crate::trace::Trace;
use crate::user::User;

/// Attempts to open a session, since faults may hit the opening itself.
const OPENINGS_MAX: usize = 50;

pub(crate) struct SimSession {
    pub(crate) id: SessionId,
    pub(crate) canary: String,
    pub(crate) user: User,
    pub(crate) cut: Arc<Notify>,
    pub(crate) watch: StreamWatch,
    pub(crate) oracle: Oracle,
    pub(crate) prefix_watch: PrefixWatch,
    /// The stream replayed here, for comparison.
    pub(crate) replayed: SessionState,
    /// The last answered turn: the caller's id for it, the message, the reply.
    pub(crate) last_answered: Option<(String, String, String)>,
    model: Arc<SimModel>,
    rng: Rng,
    trace: Trace,
    clock: Arc<FixedClock>,
    settings: Settings,
    pub(crate) plant: Option<Plant>,
    pub(crate) agent: Option<SimAgent>,
    openings: u64,
    process: Option<SimProcess>,
}

/// What a crash takes away.
pub(crate) struct SimProcess {
    pub(crate) session: Session,
    /// The engine that opened `session`.
    pub(crate) own_engine: Engine,
    /// Reads the store without faults.
    pub(crate) faultless_engine: Engine,
    pub(crate) rival: Arc<RivalProcess>,
}

impl SimSession {
    pub(crate) fn new(
        id: SessionId,
        rng: Rng,
        trace: Trace,
        clock: Arc<FixedClock>,
        settings: Settings,
        plant: Option<Plant>,
        agent: Option<SimAgent>,
    ) -> Self {
        let canary = format!("zq{}qz", id.as_str().replace('-', ""));
        let user = User::new(rng.fork("user"), canary.clone(), settings.budget_tokens());
        let moods = settings.moods.clone();
        let model =
            SimModel::new(id.clone(), rng.fork("model"), trace.clone(), moods, plant).for_agent(agent.as_ref());
        let model = Arc::new(model);
        Self {
            id,
            canary,
            user,
            cut: Arc::new(Notify::new()),
            watch: StreamWatch::default(),
            oracle: Oracle::new(plant),
            prefix_watch: PrefixWatch::default(),
            replayed: SessionState::default(),
            last_answered: None,
            model,
            rng,
            trace,
            clock,
            settings,
            plant,
            agent,
            openings: 0,
            process: None,
        }
    }

    /// Ends the process without any shutdown.
    pub(crate) fn crash(&mut self) {
        self.prefix_watch.reset();
        self.process = None;
    }

    pub(crate) fn process(&mut self) -> Option<&mut SimProcess> {
        self.process.as_mut()
    }

    pub(crate) fn prepare(&self, text: &str) {
        let interrupt = self.process.as_ref().map(|process| process.session.interrupt());
        self.model.prepare(text, StopHandles { interrupt, cut: Some(self.cut.clone()) });
    }

    pub(crate) async fn open(&mut self, store: &Arc<dyn Store>) -> Result<(), EngineError> {
        let mut last = None;
        for _ in 0..OPENINGS_MAX {
            self.openings += 1;
            let faultless_store: Arc<dyn Store> =
                Arc::new(FaultyStore::without_faults(store.clone(), self.trace.clone()));
            let rng = self.rng.fork(&format!("opening {}", self.openings));
            let moods = vec![Mood::Good, Mood::Good, Mood::Forgetful, Mood::Hostile];
            let model_rng = rng.fork("visiting model");
            let rival_model = SimModel::new(self.id.clone(), model_rng, self.trace.clone(), moods, self.plant);
            let rival_model = Arc::new(rival_model.for_agent(self.agent.as_ref()));
            let faultless_engine = self.engine(faultless_store, rival_model.clone(), &rng, self.agent.as_ref());
            let guest = User::new(rng.fork("guest"), self.canary.clone(), self.settings.budget_tokens() / 8);
            let rival = RivalProcess::new(
                faultless_engine.clone(),
                rival_model,
                self.trace.clone(),
                rng.fork("visits"),
                guest,
            );
            let rival = Arc::new(rival.for_agent(self.agent.as_ref()));
            let faults = Faults {
                rng: Mutex::new(rng.fork("faults")),
                commits_per_mille: self.settings.commit_faults_per_mille,
                reads_per_mille: self.settings.read_faults_per_mille,
                rivals_per_mille: self.settings.rivals_per_mille,
                rival: Some(rival.clone()),
                rivals_at_creation: false,
                is_dead: Arc::default(),
                caller: Arc::default(),
            };
            let faulty_store: Arc<dyn Store> =
                Arc::new(FaultyStore::with_faults(store.clone(), self.trace.clone(), faults));
            let options = SessionOptions { set: self.settings.set.clone(), ..SessionOptions::default() };
            // This plant forgets the agent, so no censor is checked.
            let agent = self.agent.as_ref().filter(|_| self.plant != Some(Plant::CensorSkipped));
            let own_engine = self.engine(faulty_store, self.model.clone(), &rng, agent);
            match own_engine.resume(&self.id, &options).await {
                Ok(session) => {
                    self.process = Some(SimProcess { session, own_engine, faultless_engine, rival });
                    return Ok(());
                }
                Err(error @ EngineError::Store(_)) => last = Some(error),
                Err(error) => return Err(error),
            }
        }
        Err(last.unwrap_or_else(|| EngineError::NoSession(self.id.clone().into())))
    }

    fn engine(&self, store: Arc<dyn Store>, model: Arc<SimModel>, rng: &Rng, agent: Option<&SimAgent>) -> Engine {
        let counter = counter_for(self.settings.encoding);
        let faults = self.settings.summary_faults_per_mille;
        let (summaries, pages) = (rng.fork("summaries"), rng.fork("pages"));
        let fallback = SimSummarizer::new(rng.fork("built-in"), self.trace.clone(), counter.clone(), 0, None);
        let summarizer = SimSummarizer::new(summaries, self.trace.clone(), counter, faults, self.plant);
        let keyring = Arc::new(keyring(rng.fork("envelopes")));
        let mut builder = Engine::builder(store)
            .keyring(keyring)
            .model(model)
            .summarizer(Arc::new(summarizer))
            .summary_timeout(None)
            .fallback_summarizer(Arc::new(fallback))
            .clock(self.clock.clone())
            .encoding(self.settings.encoding);
        if self.settings.host_tools {
            let host = SimHost::new(pages, self.trace.clone(), self.settings.budget_tokens());
            builder = builder.host_tools(Arc::new(host));
        }
        if let Some(agent) = agent {
            builder = builder.agent(agent.id.clone(), agent.profile.clone());
        }
        builder.build()
    }
}
