//! The state of one run, and the checks after each step.

use std::sync::Arc;

use neap_core::base::ids::{SessionId, Stamp, StreamId};
use neap_core::base::message::ToolCall;
use neap_core::base::tokens::TokenCounter;
use neap_core::memory::MemoryEvent;
use neap_core::session::effort::Effort;
use neap_core::session::event::{Event, RecordedEvent, TurnEvent};
use neap_core::session::state::SessionState;
use neap_engine::{EngineError, FixedClock};
use neap_model::bpe::counter_for;
use neap_store::{Store, StoreError};

use crate::agent::AgentAssignment;
use crate::check::agent::AgentWatch;
use crate::check::{StepResult, Violation, Violations, marks, request, summary, view};
use crate::clients::Clients;
use crate::digest::RunDigest;
use crate::disk::Disk;
use crate::host::FETCH;
use crate::plant::Plant;
use crate::rng::Rng;
use crate::run::{Config, Report};
use crate::session::SimSession;
use crate::settings::Settings;
use crate::trace::{Fault, StepTrace, Trace};
use crate::words::UNTRUSTED;

/// Simulated time begins on a day in 2026.
const START_TIME: Stamp = Stamp(1_780_000_000_000);

/// The sessions in which people chat.
pub(crate) const CHATS: [&str; 2] = ["ada", "bob"];

/// Events of each session that a failure shows, and characters of each.
const TRACED_EVENTS: usize = 12;
const TRACED_CHARS: usize = 300;

pub(crate) struct World {
    pub(crate) rng: Rng,
    pub(crate) trace: Trace,
    pub(crate) sessions: Vec<SimSession>,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) report: Report,
    disk: Disk,
    counter: Arc<dyn TokenCounter>,
    digest: RunDigest,
    host_tools: bool,
    /// Each agent once.
    pub(crate) agents: Vec<AgentWatch>,
    /// Separate, so that memory steps do not affect the others.
    pub(crate) memory_rng: Rng,
    pub(crate) clock: Arc<FixedClock>,
    clients: Clients,
}

impl World {
    pub(crate) async fn begin(seed: u64, config: &Config) -> Result<Self, Vec<Violation>> {
        let mut rng = Rng::new(seed);
        let settings = Settings::draw(&mut rng);
        let trace = Trace::default();
        let clock = Arc::new(FixedClock::at(START_TIME));
        let disk = Disk::new(config.backend, config.plant).map_err(|error| unexplained(&error.to_string()))?;
        let store = disk.open().map_err(|error| unexplained(&error.to_string()))?;
        // This plant shows only where there are two agents.
        let has_own_agents = config.plant == Some(Plant::WrongAgent);
        let assignment = if has_own_agents { AgentAssignment::Own } else { AgentAssignment::of(seed, &rng) };
        let (mut sessions, mut agents) = (Vec::new(), Vec::<AgentWatch>::new());
        for name in CHATS {
            let id = SessionId::from_name(name).map_err(|error| unexplained(&error.to_string()))?;
            let agent = assignment.of_session(name, &rng);
            if let Some(agent) = &agent {
                let stream = agent.id.stream();
                if agents.iter().all(|watch| watch.id != stream) {
                    agents.push(AgentWatch::new(stream, agent.canary.clone()));
                }
            }
            let (rng, settings) = (rng.fork(name), settings.clone());
            sessions.push(SimSession::new(id, rng, trace.clone(), clock.clone(), settings, config.plant, agent));
        }
        // Undercounting shows only against the strictest counter.
        let encoding = if config.plant == Some(Plant::Undercount) { "conservative" } else { settings.encoding };
        let counter = counter_for(encoding);
        let (report, digest) = (Report::default(), RunDigest::default());
        let host_tools = settings.host_tools;
        let memory_rng = rng.fork("memories");
        let canaries =
            sessions.iter().map(|session| &session.canary).chain(agents.iter().map(|watch| &watch.canary));
        let clients = Clients::new(&rng, &settings, clock.clone(), config.plant, canaries.cloned().collect());
        let mut world = Self {
            rng,
            trace,
            sessions,
            store,
            report,
            disk,
            counter,
            digest,
            host_tools,
            agents,
            memory_rng,
            clock,
            clients,
        };
        world.open_all().await?;
        // The first step is judged by the sessions as they were created.
        world.check_step(false).await?;
        Ok(world)
    }

