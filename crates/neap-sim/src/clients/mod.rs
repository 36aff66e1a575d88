//! Programs that use Neap from outside a chat: clients of the proxy, hooks, imported transcripts, hosts over MCP.
//! Two processes receive what they send, once, repeatedly, late, or both at the same moment.

mod delivery;
mod hooks;
mod imports;
mod mcp;
mod proxy;
mod proxy_client;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use neap_core::base::tokens::TokenCounter;
use neap_engine::{Engine, EngineError, FixedClock, RecordingOutcome, RequestPlan};
use neap_model::bpe::counter_for;
use neap_store::{Store, StoreError};

pub(crate) use delivery::ProxyRequest;
use delivery::{Delivery, Processes, Twin};
use hooks::Hooks;
use imports::Imports;
pub(crate) use mcp::TOLD;
use proxy_client::ProxyClients;

use crate::check::stored::{Place, StoredTexts};
use crate::check::{Violations, forwarded};
use crate::digest::RunDigest;
use crate::keys::keyring;
use crate::labels::{label, labels_in};
use crate::plant::Plant;
use crate::rng::Rng;
use crate::run::Report;
use crate::settings::Settings;
use crate::store::{Caller, Faults, FaultyStore};
use crate::trace::Trace;
use crate::user::User;

/// Of simulated time: nobody waits for it.
const PATIENCE: Duration = Duration::from_secs(3_600);
/// What programs on one's own machine say.
const LOCAL_CANARY: &str = "zqlocalqz";

pub(crate) struct Clients {
    pub(crate) rng: Rng,
    pub(crate) trace: Trace,
    settings: Settings,
    clock: Arc<FixedClock>,
    plant: Option<Plant>,
    counter: Arc<dyn TokenCounter>,
    processes: Option<Processes>,
    openings: u64,
    labels: u64,
    stored: StoredTexts,
    /// Accepted in this step.
    accepted: Vec<(Vec<u64>, Place)>,
    /// Accepted in memory, while the store failed.
    waiting: Vec<(Vec<u64>, Place)>,
    dropped: u64,
    proxy: ProxyClients,
    hooks: Hooks,
    imports: Imports,
    local_user: User,
    /// Words that no tenant's request may contain: what people and agents say on this machine.
    private: Vec<String>,
}

impl Clients {
    pub(crate) fn new(
        rng: &Rng,
        settings: &Settings,
        clock: Arc<FixedClock>,
        plant: Option<Plant>,
        mut private: Vec<String>,
    ) -> Self {
        let mut rng = rng.fork("clients");
        let counter = counter_for(settings.encoding);
        private.push(LOCAL_CANARY.to_owned());
        let local_user = User::new(rng.fork("local"), LOCAL_CANARY.to_owned(), settings.budget_tokens());
        Self {
            proxy: ProxyClients::new(&mut rng),
            hooks: Hooks::default(),
            imports: Imports::default(),
            rng,
            trace: Trace::default(),
            settings: settings.clone(),
            clock,
            plant,
            counter,
            processes: None,
            openings: 0,
            labels: 0,
            stored: StoredTexts::default(),
            accepted: Vec::new(),
            waiting: Vec::new(),
            dropped: 0,
            local_user,
            private,
        }
    }

    /// Words that only clients say.
    pub(crate) fn canaries(&self) -> Vec<String> {
        self.proxy.canaries().chain([LOCAL_CANARY.to_owned()]).collect()
    }

    /// Ends both processes; what waited in memory is gone.
    pub(crate) fn crash(&mut self) {
        self.processes = None;
        self.waiting.clear();
        self.proxy.in_flight.clear();
    }

    pub(crate) fn open(&mut self, store: &Arc<dyn Store>) {
        self.openings += 1;
        let rng = self.rng.fork(&format!("opening {}", self.openings));
        let faultless = Arc::new(FaultyStore::without_faults(store.clone(), self.trace.clone()));
        let other = self.engine(faultless, rng.fork("other"));
        let twin = Arc::new(Twin::new(other.clone(), self.trace.clone()));
        let (is_dead, caller) = (Arc::new(AtomicBool::new(false)), Arc::new(Caller::default()));
        let faults = Faults {
            rng: Mutex::new(rng.fork("faults")),
            commits_per_mille: self.settings.commit_faults_per_mille,
            reads_per_mille: self.settings.read_faults_per_mille,
            rivals_per_mille: self.settings.rivals_per_mille,
            rival: Some(twin.clone()),
            rivals_at_creation: true,
            is_dead: is_dead.clone(),
            caller: caller.clone(),
        };
        let faulty = Arc::new(FaultyStore::with_faults(store.clone(), self.trace.clone(), faults));
        let own = self.engine(faulty, rng.fork("own"));
        self.dropped = 0;
        self.processes = Some(Processes { own, other, twin, is_dead, caller });
    }

    fn engine(&self, store: Arc<dyn Store>, rng: Rng) -> Engine {
        let builder = Engine::builder(store).keyring(Arc::new(keyring(rng))).clock(self.clock.clone());
        builder.encoding(self.settings.encoding).build()
    }

    pub(crate) async fn step(&mut self, report: &mut Report, out: &mut Violations) {
        match self.rng.below(100) {
            0..=54 => self.use_proxy(report, out).await,
            55..=69 => self.use_hooks(report, out).await,
            70..=84 => self.use_imports(report, out).await,
            85..=97 => self.use_mcp(report, out).await,
            _ => self.commit_stale(out).await,
        }
        self.settle(out).await;
    }

