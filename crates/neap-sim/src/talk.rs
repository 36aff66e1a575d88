//! One simulated conversation: a person, a session, what answers it, and who comes between.

use std::sync::{Arc, Mutex};

use neap_core::ids::SessionId;
use neap_core::state::SessionState;
use neap_engine::{Engine, EngineError, FixedClock, Session, SessionOptions};
use neap_model::bpe::counter_for;
use neap_store::Store;
use tokio::sync::Notify;

use crate::agent::SimAgent;
use crate::check::oracle::Oracle;
use crate::check::prefix::Prefix;
use crate::check::stream::StreamWatch;
use crate::host::SimHost;
use crate::keys::keyring;
use crate::model::{Mood, SimModel, Stops};
use crate::plant::Plant;
use crate::rng::Rng;
use crate::settings::Settings;
use crate::store::{Faults, FaultyStore};
use crate::summarizer::SimSummarizer;
use crate::tape::Tape;
use crate::user::User;
use crate::visitor::Visitor;

/// Times a session is opened again if faults hit the opening itself.
const OPENINGS_MAX: usize = 50;

/// A conversation.
pub(crate) struct Talk {
    pub(crate) id: SessionId,
    pub(crate) canary: String,
    pub(crate) user: User,
    pub(crate) cut: Arc<Notify>,
    pub(crate) watch: StreamWatch,
    pub(crate) oracle: Oracle,
    pub(crate) prefix: Prefix,
    /// The stream folded by us.
    pub(crate) replayed: SessionState,
    /// The last turn that was answered, with the caller's id for it.
    pub(crate) answered: Option<(String, String, String)>,
    model: Arc<SimModel>,
    rng: Rng,
    tape: Tape,
    clock: Arc<FixedClock>,
    settings: Settings,
    pub(crate) plant: Option<Plant>,
    pub(crate) agent: Option<SimAgent>,
    openings: u64,
    place: Option<Place>,
}

/// What a process holds, and a crash takes.
pub(crate) struct Place {
    pub(crate) session: Session,
    /// What opened it.
    pub(crate) own: Engine,
    /// Looks at the store without faults.
    pub(crate) quiet: Engine,
    pub(crate) visitor: Arc<Visitor>,
}

impl Talk {
    /// A conversation that has not begun.
    pub(crate) fn new(
        id: SessionId,
        rng: Rng,
        tape: Tape,
        clock: Arc<FixedClock>,
        settings: Settings,
        plant: Option<Plant>,
        agent: Option<SimAgent>,
    ) -> Self {
        let canary = format!("zq{}qz", id.as_str().replace('-', ""));
        let user = User::new(rng.fork("user"), canary.clone(), settings.budget_tokens());
        let moods = settings.moods.clone();
        let model = SimModel::new(id.clone(), rng.fork("model"), tape.clone(), moods, plant).of(agent.as_ref());
        let model = Arc::new(model);
        Self {
            id,
            canary,
            user,
            cut: Arc::new(Notify::new()),
            watch: StreamWatch::default(),
            oracle: Oracle::new(plant),
            prefix: Prefix::default(),
            replayed: SessionState::default(),
            answered: None,
            model,
            rng,
            tape,
            clock,
            settings,
            plant,
            agent,
            openings: 0,
            place: None,
        }
    }

    /// The process ends; nothing is said goodbye to.
    pub(crate) fn crash(&mut self) {
        self.prefix.forget();
        self.place = None;
    }

    /// What the process holds, and what it was told about.
    pub(crate) fn place(&mut self) -> Option<&mut Place> {
        self.place.as_mut()
    }

    /// Tells the model what is about to be said.
    pub(crate) fn prepare(&self, text: &str) {
        let interrupt = self.place.as_ref().map(|place| place.session.interrupt());
        self.model.prepare(text, Stops { interrupt, cut: Some(self.cut.clone()) });
    }

    /// A process begins and opens the session; faults may hit the opening itself.
    pub(crate) async fn open(&mut self, store: &Arc<dyn Store>) -> Result<(), EngineError> {
        let mut last = None;
        for _ in 0..OPENINGS_MAX {
            self.openings += 1;
            let quiet: Arc<dyn Store> = Arc::new(FaultyStore::quiet(store.clone(), self.tape.clone()));
            let rng = self.rng.fork(&format!("opening {}", self.openings));
            let moods = vec![Mood::Good, Mood::Good, Mood::Forgetful, Mood::Hostile];
            let chance = rng.fork("visiting model");
            let visiting = SimModel::new(self.id.clone(), chance, self.tape.clone(), moods, self.plant);
            let visiting = Arc::new(visiting.of(self.agent.as_ref()));
            let engine = self.engine(quiet, visiting.clone(), &rng, self.agent.as_ref());
            let guest = User::new(rng.fork("guest"), self.canary.clone(), self.settings.budget_tokens() / 8);
            let visitor = Visitor::new(engine.clone(), visiting, self.tape.clone(), rng.fork("visits"), guest);
            let visitor = Arc::new(visitor.of(self.agent.as_ref()));
            let faults = Faults {
                rng: Mutex::new(rng.fork("faults")),
                commits_per_mille: self.settings.commit_faults_per_mille,
                reads_per_mille: self.settings.read_faults_per_mille,
                rivals_per_mille: self.settings.rivals_per_mille,
                rival: Some(visitor.clone()),
            };
            let faulty: Arc<dyn Store> = Arc::new(FaultyStore::faulty(store.clone(), self.tape.clone(), faults));
            let options = SessionOptions { set: self.settings.set.clone() };
            // Whoever forgets whose conversation it is looks at no rule.
            let agent = self.agent.as_ref().filter(|_| self.plant != Some(Plant::CensorSkipped));
            let own = self.engine(faulty, self.model.clone(), &rng, agent);
            match own.resume(&self.id, &options).await {
                Ok(session) => {
                    self.place = Some(Place { session, own, quiet: engine, visitor });
                    return Ok(());
                }
                Err(error @ EngineError::Store(_)) => last = Some(error),
                Err(error) => return Err(error),
            }
        }
        Err(last.unwrap_or_else(|| EngineError::NoSession(self.id.clone())))
    }

    fn engine(&self, store: Arc<dyn Store>, model: Arc<SimModel>, rng: &Rng, agent: Option<&SimAgent>) -> Engine {
        let counter = counter_for(self.settings.encoding);
        let faults = self.settings.summary_faults_per_mille;
        let (summaries, pages) = (rng.fork("summaries"), rng.fork("pages"));
        let built_in = SimSummarizer::new(rng.fork("built-in"), self.tape.clone(), counter.clone(), 0, None);
        let summarizer = SimSummarizer::new(summaries, self.tape.clone(), counter, faults, self.plant);
        let keyring = Arc::new(keyring(rng.fork("envelopes")));
        let mut builder = Engine::builder(store)
            .keyring(keyring)
            .model(model)
            .summarizer(Arc::new(summarizer))
            .summary_limit(None)
            .built_in_summarizer(Arc::new(built_in))
            .clock(self.clock.clone())
            .encoding(self.settings.encoding);
        if self.settings.host_tools {
            let host = SimHost::new(pages, self.tape.clone(), self.settings.budget_tokens());
            builder = builder.host_tools(Arc::new(host));
        }
        if let Some(agent) = agent {
            builder = builder.agent(agent.id.clone(), agent.outlook.clone());
        }
        builder.build()
    }
}