    /// Kills all processes and reopens everything, which must be as it was.
    pub(crate) async fn restart(&mut self) -> StepResult {
        self.report.restarts += 1;
        for session in &mut self.sessions {
            session.crash();
        }
        self.clients.crash();
        self.store = self.disk.open().map_err(|error| unexplained(&error.to_string()))?;
        self.open_all().await?;
        self.check_from_start().await
    }

    async fn open_all(&mut self) -> StepResult {
        for session in &mut self.sessions {
            session
                .open(&self.store)
                .await
                .map_err(|error| unexplained(&format!("cannot open {}: {error}", session.id)))?;
        }
        self.clients.open(&self.store);
        Ok(())
    }

    /// Now and then, a program does something from outside.
    pub(crate) async fn client_step(&mut self) -> StepResult {
        if !self.clients.rng.chance(400) {
            return Ok(());
        }
        let mut out = Violations::default();
        self.clients.step(&mut self.report, &mut out).await;
        let checked = self.clients.check(self.store.as_ref(), &mut self.digest, &mut self.report, &mut out);
        checked.await.map_err(|error| unexplained(&error.to_string()))?;
        out.into_result()
    }

    /// Checks everything that happened since the last check. `deep` adds the expensive checks.
    pub(crate) async fn check_step(&mut self, deep: bool) -> StepResult {
        let mut out = Violations::default();
        let step = self.trace.take_step();
        self.report.faults += step.faults.len() as u64;
        self.report.requests += step.requests.len() as u64;
        for complaint in &step.complaints {
            out.add("rival", complaint.clone());
        }
        let is_calm = step.faults.is_empty();
        let mut host_calls = 0;
        for at in 0..self.sessions.len() {
            let budget = self.sessions[at].replayed.policy().context_tokens_max;
            let new = match self.follow_stream(at, &mut out).await {
                Ok(new) => new,
                Err(error) => return Err(unexplained(&error.to_string())),
            };
            if self.host_tools {
                host_calls += new.iter().map(host_calls_in).sum::<u64>();
            }
            self.check_requests(at, budget, &step, &mut out);
            let session = &mut self.sessions[at];
            if is_calm && !session.replayed.policy().rewrites_every_turn() {
                let sent = step.requests.iter().filter(|seen| seen.session == session.id);
                session.prefix_watch.follow(sent, &new, &mut out);
            } else {
                session.prefix_watch.reset();
            }
            let session = &self.sessions[at];
            let summary_max = session.replayed.policy().summary_tokens_max;
            summary::check(&new, &step.summaries, self.counter.as_ref(), summary_max, &mut out);
            if deep {
                self.check_deeply(at, &mut out).await.map_err(|error| unexplained(&error.to_string()))?;
            }
        }
        self.check_agents(deep, &mut out).await.map_err(|error| unexplained(&error.to_string()))?;
        // A host's tool may have effects, so it is called once even if its round is decided again. A round may be
        // recorded twice, where a turn that counted as dead went on.
        let interrupting = [Fault::CrashBefore, Fault::CrashAfter, Fault::Full, Fault::BusyRead, Fault::Dropped];
        if !step.faults.iter().any(|fault| interrupting.contains(fault)) {
            out.check("host tools", step.host_calls <= host_calls, || {
                format!("called {} times for {host_calls} calls", step.host_calls)
            });
        }
        self.digest_requests(&step);
        out.into_result()
    }