    fn next_label(&mut self) -> String {
        self.labels += 1;
        label(self.labels)
    }

    fn local_text(&mut self) -> String {
        format!("{} {}", self.next_label(), self.local_user.next_message())
    }

    /// Mostly the process whose store has faults.
    fn draw_engine(&mut self) -> Option<Engine> {
        let is_other = self.rng.chance(200);
        self.processes.as_ref().map(|both| if is_other { both.other.clone() } else { both.own.clone() })
    }

    /// Delivers it to one process, perhaps while the other one receives `meanwhile`. Gives whether it was accepted.
    async fn deliver(
        &mut self,
        engine: &Engine,
        delivery: Delivery,
        meanwhile: Option<Delivery>,
        out: &mut Violations,
    ) -> (bool, Option<Box<RequestPlan>>) {
        let Some((twin, caller)) = self.processes.as_ref().map(|both| (both.twin.clone(), both.caller.clone()))
        else {
            return (false, None);
        };
        twin.prepare(meanwhile);
        caller.may_leave.store(true, Ordering::Relaxed);
        let delivered = tokio::select! {
            biased;
            delivered = delivery.deliver(engine) => Some(delivered),
            () = caller.left.notified() => None,
        };
        caller.may_leave.store(false, Ordering::Relaxed);
        twin.prepare(None);
        for (delivery, plan) in twin.take_done() {
            self.note_delivered(&delivery, plan.as_deref(), out);
        }
        match delivered {
            Some(Ok(plan)) => {
                self.note_delivered(&delivery, plan.as_deref(), out);
                (true, plan)
            }
            Some(Err(error)) => {
                self.explain(&error, out);
                (false, None)
            }
            None => (false, None),
        }
    }

    fn note_delivered(&mut self, delivery: &Delivery, plan: Option<&RequestPlan>, out: &mut Violations) {
        let labels = delivery.labels();
        let (Delivery::Request(request), Some(plan)) = (delivery, plan) else {
            self.accepted.push((labels, Place::OneStream));
            return;
        };
        let of_others = self.proxy.canaries().enumerate().filter(|(tenant, _)| *tenant != request.tenant);
        let foreign: Vec<String> = of_others.map(|(_, word)| word).chain(self.private.iter().cloned()).collect();
        let mut plan = plan.clone();
        self.proxy.spoil_plan(self.plant, request, &mut plan);
        forwarded::check(request, &plan, self.counter.as_ref(), &foreign, out);
        match (plan.recorded, plan.session) {
            (RecordingOutcome::Durable, Some(session)) => self.accepted.push((labels, Place::In(session.into()))),
            (RecordingOutcome::Deferred(_), _) => self.waiting.push((labels, Place::AnyStream)),
            (recorded, session) => out.add("I2", format!("a turn is not recorded: {recorded:?} {session:?}")),
        }
    }

    /// Every error must have its cause.
    fn explain(&self, error: &EngineError, out: &mut Violations) {
        let explained = self.trace.explains(error) || matches!(error, EngineError::NotRecorded(_));
        out.check("unexplained", explained, || error.to_string());
    }

    /// What waits is recorded, or waits on, or is lost with its process.
    async fn settle(&mut self, out: &mut Violations) {
        let Some(own) = self.processes.as_ref().map(|both| both.own.clone()) else { return };
        let status = own.recording_status();
        if (status.failing.is_some() || status.waiting > 0) && self.rng.chance(700) {
            let left = own.wait_until_recorded(PATIENCE).await;
            out.check("I2", left == 0, || format!("{left} still wait to be recorded"));
        }
        let status = own.recording_status();
        if status.dropped > self.dropped {
            // Only the client's next request has it.
            self.dropped = status.dropped;
            self.waiting.clear();
        } else if status.waiting == 0 {
            self.accepted.append(&mut self.waiting);
        }
    }

    async fn commit_stale(&mut self, out: &mut Violations) {
        let Some(both) = &self.processes else { return };
        let Some(commit) = self.trace.newest_commit() else { return };
        let outcome = both.other.store().commit(commit).await;
        let is_refused = matches!(outcome, Err(StoreError::Conflict { .. } | StoreError::DuplicateTurn { .. }));
        out.check("I10", is_refused, || format!("a stale commit gives {outcome:?}"));
    }

    /// Checks everything that happened since the last check; now and then the rows, too.
    pub(crate) async fn check(
        &mut self,
        store: &dyn Store,
        digest: &mut RunDigest,
        report: &mut Report,
        out: &mut Violations,
    ) -> Result<(), StoreError> {
        let step = self.trace.take_step();
        report.faults += step.faults.len() as u64;
        for complaint in step.complaints {
            out.add("rival", complaint);
        }
        for recorded in self.stored.follow(store, &self.trace, out).await? {
            report.events += 1;
            digest.add(&serde_json::to_string(&recorded).unwrap_or_default());
        }
        for (labels, place) in std::mem::take(&mut self.accepted) {
            self.stored.expect(&labels, &place, out);
        }
        if self.rng.chance(100) { self.stored.check_rows(store, out).await } else { Ok(()) }
    }

    pub(crate) async fn check_from_start(
        &mut self,
        store: &dyn Store,
        out: &mut Violations,
    ) -> Result<(), StoreError> {
        self.stored.check_from_start(store, &self.trace, out).await
    }
}