    /// Checks what a session's models received: its own words, within the budget of before the step.
    fn check_requests(&self, at: usize, budget: u64, step: &StepTrace, out: &mut Violations) {
        let session = &self.sessions[at];
        let own_agent = session.agent.as_ref().map(|agent| agent.id.stream());
        let other_agents = self.agents.iter().filter(|watch| Some(&watch.id) != own_agent.as_ref());
        let other_sessions = self.sessions.iter().filter(|other| other.canary != session.canary);
        let mut foreign: Vec<String> = other_agents.map(|watch| watch.canary.clone()).collect();
        foreign.extend(other_sessions.map(|other| other.canary.clone()));
        foreign.extend(self.clients.canaries());
        let (counter, profile) = (self.counter.as_ref(), session.agent.as_ref().map(|agent| &agent.profile));
        let untrusted = [&UNTRUSTED[..], &[session.canary.as_str()]].concat();
        self.trace.with_acknowledged(&session.id, |acknowledged| {
            let expected = request::Expected { counter, budget, acknowledged, foreign: &foreign };
            for seen in step.requests.iter().filter(|seen| seen.session == session.id) {
                request::check(seen, &expected, out);
                marks::check(&seen.request, profile, &untrusted, out);
            }
        });
    }

    async fn check_agents(&mut self, deep: bool, out: &mut Violations) -> Result<(), StoreError> {
        for watch in &mut self.agents {
            for recorded in watch.follow(self.store.as_ref(), &self.trace, out).await? {
                self.digest.add(&serde_json::to_string(&recorded).unwrap_or_default());
            }
            if deep {
                watch.check_rows(self.store.as_ref(), out).await?;
            }
        }
        Ok(())
    }

    async fn follow_stream(&mut self, at: usize, out: &mut Violations) -> Result<Vec<RecordedEvent>, StoreError> {
        let session = &mut self.sessions[at];
        let new = session.watch.follow(self.store.as_ref(), &session.id, &self.trace, out).await?;
        for recorded in &new {
            if recorded.seq == session.replayed.seq().next() {
                session.replayed.apply(recorded);
            }
            self.report.loads += u64::from(matches!(recorded.event, Event::Memory(MemoryEvent::Loaded { .. })));
            self.report.censored +=
                u64::from(matches!(recorded.event, Event::Memory(MemoryEvent::CensorTriggered { .. })));
            self.digest.add(&serde_json::to_string(recorded).unwrap_or_default());
        }
        if !new.is_empty() {
            session.oracle.follow(&new, out);
            session.oracle.compare(&session.replayed, out);
            for violation in session.replayed.violations() {
                out.add("state", violation);
            }
        }
        Ok(new)
    }

    /// The expensive checks: rows against the stream, search, prompts.
    async fn check_deeply(&mut self, at: usize, out: &mut Violations) -> Result<(), EngineError> {
        let text = self.rng.word(&["what next?", "and auth bug?", ""]).to_owned();
        let pick = self.rng.draw();
        let session = &mut self.sessions[at];
        let rows = self.store.load(&session.id).await?.unwrap_or_default();
        out.check("I3", rows == session.replayed, || {
            format!("{}: rows say {:?}, the stream says {:?}", session.id, rows.head(), session.replayed.head())
        });
        let concluded = search_targets(&session.replayed);
        let id = session.id.clone();
        let (replayed_seq, replayed) = (session.replayed.seq(), session.replayed.clone());
        let Some(process) = session.process() else { return Ok(()) };
        if let Some(effort) = Rng::new(pick).pick(&concluded) {
            view::check_findable(&process.faultless_engine, &id, effort, out).await?;
        }
        match view::check_same_prompt(&mut process.session, &process.faultless_engine, &text, out).await {
            Ok(()) => {}
            // An injected fault: assembling may close a dropped turn. The next check will see it whole.
            Err(EngineError::Store(_)) => return Ok(()),
            Err(error) => return Err(error),
        }
        let live = process.session.state();
        out.check("I3", live.seq() != replayed_seq || *live == replayed, || {
            format!("{id}: live {:?}, the stream says {:?}", live.head(), replayed.head())
        });
        Ok(())
    }

    /// Checks everything from the first event: after a crash, and at the end.
    pub(crate) async fn check_from_start(&mut self) -> StepResult {
        self.check_step(true).await?;
        // The first check may have closed a dropped turn.
        self.check_step(false).await?;
        let mut out = Violations::default();
        for session in &self.sessions {
            let checked = async {
                let all =
                    session.watch.compare_all(self.store.as_ref(), &session.id, &self.trace, &mut out).await?;
                let replayed = SessionState::replay(&all);
                out.check("I3", replayed == session.replayed, || {
                    format!("{}: a replay gives another state", session.id)
                });
                view::check_logs(self.store.as_ref(), &session.id, &all, &mut out).await?;
                view::check_examination(self.store.as_ref(), &session.id, &mut out).await
            };
            checked.await.map_err(|error: StoreError| unexplained(&error.to_string()))?;
        }
        for watch in &self.agents {
            let checked = watch.check_from_start(self.store.as_ref(), &self.trace, &mut out).await;
            checked.map_err(|error| unexplained(&error.to_string()))?;
        }
        let checked = self.clients.check_from_start(self.store.as_ref(), &mut out).await;
        checked.map_err(|error| unexplained(&error.to_string()))?;
        out.into_result()
    }

    /// Adds the newest events of each stream, so that a failure can be understood.
    pub(crate) fn with_trace(&self, mut violations: Vec<Violation>) -> Vec<Violation> {
        violations.truncate(3);
        let streams =
            self.sessions.iter().map(|session| &*session.id).chain(self.agents.iter().map(|watch| &watch.id));
        let traced = streams.map(|stream| (&self.trace, stream.clone()));
        // Clients have many streams; the one that is at fault says most.
        let is_named = |stream: &StreamId| violations.iter().any(|one| one.what.contains(stream.as_str()));
        let clients = self.clients.trace.streams().into_iter().filter(is_named);
        let clients = clients.map(|stream| (&self.clients.trace, stream));
        let traced: Vec<_> = clients.chain(traced).collect();
        for (trace, stream) in traced {
            let what = trace.with_acknowledged(&stream, |events| {
                let newest = &events[events.len().saturating_sub(TRACED_EVENTS)..];
                let lines = newest.iter().map(|recorded| {
                    let body = serde_json::to_string(&recorded.event).unwrap_or_default();
                    format!("\n    {} {}", recorded.seq, body.chars().take(TRACED_CHARS).collect::<String>())
                });
                format!("the newest events of {stream}:{}", lines.collect::<String>())
            });
            violations.push(Violation { invariant: "trace", what });
        }
        violations
    }

    fn digest_requests(&mut self, step: &StepTrace) {
        for seen in &step.requests {
            self.digest.add(&serde_json::to_string(&seen.request.messages).unwrap_or_default());
        }
    }

    pub(crate) async fn end(mut self) -> Result<Report, Vec<Violation>> {
        self.check_from_start().await?;
        for session in &self.sessions {
            let metrics = session.replayed.metrics();
            self.report.turns += session.replayed.turn().0;
            self.report.events += session.replayed.seq().0;
            self.report.efforts += session.replayed.efforts().len() as u64;
            self.report.decayed += metrics.auto_collapses;
            self.report.evicted += metrics.evictions;
        }
        self.report.memories = self.agents.iter().map(AgentWatch::records).sum();
        self.report.digest = self.digest.value();
        Ok(self.report)
    }
}

/// Concluded efforts; the evicted ones if there are any, since they are harder to find.
fn search_targets(state: &SessionState) -> Vec<Effort> {
    let evicted: Vec<Effort> = state.evicted_efforts().cloned().collect();
    if evicted.is_empty() { state.shown_efforts().cloned().collect() } else { evicted }
}

fn host_calls_in(recorded: &RecordedEvent) -> u64 {
    let is_fetch = |call: &&ToolCall| call.name == FETCH;
    if let Event::Turn(TurnEvent::ToolsCalled { round, .. }) = &recorded.event {
        return round.assistant.message.tool_calls.iter().filter(is_fetch).count() as u64;
    }
    0
}

/// A failure that no injected fault explains.
pub(crate) fn unexplained(what: &str) -> Vec<Violation> {
    vec![Violation { invariant: "unexplained", what: what.to_owned() }]
}
